"""Cross-validation over C: what ``GCWSClassifierCV`` and ``GCWSRegressorCV`` share."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils._param_validation import Interval, StrOptions

from ..exceptions import InputError
from ..hashing import PackedCodes
from ._code_table import CodeTable
from ._folds import Fold, Problem
from ._problem import Solution, Stop

Array = NDArray[Any]
ScoreModel = Callable[[Solution, PackedCodes, Array, float], float]

CS = (0.1, 1.0, 10.0, 100.0)


class Paths:
    """The solutions of every C on every fold, as far as they are needed.

    Attributes
    ----------
    values
        Decision values of the held-out rows: one list per fold, of one array (rows, problems) per C.
    passes
        Number of passes of the solver, of shape (folds, Cs).
    scores
        Scores by a function that needs the models themselves, of the same shape; NaN if there is no such function.
    sums
        Tables and biases summed over the folds, for each C; empty if the final model does not need them.
    """

    def __init__(self, folds: list[Fold], Cs: Array) -> None:
        self.folds, self.Cs = folds, Cs
        self.values: list[list[Array]] = [[] for _ in folds]
        self.passes = np.zeros((len(folds), len(Cs)), np.int64)
        self.scores = np.full((len(folds), len(Cs)), np.nan)
        self.sums: list[tuple[Array, Array]] = []

    def add_up(self, q: int, found: Solution) -> None:
        if q == len(self.sums):
            self.sums.append((found.w.copy(), found.bias.copy()))
        else:
            self.sums[q][0][...] += found.w
            self.sums[q][1][...] += found.bias

    def mean(self, q: int) -> Solution:
        """Return the mean of the models of the folds."""
        w, bias = self.sums[q][0] / np.float32(len(self.folds)), self.sums[q][1] / len(self.folds)
        nothing = np.full(len(w), np.nan)
        return Solution(w, bias, w[:, 0], nothing, nothing, self.passes[:, q])


class CrossValidated:
    """Base of the estimators that choose C: their parameters, and the scores of every C on every fold."""

    _cv_constraints: ClassVar[dict[str, Any]] = {
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "refit": ["boolean"],
        "path_tol": [Interval(Real, 0, None, closed="neither")],
    }

    def _grid(self: Any, sample_weight: Any, n: int) -> tuple[Array, Array | None]:
        """Return the values of C in ascending order and the weights of rows, and refuse those out of range."""
        if isinstance(self.Cs, Integral):
            Cs = np.logspace(-2, 2.5, int(self.Cs))
        else:
            given = np.asarray(self.Cs, dtype=object)
            right = given.ndim == 1 and len(given) and all(isinstance(C, Real) and 0 < float(C) < np.inf for C in given)
            if not right:
                raise InputError(f"Cs={self.Cs!r} must be the number of values of C, or a list of numbers above 0.")
            Cs = np.sort(given.astype(np.float64))
        weights = self._weights(sample_weight, n, Cs[-1], stacklevel=6)
        self._costs(Cs[0], weights, n)
        return Cs, weights

    def _paths(self: Any, problem: Problem, folds: list[Fold], Cs: Array, score: ScoreModel) -> Paths:
        """Solve every C on every fold; if ``scoring`` is a plain function, call it with each model."""
        paths, stop = Paths(folds, Cs), self._path_stop()
        for number, fold in enumerate(folds):
            codes = _packed(problem, fold.test, self.n_features_in_) if self._has_score_function() else None
            for q, found in enumerate(problem.path(fold, Cs, stop)):
                paths.passes[number, q] = int(found.passes.max())
                paths.values[number].append(problem.decide(fold.test, found))
                if codes is not None:
                    paths.scores[number, q] = score(found, codes, fold.test, float(Cs[q]))
                if not self.refit:
                    paths.add_up(q, found)
                if self.verbose:
                    text = f"fold {number + 1}/{len(folds)}, C={Cs[q]:g}: {paths.passes[number, q]} passes"
                    print(f"[{type(self).__name__}] {text}", flush=True)
        return paths

    def _path_stop(self: Any) -> Stop:
        stop: Stop = self._stop()._replace(tol=float(self.path_tol), exact=False)
        return stop

    def _has_score_function(self: Any) -> bool:
        """Return whether ``scoring`` is a function of a model, rather than a scorer that is told predictions."""
        return self.scoring is not None and not hasattr(get_scorer(self.scoring), "_response_method")

    def _scored(self: Any, answers: Any, test: Array, y: Array, weights: Array | None) -> float:
        """Return the score of known answers by the scorer ``scoring``, weighted if the scorer takes weights."""
        scorer = get_scorer(self.scoring)
        takes = weights is not None and "sample_weight" in signature(scorer._score_func).parameters
        return float(scorer(answers, test[:, None], y, **({"sample_weight": weights} if takes else {})))

    def _choose(self: Any, paths: Paths, score: Callable[[int, int], float]) -> int:
        """Score every C on every fold, keep the scores, and return the number of the best C, the first of equals."""
        scores = paths.scores
        if not self._has_score_function():
            for number in range(len(paths.folds)):
                for q in range(len(paths.Cs)):
                    scores[number, q] = score(number, q)
        mean = scores.mean(axis=0)
        if self.verbose:
            for C, value in zip(paths.Cs, mean, strict=True):
                print(f"[{type(self).__name__}] C={C:g}: mean score {value:.4f}", flush=True)
        best = int(np.argmax(mean))
        if self.verbose and self.refit:
            print(f"[{type(self).__name__}] training on all rows with C={paths.Cs[best]:g}", flush=True)
        self.Cs_, self.C_ = paths.Cs, float(paths.Cs[best])
        self.scores_, self.n_iters_ = scores, paths.passes
        return best


def used_folds(folds: list[Fold], used: Any) -> list[Fold]:
    """Return folds of all rows as folds of the used rows, and refuse one that holds out none of them."""
    if not isinstance(used, slice):
        place = np.full(len(folds[0].train), -1)
        place[used] = np.arange(len(used))
        folds = [Fold(fold.train[used], place[fold.test[place[fold.test] >= 0]]) for fold in folds]
    for number, fold in enumerate(folds):
        if len(fold.test) == 0:
            raise InputError(f"fold {number} holds out no row with a weight above 0: set cv to other folds.")
    return folds


def _packed(problem: Problem, rows: Array, n_features: int) -> PackedCodes:
    table = problem.table
    assert isinstance(table, CodeTable)
    backend, hasher = table.backend(problem.threads), problem.hasher
    codes = backend.from_numpy(table.used_codes.astype(np.uint32))[table.codes[rows]]
    return PackedCodes(backend.pack(codes, hasher.width), table.empty[rows].astype(bool), hasher, n_features)
