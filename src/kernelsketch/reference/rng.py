"""The counter-based generator: random numbers are a function of the seed, the slot and the hash number.

A slot is 2 f for a positive and 2 f + 1 for a negative value of feature f. A 64-bit mix of the seed and the slot gives
three pairs of 32-bit keys per slot. A 32-bit mix of the hash number with each pair of keys gives three words. These
determine the parameters of one (slot, hash): r and c ~ Gamma(2, 1) and beta ~ Uniform(0, 1), in units of log2. See
docs/decisions/0007-generator.rst for the choice and its tests.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._array import Array
from .._mix import GOLDEN64, mix64
from .arithmetic import fma, log2_float32, to_bfloat16

HASH_VERSION = 1
GOLDEN32 = 0x9E3779B1
WORDS = 3


class Parameters(NamedTuple):
    """The parameters of Algorithm 1 in units of log2, float32 of shape (slots, hashes).

    With them t + 1 = floor(L / r + (1 + beta)) and a = A - r (t + 1). r has 8 significant bits and beta has 16, so that
    native code can keep both in one 32-bit word.
    """

    r: Array
    reciprocal: Array
    beta: Array
    A: Array


def slot_keys(seed: int, slots: Any, words: Any = range(WORDS)) -> Array:
    """Return one pair of keys per slot and word: (slots, words, 2) uint32. ``words`` holds the numbers of the words."""
    golden = np.uint64(GOLDEN64)
    seed_key = mix64(np.array([seed], np.uint64) + golden)
    state = mix64(np.asarray(slots).astype(np.uint64) + seed_key)
    keys = np.stack([mix64(state + np.uint64((w + 1) * GOLDEN64 % 2**64)) for w in words], axis=1)
    low, high = keys & np.uint64(0xFFFFFFFF), keys >> np.uint64(32)
    return np.stack([low, high], axis=2).astype(np.uint32)


def hash_words(keys: Array, hashes: Any) -> list[Array]:
    """Return one uniform 32-bit word per (slot, hash) for each pair of keys."""
    j = np.asarray(hashes).astype(np.uint32)[None, :] * np.uint32(GOLDEN32)
    words = []
    for w in range(keys.shape[1]):
        x: Any = j ^ keys[:, w, 0, None]
        x = x ^ (x >> np.uint32(16))
        x = x * np.uint32(0x21F0AAAD)
        x = x ^ (x >> np.uint32(15)) ^ keys[:, w, 1, None]
        x = x * np.uint32(0x735A2D97)
        words.append(x ^ (x >> np.uint32(15)))
    return words


def uniforms(words: list[Array]) -> tuple[Array, Array, Array, Array, Array]:
    """Return five numbers (m + 1/2) / 2^bits in (0, 1): two of 16 bits, two of 23 bits, and beta of 16 bits."""

    def uniform(m: Array, bits: int) -> Array:
        return fma(m.astype(np.float32), np.float32(2.0**-bits), np.float32(2.0 ** -(bits + 1)))

    w0, w1, w2 = words
    low8 = np.uint32(0xFF)
    return (
        uniform(w0 >> np.uint32(16), 16),
        uniform(w0 & np.uint32(0xFFFF), 16),
        uniform(w1 >> np.uint32(9), 23),
        uniform(w2 >> np.uint32(9), 23),
        uniform(((w1 & low8) << np.uint32(8)) | (w2 & low8), 16),
    )


def parameters(seed: int, slots: Any, hashes: Any) -> Parameters:
    """Return the parameters of Algorithm 1 for each (slot, hash).

    r = -log2(u1 u2), rounded to 8 bits, is Gamma(2, 1) divided by ln 2, and so is c. This constant factor adds a
    constant to log2(c), which does not change the argmin of a. A = log2(c) + r beta.
    """
    u1, u2, u3, u4, beta = uniforms(hash_words(slot_keys(seed, slots), hashes))
    r = to_bfloat16(-log2_float32(u1 * u2))
    c = -log2_float32(u3 * u4)
    return Parameters(r, np.float32(1) / r, beta, fma(r, beta, log2_float32(c)))
