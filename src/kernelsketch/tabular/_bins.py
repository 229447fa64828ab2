"""``Bins``: features as small integers, for trees to grow on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._array import Array
from ._features import Features

MOST_BINS = 255


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of all rows, uint8 (features, rows), and the thresholds between the bins of each feature.

    A number is in bin b if it is at most ``thresholds[feature][b]`` and above the threshold before. The last threshold
    of a feature is infinite. A missing value has the number after the last bin.
    """

    binned: Array
    thresholds: list[Array]

    @classmethod
    def of(cls, features: Array | Features, rows: Array | slice = slice(None)) -> Bins:
        """Return the bins of float64 features, with NaN for missing values. The thresholds are those of some rows."""
        binned, thresholds = np.empty(features.shape[::-1], np.uint8), []
        for i, out in enumerate(binned):
            column = np.ascontiguousarray(features[:, i])
            ordered = np.sort(column[rows])
            ordered = ordered[: np.searchsorted(ordered, np.nan, side="left")]  # NaN comes last
            between = _between(ordered)
            thresholds.append(np.append(between, np.inf))
            out[:] = np.searchsorted(between, column, side="left")
            if len(ordered) < len(column):  # missing values, or rows that have no part in the thresholds
                out[np.isnan(column)] = len(thresholds[-1])
        return cls(binned, thresholds)

    @property
    def counts(self) -> Array:
        """Number of bins of each feature, without missing values."""
        return np.array([len(part) for part in self.thresholds], np.int32)


def _between(ordered: Array) -> Array:
    """Return thresholds between sorted numbers: between all distinct ones, or if these are too many, some of them.

    Then every bin has about as many rows, where rows of a frequent number count only as many as fill a bin.
    """
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    distinct = ordered[first]
    below, above = distinct[:-1], distinct[1:]
    if len(distinct) > MOST_BINS:
        counts = np.diff(first, append=len(ordered))
        filled = np.cumsum(np.minimum(counts, len(ordered) // MOST_BINS + 1))
        bins = filled * MOST_BINS // (filled[-1] + 1)
        ends = np.diff(bins) > 0
        below, above = below[ends], above[ends]
    middle = below / 2 + above / 2
    return np.asarray(np.where(middle < above, middle, below))
