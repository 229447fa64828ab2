"""Codes as the solvers take them: one small integer a code, numbered without gaps.

A nonnegative dataset of 16 features uses 16 of the 256 codes of 8 bits. Numbering those that occur makes the table of
weights 16 times smaller, so that it stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._validation import row_batches
from ..backends import Backend, LinearObjective, LinearPass, backend_for
from ..exceptions import InputError
from ..hashing import PackedCodes

Array = NDArray[Any]

MOST_CODES = 1 << 16
STEP_BYTES = 1 << 23


class Rows(Protocol):
    """Rows of compacted codes as the solver meets them, in memory or in a file."""

    @property
    def empty(self) -> Array: ...

    @property
    def alphabet(self) -> Array: ...

    @property
    def shape(self) -> tuple[int, int]: ...

    def part(self, rows: slice) -> Array:
        """Codes of neighbouring rows."""
        ...

    def parts(self) -> Iterator[slice]:
        """All rows, as many at a time as there is room for."""
        ...

    def backend(self, threads: int) -> Backend:
        """Where the codes are, and so the solver."""
        ...

    def run_pass(self, objective: LinearObjective, state: LinearPass, threads: int) -> Array:
        """One pass of the solver: its statistics."""
        ...


class CodeTable(NamedTuple):
    """In memory: ``codes`` (n, k) uint8 or uint16, flags of ``empty`` rows, and the ``alphabet``."""

    codes: Array
    empty: Array
    alphabet: Array

    @property
    def stride(self) -> int:
        return stride_of(len(self.alphabet))

    @property
    def shape(self) -> tuple[int, int]:
        n, k = self.codes.shape
        return n, k

    def part(self, rows: slice) -> Array:
        return self.codes[rows]

    def parts(self) -> Iterator[slice]:
        yield slice(0, len(self.codes))

    def backend(self, threads: int) -> Backend:
        return backend_for(self.codes, threads=threads)

    def run_pass(self, objective: LinearObjective, state: LinearPass, threads: int) -> Array:
        return self.backend(threads).linear_pass(self.codes, self.empty, objective, state)


def stride_of(size: int) -> int:
    """Floats of a row of the weight table: small alphabets fill whole vectors, to be looked up in registers."""
    for whole in (16, 32, 64):
        if size <= whole:
            return whole
    return size


def used_codes(codes: PackedCodes) -> Array:
    """Codes that occur, ascending."""
    backend = backend_for(codes.packed)
    used = backend.zeros((1 << codes.width,), np.bool_)
    for rows in _steps(codes):
        used[codes[rows].unpack()] = True
    return np.flatnonzero(backend.to_numpy(used))


def _steps(codes: PackedCodes) -> Iterator[slice]:
    """A few rows at a time: NumPy makes 8 bytes of each code that it looks up."""
    return row_batches(len(codes), 8 * codes.n_components, STEP_BYTES)


def check_alphabet(alphabet: Array, codes: PackedCodes) -> None:
    most = MOST_CODES if codes.width <= 16 else MOST_CODES - 1  # a number is left for codes that are not known
    if len(alphabet) > most:
        raise InputError(
            f"{len(alphabet)} different codes occur, of bits={codes.bits} and t_bits={codes.t_bits}: a model has a "
            f"weight for each of them and each hash, and takes at most {most}. Use fewer bits."
        )


def compact(codes: PackedCodes, *, owned: bool = False) -> CodeTable:
    """Number the codes that occur. ``owned`` codes of 8 bits are overwritten; without gaps nothing is copied."""
    alphabet = used_codes(codes)
    check_alphabet(alphabet, codes)
    return encode(codes, alphabet, owned=owned)[0]


def encode(codes: PackedCodes, alphabet: Array, *, owned: bool = False) -> tuple[CodeTable, bool]:
    """Numbers of codes in a known alphabet; and whether some are not in it, which get the number after the last."""
    backend = backend_for(codes.packed)
    empty = codes.empty.astype(np.uint8)
    size, width = len(alphabet), codes.width
    dtype = number_dtype(alphabet, width)
    if width in (8, 16) and size and alphabet[-1] == size - 1:
        whole = codes.unpack()
        if whole.dtype == dtype and (whole.size == 0 or int(whole.max()) < size):
            return CodeTable(whole, empty, alphabet), False
    numbers = backend.from_numpy(numbers_of(alphabet, width))
    used = np.zeros(1 << width, bool)
    used[alphabet] = True
    known = backend.from_numpy(used)
    in_place = owned and width == 8 and dtype == np.uint8 and codes.packed.flags.writeable
    compacted = codes.packed if in_place else backend.empty(codes.shape, dtype)
    unknown = False
    for rows in _steps(codes):
        part = codes[rows].unpack()
        unknown = unknown or not bool(known[part].all())
        compacted[rows] = numbers[part]
    return CodeTable(compacted, empty, alphabet), unknown


def number_dtype(alphabet: Array, width: int) -> Any:
    """The type of numbers of codes, with one to spare for those that are not known."""
    return np.uint8 if len(alphabet) < 256 or (len(alphabet) == 256 and width <= 8) else np.uint16


def numbers_of(alphabet: Array, width: int) -> Array:
    """The number of each code of a width; of those not in the alphabet the one after the last."""
    dtype, size = number_dtype(alphabet, width), len(alphabet)
    numbers = np.full(1 << width, min(size, np.iinfo(dtype).max), dtype)
    numbers[alphabet] = np.arange(size, dtype=np.int64).astype(dtype)
    return numbers


def widen(w: Array, old: Array, new: Array) -> Array:
    """A table (problems, k, stride) of an alphabet for one that contains it; weights of new codes are 0."""
    wide = np.zeros((*w.shape[:2], stride_of(len(new))), np.float32)
    wide[:, :, np.searchsorted(new, old)] = w[:, :, : len(old)]
    return wide
