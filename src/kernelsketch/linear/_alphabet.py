"""Codes as the solvers take them: one small integer a code, numbered without gaps.

A nonnegative dataset of 16 features uses 16 of the 256 codes of 8 bits. Numbering those that occur makes the table of
weights 16 times smaller, so that it stays in the processor's cache.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..codes import PackedCodes
from ..exceptions import InputError

Array = NDArray[Any]

MOST_CODES = 1 << 16
STEP_ROWS = 8192


class CodeTable(NamedTuple):
    """Rows of compacted codes: ``codes`` (n, k) uint8 or uint16, flags of ``empty`` rows, and the ``alphabet``."""

    codes: Array
    empty: Array
    alphabet: Array

    @property
    def stride(self) -> int:
        return stride_of(len(self.alphabet))


def stride_of(size: int) -> int:
    """Floats of a row of the weight table: small alphabets fill whole vectors, which are then looked up in registers."""
    for whole in (16, 32, 64):
        if size <= whole:
            return whole
    return size


def compact(codes: PackedCodes) -> CodeTable:
    """Number the codes that occur. Codes of 8 and 16 bits that occur without gaps are not copied."""
    used = np.zeros(1 << codes.width, bool)
    for start in range(0, len(codes), STEP_ROWS):
        used[codes[start : start + STEP_ROWS].unpack()] = True
    alphabet = np.flatnonzero(used)
    if len(alphabet) > MOST_CODES:
        raise InputError(
            f"{len(alphabet)} different codes occur, of bits={codes.bits} and t_bits={codes.t_bits}: a model has a weight "
            f"for each of them and each hash, and takes at most {MOST_CODES}. Use fewer bits."
        )
    return encode(codes, alphabet)[0]


def encode(codes: PackedCodes, alphabet: Array) -> tuple[CodeTable, bool]:
    """Numbers of codes in a known alphabet; and whether some are not in it, which get the number after the last."""
    empty = codes.empty.astype(np.uint8)
    size = len(alphabet)
    dtype = np.uint8 if size < 256 or (size == 256 and codes.width <= 8) else np.uint16
    if codes.width in (8, 16) and size and alphabet[-1] == size - 1:
        whole = codes.unpack()
        if whole.dtype == dtype and (whole.size == 0 or int(whole.max()) < size):
            return CodeTable(np.ascontiguousarray(whole), empty, alphabet), False
    numbers = np.full(1 << codes.width, min(size, np.iinfo(dtype).max), dtype)
    numbers[alphabet] = np.arange(size, dtype=np.int64).astype(dtype)
    known = np.zeros(1 << codes.width, bool)
    known[alphabet] = True
    compacted = np.empty(codes.shape, dtype)
    unknown = False
    for start in range(0, len(codes), STEP_ROWS):
        part = codes[start : start + STEP_ROWS].unpack()
        np.take(numbers, part, out=compacted[start : start + STEP_ROWS])
        unknown = unknown or not bool(known[part].all())
    return CodeTable(compacted, empty, alphabet), unknown
