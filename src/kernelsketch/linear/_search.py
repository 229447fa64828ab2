"""The choice of C by held-out rows: scores of every C on every fold, for estimators here and above."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.metrics import accuracy_score, get_scorer, get_scorer_names, mean_pinball_loss, r2_score
from sklearn.utils._param_validation import Interval, StrOptions

from .._array import Array
from .._hash_parameters import hasher_with, seed_of
from .._losses import WITH_PROBABILITIES, loss_named
from .._validation import check_n_jobs, row_batches
from ..backends import DenseRows, Hashes, backend_for
from ..exceptions import InputError, Setting
from ..hashing import PackedCodes
from ..serving import Calibration, decided_classes, shares_of
from ._base import Hashed, Hashing, LinearEstimator, training_of
from ._code_table import OwnCodes
from ._folds import PATH_TOL, Fold, Paths, Problem, folds_for
from ._problem import Solution
from ._solver import Report
from ._targets import Classes, Numbers, RowWeights, Task, classes_of
from ._training import Training

CS = (0.1, 1.0, 10.0, 100.0)
PART_BYTES = 1 << 23  # per thread, of rows that are in memory before they are hashed


def grid_of(Cs: Any) -> Array:
    """Return the values of C in ascending order."""
    if isinstance(Cs, Integral):
        return np.logspace(-2, 2.5, int(Cs))
    given = np.asarray(Cs, dtype=object)
    if not (given.ndim == 1 and len(given) and all(isinstance(C, Real) and 0 < float(C) < np.inf for C in given)):
        raise InputError(Setting("Cs", Cs), " must be the number of values of C, or a list of numbers above 0.")
    return np.sort(given.astype(np.float64))


@dataclass(kw_only=True, eq=False, repr=False)
class ManyCs(LinearEstimator):
    """Base of the estimators that choose C by cross-validation."""

    Cs: Any = CS
    cv: Any = None
    scoring: Any = None
    refit: bool = True
    path_tol: float = PATH_TOL

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "refit": ["boolean"],
        "path_tol": [Interval(Real, 0, None, closed="neither")],
    }
    _single: ClassVar[Any]  # the class of models with one C

    def _weights(self, sample_weight: Any, n: int) -> RowWeights:
        Cs = grid_of(self.Cs)
        return RowWeights.of(sample_weight, n, Cs[0], Cs[-1], parameter="Cs")

    def _learn(self, hashing: Hashing, task: Task, weights: RowWeights, threads: int, report: Report | None) -> Self:
        Cs, counted = grid_of(self.Cs), weights.costs(1.0)
        folds = folds_for(task, self.cv, weights.used, counted)
        if len(folds) == 1 and not self._own_probabilities and _asks_for_probabilities(self.scoring):
            raise InputError(
                "cv has a single fold, so no other fold can calibrate the probabilities that scoring needs: set cv to "
                f"2 or more folds, or {WITH_PROBABILITIES} with probability=None.",
                parameter="cv",
            )
        task = task.used(weights.used, counted)
        hashed = hashing()
        solver = self._solver(hashed.hasher, threads, report)
        problem = Problem(hashed.table, task, counted, solver.stopping(tol=float(self.path_tol), exact=False))
        score = self._score_of_model(problem, hashed, task) if _is_score_function(self.scoring) else None
        paths = Paths.solved("cross-validation", problem, folds, Cs, score=score, keep_sums=not self.refit)
        if score is None:
            for number in range(len(folds)):
                for q in range(len(Cs)):
                    paths.scores[number, q] = self._score(paths, number, q, None if weights.given is None else counted)
        best = self._choose(paths)
        calibration = None if self.probability is None else _calibration(paths, best)
        if self.refit:
            found = replace(problem, solver=solver).solve(np.ones(len(task), bool), Cs[best])
            w, bias, self.training_ = found.w, found.bias, training_of(found, len(task))
        else:
            w, bias = paths.mean(best)
            self.training_ = Training(bias, int(paths.passes[:, best].max()))
        self.fitted_ = replace(self._model_of(hashed, task, w, bias), calibration=calibration)
        return self

    @property
    def _own_probabilities(self) -> bool:
        """Whether decision values become probabilities without a calibration."""
        return self.probability is None and loss_named(self.loss).has_probabilities

    def _choose(self, paths: Paths) -> int:
        """Keep the scores, and return the number of the best C, the first of equals."""
        mean = paths.scores.mean(axis=0)
        best = int(np.argmax(mean))
        self.Cs_, self.C_, self.scores_, self.n_iters_ = paths.Cs, float(paths.Cs[best]), paths.scores, paths.passes
        if self.verbose:
            lines = [f"C={C:g}: mean score {value:.4f}" for C, value in zip(paths.Cs, mean, strict=True)]
            lines += [f"training on all rows with C={self.C_:g}"] if self.refit else []
            print("\n".join(f"[{type(self).__name__}] {line}" for line in lines), flush=True)
        return best

    def _score_of_model(self, problem: Problem, hashed: Hashed, task: Any) -> Callable[[Solution, Array, float], float]:
        """Return a function that calls ``scoring`` with a model of one C, codes of held-out rows and their targets."""
        names = set(self._single._get_param_names()) & set(self.get_params()) - {"probability", "scale"}
        y = task.classes[task.labels] if isinstance(task, Classes) else task.y
        table, hasher = hashed.table, hashed.hasher
        backend: Hashes = backend_for(table.codes, threads=problem.solver.threads)

        def score(found: Solution, test: Array, C: float) -> float:
            model = self._single(**{name: getattr(self, name) for name in names}, C=C)
            model.n_features_in_ = self.n_features_in_
            model.fitted_ = self._model_of(hashed._replace(scaling=None), task, found.w, found.bias)  # takes codes
            model.training_ = training_of(found)
            codes = backend.from_numpy(table.used_codes.astype(np.uint32))[table.codes[test]]
            packed, empty = backend.pack(codes, hasher.width), table.empty[test].astype(bool)
            return float(self.scoring(model, PackedCodes(packed, empty, hasher, self.n_features_in_), y[test]))

        return score

    def _score(self, paths: Paths, number: int, q: int, weights: Array | None) -> float:
        """Return the score of one C on one fold by a scorer of scikit-learn, weighted if it takes weights."""
        values, test, task = paths.values[number][q], paths.folds[number].test, paths.problem.task
        weights = None if weights is None else weights[test]
        if isinstance(task, Numbers):
            predicted, y = task.mean + task.spread * values[:, 0].astype(np.float64), task.y[test]
            if self.scoring is None and loss_named(self.loss).parameter == "quantile":
                return -float(mean_pinball_loss(y, predicted, alpha=self.quantile, sample_weight=weights))
            if self.scoring is None:
                return float(r2_score(y, predicted, sample_weight=weights))
            answers: Any = _Numbers(predicted)
        else:
            if self.scoring is None:
                return float(accuracy_score(task.labels[test], decided_classes(values), sample_weight=weights))

            def probabilities() -> Array:
                wide = values.astype(np.float64)
                if self._own_probabilities:
                    return shares_of(wide)
                return _calibration(paths, q, without=number, common_slope=True).probabilities(wide)

            answers, y = _Classes(task.classes, values, probabilities), task.classes[task.labels[test]]
        scorer = get_scorer(self.scoring)
        takes = weights is not None and "sample_weight" in signature(scorer._score_func).parameters
        return float(scorer(answers, test[:, None], y, **({"sample_weight": weights} if takes else {})))


def _calibration(paths: Paths, q: int, **options: Any) -> Calibration:
    found = paths.calibration(q, **options)
    if found is None:
        raise InputError("no class has 2 rows, so that none can be calibrated: pass more rows of each class.")
    return found


class _Classes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier as scikit-learn's scorers ask it, whose decision values are known. The rows are not looked at."""

    def __init__(self, classes: Array, values: Array, probabilities: Callable[[], Array]) -> None:
        self.classes, self.values, self.probabilities = classes, values, probabilities
        self.classes_ = classes

    def decision_function(self, _X: Any) -> Array:
        return self.values[:, 0] if self.values.shape[1] == 1 else self.values

    def predict(self, _X: Any) -> Array:
        return np.asarray(self.classes_[decided_classes(self.values)])

    def predict_proba(self, _X: Any) -> Array:
        return self.probabilities()


class _Numbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor of the same kind, whose predictions are known."""

    def __init__(self, predicted: Array) -> None:
        self.predicted = predicted

    def predict(self, _X: Any) -> Array:
        return self.predicted


def _asks_for_probabilities(scoring: Any) -> bool:
    methods = getattr(get_scorer(scoring), "_response_method", "")
    return (methods if isinstance(methods, str) else methods[0]) == "predict_proba"


def _is_score_function(scoring: Any) -> bool:
    """Return whether ``scoring`` is a function of a model, rather than a scorer that is told predictions."""
    return scoring is not None and not hasattr(get_scorer(scoring), "_response_method")


# For estimators above this package that make their own folds. They prepare the columns anew for each fold, so that
# held-out rows have no part in it.


def hash_in_parts(
    model: Any, rows_of: Callable[[slice], Array], n_rows: int, n_features: int, row_bytes: int
) -> OwnCodes:
    """Return the codes of rows that ``rows_of`` makes when they are hashed, from ``row_bytes`` each, a few at a time.

    ``model`` is an unfitted ``GCWSClassifier`` or ``GCWSRegressor`` without center and scale. The codes take the place
    of the rows in its fit, which may overwrite them.
    """
    hasher, threads = hasher_with(model, seed_of(model.random_state), None, n_features), check_n_jobs(model.n_jobs)
    packed = np.empty((n_rows, -(-hasher.n_components * hasher.width // 8)), np.uint8)
    empty = np.empty(n_rows, np.bool_)
    for part in row_batches(n_rows, row_bytes, PART_BYTES * threads):
        codes = hasher.codes(DenseRows(rows_of(part)), threads=threads)
        packed[part], empty[part] = codes.packed, codes.empty
    return OwnCodes(packed, empty, hasher, n_features)


def held_out_values(
    model: Any,
    X: Any,
    y: Array,
    fold: Fold,
    Cs: Sequence[float],
    sample_weight: Array | None = None,
    *,
    report: Report | None = None,
) -> Iterator[Array]:
    """Yield what models with each C, trained on the training rows of a fold, compute for its held-out rows.

    C goes up, and each model is trained when it is asked for. ``model`` is an unfitted ``GCWSClassifier`` or
    ``GCWSRegressor`` that says everything but C. A classifier gives decision values of shape (rows, problems), a
    regressor predictions of shape (rows, 1).
    """
    model, threads = clone(model), check_n_jobs(model.n_jobs)
    X, y = model._checked(X, y)
    # A row of weight 0 keeps its number here, because the folds count all rows.
    weights = RowWeights.of(sample_weight, len(y)).costs(1.0, of_all=True)
    task = model._task(y).used(slice(None), weights)
    _, hasher, table = model._hashed(X, RowWeights.of(None, len(y)), threads)
    solver = model._solver(hasher, threads, report).stopping(tol=PATH_TOL, warn=False, exact=False)
    problem = Problem(table, task, weights, solver)
    for found in problem.path(fold, np.sort(np.asarray(Cs, np.float64))):
        values = problem.decide(fold.test, found)
        yield values if isinstance(task, Classes) else task.mean + task.spread * values.astype(np.float64)


def counted_rows(y: Array, sample_weight: Array | None, class_weight: Any = None, *, has_classes: bool) -> Array:
    """Return how much each row counts: its weight, and with classes times the weight of its class."""
    weights = RowWeights.of(sample_weight, len(y)).costs(1.0, of_all=True)
    if has_classes:
        weights = Classes(*classes_of(y), class_weight).counted(weights)
    return np.asarray(weights, np.float64)
