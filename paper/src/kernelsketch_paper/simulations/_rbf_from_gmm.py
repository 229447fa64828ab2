"""Simulate Theorem 4: the RBF kernel estimated from equal hashes of GCWS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelsketch.exceptions import InputError
from kernelsketch.theory import gmm_limit, rbf_from_gmm, rbf_from_gmm_variance, rff_mean

from .._checks import check_positive_int
from ._chunks import Array, Errors, OnRepetitions, check_panels, check_size, power_sums, sum_over_chunks
from ._fourier import PANELS
from ._gcws import hash_shares

STREAM = 3


@dataclass(frozen=True, eq=False)
class RBFFromGMMSimulation:
    """Errors of the RBF kernel estimated from GCWS, for each panel (first axis) and k (second axis)."""

    panels: tuple[tuple[float, float], ...]
    k: Array
    errors: Errors

    def theory(self) -> Array:
        """Return the asymptotic variance, V_g / k."""
        return np.stack([rbf_from_gmm_variance(rho, gamma, self.k) for rho, gamma in self.panels])


def simulate_rbf_from_gmm(
    panels: Sequence[tuple[float, float]] = PANELS,
    *,
    n_features: int = 64,
    k_max: int = 1000,
    repetitions: int = 100_000,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: OnRepetitions | None = None,
) -> RBFFromGMMSimulation:
    """Simulate the errors of :func:`~kernelsketch.theory.rbf_from_gmm`, at k = 1, 2, ..., k_max.

    The function is applied to fractions of equal hashes. The theorem assumes rows whose GMM kernel is exactly the limit
    g(rho), so the simulation makes pairs with that kernel. `simulate_limit` shows how far the kernel of random rows is
    from the limit.

    Parameters
    ----------
    panels : sequence of (rho, gamma)
        Correlation, above -1 and below 1, and parameter of the RBF kernel.
    n_features : int, default=64
        Number of features of the rows.
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
    simulation : RBFFromGMMSimulation
        Errors and the theory that they are compared with.

    Examples
    --------
    >>> from kernelsketch_paper.simulations import simulate_rbf_from_gmm
    >>> found = simulate_rbf_from_gmm([(0.5, 1.0)], k_max=200, repetitions=1000)
    >>> bool(abs(found.errors.mse[0, -1] / found.theory()[0, -1] - 1) < 0.2)
    True
    """
    pairs = check_panels(panels)
    size, d = check_size(k_max, "k_max"), check_positive_int(n_features, "n_features")
    for rho, _ in pairs:
        if not -1 < rho < 1:
            raise InputError(f"rho of each panel must be a number above -1 and below 1, got {rho!r}.")
    kernels = [rff_mean(rho, gamma) for rho, gamma in pairs]
    limits = [gmm_limit(rho) for rho, _ in pairs]

    def sums_of_chunk(case: int, count: int, seeds: np.random.SeedSequence) -> Array:
        shares = hash_shares(limits, (count, size), d, seeds)
        estimates = (rbf_from_gmm(full, gamma) for (full, _), (_, gamma) in zip(shares, pairs, strict=True))
        return np.stack([power_sums(estimate - kernel) for estimate, kernel in zip(estimates, kernels, strict=True)])

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
    return RBFFromGMMSimulation(pairs, np.arange(1, size + 1, dtype=np.float64), Errors.from_sums(sums[0], repetitions))
