"""Rows as an index keeps them for exact comparison: bytes, float32, or sparse float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._validation import row_batches
from ..backends import CsrRows, DenseRows, Rows, Vectors, backend_for
from ..exceptions import InputError

Array = NDArray[Any]

STEP_BYTES = 1 << 24
SMALLEST, LARGEST = 2.0**-100, 2.0**100  # norms of rows that are kept in float32 with all their bits
NEAR_ONE = 2.0**60  # data that is not further from 1 is kept as it is


class Kept(NamedTuple):
    """What is done to rows before they are kept: minus the center, times 2**-exponent, signed p-th powers."""

    center: Array | None
    p: float
    exponent: int
    sparse: bool


def choose_kept(rows: Rows, center: Array | None, p: float) -> Kept:
    """Scale by a power of two where float32 or the p-th powers could not hold the data as it is."""
    largest = 0.0
    for part in _parts(rows):
        block = _centered(rows, part, center)
        largest = max(largest, float(np.abs(block).max(initial=0.0)))
    fits = p == 1.0 and 1 / NEAR_ONE <= largest <= NEAR_ONE
    return Kept(center, p, 0 if fits or largest == 0 else int(np.frexp(largest)[1]), rows.sparse)


def keep(rows: Rows, empty: Array, how: Kept, threads: int) -> Vectors:
    """Checked rows as vectors. Rows come dense or CSR, whatever was indexed first."""
    found = _keep_sparse(rows.to_csr(), how) if how.sparse else _keep_dense(rows.to_dense().values, how)
    backend = backend_for(*rows.arrays, threads=threads)
    norms = _byte_norms(found.bytes) if found.bytes is not None else backend.index_norms(found)
    lost = ~(norms <= LARGEST) | ((norms < SMALLEST) & (empty == 0))
    if lost.any():
        row = int(np.argmax(lost))
        power = "" if how.p == 1.0 else f", raised to p={how.p:g},"
        raise InputError(
            f"X holds values that cannot be kept as float32{power} beside the rows indexed first (row {row}): bring "
            "rows to a similar scale, or pass store_vectors=False to compare codes alone."
        )
    return found._replace(norms=norms)


def empty_rows(rows: Rows) -> Array:
    """1 for rows without a nonzero value."""
    if not isinstance(rows, CsrRows):
        return np.asarray(~rows.values.any(axis=1), np.uint8)
    ends = rows.indptr if rows.data.all() else np.concatenate([[0], np.cumsum(rows.data != 0)])[rows.indptr]
    return np.asarray(np.diff(ends) == 0, np.uint8)


def take(x: Vectors, rows: Array) -> Vectors:
    """Some of the rows."""
    if x.indptr is None:
        return _part_of_dense(x, rows)
    assert x.indices is not None
    assert x.data is not None
    sizes = np.diff(x.indptr)[rows]
    if len(sizes) and (sizes.min() < 0 or x.indptr[rows].min() < 0 or x.indptr[rows + 1].max() > len(x.data)):
        raise InputError("the index is damaged: vectors out of order. GCWSIndex.load(path) checks its file.")
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    source = np.repeat(x.indptr[rows] - indptr[:-1], sizes) + np.arange(indptr[-1])
    return x._replace(norms=x.norms[rows], indptr=indptr, indices=x.indices[source], data=x.data[source])


def join(parts: Sequence[Vectors]) -> Vectors:
    """Rows of several, one after the other; bytes only where all are bytes."""
    norms = np.concatenate([x.norms for x in parts])
    if parts[0].indptr is not None:
        ends = np.cumsum([0, *(len(x.data) for x in parts if x.data is not None)])
        starts = [x.indptr[:-1] + end for x, end in zip(parts, ends, strict=False) if x.indptr is not None]
        return parts[0]._replace(
            norms=norms,
            indptr=np.concatenate([*starts, ends[-1:]]).astype(np.int64),
            indices=np.concatenate([x.indices for x in parts if x.indices is not None]),
            data=np.concatenate([x.data for x in parts if x.data is not None]),
        )
    if all(x.bytes is not None for x in parts):
        return Vectors(norms, bytes=np.concatenate([x.bytes for x in parts if x.bytes is not None]))
    return Vectors(norms, dense=np.concatenate([as_floats(x) for x in parts]))


def as_floats(x: Vectors) -> Array:
    found = x.dense if x.dense is not None else x.bytes
    assert found is not None
    return found.astype(np.float32, copy=False)


def for_search(x: Vectors, against: Sequence[Vectors]) -> Vectors:
    """Queries in the forms that the rows they meet need."""
    if x.indptr is None and x.dense is None and any(y.bytes is None for y in against):
        return x._replace(dense=as_floats(x))
    return x


def _part_of_dense(x: Vectors, rows: Any) -> Vectors:
    bytes_, dense = (None if part is None else part[rows] for part in (x.bytes, x.dense))
    return Vectors(x.norms[rows], bytes=bytes_, dense=dense)


def nbytes(x: Vectors) -> int:
    return sum(part.nbytes for part in x if isinstance(part, np.ndarray))


def _parts(rows: Rows) -> Any:
    return row_batches(len(rows), rows.row_bytes, STEP_BYTES)


def _centered(rows: Rows, part: slice, center: Array | None) -> Array:
    """Values of some rows, in float64 if they are changed."""
    if isinstance(rows, CsrRows):
        return np.asarray(rows.data[rows.indptr[part.start] : rows.indptr[part.stop]])
    return np.asarray(rows.values[part] if center is None else rows.values[part].astype(np.float64) - center)


def _changed(values: Array, how: Kept) -> Array:
    """As float32: scaled, and raised to the power with their sign."""
    with np.errstate(over="ignore", under="ignore"):
        if how.exponent or how.p != 1.0:
            values = np.ldexp(values.astype(np.float64), -how.exponent)
        if how.p != 1.0:
            values = np.copysign(np.abs(values) ** how.p, values)
        return values.astype(np.float32)


def _keep_dense(values: Array, how: Kept) -> Vectors:
    rows = DenseRows(values)
    norms = np.zeros(0)
    if how.p == 1.0 and how.exponent == 0 and how.center is None:
        small = np.empty(rows.shape, np.uint8)
        for part in _parts(rows):
            block = values[part]
            with np.errstate(invalid="ignore"):
                small[part] = block
            if not np.array_equal(small[part], block):
                break
        else:
            return Vectors(norms, bytes=small)
    dense = np.empty(rows.shape, np.float32)
    for part in _parts(rows):
        dense[part] = _changed(_centered(rows, part, how.center), how)
    return Vectors(norms, dense=dense)


def _keep_sparse(rows: CsrRows, how: Kept) -> Vectors:
    index = np.int32 if rows.shape[1] <= np.iinfo(np.int32).max else np.int64
    data = _changed(rows.data, how)
    indices = rows.indices.astype(index)
    indptr = rows.indptr
    if not data.all():  # zeros that were stored, or values that vanished beside those of their row
        ends = np.concatenate([[0], np.cumsum(data != 0)])
        indptr, indices, data = ends[indptr], indices[data != 0], data[data != 0]
    return Vectors(np.zeros(0), indptr=indptr, indices=indices, data=data, n_features=rows.shape[1])


def _byte_norms(rows: Array) -> Array:
    return np.asarray(rows.sum(axis=1, dtype=np.int64), np.float64)


def part_of(x: Vectors, rows: slice) -> Vectors:
    """Successive rows, as views."""
    if x.indptr is None:
        return _part_of_dense(x, rows)
    assert x.indices is not None
    assert x.data is not None
    begin, end = int(x.indptr[rows.start]), int(x.indptr[rows.stop])
    return x._replace(
        norms=x.norms[rows],
        indptr=x.indptr[rows.start : rows.stop + 1] - begin,
        indices=x.indices[begin:end],
        data=x.data[begin:end],
    )
