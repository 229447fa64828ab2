"""The numbers of the codes that a model uses, and the length of a row of its tables of weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

MOST_CODES = 1 << 16


def stride_of(size: int) -> int:
    """Return the number of weights per hash in a table for ``size`` used codes.

    Up to 64 codes are padded to whole vectors, because the native core then looks weights up in registers.
    """
    for whole in (16, 32, 64):
        if size <= whole:
            return whole
    return size


def number_dtype(used_codes: Array, width: int) -> Any:
    """Return the type of the numbers of codes, which has room for the number of unknown codes."""
    return np.uint8 if len(used_codes) < 256 or (len(used_codes) == 256 and width <= 8) else np.uint16


def numbers_of(used_codes: Array, width: int) -> Array:
    """Return the number of every code of ``width`` bits. Codes that are not used get the number after the last."""
    dtype, size = number_dtype(used_codes, width), len(used_codes)
    numbers = np.full(1 << width, min(size, np.iinfo(dtype).max), dtype)
    numbers[used_codes] = np.arange(size, dtype=np.int64).astype(dtype)
    return numbers
