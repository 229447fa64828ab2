"""The index on the GPU, on emulated threads: the same ids and similarities as on the processor, bit for bit."""

import gc

import numpy as np
import pytest
from scipy import sparse

from helpers.answers import answers
from helpers.clusters import clusters
from kernelsketch import GCWSIndex, NearDuplicates
from kernelsketch.backends import use_backend
from kernelsketch.backends.cuda import _index, _placed
from kernelsketch.exceptions import BackendError, InputError

pytestmark = pytest.mark.xdist_group("cuda")
SMALL = {"n_components": 40, "hashes_per_table": 2, "n_rerank": 9}


@pytest.fixture(params=["bytes", "signed", "csr"])
def rows(request):
    """90 rows of each kind that an index stores in its own way. Row 17 is empty, and rows 60 to 69 are equal."""
    X = clusters(90, 35, signed=request.param == "signed")
    X[17], X[60:70] = 0, X[60]
    if request.param == "bytes":
        return np.minimum(np.rint(X * 40), 255)
    return sparse.csr_matrix(X) if request.param == "csr" else X


def both(work):
    """What work returns on the GPU and on the processor."""
    found = work()
    with use_backend("baseline"):
        return found, work()


def grown(rows, **params):
    """An index of several segments with removed rows."""
    index = GCWSIndex(**params).fit(rows[:40]).add(rows[40:60], np.arange(-20, 0)).remove([-7, 3])
    return index.add(rows[60:80], np.arange(100, 120))


@pytest.mark.parametrize("n_tables", [0, 5])
@pytest.mark.parametrize("store_vectors", [True, False])
def test_search_by_codes(cuda, rows, n_tables, store_vectors):
    def work():
        index = grown(rows, n_tables=n_tables, store_vectors=store_vectors, **SMALL)
        return answers(index, rows[70:90]), answers(index)

    found, expected = both(work)
    assert found == expected
    assert "index_count" in cuda.gpu.launched


@pytest.mark.parametrize("hashes_per_table", [1, 3, 8])
@pytest.mark.parametrize("n_tables", [1, 33, 40])  # more and fewer than the 32 bands of a word
def test_bands(cuda, n_tables, hashes_per_table):
    X = clusters(60, 20)
    params = {"n_tables": n_tables, "hashes_per_table": hashes_per_table, "n_components": 100, "n_rerank": 5}
    found, expected = both(lambda: answers(GCWSIndex(**params).fit(X), X[:9]))
    assert found == expected

    def fewer():
        return answers(GCWSIndex(**params).fit(X).set_params(n_tables=n_tables // 3), X[:9])

    assert fewer() == both(fewer)[1]


def test_exact_scan(cuda, rows):
    """All rows are compared, by an approximate similarity first: only those that can be neighbours are exact."""

    def work():
        index = grown(rows, n_tables=0, n_rerank=1000, n_components=8)
        return answers(index, rows[70:90]), answers(index)

    cuda.gpu.launched.clear()
    found, expected = both(work)
    assert found == expected
    assert "index_count" not in cuda.gpu.launched
    assert {"index_levels", "index_share_f64"} & set(cuda.gpu.launched)


def test_queries_of_bytes_in_an_index_of_floats_and_the_reverse(cuda):
    X = np.minimum(np.rint(clusters(50, 35) * 40), 255)
    for n_rerank in (9, 1000):  # by codes, and exact
        for first, second in ((X, X + 0.25), (X + 0.25, X)):

            def work(first=first, second=second, n_rerank=n_rerank):
                index = GCWSIndex(n_tables=0, n_rerank=n_rerank, n_components=40).fit(first)
                return answers(index, second), answers(index.add(second), second)

            found, expected = both(work)
            assert found == expected


@pytest.mark.parametrize("heavy_fraction", [0.4, 1.0])
@pytest.mark.parametrize("fill_missing", [False, True])
def test_inverted_lists(cuda, heavy_fraction, fill_missing):
    X = sparse.csr_matrix(clusters(90, 60, signed=True, share=0.1))

    def work():
        index = grown(X, heavy_fraction=heavy_fraction, n_rerank=6, fill_missing=fill_missing)
        index.set_params(heavy_fraction=0.9 * heavy_fraction)
        return answers(index, X[70:]), answers(index)

    found, expected = both(work)
    assert found == expected
    assert "index_share_f32" in cuda.gpu.launched


def test_results_do_not_depend_on_blocks(cuda, rows, monkeypatch):
    monkeypatch.setattr(_index, "PART_ROWS", 128)
    monkeypatch.setattr(_index, "MOST_QUERIES", 7)
    many = sparse.vstack([rows] * 3, format="csr") if sparse.issparse(rows) else np.tile(rows, (3, 1))
    for params in ({"n_tables": 3, **SMALL}, {"n_tables": 0, **SMALL}, {"n_tables": 0, "n_rerank": 1000}):
        found, expected = both(lambda params=params: answers(GCWSIndex(**params).fit(many), rows[:20]))
        assert found == expected


def test_ties_go_to_the_smaller_id(cuda):
    X = np.tile(clusters(1, 20, share=1.0), (50, 1))
    index = GCWSIndex(n_rerank=5).fit(X, ids=np.arange(50)[::-1].copy())
    np.testing.assert_array_equal(index.kneighbors(X[:1], 5)[1], [np.arange(5)])


def test_an_index_without_neighbours(cuda):
    """All its rows are zero, or no query can have neighbours."""
    index = GCWSIndex(n_rerank=1).fit(np.zeros((3, 4)))
    np.testing.assert_array_equal(index.kneighbors(np.ones((2, 4)), 2)[1], [[-1, -1]] * 2)
    index = GCWSIndex(n_rerank=1).fit(np.eye(4))
    np.testing.assert_array_equal(index.kneighbors(np.zeros((2, 4)), 2)[1], [[-1, -1]] * 2)
    assert len(index.neighbors_above(-np.ones((1, 4)), threshold=0.5)[1][0]) == 0


def test_tables(cuda):
    X = clusters(300, 40)
    X[5] = 0
    found, expected = both(lambda: GCWSIndex(n_tables=7, n_components=30).fit(X)._segments[0])
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_array_equal(found.starts, expected.starts)


def test_current_gpu_keeps_the_copy_of_the_last_index(cuda):
    X, made = clusters(50, 20), cuda.gpu.launched
    first, second = (GCWSIndex(n_tables=0, n_rerank=6).fit(X[:n]) for n in (50, 20))

    def copies(index):
        made.clear()
        index.kneighbors(X[:1])
        return made.count("index_planes") - 1  # one is of the queries

    assert [copies(first), copies(first), copies(second), copies(first)] == [1, 0, 1, 1]
    assert [copies(first.remove([1])), copies(first.add(X[:2])), copies(first)] == [1, 1, 0]
    del first
    gc.collect()
    assert cuda.gpu not in _placed._kept  # it is not kept longer than the index


def test_damaged_rows_are_refused(cuda):
    X = sparse.csr_matrix(clusters(30, 20))
    index = GCWSIndex(n_tables=0).fit(X)
    index._segments[0].vectors.indptr[3] = 10**9
    with pytest.raises(InputError, match="the index is damaged: its vectors are out of order"):
        index.kneighbors(X[:1])
    index = GCWSIndex(heavy_fraction=0.5).fit(X)
    index._segments[0].postings.entries[0, 0] = 10**9
    with pytest.raises(InputError, match="the index is damaged: its inverted lists are out of order"):
        index.kneighbors(X[:1])


def test_memory_that_an_index_exhausts(cuda, monkeypatch):
    X = clusters(30, 20)
    index = GCWSIndex(n_tables=0).fit(X)

    def full(*_):
        raise MemoryError("8.00 GB")

    monkeypatch.setattr(_index, "placed_index", full)
    message = r"^the memory of the GPU is exhausted by an index of 30 rows \(8.00 GB\): free arrays"
    with pytest.raises(BackendError, match=message):
        index.kneighbors(X[:1])


def test_near_duplicates_of_arrays_in_main_memory(cuda, rows):
    """The GPU hashes the rows and compares them in tiles; the processor does the rest of a similarity join."""
    found, expected = both(lambda: NearDuplicates(0.5).fit(rows))
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.similarities_, expected.similarities_)
    assert cuda.gpu.launched
