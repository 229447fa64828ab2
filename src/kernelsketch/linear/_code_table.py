"""Codes as the solvers take them: small integers, numbered without gaps over the codes that occur.

A nonnegative dataset of 16 features uses 16 of the 256 codes of 8 bits. Numbering only the used codes makes the table
of weights 16 times smaller, so that it stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._array import Array
from ..backends import Linear, LinearObjective, LinearPass, backend_for
from ..exceptions import InputError
from ..hashing import PackedCodes
from ..serving import MOST_CODES, encode, unpacked_steps


@dataclass(eq=False)
class CodeTable:
    """Rows of numbered codes that a solver passes over, in memory.

    ``codes`` has shape (n, k) and is uint8 or uint16, ``empty`` flags the empty rows, and ``used_codes[number]`` is
    the code of a number. If ``mapped`` is true, the codes are in a file, and few of its pages may be in memory.
    """

    codes: Array
    empty: Array
    used_codes: Array
    mapped: ClassVar[bool] = False

    @property
    def shape(self) -> tuple[int, int]:
        n, k = self.codes.shape
        return n, k

    def backend(self, threads: int) -> Linear:
        """Return the back end that computes where the codes are."""
        return backend_for(self.codes, threads=threads)

    def parts(self) -> Iterator[slice]:
        """Yield slices that cover all rows, each with as many rows as memory has room for."""
        yield slice(0, len(self.codes))

    def part(self, rows: slice) -> Array:
        """Return the codes of adjacent rows."""
        return self.codes[rows]

    def take(self, rows: Array) -> Array:
        """Return the codes of some rows."""
        return self.codes[rows]

    def only(self, rows: Array) -> CodeTable:
        """Return a table of some rows."""
        return CodeTable(self.codes[rows], self.empty[rows], self.used_codes)

    def symbol_room(self, groups: int) -> Array:
        """Return an array (n, groups) for the symbols of Newton's method, where the codes are."""
        return np.empty((len(self.codes), groups), np.uint16)

    def run_pass(
        self, objective: LinearObjective, state: LinearPass, threads: int, beat: Callable[[], None] = lambda: None
    ) -> Array:
        """Make one pass of the solver over the rows and return its statistics; ``beat`` is called in between."""
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
    for rows in unpacked_steps(codes):
        used |= backend.to_numpy(backend.used_codes(codes[rows].unpack(), codes.width))
    return np.flatnonzero(used)


def check_code_count(used_codes: Array, codes: PackedCodes) -> None:
    """Refuse more used codes than there are numbers for them."""
    most = MOST_CODES if codes.width <= 16 else MOST_CODES - 1  # one number stays free for unknown codes
    if len(used_codes) > most:
        raise InputError(
            f"{len(used_codes)} different codes occur with bits={codes.bits} and t_bits={codes.t_bits}. A model has a "
            f"weight for each hash and each used code, and takes at most {most} used codes: use fewer bits."
        )


def table_of(
    codes: PackedCodes, used_codes: Array | None = None, *, owned: bool = False, threads: int = 1
) -> CodeTable:
    """Number the codes that occur, or all of ``used_codes``, which contain them.

    This is done in place if the caller gives its codes away (``owned``) and they have 8 bits.
    """
    used_codes = find_used_codes(codes, threads=threads) if used_codes is None else used_codes
    check_code_count(used_codes, codes)
    numbers, _ = encode(codes, used_codes, owned=owned, threads=threads)
    return CodeTable(numbers, codes.empty.astype(np.uint8), used_codes)
