"""Targets of rows as problems of the solver: classes, one against the rest, or standardized numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from .._estimator import check_labels_known
from .._validation import row_batches
from ..exceptions import InputError
from ._folds import N_FOLDS, Fold, folds_of, shuffled_folds, stratified_folds, used_folds
from ._problem import Targets

Array = NDArray[Any]

STEP_ROWS = 1 << 20  # whose labels are numbered at a time


@dataclass(frozen=True, eq=False)
class Classes:
    """Class labels: their classes in ascending order, the class number of each row, and the weights of classes."""

    classes: Array
    labels: Array
    class_weight: Any = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_problems(self) -> int:
        return 1 if len(self.classes) == 2 else len(self.classes)

    @property
    def outputs(self) -> dict[str, Any]:
        """What a fitted model has to know to predict such targets."""
        return {"classes": self.classes}

    def used(self, rows: Any, weights: Array) -> Classes:
        """Return the targets of some rows, which have these weights."""
        return replace(self, labels=self.labels[rows])

    def targets(self, cost: Array) -> Targets:
        weights = self._class_weights(cost)
        if len(self.classes) == 2:
            return Targets(self.labels, None, cost, np.array([1], np.int32), weights[None, :])
        # As in LIBLINEAR, the class of a problem has its own weight and the rest has weight 1.
        factors = np.stack([np.ones_like(weights), weights], axis=1)
        return Targets(self.labels, None, cost, np.arange(len(self.classes), dtype=np.int32), factors)

    def counted(self, weights: Array) -> Array:
        """Return how much each row counts: its weight times the weight of its class."""
        return np.asarray(weights * self._class_weights(weights)[self.labels])

    def known_rows(self, fold: Fold, weights: Array) -> Array:
        return known_rows(fold, self.labels, weights)

    def folds(self, cv: Any, rows: Any, weights: Array) -> list[Fold]:
        """Return folds of some rows, which have these weights."""
        used = self.labels[rows]
        if cv is None:
            folds = shuffled_folds(used)
        elif isinstance(cv, Integral):
            check_cv(cv)  # refuses a number below 2
            folds = stratified_folds(used, int(cv))
        else:
            splits = check_cv(cv, self.labels, classifier=True).split(np.zeros((len(self), 1)), self.labels)
            folds = used_folds(folds_of(splits, len(self)), rows)
        for number, fold in enumerate(folds):
            if len(np.unique(used[fold.train & (weights > 0)])) < 2:
                raise InputError(
                    f"fold {number} trains on one class only: set cv to fewer or stratified folds.", parameter="cv"
                )
        return folds

    def _class_weights(self, cost: Array) -> Array:
        """Return the factor of C for each class, in float32."""
        if self.class_weight is None:
            return np.ones(len(self.classes), np.float32)
        if self.class_weight == "balanced":  # the rows count with their weights, as in LinearSVC
            counts = np.bincount(self.labels, cost.astype(np.float64), len(self.classes))
            balanced: Array = counts.sum() / (len(self.classes) * np.where(counts > 0, counts, 1))
            return balanced.astype(np.float32)
        weights = compute_class_weight(self.class_weight, classes=self.classes, y=self.classes)
        return np.asarray(weights).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Targets of a regression, and the mean (0 without an intercept) and standard deviation that standardize them."""

    y: Array
    has_mean: bool = True
    mean: float = 0.0
    spread: float = 1.0
    n_problems = 1

    def __len__(self) -> int:
        return len(self.y)

    @property
    def outputs(self) -> dict[str, Any]:
        return {"mean": self.mean, "spread": self.spread}

    def used(self, rows: Any, weights: Array) -> Numbers:
        """Return the targets of some rows, standardized by these weights."""
        y = self.y[rows]
        exponent = int(np.frexp(np.abs(y).max())[1])  # because the squares of y itself could overflow
        unit = np.ldexp(y, -exponent)
        mean = float(np.average(unit, weights=weights)) if self.has_mean else 0.0
        spread = float(np.ldexp(np.sqrt(np.average((unit - mean) ** 2, weights=weights)), exponent))
        return replace(self, y=y, mean=float(np.ldexp(mean, exponent)), spread=spread if spread > 0 else 1.0)

    @cached_property
    def _z(self) -> Array:
        return ((self.y - self.mean) / self.spread).astype(np.float32)

    def targets(self, cost: Array) -> Targets:
        return Targets(None, self._z, cost, np.zeros(1, np.int32), np.ones((1, 2), np.float32))

    def counted(self, weights: Array) -> Array:
        return weights

    def folds(self, cv: Any, rows: Any, weights: Array) -> list[Fold]:
        """Return folds of some rows, which have these weights."""
        y = self.y[rows]
        if cv is None and len(y) >= N_FOLDS:
            return shuffled_folds(np.zeros(len(y), np.int64))
        splitter = check_cv(N_FOLDS if cv is None else cv)  # refuses fewer rows than folds
        if cv is None or isinstance(cv, Integral):
            folds = folds_of(splitter.split(np.zeros((len(y), 1)), y), len(y))
        else:
            folds = used_folds(folds_of(splitter.split(np.zeros((len(self), 1)), self.y), len(self)), rows)
        for number, fold in enumerate(folds):
            if not (weights[fold.train] > 0).any():
                raise InputError(
                    f"fold {number} trains on no row with a weight above 0: set cv to other folds.", parameter="cv"
                )
        return folds


def known_rows(fold: Fold, labels: Array, weights: Array) -> Array:
    """Return the held-out rows whose class is among the training rows; none if these are all of one class."""
    known = np.unique(labels[fold.train & (weights > 0)])
    return fold.test[np.isin(labels[fold.test], known)] if len(known) > 1 else fold.test[:0]


def classes_of(y: Any) -> tuple[Array, Array]:
    """Return the classes in ascending order and the class number of each row."""
    try:
        classes, labels = _numbered_texts(y) if y.dtype.kind in "OUT" else _numbered_numbers(y)
    except TypeError:  # labels of several types, or of none that can be compared
        check_labels_known(y)
        check_classification_targets(y)
        raise
    # What scikit-learn says depends on the distinct labels alone, except for a warning about many of them.
    check_classification_targets(y if len(classes) > len(y) // 2 else np.tile(classes, 2))
    check_classes(classes)
    return classes, labels


def _numbered_texts(y: Array) -> tuple[Array, Array]:
    """Return the distinct labels in ascending order and the number of each label, without a sort of all labels."""
    known: dict[Any, int] = {}
    numbers = np.empty(len(y), np.int32)
    for rows in row_batches(len(y), 1, STEP_ROWS):
        numbers[rows] = [known.setdefault(label, len(known)) for label in y[rows].tolist()]
    classes, place = np.unique(np.array(list(known), y.dtype), return_inverse=True)
    return classes, place.astype(np.int32)[numbers]


def _numbered_numbers(y: Array) -> tuple[Array, Array]:
    """Return the same for numbers, from sorts of a few of them."""
    classes = np.unique(np.concatenate([np.unique(y[rows]) for rows in row_batches(len(y), 1, STEP_ROWS)]))
    labels = np.empty(len(y), np.int32)
    for rows in row_batches(len(y), 1, STEP_ROWS):
        labels[rows] = np.searchsorted(classes, y[rows])
    return classes, labels


def check_classes(classes: Array) -> None:
    """Refuse a single class."""
    if len(classes) < 2:
        raise InputError(f"y has only one class, {classes.tolist()[0]!r}: pass rows of at least 2 classes.")
