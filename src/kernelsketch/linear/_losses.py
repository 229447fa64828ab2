"""The table of losses: everything that Python code knows about a loss is in one row of ``LOSS_TABLE``.

The names that estimators accept, the numbers of losses, warm starts, the duality gap and ``predict_proba`` follow
from the table. The steps of the solver are in the back ends; ``reference/linear.py`` specifies them. CONTRIBUTING.md
has the recipe "How to add a loss".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# The solver returns w times the best of these factors if the loss is the hinge loss. Rows on the margin that float32
# leaves 1e-7 inside of it cost C times that, which is more than the gap. A slightly longer w puts them outside of the
# margin. It is as good a solution, because the gap is computed for the scaled w itself.
HINGE_SCALINGS = (1.0, *(1 + 2.0**-q for q in range(24, 16, -1)))


@dataclass(frozen=True)
class Loss:
    """One row of the table of losses.

    Attributes
    ----------
    name
        The value of the estimators' parameter ``loss``.
    is_regression
        Whether targets are numbers. Otherwise they are classes, y is 1 or -1, and y beta is never below 0.
    value
        ``value(f, y, c, epsilon)`` returns the loss of decision values f with targets y and costs c.
    conjugate
        ``conjugate(beta, y, c)`` returns the convex conjugate of the loss at -beta, for beta within its bounds.
    dual_bound
        ``dual_bound(c, epsilon)`` returns the largest absolute value of beta.
    scalings
        The factors of w among which the solver chooses the one with the smallest objective.
    has_probabilities
        Whether decision values are log-odds, so that a classifier has ``predict_proba``.
    is_smooth
        Whether the derivative is continuous, so that Newton's method can learn with the loss.
    has_margin
        Whether rows beyond a margin have a loss of 0, so that coordinate descent can skip them.
    """

    name: str
    is_regression: bool
    value: Callable[[Any, Any, Any, float], Any]
    conjugate: Callable[[Any, Any, Any], Any]
    dual_bound: Callable[[Any, float], Any]
    scalings: tuple[float, ...] = (1.0,)
    has_probabilities: bool = False
    is_smooth: bool = True
    has_margin: bool = False

    @property
    def has_quadratic_dual(self) -> bool:
        """Whether the dual objective is quadratic and its bounds allow every positive multiple of a feasible beta."""
        return self.conjugate is _quadratic_conjugate and self.dual_bound is _unbounded

    @property
    def adds_up(self) -> bool:
        """Whether the losses of one prediction at several targets are a constant and the loss at their mean."""
        return self.value is _squared_error

    def feasible(self, beta: Any, y: Any, c: Any, epsilon: float) -> Any:
        """Return the duals of a problem with other costs, moved into the bounds of this problem, for a warm start."""
        bound = np.where(c > 0, self.dual_bound(c.astype(np.float64), epsilon), 0)
        if self.is_regression:
            return np.clip(beta, -bound, bound)
        return y * np.clip(y * beta, 0, bound)


def _quadratic_conjugate(beta: Any, y: Any, c: Any) -> Any:
    return beta**2 / (4 * c) - y * beta


def _unbounded(_c: Any, _epsilon: float) -> Any:
    return np.inf


def _bounded_by_cost(c: Any, _epsilon: float) -> Any:
    return c


def _squared_hinge(f: Any, y: Any, c: Any, _epsilon: float) -> Any:
    return c * np.maximum(0, 1 - y * f) ** 2


def _hinge(f: Any, y: Any, c: Any, _epsilon: float) -> Any:
    return c * np.maximum(0, 1 - y * f)


def _hinge_conjugate(beta: Any, y: Any, _c: Any) -> Any:
    return -y * beta


def _log_loss(f: Any, y: Any, c: Any, _epsilon: float) -> Any:
    return c * np.logaddexp(0, -y * f)


def _log_loss_conjugate(beta: Any, y: Any, c: Any) -> Any:
    a = np.clip(y * beta, 0, c)
    parts = [np.where(x > 0, x * np.log(np.where(x > 0, x, 1) / c), 0) for x in (a, c - a)]
    return parts[0] + parts[1]


def _squared_error(f: Any, y: Any, c: Any, _epsilon: float) -> Any:
    return c * np.abs(f - y) ** 2


def _huber(f: Any, y: Any, c: Any, epsilon: float) -> Any:
    r = np.abs(f - y)
    return c * np.where(r <= epsilon, r**2, epsilon * (2 * r - epsilon))


def _huber_bound(c: Any, epsilon: float) -> Any:
    return 2 * c * epsilon


# The number of a loss is its position in this table, in ``reference/linear.py`` and in the native core.
LOSS_TABLE = (
    Loss("squared_hinge", False, _squared_hinge, _quadratic_conjugate, _unbounded, has_margin=True),
    Loss(
        *("hinge", False, _hinge, _hinge_conjugate, _bounded_by_cost),
        scalings=HINGE_SCALINGS,
        is_smooth=False,
        has_margin=True,
    ),
    Loss("log_loss", False, _log_loss, _log_loss_conjugate, _bounded_by_cost, has_probabilities=True),
    Loss("squared_error", True, _squared_error, _quadratic_conjugate, _unbounded),
    Loss("huber", True, _huber, _quadratic_conjugate, _huber_bound),
)
LOSSES = tuple(loss.name for loss in LOSS_TABLE)
CLASSIFIER_LOSSES = tuple(loss.name for loss in LOSS_TABLE if not loss.is_regression)
REGRESSOR_LOSSES = tuple(loss.name for loss in LOSS_TABLE if loss.is_regression)


def loss_number(name: str) -> int:
    """Return the number by which back ends know a loss."""
    return LOSSES.index(name)


def loss_named(name: str) -> Loss:
    """Return the row of a loss."""
    return LOSS_TABLE[loss_number(name)]


def value(loss: int, f: Any, y: Any, c: Any, epsilon: float = 0.0) -> Any:
    """Return the loss at decision values, in float64."""
    f, y, c = (x.astype(np.float64, copy=False) for x in (f, y, c))
    return LOSS_TABLE[loss].value(f, y, c, epsilon)


def conjugate(loss: int, beta: Any, y: Any, c: Any) -> Any:
    """Return the conjugate of the loss at -beta, in float64. Beta must be within its bounds."""
    beta, y, c = (x.astype(np.float64, copy=False) for x in (beta, y, c))
    return LOSS_TABLE[loss].conjugate(beta, y, c)
