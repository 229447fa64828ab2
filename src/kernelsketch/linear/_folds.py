"""Out-of-fold values, which calibration and cross-validation share: folds, and the solutions of every C on each fold.

The rows are hashed once. A fold trains on all rows, with a cost of 0 for those that it holds out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._validation import row_batches
from ..backends import LinearObjective
from ..exceptions import InputError
from ..hashing import Hasher
from ._code_table import CodeTable
from ._descent import shuffled
from ._losses import LOSS_TABLE
from ._problem import Solution, Stop, Targets, squared_norm
from ._progress import TRAINING, FitProgress, Report
from ._solver import Solver

Array = NDArray[Any]

N_FOLDS = 3
STEP_BYTES = 1 << 23
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
    """Return folds of all rows as folds of the used rows, and refuse one that holds out none of them."""
    if not isinstance(used, slice):
        place = np.full(len(folds[0].train), -1)
        place[used] = np.arange(len(used))
        folds = [Fold(fold.train[used], place[fold.test[place[fold.test] >= 0]]) for fold in folds]
    for number, fold in enumerate(folds):
        if len(fold.test) == 0:
            raise InputError(
                f"fold {number} holds out no row with a weight above 0: set cv to other folds.", parameter="cv"
            )
    return folds


def shuffled_folds(labels: Array) -> list[Fold]:
    """Return three folds to which the rows of each class are dealt in turn, in a fixed random order.

    Rows in a file often stand beside similar ones. Folds of successive rows then hold out rows that are unlike all
    others, and favour models that are too simple. A class with a single row is missing from the training rows of one
    fold.
    """
    order = shuffled(len(labels), 0)
    order = order[np.argsort(labels[order], kind="stable")]
    numbers = np.empty(len(labels), np.int64)
    numbers[order] = np.arange(len(labels)) % N_FOLDS
    return _folds(numbers, N_FOLDS)


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


class Problem(NamedTuple):
    """What the folds have in common. ``targets`` makes the targets of the solver from the costs of the rows."""

    table: CodeTable
    targets: Callable[[Array], Targets]
    weights: Array
    objective: LinearObjective
    hasher: Hasher
    threads: int

    def path(
        self, fold: Fold, Cs: Array, stop: Stop, report: Report | None = None, stage: FitProgress = TRAINING
    ) -> Iterator[Solution]:
        """Solve a fold for ascending values of C, each with a warm start. The next solution overwrites the last."""
        found = None
        for C in Cs:
            found = self.solve(fold.train, C, stop, found, report, stage)
            yield found

    def solve(
        self,
        train: Array,
        C: float,
        stop: Stop,
        smaller: Solution | None = None,
        report: Report | None = None,
        stage: FitProgress = TRAINING,
    ) -> Solution:
        """Solve for one C on some rows. The solution of a smaller C is a warm start."""
        targets = self.targets(np.where(train, C * self.weights, 0).astype(np.float32))
        progress = stage._replace(C=float(C)).told_by_solver(report)
        solver = Solver(self.objective, stop, seed=self.hasher.seed, threads=self.threads, progress=progress)
        return solver.solve(self.table, targets, smaller and _warm_start(smaller, targets, self.objective, self.table))

    def decide(self, rows: Array, found: Solution) -> Array:
        """Return the decision values of some rows, as a NumPy array of shape (rows, problems)."""
        backend = self.table.backend(self.threads)
        values = np.empty((len(rows), len(found.w)), found.w.dtype)
        for part in self.table.parts():
            here = np.flatnonzero((rows >= part.start) & (rows < part.stop))
            codes = self.table.part(part) if len(here) else None
            for some in row_batches(len(here), self.table.shape[1], STEP_BYTES * self.threads):
                these = here[some]
                out = backend.linear_decide(
                    codes[rows[these] - part.start],  # type: ignore[index]
                    self.table.empty[rows[these]],
                    self.objective.scale,
                    found.w,
                    found.bias,
                )
                values[these] = backend.to_numpy(out)
        return values


def _warm_start(found: Solution, targets: Targets, objective: LinearObjective, table: CodeTable) -> Solution:
    """Return the solution of a smaller C as a warm start, which is within the bounds of a larger C too.

    If the dual is quadratic, the solution is multiplied by the factor that makes the dual objective largest.
    """
    if LOSS_TABLE[objective.loss].has_quadratic_dual:
        to_numpy, k = table.backend(1).to_numpy, found.w.shape[1]
        for p in range(len(found.beta)):
            y, cost = targets.of(p, slice(None))
            b, used = to_numpy(found.beta[p]).astype(np.float64), cost > 0
            norm = squared_norm(found.w[p], found.bias[p], k) + float((b[used] ** 2 / (2 * cost[used])).sum())
            factor = np.float32(float(y @ b) / norm if norm > 0 else 1.0)
            for part in (found.w[p], found.bias[p : p + 1], found.beta[p]):
                part *= factor
    return found
