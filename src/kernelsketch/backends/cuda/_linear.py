"""Linear models on a card: decision values and sums over the rows of each code, by the kernels of ``linear.cu``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...exceptions import BackendError
from ._device import ELSEWHERE, Card

THREADS = 256
DECIDE_THREADS, ROWS_PER_THREAD, HASHES = 512, 8, 16
CHUNK, SUM_THREADS, BLOCK_HASHES = 16384, 512, 32
SORTED_CODES = 256  # most codes of a sorted list
SORT_BYTES = 2 * 256 * (THREADS + 2)
COLUMN_BYTES = 1 << 28  # codes that are transposed at a time
PARTS_BYTES = 1 << 30  # decision values of the parts of the hashes
REALS = {np.dtype(np.float32): ("f32", 4), np.dtype(np.float64): ("f64", 2)}  # and problems side by side
PARTS = 16


def hashes_per_part(k: int) -> int:
    """Return how many hashes are summed by themselves, as in ``reference/linear.py``."""
    return -(-k // (PARTS * 16)) * 16


def linear_decide(card: Card, codes: Any, empty: Any, scale: float, w: Any, bias: Any) -> Any:
    """Return decision values (rows, problems) in the type of ``w``, those of the reference bit for bit."""
    xp, n, problems = card.xp, len(codes), len(w)
    out = xp.empty((n, problems), w.dtype)
    offsets = xp.asarray(np.asarray(bias, np.float64))
    step = max(1, PARTS_BYTES // (PARTS * problems * w.dtype.itemsize))
    for start in range(0, n, step):
        part = slice(start, min(n, start + step))
        decide(card, codes[part], empty[part], scale, w, offsets, out[part], (problems, 1))
    return out


def decide(
    card: Card, codes: Any, empty: Any, scale: float, w: Any, offsets: Any, out: Any, steps: tuple[int, int], *more: Any
) -> None:
    """Write decision values to ``out``, whose elements of adjacent rows and problems are ``steps`` apart.

    ``more`` may be the curvature of each row, and arrays for products with it and for their sums over blocks.
    """
    xp, (n, k), (problems, _, stride) = card.xp, codes.shape, w.shape
    codes, w = xp.ascontiguousarray(codes), xp.ascontiguousarray(w)
    real, many = REALS[np.dtype(w.dtype)]
    one_bytes = HASHES * stride * w.dtype.itemsize
    kind, together = ("many", many) if problems > 1 else ("one", 1)
    if many * one_bytes > card.shared_bytes and kind == "many":
        kind, together = "one", 1
    if one_bytes > card.shared_bytes:
        kind, together = "large", 1
    size = hashes_per_part(k)
    count = -(-k // size)
    parts = xp.empty((count, problems, n), w.dtype)
    card.launch(
        "linear",
        f"linear_decide_u{8 * codes.dtype.itemsize}_{real}_{kind}",
        (-(-n // (DECIDE_THREADS * ROWS_PER_THREAD)), count, -(-problems // together)),
        (DECIDE_THREADS,),
        *(codes, n, k, w, stride, problems, size, parts),
        shared=0 if kind == "large" else together * one_bytes,
    )
    card.launch(
        "linear",
        f"linear_combine_{real}",
        (-(-n // THREADS), problems),
        (THREADS,),
        *(parts, count, n, problems, _flags(xp, empty), offsets, float(scale), out, *steps),
        *(more or (None, None, None)),
    )


def _flags(xp: Any, empty: Any) -> Any:
    return xp.ascontiguousarray(empty).view(np.uint8)


class SortedCodes(NamedTuple):
    """Codes of rows, and for each hash and chunk of rows the rows sorted by code."""

    codes: Any
    empty: Any
    stride: int
    ids: Any
    segments: Any

    def sums(self, card: Card, values: Any) -> tuple[Any, int]:
        """Return the sums of values (problems, rows) over the rows of each code, in slices, and their number."""
        xp, (n, k), problems = card.xp, self.codes.shape, len(values)
        real, _ = REALS[np.dtype(values.dtype)]
        chunks, blocks = len(self.segments), -(-k // BLOCK_HASHES) * problems
        slices = max(1, min(chunks, -(-4 * card.processors // blocks)))
        per_slice = -(-chunks // slices)
        slices = -(-chunks // per_slice)
        sums = xp.empty((slices, problems, k, self.stride), values.dtype)
        lanes = 8 if self.stride > 64 else 32
        card.launch(
            "linear",
            f"linear_sum_{real}_{lanes}",
            (-(-k // BLOCK_HASHES), slices, problems),
            (SUM_THREADS,),
            *(self.ids, self.segments, n, k, self.stride, self.empty, values, chunks, per_slice, sums),
            shared=(CHUNK + 2 + BLOCK_HASHES * self.stride) * values.dtype.itemsize,
        )
        return sums, slices


def sorted_codes(card: Card, codes: Any, empty: Any, stride: int) -> SortedCodes:
    """Sort the rows of each chunk by code, for each hash."""
    xp, (n, k) = card.xp, codes.shape
    if codes.dtype != np.uint8 or stride > SORTED_CODES:
        raise BackendError(
            f"the back end 'cuda' learns on at most {SORTED_CODES} different codes, but the rows have up to {stride}: "
            f"use bits + t_bits of at most 8, or {ELSEWHERE} to fit the model."
        )
    codes, chunks = xp.ascontiguousarray(codes), -(-n // CHUNK)
    ids, segments = xp.empty((chunks, k, CHUNK), np.uint16), xp.empty((chunks, k, 3, stride), np.uint16)
    step = max(1, COLUMN_BYTES // (CHUNK * k))
    for first in range(0, chunks, step):
        rows = slice(first * CHUNK, min(n, (first + step) * CHUNK))
        columns = xp.ascontiguousarray(codes[rows].T)
        grid = (k, min(chunks, first + step) - first)
        arguments = (columns, columns.shape[1], k, stride, ids[first:], segments[first:])
        card.launch("linear", "linear_sort", grid, (THREADS,), *arguments, shared=SORT_BYTES)
    return SortedCodes(codes, _flags(xp, empty), stride, ids, segments)


def linear_accumulate(card: Card, codes: Any, empty: Any, beta: Any, sums: Any) -> None:
    """Add the duals of the rows that have each code to ``sums`` (k, stride), float64."""
    values = beta.astype(np.float64).reshape(1, -1)
    found, _ = sorted_codes(card, codes, empty, sums.shape[1]).sums(card, values)
    sums += found.sum(axis=(0, 1))
