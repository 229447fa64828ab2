"""Folds, and what models of the other folds say about held-out rows, which calibration and the choice of C share.

The rows are hashed once. A fold trains on all rows, with a cost of 0 for those that it holds out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from .._array import Array
from .._loss_formulas import formulas_of
from .._validation import STEP_BYTES, row_batches
from ..exceptions import InputError, Setting
from ..serving import Calibration
from ._calibration import fit_calibration
from ._code_table import CodeTable
from ._descent import shuffled
from ._problem import Solution, Targets, squared_norm
from ._solver import TRAINING, FitProgress, Solver
from ._targets import Classes, Task

N_FOLDS = 3
PATH_TOL = 1e-2  # gap of models that are only scored or calibrated


class Fold(NamedTuple):
    """One part of a cross-validation: a mask of the training rows, and the numbers of the held-out rows."""

    train: Array
    test: Array


def folds_of(splits: Any, n: int) -> list[Fold]:
    """Return the pairs of a splitter, which may be row numbers or masks, as folds."""
    folds = []
    for train, test in splits:
        mask = np.zeros(n, bool)
        mask[train] = True
        folds.append(Fold(mask, np.arange(n)[test]))
    return folds


def used_folds(folds: list[Fold], used: Any) -> list[Fold]:
    """Return folds of all rows as folds of the used rows."""
    if isinstance(used, slice):
        return folds
    place = np.full(len(folds[0].train), -1)
    place[used] = np.arange(len(used))
    return [Fold(fold.train[used], place[fold.test[place[fold.test] >= 0]]) for fold in folds]


def shuffled_folds(labels: Array, n_folds: int = N_FOLDS) -> list[Fold]:
    """Return folds to which the rows of each class are dealt in turn, in a fixed random order.

    Rows in a file often stand beside similar ones. Folds of successive rows then hold out rows that are unlike all
    others, and favour models that are too simple. A class with a single row is missing from the training rows of one
    fold.
    """
    order = shuffled(len(labels), 0)
    order = order[np.argsort(labels[order], kind="stable")]
    numbers = np.empty(len(labels), np.int64)
    numbers[order] = np.arange(len(labels)) % n_folds
    return _folds(numbers, n_folds)


def stratified_folds(labels: Array, n_folds: int) -> list[Fold]:
    """Return the folds of scikit-learn's StratifiedKFold, also for classes that have fewer rows than there are folds.

    The rows of a class go to the folds in their order. A class with a single row is missing from the training rows of
    one fold.
    """
    _, first, numbered = np.unique(labels, return_index=True, return_inverse=True)
    labels = np.argsort(np.argsort(first))[numbered]  # classes in the order in which they appear, as in scikit-learn
    order = np.argsort(labels, kind="stable")
    dealt = np.arange(len(labels)) % n_folds  # to the rows in the order of their classes
    numbers = np.empty(len(labels), np.int64)
    numbers[order] = np.sort(labels[order] * n_folds + dealt) % n_folds
    return _folds(numbers, n_folds)


def _folds(numbers: Array, n_folds: int) -> list[Fold]:
    return [Fold(numbers != number, np.flatnonzero(numbers == number)) for number in range(n_folds)]


def folds_for(task: Task, cv: Any, rows: Any, weights: Array) -> list[Fold]:
    """Return folds of some rows, which have these weights, as the parameter ``cv`` says."""
    is_class = isinstance(task, Classes)
    y = task.labels if isinstance(task, Classes) else task.y
    used = y[rows]
    if cv is None and (is_class or len(used) >= N_FOLDS):
        folds = shuffled_folds(used if is_class else np.zeros(len(used), np.int64))
    elif cv is None or isinstance(cv, Integral):
        splitter = check_cv(N_FOLDS if cv is None else cv)  # refuses a number below 2
        splits = () if is_class else splitter.split(np.zeros((len(used), 1)), used)
        folds = stratified_folds(used, int(cv or N_FOLDS)) if is_class else folds_of(splits, len(used))
    else:
        splits = check_cv(cv, y, classifier=is_class).split(np.zeros((len(y), 1)), y)
        folds = used_folds(folds_of(splits, len(y)), rows)
    for number, fold in enumerate(folds):
        if len(fold.test) == 0:
            raise InputError(
                f"fold {number} holds out no row with a weight above 0: set cv to other folds.", parameter="cv"
            )
        trained = used[fold.train & (weights > 0)]
        if len(trained) == 0 or (is_class and len(np.unique(trained)) < 2):
            what, other = ("no row with a weight above 0", "other")
            if is_class:
                what, other = "one class only", "fewer or stratified"
            raise InputError(f"fold {number} trains on {what}: set cv to {other} folds.", parameter="cv")
    return folds


def calibration_folds(task: Any, weights: Array) -> list[Fold]:
    """Return the folds whose held-out rows calibrate a model, and refuse rows that cannot."""
    folds = shuffled_folds(task.labels)
    if not any(len(known_rows(fold, task.labels, weights)) for fold in folds):
        raise InputError(
            Setting("probability", "calibrated"),
            " needs 2 classes with at least 2 rows each, of a weight above 0: pass more rows, or set probability=None.",
        )
    return folds


def known_rows(fold: Fold, labels: Array, weights: Array) -> Array:
    """Return the held-out rows whose class is among the training rows; none if these are all of one class."""
    known = np.unique(labels[fold.train & (weights > 0)])
    return fold.test[np.isin(labels[fold.test], known)] if len(known) > 1 else fold.test[:0]


@dataclass(frozen=True, eq=False)
class Problem:
    """What the folds have in common."""

    table: CodeTable
    task: Task
    weights: Array
    solver: Solver

    def path(self, fold: Fold, Cs: Sequence[float] | Array, stage: FitProgress = TRAINING) -> Iterator[Solution]:
        """Solve a fold for ascending values of C, each with a warm start. The next solution overwrites the last."""
        found = None
        for C in Cs:
            found = self.solve(fold.train, C, found, stage)
            yield found

    def solve(self, train: Array, C: float, smaller: Solution | None = None, stage: FitProgress = TRAINING) -> Solution:
        """Solve for one C on some rows. The solution of a smaller C is a warm start."""
        targets = self.task.targets(np.where(train, C * self.weights, 0).astype(np.float32))
        start = None if smaller is None else self._warm_start(smaller, targets)
        return self.solver.solve(self.table, targets, start, stage._replace(C=float(C)))

    def _warm_start(self, found: Solution, targets: Targets) -> Solution:
        """Return the solution of a smaller C as a warm start, which is within the bounds of a larger C too.

        If the dual is quadratic, the solution is multiplied by the factor that makes the dual objective largest.
        """
        if formulas_of(self.solver.objective.loss).has_quadratic_dual:
            to_numpy, k = self.table.backend(1).to_numpy, found.w.shape[1]
            for p in range(len(found.beta)):
                y, cost = targets.of(p, slice(None))
                b, used = to_numpy(found.beta[p]).astype(np.float64), cost > 0
                norm = squared_norm(found.w[p], found.bias[p], k) + float((b[used] ** 2 / (2 * cost[used])).sum())
                factor = np.float32(float(y @ b) / norm if norm > 0 else 1.0)
                for part in (found.w[p], found.bias[p : p + 1], found.beta[p]):
                    part *= factor
        return found

    def decide(self, rows: Array, found: Solution) -> Array:
        """Return the decision values of some rows, as a NumPy array of shape (rows, problems)."""
        backend = self.table.backend(self.solver.threads)
        values = np.empty((len(rows), len(found.w)), found.w.dtype)
        for part in self.table.parts():
            here = np.flatnonzero((rows >= part.start) & (rows < part.stop))
            codes = self.table.part(part) if len(here) else None
            for some in row_batches(len(here), self.table.shape[1], STEP_BYTES * self.solver.threads):
                these = here[some]
                out = backend.linear_decide(
                    codes[rows[these] - part.start],  # type: ignore[index]
                    self.table.empty[rows[these]],
                    self.solver.objective.scale,
                    found.w,
                    found.bias,
                )
                values[these] = backend.to_numpy(out)
        return values


@dataclass(eq=False)
class Paths:
    """The solutions of every C on every fold, as far as they are needed.

    ``values`` holds the decision values of the held-out rows, one list per fold with one array (rows, problems) per C.
    ``passes`` and ``scores`` have shape (folds, Cs); scores are NaN until they are computed. ``sums`` adds up tables
    and biases over the folds for each C, if the final model is their mean.
    """

    problem: Problem
    folds: list[Fold]
    Cs: Array
    values: list[list[Array]]
    passes: Array
    scores: Array
    sums: list[tuple[Array, Array]] = field(default_factory=list)

    @classmethod
    def solved(
        cls,
        stage: str,
        problem: Problem,
        folds: list[Fold],
        Cs: Array,
        *,
        score: Callable[[Solution, Array, float], float] | None = None,
        keep_sums: bool = False,
    ) -> Paths:
        """Solve every C on every fold. ``score`` is called with each model, its held-out rows and its C."""
        shape = len(folds), len(Cs)
        paths = cls(problem, folds, Cs, [[] for _ in folds], np.zeros(shape, np.int64), np.full(shape, np.nan))
        for number, fold in enumerate(folds):
            event = FitProgress(stage, fold=number + 1, n_folds=len(folds))
            for q, found in enumerate(problem.path(fold, Cs, event)):
                paths.passes[number, q] = passes = int(found.passes.max())
                paths.values[number].append(problem.decide(fold.test, found))
                if score is not None:
                    paths.scores[number, q] = score(found, fold.test, float(Cs[q]))
                if keep_sums and number == 0:
                    paths.sums.append((found.w.copy(), found.bias.copy()))
                elif keep_sums:
                    paths.sums[q][0][...] += found.w
                    paths.sums[q][1][...] += found.bias
                if problem.solver.report is not None and stage == "cross-validation":
                    gaps = found.gap / found.objective
                    problem.solver.report(event._replace(C=float(Cs[q]), passes=passes, gaps=gaps, is_solved=True))
        return paths

    def mean(self, q: int) -> tuple[Array, Array]:
        """Return the mean of the tables of the folds, and of their biases."""
        return self.sums[q][0] / np.float32(len(self.folds)), self.sums[q][1] / len(self.folds)

    def calibration(self, q: int, *, without: int | None = None, common_slope: bool = False) -> Calibration | None:
        """Calibrate the values of one C, of all folds or all but one; None if no row can be calibrated."""
        task, weights = self.problem.task, self.problem.weights
        assert isinstance(task, Classes)
        rows, values = [], []
        for number, fold in enumerate(self.folds):
            if number != without:
                known = np.isin(fold.test, known_rows(fold, task.labels, weights))
                rows.append(fold.test[known])
                values.append(self.values[number][q][known])
        if sum(map(len, rows)) == 0:
            return None
        every = np.concatenate(rows)
        counted, labels = task.counted(weights)[every], task.labels[every]
        return fit_calibration(np.concatenate(values), labels, len(task.classes), counted, common_slope=common_slope)
