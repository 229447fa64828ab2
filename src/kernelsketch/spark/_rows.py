"""Arrow columns as rows: Spark ML vectors (sparse, dense or both), arrays and packed rows, without a Python loop.

Spark hands a vector to Python as a struct of type (0 for sparse, 1 for dense), size, indices and values. A packed row
has no type.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from .._array import Array
from ._arrow import unpacked

FAULTS = (
    "",
    "is null",
    "contains a null",
    "contains NaN or infinity",
    "is a broken sparse vector: indices must ascend within its size, one index per value",
    "does not have {width} features",
)
NULL, NULL_VALUE, NOT_FINITE, BROKEN, WIDTH = range(1, 6)


class RowsAndFaults(NamedTuple):
    """The rows without a fault, dense or canonical CSR, and for every row the number of its fault, or 0."""

    X: Any
    faults: Array


class _Lists(NamedTuple):
    """A column of lists: all values one after the other, and the number of values of each row."""

    flat: Any
    lengths: Array

    @classmethod
    def of(cls, column: Any) -> _Lists:
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        return cls(column.flatten(), lengths.astype(np.int64))

    def owners(self, places: Array) -> Array:
        """Return the row numbers of the values at some positions."""
        return np.searchsorted(np.cumsum(self.lengths), places, "right")


class _ColumnParts(NamedTuple):
    """The parts of a column: values, indices (None without sparse rows), which rows are sparse, and widths."""

    values: _Lists
    indices: _Lists | None
    is_sparse: Array
    widths: Array


def read_rows(column: Any, width: int | None) -> RowsAndFaults:
    """Read the rows of a column. Every row must have ``width`` features; None allows any number."""
    if pa.types.is_struct(column.type) and column.type.num_fields == 3:
        column = unpacked(column)
    opened = _open(column)
    faults = _faults(column, opened, width)
    if faults.any():
        opened = _open(column.filter(pa.array(faults == 0)))
    return RowsAndFaults(_matrix(opened, width), faults)


def _faults(column: Any, opened: _ColumnParts, width: int | None) -> Array:
    faults = np.zeros(len(column), np.uint8)
    values = opened.values
    if width is not None:
        faults[opened.widths != width] = WIDTH
    if opened.indices is not None:
        faults[_broken(values, opened.indices, opened.is_sparse, opened.widths)] = BROKEN
    finite = np.isfinite(_numbers(values.flat))
    if not finite.all():
        faults[values.owners(np.flatnonzero(~finite))] = NOT_FINITE
    if values.flat.null_count:
        faults[values.owners(np.flatnonzero(values.flat.is_null()))] = NULL_VALUE
    if column.null_count:
        faults[np.asarray(column.is_null())] = NULL
    return faults


def _open(column: Any) -> _ColumnParts:
    if not pa.types.is_struct(column.type):
        values = _Lists.of(column)
        return _ColumnParts(values, None, np.zeros(len(column), bool), values.lengths)
    kind, size, indices, values = column.flatten()
    listed = _Lists.of(values)
    is_sparse = pc.fill_null(kind, 1).to_numpy(zero_copy_only=False) == 0
    if not is_sparse.any():
        return _ColumnParts(listed, None, is_sparse, listed.lengths)
    sizes = pc.fill_null(size, 0).to_numpy(zero_copy_only=False)
    return _ColumnParts(listed, _Lists.of(indices), is_sparse, np.where(is_sparse, sizes, listed.lengths))


def _broken(values: _Lists, indices: _Lists, is_sparse: Array, widths: Array) -> Array:
    """Return which sparse rows have invalid indices."""
    broken = np.where(is_sparse, indices.lengths != values.lengths, indices.lengths != 0)
    flat = pc.fill_null(indices.flat, -1).to_numpy(zero_copy_only=False)
    filled = np.flatnonzero(indices.lengths)
    ends = np.cumsum(indices.lengths[filled])
    falls = flat[1:] <= flat[:-1]
    falls[ends[:-1] - 1] = False  # the step from one row to the next may fall
    if falls.any():
        broken[indices.owners(np.flatnonzero(falls))] = True
    # If indices ascend, it is enough to check the first and the last.
    first, last = flat[ends - indices.lengths[filled]], flat[ends - 1]
    broken[filled[(first < 0) | (last >= widths[filled])]] = True
    return broken


def _numbers(flat: Any) -> Array:
    """Return the values as float32 or float64. Integers become float64 and nulls become 0."""
    numbers = (pc.fill_null(flat, 0) if flat.null_count else flat).to_numpy(zero_copy_only=False)
    return numbers if numbers.dtype in (np.float32, np.float64) else numbers.astype(np.float64)


def _matrix(opened: _ColumnParts, width: int | None) -> Any:
    """Return a dense matrix if all rows are dense and have the same width, otherwise a CSR matrix."""
    values, indices, is_sparse, widths = opened
    numbers, n = _numbers(values.flat), len(widths)
    columns = max(1, width if width is not None else int(widths.max(initial=0)))
    if indices is None and (widths == columns).all():
        return numbers.reshape(n, columns)
    starts = np.concatenate([[0], np.cumsum(values.lengths)])
    if indices is not None and is_sparse.all():
        places = indices.flat.to_numpy(zero_copy_only=False)
    else:
        places = np.arange(starts[-1]) - np.repeat(starts[:-1], values.lengths)
        if indices is not None:
            places[np.repeat(is_sparse, values.lengths)] = indices.flat.to_numpy(zero_copy_only=False)
    index = np.int32 if max(columns, starts[-1]) <= np.iinfo(np.int32).max else np.int64
    return sparse.csr_matrix((numbers, places.astype(index, copy=False), starts.astype(index)), shape=(n, columns))
