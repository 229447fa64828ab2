"""Simulate Theorem 1: bias and variance of GCWS over the number of hashes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernelsketch.exceptions import InputError
from kernelsketch.features import GCWS
from kernelsketch.kernels import gmm_kernel
from kernelsketch.theory import gcws_variance

from .._checks import check_positive_int
from ._chunks import Array, Errors, OnRepetitions, check_size, power_sums, sum_over_chunks

STREAM = 2
SIMILARITIES = (0.05, 0.2, 0.5, 0.8, 0.95)


@dataclass(frozen=True, eq=False)
class GCWSSimulation:
    """Errors of the fraction of equal hashes for each similarity (first axis) and k (second axis)."""

    similarities: tuple[float, ...]
    k: Array
    full: Errors  # samples (i*, t*)
    zero_bit: Errors  # i* alone

    def theory(self) -> Array:
        """Return the variance of GCWS, GMM (1 - GMM) / k."""
        return np.stack([gcws_variance(similarity, self.k) for similarity in self.similarities])


def simulate_gcws(
    similarities: Sequence[float] = SIMILARITIES,
    *,
    n_features: int = 64,
    k_max: int = 1000,
    repetitions: int = 100_000,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: OnRepetitions | None = None,
) -> GCWSSimulation:
    """Simulate the errors of GCWS as an estimate of the GMM kernel, at k = 1, 2, ..., k_max.

    :class:`~kernelsketch.GCWS` hashes random rows that have given kernels with a first row. Each repetition uses k_max
    hashes of its own. All similarities share these hashes, so their errors are correlated.

    Parameters
    ----------
    similarities : sequence of float
        GMM kernels of the pairs, each above 0 and below 1.
    n_features : int, default=64
        Number of features of the rows. It matters only for the 0-bit scheme.
    k_max : int, default=1000
        Largest number of hashes.
    repetitions : int, default=100_000
        Number of repetitions.
    seed : int, default=0
        Seed of the simulation.
    n_jobs : int, default=None
        Number of threads: None means 1, -1 means all processors. The result does not depend on it.
    progress : callable, default=None
        Function that is called with the number of repetitions done and the number in all.

    Returns
    -------
    simulation : GCWSSimulation
        Errors and the theory that they are compared with.

    Examples
    --------
    >>> from kernelsketch_paper.simulations import simulate_gcws
    >>> found = simulate_gcws([0.5], k_max=100, repetitions=1000)
    >>> bool(abs(found.full.bias / found.full.bias_std).max() < 4)  # unbiased
    True
    >>> bool(found.zero_bit.bias[0, -1] > 0)  # without t* the estimate is too large
    True
    """
    targets = tuple(float(value) for value in similarities)
    size, d = check_size(k_max, "k_max"), check_positive_int(n_features, "n_features")
    if not targets:
        raise InputError("similarities must hold at least one number, got none.")
    for target in targets:
        if not 0 < target < 1:
            raise InputError(f"similarities must be numbers above 0 and below 1, got {target!r}.")

    def sums_of_chunk(case: int, count: int, seeds: np.random.SeedSequence) -> Array:
        shares = hash_shares(targets, (count, size), d, seeds)
        return np.stack(
            [[power_sums(share - target) for share in both] for target, both in zip(targets, shares, strict=True)]
        )

    sums = sum_over_chunks(
        sums_of_chunk,
        n_cases=1,
        repetitions=repetitions,
        size=size,
        seed=seed,
        stream=STREAM,
        n_jobs=n_jobs,
        progress=progress,
    )
    full, zero_bit = (Errors.from_sums(sums[0, :, scheme], repetitions) for scheme in range(2))
    return GCWSSimulation(targets, np.arange(1, size + 1, dtype=np.float64), full, zero_bit)


def hash_shares(
    similarities: Sequence[float], shape: tuple[int, int], n_features: int, seeds: np.random.SeedSequence
) -> Iterator[tuple[Array, Array]]:
    """Yield for each similarity the fractions of equal samples among the first k, of (i*, t*) and of i* alone.

    Both arrays have shape (repetitions, k). All rows are hashed together, since drawing the random numbers of a hash
    takes most of the time.
    """
    of_rows, of_hash = seeds.spawn(2)
    rows = rows_with_gmm(similarities, n_features, np.random.default_rng(of_rows))
    seed = int(of_hash.generate_state(1, np.uint64)[0])
    i, t = GCWS(shape[0] * shape[1], random_state=seed, n_jobs=1).fit(rows).signatures(rows)
    k = np.arange(1, shape[1] + 1)
    for other in range(1, len(rows)):
        same = i[0] == i[other]
        both = same & (t[0] == t[other])
        full, zero_bit = (np.cumsum(equal.reshape(shape), axis=1, dtype=np.int32) / k for equal in (both, same))
        yield full, zero_bit


def rows_with_gmm(similarities: Sequence[float], n_features: int, rng: np.random.Generator) -> Array:
    """Return rows of normal values; each row after the first has the given GMM kernel with the first, to 1e-12."""
    u = rng.standard_normal(n_features)
    return np.stack([u, *(_row_with_gmm(similarity, u, rng) for similarity in similarities)])


def _row_with_gmm(similarity: float, u: Array, rng: np.random.Generator) -> Array:
    z = rng.standard_normal(len(u))

    def mixture(mix: float) -> Array:
        return np.asarray(mix * u + np.sqrt((1 - mix) * (1 + mix)) * z)

    low, high = -1.0, 1.0  # from -u, kernel 0, to u, kernel 1
    for _ in range(50):
        middle = (low + high) / 2
        if gmm_kernel(u, mixture(middle)) < similarity:
            low = middle
        else:
            high = middle
    return mixture(high)
