"""Min-max kernel matrices on a GPU: packs rows and launches the kernels of ``gmm.cu``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._interface import ByteRows, Ratio
from .._rows import CsrRows
from ._device import REALS, THREADS, Gpu, written_to

STAGES, FEATURES, TOGETHER = 2, 16, 128  # of gmm.cu: stages of copies, features per stage, packed rows
TILES = {np.dtype(np.float32): (128, 32, 128), np.dtype(np.float64): (64, 64, 256)}  # rows, columns, threads of a block
BYTE_TILE, BYTE_FEATURES = 128, 64
SPARSE_ROWS = 1 << 15  # rows of one launch, below the largest grid


class Packed(NamedTuple):
    """Dense rows as ``gmm.cu`` reads them."""

    values: Any
    vectors: int
    sums: Any
    norms: Any
    nonempty: Any


def gmm(gpu: Gpu, a: Any, b: Any, ratio: Ratio, symmetric: bool, out: Any) -> Any:
    """Compute a block of the matrix, as :meth:`Kernels.gmm` says."""
    compute = _sparse if isinstance(a, CsrRows) else _bytes if isinstance(a, ByteRows) else _dense
    return compute(gpu, a, b, ratio, symmetric, out)


def _dense(gpu: Gpu, a: Any, b: Any, ratio: Ratio, symmetric: bool, out: Any) -> Any:
    dtype = np.dtype(a.dtype)
    rows, columns, threads = TILES[dtype]
    left = _pack(gpu, a)
    right = left if symmetric or b is a else _pack(gpu, b)
    n, m, vectors = a.shape[0], b.shape[0], left.vectors
    shared = STAGES * (rows + columns) * FEATURES * dtype.itemsize + 8 * rows * columns
    found, stride = _target(gpu, out, (n, m), dtype)
    gpu.launch(
        "gmm",
        f"gmm_dense_{REALS[dtype]}",
        (-(-m // columns), -(-n // rows)),
        (threads,),
        *(left.values, left.sums, left.norms, left.nonempty, n),
        *(right.values, right.sums, right.norms, right.nonempty, m),
        *(vectors, found, stride, int(ratio), int(symmetric)),
        shared=shared,
    )
    return written_to(out, found)


def _bytes(gpu: Gpu, a: ByteRows, b: ByteRows, ratio: Ratio, symmetric: bool, out: Any) -> Any:
    dtype = np.dtype(a.norms.dtype)
    left, vectors = _pack_words(gpu, a.values)
    right = left if symmetric or b.values is a.values else _pack_words(gpu, b.values)[0]
    n, m = len(a.values), len(b.values)
    found, stride = _target(gpu, out, (n, m), dtype)
    xp = gpu.xp
    gpu.launch(
        "gmm",
        f"gmm_bytes_{REALS[dtype]}",
        (-(-m // BYTE_TILE), -(-n // BYTE_TILE)),
        (THREADS,),
        *(left, xp.ascontiguousarray(a.norms), n),
        *(right, xp.ascontiguousarray(b.norms), m),
        *(vectors, found, stride, int(ratio), int(symmetric)),
        shared=max(STAGES * 2 * BYTE_TILE * BYTE_FEATURES, 4 * BYTE_TILE**2),
    )
    return written_to(out, found)


def _sparse(gpu: Gpu, a: CsrRows, b: CsrRows, ratio: Ratio, _symmetric: bool, out: Any) -> Any:
    xp, dtype = gpu.xp, np.dtype(a.dtype)
    index = np.result_type(a.indices.dtype, b.indices.dtype)
    left, right = _csr(xp, a, index), _csr(xp, b, index)
    n, m = len(a), len(b)
    a_norms, b_norms = (_norms(gpu, *side) for side in (left, right))
    found, stride = _target(gpu, out, (n, m), dtype)
    name = f"gmm_sparse_{REALS[dtype]}_{'i32' if index.itemsize == 4 else 'i64'}"
    for start in range(0, n, SPARSE_ROWS):
        stop = min(n, start + SPARSE_ROWS)
        gpu.launch(
            "gmm",
            name,
            (-(-m // THREADS), stop - start),
            (THREADS,),
            *(left[0][start:], left[1], left[2], a_norms[start:], stop - start),
            *(*right, b_norms, m),
            *(found[start:], stride, int(ratio)),
        )
    return written_to(out, found)


def row_maxima(gpu: Gpu, indptr: Any, values: Any) -> Any:
    """Return the largest of the values of each sparse row; they are float64 and not negative."""
    xp, n = gpu.xp, len(indptr) - 1
    largest = xp.empty(n, np.float64)
    arguments = (xp.ascontiguousarray(indptr), xp.ascontiguousarray(values), n, largest)
    gpu.over(n, "gmm", "gmm_maxima", *arguments)
    return largest


def _pack(gpu: Gpu, x: Any) -> Packed:
    """Pack dense rows and compute their sums and norms."""
    xp, dtype, (n, d) = gpu.xp, np.dtype(x.dtype), x.shape
    if not (d == 1 or x.strides[1] == dtype.itemsize) or x.strides[0] % dtype.itemsize or x.strides[0] < 0:
        x = xp.ascontiguousarray(x)
    per_vector = 16 // dtype.itemsize
    rows, vectors = max(1, -(-n // TOGETHER)) * TOGETHER, -(-d // FEATURES) * FEATURES // per_vector
    packed = xp.empty((vectors, rows, per_vector), dtype)
    name, stride = REALS[dtype], x.strides[0] // dtype.itemsize
    grid = (-(-rows // 32), -(-vectors * per_vector // 32))
    gpu.launch("gmm", f"gmm_pack_{name}", grid, (32, 8), x, n, d, stride, rows, vectors, packed)
    sums, norms, nonempty = xp.empty(rows, dtype), xp.empty(rows, dtype), xp.empty(rows, np.uint8)
    gpu.over(rows, "gmm", f"gmm_sums_{name}", packed, rows, vectors, sums, norms, nonempty)
    return Packed(packed, vectors, sums, norms, nonempty)


def _pack_words(gpu: Gpu, x: Any) -> tuple[Any, int]:
    """Pack rows of bytes, a multiple of eight per row, as words of four bytes."""
    x, per_vector = gpu.xp.ascontiguousarray(x).view(np.uint32), 4
    n, d = x.shape
    rows = max(1, -(-n // TOGETHER)) * TOGETHER
    vectors = -(-4 * d // BYTE_FEATURES) * BYTE_FEATURES // 16
    packed = gpu.xp.empty((vectors, rows, per_vector), np.uint32)
    grid = (-(-rows // 32), -(-vectors * per_vector // 32))
    gpu.launch("gmm", "gmm_pack_u32", grid, (32, 8), x, n, d, d, rows, vectors, packed)
    return packed, vectors


def _csr(xp: Any, rows: CsrRows, index: Any) -> tuple[Any, Any, Any]:
    contiguous = xp.ascontiguousarray
    return contiguous(rows.indptr), contiguous(rows.indices.astype(index, copy=False)), contiguous(rows.data)


def _norms(gpu: Gpu, indptr: Any, _indices: Any, data: Any) -> Any:
    n = indptr.shape[0] - 1
    norms = gpu.xp.empty(n, np.float64)
    gpu.over(n, "gmm", f"gmm_norms_{REALS[np.dtype(data.dtype)]}", indptr, data, n, norms)
    return norms


def _target(gpu: Gpu, out: Any, shape: tuple[int, int], dtype: Any) -> tuple[Any, int]:
    """Return the array that a kernel writes to, and its elements between rows: ``out``, if kernels can."""
    if out is not None and out.dtype == dtype and out.strides[1] == dtype.itemsize and out.strides[0] > 0:
        return out, out.strides[0] // dtype.itemsize
    return gpu.xp.empty(shape, dtype), shape[1]
