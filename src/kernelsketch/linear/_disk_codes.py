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
from numpy.typing import NDArray

from .._validation import row_batches
from ..backends import LINEAR_SEGMENT, LINEAR_STATS, LinearObjective, LinearPass
from ..exceptions import InputError, Sentence, Setting
from ..hashing import PackedCodes, code_dtype
from ..serving import number_dtype, numbers_of
from ._code_table import CodeTable, add_stats, check_code_count
from ._losses import Loss
from ._memory import solver_bytes, symbol_bytes

Array = NDArray[Any]

STEP_BYTES = 1 << 20  # that are written or read at a time
WINDOW_BYTES, WINDOWS = 1 << 20, 2  # that Linux maps when a page is read, and how many are mapped at a time
SURE = 0.9  # share of the rows that are expected which there will be


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
        self._used: Array | None = None
        self._like: PackedCodes | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, codes: PackedCodes) -> None:
        """Append the codes of some rows. The caller has checked that all come from the same hash."""
        if self._used is None:
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
        assert self._like is not None
        assert self._used is not None
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
        assert self._like is not None
        assert self._used is not None
        used_codes, empty = np.flatnonzero(self._used), np.concatenate(self._empty)
        check_code_count(used_codes, self._like)
        self._empty = [empty]
        k, dtype = self._like.n_components, np.dtype(number_dtype(used_codes, self._like.width))
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
        assert self._like is not None
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
