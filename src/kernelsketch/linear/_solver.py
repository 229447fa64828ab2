"""The solver of ``fit`` and ``fit_blocks``: it chooses a method, goes on until the duality gap is small, and reports.

There are two methods, with the same duality gap: block dual coordinate descent (``_descent.py``) and Newton's method
(``_newton.py``, or that of a back end whose capability ``newton`` is "whole"). :func:`newton_pays` is the choice.
Neither the choice nor the weights depend on threads, or on whether the codes are in memory or on disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._array import Array
from .._loss_formulas import formulas_of
from .._warnings import warn_user
from ..backends import LinearObjective, NewtonProblem, NewtonWhole, Symbols, heartbeat
from ..exceptions import InputTypeError, Setting
from ._code_table import CodeTable
from ._descent import Descent
from ._newton import newton_solve, symbols_of
from ._problem import DualProblem, Solution, Stop, Targets
from ._repeats import Repeats, find_repeats

LEAST_CODES = 1 << 22  # fewer codes than that are learned faster by coordinate descent
LARGE_COST, MANY_ROWS = 2.0, 1 << 15  # classes that are hard to tell apart need Newton's method, whatever their rows
BUSY = 0.25  # share of the rows with a dual other than 0 from which on Newton's method is faster for the squared hinge
REPORT_SECONDS = 5.0  # after which a pass or a step that goes on is reported


class FitProgress(NamedTuple):
    """How far a fit has come. Functions that estimators take as ``progress`` are called with it.

    Attributes
    ----------
    stage : {"calibration", "cross-validation", "training"}
        What the solver works for.
    C : float
        The C of the problems that it solves.
    passes : int
        Number of passes over the rows so far.
    gaps : array of shape (1 or n_classes,)
        Duality gap of each problem, relative to its objective.
    fold, n_folds : int
        Number of the fold, from 1 on, and how many there are; 0 in the stage "training".
    is_solved : bool
        Whether this is the last report about a C on a fold, in the stage "cross-validation".
    """

    stage: str = "training"
    C: float = 1.0
    passes: int = 0
    gaps: Array = np.zeros(0)
    fold: int = 0
    n_folds: int = 0
    is_solved: bool = False


Report = Callable[[FitProgress], None]
TRAINING = FitProgress()


def reporter(progress: Any, model: Any) -> Report | None:
    """Return ``progress``, or without it a function that prints as the parameter ``verbose`` of a model says.

    It prints once per second with 1, and each time with more.
    """
    if progress is not None:
        if not callable(progress):
            raise InputTypeError(
                Setting("progress"), f" must be a function of a FitProgress, got {type(progress).__name__}."
            )
        report: Report = progress
        return report
    shown, name = time.monotonic(), type(model).__name__

    def show(event: FitProgress) -> None:
        nonlocal shown
        now = time.monotonic()
        if event.fold and event.is_solved:
            print(f"[{name}] fold {event.fold}/{event.n_folds}, C={event.C:g}: {event.passes} passes", flush=True)
        elif not event.fold and (model.verbose > 1 or now - shown > 1):
            shown = now
            print(
                f"[{name}] pass {event.passes}: duality gap {float(np.max(event.gaps)):.1e} of the objective, "
                f"{int((event.gaps > model.tol).sum())} of {len(event.gaps)} problems above tol",
                flush=True,
            )

    return show if model.verbose else None


def is_hard(problem: DualProblem) -> bool:
    """Return whether coordinate descent is slow by the loss or the cost, whatever the rows are."""
    return not problem.loss.has_margin or (problem.largest_cost > LARGE_COST and problem.table.shape[0] >= MANY_ROWS)


def newton_pays(problem: DualProblem, beta: Array, visited: int) -> bool:
    """Return whether Newton's method is faster than coordinate descent, on any number of threads.

    Coordinate descent skips the rows outside of the margin of the squared hinge loss and is hard to beat if these are
    most: the share of nonzero duals among the ``visited`` rows decides. The other losses have no such rows. On a GPU,
    passes would leave most of its processors idle.
    """
    kind, (n, k) = problem.backend.newton, problem.table.shape
    if not problem.loss.is_smooth or kind == "none":
        return False
    if kind == "whole":
        return not problem.table.mapped
    if n * k < LEAST_CODES:
        return False
    return is_hard(problem) or bool(visited > 0 and np.count_nonzero(beta) >= BUSY * len(beta) * visited)


@dataclass(eq=False)
class Solver:
    """Minimizes 1/2 |w|^2 + sum of losses for each problem, to a gap of ``stop.tol`` times the objective.

    ``report`` is called after each pass, after each step of Newton's method, and during those that take long.
    """

    objective: LinearObjective
    stop: Stop
    seed: int = 0
    threads: int = 1
    report: Report | None = None
    _before: int = field(default=0, init=False)  # passes of the methods that have ended
    _last: FitProgress = field(default=TRAINING, init=False)
    _time: float = field(default=0.0, init=False)  # of the last report

    def stopping(self, **changes: Any) -> Solver:
        """Return a solver with changes of its ``stop``."""
        return replace(self, stop=self.stop._replace(**changes))

    def solve(
        self, table: CodeTable, targets: Targets, start: Array | Solution | None = None, stage: FitProgress = TRAINING
    ) -> Solution:
        """Return the solution for some rows. Reports are those of ``stage``, with passes and gaps.

        A warm start begins at ``start``: duals within their bounds, or a solution on the same rows, which the solver
        overwrites. Without such a solution, a regression merges equal rows first where that pays.
        """
        gaps = np.ones(len(targets.positive))
        self._before, self._last, self._time = 0, stage._replace(gaps=gaps), time.monotonic()
        with heartbeat(self._beat):
            repeats = None
            if targets.targets is not None and self.stop.exact and not isinstance(start, Solution):
                repeats = find_repeats(table, targets.targets, formulas_of(self.objective.loss))
            if repeats is None or isinstance(start, Solution):
                found, done = self._solve(table, targets, start)
            else:
                found, done = self._solve_merged(table, targets, start, repeats)
        if self.stop.warn and not done:
            worst = float((found.gap / found.objective).max())
            warn_user(
                f"After {int(found.passes.max())} of max_iter={self.stop.max_iter} passes the duality gap is "
                f"{worst:.1e} of the objective, above tol={self.stop.tol:g}: raise max_iter or tol, or lower C.",
                ConvergenceWarning,
            )
        return found

    def _solve(self, table: CodeTable, targets: Targets, start: Array | Solution | None) -> tuple[Solution, bool]:
        """Solve by Newton's method where it pays, otherwise by coordinate descent, and return whether gaps are small.

        The choice is made before the first pass, and again after a part of it, when more duals are known.
        """
        problem = DualProblem(table, targets, self.objective, self.threads, self._beat)
        found, stop, descent = problem.begin(start, self.stop.real), self._rest(), None
        visited = 0 if start is None else len(table.empty)
        for passes in (0, 1):
            if newton_pays(problem, found.beta, visited):
                # Pairs of codes save half of the look-ups: enough where coordinate descent is slow.
                least, whole = 2 if is_hard(problem) else 4, problem.backend.newton == "whole"
                symbols = None if whole else symbols_of(table, found.w.shape[2], least, self.threads)
                if symbols is None and not whole:
                    break
                descent = None  # Newton's method needs the memory
                return found, self._newton(problem, found, symbols, passes)
            if passes == 0:
                descent = Descent(problem, found, stop, self.seed)
                visited = max(visited, descent.look())
        return found, self._descend(descent or Descent(problem, found, stop, self.seed))

    def _newton(self, problem: DualProblem, found: Solution, symbols: Symbols | None, passes: int) -> bool:
        """Run Newton's method after some passes, and return whether gaps are small.

        ``symbols`` is None for a back end that solves as a whole.
        """
        tol, left = self.stop.tol, self._rest().max_iter - passes

        def report(number: int, gaps: Array) -> None:
            self._report(passes + number, gaps)

        if symbols is None:
            of = NewtonProblem(problem.placed, found.w, found.bias, found.beta, tol, left)
            whole, table = cast(NewtonWhole, problem.backend), problem.table
            solved = whole.newton_solve(table.codes, table.empty, self.objective, of, report)
        else:
            solved = newton_solve(problem, found, symbols, tol, left, report)
        found.objective[:], found.gap[:], found.passes[:] = solved.objective, solved.gap, solved.passes + passes
        found.follows_beta = False
        made, done = int(found.passes.max()), self._has_small_gaps(found)
        if not done and made < self._rest().max_iter:  # no step of Newton's method made the objective smaller
            self._before += made
            done = self._descend(Descent(problem, found, self._rest(), self.seed))
            found.passes += made
        return done

    def _descend(self, descent: Descent) -> bool:
        """Make passes until all gaps are small, and return whether they are."""
        while descent.running.any() and descent.number < descent.stop.max_iter:
            gaps = descent.next_pass()
            self._report(descent.number, gaps)
        descent.finish()
        return not descent.running.any()

    def _solve_merged(
        self, table: CodeTable, targets: Targets, start: Array | None, repeats: Repeats
    ) -> tuple[Solution, bool]:
        """Solve the problem with one row for all equal ones first; go on with all rows if their gap is not small."""
        loss, parameter, rows = formulas_of(self.objective.loss), self.objective.parameter, slice(None)
        total = repeats.sums(targets.cost)
        has_cost = total > 0
        assert targets.targets is not None
        means = targets.targets[repeats.first].astype(np.float64)
        sums = repeats.sums(targets.cost.astype(np.float64) * targets.targets)
        np.divide(sums, total, out=means, where=has_cost)  # of equal targets, except for squared errors
        merged = targets._replace(targets=means.astype(np.float32), cost=total.astype(np.float32))
        if start is not None:
            start = np.stack(
                [loss.feasible(repeats.sums(beta), *merged.of(p, rows), parameter) for p, beta in enumerate(start)]
            )
        few, _ = self._solve(table.only(repeats.first), merged, start)
        share = targets.cost / np.where(has_cost, total, 1)[repeats.group]
        beta = np.empty((len(few.beta), len(share)), few.beta.dtype)
        for p in range(len(beta)):
            y, cost = targets.of(p, rows)
            duals = few.beta[p][repeats.group] * share
            if loss.adds_up:
                duals += 2.0 * cost * (y - means[repeats.group])
            beta[p] = loss.feasible(duals, y, cost, parameter)
        found = Solution(few.w, few.bias, beta, few.objective, few.gap, few.passes)
        problem = DualProblem(table, targets, self.objective, self.threads, self._beat)
        scaling = problem.evaluate(found, np.arange(len(beta)), rebuild=True)
        self._before = made = int(found.passes.max())
        if self._has_small_gaps(found):
            found.w *= scaling.astype(found.w.dtype)[:, None, None]
            found.bias *= scaling
            return found, True
        if self._rest().max_iter <= 0:
            return found, False
        found, done = self._solve(table, targets, found)
        found.passes += made
        return found, done

    def _rest(self) -> Stop:
        """Return when the method stops that runs next."""
        return self.stop._replace(max_iter=self.stop.max_iter - self._before)

    def _has_small_gaps(self, found: Solution) -> bool:
        return bool((found.gap <= self.stop.tol * found.objective).all())

    def _report(self, number: int, gaps: Array) -> None:
        """Report the passes that the method has made, and the relative gaps."""
        self._last, self._time = self._last._replace(passes=self._before + number, gaps=gaps), time.monotonic()
        if self.report is not None:
            self.report(self._last)

    def _beat(self) -> None:
        """Report what is known if the last report was long ago."""
        if self.report is not None and time.monotonic() - self._time > REPORT_SECONDS:
            self._time = time.monotonic()
            self.report(self._last)
