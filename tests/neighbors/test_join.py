"""The similarity join: native code equals the specification, and no pair is missed."""

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


@given(rows=rows, threshold=st.sampled_from([0.2, 0.5, 0.7, 0.9]))
def test_no_pair_is_missed(rows, threshold):
    kernel = gmm_kernel(rows.to_scipy().astype(np.float64))
    expected = {(i, j) for i, j in np.argwhere(kernel >= threshold * (1 + 1e-9)).tolist() if i < j}
    blocks = list(_join.joined_pairs(rows, threshold, 1))
    found = {tuple(pair) for pairs, _ in blocks for pair in pairs.tolist()}
    assert expected <= found
    for pairs, similarity in blocks:
        assert (similarity >= threshold).all()
        np.testing.assert_allclose(similarity, kernel[pairs[:, 0], pairs[:, 1]], rtol=1e-12)


def test_counters_stop_at_their_largest_number():
    rows = random_rows(1, 20)
    for backend in (ReferenceBackend(), CpuBackend(available()[0], 1)):
        counters = np.full(1 << 12, 65_534, np.uint16)
        for _ in range(3):
            backend.join_count(rows, counters)
        assert set(counters.tolist()) == {65_534, 65_535}


def test_small_chunks_give_the_same_pairs(monkeypatch):
    rows = random_rows(5, 200)
    together = {tuple(pair) for pairs, _ in _join.joined_pairs(rows, 0.5, 1) for pair in pairs.tolist()}
    monkeypatch.setattr(_join, "CHUNK", 7)
    blocks = list(_join.joined_pairs(rows, 0.5, 1))
    assert len(blocks) > 10
    assert {tuple(pair) for pairs, _ in blocks for pair in pairs.tolist()} == together
    assert len(together) > 100


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
