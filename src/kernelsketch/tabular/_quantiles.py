"""Weighted quantiles of numbers, of all rows or by group."""

from __future__ import annotations

import numpy as np

from .._array import Array


def group_quantiles(groups: Array, values: Array, weights: Array, quantile: float, count: int) -> Array:
    """Return the weighted quantile of the values of each group, 0 for a group without rows.

    The value of a row has the quantile up to the middle of its weight; between two rows it is interpolated.
    """
    order = np.lexsort((values, groups))
    groups, values, weights = groups[order], values[order], weights[order]
    ends = np.searchsorted(groups, np.arange(count), side="right")
    starts = np.append(0, ends[:-1])
    sums = np.append(0.0, np.cumsum(weights))
    middles, there = sums[:-1] + weights / 2, ends > starts
    wanted = sums[starts] + quantile * (sums[ends] - sums[starts])
    upper = np.clip(np.searchsorted(middles, wanted), starts, np.maximum(ends - 1, starts))[there]
    lower = np.maximum(upper - 1, starts[there])
    width = middles[upper] - middles[lower]
    part = np.divide(wanted[there] - middles[lower], width, out=np.ones(len(width)), where=width > 0)
    found = np.zeros(count)
    found[there] = values[lower] + np.clip(part, 0, 1) * (values[upper] - values[lower])
    return found


def weighted_quantile(values: Array, weights: Array, quantile: float) -> Array:
    """Return the weighted quantile of values, as a scalar array."""
    used = weights > 0
    found = group_quantiles(np.zeros(int(used.sum()), int), values[used], weights[used], quantile, 1)
    return np.asarray(found[0])
