"""``KeptRows``: the rows of files that a command keeps in memory: all of them, or a random sample."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .._array import Array
from .._mix import GOLDEN64, mix64, mix_number

SLACK = 8  # a sample has at most one row in so many too many, before these are dropped


class KeptRows:
    """Blocks of X, y and weights in the order of the stream. A sample has the ``most`` rows with the smallest keys.

    The key of a row depends on its number and the seed alone, so the sample does not depend on the blocks, nor on the
    files that the rows are divided into.
    """

    def __init__(self, most: int | None, seed: int) -> None:
        self._most, self._start, self._seen = most, mix_number(seed + GOLDEN64), 0
        self._last = np.uint64(2**64 - 1)  # key from which on rows are certainly not in the sample
        self.X: list[Any] = []
        self.y: list[Array] = []
        self.weights: list[Array] = []  # as many as rows; without weights, of no columns
        self._keys: list[Array] = []

    def __len__(self) -> int:
        return sum(map(len, self.y))

    def add(self, X: Any, y: Any, weights: Array | None = None) -> None:
        """Take a block of rows."""
        y = np.asarray(y)
        weights = np.empty((len(y), 0)) if weights is None else weights
        numbers = np.arange(self._seen, self._seen + len(y), dtype=np.uint64)
        self._seen += len(y)
        self._append(X, y, weights, mix64(numbers * np.uint64(GOLDEN64) + np.uint64(self._start)))
        if self._most is not None and len(self) > self._most + self._most // SLACK:
            self._drop()

    def finish(self) -> None:
        """Drop what is too much at the end of the stream."""
        if self._most is not None and len(self) > self._most:
            self._drop()

    def _append(self, X: Any, y: Array, weights: Array, keys: Array) -> None:
        kept = keys <= self._last
        if not kept.any():
            return
        if not kept.all():
            X, y, weights, keys = _rows(X, kept), y[kept], weights[kept], keys[kept]
        self.X.append(X)
        self.y.append(y)
        self.weights.append(weights)
        self._keys.append(keys)

    def _drop(self) -> None:
        assert self._most is not None
        keys = np.concatenate(self._keys)
        self._last = np.partition(keys, self._most - 1)[self._most - 1]  # keys differ, so as many rows are left
        parts = list(zip(self.X, self.y, self.weights, self._keys, strict=True))
        self.X, self.y, self.weights, self._keys = [], [], [], []
        for part in parts:
            self._append(*part)


def _rows(X: Any, kept: Array) -> Any:
    """Return the rows of an array or of a table of pyarrow that have a flag."""
    if isinstance(X, np.ndarray):
        return X[kept]
    pyarrow: Any = sys.modules["pyarrow"]  # the library of the table, so it is there
    return X.filter(pyarrow.array(kept))
