"""Columns of Arrow as rows: vectors of Spark ML (sparse and dense mixed) and arrays of numbers, without a Python loop.

Spark hands a vector to Python as a struct: type (0 sparse, 1 dense), size, indices, values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]

FAULTS = (
    "",
    "is null",
    "holds a null",
    "holds NaN or infinity",
    "is a broken sparse vector: indices must ascend within its size, one for each value",
    "has another width than {width}",
)
NULL, NULL_VALUE, NOT_FINITE, BROKEN, WIDTH = range(1, 6)


class Rows(NamedTuple):
    """Rows without fault, dense or canonical CSR; and for each row that came, the number of its fault or 0."""

    X: Any
    faults: Array


class _Lists(NamedTuple):
    """Lists one after the other: all values, and how many each row has."""

    flat: Any
    lengths: Array

    @classmethod
    def of(cls, column: Any) -> _Lists:
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        return cls(column.flatten(), lengths.astype(np.int64))

    def owners(self) -> Array:
        """The row of each value."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


def read_rows(column: Any, width: int | None) -> Rows:
    """Rows of a column; a ``width`` is asked of every row, None takes any."""
    faults = _faults(column, width)
    if faults.any():
        column = column.filter(pa.array(faults == 0))
    return Rows(_matrix(column, width), faults)


def _faults(column: Any, width: int | None) -> Array:
    faults = np.zeros(len(column), np.uint8)
    values, indices, is_sparse, widths = _open(column)
    if width is not None:
        faults[widths != width] = WIDTH
    if indices is not None:
        faults[_broken(values, indices, is_sparse, widths)] = BROKEN
    numbers = _numbers(values.flat)
    finite = np.isfinite(numbers)
    if not finite.all():
        faults[values.owners()[~finite]] = NOT_FINITE
    if values.flat.null_count:
        faults[values.owners()[np.asarray(values.flat.is_null())]] = NULL_VALUE
    if column.null_count:
        faults[np.asarray(column.is_null())] = NULL
    return faults


def _open(column: Any) -> tuple[_Lists, _Lists | None, Array, Array]:
    """Values, indices if there are any, which rows are sparse, and widths."""
    if not pa.types.is_struct(column.type):
        values = _Lists.of(column)
        return values, None, np.zeros(len(column), bool), values.lengths
    kind, size, indices, values = column.flatten()
    listed = _Lists.of(values)
    is_sparse = pc.fill_null(kind, 1).to_numpy(zero_copy_only=False) == 0
    if not is_sparse.any():
        return listed, None, is_sparse, listed.lengths
    sizes = pc.fill_null(size, 0).to_numpy(zero_copy_only=False)
    return listed, _Lists.of(indices), is_sparse, np.where(is_sparse, sizes, listed.lengths)


def _broken(values: _Lists, indices: _Lists, is_sparse: Array, widths: Array) -> Array:
    """Sparse rows whose indices cannot be used."""
    broken = np.where(is_sparse, indices.lengths != values.lengths, indices.lengths != 0)
    flat = pc.fill_null(indices.flat, -1).to_numpy(zero_copy_only=False)
    owners = indices.owners()
    broken[owners[(flat < 0) | (flat >= widths[owners])]] = True
    falls = (np.diff(flat) <= 0) & (owners[1:] == owners[:-1])
    broken[owners[1:][falls]] = True
    return broken


def _numbers(flat: Any) -> Array:
    """float32 and float64 as they are, whole numbers as float64; nulls as 0."""
    numbers = (pc.fill_null(flat, 0) if flat.null_count else flat).to_numpy(zero_copy_only=False)
    return numbers if numbers.dtype in (np.float32, np.float64) else numbers.astype(np.float64)


def _matrix(column: Any, width: int | None) -> Any:
    """Dense where all rows are dense and as wide as each other, else CSR."""
    values, indices, is_sparse, widths = _open(column)
    numbers, n = _numbers(values.flat), len(column)
    columns = max(1, width if width is not None else int(widths.max(initial=0)))
    if indices is None and (widths == columns).all():
        return numbers.reshape(n, columns)
    starts = np.concatenate([[0], np.cumsum(values.lengths)])
    index = np.int32 if max(columns, starts[-1]) <= np.iinfo(np.int32).max else np.int64
    places = (np.arange(starts[-1]) - np.repeat(starts[:-1], values.lengths)).astype(index)
    if indices is not None:
        places[is_sparse[values.owners()]] = indices.flat.to_numpy(zero_copy_only=False)
    return sparse.csr_matrix((numbers, places, starts.astype(index)), shape=(n, columns))
