"""``TableModel``: a fitted model of tables as one value: columns, views, the linear model and the trees.

Estimators and predictors hold it, so that both predict the same to the last bit. It needs neither SciPy nor
scikit-learn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import Array
from .._validation import row_batches
from ..backends import DenseRows, processor_for
from ..serving import LinearModel, decided_classes
from ._columns import TablePlan
from ._features import Features
from ._root_link import RootLink
from ._trees import Trees
from ._views import Views

LARGEST = float(np.finfo(np.float64).max)
BATCH_BYTES = 1 << 22  # per thread, of the columns of views that a prediction holds at a time: they stay in the cache


@dataclass(frozen=True, eq=False)
class TableModel:
    """A fitted model of tables.

    ``share`` is that of the trees in the blend, ``temperature`` divides decision values, and numbers are predicted as
    multiples of ``2**exponent``. ``link`` turns predictions of the linear model into counts. Two classes may have a
    ``threshold``: the probability from which on rows are of the second one.
    """

    plan: TablePlan
    views: Views
    linear: LinearModel
    trees: Trees | None
    share: float
    temperature: float
    exponent: int = 0
    link: RootLink | None = None
    threshold: float | None = None

    @property
    def classes(self) -> Array | None:
        return self.linear.classes

    @property
    def estimator(self) -> str:
        """The name of the estimator that learns such models."""
        return "GCWSTabularRegressor" if self.classes is None else "GCWSTabularClassifier"

    @property
    def loss(self) -> str:
        return self.linear.loss

    @property
    def has_probabilities(self) -> bool:
        return self.classes is not None

    def values(self, features: Array, *, threads: int = 1) -> Array:
        """Return decision values (rows, problems) or predictions (rows, 1) of features: float64, NaN where missing."""
        rows, processor = DenseRows(self.views.transform(features)), processor_for(threads=threads)
        decided = self.linear.decide(rows, threads=threads)
        by_trees = None if self.trees is None else self.trees.decide(features, threads)
        if self.classes is None:
            found = self.linear.mean + self.linear.spread * decided
            if self.link is not None:
                found, by_trees = self.link.means(found), None if by_trees is None else np.exp(by_trees)
            return found if by_trees is None else (1 - self.share) * found + self.share * by_trees
        if by_trees is None:
            return decided / self.temperature
        return processor.blended(decided, by_trees, self.share, self.temperature)

    def values_of(self, features: Features, *, threads: int = 1) -> Array:
        """Do it for a few rows at a time."""
        return np.concatenate([self.values(part, threads=threads) for part in self.batches(features, threads=threads)])

    def batches(self, features: Features, *, threads: int = 1) -> Iterator[Array]:
        """Yield features for a few rows at a time."""
        row_bytes = 8 * sum(self.views.widths) + 8 * features.shape[1]
        for rows in row_batches(len(features), row_bytes, BATCH_BYTES * threads):
            yield features[rows]

    def answers(self, values: Array) -> Any:
        """Return the labels or numbers of values: here and nowhere else decision values become classes."""
        if self.classes is not None and self.threshold is not None:
            return self.classes[(self.probabilities(values)[:, 1] >= self.threshold).astype(np.intp)]
        if self.classes is not None:
            return self.classes[decided_classes(values)]
        return self.unscaled(values[:, 0])

    def answer(self, values: Array) -> Any:
        """Return the label or number of the values of a single row, as ``answers`` does, without arrays."""
        if self.classes is None:
            try:
                number = math.ldexp(values.item(), self.exponent)
            except OverflowError:
                number = math.copysign(math.inf, values.item())
            return np.float64(min(max(number, -LARGEST), LARGEST))
        if self.threshold is None and values.size == 1:
            return self.classes[int(values.item() > 0)]
        return self.answers(values)[0]

    def unscaled(self, values: Array) -> Array:
        """Return predictions in the units of the targets; those beyond the largest number are that number."""
        with np.errstate(over="ignore"):
            return np.clip(np.ldexp(values, self.exponent), -LARGEST, LARGEST)

    def probabilities(self, values: Array) -> Array:
        """Return the probabilities of the classes for decision values."""
        return processor_for().shares(values)
