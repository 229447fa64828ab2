"""Graphs of dense rows: equal to the specification, deterministic, and with the recall that they promise."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from helpers.answers import answers
from helpers.damage import rewritten
from kernelsketch import GCWSIndex, gmm_kernel
from kernelsketch.backends import processor_for, use_backend
from kernelsketch.exceptions import InputError
from kernelsketch.neighbors import _graph, _segments
from kernelsketch.neighbors._storage import INDEX_SCHEMA

N, D = 3000, 24


def rows_of(kind, n=N, d=D, seed=0):
    """Rows around 20 centers."""
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(99).normal(size=(20, d))
    X = centers[rng.integers(20, size=n)] + 0.7 * rng.normal(size=(n, d))
    if kind == "bytes":
        return np.minimum(np.rint(np.abs(X) * 40), 255).astype(np.float32)
    return (X if kind == "signed" else np.abs(X)).astype(np.float32)


def recall(index, X, Q, k=10):
    """The part of the k nearest rows that are found."""
    true = np.sort(gmm_kernel(Q, X), axis=1)[:, -k]
    return float((1 - index.kneighbors(Q, k)[0] >= true[:, None] - 1e-6).mean())


@pytest.fixture(scope="module")
def rows():
    return rows_of("positive")


@pytest.fixture(scope="module")
def index(rows):
    return GCWSIndex(10, graph_degree=16, n_rerank=64).fit(rows)


def build(X, jobs=1):
    index = GCWSIndex(4, graph_degree=4, n_rerank=8, n_jobs=jobs).fit(X[:110]).add(X[110:])
    index.remove(np.arange(0, 30, 3))
    graphs = [[part.tolist() for part in s.graph if isinstance(part, np.ndarray)] for s in index._segments]
    found = [index.kneighbors(X[:40] * 1.01), index.kneighbors()]
    return graphs, [[part.tolist() for part in some] for some in found]


@pytest.fixture(scope="module", params=["positive", "bytes", "signed", "equal", "wide"])
def expected(request):
    X = rows_of(request.param, 170, 300 if request.param == "wide" else 13)
    X[5] = 0
    if request.param == "equal":
        X = X[np.arange(170) % 9]
    with use_backend("reference"):
        return X, build(X)


class TestSpecification:
    """Every instruction set and number of threads gives the graph and the answers of the reference."""

    def test_build_and_search(self, isa, expected):
        X, wanted = expected
        assert build(X) == wanted
        assert build(X, jobs=3) == wanted

    def test_bytes_of_floats(self, isa):
        x = np.array([[-np.float32(3e38), -1, 0.49, 0.5, 1.5, 254.5, 256, 3e38], [0] * 8], np.float32)
        bytes_, norms = processor_for(x, threads=1).graph_bytes(x, 0, 1.0)
        assert bytes_.tolist() == [[0, 0, 0, 0, 2, 254, 255, 255], [0] * 8]  # halves go to even numbers
        assert norms.tolist() == [766, 1]
        bytes_, norms = processor_for(x, threads=1).graph_bytes(x / 8, 100, 16.0)
        assert bytes_.tolist() == [[0, 98, 101, 101, 103, 255, 255, 255], [100] * 8]
        assert norms.tolist() == [100 + 2 + 1 + 1 + 3 + 3 * 155, 1]


class TestRecall:
    @pytest.mark.parametrize("kind", ["positive", "bytes", "signed"])
    def test_most_neighbours_are_found(self, kind):
        """Data and build are deterministic, so this cannot fail by chance."""
        X, Q = rows_of(kind), rows_of(kind, 200, seed=1)
        index = GCWSIndex(graph_degree=16, n_rerank=30).fit(X)
        few, many = recall(index, X, Q), recall(index.set_params(n_rerank=200), X, Q)
        assert 0.85 < few < many
        assert many > 0.98

    def test_more_links_find_more(self, index, rows):
        Q = rows_of("positive", 200, seed=1)
        thin = GCWSIndex(graph_degree=6, n_rerank=64).fit(rows)
        assert recall(thin, rows, Q) < recall(index, rows, Q)

    def test_distances_are_exact(self, index, rows):
        Q = rows_of("positive", 5, seed=1)
        distances, ids = index.kneighbors(Q)
        for q, found, near in zip(Q, distances, ids, strict=True):
            np.testing.assert_allclose(1 - found, gmm_kernel(q[None], rows[near])[0], atol=2e-6)

    def test_outliers_do_not_coarsen_the_bytes(self, rows):
        """One huge value would leave a handful of different bytes if it were not cut off."""
        X = rows.copy()
        X[7, 3] = 1e6
        assert recall(GCWSIndex(graph_degree=16, n_rerank=100).fit(X), X, rows_of("positive", 100, seed=1)) > 0.95

    def test_rows_that_are_added_are_found(self, rows):
        Q = rows_of("positive", 200, seed=1)
        grown = GCWSIndex(graph_degree=16, n_rerank=100).fit(rows[:1800])
        for part in np.array_split(rows[1800:], 7):
            grown.add(part)
        assert recall(grown, rows, Q) > 0.96

    def test_many_equal_rows(self, rows):
        X = np.concatenate([rows[:500], np.repeat(rows[600:601], 300, axis=0)])
        index = GCWSIndex(5, graph_degree=32, n_rerank=64).fit(X)
        assert recall(index, X, X[:500], 5) > 0.95
        distances, ids = index.kneighbors(rows[600:601])
        assert distances.tolist() == [[0.0] * 5]
        assert (ids >= 500).all()

    def test_few_rows_are_all_compared(self, rows):
        index = GCWSIndex(5, graph_degree=4, n_rerank=64).fit(rows[:40]).add(rows[40:60])
        exact = GCWSIndex(5, n_tables=0, n_rerank=None).fit(rows[:60])
        assert index.kneighbors(rows[:90])[0].tolist() == exact.kneighbors(rows[:90])[0].tolist()


class TestChanges:
    def test_threads_change_nothing(self, rows):
        made = [GCWSIndex(graph_degree=8, n_jobs=jobs).fit(rows[:1500]).add(rows[1500:2600]) for jobs in (1, 4)]
        links = [[s.graph.links.tolist() for s in index._segments] for index in made]
        assert links[0] == links[1]

    def test_a_removed_cluster_hides_nothing(self, rows):
        """The rows nearest to the query are removed, and more of them than a search has in its beam."""
        query = rows[:1]
        near = np.argsort(-gmm_kernel(query, rows)[0])[:600]
        index = GCWSIndex(10, graph_degree=16, n_rerank=20).fit(rows).remove(near)
        assert (index._segments[0].flags == _segments.REMOVED).any()
        left = np.delete(np.arange(N), near)
        assert np.isin(index.kneighbors(query)[1], left).all()
        assert recall(index, rows[left], query) >= 0.7

    def test_removal_of_many_builds_anew(self, rows):
        index = GCWSIndex(10, graph_degree=16, n_rerank=100).fit(rows).remove(np.arange(1000))
        assert len(index._segments[0].graph.links) == 2000
        assert recall(index, rows[1000:], rows_of("positive", 100, seed=1)) > 0.95

    def test_a_row_is_not_its_own_neighbour(self, index):
        distances, ids = index.kneighbors()
        assert (ids != np.arange(N)[:, None]).all()
        assert (np.diff(distances, axis=1) >= 0).all()

    def test_random_changes(self, rows):
        """Whatever is added and removed, answers are rows of the index with their exact distances, nearest first."""
        rng = np.random.default_rng(3)
        index, there = GCWSIndex(5, graph_degree=6, n_rerank=25).fit(rows[:300]), dict(enumerate(range(300)))
        for step in range(25):
            if rng.random() < 0.5:
                some = rng.choice(N, rng.integers(1, 80), replace=False)
                ids = 1000 * (step + 1) + rng.permutation(len(some))
                index.add(rows[some], ids)
                there |= dict(zip(ids.tolist(), some.tolist(), strict=True))
            else:
                gone = rng.choice(list(there), min(len(there) - 20, int(rng.integers(1, 120))), replace=False)
                index.remove(gone)
                for i in gone.tolist():
                    del there[i]
            assert index.ids_.tolist() == sorted(there)
            query = rows[rng.integers(N)][None]
            distances, ids = index.kneighbors(query)
            assert (ids >= 0).all()
            assert len(set(ids[0].tolist())) == 5
            np.testing.assert_allclose(
                1 - distances[0], gmm_kernel(query, rows[[there[i] for i in ids[0].tolist()]])[0], atol=2e-6
            )
            assert (np.diff(distances[0]) >= 0).all()

    def test_threads_share_it(self, rows):
        index = GCWSIndex(3, graph_degree=6).fit(rows[:200])
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(index.kneighbors, rows[i : i + 5]) for i in range(20)]
            list(pool.map(index.add, np.split(rows[200:400], 10)))
            found = [one.result()[1] for one in asked]
        assert index.n_samples_fit_ == 400
        assert all((ids >= 0).all() for ids in found)
        assert np.isin(index.kneighbors(rows[:400], 1)[1], np.arange(400)).all()


class TestOtherMethods:
    """Thresholds and n_rerank=None compare all rows, as without a graph."""

    def test_all_rows_are_compared(self, index, rows):
        exact = GCWSIndex(10, n_tables=0, n_rerank=None).fit(rows)
        every = GCWSIndex(10, graph_degree=4, n_rerank=None).fit(rows)
        assert answers(every, rows[:20]) == answers(exact, rows[:20])
        for mine, wanted in zip(
            index.neighbors_above(rows[:20], threshold=0.5),
            exact.neighbors_above(rows[:20], threshold=0.5),
            strict=True,
        ):
            assert [part.tolist() for part in mine] == [part.tolist() for part in wanted]

    def test_missing_neighbours_are_filled(self, rows):
        X = rows[:200].copy()
        X[3] = 0
        index = GCWSIndex(3, graph_degree=4, fill_missing=True).fit(X)
        distances, ids = index.kneighbors(np.zeros((1, D)))
        assert distances.tolist() == [[1.0] * 3]
        assert ids.tolist() == [[0, 1, 2]]

    def test_power_and_center(self, rows):
        X, Q = rows[:800], rows[900:950]
        index = GCWSIndex(10, graph_degree=12, n_rerank=80, p=0.5, center="mean").fit(X)
        true = np.sort(gmm_kernel(Q, X, p=0.5, center=X.mean(axis=0, dtype=np.float64)), axis=1)[:, -10]
        assert (1 - index.kneighbors(Q)[0] >= true[:, None] - 1e-5).mean() > 0.9

    def test_memory(self, index, rows):
        """Links of 4 bytes, a byte per value, and at most 24 bytes besides: the entries are 64 rows of all."""
        assert index.bytes_per_row_ <= 4 * 16 + D + 24
        whole = GCWSIndex(graph_degree=16).fit(np.rint(rows * 9))
        assert whole.bytes_per_row_ <= 4 * 16 + 24


class TestFiles:
    @pytest.mark.parametrize("mmap", [False, True])
    @pytest.mark.parametrize("kind", ["positive", "bytes"])
    def test_there_and_back(self, tmp_path, kind, mmap):
        X = rows_of(kind, 700)
        index = GCWSIndex(5, graph_degree=6, n_rerank=12).fit(X[:400]).add(X[400:600]).remove([3, 500])
        for save, name in ((index.save_folder, "folder"), (index.save, "file")):
            save(tmp_path / name)
            loaded = GCWSIndex.load(tmp_path / name, mmap=mmap)
            assert loaded.get_params() == index.get_params()
            assert answers(loaded, X[:50]) == answers(index, X[:50])
            assert answers(loaded) == answers(index)
            loaded.add(X[600:]).remove([7])
            assert loaded.n_samples_fit_ == 697

    def test_a_folder_keeps_graphs(self, tmp_path, rows):
        index = GCWSIndex(graph_degree=6).fit(rows[:500])
        index.save_folder(tmp_path)
        before = {file.name for file in tmp_path.iterdir()}
        index.add(rows[500:520]).remove([4]).save_folder(tmp_path)
        assert before <= {file.name for file in tmp_path.iterdir()}
        assert answers(GCWSIndex.load(tmp_path), rows[:9]) == answers(index, rows[:9])

    @pytest.mark.parametrize("name", ["graph_links", "graph_entries"])
    def test_links_that_lead_nowhere(self, tmp_path, rows, name):
        path = tmp_path / "index"
        GCWSIndex(graph_degree=6).fit(rows[:200]).save(path)

        def damage(header, tensors):
            tensors[name] = tensors[name] + np.uint32(150)

        rewritten(path, INDEX_SCHEMA, damage)
        for mmap in (False, True):
            damaged = GCWSIndex.load(path, mmap=mmap)
            with pytest.raises(InputError, match="links to a row that does not exist"):
                damaged.kneighbors(rows[:20])
            with pytest.raises(InputError, match="links to rows that do not exist"):
                damaged.add(rows[200:400])

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda h, t: h["graph"].update(degree=7), "graph_links"),
            (lambda h, t: h["graph"].update(degree=10**9), "degree is"),
            (lambda h, t: h["graph"].update(scale=0.0), "scale is"),
            (lambda h, t: h["graph"].pop("zero"), "graph.zero is missing"),
            (lambda h, t: h["graph"].update(rounded=False), "graph_bytes"),
            (lambda h, t: h.update(graph=None), "graph is None"),
            (lambda h, t: h.pop("graph"), "graph_"),
            (lambda h, t: t.pop("graph_bytes"), "graph_bytes"),
            (lambda h, t: t.update(graph_links=t["graph_links"][:9]), "graph_links"),
            (lambda h, t: t.update(graph_entries=t["graph_entries"].astype(np.int64)), "graph_entries"),
        ],
    )
    def test_hostile_files(self, tmp_path, rows, change, message):
        path = tmp_path / "index"
        GCWSIndex(graph_degree=6).fit(rows[:100]).save(path)
        rewritten(path, INDEX_SCHEMA, change)
        for mmap in (False, True):
            with pytest.raises(InputError, match=message):
                GCWSIndex.load(path, mmap=mmap)

    def test_a_segment_of_another_graph(self, tmp_path, rows):
        for degree in (4, 6):
            GCWSIndex(graph_degree=degree).fit(rows[:100]).save_folder(tmp_path / str(degree))
        mine, other = (next((tmp_path / d).glob("segment-*")) for d in ("4", "6"))
        mine.write_bytes(other.read_bytes())
        with pytest.raises(InputError, match="is damaged"):
            GCWSIndex.load(tmp_path / "4")


class TestRefusals:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"store_vectors": False}, "graph_degree=8 needs dense rows that the index stores, but store_vectors is"),
            ({"heavy_fraction": 0.5}, "graph_degree=8 needs dense rows .* but heavy_fraction is set"),
            ({}, r"but X is sparse: pass X.toarray\(\)"),
        ],
    )
    def test_what_does_not_go_together(self, rows, given, message):
        X = rows[:50] if "store_vectors" in given else sparse.csr_array(rows[:50])
        with pytest.raises(InputError, match=message) as error:
            GCWSIndex(graph_degree=8, **given).fit(X)
        assert error.value.parameter == "graph_degree"

    @pytest.mark.parametrize("value", [1, 257, 0.5, "many"])
    def test_bad_degrees(self, rows, value):
        with pytest.raises(ValueError, match="'graph_degree' parameter"):
            GCWSIndex(graph_degree=value).fit(rows[:9])

    def test_changes_after_fit(self, index, rows):
        changed = GCWSIndex(graph_degree=8).fit(rows[:50]).set_params(graph_degree=None)
        with pytest.raises(InputError, match="graph_degree=None cannot be used: the index was built with 8 links"):
            changed.kneighbors(rows[:2])
        plain = GCWSIndex().fit(rows[:50]).set_params(graph_degree=8)
        with pytest.raises(InputError, match="graph_degree=8 cannot be used: the index was built without a graph"):
            plain.kneighbors(rows[:2])

    def test_there_are_no_codes(self, index):
        with pytest.raises(InputError, match="graph_degree=16: an index of a graph has no codes"):
            index.estimate_pairs([[0, 1]])


@pytest.mark.parametrize(
    ("values", "zero", "scale"),
    [
        ([[0, 51]], 0, 5),
        ([[-10, 41]], 50, 5),
        ([[1000, 1051]], -5000, 5),
        ([[3, 3]], 0, 85),
        ([[0, 0]], 0, 1),
        ([[1e9, 1e9 + 64]], 0, 255 / (1e9 + 64)),  # a range that far from 0 has few floats
        (np.zeros((0, 4)), 0, 1),
    ],
)
def test_range_of_bytes(values, zero, scale):
    assert _graph.byte_range(np.array(values, np.float32)) == (zero, pytest.approx(scale, rel=1e-6))


def test_order_of_insertion_is_a_permutation():
    """Rows of groups that follow each other are scattered, and none is lost."""
    order = np.argsort(np.arange(100_000, dtype=np.uint32) * np.uint32(_graph.SPREAD), kind="stable")
    assert np.array_equal(np.sort(order), np.arange(100_000))
    first = np.sort(order[:1000])
    assert np.diff(first).max() < 400
