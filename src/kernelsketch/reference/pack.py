"""b-bit codes of samples, and packed codes.

The b-bit code of a slot is (f XOR (neg << (b - 1))) mod 2^b for feature f: the low bits of the feature, with the sign
added to the highest bit. The paper takes the low bits of the interleaved slot 2 f + neg, which wastes one bit on
nonnegative data, where every slot is even. The bits of t* are above these bits, in two's complement.
"""

from __future__ import annotations

import numpy as np

from .._array import Array, code_dtype


def encode(slots: Array, t: Array, bits: int, t_bits: int) -> Array:
    """Return the codes of samples. The codes of an empty row (slot -1) are 0."""
    code = ((slots >> 1) ^ ((slots & 1) << (bits - 1))) & ((1 << bits) - 1)
    code = code | ((t & ((1 << t_bits) - 1)) << bits)
    return np.where(slots < 0, 0, code).astype(code_dtype(bits + t_bits))


def pack(codes: Array, width: int) -> Array:
    """Pack each row of codes of ``width`` bits into whole bytes, least significant bit first."""
    bits = (codes[:, :, None] >> np.arange(width, dtype=codes.dtype)) & 1
    return np.packbits(bits.reshape(len(codes), codes.shape[1] * width).astype(np.uint8), axis=1, bitorder="little")


def unpack(packed: Array, width: int, n_components: int) -> Array:
    bits = np.unpackbits(packed, axis=1, bitorder="little")[:, : n_components * width]
    weights = 1 << np.arange(width)
    return np.asarray(bits.reshape(len(packed), n_components, width) @ weights).astype(code_dtype(width))


def used_codes(codes: Array, width: int) -> Array:
    """Return for each code of ``width`` bits whether it occurs."""
    used = np.zeros(1 << width, bool)
    used[codes] = True
    return used
