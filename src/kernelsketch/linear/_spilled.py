"""Codes that do not fit in memory: written to a temporary file as they come, read in pieces by the solver.

The file has no name on POSIX, and on Windows it is deleted when it is closed: nothing is left of it after a crash. It
holds one number a code. The solver's order (``_dual.order_of``) visits 256 groups of 64 neighbours, 16,384 rows, before
it goes on to others; such a segment is gathered from the file's memory map, visited in memory, and forgotten.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from .._validation import row_batches
from ..backends import (
    LINEAR_BLOCK_ROWS,
    LINEAR_SEGMENT,
    LINEAR_STATS,
    Backend,
    LinearObjective,
    LinearPass,
    backend_for,
)
from ..exceptions import InputError
from ..hashing import PackedCodes, code_dtype
from ._alphabet import CodeTable, Rows, check_alphabet, number_dtype, numbers_of, stride_of
from ._dual import SUMS_BYTES

Array = NDArray[Any]

STEP_BYTES = 1 << 23
ROW_BYTES = 48  # of a row besides its duals: label, cost, order, flag, and what they are made from
KEPT_BYTES = 16 << 20  # what the native core keeps between problems
BASE_BYTES = 64 << 20  # steps of hashing and reading


class MemoryBoundError(InputError):
    """The bound leaves no room for what must be in memory: ``needed`` bytes for so many rows."""

    def __init__(self, memory: int, needed: int, rows: int, problems: int) -> None:
        super().__init__(
            f"memory={memory} is too small: {rows} rows and {problems} tables of weights need {needed} bytes, the "
            "codes not counted. Raise memory, or use fewer hashes or bits."
        )
        self.needed, self.rows = needed, rows


class Spill:
    """Codes of a stream, in a temporary file."""

    def __init__(self, folder: Any, memory: int, real_bytes: int, threads: int) -> None:
        self._memory, self._real_bytes, self._threads = memory, real_bytes, threads
        self._rows = 0
        with _telling(folder):
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed by __exit__)
        self._folder = folder
        self._empty: list[Array] = []
        self._used: Array | None = None
        self._like: PackedCodes | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, codes: PackedCodes) -> None:
        """Append rows; all of the same hash, which the caller has checked."""
        if self._used is None:
            self._like, self._used = codes[:0], np.zeros(1 << codes.width, bool)
        self._empty.append(codes.empty.astype(np.uint8))
        self._rows += len(codes)
        self._check(1)
        with _telling(self._folder):
            for rows in row_batches(len(codes), 8 * codes.n_components, STEP_BYTES):
                part = np.ascontiguousarray(codes[rows].unpack())
                self._used[part] = True
                self._file.write(part.reshape(-1).view(np.uint8).data)

    def _check(self, problems: int) -> int:
        """Memory for the solver besides the codes; refused if it is more than there may be."""
        assert self._like is not None
        assert self._used is not None
        size = max(1, int(self._used.sum()))
        code_bytes = np.dtype(code_dtype(self._like.width)).itemsize
        shape = (self._rows, self._like.n_components)
        least = solver_bytes(shape, size, problems, self._real_bytes, code_bytes, self._threads)
        if least > self._memory:
            raise MemoryBoundError(self._memory, least, self._rows, problems)
        return least

    def table(self, problems: int) -> Rows:
        """The rows for the solver: in memory if they fit beside what it needs, else in the file."""
        assert self._like is not None
        assert self._used is not None
        alphabet, empty = np.flatnonzero(self._used), np.concatenate(self._empty)
        check_alphabet(alphabet, self._like)
        self._empty = [empty]
        k, dtype = self._like.n_components, np.dtype(number_dtype(alphabet, self._like.width))
        shape, size = (len(empty), k), len(empty) * k * dtype.itemsize
        least = self._check(problems)
        with _telling(self._folder):
            self._compact(alphabet, shape, dtype)
            if least + size > self._memory:
                return SpilledTable(self._file, shape, dtype, empty, alphabet)
            self._file.seek(0)
            codes = np.fromfile(self._file, dtype, shape[0] * k).reshape(shape)
        return CodeTable(codes, empty, alphabet)

    def _compact(self, alphabet: Array, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        """Codes to numbers, in place: a number takes no more room than a code."""
        assert self._like is not None
        width, (n, k) = self._like.width, shape
        written = np.dtype(code_dtype(width))
        if written != dtype or alphabet[-1] != len(alphabet) - 1:
            numbers = numbers_of(alphabet, width)
            for rows in row_batches(n, 8 * k, STEP_BYTES):
                self._file.seek(rows.start * k * written.itemsize)
                codes = np.frombuffer(self._file.read((rows.stop - rows.start) * k * written.itemsize), written)
                self._file.seek(rows.start * k * dtype.itemsize)
                self._file.write(numbers[codes].view(np.uint8).data)
            self._file.truncate(n * k * dtype.itemsize)
        self._file.flush()


class SpilledTable:
    """Compacted codes in a file: a segment of them at a time is in memory."""

    def __init__(
        self, file: IO[bytes], shape: tuple[int, int], dtype: np.dtype[Any], empty: Array, alphabet: Array
    ) -> None:
        self.shape, self.empty, self.alphabet = shape, empty, alphabet
        self._map = mmap.mmap(file.fileno(), shape[0] * shape[1] * dtype.itemsize, access=mmap.ACCESS_READ)
        self._codes = np.frombuffer(self._map, dtype).reshape(shape)

    def part(self, rows: slice) -> Array:
        return self._read(np.arange(rows.start, rows.stop))

    def parts(self) -> Iterator[slice]:
        return row_batches(self.shape[0], 1, LINEAR_SEGMENT)

    def backend(self, threads: int) -> Backend:
        return backend_for(self._codes, threads=threads)

    def run_pass(self, objective: LinearObjective, state: LinearPass, threads: int) -> Array:
        """Segment after segment, as the native core would go over all rows."""
        backend, stats = self.backend(threads), np.zeros((len(state.positive), LINEAR_STATS))
        for start in range(0, self.shape[0], LINEAR_SEGMENT):
            rows = state.order[start : start + LINEAR_SEGMENT]
            here = state._replace(
                order=np.arange(len(rows), dtype=np.int32),
                labels=None if state.labels is None else state.labels[rows],
                targets=None if state.targets is None else state.targets[rows],
                cost=state.cost[rows],
                beta=np.take(state.beta, rows, axis=1),
                shrunk=np.take(state.shrunk, rows, axis=1),
            )
            found = backend.linear_pass(self._read(rows), self.empty[rows], objective, here)
            state.beta[:, rows], state.shrunk[:, rows] = here.beta, here.shrunk
            for q in (0, 2, 3):
                stats[:, q] += found[:, q]
            stats[:, 1] = np.maximum(stats[:, 1], found[:, 1])
            stats[:, 4] = found[:, 4]
        return stats

    def _read(self, rows: Array) -> Array:
        codes = np.take(self._codes, rows, axis=0)
        if hasattr(mmap, "MADV_DONTNEED"):  # pages that were read do not add up
            self._map.madvise(mmap.MADV_DONTNEED)
        return codes


def solver_bytes(
    shape: tuple[int, int], size: int, problems: int, real_bytes: int, code_bytes: int, threads: int
) -> int:
    """Memory that learning takes besides the codes of all rows."""
    n, k = shape
    stride = stride_of(size)
    duals = n * (problems * (real_bytes + 1) + ROW_BYTES)
    tables = problems * k * stride * real_bytes + min(8 * k * stride, SUMS_BYTES + 8 * stride)
    segment = min(n, LINEAR_SEGMENT) * (k * code_bytes + problems * (2 * real_bytes + 2))
    rooms = threads * LINEAR_BLOCK_ROWS * (k * code_bytes + LINEAR_BLOCK_ROWS * (4 + real_bytes))
    return duals + tables + segment + rooms + KEPT_BYTES + BASE_BYTES


@contextmanager
def _telling(folder: Any) -> Iterator[None]:
    """An error of the disk names the folder."""
    try:
        yield
    except OSError as error:
        where = tempfile.gettempdir() if folder is None else folder
        what = f"{error.strerror or error}: codes cannot be kept in a temporary file there, pass folder= another one"
        raise OSError(error.errno, what, str(where)) from error
