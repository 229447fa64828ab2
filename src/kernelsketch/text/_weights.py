"""Weights of shingles: from how often a feature occurs in a text to its value in the row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from .._array import Array
from .._interruptible import interruptible
from ..backends import CsrRows


class DocumentFrequencies(NamedTuple):
    """In how many documents each feature occurs. Features that are not listed count as occurring in one."""

    n_documents: int
    features: Array  # int64, ascending
    counts: Array  # int64, at least 2

    @classmethod
    def of(cls, blocks: Iterable[CsrRows]) -> DocumentFrequencies:
        """Count the documents of each feature, block by block."""
        n_documents, features, counts = 0, np.zeros(0, np.int64), np.zeros(0, np.int64)
        for rows in blocks:
            features, counts = interruptible(_counted, features, counts, rows.indices)
            n_documents += len(rows)
        return cls(n_documents, features[counts >= 2], counts[counts >= 2])

    def idf(self, features: Array) -> Array:
        """Return ln((1 + n) / (1 + df)) + 1 of features, as float32."""

        def weight(df: int) -> float:
            return math.log((1 + self.n_documents) / (1 + df)) + 1

        found = np.full(len(features), weight(1), np.float32)
        if len(self.features):
            place = np.minimum(np.searchsorted(self.features, features), len(self.features) - 1)
            known = self.features[place] == features
            found[known] = _each(weight, self.counts[place[known]])
        return found


def log_weights(counts: Array) -> Array:
    """Return 1 + ln(count) as float32."""
    return _each(lambda count: 1 + math.log(count), counts)


def _each(weight: Callable[[int], float], counts: Array) -> Array:
    """Return the weights of counts as float32. There are few distinct counts, and each is rounded once."""
    levels, place = np.unique(counts, return_inverse=True)
    return np.array([weight(level) for level in levels.tolist()], np.float32)[place]


def _counted(known: Array, counts: Array, features: Array) -> tuple[Array, Array]:
    """Return known and new features, distinct and sorted, and their counts."""
    new, times = np.unique(features, return_counts=True)
    both = np.concatenate([known, new])
    order = np.argsort(both, kind="stable")
    starts = np.flatnonzero(np.diff(both[order], prepend=-1))
    summed = np.concatenate([counts, times])[order]
    return both[order][starts], np.add.reduceat(summed, starts) if len(starts) else summed
