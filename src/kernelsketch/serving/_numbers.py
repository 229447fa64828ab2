"""The numbers of the codes that a model uses, and the length of a row of its tables of weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._array import Array
from .._validation import row_batches
from ..backends import backend_for, code_dtype
from ..hashing import PackedCodes

MOST_CODES = 1 << 16


def stride_of(size: int) -> int:
    """Return the number of weights per hash in a table for ``size`` used codes.

    Up to 64 codes are padded to whole vectors, because the native core then looks weights up in registers.
    """
    return next((whole for whole in (16, 32, 64) if size <= whole), size)


def padded(w: Array) -> Array:
    """Return a table (problems, hashes, used codes) whose rows have the length that the solvers want."""
    wide = np.zeros((*w.shape[:2], stride_of(w.shape[2])), w.dtype)
    wide[:, :, : w.shape[2]] = w
    return wide


def number_dtype(used_codes: Array, width: int) -> Any:
    """Return the type of the numbers of codes, which has room for the number of unknown codes."""
    return code_dtype(_largest(used_codes, width).bit_length())


def _largest(used_codes: Array, width: int) -> int:
    """Return the number of unknown codes, which is the one after the last; if all codes are known, the last one."""
    return min(len(used_codes), (1 << width) - 1)


def numbers_of(used_codes: Array, width: int) -> Array:
    """Return the number of every code of ``width`` bits. Codes that are not used get the number after the last."""
    numbers = np.full(1 << width, _largest(used_codes, width), number_dtype(used_codes, width))
    numbers[used_codes] = np.arange(len(used_codes))
    return numbers


def encode(codes: PackedCodes, used_codes: Array, *, owned: bool = False, threads: int = 1) -> tuple[Array, bool]:
    """Return the numbers of codes among known used codes, and whether some codes are unknown.

    Unknown codes get the number after the last. If the caller gives its codes away (``owned``), codes of 8 bits are
    overwritten. Codes that have no gaps are not copied.
    """
    backend = backend_for(codes.packed, threads=threads)
    size, width = len(used_codes), codes.width
    dtype = number_dtype(used_codes, width)
    if width in (8, 16) and size and used_codes[-1] == size - 1:
        whole = codes.unpack()
        if whole.dtype == dtype and (whole.size == 0 or int(whole.max()) < size):
            return whole, False
    number_of = backend.from_numpy(numbers_of(used_codes, width))
    in_place = owned and width == 8 and dtype == np.uint8 and getattr(codes.packed.flags, "writeable", True)
    numbers = codes.packed if in_place else backend.empty(codes.shape, dtype)
    largest = 0
    for rows in unpacked_steps(codes):
        _, most = backend.renumber(codes[rows].unpack(), number_of, out=numbers[rows])
        largest = max(largest, most)
    return numbers, largest >= size


def unpacked_steps(codes: PackedCodes) -> Iterator[slice]:
    """Yield all rows at once if the codes are there as they are, else a few at a time, to unpack them."""
    if codes.width in (8, 16):
        return row_batches(len(codes), 1, max(1, len(codes)))
    return row_batches(len(codes), 4 * codes.n_components)
