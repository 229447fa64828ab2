"""Soft labels: probabilities of classes, for example those of a slow model that a fast one is to learn from.

A row with probabilities becomes one copy per class, with the class as its label and the probability as its weight. The
weighted loss of the copies is the expected loss of the row, so that every part of a fit that takes weights learns from
the probabilities exactly. Copies of a row are held out together. What counts each row once, such as scales, bins and
weights of columns, takes the first copy, which is that of the most probable class, with the probabilities as targets.

The kernel machine learns with the logarithmic loss, whose best decision values are the log-odds of the probabilities.
Those of the squared hinge loss are linear in the probabilities, which the logistic calibration does not expect.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._array import Array
from .._estimator import plain_labels
from .._frames import frame_of, matrix_of
from ..exceptions import InputError, InputTypeError
from ..linear import Fold, shuffled_folds
from ._together import Together

SOFT_LOSS = "log_loss"  # its best decision values are log-odds of probabilities
LEAST = 1e-6  # probability of a class of which a row has a copy
TOLERANCE = 1e-3  # of the sums of probabilities
FEWEST_ROWS = 10  # two for each fold


def matrix_of_targets(y: Any) -> tuple[Array, list[Any] | None] | None:
    """Return targets of several columns as an array, and the names of the columns of a data frame.

    None says that y is not a table of at least two columns of numbers.
    """
    frame = frame_of(y, "y")
    if frame is not None:
        return (np.asarray(matrix_of(frame, "y")), list(frame.columns)) if len(frame.columns) > 1 else None
    if hasattr(y, "toarray"):
        y = y.toarray()
    if isinstance(y, (list, tuple)) and len(y) and np.ndim(y[0]) == 0:
        return None  # as an array, long labels would take much memory
    try:
        values = np.asarray(y)
    except ValueError:  # rows of several lengths
        return None
    if values.dtype.kind == "O" and values.ndim == 2:
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            return None
    return (values, None) if values.ndim == 2 and values.shape[1] > 1 and values.dtype.kind in "fiub" else None


class SoftLabels(NamedTuple):
    """Classes in ascending order, and the probability of each for each row, (rows, classes)."""

    classes: Array
    P: Array

    @classmethod
    def of(cls, y: Any) -> SoftLabels | None:
        """Return floats of two dimensions as probabilities, after checks, or None if y is something else."""
        found = matrix_of_targets(y)
        if found is None or found[0].dtype.kind != "f":
            return None
        values, names = found
        P = _checked(values.astype(np.float64))
        if names is None:
            return cls(np.arange(P.shape[1]), P)
        classes = np.asarray(plain_labels(names))
        if classes.dtype.kind == "O" and len(set(map(type, names))) > 1:
            raise InputTypeError("the columns of y have names of several types: name each class by a text or a number.")
        order = np.argsort(classes, kind="stable")
        return cls(classes[order], P[:, order])

    def copies(self, weights: Array | None) -> Copies:
        """Return the copies of rows with a weight above 0: those of a row side by side, the likeliest class first."""
        order = np.argsort(-self.P, axis=1, kind="stable")
        sorted_P = np.take_along_axis(self.P, order, axis=1)
        if weights is not None:
            sorted_P = sorted_P * (weights > 0)[:, None]
        rows, places = np.nonzero(sorted_P > LEAST)
        labels, shares = order[rows, places], sorted_P[rows, places]
        shares = shares / np.bincount(rows, shares)[rows]
        absent = np.flatnonzero(np.bincount(labels, minlength=len(self.classes)) == 0)
        if len(absent):
            raise InputError(
                f"y has no probability above {LEAST:g} of the class {self.classes.tolist()[absent[0]]!r} in any row: "
                "leave out its column, or pass rows that may have this class."
            )
        found = shares if weights is None else shares * weights[rows]
        return Copies(self.P, rows, labels, None if (found == 1).all() else found)


def _checked(P: Array) -> Array:
    """Return probabilities whose rows sum to 1, or raise an error that names a row."""
    for wrong, what in ((~np.isfinite(P), "is no finite number"), (P < 0, "is negative")):
        if wrong.any():
            row, column = (int(found[0]) for found in np.nonzero(wrong))
            raise InputError(
                f"y has {P[row, column]} in row {row}, column {column}, which {what}: y of several columns of floats "
                "holds probabilities of classes."
            )
    sums = P.sum(axis=1)
    row = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[row] - 1) > TOLERANCE:
        raise InputError(
            f"row {row} of y sums to {sums[row]:.6g}, but y of several columns of floats holds probabilities of "
            "classes, one column per class, whose sum is 1: divide each row by its sum. For several labels per row, "
            "pass 0 and 1 as integers or booleans."
        )
    if len(P) < FEWEST_ROWS:
        raise InputError(
            f"y has the probabilities of {len(P)} rows (n_samples = {len(P)}): pass at least {FEWEST_ROWS} rows, or "
            "labels."
        )
    return np.asarray(P / sums[:, None])


class Copies(NamedTuple):
    """Copies of rows: the number of the row, the class number and the weight of each; no weights if all are 1."""

    P: Array  # of the rows
    rows: Array
    labels: Array
    weights: Array | None

    @property
    def first(self) -> Array:
        """Flags of the first copy of each row."""
        return np.append(True, self.rows[1:] != self.rows[:-1])

    @property
    def targets(self) -> Array:
        """Probabilities of the row of each copy."""
        return np.asarray(self.P[self.rows])

    def take(self, copies: Array) -> Copies:
        """Return some copies, given in ascending order."""
        weights = None if self.weights is None else self.weights[copies]
        return Copies(self.P, self.rows[copies], self.labels[copies], weights)

    def together(self) -> Together:
        """Return that the copies of a row belong together."""
        return TogetherByRow(False, self.rows)

    def of_rows(self, order: Array, most: int) -> Array:
        """Return the copies of the first rows of an order of the rows that have copies, about ``most``.

        If a class has no copy among them, the row where it is most probable is taken as well.
        """
        numbers = np.cumsum(self.first) - 1
        chosen = order[np.cumsum(np.bincount(numbers)[order]) <= most]
        taken = np.isin(numbers, chosen if len(chosen) > 1 else order[:2])
        for label in np.setdiff1d(self.labels, self.labels[taken]):
            mine = np.flatnonzero(self.labels == label)
            taken |= numbers == numbers[mine[self.targets[mine, label].argmax()]]
        return np.flatnonzero(taken)


class TogetherByRow(Together):
    """Copies of rows: folds deal the rows as they would deal rows whose label is the most probable class."""

    def folds(self, labels: Array, counted: Array, n_folds: int) -> list[Fold]:
        _, first, numbers = np.unique(self.numbers, return_index=True, return_inverse=True)
        found = []
        for train, test in shuffled_folds(labels[first], n_folds):
            held_out = np.zeros(len(first), bool)
            held_out[test] = True
            found.append(Fold(train[numbers], np.flatnonzero(held_out[numbers])))
        return found
