"""Block dual coordinate descent with shrinking: a method of the solver, pass by pass.

A back end does the arithmetic of a pass, which ``reference/linear.py`` specifies. Each pass draws a new order of rows:
it permutes groups of 64 adjacent rows, and then the rows within each segment of 16384. Rows on disk can therefore be
read in segments. Blocks should neither consist of the same rows in two passes nor of adjacent rows, which are often
alike: such blocks are balanced within themselves and converge slowly towards each other.
"""

from __future__ import annotations

import numpy as np

from .._array import Array
from .._mix import GOLDEN64, mix64, mix_number
from .._threads import on_threads
from ..backends import LINEAR_SEGMENT, LINEAR_STATS, LINEAR_SWEEPS, LinearPass
from ._code_table import add_stats
from ._problem import DualProblem, Solution, Stop

GROUP_ROWS = 64
LOOK = 8  # one row in so many is visited before the solver decides about Newton's method
CHECK_PASSES = 16  # the gap is computed at least this often, and tables, which drift, are rebuilt from the duals


def shuffled(count: int, key: int) -> Array:
    """Return 0 .. count - 1 in a random order that ``key`` determines."""
    keys = mix64(np.arange(count, dtype=np.uint64) * np.uint64(GOLDEN64) + np.uint64(key % 2**64))
    return np.argsort(keys).astype(np.int32)  # no two keys are equal, so any way of sorting gives this order


def order_of(n: int, seed: int, number: int, threads: int = 1) -> Array:
    """Return the order of rows in pass ``number``: groups of adjacent rows permuted, then the rows of each segment."""
    key = mix_number(seed + (number + 1) * GOLDEN64)
    groups = shuffled(-(-n // GROUP_ROWS), key)
    rows = (groups[:, None] * np.int32(GROUP_ROWS) + np.arange(GROUP_ROWS, dtype=np.int32)).ravel()
    rows = rows[rows < n]

    def shuffle(start: int) -> None:
        part = rows[start : start + LINEAR_SEGMENT]
        part[:] = part[shuffled(len(part), key + start + 1)]

    list(on_threads(shuffle, range(0, n, LINEAR_SEGMENT), threads))
    return rows


def sweeps_for(problem: DualProblem) -> int:
    """Return how many sweeps a block gets. Where costs are small, fewer of them need no more passes."""
    if not problem.formulas.has_quadratic_dual or problem.largest_cost > 2:
        return LINEAR_SWEEPS
    return LINEAR_SWEEPS // 2 if problem.largest_cost > 0.5 else LINEAR_SWEEPS // 4


class Descent:
    """The state of coordinate descent: rows that are shrunk, problems that go on, and how far a pass is."""

    def __init__(self, problem: DualProblem, found: Solution, stop: Stop, seed: int) -> None:
        self.problem, self.found, self.stop, self.seed = problem, found, stop, seed
        count, self.n = problem.count, problem.table.shape[0]
        self.shrunk = problem.backend.zeros((count, self.n), np.uint8)
        self.threshold = np.full(count, np.inf, np.float32)
        self.running, self.scaling = np.ones(count, np.uint8), np.ones(count)
        self.number, self.visited = 0, 0  # finished passes, and rows that the present pass has visited
        self.order, self.stats = np.zeros(0, np.int32), np.zeros((count, LINEAR_STATS))
        self.sweeps = sweeps_for(problem)
        if not found.follows_beta:
            problem.follow_beta(found)

    def look(self) -> int:
        """Make the first part of a pass, and return how many rows it visits."""
        self._visit(max(self.n // LOOK // LINEAR_SEGMENT, 1) * LINEAR_SEGMENT)
        return self.visited

    def _visit(self, until: int) -> None:
        if self.visited == 0:
            self.order = order_of(self.n, self.seed, self.number, self.problem.threads)
        order, found = self.order[self.visited : until], self.found
        if len(order):
            tables = (found.w, found.bias, found.beta, self.shrunk)
            state = LinearPass(order, *self.problem.placed, self.threshold, self.running, *tables, sweeps=self.sweeps)
            stats = self.problem.table.run_pass(self.problem.objective, state, self.problem.threads, self.problem.beat)
            if self.visited == 0:
                self.stats = stats
            else:
                add_stats(self.stats, stats)
        self.visited += len(order)

    def next_pass(self) -> Array:
        """Make a pass or the rest of it, find out which problems are solved, and return their relative gaps."""
        self._visit(self.n)
        found, stop, running, stats = self.found, self.stop, self.running, self.stats
        self.number, self.visited = self.number + 1, 0
        found.passes[running == 1] = self.number
        self.threshold = np.where(stats[:, 1] > 0, stats[:, 1], np.inf).astype(np.float32)
        norms = found.w.shape[1] * stats[:, 4] + found.bias**2
        about = norms + stats[:, 0] + stats[:, 3]  # with the losses during the pass; usually above the gap
        primal = norms / 2 + stats[:, 0]
        close = (running == 1) & (about <= 4 * stop.tol * primal)
        every = self.number % CHECK_PASSES == 0 or self.number == stop.max_iter
        if not stop.exact:
            done = close & (np.abs(about) <= 4 * stop.tol * primal)
            found.gap[done], found.objective[done] = np.abs(about[done]), primal[done]
            running[done], close = 0, close & False
        if every:
            close = running == 1
        if close.any():
            checked = np.flatnonzero(close)
            self.scaling[checked] = self.problem.evaluate(found, checked, rebuild=every)
            done = close & (found.gap <= stop.tol * found.objective)
            running[done] = 0
            self.shrunk[close & ~done] = 0
            self.threshold[close & ~done] = np.inf
        has_gap = close | (running == 0)
        gaps, of = np.where(has_gap, found.gap, about), np.where(has_gap, found.objective, primal)
        return np.divide(gaps, of, out=np.zeros(len(of)), where=of > 0)

    def finish(self) -> None:
        """Scale the tables by the factors with the smallest objectives."""
        for w, scaling in zip(self.found.w, self.scaling, strict=True):
            w *= w.dtype.type(scaling)
        self.found.bias *= self.scaling
