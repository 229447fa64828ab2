"""The similarity join: native code equals the specification, and no pair is missed."""

from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from kernelsketch import gmm_kernel
from kernelsketch.backends import CsrRows, available
from kernelsketch.backends.cpu import CpuBackend
from kernelsketch.backends.reference import ReferenceBackend
from kernelsketch.neighbors import _join


def random_rows(seed, n=60, kind="counts", width=200, index=np.int64, dtype=np.float32):
    """Sparse rows in groups of similar ones, some all zero, some with explicit zeros."""
    rng = np.random.default_rng(seed)
    centers = rng.poisson(0.15, (max(1, n // 6), width)).astype(dtype)
    X = centers[rng.integers(len(centers), size=n)] + rng.poisson(0.01, (n, width))
    X[rng.random(X.shape) < 0.01] = 0
    if kind == "signed":
        X = X * rng.choice([-1, 1], width) * rng.choice([1.0, -1.0], X.shape, p=[0.97, 0.03])
    if kind != "counts":
        X = X * rng.gamma(3.0, size=width)
    X[rng.integers(n, size=2)] = 0
    made = sparse.csr_array(X.astype(dtype))
    data = made.data.copy()
    data[rng.random(len(data)) < 0.02] = 0
    return CsrRows(made.indptr.astype(np.int64), made.indices.astype(index), data, width)


WAYS = ["candidates", "tiles"]


@contextmanager
def by(way, chunk=1 << 22, side=64):
    """Let the join find pairs in this way, whatever it costs."""
    costs = {"CANDIDATE_COST": 0.0, "MERGE_COST": 0.0} if way == "candidates" else {"CANDIDATE_COST": 1e9}
    with mock.patch.multiple(_join, CHUNK=chunk, MOST_ROWS=side, **costs):
        yield


rows = st.builds(
    random_rows,
    st.integers(0, 1000),
    st.integers(1, 80),
    st.sampled_from(["counts", "weights", "signed"]),
    index=st.sampled_from([np.int32, np.int64]),
    dtype=st.sampled_from([np.float32, np.float64]),
)


@given(rows=rows, threshold=st.sampled_from([0.3, 0.5, 0.8, 1.0]), threads=st.integers(1, 3))
def test_native_code_equals_the_specification(rows, threshold, threads):
    native, reference = CpuBackend(available()[0], threads), ReferenceBackend()
    np.testing.assert_array_equal(native.join_keys(rows), reference.join_keys(rows))
    counters, expected = (np.zeros(1 << 12, np.uint16) for _ in range(2))
    native.join_count(rows, counters)
    reference.join_count(rows, expected)
    np.testing.assert_array_equal(counters, expected)
    inside = native.join_prefixes(rows, counters, threshold)
    np.testing.assert_array_equal(inside, reference.join_prefixes(rows, counters, threshold))
    left, right = (np.random.default_rng(side).integers(len(rows), size=40) for side in (0, 1))
    found = native.join_similarities(rows, left, right)
    np.testing.assert_array_equal(found, reference.join_similarities(rows, left, right))
    kernel = gmm_kernel(rows.to_scipy().astype(np.float64))
    np.testing.assert_allclose(found, kernel[left, right], rtol=1e-12, atol=1e-15)


@given(rows=rows, threshold=st.sampled_from([0.2, 0.5, 0.7, 0.9]), way=st.sampled_from(WAYS))
def test_no_pair_is_missed(rows, threshold, way):
    kernel = gmm_kernel(rows.to_scipy().astype(np.float64))
    expected = {(i, j) for i, j in np.argwhere(kernel >= threshold * (1 + 1e-9)).tolist() if i < j}
    with by(way, side=23):
        blocks = list(_join.joined_pairs(rows, threshold, 1))
    found = {tuple(pair) for pairs, _ in blocks for pair in pairs.tolist()}
    assert expected <= found
    for pairs, similarity in blocks:
        assert (similarity >= threshold).all()
        exact = ReferenceBackend().join_similarities(rows, *pairs.T)
        np.testing.assert_array_equal(similarity, exact)
        np.testing.assert_allclose(similarity, kernel[pairs[:, 0], pairs[:, 1]], rtol=1e-12)


def test_counters_stop_at_their_largest_number():
    rows = random_rows(1, 20)
    for backend in (ReferenceBackend(), CpuBackend(available()[0], 1)):
        counters = np.full(1 << 12, 65_534, np.uint16)
        for _ in range(3):
            backend.join_count(rows, counters)
        assert set(counters.tolist()) == {65_534, 65_535}


def test_small_chunks_and_tiles_give_the_same_pairs():
    rows = random_rows(5, 200)
    found = []
    for way, chunk, side in (("candidates", 1 << 22, 64), ("candidates", 7, 64), ("tiles", 1, 2048), ("tiles", 1, 9)):
        with by(way, chunk, side):
            blocks = list(_join.joined_pairs(rows, 0.5, 1))
        assert (len(blocks) > 10) == (chunk == 7 or side == 9)
        found.append({tuple(pair) for pairs, _ in blocks for pair in pairs.tolist()})
    assert found[0] == found[1] == found[2] == found[3]
    assert len(found[0]) > 100


@pytest.mark.parametrize("way", WAYS)
def test_a_pair_is_verified_once(way):
    """Its rows share several features of their prefixes, which must not be in several chunks."""
    rows = random_rows(5, 200)
    with by(way, chunk=1500, side=30):
        blocks = [pairs for pairs, _ in _join.joined_pairs(rows, 0.5, 1)]
    assert len(blocks) > 5
    every = np.concatenate(blocks)
    assert len(np.unique(every, axis=0)) == len(every)


@pytest.mark.parametrize("threshold", [0.5, 2 / 3, 0.6])
def test_pairs_of_exactly_the_threshold_are_found_in_both_ways(threshold):
    """Sums of tiles are in another order, so pairs near the threshold are decided by the exact similarity."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (150, 12)) * rng.choice([0.1, 0.3, 0.7, 1.0], 12)
    rows = CsrRows.of(sparse.csr_array(X))
    found = []
    for way in WAYS:
        with by(way):
            blocks = list(_join.joined_pairs(rows, threshold, 1, exact=False))
        found.append(np.unique(np.concatenate([pairs for pairs, _ in blocks]), axis=0).tolist())
    assert found[0] == found[1]
    pairs = np.array([(i, j) for i in range(150) for j in range(i + 1, 150)])
    exact = ReferenceBackend().join_similarities(rows, *pairs.T)
    assert found[0] == pairs[exact >= threshold].tolist()
    assert (np.abs(exact - threshold) < 1e-12).sum() > 10


def test_rows_of_few_common_features_are_compared_in_tiles():
    rng = np.random.default_rng(0)
    common = CsrRows.of(sparse.csr_array(rng.poisson(0.4, (500, 300)).astype(np.float32)))
    features = np.sort(rng.integers(1 << 40, size=(500, 100)), axis=1)
    features[1, :-1] = features[0, :-1]
    rare = CsrRows(np.arange(501) * 100, features.ravel(), np.ones(50_000, np.float32), 1 << 62)
    for rows, tiles in ((common, 1), (rare, 0)):
        with mock.patch.object(_join, "similar_in_tiles", wraps=_join.similar_in_tiles) as called:
            list(_join.joined_pairs(rows, 0.5, 1))
        assert called.call_count == tiles


def test_too_many_candidates_are_refused(monkeypatch):
    rows = random_rows(5, 200)
    monkeypatch.setattr(_join, "PER_ROW", 0)
    monkeypatch.setattr(_join, "FREE", 10)
    assert _join.joined_pairs(rows, 0.5, 1) is None


def test_equal_rows_have_equal_keys_and_others_do_not():
    X = np.random.default_rng(0).integers(-1, 3, (300, 4)).astype(float)
    keys = ReferenceBackend().join_keys(CsrRows.of(sparse.csr_array(X)))
    equal = (X[:, None] == X[None]).all(axis=2)
    np.testing.assert_array_equal((keys[:, None] == keys[None]).all(axis=2), equal)
    np.testing.assert_array_equal((keys[:, None, 0] == keys[None, :, 0]), equal)


@pytest.mark.parametrize("left", [[-1], [60]])
def test_rows_that_do_not_exist_are_refused(left):
    with pytest.raises(ValueError, match="no such row"):
        CpuBackend(available()[0], 1).join_similarities(random_rows(0), np.array(left), np.array([0]))
