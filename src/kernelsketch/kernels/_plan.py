"""Plan: the base class of the objects that compute a kernel matrix.

A plan is made once for X, Y and the parameters. It computes any range of rows of the matrix, so the whole matrix and
its blocks agree.
"""

from __future__ import annotations

import numpy as np

from .._array import Array
from .._validation import row_batches
from ._operand import STEP_BYTES, Operand

SQUARE = 1 << 10  # rows and columns that are transposed at a time


def transpose(values: Array, out: Array) -> None:
    """Write the transposed matrix to ``out``, a square at a time, which stays in the cache."""
    for rows in row_batches(len(out), 1, SQUARE):
        for columns in row_batches(out.shape[1], 1, SQUARE):
            out[rows, columns] = values[columns, rows].T


class Plan:
    """Compare the rows ``a`` with the rows ``b``. For the matrix of X with itself, ``b is a``."""

    def __init__(self, a: Operand, b: Operand, gamma: float | None) -> None:
        self.a, self.b, self.gamma = a, b, gamma
        self.dtype = a.dtype
        self.shape = (a.n_rows, b.n_rows)

    def block(self, rows: slice, out: Array | None = None) -> Array:
        """Return the given rows of the matrix, in ``out`` or in a new array in the memory where the data live."""
        if out is None:
            out = self.a.backend.empty((rows.stop - rows.start, self.shape[1]), self.dtype)
        with np.errstate(all="ignore"):  # some values underflow by design
            self._fill(rows, out)
            if self.gamma is not None:
                self._exponential(rows, out, self.gamma)
        return out

    def matrix(self, out: Array | None = None) -> Array:
        """Return the whole matrix."""
        return self.block(slice(0, self.shape[0]), out)

    def _fill(self, rows: slice, out: Array) -> None:
        raise NotImplementedError

    def _is_symmetric(self, rows: slice) -> bool:
        """Return whether ``rows`` are all rows of a symmetric matrix, of which one half is computed."""
        return self.b is self.a and rows == slice(0, self.shape[0])

    def _exponential(self, rows: slice, out: Array, gamma: float) -> None:
        """Replace out by exp(-gamma (1 - out)), and by 0 for empty rows."""
        wide = self.dtype == np.float32 and gamma > 1e30  # the product can exceed the range of float32
        for part in row_batches(len(out), 8 * out.shape[1], STEP_BYTES):
            block = out[part].astype(np.float64) if wide else out[part]
            np.subtract(block, 1, out=block)
            np.multiply(block, gamma, out=block)
            np.exp(block, out=block)
            out[part] = block
        out[self.a.empty[rows]] = 0
        out[:, self.b.empty] = 0
