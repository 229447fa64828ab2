"""Specification of linear learning on codes: the losses, their duals, and block dual coordinate descent.

A row with codes c_1 .. c_k is the unit vector that has 1/sqrt(k) at each (j, c_j). If there is an intercept, the row
has the number ``scale`` as a further feature. A model is a table w of shape (k, used codes), in units of 1/sqrt(k),
and a bias b. The decision value of a row is

    f = sum_j w[j, c_j] + scale b,      and scale b alone for an empty row.

Learning minimizes 1/2 |w|^2 + sum_i loss(f_i, y_i, c_i), where c_i is the cost of row i. It solves the dual problem,
which maximizes -1/2 |w|^2 - sum_i conjugate(beta_i) over beta, with w = sum_i beta_i x_i. Primal and dual objective
are equal at the solution. Elsewhere their difference, the duality gap, bounds how far each of them is from it.

Steps and tables are float32, or float64 if the table of weights is float64, for gaps that float32 cannot reach.
Native code gives the same bits, except for the logarithmic loss, which uses the logarithm of the platform.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..backends import LinearObjective, LinearPass

Array = NDArray[Any]

BLOCK_ROWS = 256
SEGMENT = 16384
SETTLED = np.float32(0.02)
LEAST_SHARE = 1e-8
STATS = 5
PARTS = 16


@dataclass(frozen=True)
class Loss:
    """One loss with the functions that define its part of the solver.

    ``value(f, y, c, epsilon)`` is the loss and ``conjugate(beta, y, c)`` its convex conjugate at -beta; both work on
    float64 arrays. ``gradient(f, y, beta, c, epsilon)`` says how far beta is from the minimum of the dual in its
    coordinate, and is 0 where a bound holds beta. ``can_shrink(f, y, threshold)`` says whether the solver may skip a
    row whose beta is 0 and does not move.

    If the conjugate is ``ridge(c)/2 beta^2 - y beta`` between ``bounds(y, c, epsilon)``, the minimum of the dual in one
    coordinate follows from these. Any other loss has ``step(f, y, beta, c, q, epsilon)``, which returns the beta at
    that minimum, where q = |x|^2. All but value and conjugate work on scalars of one type.
    """

    name: str
    value: Callable[[Any, Any, Any, Any], Any]
    conjugate: Callable[[Any, Any, Any], Any]
    gradient: Callable[[Any, Any, Any, Any, Any], Any]
    can_shrink: Callable[[Any, Any, Any], bool]
    ridge: Callable[[Any], Any] | None = None
    bounds: Callable[[Any, Any, Any], tuple[Any, Any]] | None = None
    step: Callable[[Any, Any, Any, Any, Any, Any], Any] | None = None


def _quadratic_conjugate(beta: Any, y: Any, c: Any) -> Any:
    return beta**2 / (4 * c) - y * beta


def _beyond_the_margin(f: Any, y: Any, threshold: Any) -> bool:
    return bool(y * f - type(f)(1) > threshold)


def _never(_f: Any, _y: Any, _threshold: Any) -> bool:
    return False


def _squared_hinge_gradient(f: Any, y: Any, beta: Any, c: Any, _epsilon: Any) -> Any:
    one, half, zero = (type(f)(x) for x in (1, 0.5, 0))
    a = y * beta
    g = y * f - one + a * (half / c)
    return g if a > 0 or g < 0 else zero


def _half_over_cost(c: Any) -> Any:
    return type(c)(0.5) / c


def _no_ridge(c: Any) -> Any:
    return type(c)(0)


def _one_sided(y: Any, _c: Any, _epsilon: Any) -> tuple[Any, Any]:
    zero, infinity = type(y)(0), type(y)(np.inf)
    return (zero, infinity) if y > 0 else (-infinity, zero)


def _hinge_gradient(f: Any, y: Any, beta: Any, c: Any, _epsilon: Any) -> Any:
    one, zero = (type(f)(x) for x in (1, 0))
    a, g = y * beta, y * f - one
    return g if (a > 0 or g < 0) and (a < c or g > 0) else zero


def _up_to_the_cost(y: Any, c: Any, _epsilon: Any) -> tuple[Any, Any]:
    zero = type(y)(0)
    return (zero, c) if y > 0 else (-c, zero)


def _share(y: Any, beta: Any, cost: float) -> float:
    """y beta, kept away from 0 and from the cost, where the logarithms of the log loss have no limit."""
    return min(max(float(y) * float(beta), LEAST_SHARE * cost), (1 - LEAST_SHARE) * cost)


def _log_conjugate(beta: Any, y: Any, c: Any) -> Any:
    a = np.clip(y * beta, 0, c)
    parts = [np.where(x > 0, x * np.log(np.where(x > 0, x, 1) / c), 0) for x in (a, c - a)]
    return parts[0] + parts[1]


def _log_gradient(f: Any, y: Any, beta: Any, c: Any, _epsilon: Any) -> Any:
    cost, a = float(c), _share(y, beta, float(c))
    g = float(y) * float(f) + np.log(a / (cost - a))
    return type(f)(g * a * (cost - a) / (cost * cost))


def _log_step(f: Any, y: Any, beta: Any, c: Any, q: Any, _epsilon: Any) -> Any:
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


def _squared_error_gradient(f: Any, y: Any, beta: Any, c: Any, _epsilon: Any) -> Any:
    return f - y + beta * (type(f)(0.5) / c)


def _unbounded(y: Any, _c: Any, _epsilon: Any) -> tuple[Any, Any]:
    infinity = type(y)(np.inf)
    return -infinity, infinity


def _huber_value(f: Any, y: Any, c: Any, epsilon: Any) -> Any:
    r = np.abs(f - y)
    return c * np.where(r <= epsilon, r**2, epsilon * (2 * r - epsilon))


def _huber_gradient(f: Any, y: Any, beta: Any, c: Any, epsilon: Any) -> Any:
    two, zero = (type(f)(x) for x in (2, 0))
    g, most = _squared_error_gradient(f, y, beta, c, epsilon), two * c * epsilon
    return g if (beta > -most or g < 0) and (beta < most or g > 0) else zero


def _up_to_epsilon(_y: Any, c: Any, epsilon: Any) -> tuple[Any, Any]:
    most = type(c)(2) * c * epsilon
    return -most, most


# The number of a loss is its position in this table, in ``linear/_losses.py`` and in the native core.
LOSS_TABLE = (
    Loss(
        "squared_hinge",
        lambda f, y, c, _: c * np.maximum(0, 1 - y * f) ** 2,
        _quadratic_conjugate,
        _squared_hinge_gradient,
        _beyond_the_margin,
        _half_over_cost,
        _one_sided,
    ),
    Loss(
        "hinge",
        lambda f, y, c, _: c * np.maximum(0, 1 - y * f),
        lambda beta, y, _: -y * beta,
        _hinge_gradient,
        _beyond_the_margin,
        _no_ridge,
        _up_to_the_cost,
    ),
    Loss(
        "log_loss",
        lambda f, y, c, _: c * np.logaddexp(0, -y * f),
        _log_conjugate,
        _log_gradient,
        _never,
        step=_log_step,
    ),
    Loss(
        "squared_error",
        lambda f, y, c, _: c * np.abs(f - y) ** 2,
        _quadratic_conjugate,
        _squared_error_gradient,
        _never,
        _half_over_cost,
        _unbounded,
    ),
    Loss("huber", _huber_value, _quadratic_conjugate, _huber_gradient, _never, _half_over_cost, _up_to_epsilon),
)
LOSSES = tuple(loss.name for loss in LOSS_TABLE)


def value(loss: int, f: Any, y: Any, c: Any, epsilon: float = 0.0) -> Array:
    """Return the loss at decision values, in float64."""
    f, y, c = (np.asarray(x, np.float64) for x in (f, y, c))
    return np.asarray(LOSS_TABLE[loss].value(f, y, c, epsilon))


def conjugate(loss: int, beta: Any, y: Any, c: Any) -> Array:
    """Return the conjugate of the loss at -beta, in float64. Beta must be within its bounds."""
    beta, y, c = (np.asarray(x, np.float64) for x in (beta, y, c))
    return np.asarray(LOSS_TABLE[loss].conjugate(beta, y, c))


def gradient(loss: int, f: Any, y: Any, beta: Any, c: Any, epsilon: Any) -> Any:
    """Return how far beta is from the minimum of the dual in its coordinate; 0 where a bound holds it."""
    return LOSS_TABLE[loss].gradient(f, y, beta, c, epsilon)


def step(loss: int, f: Any, y: Any, beta: Any, c: Any, q: Any, epsilon: Any) -> Any:
    """Return the beta that minimizes the dual in its coordinate, where q = |x|^2."""
    chosen = LOSS_TABLE[loss]
    if chosen.step is not None:
        return chosen.step(f, y, beta, c, q, epsilon)
    assert chosen.ridge is not None
    assert chosen.bounds is not None
    ridge = chosen.ridge(c)
    return _bounded_step(f - y + beta * ridge, beta, type(f)(-1) / (q + ridge), *chosen.bounds(y, c, epsilon))[0]


def _bounded_step(slope: Any, beta: Any, inverse: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the new beta and the step. ``inverse`` is -1 over the second derivative of the dual."""
    down, up = low - beta, high - beta
    d = min(max(slope * inverse, down), up)
    return (low if d == down else high if d == up else beta + d), d


def hashes_per_part(k: int) -> int:
    """Return how many hashes are summed by themselves: a sixteenth of them, or a little more, in sixteens."""
    return -(-k // (PARTS * 16)) * 16


def decide(codes: Array, empty: Array, scale: float, w: Array, bias: Array) -> Array:
    """Return decision values (rows, problems) in the type of the table.

    Sums run in the order of the hashes, within each part of them and then over the parts.
    """
    k, real = codes.shape[1], w.dtype.type
    size = hashes_per_part(k)
    out = np.empty((len(codes), len(w)), real)
    for p, table in enumerate(w):
        sums = np.zeros(len(codes), real)
        for first in range(0, k, size):
            part = np.zeros(len(codes), real)
            for j in range(first, min(k, first + size)):
                part += table[j, codes[:, j]]
            sums += part
        out[:, p] = np.where(empty != 0, real(0), sums) + real(scale * bias[p])
    return out


def accumulate(codes: Array, empty: Array, beta: Array, sums: Array) -> None:
    """Add to sums[j, code] the beta of the rows that have the code, in float64."""
    used = (beta != 0) & (empty == 0)
    for j in range(codes.shape[1]):
        np.add.at(sums[j], codes[used, j], beta[used].astype(np.float64))


def linear_pass(codes: Array, empty: Array, objective: LinearObjective, what: LinearPass) -> Array:
    """Make one pass over the rows for each running problem, update w, bias, beta and shrunk, and return statistics."""
    all_stats, w, bias = np.zeros((len(what.positive), STATS)), what.w, what.bias
    for p in np.flatnonzero(what.running):
        y = _targets(what, int(p))
        cost = what.cost if what.labels is None else what.cost * what.factors[p, (y > 0).astype(int)]
        _pass(codes, empty, objective, what, int(p), y.astype(w.dtype), cost.astype(w.dtype), w[p], bias, all_stats[p])
    return all_stats


def _targets(what: LinearPass, p: int) -> Array:
    if what.targets is not None:
        return what.targets
    return np.where(what.labels == what.positive[p], np.float32(1), np.float32(-1))


def _pass(
    codes: Array,
    empty: Array,
    objective: LinearObjective,
    what: LinearPass,
    p: int,
    y: Array,
    cost: Array,
    w: Array,
    bias: Array,
    stats: Array,
) -> None:
    beta, shrunk = what.beta[p], what.shrunk[p]
    loss, epsilon = LOSS_TABLE[objective.loss], w.dtype.type(objective.epsilon)
    left_out = (shrunk != 0) | ~(cost > 0)
    for first in range(0, len(what.order), SEGMENT):
        segment, losses = what.order[first : first + SEGMENT], 0.0
        for block in _blocks(segment, left_out):
            f = decide(codes[block], empty[block], objective.scale, w[None], bias[p : p + 1])[:, 0]
            losses += value(objective.loss, f, y[block], cost[block], objective.epsilon).sum()
            moving = []
            for r, i in enumerate(block):
                g = loss.gradient(f[r], y[i], beta[i], cost[i], epsilon)
                if g != 0:
                    stats[1] = max(stats[1], abs(float(g)))
                    moving.append(r)
                else:
                    shrunk[i] = beta[i] == 0 and loss.can_shrink(f[r], y[i], what.threshold[p])
            if moving:
                stats[2] += len(moving)
                rows = block[moving]
                of_rows = (f[moving], y[rows], beta[rows], cost[rows])
                new = _descend(codes[rows], empty[rows], objective, *of_rows, what.sweeps)
                _apply(codes, empty, objective, rows, beta, new, w, bias, p)
        used = segment[(cost[segment] > 0) & (beta[segment] != 0)]
        stats[0] += losses
        stats[3] += conjugate(objective.loss, beta[used], y[used], cost[used]).sum()
    stats[4] = (w.astype(np.float64) ** 2).sum()


def _blocks(segment: Array, left_out: Array) -> Iterator[Array]:
    """Yield up to 256 rows at a time. A block ends with its segment of the order."""
    rows = segment[~left_out[segment]]
    for start in range(0, len(rows), BLOCK_ROWS):
        yield rows[start : start + BLOCK_ROWS]


def _descend(
    codes: Array, empty: Array, objective: LinearObjective, f: Array, y: Array, beta: Array, cost: Array, sweeps: int
) -> Array:
    """Sweep over the rows that can move, forwards and backwards in turn, and minimize in one coordinate at a time."""
    real = f.dtype.type
    share, corner = real(1) / real(codes.shape[1]), real(objective.scale * objective.scale)
    full = (empty == 0)[:, None] & (empty == 0)
    matches = (codes[:, None, :] == codes).sum(axis=2).astype(real)
    products = np.where(full, matches * share, real(0)) + corner
    norms = np.where(empty != 0, real(0), real(1)) + corner
    q = np.maximum(norms, np.float32(1e-12))
    chosen, epsilon = LOSS_TABLE[objective.loss], real(objective.epsilon)
    slope, beta, first = f.copy(), beta.copy(), real(0)
    if chosen.ridge is not None and chosen.bounds is not None:
        ridge = np.array([chosen.ridge(c) for c in cost])
        limits = [chosen.bounds(*of, epsilon) for of in zip(y, cost, strict=True)]
        inverse = real(-1) / (q + ridge)
        slope, norms = slope - y + beta * ridge, norms + ridge
    np.fill_diagonal(products, norms)
    for sweep in range(sweeps):
        largest = real(0)
        for u in range(len(f))[:: -1 if sweep % 2 else 1]:
            if chosen.step is None:
                new, d = _bounded_step(slope[u], beta[u], inverse[u], *limits[u])
            else:
                new = chosen.step(slope[u], y[u], beta[u], cost[u], q[u], epsilon)
                d = new - beta[u]
            if d != 0:
                beta[u] = new
                largest = max(largest, abs(d))
                slope += d * products[u]
        if sweep == 0:
            first = largest
        if largest <= SETTLED * first:
            break
    return beta


def _apply(
    codes: Array,
    empty: Array,
    objective: LinearObjective,
    rows: Array,
    beta: Array,
    new: Array,
    w: Array,
    bias: Array,
    p: int,
) -> None:
    """Set the duals of some rows, and move the table and the bias with them."""
    share, hashes = w.dtype.type(1) / w.dtype.type(codes.shape[1]), np.arange(codes.shape[1])
    for i, b in zip(rows, new, strict=True):
        d = b - beta[i]
        if d == 0:
            continue
        beta[i] = b
        bias[p] += float(d) * objective.scale
        if not empty[i]:
            w[hashes, codes[i]] += d * share
