"""Generalized consistent weighted sampling: Algorithm 1 of the paper.

For hash j, each nonzero value of a row (a slot i with a weight) has

    t_i = floor(log(weight_i) / r_ij + beta_ij),      a_i = log(c_ij) - r_ij (t_i + 1 - beta_ij),

and the sample is i* = argmin a_i with t* = t_{i*}. Two rows draw the same (i*, t*) with the probability of their GMM
kernel. The code uses units of log2 and a_i = A_ij - r_ij (t_i + 1), so that equal t give equal a bit for bit.
"""

from __future__ import annotations

import numpy as np

from .._array import Array
from .._mix import GOLDEN64, mix64
from .arithmetic import fma, log2_value
from .rng import parameters


def log_weights(values: Array, p: float) -> Array:
    """Return L = p log2|value| as float32."""
    return np.asarray((p * log2_value(np.abs(values))).astype(np.float32))


def slots_of(features: Array, values: Array) -> Array:
    """Return the slots of values: 2 f for a positive and 2 f + 1 for a negative value of feature f."""
    return 2 * np.asarray(features).astype(np.int64) + (values < 0)


def sample(slots: Array, logs: Array, seed: int, hashes: Array) -> tuple[Array, Array]:
    """Return i* and t* of one row for each hash number. The slots ascend. An empty row has i* = -1 and t* = 0."""
    if len(slots) == 0:
        return np.full(len(hashes), -1, np.int64), np.zeros(len(hashes), np.int64)
    r, reciprocal, beta, A = parameters(seed, slots, hashes)
    above = np.floor(fma(logs[:, None], reciprocal, np.float32(1) + beta))  # t + 1
    a = fma(-r, above, A)
    winner = a.argmin(axis=0)  # the lowest slot among equals
    column = np.arange(len(hashes))
    return slots[winner], above[winner, column].astype(np.int64) - 1


def concatenate(slots: Array, t: Array, counts: Array) -> Array:
    """Return the signatures of eGMM: hash j is a 63-bit mix of ``counts[j]`` successive samples.

    ``slots`` and ``t`` have the shape (rows, sum of counts).
    """
    golden = np.uint64(GOLDEN64)
    signatures = np.zeros((len(slots), len(counts)), np.uint64)
    ends = np.cumsum(counts)
    for j, (count, end) in enumerate(zip(counts, ends, strict=True)):
        h = np.zeros(len(slots), np.uint64)
        for q in range(end - count, end):
            h = mix64(h + slots[:, q].astype(np.uint64) + golden)
            h = mix64(h + t[:, q].astype(np.uint64) + golden)
        signatures[:, j] = h >> np.uint64(1)
    return signatures.astype(np.int64)
