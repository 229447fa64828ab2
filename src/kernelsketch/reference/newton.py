"""Specification of Newton's method for linear models on codes, for losses with a continuous derivative.

Rows, models and objective are those of :mod:`kernelsketch.reference.linear`. At a model w, let beta_i = -loss'(f_i) and
let D hold the second derivatives of the losses. Minus the gradient is r = X'beta - w, and the duality gap is
1/2 |r|^2, because loss and conjugate add up to -beta_i f_i. A step x solves (1 + X'DX) x = r approximately, by
conjugate gradients, and is then made longer or shorter.

The preconditioner stands for the Hessian by a sample of m active rows, those whose second derivative d_i is not 0: row
i is drawn in proportion to d_i, at even distances. With S the sampled rows and e = sum of d_i / m, it is

    P = e S'S + (1 + e RIDGE),      P^-1 r = (r - S'(S S' + RIDGE + 1/e)^-1 S r) / (1 + e RIDGE),

of which the last factor does not matter to conjugate gradients. The ridge stands for what the sample does not see.

Codes of neighbouring hashes go together: a combination of them that occurs is a symbol, and rows are read as symbols.
The weight of a symbol is the sum of the weights of its codes, in their order.

All sums have a fixed order, so that native code gives the same bits with any number of threads, except for the
logarithmic loss. Sums of rows are cut into 16 slices, sums of cells into the 16 parts of the hashes, and each of these
is summed in 8 lanes, in float64. Products with X' are sums of up to 16 tables, each for a slice of the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import Array
from .._loss_formulas import formulas_of
from .linear import PARTS, decide, hashes_per_part, targets_of, value

if TYPE_CHECKING:
    from ..backends import LinearObjective, NewtonStep

STATS = 4
SLICES = 16
LANES = 8
ROWS_PER_CELL = 4
SHARE_OF_GRADIENT = 0.25
AIM = 0.5
RIDGE = 0.1
LENGTHS = (1.5, 1.25, 1.0, 0.75, 0.5, 0.25, 0.0625, 0.00390625)


def duals_and_curvatures(loss: int, f: Array, y: Array, c: Array, parameter: Any) -> tuple[Array, Array]:
    """Return minus the derivative of a loss and its second derivative, in the type of f."""
    formulas = formulas_of(loss)
    if formulas.dual is None or formulas.curvature is None:
        raise ValueError("loss: not smooth")
    return tuple(np.asarray(of(f, y, c, parameter), f.dtype) for of in (formulas.dual, formulas.curvature))  # type: ignore[return-value]


def slices_of(n: int, count: int = SLICES) -> list[slice]:
    """Cut n rows into slices of about the same size."""
    return [slice(n * s // count, n * (s + 1) // count) for s in range(count)]


def _lane_sum(x: Array) -> float:
    padded = np.zeros((-(-len(x) // LANES), LANES))
    padded.ravel()[: len(x)] = x
    return _in_order(np.add.reduce(padded, axis=0) if len(padded) else np.zeros(LANES))


def _in_order(x: Any) -> float:
    total = 0.0
    for one in x:
        total += float(one)
    return total


def row_sum(x: Array) -> float:
    """Sum a number per row: 16 slices, 8 lanes each."""
    return _in_order(_lane_sum(x[rows]) for rows in slices_of(len(x)))


def cell_sum(x: Array) -> float:
    """Sum a table (k, stride): 16 parts of the hashes, 8 lanes each."""
    part = hashes_per_part(len(x))
    return _in_order(_lane_sum(x[first : first + part].ravel()) for first in range(0, PARTS * part, part))


def slices_for(rows: int, k: int, cells: int) -> int:
    """Return into how many slices rows are cut that are added to tables."""
    slices = 1
    while slices < SLICES and rows * k >= 2 * slices * ROWS_PER_CELL * cells:
        slices *= 2
    return slices


def scatter(codes: Array, values: Array, stride: int, slices: int) -> Array:
    """Return the sum of the values of the rows that have each code, in their type."""
    k = codes.shape[1]
    total = np.zeros((k, stride), values.dtype)
    for s, rows in enumerate(slices_of(len(codes), slices)):
        table = np.zeros((k, stride), values.dtype)
        for j in range(k):
            np.add.at(table[j], codes[rows, j], values[rows])
        total = table if s == 0 else total + table
    return total


def factor(a: Array) -> Array:
    """Return the Cholesky factor of a matrix, column by column."""
    a = a.copy()
    for p in range(len(a)):
        a[p, p] = np.sqrt(a[p, p])
        a[p + 1 :, p] /= a[p, p]
        a[p + 1 :, p + 1 :] -= np.outer(a[p + 1 :, p], a[p + 1 :, p])
    return np.tril(a)


def solve(lower: Array, b: Array) -> Array:
    """Solve L L' x = b."""
    x = b.copy()
    for j in range(len(x)):
        x[j] /= lower[j, j]
        x[j + 1 :] -= x[j] * lower[j + 1 :, j]
    for j in range(len(x))[::-1]:
        x[j] /= lower[j, j]
        x[:j] -= x[j] * lower[j, :j]
    return x


def make_symbols(
    codes: Array, empty: Array, together: int, most: int, out: Array | None = None, mapped: bool = False
) -> tuple[Array, Array, Array] | None:
    full, rows = np.flatnonzero(empty == 0), np.pad(codes, ((0, 0), (0, -codes.shape[1] % together)))[empty == 0]
    groups = rows.shape[1] // together
    counts, first = np.zeros(groups, np.int64), np.zeros((groups, most), np.int32)
    out = np.empty((len(codes), groups), np.uint16) if out is None else out
    out[...] = 0
    for g in range(groups):
        mine = rows[:, g * together : (g + 1) * together]
        _, seen, of = np.unique(mine, axis=0, return_index=True, return_inverse=True)
        if len(seen) > most:
            return None
        order = np.argsort(seen)
        out[full, g] = np.argsort(order)[of.ravel()]
        counts[g] = len(seen)
        first[g, : len(seen)] = full[seen[order]]
    return out, counts, first


def newton_step(codes: Array, empty: Array, objective: LinearObjective, state: NewtonStep) -> Array:
    """Make one step for each running problem, update w, bias, beta and f, and return statistics."""
    stats = np.zeros((len(state.positive), STATS))
    for p in np.flatnonzero(state.running):
        stats[p] = _Problem(codes, empty, objective, state, int(p)).run()
    return stats


class _Vector:
    """A vector of the space of models: a table and a bias."""

    def __init__(self, table: Array, bias: float) -> None:
        self.table, self.bias = table, bias

    def dot(self, other: _Vector) -> float:
        products = self.table.astype(np.float64) * other.table.astype(np.float64)
        return cell_sum(products) * len(self.table) + self.bias * other.bias

    def plus(self, other: _Vector, times: Any) -> _Vector:
        """Return the sum with a multiple of another vector. ``times`` has the type of the tables."""
        return _Vector(self.table + times * other.table, self.bias + float(times) * other.bias)


class _Problem:
    def __init__(self, codes: Array, empty: Array, objective: LinearObjective, state: NewtonStep, p: int) -> None:
        self.codes, self.empty, self.state, self.p = codes, empty != 0, state, p
        self.loss, self.scale = objective.loss, objective.scale
        self.real = state.w.dtype.type
        self.parameter = self.real(objective.parameter)
        self.k = state.w.shape[1]
        self.share = self.real(1) / self.real(self.k)
        y, cost = targets_of(state, p)
        self.y, self.cost = y.astype(self.real), cost.astype(self.real)

    def run(self) -> tuple[float, float, float, float]:
        state, p = self.state, self.p
        w = _Vector(state.w[p], float(state.bias[p]))
        if state.fresh[p]:
            state.f[p] = self._decide(w)
        of = (self.loss, state.f[p], self.y, self.cost)
        beta, d = duals_and_curvatures(*of, self.parameter)
        state.beta[p] = beta
        active = ((beta != 0) | (d > 0)) & ~self.empty
        losses = row_sum(value(*of, float(self.parameter)))
        r = _Vector(
            self._scatter(active, beta) * self.share - w.table,
            self.scale * row_sum(beta.astype(np.float64)) - w.bias,
        )
        gradient, squares = r.dot(r), w.dot(w)
        primal = squares / 2 + losses
        if gradient / 2 <= state.tol * primal or state.most[p] <= 1:
            return primal, gradient / 2, 1, 0
        target = max(SHARE_OF_GRADIENT**2 * gradient, AIM**2 * 2 * state.tol * primal)
        x, passes = self._conjugate_gradients(r, d, active, target)
        length = self._search(w, x, squares, primal)
        return primal, gradient / 2, passes, length

    def _wide(self, table: Array) -> Array:
        """Return the weights of symbols (groups, stride)."""
        symbols, flat = self.state.symbols, table.ravel()
        wide = np.zeros(symbols.cells.shape[:2], table.dtype)
        for g, count in enumerate(symbols.counts):
            cells = symbols.cells[g, :count, : self._members(g)].T
            wide[g, :count] = flat[cells[0]]
            for more in cells[1:]:
                wide[g, :count] += flat[more]
        return wide

    def _narrow(self, wide: Array) -> Array:
        """Return the sums of codes (k, stride), from those of symbols."""
        symbols, sums = self.state.symbols, np.zeros(self.state.w.shape[1:], wide.dtype)
        for g, count in enumerate(symbols.counts):
            for cells in symbols.cells[g, :count, : self._members(g)].T:
                np.add.at(sums.ravel(), cells, wide[g, :count])
        return sums

    def _members(self, g: int) -> int:
        together = self.state.symbols.together
        return int(min(together, self.k - g * together))

    def _decide(self, v: _Vector) -> Array:
        wide = self._wide(v.table)[None]
        return decide(self.state.symbols.rows, self.empty, self.scale, wide, np.array([v.bias]))[:, 0]

    def _scatter(self, rows: Array, values: Array) -> Array:
        symbols = self.state.symbols
        stride = symbols.cells.shape[1]
        slices = slices_for(int(rows.sum()), len(symbols.counts), len(symbols.counts) * stride)
        return self._narrow(scatter(symbols.rows[rows], values[rows], stride, slices))

    def _conjugate_gradients(self, r: _Vector, d: Array, active: Array, target: float) -> tuple[_Vector, int]:
        passes = 1
        of_empty = _in_order(_in_order(d[rows][self.empty[rows]]) for rows in slices_of(len(d)))
        precondition = self._preconditioner(active, d)
        x = _Vector(np.zeros_like(r.table), 0.0)
        v = z = precondition(r)
        rz = r.dot(z)
        while passes < self.state.most[self.p]:
            along = np.zeros_like(d)
            along[active] = d[active] * self._decide(v)[active]
            intercept = float(self.real(self.scale * v.bias))
            total = row_sum(along[active].astype(np.float64)) + of_empty * intercept
            q = _Vector(v.table + self._scatter(active, along) * self.share, v.bias + self.scale * total)
            bent = v.dot(q)
            passes += 1
            if not (bent > 0 and rz > 0):
                break
            length = self.real(rz / bent)
            x, r = x.plus(v, length), r.plus(q, -length)
            if r.dot(r) <= target:
                break
            z = precondition(r)
            before, rz = rz, r.dot(z)
            v = z.plus(v, self.real(rz / before))
        return x, passes

    def _preconditioner(self, active: Array, d: Array) -> Any:
        weights, m = d[active].astype(np.float64), min(self.state.sample, int(active.sum()))
        so_far = np.cumsum(weights)
        if m == 0 or not so_far[-1] > 0:
            return lambda r: r
        each = float(so_far[-1]) / m
        at = np.searchsorted(so_far, (np.arange(m) + 0.5) * each, side="right")
        sampled = np.flatnonzero(active)[np.minimum(at, len(weights) - 1)]
        codes, rows = self.codes[sampled], self.state.symbols.rows[sampled]
        matches = np.array([(codes == row).sum(axis=1) for row in codes]).astype(self.real)
        products = matches * self.share + self.real(self.scale * self.scale)
        products[np.arange(m), np.arange(m)] += self.real(RIDGE + 1 / each)
        lower, full = factor(products), np.zeros(m, np.uint8)

        def precondition(r: _Vector) -> _Vector:
            values = decide(rows, full, self.scale, self._wide(r.table)[None], np.array([r.bias]))[:, 0]
            found = solve(lower, values)
            sums = scatter(rows, found, self.state.symbols.cells.shape[1], 1)
            table = r.table - self._narrow(sums) * self.share
            return _Vector(table, r.bias - self.scale * _lane_sum(found.astype(np.float64)))

        return precondition

    def _search(self, w: _Vector, x: _Vector, squares: float, primal: float) -> float:
        """Move w, and the decision values with it, by the best multiple of x and return the multiple."""
        state, p = self.state, self.p
        moved, f = self._decide(x), state.f[p]
        products, of_x = w.dot(x), x.dot(x)
        best, length = primal, 0.0
        for t in LENGTHS:
            there = f + self.real(t) * moved
            losses = row_sum(value(self.loss, there, self.y, self.cost, float(self.parameter)))
            found = (squares + 2 * products * t + of_x * t * t) / 2 + losses
            if found < best:
                best, length = found, t
        if length:
            state.w[p] += self.real(length) * x.table
            state.bias[p] += length * x.bias
            state.f[p] += self.real(length) * moved
        return length
