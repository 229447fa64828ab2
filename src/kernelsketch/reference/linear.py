"""Specification of linear learning on codes: block dual coordinate descent; ``_loss_formulas.py`` has the losses.

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

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import Array
from .._loss_formulas import formulas_of, loss_conjugate, loss_value
from .._losses import LOSS_TABLE

if TYPE_CHECKING:
    from ..backends import LinearObjective, LinearPass, NewtonStep

BLOCK_ROWS = 256
SEGMENT = 16384
SETTLED = np.float32(0.02)
STATS = 5
PARTS = 16


def value(loss: int, f: Any, y: Any, c: Any, parameter: float = 0.0) -> Array:
    """Return the loss at decision values, in float64."""
    return np.asarray(loss_value(loss, np.asarray(f), np.asarray(y), np.asarray(c), parameter))


def conjugate(loss: int, beta: Any, y: Any, c: Any) -> Array:
    """Return the conjugate of the loss at -beta, in float64. Beta must be within its bounds."""
    return np.asarray(loss_conjugate(loss, *map(np.asarray, (beta, y, c))))


def gradient(loss: int, f: Any, y: Any, beta: Any, c: Any, parameter: Any) -> Any:
    """Return how far beta is from the minimum of the dual in its coordinate; 0 where a bound holds it."""
    formulas = formulas_of(loss)
    if formulas.ridge is None:
        assert formulas.gradient is not None
        return formulas.gradient(f, y, beta, c)
    low, high = formulas.bounds(y, c, parameter)
    g = f - y + beta * formulas.ridge(c)
    return g if (beta > low or g < 0) and (beta < high or g > 0) else type(f)(0)


def can_shrink(loss: int, f: Any, y: Any, threshold: Any) -> bool:
    """Return whether the solver may skip a row whose beta is 0 and does not move."""
    return LOSS_TABLE[loss].has_margin and bool(y * f - type(f)(1) > threshold)


def step(loss: int, f: Any, y: Any, beta: Any, c: Any, q: Any, parameter: Any) -> Any:
    """Return the beta that minimizes the dual in its coordinate, where q = |x|^2."""
    formulas = formulas_of(loss)
    if formulas.ridge is None:
        assert formulas.step is not None
        return formulas.step(f, y, beta, c, q)
    ridge, bounds = formulas.ridge(c), formulas.bounds(y, c, parameter)
    return _bounded_step(f - y + beta * ridge, beta, type(f)(-1) / (q + ridge), *bounds)[0]


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


def linear_pass(codes: Array, empty: Array, objective: LinearObjective, state: LinearPass) -> Array:
    """Make one pass over the rows for each running problem, update w, bias, beta and shrunk, and return statistics."""
    all_stats, w, bias = np.zeros((len(state.positive), STATS)), state.w, state.bias
    for p in np.flatnonzero(state.running):
        y, cost = targets_of(state, int(p))
        _pass(codes, empty, objective, state, int(p), y.astype(w.dtype), cost.astype(w.dtype), w[p], bias, all_stats[p])
    return all_stats


def targets_of(state: LinearPass | NewtonStep, p: int) -> tuple[Array, Array]:
    """Return the targets and the costs of a problem."""
    if state.targets is not None:
        return state.targets, state.cost
    y = np.where(state.labels == state.positive[p], np.float32(1), np.float32(-1))
    return y, state.cost * state.factors[p, (y > 0).astype(int)]


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
    loss, parameter = objective.loss, w.dtype.type(objective.parameter)
    left_out = (shrunk != 0) | ~(cost > 0)
    for first in range(0, len(what.order), SEGMENT):
        segment, losses = what.order[first : first + SEGMENT], 0.0
        for block in _blocks(segment, left_out):
            f = decide(codes[block], empty[block], objective.scale, w[None], bias[p : p + 1])[:, 0]
            losses += value(loss, f, y[block], cost[block], objective.parameter).sum()
            moving = []
            for r, i in enumerate(block):
                g = gradient(loss, f[r], y[i], beta[i], cost[i], parameter)
                if g != 0:
                    stats[1] = max(stats[1], abs(float(g)))
                    moving.append(r)
                else:
                    shrunk[i] = beta[i] == 0 and can_shrink(loss, f[r], y[i], what.threshold[p])
            if moving:
                stats[2] += len(moving)
                rows = block[moving]
                of_rows = (f[moving], y[rows], beta[rows], cost[rows])
                new = _descend(codes[rows], empty[rows], objective, *of_rows, what.sweeps)
                _apply(codes, empty, objective, rows, beta, new, w, bias, p)
        used = segment[(cost[segment] > 0) & (beta[segment] != 0)]
        stats[0] += losses
        stats[3] += conjugate(loss, beta[used], y[used], cost[used]).sum()
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
    formulas = formulas_of(objective.loss)
    slope, beta, first = f.copy(), beta.copy(), real(0)
    if formulas.ridge is not None:
        ridge = formulas.ridge(cost)
        low, high = formulas.bounds(y, cost, real(objective.parameter))
        inverse = real(-1) / (q + ridge)
        slope, norms = slope - y + beta * ridge, norms + ridge
    np.fill_diagonal(products, norms)
    for sweep in range(sweeps):
        largest = real(0)
        for u in range(len(f))[:: -1 if sweep % 2 else 1]:
            if formulas.step is None:
                new, d = _bounded_step(slope[u], beta[u], inverse[u], low[u], high[u])
            else:
                new = formulas.step(slope[u], y[u], beta[u], cost[u], q[u])
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
