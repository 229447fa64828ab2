"""Packing, numbering and comparing codes on a GPU, by the kernels of ``codes.cu``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._array import code_dtype
from ._device import THREADS, Gpu, written_to

TILE, BLOCKS = 64, 1024
MATCH_ROWS = 1 << 21  # rows of one launch, below the largest grid


class CudaCodes:
    """Packs, numbers and compares codes, as :class:`Hashes` says."""

    gpu: Gpu

    def pack(self, codes: Any, width: int) -> Any:
        xp, (n, k) = self.gpu.xp, codes.shape
        size = -(-k * width // 8)
        packed = xp.empty((n, size), np.uint8)
        if packed.size:
            codes = xp.ascontiguousarray(codes)
            self.gpu.over(packed.size, "codes", f"codes_pack_{_name(codes)}", codes, n, k, width, size, packed)
        return packed

    def unpack(self, packed: Any, width: int, n_components: int) -> Any:
        xp, n = self.gpu.xp, len(packed)
        codes = xp.empty((n, n_components), code_dtype(width))
        if codes.size:
            arguments = (xp.ascontiguousarray(packed), n, n_components, width, packed.shape[1], codes)
            self.gpu.over(codes.size, "codes", f"codes_unpack_{_name(codes)}", *arguments)
        return codes

    def used_codes(self, codes: Any, width: int) -> Any:
        xp = self.gpu.xp
        used = xp.zeros(1 << width, np.uint8)
        if codes.size:
            arguments = (xp.ascontiguousarray(codes), codes.size, used)
            self.gpu.launch("codes", f"codes_used_{_name(codes)}", (BLOCKS,), (THREADS,), *arguments)
        return used.view(np.bool_)

    def renumber(self, codes: Any, number_of: Any, *, out: Any = None) -> tuple[Any, int]:
        xp = self.gpu.xp
        found = out if out is not None and out.flags.c_contiguous else xp.empty(codes.shape, number_of.dtype)
        largest = xp.zeros(1, np.uint32)
        if codes.size:
            arguments = (xp.ascontiguousarray(codes), codes.size, xp.ascontiguousarray(number_of), found, largest)
            name = f"codes_renumber_{_name(codes)}_{_name(number_of)}"
            self.gpu.launch("codes", name, (BLOCKS,), (THREADS,), *arguments)
        return written_to(out, found), int(largest[0])

    def match_counts(self, a: Any, a_empty: Any, b: Any, b_empty: Any) -> Any:
        xp = self.gpu.xp
        dtype = np.result_type(a.dtype, b.dtype)
        a, b = (xp.ascontiguousarray(x.astype(dtype, copy=False)) for x in (a, b))
        a_flags, b_flags = (xp.ascontiguousarray(x).view(np.uint8) for x in (a_empty, b_empty))
        counts = xp.empty((len(a), len(b)), np.int32)
        for start in range(0, len(a) if len(b) else 0, MATCH_ROWS):
            rows = slice(start, min(len(a), start + MATCH_ROWS))
            n = rows.stop - rows.start
            grid = (-(-len(b) // TILE), -(-n // TILE))
            arguments = (a[rows], a_flags[rows], n, b, b_flags, len(b), a.shape[1], counts[rows])
            self.gpu.launch("codes", f"codes_match_{_name(a)}", grid, (THREADS,), *arguments)
        return counts


def columns_of(gpu: Gpu, codes: Any) -> Any:
    """Return the transposed codes, contiguous."""
    n, k = codes.shape
    columns = gpu.xp.empty((k, n), codes.dtype)
    grid = (-(-n // TILE), -(-k // TILE))
    gpu.launch("codes", f"codes_transpose_{_name(codes)}", grid, (THREADS,), codes, n, k, columns)
    return columns


def matches_within(gpu: Gpu, codes: Any, flags: Any, rows: int) -> Any:
    """Return the match counts (blocks, rows, rows) of the pairs in each block of rows. All blocks are whole."""
    blocks = len(codes) // rows
    counts = gpu.xp.empty((blocks, rows, rows), np.int32)
    grid = (-(-rows // TILE), -(-rows // TILE), blocks)
    arguments = (codes, flags, rows, codes, flags, rows, codes.shape[1], counts)
    gpu.launch("codes", f"codes_match_{_name(codes)}", grid, (THREADS,), *arguments)
    return counts


def _name(codes: Any) -> str:
    return f"u{8 * codes.dtype.itemsize}"
