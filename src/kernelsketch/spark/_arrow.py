"""Conversions between arrays and Arrow columns: Spark vectors, packed codes and packed rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .._array import Array
from ..exceptions import InputError
from ..hashing import Hasher, PackedCodes

VECTOR = pa.struct(
    [
        pa.field("type", pa.int8(), nullable=False),
        pa.field("size", pa.int32()),
        pa.field("indices", pa.list_(pa.field("element", pa.int32(), nullable=False))),
        pa.field("values", pa.list_(pa.field("element", pa.float64(), nullable=False))),
    ]
)


def sparse_vectors(X: Any) -> Any:
    """Convert a CSR matrix to a column of sparse vectors."""
    n, width = X.shape
    offsets = pa.array(np.asarray(X.indptr, np.int32))
    indices = pa.ListArray.from_arrays(offsets, pa.array(np.asarray(X.indices, np.int32)), type=VECTOR.field(2).type)
    values = pa.ListArray.from_arrays(offsets, pa.array(np.asarray(X.data, np.float64)), type=VECTOR.field(3).type)
    kinds, sizes = pa.array(np.zeros(n, np.int8)), pa.array(np.full(n, width, np.int32))
    return pa.StructArray.from_arrays([kinds, sizes, indices, values], fields=list(VECTOR))


def dense_vectors(X: Array) -> Any:
    """Convert an array to a column of dense vectors."""
    n, width = X.shape
    offsets = pa.array(np.arange(n + 1, dtype=np.int32) * np.int32(width))
    values = pa.ListArray.from_arrays(offsets, pa.array(np.asarray(X, np.float64).ravel()), type=VECTOR.field(3).type)
    none = pa.nulls(n, VECTOR.field(2).type)
    return pa.StructArray.from_arrays(
        [pa.array(np.ones(n, np.int8)), pa.nulls(n, pa.int32()), none, values], fields=list(VECTOR)
    )


def packed_bytes(codes: PackedCodes) -> Any:
    """Convert packed codes to a column of bytes. An empty row has no codes and gets zero bytes."""
    kept = codes.packed[~codes.empty] if codes.empty.any() else codes.packed
    size = codes.packed.shape[1]
    offsets = np.concatenate([[0], np.cumsum(np.where(codes.empty, 0, size))]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(kept))]
    return pa.Array.from_buffers(pa.binary(), len(codes), buffers)


def codes_of(column: Any, hasher: Hasher, n_features: int) -> PackedCodes:
    """Convert a column or list of bytes back to packed codes."""
    if not isinstance(column, pa.Array):
        column = pa.array([None if row is None else bytes(row) for row in column], pa.large_binary())
    column = column.cast(pa.large_binary())
    if column.null_count:
        raise InputError("codes hold a null: drop the rows that were not hashed.")
    size = -(-hasher.n_components * hasher.width // 8)
    lengths = pc.binary_length(column).to_numpy(zero_copy_only=False)
    empty = lengths == 0
    wrong = ~empty & (lengths != size)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"codes of row {row} have {lengths[row]} bytes, but {hasher.n_components} codes of {hasher.width} bits "
            f"have {size}: use the parameters that the codes were made with."
        )
    packed = np.zeros((len(column), size), np.uint8)
    if not empty.all():
        offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
        flat = np.frombuffer(column.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
        packed[~empty] = flat.reshape(-1, size)
    return PackedCodes(packed, empty, hasher, n_features)


def packed_rows(X: Any) -> Any:
    """Convert a CSR matrix to a column of packed rows.

    A packed row is a sparse vector whose indices (4 bytes each) and values (8 bytes each) are little-endian bytes.
    """
    n, width = X.shape
    if 8 * X.nnz > np.iinfo(np.int32).max:
        raise InputError(
            f"{n} rows have {8 * X.nnz} bytes of values, but a batch of Spark holds at most 2**31 - 1: set "
            "spark.sql.execution.arrow.maxRecordsPerBatch to a smaller number."
        )
    parts = [pa.array(np.full(n, width, np.int32))]
    for numbers in (np.asarray(X.indices, "<i4"), np.asarray(X.data, "<f8")):
        offsets = np.asarray(X.indptr, np.int32) * np.int32(numbers.itemsize)
        parts.append(pa.Array.from_buffers(pa.binary(), n, [None, pa.py_buffer(offsets), pa.py_buffer(numbers)]))
    return pa.StructArray.from_arrays(parts, names=["size", "indices", "values"])


def unpacked(column: Any) -> Any:
    """Convert packed rows to sparse vectors without a copy.

    A row whose bytes are not a whole number of indices or values becomes a broken vector, which `read_rows` reports.
    """
    size, *parts = column.flatten()
    indices, values = (part.cast(pa.binary()) for part in parts)  # sessions may use large types
    wrong = _wrong(indices, 4) | _wrong(values, 8)
    if wrong.any():
        bad = pa.array(wrong)
        indices, values = pc.if_else(bad, b"", indices), pc.if_else(bad, bytes(8), values)
    kinds = pa.array(np.zeros(len(column), np.int8))
    parts = [kinds, size, _lists(indices, "<i4", VECTOR.field(2).type), _lists(values, "<f8", VECTOR.field(3).type)]
    mask = column.is_null() if column.null_count else None
    return pa.StructArray.from_arrays(parts, fields=list(VECTOR), mask=mask)


def _wrong(column: Any, size: int) -> Array:
    return np.asarray(pc.fill_null(pc.binary_length(column), 1)) % size != 0


def _lists(column: Any, dtype: str, kind: Any) -> Any:
    """Convert a column of bytes to a column of lists of numbers."""
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    flat = np.frombuffer(column.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]].view(dtype)
    starts = pa.array((offsets - offsets[0]) // np.int32(flat.itemsize))
    return pa.ListArray.from_arrays(starts, pa.array(np.require(flat, requirements="A")), type=kind)
