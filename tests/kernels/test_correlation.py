"""The correlation and the paper's RBF kernel."""

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse
from sklearn.metrics import pairwise

from helpers.strategies import matrices, matrix_pairs
from kernelsketch import correlation_kernel, rbf_kernel


def expected_correlation(X, Y):
    rows = []
    for z in (X, Y):
        z = z.astype(np.float64)
        z = z / np.where(z.any(axis=1), np.abs(z).max(axis=1), 1.0)[:, None]
        rows.append(z / np.where(z.any(axis=1), np.linalg.norm(z, axis=1), 1.0)[:, None])
    return rows[0] @ rows[1].T


@given(matrix_pairs())
def test_correlation_is_the_formula_in_any_mix(pair):
    X, Y = pair
    atol = 2e-6 if X.dtype == np.float32 else 1e-13
    for left, right in [
        (X, Y),
        (sparse.csr_array(X), Y),
        (X, sparse.csr_matrix(Y)),
        (sparse.coo_array(X), sparse.csc_array(Y)),
    ]:
        K = correlation_kernel(left, right)
        assert isinstance(K, np.ndarray)
        assert K.dtype == X.dtype
        np.testing.assert_allclose(K, expected_correlation(X, Y), rtol=0, atol=atol)


@given(matrix_pairs())
def test_rbf_is_the_formula(pair):
    X, Y = pair
    gamma = 3.0
    expected = np.exp(-gamma * (1 - expected_correlation(X, Y)))
    expected[~X.any(axis=1)] = 0
    expected[:, ~Y.any(axis=1)] = 0
    atol = gamma * (2e-6 if X.dtype == np.float32 else 1e-13)
    np.testing.assert_allclose(rbf_kernel(X, Y, gamma=gamma), expected, rtol=0, atol=atol)


@pytest.mark.parametrize("kernel", [correlation_kernel, rbf_kernel])
@given(X=matrices())
def test_identity_range_and_zero_rows(kernel, X):
    K = kernel(X)
    nonempty = X.any(axis=1)
    np.testing.assert_array_equal(np.diag(K), nonempty.astype(X.dtype))
    assert (np.abs(K) <= 1).all()
    assert not K[~nonempty].any()
    assert not K[:, ~nonempty].any()


def test_gamma_is_twice_scikit_learns_on_unit_rows():
    X = np.random.default_rng(0).normal(size=(20, 5))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(rbf_kernel(X, gamma=2.6), pairwise.rbf_kernel(X, gamma=1.3), rtol=1e-12)
    np.testing.assert_allclose(correlation_kernel(X), pairwise.cosine_similarity(X), atol=1e-14)


@pytest.mark.parametrize("kind", ["uniform", "constant", "wide"])
def test_float32_with_many_features(kind):
    rng = np.random.default_rng(0)
    X = rng.random((5, 100_000)) if kind == "uniform" else np.repeat(rng.random((5, 1)), 100_000, axis=1)
    if kind == "wide":
        X = 10 ** rng.uniform(-30, 30, (5, 100_000))
    X = X.astype(np.float32)
    for rows in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(correlation_kernel(rows), expected_correlation(X, X), rtol=0, atol=2e-6)


def test_constant_rows():
    """BLAS adds long chains in float32: they are kept short."""
    X = np.ones((300, 4000), np.float32)
    np.testing.assert_allclose(correlation_kernel(X, X.copy()), 1, rtol=0, atol=2e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_symmetry_over_several_blocks(dtype):
    X = np.random.default_rng(1).normal(size=(3000, 784)).astype(dtype)
    K = correlation_kernel(X)
    np.testing.assert_array_equal(K, K.T)


def test_values_whose_squares_overflow_or_vanish():
    X = np.array([[1e200, 1e200], [1e-200, 0.0], [1e308, -1e308], [5e-324, 5e-324]])
    expected = [[1, np.sqrt(0.5), 0, 1], [np.sqrt(0.5), 1, np.sqrt(0.5), np.sqrt(0.5)]]
    np.testing.assert_allclose(correlation_kernel(X)[:2], expected, atol=1e-15)
    assert np.isfinite(rbf_kernel(X, gamma=1e300)).all()


def test_two_rows_give_a_float():
    assert correlation_kernel([3.0, 4.0], [6.0, 8.0]) == pytest.approx(1)
    assert type(rbf_kernel([3.0, 4.0], [6.0, 8.0], gamma=2)) is float
