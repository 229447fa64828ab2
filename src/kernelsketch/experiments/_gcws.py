"""Simulation of Theorem 1: bias and variance of GCWS over the number of hashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._validation import check_positive_int
from ..exceptions import InputError
from ..features import GCWS
from ..kernels import gmm_kernel
from ..theory import gcws_variance
from ._chunks import Array, Errors, Progress, check_size, power_sums, sum_over_chunks

STREAM = 2
SIMILARITIES = (0.05, 0.2, 0.5, 0.8, 0.95)


@dataclass(frozen=True, eq=False)
class GCWSSimulation:
    """Errors of the share of equal hashes at each similarity (first axis) and k (second axis)."""

    similarities: tuple[float, ...]
    k: Array
    full: Errors  # samples (i*, t*)
    zero_bit: Errors  # i* alone

    def theory(self) -> Array:
        """GMM (1 - GMM) / k."""
        return np.stack([gcws_variance(similarity, self.k) for similarity in self.similarities])


def simulate_gcws(
    similarities: Sequence[float] = SIMILARITIES,
    *,
    n_features: int = 64,
    k_max: int = 1000,
    repetitions: int = 100_000,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> GCWSSimulation:
    """Errors of GCWS as an estimate of the GMM kernel, at k = 1, 2, ..., k_max.

    Pairs of random rows of a given kernel are hashed by :class:`~kernelsketch.GCWS`; a repetition is a run of k_max
    hashes that no other repetition sees.

    Parameters
    ----------
    similarities : sequence of float
        GMM kernels of the pairs, above 0 and below 1.
    n_features : int, default=64
        Of the rows. It matters for the 0-bit scheme alone.
    k_max : int, default=1000
        Largest number of hashes.
    repetitions : int, default=100_000
        Of each similarity.
    seed : int, default=0
    n_jobs : int, default=None
        Threads: None is 1, -1 all processors. The result does not depend on it.
    progress : callable, default=None
        Called with the numbers of repetitions done and in all.

    Returns
    -------
    simulation : GCWSSimulation

    Examples
    --------
    >>> from kernelsketch.experiments import simulate_gcws
    >>> found = simulate_gcws([0.5], k_max=100, repetitions=1000)
    >>> bool(abs(found.full.bias / found.full.bias_std).max() < 4)  # unbiased
    True
    >>> bool(found.zero_bit.bias[0, -1] > 0)  # without t* the share is too large
    True
    """
    targets = tuple(float(value) for value in similarities)
    size, d = check_size(k_max, "k_max"), check_positive_int(n_features, "n_features")
    for target in targets:
        if not 0 < target < 1:
            raise InputError(f"similarities must be numbers above 0 and below 1, got {target!r}.")

    def task(case: int, count: int, seeds: np.random.SeedSequence) -> Array:
        shares = hash_shares(targets[case], (count, size), d, seeds)
        return np.stack([power_sums(share - targets[case]) for share in shares])

    sums = sum_over_chunks(
        task,
        n_cases=len(targets),
        repetitions=repetitions,
        size=size,
        seed=seed,
        stream=STREAM,
        n_jobs=n_jobs,
        progress=progress,
    )
    full, zero_bit = (Errors.from_sums(sums[:, scheme], repetitions) for scheme in range(2))
    return GCWSSimulation(targets, np.arange(1, size + 1, dtype=np.float64), full, zero_bit)


def hash_shares(
    similarity: float, shape: tuple[int, int], n_features: int, seeds: np.random.SeedSequence
) -> tuple[Array, Array]:
    """Share of equal samples among the first k, of (i*, t*) and of i* alone: arrays (repetitions, k)."""
    of_pair, of_hash = seeds.spawn(2)
    pair = pair_with_gmm(similarity, n_features, np.random.default_rng(of_pair))
    hasher = GCWS(shape[0] * shape[1], random_state=int(of_hash.generate_state(1, np.uint64)[0]), n_jobs=1).fit(pair)
    i, t = hasher.signatures(pair)
    same = i[0] == i[1]
    both = same & (t[0] == t[1])
    k = np.arange(1, shape[1] + 1)
    full, zero_bit = (np.cumsum(equal.reshape(shape), axis=1, dtype=np.int32) / k for equal in (both, same))
    return full, zero_bit


def pair_with_gmm(similarity: float, n_features: int, rng: np.random.Generator) -> Array:
    """Two rows of normal values with this GMM kernel, to 1e-12."""
    u, z = rng.standard_normal((2, n_features))

    def other(mix: float) -> Array:
        return np.asarray(mix * u + np.sqrt((1 - mix) * (1 + mix)) * z)

    low, high = -1.0, 1.0  # from -u, kernel 0, to u, kernel 1
    for _ in range(50):
        middle = (low + high) / 2
        if gmm_kernel(u, other(middle)) < similarity:
            low = middle
        else:
            high = middle
    return np.stack([u, other(high)])
