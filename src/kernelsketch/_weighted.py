"""Means, deviations and quantiles of columns whose rows have weights.

A weight that is a whole number counts as so many equal rows. What is learned from weighted rows is then what is learned
from repeated rows: means and deviations up to rounding, medians and quantiles exactly.
"""

from __future__ import annotations

import numpy as np

from ._array import Array


def row_counts(weights: Array | None) -> Array | None:
    """Return how many rows each row counts for, or None if each counts for one.

    The weights are above 0. They are the counts themselves, unless their mean is below 1, as that of weights whose sum
    is 1: then they are scaled to a mean of 1, because statistics of less than a row mean nothing.
    """
    if weights is None:
        return None
    low, high = weights.min(), weights.max()
    if low == high <= 1:
        return None
    counts: Array = weights / high if high < 1 else weights  # the mean of tiny weights could be 0
    return counts / min(1.0, float(counts.mean()))


def mean_of(columns: Array, counts: Array | None) -> Array:
    """Return the mean of each column."""
    return np.asarray(columns.mean(axis=0) if counts is None else np.average(columns, axis=0, weights=counts))


def deviation_of(columns: Array, counts: Array | None) -> Array:
    """Return the standard deviation of each column."""
    if counts is None:
        return np.asarray(columns.std(axis=0))
    return np.asarray(np.sqrt(mean_of((columns - mean_of(columns, counts)) ** 2, counts)))


def median_of(columns: Array, counts: Array | None) -> Array:
    """Return the median of each column."""
    if counts is None:
        return np.asarray(np.median(columns, axis=0))
    low, high, t, between = _windows(columns, counts, np.array([0.5]))
    middle = np.where((t == 0.5) & np.isnan(between), (low + high) / 2, _joined(low, high, t, between))
    return np.asarray(middle[0])


def quantiles_of(columns: Array, counts: Array | None, shares: Array) -> Array:
    """Return quantiles of each column, of shape (shares, columns), interpolated as by :func:`numpy.quantile`.

    With the rows in ascending order, row i fills an interval as long as its count on a line of length n. The quantile
    of a share is the mean of what is found on the line from share * (n - 1) on, along the length of one row. If the
    counts are whole numbers, this is the linear interpolation between two of the repeated rows.
    """
    if counts is None:
        return np.asarray(np.quantile(columns, shares, axis=0))
    return _joined(*_windows(columns, counts, shares))


def _windows(columns: Array, counts: Array, shares: Array) -> tuple[Array, Array, Array, Array]:
    """Return the first and the last value on the length of one row from each share on, and the share of the last.

    If other rows are in between, which count for less than one, the last result is the mean of all, otherwise NaN.
    """
    order = np.argsort(columns, axis=0, kind="stable")
    shape = (len(shares), columns.shape[1])
    low, high, t, between = np.empty(shape), np.empty(shape), np.empty(shape), np.full(shape, np.nan)
    for j in range(columns.shape[1]):
        values, weights = columns[order[:, j], j], counts[order[:, j]]
        ends = np.cumsum(weights)
        starts = shares * (ends[-1] - 1)
        first = np.minimum(np.searchsorted(ends, starts, "right"), len(ends) - 1)
        t[:, j] = np.clip(starts - (ends[first] - 1), 0, 1)
        last = np.maximum(np.searchsorted(ends, starts + 1, "left"), first + (t[:, j] > 0))
        last = np.minimum(last, len(ends) - 1)
        low[:, j], high[:, j] = values[first], values[last]
        many = last > first + 1
        if many.any():
            sums = np.concatenate([[0.0], np.cumsum(weights * values)])
            a, b, start = first[many], last[many], starts[many]
            inner = sums[b] - sums[a + 1]
            outer = values[a] * (ends[a] - start) + values[b] * (start + 1 - ends[b - 1])
            between[many, j] = np.clip(inner + outer, values[a], values[b])
    return low, high, t, between


def _joined(low: Array, high: Array, t: Array, between: Array) -> Array:
    """Interpolate as NumPy does, to the last bit, where two rows take part."""
    step = high - low
    linear = np.where(t >= 0.5, high - step * (1 - t), low + step * t)
    return np.where(np.isnan(between), linear, between)
