"""Specification of the losses: one row of formulas per loss, in plain NumPy.

The specification of learning (``reference/linear.py``, ``reference/newton.py``) and the duality gap of the solver use
them; ``native/core/losses.h`` has the same operations in the same order for native code and GPUs. A row has decision
value f, target y and cost c. Its dual variable beta is minus the derivative of the loss at the solution. A loss may
have a parameter, whose name is in ``_losses.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ._losses import LOSSES

LEAST_SHARE = 1e-8  # of the cost, which the duals of the logarithmic loss keep away from 0 and from the cost

# The solver returns w times the best of these factors if the loss is the hinge loss. Rows on the margin that float32
# leaves 1e-7 inside of it cost C times that, which is more than the gap. A slightly longer w puts them outside.
HINGE_SCALINGS = (1.0, *(1 + 2.0**-q for q in range(24, 16, -1)))


class LossFormulas(NamedTuple):
    """The formulas of one loss. They work on arrays, also of other libraries, and return their type."""

    value: Callable[..., Any]  # (f, y, c, parameter): the loss
    conjugate: Callable[..., Any]  # (beta, y, c): its convex conjugate at -beta, for beta within its bounds
    bounds: Callable[..., tuple[Any, Any]]  # (y, c, parameter): the smallest and the largest beta
    # If the conjugate is ridge(c)/2 beta^2 - y beta, the minimum of the dual in one coordinate follows from the ridge.
    ridge: Callable[[Any], Any] | None = None
    # Any other loss has both, for scalars; q is |x|^2.
    step: Callable[..., Any] | None = None  # (f, y, beta, c, q): the beta at that minimum
    gradient: Callable[..., Any] | None = None  # (f, y, beta, c): how far beta is from it
    # A smooth loss has both.
    dual: Callable[..., Any] | None = None  # (f, y, c, parameter): minus the derivative
    curvature: Callable[..., Any] | None = None  # (f, y, c, parameter): the second one, from one side where it jumps
    scalings: tuple[float, ...] = (1.0,)  # of w, among which the solver chooses the one with the smallest objective

    @property
    def has_quadratic_dual(self) -> bool:
        """Whether the dual objective is quadratic and its bounds allow every positive multiple of a feasible beta."""
        return self.conjugate is _quadratic_conjugate and self.bounds in (_one_sided, _unbounded)

    @property
    def adds_up(self) -> bool:
        """Whether the losses of one prediction at several targets are a constant and the loss at their mean."""
        return self.value is _squared_error

    def feasible(self, beta: Any, y: Any, c: Any, parameter: float) -> Any:
        """Return the duals of a problem with other costs, moved into the bounds of this problem, for a warm start."""
        low, high = self.bounds(y, c.astype(np.float64), parameter)
        return np.where(c > 0, np.minimum(np.maximum(beta, low), high), 0)


def _quadratic_conjugate(beta: Any, y: Any, c: Any) -> Any:
    return beta**2 / (4 * c) - y * beta


def _linear_conjugate(beta: Any, y: Any, _c: Any) -> Any:
    return -y * beta


def _half_over_cost(c: Any) -> Any:
    return c.dtype.type(0.5) / c


def _towards_the_target(y: Any, most: Any) -> tuple[Any, Any]:
    """Return the bounds of classes: y beta is between 0 and ``most``."""
    zero = np.zeros_like(most)
    return np.where(y > 0, zero, -most), np.where(y > 0, most, zero)


def _one_sided(y: Any, c: Any, _parameter: Any) -> tuple[Any, Any]:
    return _towards_the_target(y, np.full_like(c, np.inf))


def _up_to_the_cost(y: Any, c: Any, _parameter: Any) -> tuple[Any, Any]:
    return _towards_the_target(y, c)


def _unbounded(_y: Any, c: Any, _parameter: Any) -> tuple[Any, Any]:
    return np.full_like(c, -np.inf), np.full_like(c, np.inf)


def _squared_error(f: Any, y: Any, c: Any, _parameter: Any) -> Any:
    return c * np.abs(f - y) ** 2


def _log_conjugate(beta: Any, y: Any, c: Any) -> Any:
    a = np.clip(y * beta, 0, c)
    parts = [np.where(x > 0, x * np.log(np.where(x > 0, x, 1) / c), 0) for x in (a, c - a)]
    return parts[0] + parts[1]


def _share(y: Any, beta: Any, cost: float) -> float:
    """y beta, kept away from 0 and from the cost, where the logarithms have no limit."""
    return min(max(float(y) * float(beta), LEAST_SHARE * cost), (1 - LEAST_SHARE) * cost)


def _log_gradient(f: Any, y: Any, beta: Any, c: Any) -> Any:
    cost, a = float(c), _share(y, beta, float(c))
    g = float(y) * float(f) + np.log(a / (cost - a))
    return type(f)(g * a * (cost - a) / (cost * cost))


def _log_step(f: Any, y: Any, beta: Any, c: Any, q: Any) -> Any:
    """Newton's method from the side from which it converges."""
    cost, norm = float(c), float(q)
    a, slope = _share(y, beta, cost), float(y) * float(f)
    upper = norm * (cost / 2 - a) + slope < 0
    start, b = (cost - a, -slope) if upper else (a, slope)
    z = min(start, cost / 2)
    for _ in range(50):
        g = norm * (z - start) + b + np.log(z / (cost - z))
        following = z - g / (norm + cost / (z * (cost - z)))
        to = z / 10 if following <= 0 else min(following, cost / 2 + (cost / 2 - z) / 2)
        if abs(to - z) <= 1e-12 * z:
            break
        z = to
    z = max(z, LEAST_SHARE * cost)
    return type(f)(float(y) * (cost - z if upper else z))


def _miss(f: Any, y: Any) -> Any:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(y.astype(np.float64) * f.astype(np.float64)))


def _huber(f: Any, y: Any, c: Any, epsilon: Any) -> Any:
    r = np.abs(f - y)
    return c * np.where(r <= epsilon, r**2, epsilon * (2 * r - epsilon))


def _huber_bounds(_y: Any, c: Any, epsilon: Any) -> tuple[Any, Any]:
    most = c.dtype.type(2) * c * epsilon
    return -most, most


_FORMULAS = {
    "squared_hinge": LossFormulas(  # c max(0, 1 - y f)^2
        lambda f, y, c, _: c * np.maximum(0, 1 - y * f) ** 2,
        *(_quadratic_conjugate, _one_sided, _half_over_cost),
        dual=lambda f, y, c, _: np.where(1 - y * f > 0, y * (2 * c * (1 - y * f)), 0),
        curvature=lambda f, y, c, _: np.where(1 - y * f > 0, 2 * c, 0),
    ),
    "hinge": LossFormulas(  # c max(0, 1 - y f)
        lambda f, y, c, _: c * np.maximum(0, 1 - y * f),
        *(_linear_conjugate, _up_to_the_cost, np.zeros_like),
        scalings=HINGE_SCALINGS,
    ),
    "log_loss": LossFormulas(  # c log(1 + exp(-y f))
        lambda f, y, c, _: c * np.logaddexp(0, -y * f),
        *(_log_conjugate, _up_to_the_cost, None, _log_step, _log_gradient),
        dual=lambda f, y, c, _: y * (c * _miss(f, y)),
        curvature=lambda f, y, c, _: c * (_miss(f, y) * (1 - _miss(f, y))),
    ),
    "squared_error": LossFormulas(  # c (f - y)^2
        *(_squared_error, _quadratic_conjugate, _unbounded, _half_over_cost),
        dual=lambda f, y, c, _: 2 * c * (y - f),
        curvature=lambda _f, _y, c, _: 2 * c,
    ),
    "huber": LossFormulas(  # c r^2 up to |r| = |f - y| = epsilon, then c epsilon (2 |r| - epsilon)
        *(_huber, _quadratic_conjugate, _huber_bounds, _half_over_cost),
        dual=lambda f, y, c, epsilon: 2 * c * np.clip(y - f, -epsilon, epsilon),
        curvature=lambda f, y, c, epsilon: np.where(np.abs(y - f) <= epsilon, 2 * c, 0),
    ),
    # c q (y - f) above the prediction f, c (1 - q) (f - y) below it; the best constant is the quantile q of the targets
    "quantile": LossFormulas(
        lambda f, y, c, q: c * np.maximum(q * (y - f), (q - 1) * (y - f)),
        _linear_conjugate,
        lambda _, c, q: (-(c.dtype.type(1) - q) * c, q * c),
        np.zeros_like,
    ),
}


def formulas_of(number: int) -> LossFormulas:
    """Return the formulas of a loss, by the number of its row in the table of losses."""
    if not 0 <= number < len(LOSSES):
        raise ValueError(f"loss: unknown number {number}, the table has those from 0 to {len(LOSSES) - 1}")
    return _FORMULAS[LOSSES[number]]


def loss_value(number: int, f: Any, y: Any, c: Any, parameter: float = 0.0) -> Any:
    """Return the loss at decision values, in float64."""
    f, y, c = (x.astype(np.float64, copy=False) for x in (f, y, c))
    return formulas_of(number).value(f, y, c, parameter)


def loss_conjugate(number: int, beta: Any, y: Any, c: Any) -> Any:
    """Return the conjugate of the loss at -beta, in float64. Beta must be within its bounds."""
    beta, y, c = (x.astype(np.float64, copy=False) for x in (beta, y, c))
    return formulas_of(number).conjugate(beta, y, c)
