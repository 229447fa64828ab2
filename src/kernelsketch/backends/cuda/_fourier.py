"""Random Fourier features on a GPU, by the kernels of ``fourier.cu``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._interface import FourierParams
from .._rows import CsrRows, DenseRows, Rows
from ._device import REALS, THREADS, Gpu, written_to

TILE, WARPS = 64, 8
TABLE_BYTES = 1 << 28
SCALED_BYTES = 1 << 30  # scaled rows of a block
SPARSE_ROWS = 1 << 15  # rows of one launch, below the largest grid


def fourier(gpu: Gpu, rows: Rows, params: FourierParams, out: Any) -> Any:
    """Return features (rows, n_components), or None if a value is NaN or infinite."""
    xp, n = gpu.xp, len(rows)
    found = out if out is not None and out.flags.c_contiguous else xp.empty((n, params.n_components), rows.dtype)
    sparse = isinstance(rows, CsrRows)
    largest = SPARSE_ROWS if sparse else SCALED_BYTES // (rows.n_features * rows.dtype.itemsize)

    def work(block: int) -> bool:
        parts = [slice(start, min(n, start + block)) for start in range(0, n, block)]
        return all(_features(gpu, rows.part(part), params, found[part]) for part in parts)

    step = -(-max(1, min(n, largest)) // TILE) * TILE
    if not gpu.in_blocks(work, step, TILE, "blocks of Fourier features"):
        return None
    return written_to(out, found)


def _features(gpu: Gpu, rows: Rows, params: FourierParams, out: Any) -> bool:
    """Compute the features of a block of rows, and return whether all values are finite."""
    return _sparse(gpu, rows, params, out) if isinstance(rows, CsrRows) else _dense(gpu, rows, params, out)


def _dense(gpu: Gpu, rows: DenseRows, params: FourierParams, out: Any) -> bool:
    xp, (n, d), dtype = gpu.xp, rows.shape, np.dtype(rows.dtype)
    x, name = xp.ascontiguousarray(rows.values), REALS[dtype]
    scaled, empty, bad = xp.empty((n, d), dtype), xp.empty(n, np.uint8), xp.zeros(1, np.int32)
    scale = math.sqrt(params.gamma) / (2 * math.pi)
    gpu.over(n, "fourier", f"fourier_scale_{name}", x, n, d, scale, scaled, empty, bad)
    if int(bad[0]):
        return False
    for first, weights, phases in _tables(gpu, params, None, d):
        hashes = len(phases)
        grid = (-(-hashes // TILE), -(-n // TILE))
        arguments = (scaled, n, d, weights, phases, hashes, hashes, out[:, first:], params.n_components)
        gpu.launch("fourier", f"fourier_cosines_{name}", grid, (THREADS,), *arguments)
    _finish(gpu, params, out, empty, name)
    return True


def _sparse(gpu: Gpu, rows: CsrRows, params: FourierParams, out: Any) -> bool:
    xp, n, dtype = gpu.xp, len(rows), np.dtype(rows.dtype)
    name, starts = REALS[dtype], xp.ascontiguousarray(rows.indptr)
    features, data = xp.ascontiguousarray(rows.indices.astype(np.int64)), xp.ascontiguousarray(rows.data)
    scaled, empty, bad = xp.empty(len(data), dtype), xp.empty(n, np.uint8), xp.zeros(1, np.int32)
    scale = math.sqrt(params.gamma) / (2 * math.pi)
    gpu.over(n, "fourier", f"fourier_scale_sparse_{name}", starts, features, data, n, scale, scaled, empty, bad)
    if int(bad[0]):
        return False
    used, numbers = xp.unique(features, return_inverse=True)
    numbers = xp.ascontiguousarray(numbers.reshape(-1).astype(np.int64))
    for first, weights, phases in _tables(gpu, params, used, max(1, len(used))):
        hashes = len(phases)
        arguments = (starts, numbers, scaled, weights, phases, hashes, hashes, out[:, first:], params.n_components)
        gpu.launch("fourier", f"fourier_cosines_sparse_{name}", (-(-hashes // THREADS), n), (THREADS,), *arguments)
    _finish(gpu, params, out, empty, name)
    return True


def _tables(gpu: Gpu, params: FourierParams, features: Any, count: int) -> Any:
    """Yield weights and phases of as many hashes at a time as there is room for."""
    xp, k, seed = gpu.xp, params.n_components, np.uint64(params.seed)
    step = min(k, max(TILE, TABLE_BYTES // (4 * count) // TILE * TILE))
    for first in range(0, k, step):
        hashes = min(k - first, step)
        weights, phases = xp.empty((count, hashes), np.float32), xp.empty(hashes, np.float32)
        if features is None or len(features):
            arguments = (seed, features, first, hashes, weights)
            gpu.launch("fourier", "fourier_weights", (count,), (THREADS,), *arguments)
        gpu.over(hashes, "fourier", "fourier_phases", seed, first, hashes, phases)
        yield first, weights, phases


def _finish(gpu: Gpu, params: FourierParams, out: Any, empty: Any, name: str) -> None:
    n, k = out.shape
    factor = math.sqrt(2 / k)
    grid, arguments = (-(-n // WARPS),), (out, n, k, k, int(params.normalize), factor, empty)
    gpu.launch("fourier", f"fourier_finish_{name}", grid, (THREADS,), *arguments)
