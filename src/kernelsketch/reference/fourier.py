"""Random Fourier features of the RBF kernel, and their normalized form (section 3 of the paper).

For hash j a row u of unit norm has the feature

    sqrt(2 / k) cos(sqrt(gamma) u.r_j + w_j),      r_j ~ N(0, 1)^d,  w_j ~ Uniform(0, 2 pi).

Weights and phases are functions of (seed, feature, j) alone: words 3 and 4 of the generator (rng.py; the hash of
GCWS uses 0 to 2). Angles are in turns, so that a cosine needs no pi: rows are scaled by sqrt(gamma) / (2 pi) over their
norm, phases lie in (0, 1). Everything after that is done in the type of the rows, float32 or float64, with weights
that are float32 in both; sums run over the nonzero values of a row, features ascending, so storage plays no part.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arithmetic import cos_turns, fma, fma_float64, log2_float32
from .rng import hash_words, slot_keys

Array = NDArray[Any]

FOURIER_VERSION = 1
NORMAL_WORDS = (3, 4)
PHASE_SLOT = 2**63  # of no feature
TWO_LN_2 = np.float32(1.3862944)
LANES = 32  # running sums of squares
FLUSH = 64  # squares that a lane sums in the type of the rows before they go to a float64


def scale_of(gamma: float) -> float:
    """From a row of unit norm to turns."""
    return math.sqrt(gamma) / (2 * math.pi)


def normals(seed: int, features: Any, hashes: Any) -> Array:
    """N(0, 1) for each (feature, hash), float32, by Box and Muller's method: sqrt(-2 ln u) cos(2 pi v)."""
    length, angle = hash_words(slot_keys(seed, features, NORMAL_WORDS), hashes)
    u = fma((length >> np.uint32(1)).astype(np.float32), np.float32(2.0**-31), np.float32(2.0**-32))
    v = _uniform(angle)
    return np.asarray(np.sqrt(TWO_LN_2 * -log2_float32(u)) * cos_turns(v))


def phases(seed: int, hashes: Any) -> Array:
    """Uniform on (0, 1) for each hash, in turns, float32."""
    words = hash_words(slot_keys(seed, [PHASE_SLOT], NORMAL_WORDS[:1]), hashes)[0]
    return np.asarray(_uniform(words)[0])


def scaled(values: Array, features: Array, scale: float) -> Array:
    """A row over its norm, times ``scale``, in its type; ``values`` are its nonzeros.

    Squares are summed in float64 in eight lanes, by feature number modulo 8. float64 rows whose largest value is near
    an end of the range are moved to its middle first; float32 rows have the factor rounded to float32, unless it is
    near an end of that range.
    """
    x = values.astype(np.float64)
    largest = np.abs(x).max()
    x = x * (2.0**600 if largest < 2.0**-400 else 2.0**-600 if largest > 2.0**400 else 1.0)
    lanes = np.zeros(8)
    for lane in range(8):
        squares = x[features % 8 == lane] ** 2
        lanes[lane] = np.add.accumulate(squares)[-1] if len(squares) else 0.0
    factor = scale / np.sqrt(_tree(lanes))
    if values.dtype == np.float32 and 2.0**-100 <= factor <= 2.0**100:
        return np.asarray(values * np.float32(factor))
    return np.asarray((x * factor).astype(values.dtype))


def cosines(values: Array, features: Array, scale: float, seed: int, hashes: Array) -> Array:
    """cos(sqrt(gamma) u.r_j + w_j) of one row, given by its nonzeros, features ascending."""
    fused = fma if values.dtype == np.float32 else fma_float64
    turns = phases(seed, hashes).astype(values.dtype)
    for x, weights in zip(scaled(values, features, scale), normals(seed, features, hashes), strict=True):
        turns = fused(x, weights, turns)
    return cos_turns(turns)


def inverse_norm(row: Array) -> float:
    """One over the norm of a row of cosines; 0 where that is 0. Squares are summed by hash number modulo 32."""
    fused = fma if row.dtype == np.float32 else fma_float64
    padded = np.zeros(-(-len(row) // LANES) * LANES, row.dtype)
    padded[: len(row)] = row
    groups = padded.reshape(-1, LANES)
    totals = np.zeros(LANES)
    for start in range(0, len(groups), FLUSH):
        sums = np.zeros(LANES, row.dtype)
        for group in groups[start : start + FLUSH]:
            sums = fused(group, group, sums)
        totals = totals + sums
    total = _tree(totals)
    return 1 / math.sqrt(total) if total > 0 else 0.0


def features_of(values: Array, features: Array, scale: float, seed: int, hashes: Array, normalize: bool) -> Array:
    """RFF or, if ``normalize``, NRFF of one row; zeros for a row without a nonzero value."""
    if len(values) == 0:
        return np.zeros(len(hashes), values.dtype)
    row = cosines(values, features, scale, seed, hashes)
    factor = inverse_norm(row) if normalize else math.sqrt(2 / len(hashes))
    return np.asarray(row * row.dtype.type(factor))


def _uniform(words: Array) -> Array:
    """(m + 1/2) / 2^23 of the upper 23 bits."""
    return fma((words >> np.uint32(9)).astype(np.float32), np.float32(2.0**-23), np.float32(2.0**-24))


def _tree(x: Array) -> float:
    """The upper half is added to the lower, until one is left."""
    while len(x) > 1:
        x = x[: len(x) // 2] + x[len(x) // 2 :]
    return float(x[0])
