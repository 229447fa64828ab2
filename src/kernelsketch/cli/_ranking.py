"""How well values rank the rows of a class above the others: areas under curves, and the curves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._array import Array

MOST_STEPS = 300  # of a plot, in each direction: nearer points of a curve are left out


class Curves(NamedTuple):
    """The curves of a class against the other ones, as points (x, y) with x ascending."""

    roc: list[tuple[float, float]]
    precision_recall: list[tuple[float, float]]
    share: float  # of the class among the rows


class Ranking:
    """Keeps the values of rows, probabilities or decision values, while memory allows.

    Two classes have one column of values, those of the second class.
    """

    def __init__(self, n_classes: int, memory: int) -> None:
        self._n_classes, self._room = n_classes, memory
        self._numbers: list[Array] = []
        self._kept: list[Array] = []
        self._weights: list[Array] = []

    def add(self, numbers: Array, values: Array, weights: Array | None = None) -> None:
        """Add the numbers of the classes of rows, their values and weights. Rows of weight 0 do not count."""
        weights = np.ones(len(numbers)) if weights is None else weights
        if not weights.all():
            used = weights > 0
            numbers, values, weights = numbers[used], values[used], weights[used]
        values = values[:, None] if values.ndim == 1 else values
        kept = values[:, 1:] if values.shape[1] == self._n_classes == 2 else values
        self._room -= 2 * (kept.nbytes + numbers.nbytes + weights.nbytes)  # one more copy when they are joined
        if self._room > 0:
            self._numbers.append(numbers)
            self._kept.append(kept)
            self._weights.append(weights)
        else:
            self._numbers, self._kept, self._weights = [], [], []

    @property
    def is_complete(self) -> bool:
        """Whether memory had room for all rows."""
        return self._room > 0

    def areas(self) -> list[tuple[float, float] | None]:
        """Return for each class the area under the ROC curve and the average precision; None where they have none."""
        from sklearn.metrics import average_precision_score, roc_auc_score

        found: list[tuple[float, float] | None] = []
        for number in range(self._n_classes):
            is_class, values, weights = self._one(number)
            known = 0 < is_class.sum() < len(is_class)
            scores = (roc_auc_score, average_precision_score) if known else ()
            pair = [float(score(is_class, values, sample_weight=weights)) for score in scores]
            found.append((pair[0], pair[1]) if known else None)
        return found

    def curves(self, number: int) -> Curves | None:
        """Return the curves of a class; None if all rows are of one kind."""
        from sklearn.metrics import precision_recall_curve, roc_curve

        is_class, values, weights = self._one(number)
        if not 0 < is_class.sum() < len(is_class):
            return None
        false_share, true_share, _ = roc_curve(is_class, values, sample_weight=weights)
        precision, recall, _ = precision_recall_curve(is_class, values, sample_weight=weights)
        roc, of_precision = _thinned(false_share, true_share), _thinned(recall[::-1], precision[::-1])
        return Curves(roc, of_precision, float(np.average(is_class, weights=weights)))

    def _one(self, number: int) -> tuple[Array, Array, Array | None]:
        """Return whether rows are of a class, the values by which the class ranks them, and their weights."""
        if not self._kept or not self.is_complete:
            return np.zeros(0, bool), np.zeros(0), None
        self._numbers, self._kept = [np.concatenate(self._numbers)], [np.concatenate(self._kept)]
        self._weights = [np.concatenate(self._weights)]
        numbers, kept = self._numbers[0], self._kept[0]
        weights = None if (self._weights[0] == 1).all() else self._weights[0]
        is_class = numbers == number
        if self._n_classes == 2:
            return is_class, kept[:, 0] if number == 1 else -kept[:, 0], weights
        return is_class, kept[:, number], weights


def _thinned(x: Array, y: Array) -> list[tuple[float, float]]:
    """Return the points of a curve that differ in a plot from the one before, and the last one."""
    steps = np.round(np.column_stack([x, y]) * MOST_STEPS)
    moved = np.append(True, (np.diff(steps, axis=0) != 0).any(axis=1))
    moved[-1] = True
    return list(zip(x[moved].tolist(), y[moved].tolist(), strict=True))
