"""Linear models on codes: losses, their duals, and coordinate descent in blocks.

A row with codes c_1 .. c_k is the unit vector with 1/sqrt(k) at (j, c_j), and the number ``scale`` beside them if
there is an intercept. A model is a table w (k, alphabet) in units of 1/sqrt(k) and a bias b:

    f = sum_j w[j, c_j] + scale b,      b alone for an empty row.

Learning minimizes 1/2 |w|^2 + sum_i loss(f_i, y_i, c_i), where c_i is the cost of row i, by the dual: maximize
-1/2 |w|^2 - sum_i conjugate(beta_i) over beta, with w = sum_i beta_i x_i. At the solution the two are equal; their
difference, the duality gap, bounds how far each is from it.

Steps and tables are float32, or float64 where a table of float64 is given: for gaps that float32 cannot reach.
Native code equals this bit for bit, except for the logarithmic loss, where logarithms of the platform come in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..backends import LinearObjective, LinearPass

Array = NDArray[Any]

LOSSES = ("squared_hinge", "hinge", "log_loss", "squared_error", "huber")
BLOCK_ROWS = 256
SEGMENT = 16384
SWEEPS = 32
SETTLED = np.float32(0.02)
LEAST_SHARE = 1e-8
STATS = 5


def value(loss: int, f: Any, y: Any, c: Any, epsilon: float = 0.0) -> Array:
    """Loss of decision values, in float64."""
    f, y, c = (np.asarray(x, np.float64) for x in (f, y, c))
    name = LOSSES[loss]
    if name == "squared_hinge":
        return np.asarray(c * np.maximum(0, 1 - y * f) ** 2)
    if name == "hinge":
        return np.asarray(c * np.maximum(0, 1 - y * f))
    if name == "log_loss":
        return np.asarray(c * np.logaddexp(0, -y * f))
    r = np.abs(f - y)
    if name == "squared_error":
        return np.asarray(c * r**2)
    return np.asarray(c * np.where(r <= epsilon, r**2, epsilon * (2 * r - epsilon)))


def conjugate(loss: int, beta: Any, y: Any, c: Any) -> Array:
    """Of the loss, at -beta, in float64; beta within its bounds."""
    beta, y, c = (np.asarray(x, np.float64) for x in (beta, y, c))
    name = LOSSES[loss]
    if name == "hinge":
        return np.asarray(-y * beta)
    if name == "log_loss":
        a = np.clip(y * beta, 0, c)
        parts = [np.where(x > 0, x * np.log(np.where(x > 0, x, 1) / c), 0) for x in (a, c - a)]
        return np.asarray(parts[0] + parts[1])
    return np.asarray(beta**2 / (4 * c) - y * beta)


def gradient(loss: int, f: Any, y: Any, beta: Any, c: Any, epsilon: Any) -> Any:
    """How far beta is from the minimum in its coordinate, 0 where a bound holds it. Scalars of one type."""
    one, half, two, zero = (type(f)(x) for x in (1, 0.5, 2, 0))
    name = LOSSES[loss]
    if name == "squared_hinge":
        a = y * beta
        g = y * f - one + a * (half / c)
        return g if a > 0 or g < 0 else zero
    if name == "hinge":
        a, g = y * beta, y * f - one
        return g if (a > 0 or g < 0) and (a < c or g > 0) else zero
    if name == "log_loss":
        cost, a = float(c), _share(y, beta, float(c))
        g = float(y) * float(f) + np.log(a / (cost - a))
        return type(f)(g * a * (cost - a) / (cost * cost))
    g = f - y + beta * (half / c)
    if name == "squared_error":
        return g
    most = two * c * epsilon
    return g if (beta > -most or g < 0) and (beta < most or g > 0) else zero


def step(loss: int, f: Any, y: Any, beta: Any, c: Any, q: Any, epsilon: Any) -> Any:
    """The beta that minimizes the dual in its coordinate. Scalars of one type; q = |x|^2."""
    one, half, two, zero = (type(f)(x) for x in (1, 0.5, 2, 0))
    name = LOSSES[loss]
    if name == "squared_hinge":
        a, ridge = y * beta, half / c
        return y * max(zero, a - (y * f - one + a * ridge) / (q + ridge))
    if name == "hinge":
        return y * min(max(y * beta - (y * f - one) / q, zero), c)
    if name == "log_loss":
        return type(f)(_log_step(float(f), float(y), float(beta), float(c), float(q)))
    ridge = half / c
    new = beta - (f - y + beta * ridge) / (q + ridge)
    if name == "squared_error":
        return new
    most = two * c * epsilon
    return min(max(new, -most), most)


def _share(y: Any, beta: Any, cost: float) -> float:
    return min(max(float(y) * float(beta), LEAST_SHARE * cost), (1 - LEAST_SHARE) * cost)


def _log_step(f: float, y: float, beta: float, cost: float, q: float) -> float:
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


def decide(codes: Array, empty: Array, scale: float, w: Array, bias: Array) -> Array:
    """Decision values (rows, problems) in the type of the table: sums run in the order of hashes."""
    hashes, real = np.arange(codes.shape[1]), w.dtype.type
    out = np.empty((len(codes), len(w)), real)
    for p, table in enumerate(w):
        sums = np.zeros(len(codes), real)
        for j in hashes:
            sums += table[j, codes[:, j]]
        out[:, p] = np.where(empty != 0, real(0), sums) + real(scale * bias[p])
    return out


def accumulate(codes: Array, empty: Array, beta: Array, sums: Array) -> None:
    """sums[j, code] += beta of the rows that have the code, in float64."""
    used = (beta != 0) & (empty == 0)
    for j in range(codes.shape[1]):
        np.add.at(sums[j], codes[used, j], beta[used].astype(np.float64))


def linear_pass(codes: Array, empty: Array, objective: LinearObjective, what: LinearPass) -> Array:
    """One pass over the rows for each running problem: w, bias, beta and shrunk are updated. Returns the statistics."""
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
    one, epsilon = w.dtype.type(1), w.dtype.type(objective.epsilon)
    left_out = (shrunk != 0) | ~(cost > 0)
    for first in range(0, len(what.order), SEGMENT):
        segment, losses = what.order[first : first + SEGMENT], 0.0
        for block in _blocks(segment, left_out):
            f = decide(codes[block], empty[block], objective.scale, w[None], bias[p : p + 1])[:, 0]
            losses += value(objective.loss, f, y[block], cost[block], objective.epsilon).sum()
            moving = []
            for r, i in enumerate(block):
                g = gradient(objective.loss, f[r], y[i], beta[i], cost[i], epsilon)
                if g != 0:
                    stats[1] = max(stats[1], abs(float(g)))
                    moving.append(r)
                else:
                    can_shrink = LOSSES[objective.loss] in ("squared_hinge", "hinge") and beta[i] == 0
                    shrunk[i] = can_shrink and y[i] * f[r] - one > what.threshold[p]
            if moving:
                stats[2] += len(moving)
                rows = block[moving]
                new = _descend(codes[rows], empty[rows], objective, f[moving], y[rows], beta[rows], cost[rows])
                _apply(codes, empty, objective, rows, beta, new, w, bias, p)
        used = segment[(cost[segment] > 0) & (beta[segment] != 0)]
        stats[0] += losses
        stats[3] += conjugate(objective.loss, beta[used], y[used], cost[used]).sum()
    stats[4] = (w.astype(np.float64) ** 2).sum()


def _blocks(segment: Array, left_out: Array) -> Iterator[Array]:
    """Up to 256 rows at a time; a block ends with its segment of the order."""
    rows = segment[~left_out[segment]]
    for start in range(0, len(rows), BLOCK_ROWS):
        yield rows[start : start + BLOCK_ROWS]


def _descend(
    codes: Array, empty: Array, objective: LinearObjective, f: Array, y: Array, beta: Array, cost: Array
) -> Array:
    """Sweeps of coordinate descent among the rows that can move, forwards and backwards in turn."""
    real = f.dtype.type
    share, corner = real(1) / real(codes.shape[1]), real(objective.scale * objective.scale)
    full = (empty == 0)[:, None] & (empty == 0)
    matches = (codes[:, None, :] == codes).sum(axis=2).astype(real)
    products = np.where(full, matches * share, real(0)) + corner
    q = np.where(empty != 0, real(0), real(1)) + corner
    np.fill_diagonal(products, q)
    q = np.maximum(q, np.float32(1e-12))
    f, beta, first = f.copy(), beta.copy(), real(0)
    for sweep in range(SWEEPS):
        largest = real(0)
        for u in range(len(f))[:: -1 if sweep % 2 else 1]:
            new = step(objective.loss, f[u], y[u], beta[u], cost[u], q[u], real(objective.epsilon))
            d = new - beta[u]
            if d != 0:
                beta[u] = new
                largest = max(largest, abs(d))
                f += d * products[u]
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
    share, hashes = w.dtype.type(1) / w.dtype.type(codes.shape[1]), np.arange(codes.shape[1])
    for i, b in zip(rows, new, strict=True):
        d = b - beta[i]
        if d == 0:
            continue
        beta[i] = b
        bias[p] += float(d) * objective.scale
        if not empty[i]:
            w[hashes, codes[i]] += d * share
