"""A warning when the errors of held-out rows are alike in rows that stand beside each other in the file.

Folds deal rows at random. If neighbours in the file depend on one another, a held-out row has relatives among the
training rows, and its score is too good for rows without relatives.

One test compares each error with the next one. Another compares the values of most columns, because a model that
recognizes the group of a row makes no errors that the group has in common. Both take ranks within rows of equal or
similar targets, so that a file that is sorted by the target is no reason. If rows are independent, every order of the
rows of similar targets is equally likely; so permutations give the level of a test, whatever the table is. It is
divided among the tests.

There is no such test for the order of a date that is a column: errors of rows with similar targets depend on every
column that says something about the target, although the rows are independent.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np

from .._array import Array
from .._warnings import warn_user
from ..exceptions import RowsWarning, Sentence, Setting
from ._features import Features

LEVEL = 0.005  # largest probability of a warning about independent rows
FIRST = 2.0  # standard errors from which on permutations are worth their time
LEAST_CORRELATION = 0.25  # below it, a file may well be sorted by something, which is no reason for a warning
FEWEST_ROWS, MOST_ROWS = 60, 5000  # that are compared with the next row
FEWEST_COLUMNS, MOST_COLUMNS = 3, 10  # whose values are compared with those of the next row
MOST_BINS = 50  # of targets


class Errors(NamedTuple):
    """Held-out rows: their numbers, errors (target minus prediction, or 1 - probability), targets and features."""

    rows: Array
    sizes: Array
    targets: Array
    features: Features


def warn_about_neighbors(found: Errors, *, is_class: bool) -> None:
    """Warn if rows depend on the order of the file."""
    rows, errors, targets, features = found
    if len(rows) < FEWEST_ROWS:
        return
    bins = targets if is_class else _bins_of(targets)
    tests = [("errors of held-out rows that follow each other in the file have", _scores(errors, bins)[:, None])]
    numbers = _some_columns(features)
    if numbers.shape[1] >= FEWEST_COLUMNS:
        alike = np.column_stack([_scores(column, bins) for column in numbers.T])
        tests.append(("rows that follow each other in the file are alike: most columns have", alike))
    first = np.argsort(rows, kind="stable")[:MOST_ROWS]
    for words, scores in tests:
        size = correlation(scores[first], bins[first], LEVEL / len(tests))
        if size is not None:
            warn_user(
                Sentence(
                    f"rows look ordered: {words} the correlation {size:.2f}. If you will predict rows of new "
                    "customers, patients or machines, or later ones, held-out scores are too optimistic: fit with ",
                    Setting("groups", text="groups="),
                    " or ",
                    Setting("time", text="time="),
                    ". If the rows are independent, ignore this warning.",
                ),
                RowsWarning,
            )
            return


def _some_columns(features: Features) -> Array:
    """Return numbers of the first columns, and of those of categories the position of the category."""
    numbers = np.concatenate([features.numbers.T, features.positions.T]).T[:, :MOST_COLUMNS]
    return np.where(np.isnan(numbers), -np.inf, numbers)


def correlation(scores: Array, bins: Array, level: float) -> float | None:
    """Return the median over columns of the correlation of scores with those of the next row.

    None says that it is small, or that chance explains it at this level.
    """
    size = (scores**2).sum(axis=0)
    if len(scores) < FEWEST_ROWS or not (size > 0).all():
        return None

    def median(scores: Array) -> float:
        return float(np.median(np.einsum("ij,ij->j", scores[:-1], scores[1:]) / size))

    found = median(scores)
    if found < max(LEAST_CORRELATION, FIRST / len(scores) ** 0.5):
        return None
    rng, by_bin = np.random.default_rng(0), np.argsort(bins, kind="stable")
    sorted_bins, permuted = bins[by_bin], np.empty_like(scores)
    for _ in range(ceil(1 / level)):
        permuted[by_bin] = scores[by_bin[np.lexsort((rng.random(len(scores)), sorted_bins))]]
        if median(permuted) >= found:
            return None
    return found


def _bins_of(targets: Array) -> Array:
    """Return numbers of groups of similar targets, of about equal size."""
    n_bins = max(1, min(MOST_BINS, len(targets) // 20))
    borders = np.unique(np.quantile(targets, np.arange(1, n_bins) / n_bins))
    return np.searchsorted(borders, targets, side="right")


def _scores(errors: Array, bins: Array) -> Array:
    """Return the ranks of errors within each bin, from -1/2 to 1/2 with the mean 0; equal errors in random order."""
    order = np.lexsort((np.random.default_rng(1).random(len(errors)), errors, bins))
    counts = np.bincount(bins)
    starts = np.cumsum(counts) - counts
    found = np.empty(len(errors))
    found[order] = (np.arange(len(errors)) - starts[bins[order]] + 0.5) / counts[bins[order]] - 0.5
    return found
