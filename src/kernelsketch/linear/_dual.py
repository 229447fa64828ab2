"""The solver of ``fit`` and ``fit_blocks``: block dual coordinate descent on codes, with shrinking.

This module decides about passes, the order of rows and convergence. A back end does the arithmetic of a pass, which
``reference/linear.py`` specifies. The solver stops when the duality gap is small relative to the objective.

Each pass draws a new order of rows: it permutes groups of 64 adjacent rows, and then the rows within each segment of
16384. Rows on disk can therefore be read in segments. Blocks should neither consist of the same rows in two passes nor
of adjacent rows, which are often alike: such blocks are balanced within themselves and converge slowly towards each
other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .._mix import GOLDEN64, mix64
from .._threads import on_threads
from .._validation import row_batches
from ..backends import LINEAR_SEGMENT, LINEAR_SWEEPS, Backend, LinearObjective, LinearPass, LinearTargets
from ..serving import stride_of
from ._code_table import CodeSource, CodeTable, add_stats
from ._losses import LOSS_TABLE, conjugate, value
from ._repeats import Repeats, find_repeats

Array = NDArray[Any]

GROUP_ROWS = 64
LOOK = 8  # the first pass stops after one row in so many, for a look at the duals
GAP_ROWS = (
    4096  # whose losses one thread sums for the gap; divides a segment, so that parts of files give the same sums
)
SUMS_BYTES = 1 << 24
PRECISE_TOL = 1e-4  # float32 reaches a gap of 1e-6, or 1e-5 with a large C: below this tol tables are float64
CHECK_PASSES = 16  # the gap is computed at least this often, and tables, which drift, are rebuilt from the duals


class Targets(NamedTuple):
    """Targets and costs of rows.

    Classification has class numbers ``labels`` and one problem for each class in ``positive``. Regression has
    ``targets`` and one problem. ``cost`` is C times the weight of a row. ``factors`` (problems, 2) multiplies it for
    rows outside and inside the class of a problem.
    """

    labels: Array | None
    targets: Array | None
    cost: Array
    positive: Array
    factors: Array

    def of(self, problem: int, rows: slice) -> tuple[Array, Array]:
        """Return y and the costs of one problem, in float32."""
        if self.targets is not None:
            return self.targets[rows], self.cost[rows]
        assert self.labels is not None
        inside = self.labels[rows] == self.positive[problem]
        y = np.where(inside, np.float32(1), np.float32(-1))
        return y, self.cost[rows] * self.factors[problem, inside.astype(int)]


@dataclass
class Solution:
    """What the solver found.

    ``w`` has shape (problems, k, stride), ``bias`` (problems,), and the duals ``beta`` (problems, rows). Objective,
    duality gap and number of passes are given for each problem. ``w`` and ``beta`` are float32, or float64 for a
    ``tol`` below ``PRECISE_TOL``. If ``follows_beta`` is false, a back end's own solver made ``w``, which is then not
    exactly the table of the duals that passes start from.
    """

    w: Array
    bias: Array
    beta: Array
    objective: Array
    gap: Array
    passes: Array
    follows_beta: bool = True


class Stop(NamedTuple):
    """When the solver stops: at a duality gap of ``tol`` times the objective, or after ``max_iter`` passes.

    ``warn`` says whether it warns in the second case. If ``exact`` is false, the gap is estimated from the losses that
    rows have during a pass, which is enough for models that are only compared.
    """

    tol: float = 1e-3
    max_iter: int = 1000
    warn: bool = True
    exact: bool = True

    @property
    def real(self) -> Any:
        """The floating point type of tables and duals."""
        return np.float64 if self.exact and self.tol < PRECISE_TOL else np.float32


Progress = Callable[[int, Array], None]


def shuffled(count: int, key: int) -> Array:
    """Return 0 .. count - 1 in a random order that ``key`` determines."""
    keys = mix64(np.arange(count, dtype=np.uint64) * np.uint64(GOLDEN64) + np.uint64(key % 2**64))
    return np.argsort(keys).astype(np.int32)  # no two keys are equal, so any way of sorting gives this order


def order_of(n: int, seed: int, number: int, threads: int = 1) -> Array:
    """Return the order of rows in pass ``number``: groups of adjacent rows permuted, then the rows of each segment."""
    key = int(mix64(np.array([(seed + (number + 1) * GOLDEN64) % 2**64], np.uint64))[0])
    groups = shuffled(-(-n // GROUP_ROWS), key)
    rows = (groups[:, None] * np.int32(GROUP_ROWS) + np.arange(GROUP_ROWS, dtype=np.int32)).ravel()
    rows = rows[rows < n]

    def shuffle(start: int) -> None:
        part = rows[start : start + LINEAR_SEGMENT]
        part[:] = part[shuffled(len(part), key + start + 1)]

    list(on_threads(shuffle, range(0, n, LINEAR_SEGMENT), threads))
    return rows


def sweeps_for(objective: LinearObjective, targets: Targets) -> int:
    """Return how many sweeps a block gets. Where costs are small, fewer of them need no more passes."""
    cost = float(targets.cost.max(initial=0) * targets.factors.max(initial=0))
    if not LOSS_TABLE[objective.loss].has_quadratic_dual or cost > 2:
        return LINEAR_SWEEPS
    return LINEAR_SWEEPS // 2 if cost > 0.5 else LINEAR_SWEEPS // 4


def solve(
    table: CodeSource,
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

    A warm start begins at ``start``: duals within their bounds, or a solution on the same rows, which the solver
    overwrites. Without such a solution, a regression merges equal rows first where that pays.
    """
    before, done = 0, False
    if stop.exact and not isinstance(start, Solution):
        repeats = find_repeats(table, targets.targets, objective)
        if repeats is not None:
            start = _solve_merged(table, targets, objective, stop, repeats, seed, threads, start, progress)
            before, done = int(start.passes.max()), bool((start.gap <= stop.tol * start.objective).all())
    found = start
    if not isinstance(found, Solution) or not (done or before >= stop.max_iter):
        left = stop._replace(max_iter=stop.max_iter - before)
        found, done = _solve(table, targets, objective, left, seed, threads, start, progress, before)
        found.passes += before
    if stop.warn and not done:
        _warn(found, stop)
    return found


def _solve(
    table: CodeSource,
    targets: Targets,
    objective: LinearObjective,
    stop: Stop,
    seed: int,
    threads: int,
    start: Array | Solution | None,
    progress: Progress | None,
    before: int = 0,
) -> tuple[Solution, bool]:
    """Make passes until the gap is small, and return whether it is. The first of them has the number ``before``."""
    count, (n, k) = len(targets.positive), table.shape
    if isinstance(start, Solution):
        found = start
        found.gap[:], found.objective[:], found.passes[:] = np.inf, np.inf, 0
    else:
        real = stop.real
        backend = table.backend(threads)
        beta = backend.zeros((count, n), real) if start is None else start.astype(real)
        unknown = np.full(count, np.inf)
        w = backend.zeros((count, k, stride_of(len(table.used_codes))), real)
        found = Solution(w, np.zeros(count), beta, unknown, unknown.copy(), np.zeros(count, np.int64))
        for p in range(0 if start is None else count):
            _rebuild(table, found, p, objective, threads)
    w, bias, beta = found.w, found.bias, found.beta
    shrunk = table.backend(threads).zeros((count, n), np.uint8)
    threshold = np.full(count, np.inf, np.float32)
    running = np.ones(count, np.uint8)
    scaling = np.ones(count)
    placed: Any = [None if part is None else table.backend(threads).from_numpy(part) for part in targets]
    number, sweeps = 0, sweeps_for(objective, targets)
    known = 0 if start is None else n  # rows whose dual has been looked for
    while running.any() and number < stop.max_iter:
        if number == 0 and _solve_elsewhere(table, found, objective, placed, stop, running, threads, progress, known):
            break
        if not found.follows_beta:
            for p in range(count):
                _rebuild(table, found, p, objective, threads)
            found.follows_beta = True
        order = order_of(n, seed, number, threads)
        state = LinearPass(order, *placed, threshold, running, w, bias, beta, shrunk, sweeps)  # type: ignore[call-arg]
        look = max(n // LOOK // LINEAR_SEGMENT, 1) * LINEAR_SEGMENT if number == 0 else n
        stats = table.run_pass(objective, state._replace(order=order[:look]), threads)
        # The duals after a part of the first pass tell a back end whether this is a problem for its own solver.
        known = max(known, min(n, look))
        if number == 0 and _solve_elsewhere(
            table, found, objective, placed, stop, running, threads, progress, known, 1
        ):
            break
        if look < n:
            add_stats(stats, table.run_pass(objective, state._replace(order=order[look:]), threads))
        number += 1
        found.passes[running == 1] = number
        threshold = np.where(stats[:, 1] > 0, stats[:, 1], np.inf).astype(np.float32)
        norms = k * stats[:, 4] + bias**2
        about = norms + stats[:, 0] + stats[:, 3]  # with the losses during the pass; usually above the gap
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
            checked = np.flatnonzero(close)
            scaling[checked] = _evaluate(table, targets, objective, found, checked, threads, rebuild=every)
            done = close & (found.gap <= stop.tol * found.objective)
            running[done] = 0
            shrunk[close & ~done] = 0
            threshold[close & ~done] = np.inf
        if progress is not None:
            has_gap = close | (running == 0)
            gaps, of = np.where(has_gap, found.gap, about), np.where(has_gap, found.objective, primal)
            progress(before + number, np.divide(gaps, of, out=np.zeros(count), where=of > 0))
    for p in range(count):
        w[p] *= w.dtype.type(scaling[p])
    bias *= scaling
    return found, not running.any()


def _solve_merged(
    table: Any,
    targets: Targets,
    objective: LinearObjective,
    stop: Stop,
    repeats: Repeats,
    seed: int,
    threads: int,
    start: Array | None,
    progress: Progress | None,
) -> Solution:
    """Solve the problem with one row for all equal ones, and return its solution, objective and gap for all rows."""
    loss, rows = LOSS_TABLE[objective.loss], slice(None)
    total = repeats.sums(targets.cost)
    has_cost = total > 0
    assert targets.targets is not None
    means = targets.targets[repeats.first].astype(np.float64)
    sums = repeats.sums(targets.cost.astype(np.float64) * targets.targets)
    np.divide(sums, total, out=means, where=has_cost)  # of equal targets, except for squared errors
    merged = targets._replace(targets=means.astype(np.float32), cost=total.astype(np.float32))
    if start is not None:
        start = np.stack(
            [loss.feasible(repeats.sums(beta), *merged.of(p, rows), objective.epsilon) for p, beta in enumerate(start)]
        )
    found, _ = _solve(repeats.merged(table), merged, objective, stop, seed, threads, start, progress)
    share = targets.cost / np.where(has_cost, total, 1)[repeats.group]
    beta = np.empty((len(found.beta), len(share)), found.beta.dtype)
    for p in range(len(beta)):
        y, cost = targets.of(p, rows)
        duals = found.beta[p][repeats.group] * share
        if loss.adds_up:
            duals += 2.0 * cost * (y - means[repeats.group])
        beta[p] = loss.feasible(duals, y, cost, objective.epsilon)
    found = Solution(found.w, found.bias, beta, found.objective, found.gap, found.passes)
    scaling = _evaluate(table, targets, objective, found, np.arange(len(beta)), threads, rebuild=True)
    if (found.gap <= stop.tol * found.objective).all():
        found.w *= scaling.astype(found.w.dtype)[:, None, None]
        found.bias *= scaling
    return found


def _solve_elsewhere(
    table: CodeSource,
    found: Solution,
    objective: LinearObjective,
    targets: list[Any],
    stop: Stop,
    running: Array,
    threads: int,
    progress: Progress | None,
    visited: int,
    passes: int = 0,
) -> bool:
    """Let the back end solve the problems, if the codes are in memory and it has a solver for them."""
    if not isinstance(table, CodeTable):
        return False
    solved = table.backend(threads).linear_solve(
        *(table.codes, table.empty, objective, LinearTargets(*targets), found.w, found.bias, found.beta),
        *(stop.tol, stop.max_iter - passes, progress, visited),
    )
    if solved is None:
        return False
    found.objective[:], found.gap[:], found.passes[:] = solved.objective, solved.gap, solved.passes + passes
    found.follows_beta = False
    running[:] = found.gap > stop.tol * found.objective
    return True


def _warn(found: Solution, stop: Stop) -> None:
    """Warn that the solver did not reach the duality gap that was asked for."""
    worst = float((found.gap / found.objective).max())
    warnings.warn(
        f"After {int(found.passes.max())} of max_iter={stop.max_iter} passes the duality gap is {worst:.1e} of the "
        f"objective, above tol={stop.tol:g}: raise max_iter or tol, or lower C.",
        ConvergenceWarning,
        stacklevel=7,  # the caller of fit: two of our functions, one of our methods and two decorators are in between
    )


def _rebuild(table: CodeSource, found: Solution, p: int, objective: LinearObjective, threads: int) -> float:
    """Compute the table of a problem from its duals, in float64 for a few hashes at a time, and return |w|^2."""
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
    """Return |w|^2 of a table in units of 1/sqrt(k), including its bias."""
    return float(k * float(np.einsum("ij,ij->", w, w, dtype=np.float64)) + bias**2)


def _evaluate(
    table: CodeSource,
    targets: Targets,
    objective: LinearObjective,
    found: Solution,
    problems: Array,
    threads: int,
    rebuild: bool,
) -> Array:
    """Compute objective and duality gap of some problems, and return the best scaling of w for each.

    If ``rebuild`` is true, the tables are first computed anew from the duals.
    """
    if rebuild:
        norms = np.array([_rebuild(table, found, p, objective, threads) for p in problems])
    else:
        norms = np.array([squared_norm(found.w[p], found.bias[p], table.shape[1]) for p in problems])
    scalings = np.array(LOSS_TABLE[objective.loss].scalings)
    losses, conjugates = np.zeros((len(problems), len(scalings))), np.zeros(len(problems))

    def add_up(backend: Backend, rows: slice) -> tuple[Array, Array]:
        codes, empty = table.part(rows), table.empty[rows]
        some_losses, some_conjugates = np.zeros_like(losses), np.zeros_like(conjugates)
        for q, p in enumerate(problems):
            w, bias = found.w[p : p + 1], found.bias[p : p + 1]
            f = backend.linear_decide(codes, empty, objective.scale, w, bias)
            y, cost = (backend.from_numpy(part) for part in targets.of(p, rows))
            values = f[:, 0].astype(np.float64)
            some_losses[q] = [
                float(value(objective.loss, s * values, y, cost, objective.epsilon).sum()) for s in scalings
            ]
            beta = found.beta[p, rows]
            used = (beta != 0) & (cost > 0)
            some_conjugates[q] = float(conjugate(objective.loss, beta[used], y[used], cost[used]).sum())
        return some_losses, some_conjugates

    for part in table.parts():
        on_card = table.backend(threads).place is not None  # where calls take long, and rows hardly any time
        size = max(1, part.stop - part.start) if on_card else GAP_ROWS
        pieces = [slice(start, min(part.stop, start + size)) for start in range(part.start, part.stop, size)]
        backend = table.backend(1 if len(pieces) > 1 else threads)
        for some_losses, some_conjugates in on_threads(partial(add_up, backend), pieces, threads):
            losses += some_losses
            conjugates += some_conjugates
    objectives = norms[:, None] / 2 * scalings**2 + losses
    found.objective[problems] = objectives.min(axis=1)
    found.gap[problems] = found.objective[problems] + norms / 2 + conjugates
    return np.asarray(scalings[objectives.argmin(axis=1)])
