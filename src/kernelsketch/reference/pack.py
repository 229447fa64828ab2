"""b-bit codes and how they are packed.

The b-bit code of a slot is (f XOR (neg << (b - 1))) mod 2^b for feature f: the low bits of the feature, with the
sign in the highest bit. The paper takes the low bits of the interleaved slot 2 f + neg, which on nonnegative
data, where every slot is even, always wastes one bit. Bits of t* stand above, in two's complement.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def code_dtype(width: int) -> Any:
    """The smallest unsigned integer that holds ``width`` bits."""
    return np.dtype(np.uint8 if width <= 8 else np.uint16 if width <= 16 else np.uint32)


def encode(slots: Array, t: Array, bits: int, t_bits: int) -> Array:
    """Codes of samples; 0 for an empty row (slot -1)."""
    code = ((slots >> 1) ^ ((slots & 1) << (bits - 1))) & ((1 << bits) - 1)
    code = code | ((t & ((1 << t_bits) - 1)) << bits)
    return np.where(slots < 0, 0, code).astype(code_dtype(bits + t_bits))


def pack(codes: Array, width: int) -> Array:
    """Rows of codes of ``width`` bits, one after the other, least significant bit first, in whole bytes."""
    bits = (codes[:, :, None] >> np.arange(width, dtype=codes.dtype)) & 1
    return np.packbits(bits.reshape(len(codes), codes.shape[1] * width).astype(np.uint8), axis=1, bitorder="little")


def unpack(packed: Array, n_codes: int, width: int) -> Array:
    bits = np.unpackbits(packed, axis=1, bitorder="little")[:, : n_codes * width]
    weights = 1 << np.arange(width)
    return np.asarray(bits.reshape(len(packed), n_codes, width) @ weights).astype(code_dtype(width))
