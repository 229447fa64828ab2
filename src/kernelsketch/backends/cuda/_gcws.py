"""Weighted sampling on a GPU: divides rows into blocks and chooses the method for short or that for long rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._array import code_dtype
from .._interface import GcwsParams
from .._rows import CsrRows, Rows
from ._device import Gpu
from ._gcws_bounds import hash_by_bounds
from ._gcws_values import CODES, FINGERPRINTS, SAMPLES, Wanted, values_of
from ._gcws_walk import ROWS_AT_ONCE, hash_by_walks

MOST_VALUES = 1 << 26  # values of a block of rows
MOST_WINNERS = 1 << 27  # samples of a block of rows
LONG_ROWS = 56  # values per row from which on bounds pay


class CudaGcws:
    """Draws samples, as :class:`Hashes` says."""

    gpu: Gpu

    def gcws_codes(self, rows: Rows, params: GcwsParams, bits: int, t_bits: int) -> tuple[Any, Any]:
        dtype = code_dtype(bits + t_bits)
        codes = self.gpu.xp.empty((len(rows), params.n_components), dtype)
        return codes, _hashed(self.gpu, rows, params, Wanted(params.seed, bits, t_bits, CODES[dtype.itemsize], codes))

    def gcws_samples(self, rows: Rows, params: GcwsParams) -> tuple[Any, Any, Any]:
        slots, t = (self.gpu.xp.empty((len(rows), params.n_components), np.int64) for _ in range(2))
        return slots, t, _hashed(self.gpu, rows, params, Wanted(params.seed, 0, 0, SAMPLES, slots, t))

    def gcws_fingerprints(self, rows: Rows, params: GcwsParams) -> tuple[Any, Any]:
        codes = self.gpu.xp.empty((len(rows), params.n_components), np.uint8)
        return codes, _hashed(self.gpu, rows, params, Wanted(params.seed, 0, 0, FINGERPRINTS, codes))

    def concatenate(self, slots: Any, t: Any, counts: Any) -> Any:
        xp, n = self.gpu.xp, len(slots)
        starts = xp.zeros(len(counts) + 1, np.int64)
        starts[1:] = xp.cumsum(counts)
        joined = xp.empty((n, len(counts)), np.int64)
        if joined.size:
            sides = xp.ascontiguousarray(slots), xp.ascontiguousarray(t)
            arguments = (*sides, n, slots.shape[1], starts, len(counts), joined)
            self.gpu.over(joined.size, "gcws", "gcws_concatenate", *arguments)
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
