"""Theorems 2 and 3 against numerical integration, to ten digits: no sign or factor can hide."""

import numpy as np
import pytest

from kernelsketch.theory import (
    nrff_bias,
    nrff_variance,
    nrff_variance_ratio,
    rff_mean,
    rff_mean_without_phase,
    rff_variance,
)

PAIRS = [(-1.0, 0.5), (-0.5, 2.0), (0.0, 1.0), (0.5, 0.1), (0.5, 4.0), (0.9, 1.0), (0.99, 3.0), (1.0, 2.0)]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
PHASES = 2 * np.pi * np.arange(16) / 16  # exact for the trigonometric polynomials below, of degree 4 in the phase


def expectation(rho, gamma, f):
    """E f(X, Y) over x, y jointly normal and w uniform, by quadrature."""
    x, z, w = np.meshgrid(NODES, NODES, PHASES, indexing="ij")
    y = rho * x + np.sqrt(1 - rho**2) * z
    X, Y = np.sqrt(2) * np.cos(np.sqrt(gamma) * x + w), np.sqrt(2) * np.cos(np.sqrt(gamma) * y + w)
    return np.einsum("i,j,ijk->", WEIGHTS, WEIGHTS, f(X, Y)) / len(PHASES)


@pytest.mark.parametrize(("rho", "gamma"), PAIRS)
class TestAgainstIntegration:
    def test_rff(self, rho, gamma):
        mean = expectation(rho, gamma, lambda X, Y: X * Y)
        square = expectation(rho, gamma, lambda X, Y: (X * Y) ** 2)
        assert rff_mean(rho, gamma) == pytest.approx(mean, abs=1e-10)
        assert rff_variance(rho, gamma) == pytest.approx(square - mean**2, abs=1e-10)

    def test_mean_without_phase(self, rho, gamma):
        x, z = np.meshgrid(NODES, NODES, indexing="ij")
        y = rho * x + np.sqrt(1 - rho**2) * z
        product = np.cos(np.sqrt(gamma) * x) * np.cos(np.sqrt(gamma) * y)
        assert rff_mean_without_phase(rho, gamma) == pytest.approx(WEIGHTS @ product @ WEIGHTS, abs=1e-10)

    def test_nrff_variance_is_that_of_the_linear_term(self, rho, gamma):
        e = expectation(rho, gamma, lambda X, Y: X * Y)
        linear = expectation(rho, gamma, lambda X, Y: (X * Y - e * (X**2 + Y**2) / 2) ** 2)
        assert nrff_variance(rho, gamma) == pytest.approx(linear, abs=1e-10)

    def test_nrff_bias_is_that_of_the_quadratic_term(self, rho, gamma):
        """f(a, b, c) = a / sqrt(b c) at the means (e, 1, 1) of XY, XX, YY: half its Hessian times the covariance."""
        e = expectation(rho, gamma, lambda X, Y: X * Y)
        hessian = np.array([[0, -1 / 2, -1 / 2], [-1 / 2, 3 * e / 4, e / 4], [-1 / 2, e / 4, 3 * e / 4]])
        parts = [lambda X, Y: X * Y - e, lambda X, Y: X * X - 1, lambda X, Y: Y * Y - 1]
        covariance = [[expectation(rho, gamma, lambda X, Y, f=f, g=g: f(X, Y) * g(X, Y)) for f in parts] for g in parts]
        assert nrff_bias(rho, gamma) == pytest.approx(np.sum(hessian * covariance) / 2, abs=1e-10)

    def test_the_form_of_the_paper(self, rho, gamma):
        q = np.exp(-2 * gamma * (1 - rho))
        assert nrff_variance(rho, gamma) == pytest.approx(rff_variance(rho, gamma) - q * (3 - q**2) / 4, abs=1e-14)
        assert nrff_variance_ratio(rho, gamma) == pytest.approx(
            nrff_variance(rho, gamma) / rff_variance(rho, gamma), rel=1e-14
        )


def test_known_values():
    assert rff_mean(1, 7) == 1
    assert rff_variance(1, 7) == 0.5
    assert nrff_variance(1, 7) == nrff_bias(1, 7) == nrff_variance_ratio(1, 7) == 0
    assert rff_variance(0, 1e3) == nrff_variance(0, 1e3) == 1  # both features are independent signs of a sort
    assert rff_mean_without_phase(1, 1e3) == 0.5  # E cos^2
    assert rff_variance(0.5, np.log(2)) == pytest.approx(0.5 + 0.5 * 0.5**2)  # E^2 = 1/2
    assert nrff_variance(0.5, np.log(2)) == pytest.approx(0.25 * 1.125)
    assert nrff_bias(0.5, np.log(2), 3) == pytest.approx(-np.sqrt(0.5) * 0.75 / 24)


def test_they_fall_with_k():
    k = np.array([1, 10, 1000])
    for f in (rff_variance, nrff_variance, nrff_bias):
        np.testing.assert_allclose(f(0.3, 2.0, k), f(0.3, 2.0) / k, rtol=1e-15)


def test_digits_are_kept_near_rho_1():
    """V_n tends to 5 gamma^2 (1 - rho)^2, the bias to -gamma (1 - rho) / 2."""
    gap = 2.0 ** -np.array([20, 30, 40, 50])
    np.testing.assert_allclose(nrff_variance(1 - gap, 3.0), 45 * gap**2, rtol=1e-4)
    np.testing.assert_allclose(nrff_variance(1 - gap[1:], 3.0), 45 * gap[1:] ** 2, rtol=1e-7)
    np.testing.assert_allclose(nrff_bias(1 - gap[1:], 3.0), -1.5 * gap[1:], rtol=1e-7)


def test_order_in_rho_and_gamma():
    rho = np.linspace(-1, 1, 201)
    for gamma in (0.1, 1, 10):
        for f in (rff_variance, nrff_variance, nrff_variance_ratio):
            assert (np.diff(f(rho, gamma)) < 1e-15).all()
        assert (np.diff(rff_mean(rho, gamma)) > 0).all()
        assert (nrff_variance(rho, gamma) < rff_variance(rho, gamma))[gamma * (1 - rho) < 15].all()
        # Only gamma (1 - rho) counts.
        np.testing.assert_allclose(nrff_variance(rho, gamma), nrff_variance((1 + rho) / 2, 2 * gamma), atol=1e-14)
    assert (np.diff(nrff_variance(0.5, np.geomspace(1e-3, 10, 50))) > 0).all()


def test_joint_normality_is_needed():
    """Of x and y = s x with a random sign s, each is normal and E xy = 0, but the mean is not exp(-gamma)."""
    gamma = 2.0
    mean = 0.5 + 0.5 * WEIGHTS @ np.cos(2 * np.sqrt(gamma) * NODES)
    assert mean > 3.5 * rff_mean(0.0, gamma)


def test_a_slip_in_the_proof():
    """E cos(2cx + 2w) is 0 by the integral of cos 2t; the paper's factor is sin(2t) / 2."""
    c, t = 0.7, np.linspace(0, 2 * np.pi, 9)[1:-1]
    inner = np.array([WEIGHTS @ np.cos(2 * c * NODES + 2 * phase) for phase in t])
    np.testing.assert_allclose(inner, np.cos(2 * t) * np.exp(-2 * c**2), atol=1e-12)
    assert np.abs(inner - np.sin(2 * t) / 2 * np.exp(-2 * c**2)).max() > 0.1
