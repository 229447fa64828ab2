"""Codes as the solvers take them: small integers, numbered without gaps over the codes that occur.

A nonnegative dataset of 16 features uses 16 of the 256 codes of 8 bits. Numbering only the used codes makes the table
of weights 16 times smaller, so that it stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from .._validation import row_batches
from ..backends import Backend, LinearObjective, LinearPass, backend_for
from ..exceptions import InputError
from ..hashing import PackedCodes
from ..serving import MOST_CODES, number_dtype, numbers_of, stride_of

Array = NDArray[Any]

STEP_BYTES = 1 << 23


class CodeSource(Protocol):
    """Rows of numbered codes that a solver passes over, in memory or on disk."""

    @property
    def codes(self) -> Array: ...

    @property
    def mapped(self) -> bool:
        """Whether ``codes`` is the map of a file, of which few pages may be in memory at a time."""
        ...

    @property
    def empty(self) -> Array: ...

    @property
    def used_codes(self) -> Array: ...

    @property
    def shape(self) -> tuple[int, int]: ...

    def part(self, rows: slice) -> Array:
        """Return the codes of adjacent rows."""
        ...

    def take(self, rows: Array) -> Array:
        """Return the codes of some rows."""
        ...

    def only(self, rows: Array) -> Self:
        """Return a table of some rows."""
        ...

    def symbol_room(self, groups: int) -> Array:
        """Return an array (n, groups) for the symbols of Newton's method, where the codes are."""
        ...

    def parts(self) -> Iterator[slice]:
        """Yield slices that cover all rows, each with as many rows as memory has room for."""
        ...

    def backend(self, threads: int) -> Backend:
        """Return the back end that computes where the codes are."""
        ...

    def run_pass(
        self, objective: LinearObjective, state: LinearPass, threads: int, beat: Callable[[], None] = ...
    ) -> Array:
        """Make one pass of the solver over the rows and return its statistics; ``beat`` is called in between."""
        ...


class CodeTable(NamedTuple):
    """Numbered codes in memory.

    ``codes`` has shape (n, k) and is uint8 or uint16, ``empty`` flags the empty rows, and ``used_codes[number]`` is
    the code of a number.
    """

    codes: Array
    empty: Array
    used_codes: Array

    @property
    def mapped(self) -> bool:
        return False

    @property
    def shape(self) -> tuple[int, int]:
        n, k = self.codes.shape
        return n, k

    def part(self, rows: slice) -> Array:
        return self.codes[rows]

    def take(self, rows: Array) -> Array:
        return self.codes[rows]

    def only(self, rows: Array) -> CodeTable:
        return CodeTable(self.codes[rows], self.empty[rows], self.used_codes)

    def symbol_room(self, groups: int) -> Array:
        return np.empty((len(self.codes), groups), np.uint16)

    def parts(self) -> Iterator[slice]:
        yield slice(0, len(self.codes))

    def backend(self, threads: int) -> Backend:
        return backend_for(self.codes, threads=threads)

    def run_pass(
        self, objective: LinearObjective, state: LinearPass, threads: int, beat: Callable[[], None] = lambda: None
    ) -> Array:
        return self.backend(threads).linear_pass(self.codes, self.empty, objective, state)


class OwnCodes(PackedCodes):
    """Codes that nothing else refers to, so that a fit may overwrite them instead of copying them."""


def add_stats(stats: Array, of_next: Array) -> None:
    """Add the statistics of the next part of a pass to those of the parts before."""
    stats[:, [0, 2, 3]] += of_next[:, [0, 2, 3]]
    stats[:, 1] = np.maximum(stats[:, 1], of_next[:, 1])
    stats[:, 4] = of_next[:, 4]


def find_used_codes(codes: PackedCodes, *, threads: int = 1) -> Array:
    """Return the codes that occur, in ascending order."""
    backend = backend_for(codes.packed, threads=threads)
    used = np.zeros(1 << codes.width, np.bool_)
    for rows in _steps(codes):
        used |= backend.to_numpy(backend.used_codes(codes[rows].unpack(), codes.width))
    return np.flatnonzero(used)


def _steps(codes: PackedCodes) -> Iterator[slice]:
    """Yield all rows at once if the codes are there as they are, else a few at a time, to unpack them."""
    if codes.width in (8, 16):
        return row_batches(len(codes), 1, max(1, len(codes)))
    return row_batches(len(codes), 4 * codes.n_components, STEP_BYTES)


def check_code_count(used_codes: Array, codes: PackedCodes) -> None:
    """Refuse more used codes than there are numbers for them."""
    most = MOST_CODES if codes.width <= 16 else MOST_CODES - 1  # one number stays free for unknown codes
    if len(used_codes) > most:
        raise InputError(
            f"{len(used_codes)} different codes occur with bits={codes.bits} and t_bits={codes.t_bits}. A model has a "
            f"weight for each hash and each used code, and takes at most {most} used codes: use fewer bits."
        )


def compact(codes: PackedCodes, *, owned: bool = False, threads: int = 1) -> CodeTable:
    """Number the codes that occur.

    If the caller gives its codes away (``owned``), codes of 8 bits are overwritten. Codes that have no gaps are not
    copied.
    """
    used_codes = find_used_codes(codes, threads=threads)
    check_code_count(used_codes, codes)
    return encode(codes, used_codes, owned=owned, threads=threads)[0]


def encode(codes: PackedCodes, used_codes: Array, *, owned: bool = False, threads: int = 1) -> tuple[CodeTable, bool]:
    """Return the numbers of codes among known used codes, and whether some codes are unknown.

    Unknown codes get the number after the last.
    """
    backend = backend_for(codes.packed, threads=threads)
    empty = codes.empty.astype(np.uint8)
    size, width = len(used_codes), codes.width
    dtype = number_dtype(used_codes, width)
    if width in (8, 16) and size and used_codes[-1] == size - 1:
        whole = codes.unpack()
        if whole.dtype == dtype and (whole.size == 0 or int(whole.max()) < size):
            return CodeTable(whole, empty, used_codes), False
    numbers = backend.from_numpy(numbers_of(used_codes, width))
    in_place = owned and width == 8 and dtype == np.uint8 and getattr(codes.packed.flags, "writeable", True)
    compacted = codes.packed if in_place else backend.empty(codes.shape, dtype)
    largest = 0
    for rows in _steps(codes):
        _, most = backend.renumber(codes[rows].unpack(), numbers, out=compacted[rows])
        largest = max(largest, most)
    return CodeTable(compacted, empty, used_codes), largest >= size


def widen(w: Array, old: Array, new: Array) -> Array:
    """Return a table (problems, k, stride) for the used codes ``new``, which contain ``old``; new weights are 0."""
    wide = np.zeros((*w.shape[:2], stride_of(len(new))), np.float32)
    wide[:, :, np.searchsorted(new, old)] = w[:, :, : len(old)]
    return wide
