"""Weighted sampling on a GPU: divides rows into blocks and chooses the method for short or that for long rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._interface import GcwsParams
from .._rows import CsrRows, Rows
from ._device import Gpu
from ._gcws_bounds import hash_by_bounds
from ._gcws_values import CODE8, CODE16, CODE32, FINGERPRINTS, SAMPLES, Wanted, values_of
from ._gcws_walk import ROWS_AT_ONCE, hash_by_walks

MOST_VALUES = 1 << 26  # values of a block of rows
MOST_WINNERS = 1 << 27  # samples of a block of rows
LONG_ROWS = 56  # values per row from which on bounds pay
THREADS = 256


def gcws_codes(gpu: Gpu, rows: Rows, params: GcwsParams, bits: int, t_bits: int) -> tuple[Any, Any]:
    width = bits + t_bits
    what, dtype = (CODE8, np.uint8) if width <= 8 else (CODE16, np.uint16) if width <= 16 else (CODE32, np.uint32)
    codes = gpu.xp.empty((len(rows), params.n_components), dtype)
    return codes, _hashed(gpu, rows, params, Wanted(params.seed, bits, t_bits, what, codes))


def gcws_samples(gpu: Gpu, rows: Rows, params: GcwsParams) -> tuple[Any, Any, Any]:
    slots, t = (gpu.xp.empty((len(rows), params.n_components), np.int64) for _ in range(2))
    return slots, t, _hashed(gpu, rows, params, Wanted(params.seed, 0, 0, SAMPLES, slots, t))


def gcws_fingerprints(gpu: Gpu, rows: Rows, params: GcwsParams) -> tuple[Any, Any]:
    codes = gpu.xp.empty((len(rows), params.n_components), np.uint8)
    return codes, _hashed(gpu, rows, params, Wanted(params.seed, 0, 0, FINGERPRINTS, codes))


def concatenate(gpu: Gpu, slots: Any, t: Any, counts: Any) -> Any:
    xp, n = gpu.xp, len(slots)
    starts = xp.zeros(len(counts) + 1, np.int64)
    starts[1:] = xp.cumsum(counts)
    joined = xp.empty((n, len(counts)), np.int64)
    if joined.size:
        slots, t = xp.ascontiguousarray(slots), xp.ascontiguousarray(t)
        grid = (-(-joined.size // THREADS),)
        gpu.launch(
            "gcws", "gcws_concatenate", grid, (THREADS,), slots, t, n, slots.shape[1], starts, len(counts), joined
        )
    return joined


def _hashed(gpu: Gpu, rows: Rows, params: GcwsParams, wanted: Wanted) -> Any:
    """Hash rows block by block. Returns the flags of empty rows."""
    empty = gpu.xp.empty(len(rows), np.uint8)

    def work(block: int) -> None:
        for part in _blocks(rows, params.n_components, block):
            values = values_of(gpu, rows.part(part), params)
            hash_values = hash_by_bounds if values.values_per_row >= LONG_ROWS else hash_by_walks
            hash_values(gpu, values, wanted.of_rows(part), empty[part])

    gpu.in_blocks(work, -(-len(rows) // ROWS_AT_ONCE) * ROWS_AT_ONCE, ROWS_AT_ONCE, "hashing blocks")
    return empty.view(np.bool_)


def _blocks(rows: Rows, k: int, most: int) -> Iterator[slice]:
    """Yield ranges of at most ``most`` rows whose values and samples the kernels can number."""
    n = len(rows)
    step = max(
        ROWS_AT_ONCE, min(most, MOST_WINNERS // k, n if isinstance(rows, CsrRows) else MOST_VALUES // rows.n_features)
    )
    step = -(-step // ROWS_AT_ONCE) * ROWS_AT_ONCE
    start = 0
    while start < n:
        stop = min(n, start + step)
        if isinstance(rows, CsrRows):
            while stop - start > ROWS_AT_ONCE and int(rows.indptr[stop] - rows.indptr[start]) > MOST_VALUES:
                stop = start + -(-(stop - start) // (2 * ROWS_AT_ONCE)) * ROWS_AT_ONCE
        yield slice(start, stop)
        start = stop
