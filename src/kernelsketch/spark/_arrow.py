"""Features and codes as columns of Arrow: what Spark takes for its vectors, and packed codes as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .._hash_info import HashInfo
from ..codes import PackedCodes
from ..exceptions import InputError

Array = NDArray[Any]

VECTOR = pa.struct(
    [
        pa.field("type", pa.int8(), nullable=False),
        pa.field("size", pa.int32()),
        pa.field("indices", pa.list_(pa.field("element", pa.int32(), nullable=False))),
        pa.field("values", pa.list_(pa.field("element", pa.float64(), nullable=False))),
    ]
)


def sparse_vectors(X: Any) -> Any:
    """A CSR matrix as sparse vectors."""
    n, width = X.shape
    offsets = pa.array(np.asarray(X.indptr, np.int32))
    indices = pa.ListArray.from_arrays(offsets, pa.array(np.asarray(X.indices, np.int32)), type=VECTOR.field(2).type)
    values = pa.ListArray.from_arrays(offsets, pa.array(np.asarray(X.data, np.float64)), type=VECTOR.field(3).type)
    kinds, sizes = pa.array(np.zeros(n, np.int8)), pa.array(np.full(n, width, np.int32))
    return pa.StructArray.from_arrays([kinds, sizes, indices, values], fields=list(VECTOR))


def dense_vectors(X: Array) -> Any:
    """An array as dense vectors."""
    n, width = X.shape
    offsets = pa.array(np.arange(n + 1, dtype=np.int32) * np.int32(width))
    values = pa.ListArray.from_arrays(offsets, pa.array(np.asarray(X, np.float64).ravel()), type=VECTOR.field(3).type)
    none = pa.nulls(n, VECTOR.field(2).type)
    return pa.StructArray.from_arrays(
        [pa.array(np.ones(n, np.int8)), pa.nulls(n, pa.int32()), none, values], fields=list(VECTOR)
    )


def packed_bytes(codes: PackedCodes) -> Any:
    """Packed codes as bytes; those of an empty row, which has no codes, are none."""
    kept = codes.packed[~codes.empty] if codes.empty.any() else codes.packed
    size = codes.packed.shape[1]
    offsets = np.concatenate([[0], np.cumsum(np.where(codes.empty, 0, size))]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(kept))]
    return pa.Array.from_buffers(pa.binary(), len(codes), buffers)


def codes_of(column: Any, n_components: int, bits: int, t_bits: int, info: HashInfo) -> PackedCodes:
    """The other way: bytes, as a column of Arrow or a list, to packed codes."""
    if not isinstance(column, pa.Array):
        column = pa.array([None if row is None else bytes(row) for row in column], pa.large_binary())
    column = column.cast(pa.large_binary())
    if column.null_count:
        raise InputError("codes hold a null: leave out rows that were not hashed.")
    size = -(-n_components * (bits + t_bits) // 8)
    lengths = pc.binary_length(column).to_numpy(zero_copy_only=False)
    empty = lengths == 0
    wrong = ~empty & (lengths != size)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"codes of row {row} have {lengths[row]} bytes, {n_components} codes of {bits + t_bits} bits have {size}: "
            "read them with the parameters that they were made with."
        )
    packed = np.zeros((len(column), size), np.uint8)
    if not empty.all():
        offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
        flat = np.frombuffer(column.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
        packed[~empty] = flat.reshape(-1, size)
    return PackedCodes(packed, empty, n_components, bits, t_bits, info)
