"""Mean targets of categories as features of the kernel machine, for columns of many categories.

A feature must hold neither the target of its own row nor that of a row that its fold holds out. So each fold has means
of its own, from its training rows. A training row of the fold is held out by another fold, and gets a mean without the
rows that this other fold holds out. All features of a row are therefore means of other rows, and the model of all rows
can learn from the features of all folds. Only the mean of all training rows and r, below, are common to these rows.

The mean of a category is drawn towards that of all rows as by r rows of it, where r is the variance within categories
over the variance between them: empirical Bayes, with both variances from an analysis of variance (Searle, Casella and
McCulloch, *Variance Components*, 1992, chapter 3). A fold in which categories differ no more than chance explains has
the same mean for all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._array import Array
from ._frame import Column

FEWEST_CATEGORIES = 21  # from which on a column has mean targets
LEAST_ROWS = 2  # of a category that has a mean of its own
MOST_CLASSES = 10  # above which there are no means: each class would have its own
CLEARLY = 2.0  # standard errors by which the variance between categories is larger than chance explains
MISSING = -1


@dataclass(frozen=True, eq=False)
class Levels:
    """Categories by column. In each column, one more level, the last, is that of all other categories."""

    columns: tuple[int, ...] = ()
    names: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, columns: dict[int, Column]) -> Levels:
        """Take the columns, given by their numbers, that have many categories in their training rows."""
        found = {}
        for number, column in columns.items():
            counts = Counter(column.values[~column.missing].tolist())
            if len(counts) >= FEWEST_CATEGORIES:
                found[number] = tuple(sorted(name for name, count in counts.items() if count >= LEAST_ROWS))
        return cls(tuple(found), tuple(found.values()))

    def numbers(self, columns: Sequence[Column]) -> Array:
        """Return the level of each row of a table, int32 (rows, columns with levels), or MISSING."""
        found = np.empty((len(columns[0].values), len(self.names)), np.int32, order="F")
        for i, (number, names) in enumerate(zip(self.columns, self.names, strict=True)):
            places = {name: place for place, name in enumerate(names)}
            values = columns[number].values
            found[:, i] = [MISSING if value is None else places.get(value, len(names)) for value in values]
        return found


NO_LEVELS = Levels()


@dataclass(frozen=True, eq=False)
class Statistics:
    """Mean targets by level. ``means`` has an array (levels, folds, outputs) for each column."""

    levels: Levels
    means: tuple[Array, ...]

    @property
    def owners(self) -> list[int]:
        """Numbers of the columns of the features, fold after fold."""
        _, n_folds, n_outputs = self.means[0].shape
        return [number for _ in range(n_folds) for number in self.levels.columns for _ in range(n_outputs)]

    def features(self, numbers: Array) -> Array:
        """Return the features (rows, features) of rows with these levels, NaN where a category is missing."""
        pairs = zip(self.means, numbers.T, strict=True)
        return _joined([_where_present(means[level], level) for means, level in pairs])

    def of_other_folds(self, fold: int) -> Array:
        """Return the numbers of the features, counted from the first mean target, that are those of other folds."""
        _, n_folds, n_outputs = self.means[0].shape
        return np.flatnonzero(np.repeat(np.arange(n_folds), len(self.means) * n_outputs) != fold)


def outputs_of(labels: Array, is_class: bool) -> Array | None:
    """Return the numbers (rows, outputs) whose means are features, or None if there are too many classes.

    ``labels`` are class numbers, probabilities of classes (rows, classes), or numbers to predict.
    """
    if labels.ndim == 2:
        return None if labels.shape[1] > MOST_CLASSES else labels[:, int(labels.shape[1] == 2) :]
    n_classes = int(labels.max()) + 1 if is_class else 1
    if n_classes > MOST_CLASSES:
        return None
    found = labels[:, None] == np.arange(n_classes) if n_classes > 2 else labels[:, None]
    return np.asarray(found, np.float64)


def learn_statistics(
    levels: Levels, numbers: Array, outputs: Array, weights: Array, trains: Sequence[Array], parts: Array
) -> tuple[Statistics, Array] | None:
    """Return mean targets and the features of the training rows, or None if no category differs from others.

    Parameters
    ----------
    levels : Levels
        Categories of the columns.
    numbers : array of shape (rows, columns)
        Levels of the training rows.
    outputs : array of shape (rows, outputs)
        Numbers whose means are features.
    weights : array of shape (rows,)
        Weights of the rows. Rows of weight 0 have features, but do not change those of others.
    trains : sequence of boolean arrays
        Flags of the training rows of each fold.
    parts : array of shape (rows,)
        Number of the part of each row: its mean targets are those of rows of other parts.
    """
    n_folds = len(trains)
    kept, means, of_rows = [], [], []
    for i, level in enumerate(numbers.T):
        size = len(levels.names[i]) + 1
        found, its_rows = (np.empty((count, n_folds, outputs.shape[1])) for count in (size, len(level)))
        for fold, train in enumerate(trains):
            for output, y in enumerate(outputs.T):
                at = (slice(None), fold, output)
                found[at], its_rows[at] = _means_of_fold(level, size, y, weights, parts, train)
        if np.ptp(found, axis=0).any():
            kept.append(i)
            means.append(found)
            of_rows.append(_where_present(its_rows, level))
    if not kept:
        return None
    chosen = Levels(tuple(levels.columns[i] for i in kept), tuple(levels.names[i] for i in kept))
    return Statistics(chosen, tuple(means)), _joined(of_rows)


def _means_of_fold(
    level: Array, size: int, y: Array, weights: Array, numbers: Array, train: Array
) -> tuple[Array, Array]:
    """Return the mean of each level in the training rows of a fold, and that of each row without its own part."""
    used = np.flatnonzero(train & (weights > 0) & (level != MISSING))
    if not len(used):
        return np.zeros(size), np.zeros(len(level))
    n_parts, share = int(numbers.max()) + 1, weights[used] / weights[used].mean()
    overall = float(np.average(y[used], weights=share))
    y, cells = y[used] - overall, numbers[used] * size + level[used]
    sizes = np.bincount(cells, share, n_parts * size).reshape(n_parts, size)
    sums = np.bincount(cells, share * y, n_parts * size).reshape(n_parts, size)
    rows = rows_of_prior(sizes.sum(axis=0), sums.sum(axis=0), float(share @ y**2))

    def means(parts: Array) -> Array:
        if np.isinf(rows):
            return np.full(size, overall)
        n = sizes[parts].sum(axis=0)
        found: Array = np.divide(sums[parts].sum(axis=0), n + rows, out=np.zeros(size), where=n > 0)
        return overall + found

    every = np.arange(n_parts)
    without = np.stack([means(every != part) for part in every])
    return means(every >= 0), without[numbers, level]


def rows_of_prior(sizes: Array, sums: Array, squares: float) -> float:
    """Return the number of rows by which the means of levels are drawn towards 0, the mean of all rows.

    ``sizes`` and ``sums`` are the numbers of rows of the levels and the sums of their targets, ``squares`` the sum of
    the squares of all targets. Infinity says that chance explains the differences of the means.
    """
    there = sizes > 0
    sizes, sums = sizes[there], sums[there]
    n, k = float(sizes.sum()), len(sizes)
    if k < 2 or n - k < 1:
        return np.inf
    explained = float((sums**2 / sizes).sum())
    between, within = explained / (k - 1), max(0.0, squares - explained) / (n - k)
    if not between - within > CLEARLY * within * np.sqrt(2 / (k - 1) + 2 / (n - k)):
        return np.inf
    typical = (n - float((sizes**2).sum()) / n) / (k - 1)  # rows of a level
    return within * typical / (between - within)


def _where_present(found: Array, level: Array) -> Array:
    return np.asarray(np.where((level == MISSING)[:, None, None], np.nan, found))


def _joined(parts: list[Array]) -> Array:
    """Return the features of columns, each (rows, folds, outputs), as (rows, features): fold after fold."""
    found = np.concatenate(parts, axis=2)
    return np.asfortranarray(found.reshape(len(found), -1))
