"""The specification against values worked out by hand, and its orders of summation against the formula."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from helpers.strategies import matrix_pairs
from kernelsketch.reference import gmm as reference


def exact_gmm(u, v):
    """In rational numbers."""
    split = [(max(Fraction(float(x)), 0), max(-Fraction(float(x)), 0)) for x in u]
    split_v = [(max(Fraction(float(x)), 0), max(-Fraction(float(x)), 0)) for x in v]
    above = sum(min(a, b) for s, t in zip(split, split_v, strict=True) for a, b in zip(s, t, strict=True))
    below = sum(max(a, b) for s, t in zip(split, split_v, strict=True) for a, b in zip(s, t, strict=True))
    return float(above / below) if below else 0.0


def test_sign_split_is_the_papers_example():
    np.testing.assert_array_equal(reference.sign_split(np.array([[-5.0, 3.0]])), [[0, 5, 3, 0]])


def test_gmm_by_hand():
    u, v = np.array([[-5.0, 3.0], [0.0, 0.0]]), np.array([[-1.0, 4.0], [5.0, 3.0], [0.0, 0.0]])
    np.testing.assert_allclose(reference.gmm(u, v), [[4 / 9, 3 / 13, 0], [0, 0, 0]], rtol=1e-15)
    np.testing.assert_allclose(reference.gmm(u[:1], v[:1], p=2), [[(1 + 9) / (25 + 16)]], rtol=1e-15)


def test_gmm_against_rational_numbers():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(4, 30)), rng.normal(size=(5, 30))
    exact = [[exact_gmm(u, v) for v in Y] for u in X]
    np.testing.assert_allclose(reference.gmm(X, Y), exact, rtol=1e-14)


@given(matrix_pairs(max_rows=5, max_features=300, kinds=("normal", "nonnegative", "sparse", "integers", "constant")))
def test_orders_of_summation_agree_with_the_formula(pair):
    a, b = pair
    expected = reference.gmm(a, b)
    tolerance = 2e-6 if a.dtype == np.float32 else 1e-13
    for compute in (reference.gmm_dense, reference.gmm_sparse):
        found = compute(a, b, reference.MIN_MAX)
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
        assert found.dtype == a.dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bytes_equal_dense(dtype):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, (7, 40)), rng.integers(0, 256, (9, 40))
    a[0] = b[1] = 0
    dense = reference.gmm_dense(a.astype(dtype), b.astype(dtype), reference.MIN_MAX)
    norms = a.sum(axis=1).astype(dtype), b.sum(axis=1).astype(dtype)
    small = reference.gmm_bytes(a.astype(np.uint8), b.astype(np.uint8), *norms, reference.MIN_MAX)
    np.testing.assert_array_equal(dense, small)


def test_weighted_differences():
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(40, 5)).astype(np.float32), rng.normal(size=(40, 40)).astype(np.float32)
    terms = np.triu(weights, 1)[:, :, None].astype(np.float64) * np.abs(x[:, None].astype(np.float64) - x[None])
    found = reference.weighted_differences(x, weights)
    np.testing.assert_allclose(found, terms.sum(axis=(0, 1)), rtol=0, atol=1e-5 * np.abs(terms).sum(axis=(0, 1)).max())
