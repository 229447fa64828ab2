"""Vectors: indexed rows as the index stores them for re-ranking, as bytes, float32 or sparse float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._array import Array
from .._rows import MOST_FEATURES
from .._threads import on_threads
from .._validation import row_batches
from ..backends import CsrRows, DenseRows, Rows, Vectors, backend_for
from ..exceptions import InputError

SMALLEST, LARGEST = 2.0**-100, 2.0**100  # L1 norms of rows that float32 holds at full precision
COUNTED = 1 << 24  # values whose features are counted one by one
NEAR_ONE = 2.0**60  # data is scaled only if its largest value is further from 1 than this factor
DAMAGED_FILE = "GCWSIndex.load(path) checks the whole file."
DAMAGED = "the index file is damaged: its row pointers do not ascend. " + DAMAGED_FILE


class VectorTransform(NamedTuple):
    """How rows become vectors: subtract the center, scale by 2**-exponent, take signed p-th powers.

    GMM of vectors is then pGMM of the rows. The transform is learned from the first rows and used for all later ones.
    """

    center: Array | None
    p: float
    exponent: int
    sparse: bool


def choose_transform(rows: Rows, center: Array | None, p: float, threads: int) -> VectorTransform:
    """Choose the transform for the first rows. It scales them only if float32 could not hold them or their powers."""
    if center is None or isinstance(rows, CsrRows):  # sparse rows have no center
        found = backend_for(*rows.arrays, threads=threads).measure(rows)
        largest = max(found.high, -found.low)
    else:
        sizes = on_threads(lambda part: float(np.abs(_centered(rows, part, center)).max()), _parts(rows), threads)
        largest = max(sizes)
    fits = p == 1.0 and 1 / NEAR_ONE <= largest <= NEAR_ONE
    return VectorTransform(center, p, 0 if fits or largest == 0 else int(np.frexp(largest)[1]), rows.sparse)


def to_vectors(rows: Rows, empty: Array, transform: VectorTransform, threads: int) -> Vectors:
    """Convert checked rows to vectors with their norms. They can be dense or CSR, whatever the first rows were."""
    found, lost = _with_norms(rows, empty, transform, threads)
    if lost.any():
        row = int(np.argmax(lost))
        power = "" if transform.p == 1.0 else f", raised to p={transform.p:g},"
        raise InputError(
            f"X has values that float32 cannot hold{power} at the scale of the first indexed rows (row {row}). Bring "
            "the rows to a similar scale, or pass store_vectors=False to compare only their codes."
        )
    return found


def query_vectors(rows: Rows, empty: Array, transform: VectorTransform, threads: int) -> tuple[Vectors, Array]:
    """Convert queries to vectors, and return 1 for each that float32 cannot hold. Such a query becomes a zero row."""
    found, lost = _with_norms(rows, empty, transform, threads)
    if lost.any():
        found = found._replace(norms=np.where(lost, 0.0, found.norms))
        if found.dense is not None:
            found.dense[lost] = 0
        else:
            rows = found.csr
            rows.data[np.repeat(lost, np.diff(rows.indptr))] = 0
    return found, lost.astype(np.uint8)


def _with_norms(rows: Rows, empty: Array, transform: VectorTransform, threads: int) -> tuple[Vectors, Array]:
    """Return vectors with their norms, and whether float32 cannot hold a row."""
    if transform.sparse:
        found = _to_sparse(rows.to_csr(), transform)
    else:
        found = _to_dense(rows.to_dense().values, transform, threads)
    backend = backend_for(*rows.arrays, threads=threads)
    norms = found.norms if found.bytes is not None else backend.index_norms(found)
    lost = ~(norms <= LARGEST) | ((norms < SMALLEST) & (empty == 0))
    return found._replace(norms=norms), np.asarray(lost)


def empty_rows(rows: Rows) -> Array:
    """Return 1 for all-zero rows and 0 for others."""
    if not isinstance(rows, CsrRows):
        return np.asarray(~rows.values.any(axis=1), np.uint8)
    ends = rows.indptr if rows.data.all() else np.concatenate([[0], np.cumsum(rows.data != 0)])[rows.indptr]
    return np.asarray(np.diff(ends) == 0, np.uint8)


def part_of(x: Vectors, rows: slice | Array) -> Vectors:
    """Return some of the rows: those of a slice as views, others copied."""
    if x.indptr is None:
        bytes_, dense = (None if part is None else part[rows] for part in (x.bytes, x.dense))
        return Vectors(x.norms[rows], bytes=bytes_, dense=dense)
    csr = x.csr
    if isinstance(rows, slice):
        return _of_csr(x.norms[rows], csr.part(rows))
    begins, ends = csr.indptr[rows], csr.indptr[rows + 1]
    sizes = ends - begins
    if len(sizes) and (sizes.min() < 0 or begins.min() < 0 or ends.max() > len(csr.data)):
        raise InputError(DAMAGED)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    source = np.repeat(begins - indptr[:-1], sizes) + np.arange(indptr[-1])
    return _of_csr(x.norms[rows], CsrRows(indptr, csr.indices[source], csr.data[source], x.n_features))


def join(parts: Sequence[Vectors]) -> Vectors:
    """Concatenate vectors. The result has bytes only if all parts have bytes."""
    norms = np.concatenate([x.norms for x in parts])
    if parts[0].indptr is not None:
        return _of_csr(norms, stacked([x.csr for x in parts]))
    if all(x.bytes is not None for x in parts):
        return Vectors(norms, bytes=np.concatenate([x.bytes for x in parts if x.bytes is not None]))
    return Vectors(norms, dense=np.concatenate([as_floats(x) for x in parts]))


def as_rows(x: Vectors) -> Rows:
    """Return vectors as rows. Row pointers of a damaged file that do not ascend within the values are refused."""
    if x.indptr is None:
        return DenseRows(as_floats(x))
    if (x.indptr[1:] < x.indptr[:-1]).any() or x.indptr[0] < 0 or x.indptr[-1] > len(x.csr.data):
        raise InputError(DAMAGED)
    return x.csr


def _of_csr(norms: Array, rows: CsrRows) -> Vectors:
    return Vectors(norms, None, None, rows.indptr, rows.indices, rows.data, rows.n_features)


def stacked(parts: Sequence[CsrRows]) -> CsrRows:
    """Return the rows of all parts, one part after the other."""
    sizes = np.concatenate([[0], *(np.diff(part.indptr) for part in parts)])
    indices, data = (np.concatenate([getattr(part, name) for part in parts]) for name in ("indices", "data"))
    return CsrRows(np.cumsum(sizes), indices, data, parts[0].n_features)


def as_floats(x: Vectors) -> Array:
    return np.asarray(x.bytes if x.dense is None else x.dense, np.float32)


def for_search(x: Vectors, against: Sequence[Vectors]) -> Vectors:
    """Give queries that are bytes a float32 form as well if some of the indexed rows are float32."""
    if x.indptr is None and x.dense is None and any(y.bytes is None for y in against):
        return x._replace(dense=as_floats(x))
    return x


def vocabulary_size(parts: Sequence[Vectors]) -> int:
    """Return how many features of texts occur in sparse vectors.

    Features are hashes. If there are many values, those below a limit are counted, a known share of all.
    """
    halvings = max(0, (sum(len(x.csr.indices) for x in parts) // COUNTED).bit_length())
    limit = MOST_FEATURES >> halvings
    found = np.zeros(0, np.int64)
    for x in parts:
        indices = x.csr.indices
        for start in range(0, len(indices), COUNTED):
            some = indices[start : start + COUNTED]
            found = np.union1d(found, some[some < limit])
    return len(found) << halvings


def nbytes(x: Vectors | None) -> int:
    return 0 if x is None else sum(part.nbytes for part in x if isinstance(part, np.ndarray))


def _parts(rows: Rows) -> Any:
    return row_batches(len(rows), rows.row_bytes)


def _centered(rows: DenseRows, part: slice, center: Array | None) -> Array:
    """Return the values of some rows minus the center, in float64 if there is one."""
    return np.asarray(rows.values[part] if center is None else rows.values[part].astype(np.float64) - center)


def _scaled(values: Array, transform: VectorTransform) -> Array:
    """Return values as float32, scaled and raised to the power p with their sign."""
    with np.errstate(over="ignore", under="ignore"):
        if transform.exponent or transform.p != 1.0:
            values = np.ldexp(values.astype(np.float64), -transform.exponent)
        if transform.p != 1.0:
            values = np.copysign(np.abs(values) ** transform.p, values)
        return values.astype(np.float32)


def _to_dense(values: Array, transform: VectorTransform, threads: int) -> Vectors:
    """Convert rows to bytes with their norms if they are whole numbers from 0 to 255, otherwise to float32."""
    rows, backend = DenseRows(values), backend_for(values, threads=threads)
    if transform.p == 1.0 and transform.exponent == 0 and transform.center is None:
        found = backend.measure(rows)
        if found.small and found.low >= 0:
            small, norms = backend.to_bytes(values, 0, rows.n_features)
            return Vectors(norms, bytes=small)
    dense = np.empty(rows.shape, np.float32)

    def convert(part: slice) -> None:
        dense[part] = _scaled(_centered(rows, part, transform.center), transform)

    list(on_threads(convert, _parts(rows), threads))
    return Vectors(np.zeros(0), dense=dense)


def _to_sparse(rows: CsrRows, transform: VectorTransform) -> Vectors:
    data = _scaled(rows.data, transform)
    indices = rows.indices.astype(np.int32 if rows.n_features <= np.iinfo(np.int32).max else np.int64)
    indptr = rows.indptr.copy()  # the index must not share memory with the user's matrix
    if not data.all():  # explicit zeros, and values that underflowed
        ends = np.concatenate([[0], np.cumsum(data != 0)])
        indptr, indices, data = ends[indptr], indices[data != 0], data[data != 0]
    return _of_csr(np.zeros(0), CsrRows(indptr, indices, data, rows.n_features))
