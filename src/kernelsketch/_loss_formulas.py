"""Specification of the losses: one row of formulas per loss, in plain NumPy.

The specification of learning (``reference/linear.py``, ``reference/newton.py``) and the duality gap of the solver read
them; ``native/core/losses.h`` has the same operations in the same order for native code and GPUs. Consider a row with
decision value f, target y and cost c, and let beta be its dual variable, which is minus the derivative of the loss at
the solution. A loss may have a parameter, whose name ``_losses.py`` says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ._losses import LOSSES

LEAST_SHARE = 1e-8  # of the cost, which the duals of the logarithmic loss keep away from 0 and from the cost

# The solver returns w times the best of these factors if the loss is the hinge loss. Rows on the margin that float32
# leaves 1e-7 inside of it cost C times that, which is more than the gap. A slightly longer w puts them outside of the
# margin. It is as good a solution, because the gap is computed for the scaled w itself.
HINGE_SCALINGS = (1.0, *(1 + 2.0**-q for q in range(24, 16, -1)))


class LossFormulas(NamedTuple):
    """The formulas of one loss. They work on arrays, also of other libraries, and return their type.

    Attributes
    ----------
    value
        ``value(f, y, c, parameter)`` is the loss.
    conjugate
        ``conjugate(beta, y, c)`` is its convex conjugate at -beta, for beta within its bounds.
    bounds
        ``bounds(y, c, parameter)`` returns the smallest and the largest beta.
    ridge
        If the conjugate is ``ridge(c)/2 beta^2 - y beta``, the minimum of the dual in one coordinate follows from it.
    step
        Any other loss has ``step(f, y, beta, c, q)``, which returns the beta at that minimum, where q = |x|^2, and
    gradient
        ``gradient(f, y, beta, c)``, which says how far beta is from it. Both work on scalars.
    dual
        A smooth loss has ``dual(f, y, c, parameter)``, minus its derivative, and
    curvature
        ``curvature(f, y, c, parameter)``, its second derivative, from one side where it jumps.
    scalings
        The factors of w among which the solver chooses the one with the smallest objective.
    """

    value: Callable[[Any, Any, Any, Any], Any]
    conjugate: Callable[[Any, Any, Any], Any]
    bounds: Callable[[Any, Any, Any], tuple[Any, Any]]
    ridge: Callable[[Any], Any] | None = None
    step: Callable[[Any, Any, Any, Any, Any], Any] | None = None
    gradient: Callable[[Any, Any, Any, Any], Any] | None = None
    dual: Callable[[Any, Any, Any, Any], Any] | None = None
    curvature: Callable[[Any, Any, Any, Any], Any] | None = None
    scalings: tuple[float, ...] = (1.0,)

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


def _no_ridge(c: Any) -> Any:
    return np.zeros_like(c)


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


# c max(0, 1 - y f)^2


def _squared_hinge(f: Any, y: Any, c: Any, _parameter: Any) -> Any:
    return c * np.maximum(0, 1 - y * f) ** 2


def _squared_hinge_dual(f: Any, y: Any, c: Any, _parameter: Any) -> Any:
    one, two = f.dtype.type(1), f.dtype.type(2)
    m = one - y * f
    return np.where(m > 0, y * (two * c * m), 0)


def _squared_hinge_curvature(f: Any, y: Any, c: Any, _parameter: Any) -> Any:
    one, two = f.dtype.type(1), f.dtype.type(2)
    return np.where(one - y * f > 0, two * c, 0)


# c max(0, 1 - y f)


def _hinge(f: Any, y: Any, c: Any, _parameter: Any) -> Any:
    return c * np.maximum(0, 1 - y * f)


# c log(1 + exp(-y f))


def _log_loss(f: Any, y: Any, c: Any, _parameter: Any) -> Any:
    return c * np.logaddexp(0, -y * f)


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
    return type(f)(_newton_log_step(float(f), float(y), float(beta), float(c), float(q)))


def _newton_log_step(f: float, y: float, beta: float, cost: float, q: float) -> float:
    """Newton's method from the side from which it converges."""
    a, slope = _share(y, beta, cost), y * f
    upper = q * (cost / 2 - a) + slope < 0
    start, b = (cost - a, -slope) if upper else (a, slope)
    z = min(start, cost / 2)
    for _ in range(50):
        g = q * (z - start) + b + np.log(z / (cost - z))
        following = z - g / (q + cost / (z * (cost - z)))
        to = z / 10 if following <= 0 else min(following, cost / 2 + (cost / 2 - z) / 2)
        if abs(to - z) <= 1e-12 * z:
            break
        z = to
    z = max(z, LEAST_SHARE * cost)
    return y * (cost - z if upper else z)


def _miss(f: Any, y: Any) -> Any:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(y.astype(np.float64) * f.astype(np.float64)))


def _log_dual(f: Any, y: Any, c: Any, _parameter: Any) -> Any:
    return y * (c * _miss(f, y))


def _log_curvature(f: Any, y: Any, c: Any, _parameter: Any) -> Any:
    p = _miss(f, y)
    return c * (p * (1 - p))


# c (f - y)^2


def _squared_error(f: Any, y: Any, c: Any, _parameter: Any) -> Any:
    return c * np.abs(f - y) ** 2


def _squared_error_dual(f: Any, y: Any, c: Any, _parameter: Any) -> Any:
    return f.dtype.type(2) * c * (y - f)


def _squared_error_curvature(f: Any, _y: Any, c: Any, _parameter: Any) -> Any:
    return f.dtype.type(2) * c


# c r^2 up to |r| = |f - y| = epsilon, then c epsilon (2 |r| - epsilon)


def _huber(f: Any, y: Any, c: Any, epsilon: Any) -> Any:
    r = np.abs(f - y)
    return c * np.where(r <= epsilon, r**2, epsilon * (2 * r - epsilon))


def _huber_bounds(_y: Any, c: Any, epsilon: Any) -> tuple[Any, Any]:
    most = c.dtype.type(2) * c * epsilon
    return -most, most


def _huber_dual(f: Any, y: Any, c: Any, epsilon: Any) -> Any:
    return f.dtype.type(2) * c * np.clip(y - f, -epsilon, epsilon)


def _huber_curvature(f: Any, y: Any, c: Any, epsilon: Any) -> Any:
    return np.where(np.abs(y - f) <= epsilon, f.dtype.type(2) * c, 0)


# c q (y - f) above the prediction f, c (1 - q) (f - y) below it; the best constant is the quantile q of the targets


def _quantile(f: Any, y: Any, c: Any, q: Any) -> Any:
    r = y - f
    return c * np.maximum(q * r, (q - 1) * r)


def _quantile_bounds(_y: Any, c: Any, q: Any) -> tuple[Any, Any]:
    return -(c.dtype.type(1) - q) * c, q * c


_FORMULAS = {
    "squared_hinge": LossFormulas(
        *(_squared_hinge, _quadratic_conjugate, _one_sided, _half_over_cost),
        dual=_squared_hinge_dual,
        curvature=_squared_hinge_curvature,
    ),
    "hinge": LossFormulas(_hinge, _linear_conjugate, _up_to_the_cost, _no_ridge, scalings=HINGE_SCALINGS),
    "log_loss": LossFormulas(
        *(_log_loss, _log_conjugate, _up_to_the_cost, None),
        *(_log_step, _log_gradient, _log_dual, _log_curvature),
    ),
    "squared_error": LossFormulas(
        *(_squared_error, _quadratic_conjugate, _unbounded, _half_over_cost),
        dual=_squared_error_dual,
        curvature=_squared_error_curvature,
    ),
    "huber": LossFormulas(
        *(_huber, _quadratic_conjugate, _huber_bounds, _half_over_cost), dual=_huber_dual, curvature=_huber_curvature
    ),
    "quantile": LossFormulas(_quantile, _linear_conjugate, _quantile_bounds, _no_ridge),
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
