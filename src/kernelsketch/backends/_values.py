"""A look at the values of rows by NumPy's functions, block by block, for arrays of any library.

This is what ``native/include/kernelsketch/measure.h`` does by native code for rows in main memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ._interface import Measure
from ._rows import CsrRows, Rows

Array = NDArray[Any]

STEP_VALUES = 1 << 17  # that are looked at together: they stay in the cache of a processor
MOST = 255


class LooksAtRows(Protocol):
    """What the functions need of a back end."""

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array: ...

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Array: ...

    def row_maxima(self, indptr: Array, values: Array) -> Array: ...


def measure(backend: LooksAtRows, rows: Rows, step: int = STEP_VALUES) -> Measure:
    """Return the sizes of rows; see :class:`Measure`."""
    sizes = backend.empty((len(rows),), np.float64)
    low, high, small = (0.0, 0.0, True) if rows.sparse else (np.inf, -np.inf, True)
    with np.errstate(invalid="ignore"):
        for part in _parts(len(rows), rows.row_bytes // 8, step):
            block = rows.part(part)
            if isinstance(block, CsrRows):
                values = block.data
                sizes[part] = backend.row_maxima(block.indptr, np.abs(values.astype(np.float64)))
            else:
                values = block.values
                highest, lowest = values.max(axis=1).astype(np.float64), values.min(axis=1).astype(np.float64)
                sizes[part] = np.maximum(highest, -lowest)
            if len(values):
                low, high = min(low, float(values.min())), max(high, float(values.max()))
                small = small and low >= -MOST and high <= MOST and _are_whole(values)
        sizes[~np.isfinite(sizes)] = np.nan
    return Measure(sizes, low, high, small)


def to_bytes(
    backend: LooksAtRows, values: Array, offset: int, width: int, step: int = STEP_VALUES
) -> tuple[Array, Array]:
    """Return rows of small whole numbers as bytes, and their L1 norms; see :meth:`Values.to_bytes`."""
    n, d = values.shape
    padded, norms = backend.zeros((n, width), np.uint8), backend.empty((n,), np.float64)
    for part in _parts(n, d, step):
        padded[part, :d] = values[part] - offset
        norms[part] = np.abs(values[part]).sum(axis=1, dtype=np.float64)
    return padded, norms


def _are_whole(values: Array) -> bool:
    return values.dtype.kind != "f" or bool((values == np.rint(values)).all())


def _parts(n: int, row_values: int, step_values: int) -> Iterator[slice]:
    step = max(1, step_values // max(1, row_values))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
