"""Calibration: what generated the labels is recovered, the fit is a minimum, and probabilities are always usable."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import expit, softmax
from threadpoolctl import threadpool_limits

from kernelsketch.linear import _calibration
from kernelsketch.linear._calibration import Calibration, fit_calibration

rng = np.random.default_rng(0)


def drawn(chances):
    """Labels with the given probabilities."""
    return (rng.random(len(chances))[:, None] > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)


class TestFit:
    def test_two_classes_are_recovered(self):
        """With 200,000 rows both parameters have a standard error below 0.011: 6 sigma, a false alarm in 10**8."""
        values = rng.normal(0.3, 1.5, (200_000, 1))
        labels = (rng.random(200_000) < expit(1.7 * values[:, 0] - 0.6)).astype(int)
        found = fit_calibration(values, labels, 2)
        assert found.coefficients.shape == (1, 1)
        assert found.intercepts.shape == (1,)
        np.testing.assert_allclose([found.coefficients[0, 0], found.intercepts[0]], [1.7, -0.6], atol=0.065)

    def test_a_matrix_is_recovered(self):
        """In the probabilities, because a constant in all logits says nothing: 200,000 rows, 13 parameters that count.

        The root mean square error of the probabilities is about sqrt(13 / 200,000) / 3 = 0.0027.
        """
        values = rng.normal(0, 1, (200_000, 4))
        slopes, intercepts = np.eye(4) * 2 + rng.normal(0, 0.5, (4, 4)), np.array([0.5, 0, -0.5, 1])
        chances = softmax(values @ slopes + intercepts, axis=1)
        found = fit_calibration(values, drawn(chances), 4)
        assert found.coefficients.shape == (4, 4)
        assert np.sqrt(np.mean((found.probabilities(values) - chances) ** 2)) < 0.008

    def test_a_common_slope(self):
        """If it is asked for, and if there are many classes."""
        values = rng.normal(0, 1, (150, 60))
        few = values[:, :4]
        for found in (
            fit_calibration(values, values.argmax(axis=1), 60),
            fit_calibration(few, few.argmax(axis=1), 4, common_slope=True),
        ):
            assert len(found.coefficients) == 1
            assert len(set(found.coefficients[0])) == 1
        assert fit_calibration(few, few.argmax(axis=1), 4).coefficients.shape == (4, 4)

    @pytest.mark.parametrize("count", [2, 3, 12])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_the_fit_is_a_minimum(self, count, weighted, monkeypatch):
        """The gradient is zero there, and it is the gradient of the value."""
        fits = []
        solve = _calibration._Fit.solve

        def kept(self):
            fits.append(self)
            return solve(self)

        monkeypatch.setattr(_calibration._Fit, "solve", kept)
        monkeypatch.setattr(_calibration, "MATRIX_GRADIENT", 1e-9)
        values = rng.normal(0, 1, (150, 1 if count == 2 else count)) * 40
        labels = np.where(rng.random(150) < 0.6, values.argmax(axis=1), rng.integers(0, count, 150))
        fit_calibration(values, labels, count, rng.exponential(1, 150) if weighted else None)
        (fit,) = fits
        best = fit.solve()
        assert np.abs(fit.gradient(best)).max() < 1e-8
        for _ in range(3):
            moved = best + rng.normal(0, 1, len(best))
            assert fit.value(moved) > fit.value(best)
            assert check_grad(fit.value, fit.gradient, moved) < 1e-5
            step = rng.normal(0, 1, len(best))
            change = (fit.gradient(moved + 1e-6 * step) - fit.gradient(moved - 1e-6 * step)) / 2e-6
            np.testing.assert_allclose(fit.curvature(moved, step), change, atol=1e-6)

    def test_two_classes_have_targets_of_platt(self):
        """The mean of the probabilities is that of the smoothed labels, because the intercept is hardly penalized."""
        labels = np.repeat([0, 1], [30, 10])
        values = rng.normal(0, 1, (40, 1)) + labels[:, None]
        found = fit_calibration(values, labels, 2).probabilities(values)[:, 1]
        assert abs(found.mean() - (30 / 32 + 10 * 11 / 12) / 40) < 1e-4

    def test_weights(self):
        labels = rng.integers(0, 3, 300)
        values = rng.normal(0, 1, (300, 3)) + np.eye(3)[labels]
        weights = rng.integers(0, 3, 300).astype(float)
        found = fit_calibration(values, labels, 3, weights)
        kept = weights > 0
        without = fit_calibration(values[kept], labels[kept], 3, weights[kept])
        np.testing.assert_array_equal(without.coefficients, found.coefficients)
        np.testing.assert_array_equal(without.intercepts, found.intercepts)
        assert np.abs(fit_calibration(values, labels, 3).coefficients - found.coefficients).max() > 1e-3

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_whole_weights_count_as_repeated_rows(self, n_classes):
        labels = rng.integers(0, n_classes, 60)
        values = rng.normal(0, 1, (60, 3 if n_classes == 3 else 1)) + (np.eye(3)[labels] if n_classes == 3 else 0)
        weights = rng.integers(0, 5, 60)
        found = fit_calibration(values, labels, n_classes, weights, common_slope=True)
        other = fit_calibration(values.repeat(weights, axis=0), labels.repeat(weights), n_classes, common_slope=True)
        np.testing.assert_allclose(found.coefficients, other.coefficients, rtol=1e-6)
        np.testing.assert_allclose(found.intercepts, other.intercepts, rtol=1e-6, atol=1e-8)

    def test_only_ratios_count_if_the_mean_weight_is_below_1(self):
        labels, values = rng.integers(0, 3, 300), rng.normal(0, 1, (300, 3))
        weights = rng.random(300)
        found = fit_calibration(values, labels, 3, weights)
        other = fit_calibration(values, labels, 3, weights * 2.0**-40)
        np.testing.assert_allclose(other.coefficients, found.coefficients, rtol=1e-9)
        one = fit_calibration(values, labels, 3)
        np.testing.assert_array_equal(
            fit_calibration(values, labels, 3, np.full(300, 1 / 300)).coefficients, one.coefficients
        )

    def test_the_unit_of_the_values_does_not_count(self):
        values, labels = rng.normal(0, 1, (300, 3)), rng.integers(0, 3, 300)
        shares = fit_calibration(values, labels, 3).probabilities(values)
        for unit in (2.0**-60, 2.0**60):
            np.testing.assert_array_equal(
                fit_calibration(values * unit, labels, 3).probabilities(values * unit), shares
            )


def test_it_does_not_depend_on_the_threads_of_blas():
    """With several threads, products of matrices add up in another order."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 12, 2000)
    values = rng.normal(size=(2000, 12)) + 2 * np.eye(12)[labels]
    found = fit_calibration(values, labels, 12)
    with threadpool_limits(1):
        alone = fit_calibration(values, labels, 12)
    np.testing.assert_array_equal(found.coefficients, alone.coefficients)
    np.testing.assert_array_equal(found.intercepts, alone.intercepts)


class TestHardData:
    @pytest.mark.parametrize("count", [2, 5])
    def test_separable_classes(self, count):
        labels = np.arange(600) % count
        values = np.where(labels[:, None] == np.arange(count), 1.0, -1.0)
        values = values[:, 1:] if count == 2 else values
        found = fit_calibration(values, labels, count)
        assert np.isfinite(found.coefficients).all()
        shares = found.probabilities(values)
        own = shares[np.arange(600), labels]
        assert own.min() > 0.97
        assert own.max() < 1

    @pytest.mark.parametrize("count", [2, 3, 40])
    def test_a_class_without_rows(self, count):
        values = rng.normal(0, 1, (60, 1 if count == 2 else count))
        shares = fit_calibration(values, np.zeros(60, int), count).probabilities(values)
        assert np.isfinite(shares).all()
        assert (shares.argmax(axis=1) == 0).all()

    def test_values_that_are_all_equal(self):
        for value in (0.0, 3.0):
            shares = fit_calibration(np.full((60, 1), value), np.repeat([0, 1], [45, 15]), 2).probabilities(
                [[value]] * np.ones((1, 1))
            )
            np.testing.assert_allclose(shares, [[0.75, 0.25]], atol=0.03)

    def test_one_row(self):
        shares = fit_calibration(np.array([[0.5]]), np.array([1]), 2).probabilities(np.array([[0.5], [-0.5]]))
        assert shares[0, 1] > shares[1, 1]


class TestProbabilities:
    @pytest.mark.parametrize(
        "found",
        [
            Calibration(np.array([[3.0]]), np.array([-1.0])),
            Calibration(np.full((1, 7), 3.0), np.arange(7.0)),
            Calibration(np.eye(7) * 5 - 1, np.arange(7.0)),
        ],
    )
    def test_they_are_usable(self, found):
        size = len(found.intercepts)
        values = np.concatenate([rng.normal(0, 1, (50, size)), 1e6 * rng.normal(0, 1, (50, size)), np.zeros((1, size))])
        shares = found.probabilities(values)
        assert shares.shape == (101, max(2, size))
        assert ((shares > 0) & (shares < 1)).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=0, atol=1e-15)
        one_by_one = np.concatenate([found.probabilities(values[i : i + 1]) for i in range(101)])
        np.testing.assert_array_equal(one_by_one, shares)

    def test_their_logits(self):
        values = rng.normal(0, 1, (50, 3))
        slopes, intercepts = rng.normal(0, 1, (3, 3)), rng.normal(0, 1, 3)
        expected = softmax(values @ slopes + intercepts, axis=1)
        np.testing.assert_allclose(Calibration(slopes, intercepts).probabilities(values), expected, rtol=1e-12)
        expected = softmax(2 * values + intercepts, axis=1)
        np.testing.assert_allclose(Calibration(np.full((1, 3), 2.0), intercepts).probabilities(values), expected)
        found = Calibration(np.array([[2.0]]), np.array([0.3])).probabilities(values[:, :1])
        np.testing.assert_allclose(found[:, 1], expit(2 * values[:, 0] + 0.3))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_larger_decision_value_is_never_a_smaller_probability(n_classes):
    """Values that by chance say the opposite of the labels get a slope just above 0, and the shares of the classes."""
    labels = np.arange(60) % n_classes
    values = -np.eye(n_classes)[labels]
    values = values[:, 1:] - values[:, :1] if n_classes == 2 else values
    found = fit_calibration(values, labels, n_classes)
    assert len(found.coefficients) == 1
    assert (found.coefficients > 0).all()
    np.testing.assert_allclose(found.probabilities(values), 1 / n_classes, atol=0.02)
