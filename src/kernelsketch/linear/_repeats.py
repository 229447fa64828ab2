"""Equal rows of codes: regression first learns from one row for all of them, whose cost is the sum of theirs.

Rows with equal codes have equal predictions. Their losses add up if their targets are equal too. Squared errors add up
to the squared error of the mean target and a constant, whatever the targets are. With the Huber loss nothing is merged
if equal rows have different targets: merging those with equal targets took up to 1.4 times as long.

Passes over the merged rows take less time, and with a large C fewer of them are needed: coordinate descent moves the
duals of equal rows against each other only slowly. With about 500 rows that are 100 repeated ones, C=1e3 and tol=1e-6,
a fit took 627 passes and 2.1 s, and 14 passes and 0.02 s after the merger. With 6,000 rows of which 1,500 are
different, the merged fit was 1.5 to 3.5 times as fast. Where less than half of the rows are repetitions, nothing is
merged. A search that finds none takes less than 1 % of a fit.

The result is exact: the duals are dealt to all rows, and the duality gap of the problem with all rows decides whether
the solver goes on.

Classifiers do not merge rows. Their gain was 1.3 to 16 with 1,500 different rows, but with 100 of them, C=1e3 and
tol=1e-3 merged fits took 3.5 times as long with the squared hinge loss and 2.5 times as long with the hinge loss.
Cross-validation does not either, because a fold may hold out one of two equal rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .._array import Array
from .._loss_formulas import LossFormulas
from .._mix import GOLDEN64, mix64
from .._validation import row_batches
from ..backends import place_of
from ._code_table import CodeTable

LEAST_ROWS = 256  # fewer are fitted in no time
FEW = 0.5  # share of different rows below which equal ones are merged
PREFIX = 16  # bytes of a row that the first look compares
STEP_BYTES = 1 << 20


class Repeats(NamedTuple):
    """The first row of each group of equal rows, and the group of each row."""

    first: Array
    group: Array

    def sums(self, values: Array) -> Array:
        """Return the sum of the values of each group, in float64."""
        return np.bincount(self.group, values, len(self.first))


def find_repeats(table: CodeTable, targets: Array | None, loss: LossFormulas) -> Repeats | None:
    """Return the groups of rows whose losses can be merged, or None if this does not pay."""
    n = table.shape[0]
    if targets is None or n < LEAST_ROWS or place_of(table.codes) is not None:
        return None
    kinds = table.empty.astype(np.uint64) * np.uint64(GOLDEN64)
    some = np.sort(_keys(table, PREFIX // table.codes.itemsize) + kinds)
    if 1 + np.count_nonzero(np.diff(some)) > FEW * n:
        return None
    _, first, group = np.unique(mix64(_keys(table)) + kinds, return_index=True, return_inverse=True)
    if len(first) > FEW * n:
        return None
    order = np.argsort(first)  # the merged rows keep the order of the rows
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    first, group = first[order], place[group]
    same = first[group]
    for rows in _batches(table):
        if not np.array_equal(table.part(rows), table.take(same[rows])):
            return None  # two keys are equal by chance
    if not loss.adds_up and not np.array_equal(targets, targets[same]):
        return None
    return Repeats(first, group) if np.array_equal(kinds, kinds[same]) else None


def _batches(table: CodeTable) -> Iterator[slice]:
    n, k = table.shape
    return row_batches(n, k * table.codes.itemsize, STEP_BYTES)


def _keys(table: CodeTable, hashes: int | None = None) -> Array:
    """Return a key for each row, of all of its codes or of the first ones."""
    return np.concatenate([key_of(table.part(rows)[:, :hashes]) for rows in _batches(table)])


def key_of(codes: Array) -> Array:
    """Return a number of 64 bits for each row, which depends on all of its codes."""
    words = np.ascontiguousarray(codes).view(np.uint8)
    if words.shape[1] % 8:
        words = np.pad(words, ((0, 0), (0, -words.shape[1] % 8)))
    words = words.view(np.uint64)
    factors = mix64(np.arange(1, words.shape[1] + 1, dtype=np.uint64) * np.uint64(GOLDEN64)) | np.uint64(1)
    found: Array = np.zeros(len(words), np.uint64)
    for word, factor in zip(words.T, factors, strict=True):
        found += (word ^ (word >> np.uint64(29))) * factor
    return found
