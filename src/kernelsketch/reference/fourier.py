"""Random Fourier features of the RBF kernel, and their normalized form (section 3 of the paper).

For hash j a row u of unit norm has the feature

    sqrt(2 / k) cos(sqrt(gamma) u.r_j + w_j),      r_j ~ N(0, 1)^d,  w_j ~ Uniform(0, 2 pi).

Weights and phases are functions of the seed, the feature and j alone. They come from words 3 and 4 of the generator
(rng.py); GCWS uses words 0 to 2. Angles are in turns, so that a cosine needs no pi: rows are scaled by
sqrt(gamma) / (2 pi) over their norm, and phases lie in (0, 1). All further arithmetic has the type of the rows, float32
or float64; weights are float32 in both cases. Sums run over the nonzero values of a row in ascending order of features,
so dense and sparse rows give equal results.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._array import Array
from .arithmetic import cos_turns, fma, fma_float64, log2_float32
from .rng import hash_words, slot_keys

FOURIER_VERSION = 1
NORMAL_WORDS = (3, 4)
PHASE_SLOT = 2**63  # a slot that belongs to no feature
TWO_LN_2 = np.float32(1.3862944)
LANES = 32  # number of running sums of squares
FLUSH = 64  # number of squares that a lane sums in the type of the rows before the sum goes to float64


def scale_of(gamma: float) -> float:
    """Return the factor that converts a row of unit norm to turns."""
    return math.sqrt(gamma) / (2 * math.pi)


def normals(seed: int, features: Any, hashes: Any) -> Array:
    """Return N(0, 1) float32 numbers for each (feature, hash) by the Box-Muller method, sqrt(-2 ln u) cos(2 pi v)."""
    length, angle = hash_words(slot_keys(seed, features, NORMAL_WORDS), hashes)
    u = fma((length >> np.uint32(1)).astype(np.float32), np.float32(2.0**-31), np.float32(2.0**-32))
    v = _uniform(angle)
    return np.asarray(np.sqrt(TWO_LN_2 * -log2_float32(u)) * cos_turns(v))


def phases(seed: int, hashes: Any) -> Array:
    """Return the phase of each hash in turns, uniform on (0, 1), float32."""
    words = hash_words(slot_keys(seed, [PHASE_SLOT], NORMAL_WORDS[:1]), hashes)[0]
    return np.asarray(_uniform(words)[0])


def scaled(values: Array, features: Array, scale: float) -> Array:
    """Return a row divided by its norm and multiplied by ``scale``, in its type. ``values`` are its nonzeros.

    Squares are summed in float64 in eight lanes, by feature number modulo 8. float64 rows whose largest value is near a
    limit of the range are first multiplied by a power of two. For float32 rows the factor is rounded to float32, unless
    it is near a limit of that range.
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
    """Return cos(sqrt(gamma) u.r_j + w_j) of one row, given by its nonzeros in ascending order of features."""
    fused = fma if values.dtype == np.float32 else fma_float64
    turns = phases(seed, hashes).astype(values.dtype)
    for x, weights in zip(scaled(values, features, scale), normals(seed, features, hashes), strict=True):
        turns = fused(x, weights, turns)
    return cos_turns(turns)


def inverse_norm(row: Array) -> float:
    """Return one over the norm of a row of cosines, or 0 if the norm is 0.

    Squares are summed in 32 lanes, by hash number modulo 32.
    """
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
    """Return the RFF of one row or, with ``normalize``, its NRFF. The features of an all-zero row are 0."""
    if len(values) == 0:
        return np.zeros(len(hashes), values.dtype)
    row = cosines(values, features, scale, seed, hashes)
    factor = inverse_norm(row) if normalize else math.sqrt(2 / len(hashes))
    return np.asarray(row * row.dtype.type(factor))


def _uniform(words: Array) -> Array:
    """Return (m + 1/2) / 2^23, where m is the upper 23 bits."""
    return fma((words >> np.uint32(9)).astype(np.float32), np.float32(2.0**-23), np.float32(2.0**-24))


def _tree(x: Array) -> float:
    """Sum the numbers in a tree: the upper half is added to the lower half until one number is left."""
    while len(x) > 1:
        x = x[: len(x) // 2] + x[len(x) // 2 :]
    return float(x[0])
