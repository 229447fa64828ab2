"""What several back ends do by NumPy's functions: look at values, and make arrays in main memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._array import Array
from ._interface import ByteRows, Measure, Values
from ._rows import CsrRows, Rows

MOST = 255
LINE_BYTES = 64  # size of a cache line
SMALL_BYTES = 4096  # below this size the alignment is not worth the time that it takes


class PlainValues(Values):
    """A look at the values of rows of any array library, block by block.

    This is what ``native/include/kernelsketch/measure.h`` does by native code for rows in main memory.
    """

    step_values = 1 << 17  # that are looked at together: they stay in the cache of a processor

    def measure(self, rows: Rows) -> Measure:
        sizes = self.empty((len(rows),), np.float64)
        low, high, small = (0.0, 0.0, True) if rows.sparse else (np.inf, -np.inf, True)
        with np.errstate(invalid="ignore"):
            for part in self._parts(len(rows), rows.row_bytes // 8):
                block = rows.part(part)
                if isinstance(block, CsrRows):
                    values = block.data
                    sizes[part] = self.row_maxima(block.indptr, np.abs(values.astype(np.float64)))
                else:
                    values = block.values
                    highest, lowest = values.max(axis=1).astype(np.float64), values.min(axis=1).astype(np.float64)
                    sizes[part] = np.maximum(highest, -lowest)
                if len(values):
                    low, high = min(low, float(values.min())), max(high, float(values.max()))
                    small = small and low >= -MOST and high <= MOST and _are_whole(values)
            sizes[~np.isfinite(sizes)] = np.nan
        return Measure(sizes, low, high, small)

    def to_bytes(self, values: Array, offset: int, width: int) -> ByteRows:
        n, d = values.shape
        padded, norms = self.zeros((n, width), np.uint8), self.empty((n,), np.float64)
        for part in self._parts(n, d):
            padded[part, :d] = values[part] - offset
            norms[part] = np.abs(values[part]).sum(axis=1, dtype=np.float64)
        return ByteRows(padded, norms)

    def row_maxima(self, indptr: Array, values: Array) -> Array:
        """Return the largest value of each sparse row, 0 for an empty row. Values are float64 and not negative."""
        largest = np.zeros(len(indptr) - 1)
        stored = np.flatnonzero(np.diff(indptr))
        if len(stored):
            largest[stored] = np.maximum.reduceat(values, indptr[stored])
        return largest

    def _parts(self, n: int, row_values: int) -> Iterator[slice]:
        step = max(1, self.step_values // max(1, row_values))
        for start in range(0, n, step):
            yield slice(start, min(n, start + step))


class NumpyArrays(PlainValues):
    """NumPy arrays in main memory."""

    place = None
    threads: int

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """Return an array that starts on a cache line, which makes vector loads up to 10 % faster."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if size < SMALL_BYTES:
            return np.empty(shape, dtype)
        room = np.empty(size + LINE_BYTES, np.uint8)
        start = -room.ctypes.data % LINE_BYTES
        return np.asarray(room[start : start + size].view(dtype).reshape(shape))

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Array:
        return np.zeros(shape, dtype)

    def from_numpy(self, array: Array) -> Array:
        return array

    def to_numpy(self, array: Array) -> Array:
        return array

    def csr_matrix(self, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> Any:
        from scipy import sparse  # takes a tenth of a second to import, and few callers need it

        matrix = sparse.csr_matrix(shape, dtype=data.dtype)
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
        matrix.has_canonical_format = True
        return matrix


def matrix_for(a: Any, b: Any, out: Array | None) -> Array:
    """Return ``out``, or a new array for the kernel matrix of two sides."""
    left, right = (x.norms if isinstance(x, ByteRows) else x for x in (a, b))
    return np.empty((len(left), len(right)), left.dtype) if out is None else out


def _are_whole(values: Array) -> bool:
    return values.dtype.kind != "f" or bool((values == np.rint(values)).all())
