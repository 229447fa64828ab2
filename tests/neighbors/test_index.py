"""GCWSIndex against exact kernels, the theory and a model in plain Python."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from helpers.answers import answers
from helpers.clusters import clusters
from kernelsketch import GCWSIndex, backends, gmm_kernel
from kernelsketch.backends import Queries, SearchParams
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.neighbors import _segments
from kernelsketch.reference import index as reference
from kernelsketch.theory import index_recall

LARGE = 2**63 - 1


@pytest.mark.parametrize("n_tables", [0, 12])
@pytest.mark.parametrize("store_vectors", [True, False])
def test_every_back_end_gives_the_same_answers(isa, rows, n_tables, store_vectors):
    few = rows[:80]
    kinds = {
        "n_tables": n_tables,
        "hashes_per_table": 2,
        "n_components": 70,
        "n_rerank": 9,
        "store_vectors": store_vectors,
    }

    def run():
        index = GCWSIndex(**kinds).fit(few[:40]).add(few[40:60], np.arange(-20, 0)).remove([-7, 3])
        index.add(few[60:], np.arange(100, 120))
        return answers(index, rows[70:90]), answers(index)

    found = run()
    with backends.use_backend("reference"):
        assert found == run()


def test_distances_are_those_of_the_kernel(rows):
    index = GCWSIndex(10, n_tables=0, n_rerank=400).fit(rows)
    distances, ids = index.kneighbors(rows[:50])
    kernel = gmm_kernel(rows[:50], rows)
    kernel = kernel.toarray() if sparse.issparse(kernel) else kernel
    for i in range(50):
        if i == 17:
            assert (ids[i] == -1).all()
            assert np.isinf(distances[i]).all()
            continue
        np.testing.assert_allclose(1 - distances[i], kernel[i, ids[i]], atol=2e-7)
        np.testing.assert_allclose(1 - distances[i], np.sort(kernel[i])[::-1][:10], atol=2e-7)
        assert 17 not in ids[i]
        assert ids[i, 0] == i
        assert distances[i, 0] == 0


def test_recall_is_that_of_the_theory():
    """Each true pair is found with the probability of the curve, over 40 seeds: 4.5 sigma, one false alarm in 140,000.

    Pairs share rows, so the variance is measured between seeds, which are independent.
    """
    X = clusters(300, 40, seed=3)
    kernel = np.triu(gmm_kernel(X), 1)
    pairs = np.argwhere(kernel >= 0.3)
    for hashes_per_table, n_tables in ((1, 3), (3, 10), (4, 20)):
        expected = index_recall(kernel[kernel >= 0.3], hashes_per_table, n_tables).mean()
        shares = []
        for seed in range(40):
            index = GCWSIndex(
                n_tables=n_tables, hashes_per_table=hashes_per_table, n_components=80, random_state=seed
            ).fit(X)
            found, similarity = index.query_pairs(0.3)
            assert set(map(tuple, found.tolist())) <= set(map(tuple, pairs.tolist()))
            np.testing.assert_allclose(similarity, kernel[tuple(found.T)], atol=1e-6)
            shares.append(len(found) / len(pairs))
        error = np.std(shares, ddof=1) / np.sqrt(len(shares))
        assert 0.1 < expected < 0.99
        assert abs(np.mean(shares) - expected) < 4.5 * error


def test_estimates_without_vectors():
    """The mean of estimated minus exact similarity over 30 seeds: 4.5 sigma."""
    X = clusters(60, 40, seed=4, signed=True)
    kernel = gmm_kernel(X)
    rows, columns = np.nonzero(np.triu(kernel, 1) > 0.4)
    errors = []
    for seed in range(30):
        index = GCWSIndex(n_tables=0, n_components=256, store_vectors=False, random_state=seed).fit(X)
        distances, ids = index.kneighbors(X, 60)
        estimate = np.zeros((60, 60))
        for i in range(60):
            found = ids[i] >= 0
            estimate[i, ids[i][found]] = 1 - distances[i][found]
        errors.append((estimate - kernel)[rows, columns])
    errors = np.array(errors)
    assert abs(errors.mean()) < 4.5 * errors.mean(axis=1).std(ddof=1) / np.sqrt(30)
    s = kernel[rows, columns]
    np.testing.assert_allclose(errors.var(), (s * (1 - s)).mean() / 256, rtol=0.2)


def test_threads_and_order_of_insertion_change_nothing(rows):
    parameters = {"n_tables": 10, "hashes_per_table": 2, "n_components": 64, "n_rerank": 7}
    together = GCWSIndex(**parameters).fit(rows)
    expected = answers(together, rows[:30]), answers(together)
    assert expected == (lambda i: (answers(i, rows[:30]), answers(i)))(GCWSIndex(**parameters, n_jobs=3).fit(rows))
    order = np.random.default_rng(5).permutation(400)
    apart = GCWSIndex(**parameters)
    for part in np.split(order, [250, 340, 380, 395]):
        if hasattr(apart, "_segments"):
            apart.add(rows[part], part)
        else:
            apart.fit(rows[part], ids=part)
    assert len(apart._segments) == 5
    assert expected == (answers(apart, rows[:30]), answers(apart))


def test_ties_go_to_the_smaller_id():
    X = np.tile(clusters(1, 20, share=1.0), (30, 1))
    ids = np.random.default_rng(6).permutation(30) * 3 - 40
    index = GCWSIndex(7, n_rerank=9).fit(X, ids=ids)
    distances, found = index.kneighbors(X[:2])
    assert (distances == 0).all()
    np.testing.assert_array_equal(found, [np.sort(ids)[:7]] * 2)
    found = index.kneighbors(n_neighbors=3, return_distance=False)
    np.testing.assert_array_equal(index.ids_, np.sort(ids))
    np.testing.assert_array_equal(found[0], np.sort(ids)[1:4])
    np.testing.assert_array_equal(found[10], np.sort(ids)[:3])


@pytest.mark.parametrize("k", [31, 64])
@pytest.mark.parametrize("n_tables", [0, 6])
def test_selection_among_many_ties(isa, k, n_tables):
    """Thousands of rows with few different counts, in segments whose ids take turns: more than is held at a time."""
    rng = np.random.default_rng(11)
    codes = rng.integers(0, 3, (5000, k)).astype(np.uint8)
    codes[::7] = codes[0]
    flags = (rng.random(5000) < 0.1).astype(np.uint8)
    ids = np.arange(5000) * 2 - 900
    parts = (np.arange(0, 5000, 2), np.arange(1, 5000, 4), np.arange(3, 5000, 4))
    segments = [_segments.make(codes[p], flags[p], ids[p], None, _segments.TableLayout(n_tables, 2), 1) for p in parts]
    queries = Queries(np.concatenate([codes[:3], codes[3:4].repeat(67, axis=0)]), np.zeros(70, np.uint8), None)
    for n_rerank in (1, 5, 600):
        params = SearchParams(2, n_tables, n_rerank, 0, 0.0, exact=False, later_only=False)
        found = backends.backend_for(threads=2).index_search(queries, segments, params)
        few = queries._replace(codes=queries.codes[:4], empty=queries.empty[:4])
        expected = reference.search(few, segments, params)
        for part, whole in zip(expected[1:], found[1:], strict=True):
            np.testing.assert_array_equal(whole[: len(part)], part)
            last = part[expected[0][3] :]
            np.testing.assert_array_equal(whole[len(part) :], np.tile(last, 66))


def test_ids_of_any_64_bits():
    X = clusters(6, 20, share=1.0)
    ids = np.array([-(2**63), -1, 0, 2**62, LARGE, 17])
    index = GCWSIndex(1).fit(X, ids=ids)
    np.testing.assert_array_equal(index.kneighbors(X)[1][:, 0], ids)
    np.testing.assert_array_equal(index.ids_, np.sort(ids))
    index.remove(np.array([LARGE], np.uint64))
    np.testing.assert_array_equal(index.add(X[4:5]).kneighbors(X[4:5])[1], [[2**62 + 1]])
    with pytest.raises(InputError, match=r"cannot continue after 9223372036854775807"):
        GCWSIndex().fit(X[:1], ids=[LARGE]).add(X[1:2])


def test_own_rows_are_not_their_own_neighbours(rows):
    index = GCWSIndex(3).fit(rows)
    ids = index.kneighbors(return_distance=False)
    assert (ids != np.arange(400)[:, None]).all()
    with_self = index.kneighbors(rows, 4)[1]
    for i in range(400):
        if i != 17:
            np.testing.assert_array_equal(ids[i], with_self[i][with_self[i] != i][:3])
    pairs, similarity = index.query_pairs(0.6)
    lists = index.neighbors_above(threshold=0.6, return_distance=False)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert sorted(map(tuple, pairs.tolist())) == [
        (i, j) for i in range(400) for j in sorted(lists[i].tolist()) if i < j
    ]
    assert len(pairs) > 100
    assert (similarity >= 0.6).all()


def test_fewer_tables_find_less_of_the_same(rows):
    index = GCWSIndex(n_tables=16, hashes_per_table=3, n_components=64).fit(rows)
    every = {tuple(pair) for pair in index.query_pairs(0.3)[0].tolist()}
    some = {tuple(pair) for pair in index.set_params(n_tables=3).query_pairs(0.3)[0].tolist()}
    assert some < every


def test_missing_neighbours_are_filled():
    X = clusters(40, 30, seed=8)
    X[3], X[4] = 0, 0
    X[5] = 0
    X[5, 0] = 1e9  # almost no similarity to other rows
    few = GCWSIndex(6, n_tables=2, hashes_per_table=6, n_components=64)
    distances, ids = few.fit(X).kneighbors(X)
    assert np.isinf(distances).any()
    assert (np.isinf(distances) == (ids == -1)).all()
    few.set_params(fill_missing=True)
    full, full_ids = few.kneighbors(X)
    assert (full <= 1).all()
    assert not np.isin(full_ids, [3, 4]).any()
    assert all(len(set(row)) == 6 for row in full_ids.tolist())
    np.testing.assert_array_equal(full_ids[3], [0, 1, 2, 5, 6, 7])
    held = ~np.isinf(distances).any(axis=1)
    np.testing.assert_array_equal(ids[held], full_ids[held])
    own = few.kneighbors(None, 6)[1]
    assert (own != np.arange(40)[:, None]).all()
    assert all(len(set(row)) == 6 for row in own.tolist())


def test_any_n_rerank(rows):
    everything = GCWSIndex(4, n_rerank=400).fit(rows).kneighbors(rows)[1]
    np.testing.assert_array_equal(GCWSIndex(4, n_rerank=2**70).fit(rows).kneighbors(rows)[1], everything)


def test_graphs():
    X = clusters(50, 30)
    index = GCWSIndex(4, fill_missing=True).fit(X, ids=np.arange(50) * 10)
    distances, ids = index.kneighbors(X[:7])
    graph = index.kneighbors_graph(X[:7], mode="distance")
    assert graph.shape == (7, 50)
    np.testing.assert_array_equal(graph.indices.reshape(7, 4) * 10, ids)
    np.testing.assert_array_equal(graph.data.reshape(7, 4), distances)
    assert (index.kneighbors_graph(X[:7]).data == 1).all()


@pytest.mark.parametrize("p", [0.5, 3.0, 60.0])
def test_powers_and_large_values(p):
    X = clusters(50, 20, seed=9, signed=True, share=1.0) * (1e60 if p == 60.0 else 1e200)
    index = GCWSIndex(5, n_tables=0, n_rerank=50, p=p)
    if p == 60.0:  # the smaller rows vanish beside the larger
        with pytest.raises(InputError, match=r"raised to p=60.*store_vectors=False"):
            index.fit(X)
        index.set_params(store_vectors=False)
    distances, ids = index.fit(X).kneighbors(X)
    kernel = gmm_kernel(X, p=p)
    near = 1 - np.take_along_axis(kernel, ids, axis=1)
    if p != 60.0:
        np.testing.assert_allclose(distances, near, atol=2e-6)


def test_center():
    X = np.random.default_rng(10).normal(5, 1, (60, 12))
    index = GCWSIndex(3, n_tables=0, n_rerank=60, center="mean").fit(X)
    distances, ids = index.kneighbors(X)
    expected = 1 - np.sort(gmm_kernel(X, center="mean"), axis=1)[:, ::-1][:, :3]
    np.testing.assert_allclose(distances, expected, atol=1e-6)
    np.testing.assert_array_equal(ids, index.kneighbors(sparse.csr_matrix(X))[1])


def test_dense_and_sparse_mix():
    X = clusters(80, 30)
    S = sparse.csr_matrix(X)
    a = GCWSIndex().fit(X[:50]).add(S[50:])
    b = GCWSIndex().fit(S[:50]).add(X[50:])
    for query in (X[:9], S[:9]):
        np.testing.assert_array_equal(a.kneighbors(query)[1], b.kneighbors(query)[1])
        np.testing.assert_allclose(a.kneighbors(query)[0], b.kneighbors(query)[0], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("step", [1, 10**5, 10**9])
def test_features_of_any_number(step):
    """Few features are spread over an array, many are found by hashing; from 2**31 on they take 64 bits."""
    S = sparse.csr_array(clusters(60, 30, signed=True))
    S.indices = S.indices.astype(np.int64) * step
    S.indptr = S.indptr.astype(np.int64)
    wide = sparse.csr_array((S.data, S.indices, S.indptr), shape=(60, 30 * step))
    index = GCWSIndex(5, n_tables=0, n_rerank=60).fit(wide)
    distances, ids = index.kneighbors(wide)
    assert index._segments[0].vectors.indices.dtype == (np.int64 if step == 10**9 else np.int32)
    kernel = gmm_kernel(clusters(60, 30, signed=True))
    np.testing.assert_allclose(1 - distances, np.sort(kernel, axis=1)[:, ::-1][:, :5], atol=1e-6)
    np.testing.assert_allclose(1 - distances, np.take_along_axis(kernel, ids, axis=1), atol=1e-6)


def test_bytes_and_floats_mix():
    X = np.minimum(np.rint(clusters(80, 30) * 40), 255)
    half = X.copy()
    half[60:] += 0.25 * (half[60:] > 0)
    mixed, whole = GCWSIndex().fit(X[:60]).add(half[60:]), GCWSIndex().fit(half)
    assert mixed._segments[0].vectors.bytes is not None
    assert answers(mixed, half[55:65]) == answers(whole, half[55:65])
    assert answers(mixed) == answers(whole)


@pytest.mark.parametrize(("n_tables", "n_components", "n"), [(32, 128, 5000), (32, 128, 8191), (64, 256, 4097)])
def test_memory(n_tables, n_components, n):
    """The arithmetic minimum: 4 bytes per row and table, 1 byte per code, 8 bytes for the id."""
    X = clusters(n, 20)
    index = GCWSIndex(n_tables=n_tables, hashes_per_table=4, n_components=n_components, store_vectors=False).fit(X)
    minimum = 4 * n_tables + n_components + 8
    assert index.bytes_per_row_ <= 1.3 * minimum
    assert index.bytes_per_row_ <= 5 * n_tables + n_components + 9 + 4 * n_tables / n


def test_what_is_refused():
    X = clusters(30, 10)
    index = GCWSIndex(n_tables=8, n_components=64)
    with pytest.raises(NotFittedError):
        index.kneighbors(X)
    index.fit(X)
    before = answers(index, X)
    for call, kind, message in [
        (lambda: index.add(X[:2], [5, 99]), InputError, r"1 of 2 are in the index already, for example 5\."),
        (lambda: index.add(X[:2], [99, 99]), InputError, r"distinct, got 99 more than once"),
        (lambda: index.add(X[:2], [99]), InputError, r"shape \(2,\), one per row, got shape \(1,\)"),
        (lambda: index.add(X[:1], [1.5]), InputTypeError, r"integers of 64 bits, got dtype float64"),
        (lambda: index.add(X[:1], np.array([2**63], np.uint64)), InputError, r"at most 2\*\*63 - 1"),
        (lambda: index.add(X[:1] * np.nan), ValueError, r"NaN"),
        (lambda: index.add(X[:1] * 1e250), InputError, r"float32 cannot hold .*row 0"),
        (lambda: index.remove([0, 77]), InputError, r"1 of 2 are not in the index, for example 77\."),
        (lambda: index.remove([0, 0]), InputError, r"distinct"),
        (lambda: index.kneighbors(X, 31), InputError, r"n_neighbors=31 is more than the 30 rows"),
        (lambda: index.kneighbors(None, 30), InputError, r"29 rows of the index besides the query itself"),
        (lambda: index.kneighbors(X, 0), InputError, r"n_neighbors must be a whole number above 0, got 0"),
        (lambda: index.kneighbors(X[:, :9]), ValueError, r"9 features"),
        (lambda: index.kneighbors(3), ValueError, r"2D array"),
        (lambda: index.neighbors_above(X), TypeError, r"missing 1 required keyword-only argument: 'threshold'"),
        (lambda: index.neighbors_above(X, 0.5), TypeError, r"takes from 1 to 2 positional arguments but 3"),
        (lambda: index.neighbors_above(X, threshold=0), InputError, r"threshold must be above 0 and at most 1, got 0"),
        (lambda: index.neighbors_above(X, threshold="a"), InputTypeError, r"threshold must be a number, got 'a'"),
        (lambda: index.query_pairs("half"), InputTypeError, r"threshold must be a number, got 'half'"),
        (lambda: index.query_pairs(1.2), InputError, r"threshold must be above 0"),
        (lambda: index.kneighbors_graph(X, mode="other"), InputError, r"mode must be"),
        (lambda: GCWSIndex(n_tables=1025).fit(X), InputError, r"needs 4100 hashes per row, and there can be 4096"),
    ]:
        with pytest.raises(kind, match=message):
            call()
        assert answers(index, X) == before
    with pytest.raises(ValueError, match="NaN"):
        index.fit(X[:, :4] * np.nan)
    with pytest.raises(InputError, match="float32 cannot hold"):
        index.fit(np.array([[1e300, 0.0], [1e-300, 1e-300]]))
    assert answers(index, X) == before
    for name, value in (("hashes_per_table", 3), ("n_components", 100), ("n_tables", 9), ("store_vectors", False)):
        old = getattr(index, name)
        with pytest.raises(InputError, match=name):
            index.set_params(**{name: value}).kneighbors(X)
        index.set_params(**{name: old})


def test_an_empty_index_and_back(tmp_path):
    X = clusters(5, 10, share=1.0)
    index = GCWSIndex(1).fit(X).remove(np.arange(5))
    assert index.n_samples_fit_ == 0
    assert [len(found) for found in index.neighbors_above(X, threshold=0.1)[1]] == [0] * 5
    assert index.query_pairs(0.1)[0].shape == (0, 2)
    index.save(tmp_path / "index")
    for again in (index, GCWSIndex.load(tmp_path / "index"), GCWSIndex.load(tmp_path / "index", mmap=True)):
        assert again.add(X[2:3]).kneighbors(X[2:3])[1] == [[0]]


def test_a_wider_index():
    X = sparse.csr_array(clusters(300, 40, seed=2))
    index = GCWSIndex().fit(X[:200]).widen(60)
    wide = sparse.csr_array(np.pad(X.toarray(), ((0, 0), (0, 20))))
    index.add(wide[200:], np.arange(200, 300))
    expected = GCWSIndex().fit(wide)
    for found, wanted in zip(index.kneighbors(wide), expected.kneighbors(wide), strict=True):
        np.testing.assert_array_equal(found, wanted)
    with pytest.raises(InputError, match="n_features=9223372036854775808: there can be at most"):
        index.widen(2**63)
    with pytest.raises(InputError, match="n_features=50: only an index of sparse rows"):
        index.widen(50)
    with pytest.raises(InputError, match="of dense rows"):
        GCWSIndex().fit(X.toarray()).widen(60)


def test_estimates_of_pairs():
    X = clusters(300, 40, seed=3)
    index = GCWSIndex(n_components=1024).fit(X[:100], ids=np.arange(100) * 5 - 60).add(X[100:])
    ids = index.ids_
    pairs = np.random.default_rng(0).choice(ids, (500, 2))
    places = np.searchsorted(ids, pairs)
    s = gmm_kernel(X)[tuple(places.T)]
    z = (index.estimate_pairs(pairs) - s) / np.sqrt(np.maximum(s * (1 - s), 1e-3) / 1024 + 1 / 256 / 1024)
    assert np.abs(z).max() < 5.2  # one in 10,000 runs of 500 would pass it
    large = GCWSIndex().fit(X[:2], ids=[2**63 - 2, LARGE])
    assert large.estimate_pairs(np.array([[2**63 - 2, LARGE]], np.uint64)).shape == (1,)
    with pytest.raises(InputError, match="is not in the index"):
        index.estimate_pairs([[1, ids[0]]])
    with pytest.raises(InputError, match="shape"):
        index.estimate_pairs([1, 2])


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_the_index_keeps_no_view_of_its_rows(index):
    dense = np.random.default_rng(0).random((30, 12)).astype(np.float32)
    rows = sparse.csr_array(dense)
    rows.indptr, rows.indices = rows.indptr.astype(index), rows.indices.astype(index)
    found = GCWSIndex(n_neighbors=2).fit(rows)
    before = found.kneighbors(dense)
    for array in (rows.indptr, rows.indices, rows.data):
        array[:] = 0
    after = found.kneighbors(dense)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_blocks_of_nothing_but_empty_rows(kind, threads):
    X = kind(np.zeros((70, 64)))
    index = GCWSIndex(n_jobs=threads).fit(X)
    assert (index.kneighbors(X, 1, return_distance=False) == -1).all()
    index = GCWSIndex(n_jobs=threads).fit(kind(clusters(50, 64, seed=4)))
    assert (index.kneighbors(X, 3, return_distance=False) == -1).all()
