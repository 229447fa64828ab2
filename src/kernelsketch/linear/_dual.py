"""Block dual coordinate descent on codes, with shrinking and a duality gap that stops it.

Passes, order of rows, convergence; the arithmetic of a pass is ``reference/linear.py`` and the native core. The order
of rows is drawn anew for each pass: groups of 64 neighbours are permuted, and then the rows within each 16384 of
them. So rows that are kept in a file can be read in pieces. Blocks must not be made of the same rows twice, nor of
neighbours, which are often alike: such blocks are balanced within themselves and converge slowly towards each other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .._mix import GOLDEN64, mix64
from .._validation import row_batches
from ..backends import LINEAR_SEGMENT, LinearObjective, LinearPass
from ._alphabet import Rows, stride_of
from ._losses import LOSSES, conjugate, value

Array = NDArray[Any]

GROUP_ROWS = 64
SUMS_BYTES = 1 << 24
PRECISE_TOL = 1e-4  # below which tables and duals are float64: float32 ends at a gap of 1e-6, or 1e-5 with a large C
CHECK_PASSES = 16  # at least so often the gap is looked at, and tables, which drift, are made from the duals
# Factors of w of which the hinge loss takes the best: rows on the margin that float32 leaves 1e-7 inside of it cost C
# times that, more than the gap. A little longer w puts them outside, and is as good a solution: the gap is its own.
STRETCHES = (1.0, *(1 + 2.0**-q for q in range(24, 16, -1)))


class Targets(NamedTuple):
    """What rows are to become: class numbers (one problem for each of ``positive``) or ``targets`` (one problem).

    ``cost`` is C times the weight of a row; ``factors`` (problems, 2) scales it for rows outside and inside the class.
    """

    labels: Array | None
    targets: Array | None
    cost: Array
    positive: Array
    factors: Array

    def of(self, problem: int, rows: slice) -> tuple[Array, Array]:
        """y and cost, float32."""
        if self.targets is not None:
            return self.targets[rows], self.cost[rows]
        assert self.labels is not None
        inside = self.labels[rows] == self.positive[problem]
        y = np.where(inside, np.float32(1), np.float32(-1))
        return y, self.cost[rows] * self.factors[problem, inside.astype(int)]


@dataclass
class Solution:
    """Tables (problems, k, stride), biases, duals (problems, rows); objective, gap and passes of each problem.

    Tables and duals are float32, or float64 for a ``tol`` below ``PRECISE_TOL``.
    """

    w: Array
    bias: Array
    beta: Array
    objective: Array
    gap: Array
    passes: Array


class Stop(NamedTuple):
    """When to stop: gap relative to the objective, passes, and whether to warn.

    If not ``exact``, the gap is estimated from the losses that a pass meets: for models that are only compared.
    """

    tol: float = 1e-3
    max_iter: int = 1000
    warn: bool = True
    exact: bool = True

    @property
    def real(self) -> Any:
        """The type of tables and duals."""
        return np.float64 if self.exact and self.tol < PRECISE_TOL else np.float32


Progress = Callable[[int, Array], None]


def shuffled(count: int, key: int) -> Array:
    """0 .. count - 1 in an order drawn with ``key``."""
    keys = mix64(np.arange(count, dtype=np.uint64) * np.uint64(GOLDEN64) + np.uint64(key % 2**64))
    return np.argsort(keys, kind="stable").astype(np.int32)


def order_of(n: int, seed: int, number: int) -> Array:
    """Rows in the order of pass ``number``: groups of neighbours permuted, then the rows of each segment of them."""
    key = int(mix64(np.array([(seed + (number + 1) * GOLDEN64) % 2**64], np.uint64))[0])
    groups = shuffled(-(-n // GROUP_ROWS), key)
    rows = (groups[:, None] * np.int32(GROUP_ROWS) + np.arange(GROUP_ROWS, dtype=np.int32)).ravel()
    rows = rows[rows < n]
    for start in range(0, n, LINEAR_SEGMENT):
        part = rows[start : start + LINEAR_SEGMENT]
        rows[start : start + LINEAR_SEGMENT] = part[shuffled(len(part), key + start + 1)]
    return rows


def solve(
    table: Rows,
    targets: Targets,
    objective: LinearObjective,
    stop: Stop,
    *,
    seed: int = 0,
    threads: int = 1,
    start: Array | Solution | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Minimize 1/2 |w|^2 + sum of losses for each problem, to a gap of ``stop.tol`` times the objective.

    ``start``: duals within their bounds, or a solution on the same rows, which is overwritten.
    """
    count, (n, k) = len(targets.positive), table.shape
    if isinstance(start, Solution):
        found = start
        found.gap[:], found.objective[:], found.passes[:] = np.inf, np.inf, 0
    else:
        real = stop.real
        backend = table.backend(threads)
        beta = backend.zeros((count, n), real) if start is None else start.astype(real)
        unknown = np.full(count, np.inf)
        w = backend.zeros((count, k, stride_of(len(table.alphabet))), real)
        found = Solution(w, np.zeros(count), beta, unknown, unknown.copy(), np.zeros(count, np.int64))
        for p in range(0 if start is None else count):
            _rebuild(table, found, p, objective, threads)
    w, bias, beta = found.w, found.bias, found.beta
    shrunk = table.backend(threads).zeros((count, n), np.uint8)
    threshold = np.full(count, np.inf, np.float32)
    running = np.ones(count, np.uint8)
    stretch = np.ones(count)
    placed: Any = [None if part is None else table.backend(threads).from_numpy(part) for part in targets]
    number = 0
    while running.any() and number < stop.max_iter:
        order = order_of(n, seed, number)
        state = LinearPass(order, *placed, threshold, running, w, bias, beta, shrunk)  # type: ignore[call-arg]
        stats = table.run_pass(objective, state, threads)
        number += 1
        found.passes[running == 1] = number
        threshold = np.where(stats[:, 1] > 0, stats[:, 1], np.inf).astype(np.float32)
        norms = k * stats[:, 4] + bias**2
        about = norms + stats[:, 0] + stats[:, 3]  # losses as they were met: above the gap, as a rule
        primal = norms / 2 + stats[:, 0]
        close = (running == 1) & (about <= 4 * stop.tol * primal)
        every = number % CHECK_PASSES == 0 or number == stop.max_iter
        if not stop.exact:
            done = close & (np.abs(about) <= 4 * stop.tol * primal)
            found.gap[done], found.objective[done] = np.abs(about[done]), primal[done]
            running[done], close = 0, close & False
        if every:
            close = running == 1
        if close.any():
            looked_at = np.flatnonzero(close)
            stretch[looked_at] = _evaluate(table, targets, objective, found, looked_at, threads, anew=every)
            done = close & (found.gap <= stop.tol * found.objective)
            running[done] = 0
            shrunk[close & ~done] = 0
            threshold[close & ~done] = np.inf
        if progress is not None:
            known = close | (running == 0)
            gaps, of = np.where(known, found.gap, about), np.where(known, found.objective, primal)
            progress(number, np.divide(gaps, of, out=np.zeros(count), where=of > 0))
    for p in range(count):
        w[p] *= w.dtype.type(stretch[p])
    bias *= stretch
    if running.any() and stop.warn:
        worst = float((found.gap / found.objective).max())
        warnings.warn(
            f"max_iter={stop.max_iter} passes left a duality gap of {worst:.1e} of the objective, "
            f"above tol={stop.tol:g}: raise max_iter or tol, or lower C.",
            ConvergenceWarning,
            stacklevel=6,  # who called fit: a method of ours and two decorators lie between
        )
    return found


def _rebuild(table: Rows, found: Solution, p: int, objective: LinearObjective, threads: int) -> float:
    """The table from the duals, summed in float64 a few hashes at a time; returns |w|^2."""
    k, stride = table.shape[1], found.w.shape[2]
    squares, backend = 0.0, table.backend(threads)
    for hashes in row_batches(k, 8 * stride, SUMS_BYTES):
        sums = backend.zeros((hashes.stop - hashes.start, stride), np.float64)
        for rows in table.parts():
            backend.linear_accumulate(table.part(rows)[:, hashes], table.empty[rows], found.beta[p, rows], sums)
        sums /= k
        found.w[p, hashes] = sums
        squares += float(np.einsum("ij,ij->", sums, sums))
    found.bias[p] = objective.scale * float(found.beta[p].sum(dtype=np.float64))
    return float(k * squares + found.bias[p] ** 2)


def squared_norm(w: Array, bias: float, k: int) -> float:
    """|w|^2 of a table in units of 1/sqrt(k), and its bias."""
    return float(k * float(np.einsum("ij,ij->", w, w, dtype=np.float64)) + bias**2)


def _evaluate(
    table: Rows,
    targets: Targets,
    objective: LinearObjective,
    found: Solution,
    problems: Array,
    threads: int,
    anew: bool,
) -> Array:
    """Objective and gap of some problems, with tables made from the duals ``anew``; the best stretch of each."""
    if anew:
        norms = np.array([_rebuild(table, found, p, objective, threads) for p in problems])
    else:
        norms = np.array([squared_norm(found.w[p], found.bias[p], table.shape[1]) for p in problems])
    stretches = np.array(STRETCHES if LOSSES[objective.loss] == "hinge" else STRETCHES[:1])
    losses, conjugates = np.zeros((len(problems), len(stretches))), np.zeros(len(problems))
    backend = table.backend(threads)
    for start in range(0, table.shape[0], LINEAR_SEGMENT):
        rows = slice(start, min(table.shape[0], start + LINEAR_SEGMENT))
        codes, empty = table.part(rows), table.empty[rows]
        for q, p in enumerate(problems):
            w, bias = found.w[p : p + 1], found.bias[p : p + 1]
            f = backend.linear_decide(codes, empty, objective.scale, w, bias)
            y, cost = (backend.from_numpy(part) for part in targets.of(p, rows))
            values = f[:, 0].astype(np.float64)
            losses[q] += [float(value(objective.loss, s * values, y, cost, objective.epsilon).sum()) for s in stretches]
            beta = found.beta[p, rows]
            used = (beta != 0) & (cost > 0)
            conjugates[q] += float(conjugate(objective.loss, beta[used], y[used], cost[used]).sum())
    objectives = norms[:, None] / 2 * stretches**2 + losses
    found.objective[problems] = objectives.min(axis=1)
    found.gap[problems] = found.objective[problems] + norms / 2 + conjugates
    return np.asarray(stretches[objectives.argmin(axis=1)])
