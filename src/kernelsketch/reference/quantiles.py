"""Specification of quantiles: where numbers stand in a table of quantiles of training rows, from -1 to 1.

A number between two neighbours of the table gets the level on the line through both. The line is computed from either
side and the mean is taken, so that the level of -x in the mirrored table is exactly the negative. A number that is in
the table, perhaps several times, gets the mean of its first and its last level. Numbers outside get -1 or 1, and
missing ones 0.
"""

from __future__ import annotations

import numpy as np

from .._array import Array


def levels_of(numbers: Array, table: Array, levels: Array) -> Array:
    """Return the levels of a column of numbers as float32. ``levels`` are those of the ascending ``table``."""
    known = np.where(np.isnan(numbers), table[0], numbers)
    rising = _rising(known, table, levels)
    falling = _rising(-known, -table[::-1], levels)
    return np.where(np.isnan(numbers), 0, (rising - falling) / 2).astype(np.float32)


def _rising(x: Array, table: Array, levels: Array) -> Array:
    """Return the levels on the lines that begin at the largest table entry up to x."""
    last = len(table) - 1
    j = np.searchsorted(table, x, "right") - 1
    at, after = np.clip(j, 0, last - 1), np.clip(j, 0, last - 1) + 1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = (levels[after] - levels[at]) / (table[after] - table[at])
        line = np.minimum(slope * (x - table[at]) + levels[at], levels[after])
    on_the_table = (j >= 0) & (x == table[np.maximum(j, 0)])
    flat = np.where(j < 0, levels[0], levels[np.maximum(j, 0)])
    return np.where((j < 0) | (j == last) | on_the_table, flat, line)
