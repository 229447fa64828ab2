"""Variances of shares and of projections against their definitions."""

import numpy as np
import pytest
from scipy import stats

from kernelsketch.exceptions import InputError
from kernelsketch.theory import (
    gcws_variance,
    index_recall,
    nrff_variance,
    random_projection_variance,
    relative_variance,
    rff_mean,
    rff_variance,
)


@pytest.mark.parametrize("k", [1, 10, 1000])
@pytest.mark.parametrize("similarity", [0.0, 0.01, 0.5, 0.9, 1.0])
def test_gcws_variance_is_that_of_a_binomial_share(similarity, k):
    counts = np.arange(k + 1)
    probability = stats.binom.pmf(counts, k, similarity)
    exact = probability @ (counts / k - similarity) ** 2
    assert gcws_variance(similarity, k) == pytest.approx(exact, abs=1e-14)


def test_random_projection_variance():
    """By quadrature of (xy - rho)^2."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(10)
    weights = weights / weights.sum()
    x, z = np.meshgrid(nodes, nodes, indexing="ij")
    for rho in (-1, -0.3, 0, 0.8, 1):
        product = x * (rho * x + np.sqrt(1 - rho**2) * z)
        variance = weights @ (product - rho) ** 2 @ weights
        assert random_projection_variance(rho, 7) == pytest.approx(variance / 7, abs=1e-13)
    assert random_projection_variance(1, 1) == 2


def test_relative_variance_is_variance_over_squared_mean():
    e = np.linspace(0.01, 1, 100)
    np.testing.assert_allclose(relative_variance("gcws", e), gcws_variance(e, 1) / e**2, atol=1e-13)
    rho, gamma = 0.5, 2 * -np.log(e[:-1])
    assert rff_mean(rho, gamma) == pytest.approx(e[:-1])
    np.testing.assert_allclose(relative_variance("rff", e[:-1]), rff_variance(rho, gamma) / e[:-1] ** 2, rtol=1e-12)
    np.testing.assert_allclose(relative_variance("nrff", e[:-1]), nrff_variance(rho, gamma) / e[:-1] ** 2, rtol=1e-9)


def test_limits_and_order():
    assert relative_variance("gcws", 1) == relative_variance("nrff", 1) == 0
    assert relative_variance("rff", 1) == 0.5
    assert all(relative_variance(method, 0) == np.inf for method in ("gcws", "rff", "nrff"))
    e = np.linspace(0.001, 1, 500)
    gcws, rff, nrff = (relative_variance(method, e) for method in ("gcws", "rff", "nrff"))
    assert all((np.diff(values) < 0).all() for values in (gcws, rff, nrff))
    assert (nrff < rff).all()
    better = gcws < nrff
    assert better[e < 0.786].all()  # the crossing is at 0.7866
    assert not better[e > 0.787].any()
    assert relative_variance("gcws", 1e-6) * 1e-6 == pytest.approx(1, rel=1e-5)
    assert relative_variance("nrff", 1e-6) * 1e-12 == pytest.approx(1, rel=1e-5)


def test_methods_are_named():
    with pytest.raises(InputError, match="method must be one of 'gcws', 'rff', 'nrff', got 'GCWS'"):
        relative_variance("GCWS", 0.5)


def test_index_recall_is_that_of_a_simulation():
    """Bands of codes equal with probability c, over 20,000 rows: false alarms at 4.5 sigma, one in 140,000."""
    rng = np.random.default_rng(0)
    for s, band, n_tables in ((0.2, 1, 5), (0.5, 4, 20), (0.8, 8, 6)):
        c = s + (1 - s) / 256
        found = (rng.random((20_000, n_tables, band)) < c).all(axis=2).any(axis=1).mean()
        expected = index_recall(s, band, n_tables)
        assert abs(found - expected) < 4.5 * np.sqrt(expected * (1 - expected) / 20_000)


def test_index_recall_at_its_ends():
    assert index_recall(1.0, 4, 3) == 1
    assert index_recall(0.0, 4, 3, bits=None) == 0
    np.testing.assert_allclose(index_recall(0.0, 1, 1), 1 / 256)
    np.testing.assert_allclose(index_recall([0.25, 0.5], 2, 1, bits=None), [0.0625, 0.25])
    np.testing.assert_allclose(index_recall(1e-5, 4, 3, bits=None), 3e-20)  # no digits are lost
    with pytest.raises(InputError, match="hashes_per_table must be a whole number above 0"):
        index_recall(0.5, 0, 3)
