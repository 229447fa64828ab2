"""Weights of shingles: from how often a feature occurs in a text to its value in the row."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._array import Array
from .._interruptible import interruptible


class DocumentFrequencies(NamedTuple):
    """In how many documents each feature occurs. Features that are not listed count as occurring in one."""

    n_documents: int
    features: Array  # int64, ascending
    counts: Array  # int64, at least 2

    def idf(self, features: Array) -> Array:
        """Return ln((1 + n) / (1 + df)) + 1 of features, as float32."""
        rarest = math.log((1 + self.n_documents) / 2) + 1
        found = np.full(len(features), rarest, np.float32)
        if len(self.features):
            place = np.minimum(np.searchsorted(self.features, features), len(self.features) - 1)
            known = self.features[place] == features
            weights = np.array([math.log((1 + self.n_documents) / (1 + df)) + 1 for df in self._levels()], np.float32)
            level = np.searchsorted(self._levels(), self.counts[place[known]])
            found[known] = weights[level]
        return found

    def _levels(self) -> Array:
        return np.unique(self.counts)


def _counted(known: Array, counts: Array, features: Array) -> tuple[Array, Array]:
    """Return known and new features, distinct and sorted, and their counts."""
    new, times = np.unique(features, return_counts=True)
    both = np.concatenate([known, new])
    order = np.argsort(both, kind="stable")
    starts = np.flatnonzero(np.diff(both[order], prepend=-1))
    summed = np.concatenate([counts, times])[order]
    return both[order][starts], np.add.reduceat(summed, starts) if len(starts) else summed


class FrequencyCounter:
    """Counts documents by feature, block by block."""

    def __init__(self) -> None:
        self.n_documents = 0
        self._features, self._counts = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def add(self, indptr: Array, features: Array) -> None:
        """Count the features of some rows, which are distinct within a row."""
        self._features, self._counts = interruptible(_counted, self._features, self._counts, features)
        self.n_documents += len(indptr) - 1

    def frequencies(self) -> DocumentFrequencies:
        """Return the counts so far."""
        often = self._counts >= 2
        return DocumentFrequencies(self.n_documents, self._features[often], self._counts[often])


def log_weights(counts: Array) -> Array:
    """Return 1 + ln(count) as float32. There are few distinct counts, and each is rounded once."""
    levels, place = np.unique(counts, return_inverse=True)
    return np.array([1 + math.log(level) for level in levels.tolist()], np.float32)[place]
