"""What the methods of the solver share: targets, solutions, and the duality gap, by which a solution is certified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._array import Array
from .._loss_formulas import formulas_of, loss_conjugate, loss_value
from .._losses import LOSS_TABLE
from .._threads import on_threads
from .._validation import row_batches
from ..backends import Linear, LinearObjective, LinearTargets
from ..serving import stride_of
from ._code_table import CodeTable

GAP_ROWS = (
    4096  # whose losses one thread sums for the gap; divides a segment, so that parts of files give the same sums
)
SUMS_BYTES = 1 << 24
PRECISE_TOL = 1e-4  # float32 reaches a gap of 1e-6, or 1e-5 with a large C: below this tol tables are float64


class Targets(LinearTargets):
    """Targets and costs of rows.

    Classification has class numbers ``labels`` and one problem for each class in ``positive``. Regression has
    ``targets`` and one problem. ``cost`` is C times the weight of a row. ``factors`` (problems, 2) multiplies it for
    rows outside and inside the class of a problem.
    """

    __slots__ = ()

    def only(self, rows: Array) -> Targets:
        """Return the targets of some rows."""
        labels, targets = (None if part is None else part[rows] for part in (self.labels, self.targets))
        return self._replace(labels=labels, targets=targets, cost=self.cost[rows])

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
    ``tol`` below ``PRECISE_TOL``. If ``follows_beta`` is false, Newton's method made ``w``, which is then not exactly
    the table of the duals that passes start from.
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


class DualProblem:
    """Codes and targets, and what passes over all rows compute: tables of duals, objectives and duality gaps.

    ``beat`` is called between parts of long work.
    """

    def __init__(
        self,
        table: CodeTable,
        targets: Targets,
        objective: LinearObjective,
        threads: int,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        self.table, self.targets, self.objective, self.threads, self.beat = table, targets, objective, threads, beat
        self.formulas, self.loss = formulas_of(objective.loss), LOSS_TABLE[objective.loss]
        self.count, self.backend = len(targets.positive), table.backend(threads)
        self.placed = LinearTargets(*(None if x is None else self.backend.from_numpy(x) for x in targets))  # type: ignore[arg-type]
        self.largest_cost = float(targets.cost.max(initial=0) * targets.factors.max(initial=0))

    def begin(self, start: Array | Solution | None, real: Any) -> Solution:
        """Return the solution from which a method starts: 0, that of some duals, or a given one, which is changed."""
        if isinstance(start, Solution):
            start.gap[:], start.objective[:], start.passes[:] = np.inf, np.inf, 0
            return start
        count, (n, k), zeros = self.count, self.table.shape, self.backend.zeros
        beta = zeros((count, n), real) if start is None else start.astype(real)
        w, unknown = zeros((count, k, stride_of(len(self.table.used_codes))), real), np.full(count, np.inf)
        found = Solution(w, np.zeros(count), beta, unknown, unknown.copy(), np.zeros(count, np.int64))
        if start is not None:
            self.follow_beta(found)
        return found

    def follow_beta(self, found: Solution) -> None:
        """Make the tables those of the duals, from which passes go on."""
        for p in range(self.count):
            self._rebuild(found, p)
        found.follows_beta = True

    def _rebuild(self, found: Solution, p: int) -> float:
        """Compute the table of a problem from its duals, in float64 for a few hashes at a time, and return |w|^2."""
        table, k, stride = self.table, self.table.shape[1], found.w.shape[2]
        squares = 0.0
        for hashes in row_batches(k, 8 * stride, SUMS_BYTES):
            sums = self.backend.zeros((hashes.stop - hashes.start, stride), np.float64)
            for rows in table.parts():
                codes, empty = table.part(rows)[:, hashes], table.empty[rows]
                self.backend.linear_accumulate(codes, empty, found.beta[p, rows], sums)
                self.beat()
            sums /= k
            found.w[p, hashes] = sums
            squares += float(np.einsum("ij,ij->", sums, sums))
        found.bias[p] = self.objective.scale * float(found.beta[p].sum(dtype=np.float64))
        return float(k * squares + found.bias[p] ** 2)

    def evaluate(self, found: Solution, problems: Array, rebuild: bool) -> Array:
        """Compute objective and duality gap of some problems, and return the best scaling of w for each.

        If ``rebuild`` is true, the tables are first computed anew from the duals.
        """
        if rebuild:
            norms = np.array([self._rebuild(found, p) for p in problems])
        else:
            norms = np.array([squared_norm(found.w[p], found.bias[p], self.table.shape[1]) for p in problems])
        scalings = np.array(self.formulas.scalings)
        losses, conjugates = np.zeros((len(problems), len(scalings))), np.zeros(len(problems))
        for part in self.table.parts():
            on_gpu = self.backend.place is not None  # where calls take long, and rows hardly any time
            size = max(1, part.stop - part.start) if on_gpu else GAP_ROWS
            pieces = [slice(start, min(part.stop, start + size)) for start in range(part.start, part.stop, size)]
            backend = self.table.backend(1 if len(pieces) > 1 else self.threads)

            def add_up(rows: slice, backend: Linear = backend) -> tuple[Array, Array]:
                return self._losses(backend, found, problems, scalings, rows)

            for some_losses, some_conjugates in on_threads(add_up, pieces, self.threads):
                losses += some_losses
                conjugates += some_conjugates
                self.beat()
        objectives = norms[:, None] / 2 * scalings**2 + losses
        found.objective[problems] = objectives.min(axis=1)
        found.gap[problems] = found.objective[problems] + norms / 2 + conjugates
        return np.asarray(scalings[objectives.argmin(axis=1)])

    def _losses(
        self, backend: Linear, found: Solution, problems: Array, scalings: Array, rows: slice
    ) -> tuple[Array, Array]:
        """Return the sums of losses (problems, scalings) and of conjugates over some rows."""
        codes, empty, (number, scale, parameter) = self.table.part(rows), self.table.empty[rows], self.objective
        losses, conjugates = np.zeros((len(problems), len(scalings))), np.zeros(len(problems))
        for q, p in enumerate(problems):
            f = backend.linear_decide(codes, empty, scale, found.w[p : p + 1], found.bias[p : p + 1])
            y, cost = (backend.from_numpy(part) for part in self.targets.of(p, rows))
            values = f[:, 0].astype(np.float64)
            losses[q] = [float(loss_value(number, s * values, y, cost, parameter).sum()) for s in scalings]
            beta = found.beta[p, rows]
            used = (beta != 0) & (cost > 0)
            conjugates[q] = float(loss_conjugate(number, beta[used], y[used], cost[used]).sum())
        return losses, conjugates


def squared_norm(w: Array, bias: float, k: int) -> float:
    """Return |w|^2 of a table in units of 1/sqrt(k), including its bias."""
    return float(k * float(np.einsum("ij,ij->", w, w, dtype=np.float64)) + bias**2)
