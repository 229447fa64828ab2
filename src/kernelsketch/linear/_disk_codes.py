"""Out-of-core training: codes go to a temporary file as they come, and the solver reads them in parts.

On POSIX the files have no name, and on Windows they are deleted when they are closed, so a crash leaves nothing behind.
A file holds one number per code. The order of rows (``_descent.order_of``) takes 256 groups of 64 adjacent rows, 16,384
rows in all, before it goes on to others. Such a segment is gathered from the memory map of the file, passed over in
memory, and dropped. Newton's method reads symbols from the map of a second file. The system maps more of a file than is
read, which counts as memory of the process, so pages are released after every few rows.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, Self

import numpy as np

from .._array import Array
from .._losses import Loss
from .._validation import row_batches
from ..backends import LINEAR_BLOCK_ROWS, LINEAR_SEGMENT, LINEAR_STATS, LinearObjective, LinearPass, code_dtype
from ..exceptions import InputError, Sentence, Setting
from ..hashing import PackedCodes
from ..serving import number_dtype, numbers_of, stride_of
from ._code_table import CodeTable, add_stats, check_code_count
from ._newton import MOST_STRIDE, TOGETHER, most_symbols, sample_rows
from ._problem import GAP_ROWS, SUMS_BYTES
from ._solver import LEAST_CODES

STEP_BYTES = 1 << 20  # that are written or read at a time
WINDOW_BYTES, WINDOWS = 1 << 20, 2  # that Linux maps when a page is read, and how many are mapped at a time
SURE = 0.9  # share of the rows that are expected which there will be
# Memory that training takes besides the codes:
ROW_BYTES = 36  # per row besides its duals: label, cost, flag, and what they are made from
REPEATS_BYTES = 48  # per row of a regression, while the solver compares rows
CACHE_BYTES = 16 << 20  # of the numbers of equal codes that the native core keeps between problems
TABLE_BYTES, SLOT_BYTES = 4 << 20, 24  # of the hash tables in which a thread numbers symbols, and of one entry
THREAD_BYTES, PAGES_BYTES = 1 << 20, 4 << 20  # of a thread: what the allocator keeps for it, and mapped pages
BASE_BYTES = 4 << 20  # in any case: steps of hashing, reading and writing, and what Python keeps


class MemoryBoundError(InputError):
    """The memory limit is below the ``needed`` bytes that training takes for the ``rows`` seen or expected."""

    def __init__(self, memory: int, needed: int, rows: int, problems: int) -> None:
        super().__init__(
            f"memory={memory} is too small: {rows} rows and {problems} tables of weights need {needed} bytes, not "
            "counting the codes. Raise memory, or use fewer hashes or bits.",
            parameter="memory",
        )
        self.needed, self.rows = needed, rows


class TemporaryCodes:
    """Collects the codes of a stream in a temporary file and hands them to the solver."""

    def __init__(self, temp_dir: Any, memory: int, loss: Loss, real: Any, threads: int) -> None:
        self._memory, self._loss, self._real_bytes, self._threads = memory, loss, np.dtype(real).itemsize, threads
        self._rows = 0
        self.problems = 1  # as far as they are known
        self.expected = 0  # rows in all, as far as it is known; 0 if it is not
        with _errors_name_temp_dir(temp_dir):
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=temp_dir)  # noqa: SIM115 (closed by __exit__)
        self._temp_dir = temp_dir
        self._empty: list[Array] = []
        self._used: Array  # of each code, whether it occurs: known with the first codes, as the next one
        self._like: PackedCodes  # none of the rows, but the hash and the width of their codes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, codes: PackedCodes) -> None:
        """Append the codes of some rows. The caller has checked that all come from the same hash."""
        if self._rows == 0:
            self._like, self._used = codes[:0], np.zeros(1 << codes.width, bool)
        self._empty.append(codes.empty.astype(np.uint8))
        self._rows += len(codes)
        self.check_memory(self.problems)
        with _errors_name_temp_dir(self._temp_dir):
            for rows in row_batches(len(codes), 8 * codes.n_components, STEP_BYTES):
                part = np.ascontiguousarray(codes[rows].unpack())
                self._used[part] = True
                self._file.write(part.reshape(-1).view(np.uint8).data)

    def check_memory(self, problems: int) -> int:
        """Return the memory that the solver needs besides the codes, and refuse more than the limit."""
        size = max(1, int(self._used.sum()))
        k, code_bytes = self._like.n_components, np.dtype(code_dtype(self._like.width)).itemsize

        def needed(rows: int) -> int:
            return solver_bytes((rows, k), size, problems, self._loss, self._real_bytes, code_bytes, self._threads)

        least = needed(self._rows)
        if max(least, needed(int(SURE * self.expected))) > self._memory:
            rows = max(self._rows, self.expected)
            raise MemoryBoundError(self._memory, needed(rows), rows, problems)
        return least

    def table(self, problems: int) -> CodeTable:
        """Return the codes for the solver: in memory if they fit beside what it needs, and on disk otherwise."""
        used_codes, empty = np.flatnonzero(self._used), np.concatenate(self._empty)
        check_code_count(used_codes, self._like)
        self._empty = [empty]
        k, dtype = self._like.n_components, number_dtype(used_codes, self._like.width)
        shape = len(empty), k
        least = self.check_memory(problems)
        more = len(empty) * k * dtype.itemsize + symbol_bytes(shape, len(used_codes), self._loss, self._real_bytes)
        with _errors_name_temp_dir(self._temp_dir):
            self._compact(used_codes, shape, dtype)
            if least + more > self._memory:
                return DiskCodeTable(self._file, shape, dtype, empty, used_codes, self._temp_dir)
            self._file.seek(0)
            codes = np.fromfile(self._file, dtype, shape[0] * k).reshape(shape)
        return CodeTable(codes, empty, used_codes)

    def _compact(self, used_codes: Array, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        """Replace codes by their numbers in place, which take no more room."""
        width, (n, k) = self._like.width, shape
        written = np.dtype(code_dtype(width))
        if written != dtype or used_codes[-1] != len(used_codes) - 1:
            numbers = numbers_of(used_codes, width)
            for rows in row_batches(n, 8 * k, STEP_BYTES):
                self._file.seek(rows.start * k * written.itemsize)
                codes = np.frombuffer(self._file.read((rows.stop - rows.start) * k * written.itemsize), written)
                self._file.seek(rows.start * k * dtype.itemsize)
                self._file.write(numbers[codes].view(np.uint8).data)
            self._file.truncate(n * k * dtype.itemsize)
        self._file.flush()


class DiskCodeTable(CodeTable):
    """Numbered codes on disk, of which a few rows at a time are in memory."""

    mapped = True

    def __init__(
        self,
        file: IO[bytes],
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        empty: Array,
        used_codes: Array,
        temp_dir: Any,
    ) -> None:
        self._temp_dir, self._row_bytes = temp_dir, shape[1] * dtype.itemsize
        self._map = mmap.mmap(file.fileno(), shape[0] * self._row_bytes, access=mmap.ACCESS_READ)
        super().__init__(np.frombuffer(self._map, dtype).reshape(shape), empty, used_codes)

    def part(self, rows: slice) -> Array:
        codes = np.empty((rows.stop - rows.start, self.shape[1]), self.codes.dtype)
        for piece in row_batches(len(codes), self._row_bytes, STEP_BYTES):
            codes[piece] = self.codes[rows.start + piece.start : rows.start + piece.stop]
            self._release()
        return codes

    def take(self, rows: Array) -> Array:
        codes = np.empty((len(rows), self.shape[1]), self.codes.dtype)
        order = np.argsort(rows)
        windows = rows[order].astype(np.int64) * self._row_bytes // WINDOW_BYTES
        numbers = np.cumsum(np.diff(windows, prepend=windows[:1]) != 0) // WINDOWS
        for piece in np.split(order, np.flatnonzero(np.diff(numbers)) + 1):
            codes[piece] = self.codes[rows[piece]]
            self._release()
        return codes

    def _release(self) -> None:
        """Release the pages that were read, so that they do not fill the memory."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)

    def only(self, rows: Array) -> DiskCodeTable:
        with _errors_name_temp_dir(self._temp_dir), tempfile.TemporaryFile(dir=self._temp_dir) as file:
            for some in row_batches(len(rows), self._row_bytes, STEP_BYTES):
                file.write(self.take(rows[some]).reshape(-1).view(np.uint8).data)
            file.flush()
            shape = len(rows), self.shape[1]
            return DiskCodeTable(file, shape, self.codes.dtype, self.empty[rows], self.used_codes, self._temp_dir)

    def symbol_room(self, groups: int) -> Array:
        size = 2 * self.shape[0] * groups
        with _errors_name_temp_dir(self._temp_dir), tempfile.TemporaryFile(dir=self._temp_dir) as file:
            for piece in row_batches(size, 1, STEP_BYTES):  # a map of a file that has no room on disk would crash
                file.write(bytes(piece.stop - piece.start))
            file.flush()
            return np.frombuffer(mmap.mmap(file.fileno(), size), np.uint16).reshape(-1, groups)

    def parts(self) -> Iterator[slice]:
        return row_batches(self.shape[0], 1, LINEAR_SEGMENT)

    def run_pass(
        self, objective: LinearObjective, state: LinearPass, threads: int, beat: Callable[[], None] = lambda: None
    ) -> Array:
        """Pass over one segment after another, in the order in which the native core would go over all rows."""
        backend, stats = self.backend(threads), np.zeros((len(state.positive), LINEAR_STATS))
        for start in range(0, len(state.order), LINEAR_SEGMENT):
            rows = state.order[start : start + LINEAR_SEGMENT]
            here = state._replace(
                order=np.arange(len(rows), dtype=np.int32),
                labels=None if state.labels is None else state.labels[rows],
                targets=None if state.targets is None else state.targets[rows],
                cost=state.cost[rows],
                beta=np.take(state.beta, rows, axis=1),
                shrunk=np.take(state.shrunk, rows, axis=1),
            )
            add_stats(stats, backend.linear_pass(self.take(rows), self.empty[rows], objective, here))
            state.beta[:, rows], state.shrunk[:, rows] = here.beta, here.shrunk
            beat()
        return stats


@contextmanager
def _errors_name_temp_dir(temp_dir: Any) -> Iterator[None]:
    """Let errors of the disk name the directory and the parameter that changes it."""
    try:
        yield
    except OSError as error:
        where = tempfile.gettempdir() if temp_dir is None else temp_dir
        what = Sentence(
            f"{error.strerror or error}: a temporary file there cannot hold the codes, choose another folder with ",
            Setting("temp_dir", ...),
        )
        raise OSError(error.errno, what, str(where)) from error


def solver_bytes(
    shape: tuple[int, int], size: int, problems: int, loss: Loss, real_bytes: int, code_bytes: int, threads: int
) -> int:
    """Return the bytes that the solver takes for codes on disk, at most. ``size`` is the number of used codes."""
    n, k = shape
    cells, leaders, segment = k * stride_of(size), min(threads, problems), min(n, LINEAR_SEGMENT)
    rows = n * (problems * real_bytes + ROW_BYTES + (REPEATS_BYTES if loss.is_regression else 0))
    visits = n * (problems + 4)  # of passes: which rows each problem skips, and the order
    tables = problems * cells * real_bytes + min(8 * cells, SUMS_BYTES + 8 * stride_of(size))
    passes = segment * problems * (2 * real_bytes + 2) + leaders * 4 * LINEAR_BLOCK_ROWS**2 * real_bytes
    if problems > threads:
        blocks = -(-segment // LINEAR_BLOCK_ROWS)
        passes += min(CACHE_BYTES, leaders * blocks * 2 * LINEAR_BLOCK_ROWS**2)
    gaps = threads * GAP_ROWS * (k * code_bytes + 80)
    work = visits + max(segment * k * code_bytes + passes, gaps)
    if _may_take_newton(shape, size, loss):
        work = max(work, _newton_bytes(shape, size, problems, real_bytes, code_bytes, threads, visits))
    pages = min(threads * PAGES_BYTES, 2 * n * k * code_bytes)
    return rows + tables + work + pages + threads * THREAD_BYTES + BASE_BYTES


def _newton_bytes(
    shape: tuple[int, int], size: int, problems: int, real_bytes: int, code_bytes: int, threads: int, visits: int
) -> int:
    """Return the bytes of the steps of Newton's method, or of the symbols, which are made after a part of a pass."""
    (n, k), leaders = shape, min(threads, problems)
    most = {together: -(-min(most_symbols(n), size**together) // 16) * 16 for together in TOGETHER}
    wide = max(-(-k // together) * count for together, count in most.items())
    places = 4 * (k + -(-k // TOGETHER[-1])) * max(most.values())  # of the codes of symbols, and their first rows
    slots = max(1 << 10, 1 << (2 * max(most.values()) + 1).bit_length()) * SLOT_BYTES
    numbering = (
        threads * (min(max(TABLE_BYTES, slots), 32 * slots) + slots // 2) + min(n, LINEAR_SEGMENT) * k * code_bytes
    )
    sample = sample_rows(n * -(-k // TOGETHER[-1]))
    steps = leaders * (n * (4 + 5 * real_bytes) + (6 * k * stride_of(size) + (threads + 2) * wide) * real_bytes)
    steps += leaders * sample * (sample * real_bytes + k * (code_bytes + 1))
    return int(places + max(visits + numbering, steps))


def symbol_bytes(shape: tuple[int, int], size: int, loss: Loss, real_bytes: int) -> int:
    """Return the bytes that Newton's method takes in addition if the codes are in memory, and symbols beside them."""
    if not _may_take_newton(shape, size, loss):
        return 0
    n, groups = shape[0], -(-shape[1] // TOGETHER[-1])
    return n * groups * (2 + real_bytes // 4) + groups * TABLE_BYTES // 8


def _may_take_newton(shape: tuple[int, int], size: int, loss: Loss) -> bool:
    return loss.is_smooth and shape[0] * shape[1] >= LEAST_CODES and stride_of(size) <= MOST_STRIDE
