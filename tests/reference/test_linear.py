"""Losses of linear models: conjugates and steps against their definitions, by numerical minimization."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from kernelsketch._loss_formulas import formulas_of
from kernelsketch._losses import LOSSES, loss_named
from kernelsketch.reference import linear

EPSILON = 0.375  # of the Huber loss, and the quantile of the quantile loss; a float32


def bounds(name, y, c):
    """Where the conjugate is finite: a range for beta. Bounds that are infinite are replaced by large ones."""
    found = formulas_of(LOSSES.index(name)).bounds(np.float64(y), np.float64(c), EPSILON)
    return tuple(float(np.clip(bound, -100 * c, 100 * c)) for bound in found)


def target_of(name, y):
    return y if loss_named(name).is_regression else float(np.sign(y) or 1)


numbers = st.floats(-4, 4, width=32)
costs = st.sampled_from([0.0078125, 0.25, 1.0, 16.0, 1024.0])
shares = st.floats(0, 1, width=32)


@pytest.mark.parametrize("name", LOSSES)
@given(f=numbers, y=numbers, c=costs)
def test_values_are_losses(name, f, y, c):
    y = target_of(name, y)
    expected = {
        "squared_hinge": lambda: max(0, 1 - y * f) ** 2,
        "hinge": lambda: max(0, 1 - y * f),
        "log_loss": lambda: np.log(1 + np.exp(-y * f)),
        "squared_error": lambda: (f - y) ** 2,
        "quantile": lambda: EPSILON * (y - f) if y > f else (1 - EPSILON) * (f - y),
        "huber": lambda: (f - y) ** 2 if abs(f - y) <= EPSILON else EPSILON**2 + 2 * EPSILON * (abs(f - y) - EPSILON),
    }[name]()
    found = linear.value(LOSSES.index(name), f, y, c, EPSILON)
    np.testing.assert_allclose(found, c * expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
@given(y=numbers, c=costs, share=st.floats(0.03125, 0.96875))
def test_conjugates_are_the_largest_differences(name, y, c, share):
    """conjugate(beta) = max over f of -beta f - loss(f)."""
    y, number = target_of(name, y), LOSSES.index(name)
    low, high = bounds(name, y, c)
    beta = low + share * (high - low)
    far = 400 if high - low > 99 * c else 8

    def negative(f):
        return float(beta * f + linear.value(number, f, y, c, EPSILON))

    best = minimize_scalar(negative, bounds=(y - far, y + far), method="bounded", options={"xatol": 1e-9})
    found = float(linear.conjugate(number, beta, y, c))
    scale = c * (1 + (beta / c) ** 2)
    assert found >= -best.fun - 1e-9 * scale
    np.testing.assert_allclose(found, -best.fun, rtol=0, atol=1e-6 * scale)


@pytest.mark.parametrize("name", LOSSES)
@given(f=numbers, y=numbers, c=costs, share=shares, q=st.sampled_from([1.0, 2.0, 1.0625, 101.0]))
def test_steps_minimize_the_dual_in_one_coordinate(name, f, y, c, share, q):
    y, number = target_of(name, y), LOSSES.index(name)
    low, high = bounds(name, y, c)
    if high - low > 99 * c:
        low, high = max(low, -8.0), min(high, 8.0)
    beta = np.float32(low + share * (high - low))
    arguments = [np.float32(v) for v in (f, y)]
    new = linear.step(number, *arguments, beta, np.float32(c), np.float32(q), np.float32(EPSILON))

    def dual(b):
        return float(q / 2 * (b - float(beta)) ** 2 + f * (b - float(beta)) + linear.conjugate(number, b, y, c))

    low, high = bounds(name, y, c)
    assert low <= new <= high
    low, high = max(low, -120.0), min(high, 120.0)
    best = minimize_scalar(dual, bounds=(low, high), method="bounded", options={"xatol": 1e-10})
    least = min(best.fun, dual(low), dual(high))
    assert dual(float(new)) <= least + 1e-5 * (1 + abs(least))
    # Where it stands still, and only there, the gradient is 0 or as good as 0.
    g = linear.gradient(number, *arguments, beta, np.float32(c), np.float32(EPSILON))
    if g == 0:
        np.testing.assert_allclose(new, beta, rtol=1e-5, atol=1e-6 * (1 + c))
    if new == beta:
        assert abs(g) < 1e-5 * (1 + abs(f) + abs(y) + 1 / c)


@pytest.mark.parametrize("name", LOSSES)
@given(f=numbers, y=numbers, c=costs, share=shares)
def test_weak_duality(name, f, y, c, share):
    """loss(f) + conjugate(beta) >= -beta f: what makes the gap a bound."""
    y, number = target_of(name, y), LOSSES.index(name)
    low, high = bounds(name, y, c)
    beta = low + share * (high - low)
    loss, conjugate = linear.value(number, f, y, c, EPSILON), linear.conjugate(number, beta, y, c)
    assert loss + conjugate + beta * f >= -1e-12 * (1 + abs(loss) + abs(conjugate) + abs(beta * f))


@pytest.mark.parametrize("name", LOSSES)
@given(y=numbers, c=costs)
def test_the_conjugate_is_infinite_beyond_the_bounds(name, y, c):
    """There, -beta f - loss(f) grows without limit with f or -f: no beta beyond a bound is a dual."""
    y, number = target_of(name, y), LOSSES.index(name)
    for bound, side in zip(bounds(name, y, c), (-1, 1), strict=True):
        if abs(bound) < 100 * c:
            far = -side * np.array([1e3, 1e5])
            beyond = -(bound + side * c / 64) * far - linear.value(number, far, y, c, EPSILON)
            assert 0 < beyond[0] < beyond[1] / 10


def test_unknown_losses_are_refused():
    for number in (-1, len(LOSSES)):
        with pytest.raises(ValueError, match=f"loss: unknown number {number}"):
            linear.value(number, 0.0, 1.0, 1.0)


def test_decisions_and_sums_by_hand():
    codes = np.array([[0, 1], [1, 1], [0, 0]], np.uint8)
    empty = np.array([0, 0, 1], np.uint8)
    w = np.array([[[1, 2], [4, 8]]], np.float32)
    np.testing.assert_array_equal(
        linear.decide(codes, empty, 2.0, w, np.array([0.5])), np.array([[10], [11], [1]], np.float32)
    )
    sums = np.zeros((2, 2))
    linear.accumulate(codes, empty, np.array([1, 2, 4], np.float32), sums)
    np.testing.assert_array_equal(sums, [[1, 2], [0, 3]])
