"""Learning with a given C, also out-of-core by ``fit_blocks`` and in one pass by ``partial_fit``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from .._array import Array
from .._loss_formulas import formulas_of
from .._losses import loss_named
from .._validation import check_n_jobs, check_positive_int
from ..backends import backend_for
from ..hashing import PackedCodes
from ._base import Hashed, Hashing, LinearEstimator, training_of, whole_or_nothing
from ._blocks import hash_blocks
from ._code_table import table_of
from ._disk_codes import TemporaryCodes
from ._folds import PATH_TOL, Paths, Problem, calibration_folds
from ._problem import Stop, Targets
from ._solver import TRAINING, Report, Solver, reporter
from ._targets import RowWeights, Task, taken
from ._training import Training, learn, next_state


@dataclass(kw_only=True, eq=False, repr=False)
class SingleC(LinearEstimator):
    """Base of the estimators that learn with one given C."""

    C: float = 1.0
    warm_start: bool = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "warm_start": ["boolean"],
    }

    def _weights(self, sample_weight: Any, n: int) -> RowWeights:
        return RowWeights.of(sample_weight, n, self.C)

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @whole_or_nothing
    def fit_blocks(self, blocks: Any, *, memory: int = 1 << 31, temp_dir: Any = None, progress: Any = None) -> Self:
        """Train out-of-core, on blocks of rows that together need not fit in memory.

        The method hashes each block as it comes and writes the codes to a temporary file. The solver then reads the
        file as a whole if it fits into ``memory``, and a few rows at a time otherwise. The weights equal those of
        :meth:`fit` on the same rows in the same order, to the last bit, whatever the blocks and ``memory`` are. On a
        GPU this holds if the codes fit into ``memory``.

        Parameters
        ----------
        blocks : iterable of (X, y) or (X, y, sample_weight)
            Blocks of rows, each as for :meth:`fit`. The method iterates over them once. CSR blocks may differ in
            width: the widest one determines ``n_features_in_``. With ``views`` all widths must be equal. ``center``
            must be a vector or None.
        memory : int, default=2**31
            Maximum number of bytes to use, besides the current block. The weights stay in memory, and for each row
            its target, its cost and one dual variable per problem. A limit that has no room for them raises an error.
        temp_dir : str or path, default=None
            Directory of the temporary file. None means the system's directory for temporary files. The method leaves
            no file behind.
        progress : callable, default=None
            Function that is called with a :class:`~kernelsketch.linear.FitProgress` after each pass over the codes,
            and about every 5 seconds during a long one.

        Returns
        -------
        self
        """
        report = reporter(progress, self)
        memory, threads = check_positive_int(memory, "memory"), check_n_jobs(self.n_jobs)
        with TemporaryCodes(temp_dir, memory, loss_named(self.loss), Stop(self.tol).real, threads) as stored:
            hasher, y, sample_weight = hash_blocks(self, blocks, stored, threads)
            task = self._task(y)
            weights = self._weights(sample_weight, len(task))
            table = stored.table(task.n_problems * (1 if self.probability is None else 2))  # room for values of rows
            return self._learn(lambda: Hashed(None, hasher, table), task, weights, threads, report)

    def _learn(self, hashing: Hashing, task: Task, weights: RowWeights, threads: int, report: Report | None) -> Self:
        cost, counted, calibration = weights.costs(self.C), weights.costs(1.0), None
        task = task.used(weights.used, cost)
        targets = task.targets(cost)
        folds = None if self.probability is None else calibration_folds(task, counted)
        hashed = hashing()
        solver = self._solver(hashed.hasher, threads, report)
        if folds is not None:
            about = solver.stopping(tol=max(solver.stop.tol, PATH_TOL), warn=False, exact=False)
            problem = Problem(hashed.table, task, counted, about)
            calibration = Paths.solved("calibration", problem, folds, np.array([self.C])).calibration(0)
        start = self._start(targets, weights, solver) if self.warm_start else None
        found = solver.solve(hashed.table, targets, start, TRAINING._replace(C=self.C))
        self.fitted_ = replace(self._model_of(hashed, task, found.w, found.bias), calibration=calibration)
        duals = duals_of_all(found.beta, weights) if self.warm_start else None
        self.training_ = training_of(found, len(task), duals)
        return self

    def _start(self, targets: Targets, weights: RowWeights, solver: Solver) -> Array | None:
        """Return the duals of the previous fit, moved into the bounds of this one, for a warm start."""
        before = self.training_.duals if hasattr(self, "training_") else None
        if before is None or before.shape != (len(targets.positive), weights.n):
            return None
        if not isinstance(weights.used, slice):
            before = np.take(before, backend_for(before).from_numpy(weights.used), axis=1)
        (number, _, parameter), start = solver.objective, np.zeros_like(before)
        for p in range(len(before)):
            start[p] = formulas_of(number).feasible(before[p], *targets.of(p, slice(None)), parameter)
        return start

    def _learn_next(self, X: Any, task: Task, weights: RowWeights) -> Self:
        """Learn from the next rows of a stream, in one pass. The targets are those of rows with a weight above 0."""
        threads, model, training, column = check_n_jobs(self.n_jobs), None, None, None
        if not hasattr(self, "fitted_"):
            scaling, codes = self._codes(X, weights, threads, warns=False)  # the first rows may be few
        else:
            model, training = self.fitted_, self.training_
            scaling, column, rows = model.scaling, model.label_column, taken(X, weights.used)
            if isinstance(rows, PackedCodes):
                model.check_codes(rows)
            codes = rows if isinstance(rows, PackedCodes) else model.codes(rows, threads=threads)
        state = next_state(model, training, codes, task.n_problems)
        table, targets = table_of(codes, state.used_codes), task.targets(weights.costs(self.C))
        learn(state, table, targets, self._solver(codes.hasher, threads, None))
        learned = self._model_of(Hashed(scaling, codes.hasher, table), task, state.mean_w, state.mean_bias)
        self.fitted_ = replace(learned, label_column=column)
        self.training_ = Training(state.mean_bias, 1, stream=state)
        return self


def duals_of_all(beta: Array, weights: RowWeights) -> Array:
    """Return the duals of all rows, for a warm start of the next fit."""
    if isinstance(weights.used, slice):
        return beta
    backend = backend_for(beta)
    every: Array = backend.zeros((len(beta), weights.n), beta.dtype)
    every[:, backend.from_numpy(weights.used)] = beta
    return every
