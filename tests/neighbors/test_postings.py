"""Inverted lists of heavy features: what they find for certain, and the same answers on every back end."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from helpers.answers import answers
from kernelsketch import GCWSIndex, backends, gmm_kernel
from kernelsketch.backends import Vectors, directory_shift
from kernelsketch.exceptions import InputError
from kernelsketch.neighbors import _segments
from kernelsketch.reference import index as reference


def texts(n, d=400, seed=0, signed=True):
    """Sparse rows of many small and few large values, in which features are as frequent as words."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < 8 / np.arange(8, d + 8)) * rng.gamma(0.5, size=(n, d)).astype(np.float32)
    X[n // 2 :] = np.where(rng.random((n - n // 2, d)) < 0.1, X[n // 2 :], X[: n - n // 2])  # each like another
    X *= rng.choice([-1, 1], d) if signed else 1
    X[3] = 0
    return sparse.csr_matrix(X)


def vectors(X):
    X = sparse.csr_array(X)
    found = Vectors(np.zeros(0), indptr=X.indptr.astype(np.int64), indices=X.indices, data=X.data.astype(np.float32))
    return found._replace(norms=reference.norms(found), n_features=X.shape[1])


@pytest.mark.parametrize("heavy_fraction", [0.2, 0.6, 1.0])
def test_every_back_end_gives_the_same_answers(isa, heavy_fraction):
    X = texts(120)

    def run():
        index = (
            GCWSIndex(heavy_fraction=heavy_fraction, n_components=16, n_rerank=9)
            .fit(X[:60])
            .add(X[60:80], np.arange(-20, 0))
        )
        index.remove([-7, 5]).add(X[80:100], np.arange(100, 120))
        first = answers(index, X[90:]), answers(index)
        return (
            first,
            answers(index.set_params(heavy_fraction=heavy_fraction / 2, fill_missing=True, n_jobs=2), X[90:]),
            answers(index),
        )

    found = run()
    with backends.use_backend("reference"):
        assert found == run()


@pytest.mark.parametrize("heavy_fraction", [0.55, 0.7, 0.9])
@pytest.mark.parametrize("signed", [False, True])
def test_pairs_above_the_bound_are_all_found(heavy_fraction, signed):
    X = texts(300, seed=1, signed=signed)
    kernel = np.triu(gmm_kernel(X), 1)
    index = GCWSIndex(heavy_fraction=heavy_fraction).fit(X)
    bound = 1 / heavy_fraction - 1
    for threshold in (bound + 1e-6, (1 + bound) / 2, 0.95):  # the further above, the fewer are compared
        pairs, similarity = index.query_pairs(threshold)
        np.testing.assert_array_equal(pairs, np.argwhere(kernel >= threshold))
        np.testing.assert_allclose(similarity, kernel[tuple(pairs.T)], atol=2e-7)
    assert (kernel >= bound).sum() > 20
    assert len(index.query_pairs(0.02)[0]) < (kernel >= 0.02).sum()  # far below it, not all


def test_the_bound_is_sharp():
    """Of two rows of similarity 2/3 each has 3/5 of its norm where the other has 2/5."""
    X = sparse.csr_matrix([[3.0, 3.0, 3.0, 3.0, 2.0, 2.0, 2.0, 2.0], [2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0]])
    assert len(GCWSIndex(heavy_fraction=0.599).fit(X).query_pairs(0.1)[0]) == 0
    pairs, similarity = GCWSIndex(heavy_fraction=0.601).fit(X).query_pairs(0.1)
    assert (pairs.tolist(), similarity.tolist()) == ([[0, 1]], [pytest.approx(2 / 3)])


def test_a_heavy_fraction_of_1_finds_all():
    X = texts(300, seed=2)
    kernel = np.asarray(gmm_kernel(X))
    distances, ids = GCWSIndex(10, heavy_fraction=1.0, n_rerank=300).fit(X).kneighbors(X)
    held = ids >= 0
    np.testing.assert_allclose(1 - distances[held], np.take_along_axis(kernel, ids, axis=1)[held], atol=2e-7)
    expected = np.sort(kernel, axis=1)[:, ::-1][:, :10]
    np.testing.assert_allclose(np.where(held, 1 - distances, 0), expected, atol=2e-7)


@given(
    st.lists(
        arrays(np.float32, st.integers(0, 12), elements=st.floats(width=32, allow_nan=False, allow_infinity=False)),
        min_size=1,
        max_size=4,
    ),
    st.floats(0.01, 1.0),
)
def test_heavy_parts(rows, heavy_fraction):
    """Native and reference agree; heavy values hold the fraction, and without the least of them they would not."""
    rows = [row[np.abs(row) > 1e-30] for row in rows]
    indptr = np.cumsum([0, *map(len, rows)])
    x = Vectors(
        np.array([np.abs(row).astype(np.float64).sum() for row in rows]),
        indptr=indptr,
        indices=np.concatenate([np.arange(len(row)) for row in rows]),
        data=np.concatenate(rows),
    )
    expected = np.concatenate([reference.heavy(x, i, heavy_fraction) for i in range(len(rows))])
    np.testing.assert_array_equal(backends.backend_for().index_heavy(x, heavy_fraction), expected)
    for i, row in enumerate(rows):
        size, part = np.abs(row).astype(np.float64), expected[indptr[i] : indptr[i + 1]]
        if len(row):
            least = size[part].min()
            assert (size[~part] < least).all()
            assert size[part].sum() >= (heavy_fraction - 1e-9) * size.sum()
            assert size[part & (size > least)].sum() < (heavy_fraction + 1e-9) * size.sum()


@pytest.mark.parametrize("step", [1, 10**9])
def test_postings_hold_each_heavy_value_once(step):
    X = texts(50, 40)
    x = vectors(X)._replace(indices=X.indices.astype(np.int64) * step)
    flags = (np.arange(50) % 9 == 3).astype(np.uint8)
    p = _segments.make_postings(x, flags, 0.6, 1)
    expected = []
    for row in np.flatnonzero(flags == 0):
        keys, values = reference.heavy_keys(x, row, 0.6)
        expected += [(key, row, value) for key, value in zip(keys.tolist(), values.tolist(), strict=True)]
    keys = np.repeat(p.keys, np.diff(p.starts)).tolist()
    values = p.entries[:, 1].copy().view(np.float32).tolist()
    assert list(zip(keys, p.entries[:, 0].tolist(), values, strict=True)) == sorted(expected)
    shift = directory_shift(int(p.keys[-1]), len(p.keys))
    assert len(p.directory) <= len(p.keys) + 1
    for i, key in enumerate(p.keys.tolist()):
        assert p.directory[key >> shift] <= i < p.directory[(key >> shift) + 1]


def test_threads_and_order_of_insertion_change_nothing():
    X = texts(200, seed=3)
    parameters = {"heavy_fraction": 0.5, "n_components": 8, "n_rerank": 7}
    together = GCWSIndex(**parameters).fit(X)
    expected = answers(together, X[:30]), answers(together)
    order = np.random.default_rng(5).permutation(200)
    apart = GCWSIndex(**parameters, n_jobs=3).fit(X[order[:130]], ids=order[:130])
    apart.add(X[order[130:180]], order[130:180]).add(X[order[180:]], order[180:])
    assert len(apart._segments) == 3
    assert expected == (answers(apart, X[:30]), answers(apart))


def test_missing_neighbours_are_filled():
    X = texts(80, seed=4)
    index = GCWSIndex(6, heavy_fraction=0.05, fill_missing=True).fit(X)
    assert (GCWSIndex(6, heavy_fraction=0.05).fit(X).kneighbors(X)[1] == -1).any()
    distances, ids = index.kneighbors(X)
    assert all(len(set(row)) == 6 for row in ids.tolist())
    assert not np.isin(ids, [3]).any()
    short = np.flatnonzero((GCWSIndex(6, heavy_fraction=0.05).fit(X).kneighbors(X)[1] == -1).any(axis=1))
    exact = 1 - np.sort(gmm_kernel(X), axis=1)[:, ::-1][:, :6]
    np.testing.assert_allclose(distances[short], exact[short], atol=2e-7)  # these were compared with all rows
    own = index.kneighbors(None, 6)[1]
    assert (own != np.arange(80)[:, None]).all()


def test_dense_queries_and_wider_rows():
    X = texts(100, 60, seed=5)
    index = GCWSIndex(heavy_fraction=0.6).fit(X)
    for found, wanted in zip(index.kneighbors(X.toarray()), index.kneighbors(X), strict=True):
        np.testing.assert_array_equal(found, wanted)
    wide = sparse.csr_array(np.pad(X.toarray(), ((0, 0), (0, 20))))
    expected = index.kneighbors(X)[1]
    np.testing.assert_array_equal(index.widen(80).kneighbors(wide)[1], expected)


def test_memory():
    """The arithmetic minimum: 8 bytes per heavy value, 16 per feature, 8 for the id."""
    X = texts(2000, seed=6)
    index = GCWSIndex(heavy_fraction=0.7).fit(X)
    p = index._segments[0].postings
    minimum = 8 * len(p.entries) + 16 * len(p.keys) + 2000 * 8
    assert index.bytes_per_row_ * 2000 <= 1.3 * minimum
    assert index.bytes_per_row_ * 2000 <= 8 * len(p.entries) + 20 * len(p.keys) + 2000 * 10 + 12
    assert len(p.entries) < 0.5 * X.nnz


def test_what_is_refused():
    X = texts(50, 40)
    with pytest.raises(InputError, match=r"heavy_fraction=0.5 needs sparse rows.*csr_array"):
        GCWSIndex(heavy_fraction=0.5).fit(X.toarray())
    with pytest.raises(InputError, match=r"store_vectors is False: pass store_vectors=True"):
        GCWSIndex(heavy_fraction=0.5, store_vectors=False).fit(X)
    for heavy_fraction in (0.0, 1.5, "all"):
        with pytest.raises(ValueError, match="'heavy_fraction' parameter"):
            GCWSIndex(heavy_fraction=heavy_fraction).fit(X)
    index = GCWSIndex(heavy_fraction=0.5).fit(X)
    for heavy_fraction in (None, 0.6):
        with pytest.raises(
            InputError, match=rf"heavy_fraction={heavy_fraction} cannot be used: the index was built with 0.5"
        ):
            index.set_params(heavy_fraction=heavy_fraction).kneighbors(X)
    with pytest.raises(InputError, match="built with None"):
        GCWSIndex().fit(X).set_params(heavy_fraction=0.5).kneighbors(X)


def test_tune_chooses_features_for_texts():
    X = texts(3000, 4000, seed=7)
    index = GCWSIndex(5).tune(X, recall=0.9)
    assert index.heavy_fraction is not None
    ids = index.fit(X).kneighbors(return_distance=False)
    kernel = np.asarray(gmm_kernel(X))
    np.fill_diagonal(kernel, -1)
    least = np.sort(kernel, axis=1)[:, -5]
    good = np.take_along_axis(kernel, ids, axis=1) >= least[:, None] - 1e-6
    each = np.delete((good & (ids >= 0)).mean(axis=1), 3)
    error = np.hypot(each.std() / np.sqrt(len(each)), index.tuning_["standard_error"])
    assert each.mean() > index.tuning_["recall"] - 4.5 * error - 0.01
    np.testing.assert_allclose(index.bytes_per_row_, index.tuning_["bytes_per_row"], rtol=0.1)
    found = np.mean([len(found) for found in index.neighbors_above(X[:200], threshold=1e-9)[1]])
    assert found - 1 == pytest.approx(index.tuning_["candidates"], rel=0.3)


def test_long_rows_are_not_lost_to_rounding():
    """Thousands of values that vanish beside the first one when they are added in float32."""
    row = np.full(2**16, 2.0**-24, np.float32)
    row[0] = 1
    X = sparse.csr_array(np.stack([row, row, np.ones(2**16, np.float32)]))
    index = GCWSIndex(heavy_fraction=1.0).fit(X)
    assert index.query_pairs(0.999)[0].tolist() == [[0, 1]]
    assert [len(found) for found in index.neighbors_above(X, threshold=0.999)[1]] == [2, 2, 1]


@pytest.mark.parametrize("feature", [2**31, 2**61, 2**62 - 1])
def test_features_of_any_number(feature):
    data, columns = np.array([3.0, 1, 3, 1, 1]), np.array([5, feature, 5, feature, feature])
    X = sparse.csr_array((data, columns, np.array([0, 2, 4, 5])), shape=(3, 2**62))
    pairs, similarity = GCWSIndex(heavy_fraction=1.0).fit(X).query_pairs(0.1, all_equal=True)
    assert (pairs.tolist(), similarity.tolist()) == ([[0, 1], [0, 2], [1, 2]], [1, 0.25, 0.25])


def test_norms_that_float32_cannot_hold_are_refused():
    index = GCWSIndex(heavy_fraction=0.9).fit(sparse.csr_array(np.eye(3, 8)))
    with pytest.raises(InputError, match="float32 cannot hold"):
        index.add(sparse.csr_array(np.full((1, 8), 1e38)))


def test_there_are_no_codes():
    X = texts(30, 40)
    index = GCWSIndex(heavy_fraction=0.9).fit(X)
    assert index._segments[0].codes.shape == (30, 1)
    with pytest.raises(InputError, match="no codes to estimate from"):
        index.estimate_pairs([[0, 1]])
