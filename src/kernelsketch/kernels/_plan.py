"""How a kernel matrix is computed: what all plans share.

A plan is made once for (X, Y, parameters) and computes any range of its rows, so a whole matrix and
its blocks agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import row_batches
from ._operand import STEP_BYTES, Operand

Array = NDArray[Any]


class Plan:
    """Rows ``a`` against rows ``b`` (``b is a`` for a matrix of X with itself)."""

    def __init__(self, a: Operand, b: Operand, gamma: float | None) -> None:
        self.a, self.b, self.gamma = a, b, gamma
        self.dtype = a.dtype
        self.shape = (a.n_rows, b.n_rows)

    def block(self, rows: slice, out: Array | None = None) -> Array:
        """The given rows of the matrix: a new array where the rows live, or ``out``."""
        if out is None:
            out = self.a.backend.empty((rows.stop - rows.start, self.shape[1]), self.dtype)
        with np.errstate(all="ignore"):  # values that underflow are meant to
            self._fill(rows, out)
            if self.gamma is not None:
                self._exponential(rows, out, self.gamma)
        return out

    def matrix(self, out: Array | None = None) -> Array:
        """The whole matrix."""
        return self.block(slice(0, self.shape[0]), out)

    def _fill(self, rows: slice, out: Array) -> None:
        raise NotImplementedError

    def _is_symmetric(self, rows: slice) -> bool:
        """Whether all of a symmetric matrix is asked for: then half of it is enough."""
        return self.b is self.a and rows == slice(0, self.shape[0])

    def _exponential(self, rows: slice, out: Array, gamma: float) -> None:
        """exp(-gamma (1 - out)) in place; 0 where a row is empty."""
        wide = self.dtype == np.float32 and gamma > 1e30  # beyond float32's range
        for part in row_batches(len(out), 8 * out.shape[1], STEP_BYTES):
            block = out[part].astype(np.float64) if wide else out[part]
            np.subtract(block, 1, out=block)
            np.multiply(block, gamma, out=block)
            np.exp(block, out=block)
            out[part] = block
        out[self.a.empty[rows]] = 0
        out[:, self.b.empty] = 0
