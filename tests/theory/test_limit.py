"""The limit of GMM and Theorem 4, against integrals over the angle of a pair and exact binomial sums."""

import numpy as np
import pytest
from scipy import stats

from kernelsketch import gmm_kernel
from kernelsketch.exceptions import InputError
from kernelsketch.theory import (
    gmm_limit,
    gmm_limit_variance,
    nrff_gcws_variance_ratio,
    nrff_variance,
    rbf_from_gmm,
    rbf_from_gmm_variance,
    rff_mean,
    rho_from_gmm,
)

RHO = [-0.9, -0.5, 0.0, 0.3, 0.5, 0.9, 0.99]


def angular_pairs(rho, n=400_000):
    """Pairs of an elliptical distribution around 0, at unit radius and evenly spaced angles."""
    angle = 2 * np.pi * (np.arange(n) + 0.5) / n
    return np.cos(angle), np.cos(angle - np.arccos(rho))


@pytest.mark.parametrize("rho", RHO)
def test_the_limit_is_the_ratio_of_mean_minima_to_mean_maxima(rho):
    """The radius, whatever its distribution, is a common factor of both means."""
    x, y = angular_pairs(rho)
    assert gmm_limit(rho) == pytest.approx(gmm_kernel(x, y), abs=1e-9)


@pytest.mark.parametrize("rho", RHO)
def test_variance_around_the_limit(rho):
    x, y = angular_pairs(rho)
    distance, norms = np.abs(x - y), np.abs(x) + np.abs(y)
    s = distance.mean() / norms.mean()
    # Means of |x| over the radius of a normal pair: E r^2 = 2, (E r)^2 = pi / 2.
    spread = 2 * np.mean((distance - s * norms) ** 2) / (np.pi / 2 * norms.mean() ** 2)
    expected = spread * (2 / (1 + s) ** 2) ** 2 / 50
    assert gmm_limit_variance(rho, 50) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("df", [2.5, 3.0, 10.0, 1e6])
def test_variance_of_t_data(df):
    """The scale of a t variable spreads by E t^2 / (E|t|)^2, against pi / 2 of the normal."""
    size = 2 * stats.t(df).expect(lambda t: t, lb=0)
    expected = df / (df - 2) / size**2 / (np.pi / 2)
    assert gmm_limit_variance(0.3, 10, df=df) / gmm_limit_variance(0.3, 10) == pytest.approx(expected, rel=1e-5)


def test_variance_of_heavy_tails_and_of_opposite_rows():
    assert gmm_limit_variance(0.3, 10, df=2) == np.inf
    assert gmm_limit_variance([-1, 1], 10) == pytest.approx([0, 0], abs=1e-15)
    with pytest.raises(InputError, match="df must be"):
        gmm_limit_variance(0.3, 10, df=-1)


def test_known_values_and_order():
    assert gmm_limit(-1) == 0
    assert gmm_limit(1) == 1
    assert gmm_limit(0.5) == pytest.approx(1 / 3)
    assert gmm_limit(0) == pytest.approx((np.sqrt(2) - 1) ** 2)
    rho = np.linspace(-1, 1, 401)
    assert (np.diff(gmm_limit(rho)) > 0).all()
    np.testing.assert_allclose(rho_from_gmm(gmm_limit(rho)), rho, atol=1e-15)
    np.testing.assert_allclose(gmm_limit(rho_from_gmm(np.linspace(0, 1, 99))), np.linspace(0, 1, 99), atol=1e-7)
    for gamma in (0.1, 1, 20):
        np.testing.assert_allclose(rbf_from_gmm(gmm_limit(rho), gamma), rff_mean(rho, gamma), rtol=1e-12)


def test_the_limit_needs_elliptical_data():
    """Independent signs have correlation 0; minima and maxima have mean 1/2 and 3/2."""
    u, v = np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, -1.0, 1.0, -1.0])
    assert gmm_kernel(u, v) == pytest.approx(1 / 3)
    assert gmm_limit(0.0) == pytest.approx(0.1716, abs=1e-4)


def exact_moments(rho, gamma, k):
    """Mean and variance of the estimate from a binomial(k, g) number of matches."""
    counts = np.arange(k + 1)
    probability = stats.binom.pmf(counts, k, gmm_limit(rho))
    estimate = rbf_from_gmm(counts / k, gamma)
    mean = probability @ estimate
    return mean, probability @ (estimate - mean) ** 2


@pytest.mark.parametrize(("rho", "gamma"), [(-0.5, 0.5), (0.0, 1.0), (0.5, 1.0), (0.5, 5.0), (0.9, 2.0), (0.99, 10.0)])
def test_theorem_4_against_exact_sums(rho, gamma):
    """k Var = V_g + O(1/k): the remainder halves as k doubles, and vanishes when extrapolated."""
    k = 20_000
    (_, once), (mean, twice) = exact_moments(rho, gamma, k), exact_moments(rho, gamma, 2 * k)
    v = rbf_from_gmm_variance(rho, gamma)
    assert k * once == pytest.approx(v, rel=5e-3)
    assert 2 * (2 * k * twice) - k * once == pytest.approx(v, rel=2e-5)
    assert mean == pytest.approx(rff_mean(rho, gamma), abs=1 / k)
    assert rbf_from_gmm_variance(rho, gamma, k) == pytest.approx(v / k)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 7.0])
def test_the_form_of_the_paper(gamma):
    rho = np.linspace(-1, 1, 101)
    g = gmm_limit(rho)
    paper = np.exp(-2 * gamma * (1 - rho)) * g * (1 - g) ** 3 / (1 + g) ** 6 * 64 * gamma**2
    np.testing.assert_allclose(rbf_from_gmm_variance(rho, gamma), paper, atol=1e-15)
    inner = rho[1:-1]
    expected = nrff_variance(inner, gamma) / rbf_from_gmm_variance(inner, gamma)
    np.testing.assert_allclose(nrff_gcws_variance_ratio(inner, gamma), expected, rtol=1e-9)


def test_ratio_to_nrff():
    assert nrff_gcws_variance_ratio(1, 3) == 0
    assert nrff_gcws_variance_ratio(-1, 3) == np.inf
    assert nrff_gcws_variance_ratio(0, 1e4) == np.inf  # past the largest float, in silence
    rho = np.linspace(-0.999, 1, 500)
    for gamma in (0.01, 1, 2, 5, 10):
        assert (np.diff(nrff_gcws_variance_ratio(rho, gamma)) < 0).all()
    assert (nrff_gcws_variance_ratio(0.52, np.geomspace(1e-3, 1e3, 200)) > 1).all()
    assert nrff_gcws_variance_ratio([0.75, 0.846], [5, 10]) == pytest.approx([1, 1], abs=0.02)
    gap = 1e-10  # the ratio tends to 5 sqrt((1 - rho) / 8), whatever gamma
    assert nrff_gcws_variance_ratio(1 - gap, 4) == pytest.approx(5 * np.sqrt(gap / 8), rel=1e-4)
    assert rbf_from_gmm_variance(1 - gap, 4) == pytest.approx(16 * np.sqrt(8) * gap**1.5, rel=1e-4)
