"""Linear models on a GPU: decision values and sums over the rows of each code, by the kernels of ``linear.cu``."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ._codes import columns_of
from ._device import Gpu

THREADS = 256
DECIDE_THREADS, ROWS_PER_THREAD, HASHES = 512, 8, 16
SUM_THREADS = 512
NARROW = 256  # codes, above which tables of sums are too large for shared memory
COLUMN_BYTES = 1 << 28  # codes that are transposed at a time
PARTS_BYTES = 1 << 30  # decision values of the parts of the hashes
REALS = {np.dtype(np.float32): ("f32", 4), np.dtype(np.float64): ("f64", 2)}  # and problems side by side
PARTS = 16


class Layout(NamedTuple):
    """What depends on the shared memory of a GPU, as in ``linear.cu``."""

    chunk: int  # rows that are sorted together
    sorters: int  # threads that sort them
    block_hashes: int  # of a block that sums over rows


def layout_of(gpu: Gpu) -> Layout:
    kib = gpu.shared_kib
    chunk = 16384 if kib >= 193 else 8192 if kib >= 129 else 4096 if kib >= 97 else 2048
    return Layout(chunk, 256 if kib >= 162 else 128 if kib >= 97 else 64, 32 if kib >= 97 else 16)


def hashes_per_part(k: int) -> int:
    """Return how many hashes are summed by themselves, as in ``reference/linear.py``."""
    return -(-k // (PARTS * 16)) * 16


def linear_decide(gpu: Gpu, codes: Any, empty: Any, scale: float, w: Any, bias: Any) -> Any:
    """Return decision values (rows, problems) in the type of ``w``, those of the reference bit for bit."""
    xp, n, problems = gpu.xp, len(codes), len(w)
    out = xp.empty((n, problems), w.dtype)
    offsets = xp.asarray(np.asarray(bias, np.float64))
    step = max(1, PARTS_BYTES // (PARTS * problems * w.dtype.itemsize))
    for start in range(0, n, step):
        part = slice(start, min(n, start + step))
        rows = shared_rows(gpu, codes[part], empty[part], problems, problems)
        decide(gpu, rows, scale, w, offsets, out[part], problems)
    return out


class CodeRows(NamedTuple):
    """Codes of rows, and the rows of each problem: all of them, or some that no other problem has."""

    codes: Any
    empty: Any
    spans: (
        Any  # NumPy, (problems, 4): the first row, the number of rows, and the places of their numbers; see linear.cu
    )
    on_gpu: Any
    shared: bool  # whether all problems have all rows

    @property
    def size(self) -> int:
        """How many numbers an array has that holds one per problem and row."""
        return int(self.spans[:, 1].sum())

    @property
    def blocks(self) -> int:
        """How many blocks of threads the problem with the most rows takes."""
        return max(1, -(-int(self.spans[:, 1].max()) // THREADS))


def shared_rows(gpu: Gpu, codes: Any, empty: Any, problems: int, row_step: int = 1) -> CodeRows:
    """Return rows that all problems have. Results of a problem are ``row_step`` apart, 1 or the number of problems."""
    return CodeRows(*_contiguous(gpu, codes, empty), *_shared_spans(gpu, len(codes), problems, row_step), True)


@lru_cache(maxsize=64)
def _shared_spans(gpu: Gpu, n: int, problems: int, row_step: int) -> tuple[Any, Any]:
    """Return the spans of rows that all problems have, in main memory and on the GPU: a copy to it takes long."""
    number = np.arange(problems)
    places = number if row_step > 1 else number * n
    spans = np.stack([0 * number, 0 * number + n, number * n, places], axis=1)
    return spans, gpu.constant(spans)


def own_rows(gpu: Gpu, codes: Any, empty: Any, counts: Any) -> CodeRows:
    """Return rows of which each problem has the next ones, as many as ``counts`` says."""
    first = np.cumsum(counts) - counts
    spans = np.stack([first, counts, first, first], axis=1)
    return CodeRows(*_contiguous(gpu, codes, empty), spans, gpu.xp.asarray(spans), False)


def _contiguous(gpu: Gpu, codes: Any, empty: Any) -> tuple[Any, Any]:
    return gpu.xp.ascontiguousarray(codes), gpu.xp.ascontiguousarray(empty).view(np.uint8)


def decide(gpu: Gpu, rows: CodeRows, scale: float, w: Any, offsets: Any, out: Any, row_step: int, *more: Any) -> None:
    """Write decision values to ``out``, whose elements of adjacent rows of a problem are ``row_step`` apart.

    ``more`` may be the curvature of each row, and arrays for products with it and for their sums over blocks.
    """
    xp, k, (problems, _, stride) = gpu.xp, rows.codes.shape[1], w.shape
    w = xp.ascontiguousarray(w)
    real, many = REALS[np.dtype(w.dtype)]
    one_bytes = HASHES * stride * w.dtype.itemsize
    kind, together = ("many", many) if problems > 1 and rows.shared else ("one", 1)
    if many * one_bytes > gpu.shared_bytes and kind == "many":
        kind, together = "one", 1
    if one_bytes > gpu.shared_bytes:
        kind, together = "large", 1
    size = hashes_per_part(k)
    count = -(-k // size)
    parts = xp.empty((count, rows.size), w.dtype)
    gpu.launch(
        "linear",
        f"linear_decide_u{8 * rows.codes.dtype.itemsize}_{real}_{kind}",
        (-(-rows.blocks * THREADS // (DECIDE_THREADS * ROWS_PER_THREAD)), count, -(-problems // together)),
        (DECIDE_THREADS,),
        *(rows.codes, rows.on_gpu, rows.size, k, w, stride, problems, size, parts),
        shared=0 if kind == "large" else together * one_bytes,
    )
    gpu.launch(
        "linear",
        f"linear_combine_{real}",
        (rows.blocks, problems),
        (THREADS,),
        *(parts, count, rows.on_gpu, rows.size, rows.empty, offsets, float(scale), out, row_step),
        *(more or (None, None, None)),
    )


class SortedCodes(NamedTuple):
    """Codes of rows, and for each hash and chunk of rows the rows sorted by code."""

    rows: CodeRows
    stride: int
    ids: Any
    segments: Any
    chunks: Any  # the first row and the number of rows of each chunk
    from_chunk: Any  # the first and last chunk of each problem
    most: int  # chunks of a problem

    def sums(self, gpu: Gpu, values: Any) -> tuple[Any, int]:
        """Return the sums of numbers per problem and row over the rows of each code, in slices, and their number."""
        k, problems = self.rows.codes.shape[1], len(self.rows.spans)
        real, _ = REALS[np.dtype(values.dtype)]
        chunk, _, block_hashes = layout_of(gpu)
        blocks = -(-k // block_hashes) * problems
        slices = max(1, min(self.most, -(-4 * gpu.processors // blocks)))
        sums = gpu.xp.empty((slices, problems, k, self.stride), values.dtype)
        places = self.segments.shape[3]
        wide = self.rows.codes.dtype != np.uint8
        kind = "wide" if wide else "8" if self.stride > 64 else "32"
        gpu.launch(
            "linear",
            f"linear_sum_{real}_{kind}",
            (-(-k // block_hashes), slices, problems),
            (SUM_THREADS,),
            *(self.ids, self.segments, self.chunks, self.from_chunk, self.rows.on_gpu),
            *(k, self.stride, places, self.rows.empty, values, sums),
            shared=(chunk + 2 + (0 if wide else block_hashes * self.stride)) * values.dtype.itemsize,
        )
        return sums, slices


def sorted_codes(gpu: Gpu, rows: CodeRows, stride: int) -> SortedCodes:
    """Sort the rows of each chunk by code, for each hash."""
    xp, k, width = gpu.xp, rows.codes.shape[1], rows.codes.dtype.itemsize
    chunk, sorters, _ = layout_of(gpu)
    shared = 2 * 256 * (sorters + 2) + (2 * chunk if width > 1 else 0)
    places = min(stride, chunk)  # of segments; a chunk has no more codes than rows
    chunks, from_chunk = _chunks(rows, chunk)
    on_gpu = xp.asarray(chunks)
    ids, segments = xp.empty((len(chunks), k, chunk), np.uint16), xp.empty((len(chunks), k, 3, places), np.uint16)
    step = max(1, COLUMN_BYTES // (chunk * k * width))
    for first in range(0, len(chunks), step):
        last = min(len(chunks), first + step) - 1
        start, stop = int(chunks[first, 0]), int(chunks[last].sum())
        columns = columns_of(gpu, rows.codes[start:stop])
        arguments = (columns, start, stop - start, on_gpu[first:], k, places, ids[first:], segments[first:])
        name = f"linear_sort_u{8 * width}"
        gpu.launch("linear", name, (k, last + 1 - first), (THREADS,), *arguments, shared=shared)
    most = int((from_chunk[:, 1] - from_chunk[:, 0]).max())
    return SortedCodes(rows, stride, ids, segments, on_gpu, xp.asarray(from_chunk), most)


def _chunks(rows: CodeRows, size: int) -> tuple[Any, Any]:
    """Return the chunks (first row, number of rows) and the first and last chunk of each problem."""
    chunks: list[tuple[int, int]] = []
    from_chunk = []
    for first, count, *_ in rows.spans[:1] if rows.shared else rows.spans:
        before = len(chunks)
        chunks += [(start, min(size, first + count - start)) for start in range(first, first + count, size)]
        from_chunk.append((before, len(chunks)))
    if rows.shared:
        from_chunk *= len(rows.spans)
    return np.array(chunks, np.int64).reshape(-1, 2), np.array(from_chunk, np.int64)


def linear_accumulate(gpu: Gpu, codes: Any, empty: Any, beta: Any, sums: Any) -> None:
    """Add the duals of the rows that have each code to ``sums`` (k, stride), float64."""
    rows = shared_rows(gpu, codes, empty, 1)
    found, _ = sorted_codes(gpu, rows, sums.shape[1]).sums(gpu, beta.astype(np.float64))
    sums += found.sum(axis=(0, 1))
