"""The number of samples that each hash of the exponential kernels joins."""

from __future__ import annotations

import numpy as np

from .._array import Array
from .._mix import GOLDEN64, mix_number


def poisson_counts(seed: int, gamma: float, n_hashes: int) -> Array:
    """Return the number of samples m_j ~ Poisson(gamma) that each hash j of eGMM joins, equal for all rows.

    m_j is the Poisson quantile of frac(U + j phi), where phi is the golden ratio and U comes from the seed. Every
    prefix of the hashes nearly has the right frequencies, so the estimate has a smaller variance than with independent
    draws.
    """
    start = mix_number(seed + 2 * GOLDEN64)
    steps = (start + np.arange(n_hashes, dtype=np.uint64) * np.uint64(GOLDEN64)) >> np.uint64(11)
    u = (steps.astype(np.float64) + 0.5) * 2.0**-53
    most = int(gamma + 12 * np.sqrt(gamma) + 40)
    m = np.arange(most + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
    cumulative = np.cumsum(np.exp(m * np.log(gamma) - gamma - log_factorial))
    return np.searchsorted(cumulative, u).astype(np.int64)
