"""The 64-bit mixing function of the random generator (``reference/rng.py``), once in Python.

The orders of rows, the Poisson counts of eGMM and the keys of joins use it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

GOLDEN64 = 0x9E3779B97F4A7C15


def mix64(z: NDArray[Any]) -> NDArray[Any]:
    """Mix the bits of 64-bit integers by a bijection (Stafford's variant 13, the finalizer of SplitMix64)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


def mix_number(z: int) -> int:
    """Mix one number, modulo 2^64."""
    return int(mix64(np.array([z % 2**64], np.uint64))[0])
