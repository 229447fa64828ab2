"""Held-out rows, for estimators above this package that make their own folds: the values of every C.

Such an estimator prepares the columns anew for each fold, so that held-out rows have no part in it. The estimators of
this package hash all rows once instead (``_cv.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .._hash_parameters import hasher_with, seed_of
from .._validation import check_n_jobs, row_batches
from ..backends import DenseRows
from ..serving import Calibration
from ._classifier import GCWSClassifier
from ._code_table import OwnCodes
from ._folds import PATH_TOL, Fold, Problem
from ._one_vs_rest import OneVsRest, classes_of
from ._problem import Targets
from ._regression import targets_of

Array = NDArray[Any]

PART_BYTES = 1 << 23  # per thread, of rows that are in memory before they are hashed


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
    model: Any, X: Any, y: Array, fold: Fold, Cs: Sequence[float], sample_weight: Array | None = None
) -> Iterator[Array]:
    """Yield what models with each C, trained on the training rows of a fold, compute for its held-out rows.

    C goes up, and each model is trained when it is asked for. ``model`` is an unfitted ``GCWSClassifier`` or
    ``GCWSRegressor`` that says everything but C. A classifier gives decision values of shape (rows, problems), a
    regressor predictions of shape (rows, 1).
    """
    model = clone(model)
    is_class = isinstance(model, OneVsRest)
    X, y = model._check_rows_and_targets(X, y, **({} if is_class else {"y_numeric": True}))
    weights = model._costs(1.0, model._weights(sample_weight, len(y)), len(y))
    hasher, table = model._hash(X)
    stop = model._stop()._replace(tol=PATH_TOL, warn=False, exact=False)
    ascending = np.sort(np.asarray(Cs, np.float64))
    if is_class:
        problem = model._problem(hasher, table, *classes_of(y), weights)
        yield from (problem.decide(fold.test, found) for found in problem.path(fold, ascending, stop))
        return
    y = np.asarray(y, np.float64)
    mean, spread = model._unit(y, weights)

    def targets(cost: Array) -> Targets:
        return targets_of((y - mean) / spread, cost)

    problem = Problem(table, targets, weights, model._objective(), hasher, check_n_jobs(model.n_jobs))
    yield from (mean + spread * problem.decide(fold.test, found) for found in problem.path(fold, ascending, stop))


def row_weights(model: Any, y: Array, sample_weight: Array | None) -> Array:
    """Return how much each row counts: its weight, and for a classifier times the weight of its class."""
    weights = model._costs(1.0, model._weights(sample_weight, len(y)), len(y))
    if isinstance(model, OneVsRest):
        classes, labels = classes_of(y)
        weights = weights * model._class_weights(classes, labels, weights)[labels]
    return np.asarray(weights, np.float64)


def fit_calibrated(
    model: GCWSClassifier, X: Any, y: Array, sample_weight: Array | None, calibration: Calibration
) -> GCWSClassifier:
    """Fit a classifier, and give it a calibration that is known already."""
    model.set_params(probability=None).fit(X, y, sample_weight=sample_weight)
    model.set_params(probability="calibrated")
    model._calibration = calibration
    return model
