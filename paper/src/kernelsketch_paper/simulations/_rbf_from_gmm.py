"""Simulation of Theorem 4: the RBF kernel estimated from equal hashes of GCWS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelsketch._validation import check_positive_int
from kernelsketch.exceptions import InputError
from kernelsketch.theory import gmm_limit, rbf_from_gmm, rbf_from_gmm_variance, rff_mean

from ._chunks import Array, Errors, Progress, check_panels, check_size, power_sums, sum_over_chunks
from ._fourier import PANELS
from ._gcws import hash_shares

STREAM = 3


@dataclass(frozen=True, eq=False)
class RBFFromGMMSimulation:
    """Errors of RBF estimated from GCWS at each panel (first axis) and k (second axis)."""

    panels: tuple[tuple[float, float], ...]
    k: Array
    errors: Errors

    def theory(self) -> Array:
        """V_g / k."""
        return np.stack([rbf_from_gmm_variance(rho, gamma, self.k) for rho, gamma in self.panels])


def simulate_rbf_from_gmm(
    panels: Sequence[tuple[float, float]] = PANELS,
    *,
    n_features: int = 64,
    k_max: int = 1000,
    repetitions: int = 100_000,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> RBFFromGMMSimulation:
    """Errors of :func:`~kernelsketch.theory.rbf_from_gmm` on shares of equal hashes, at k = 1, 2, ..., k_max.

    The theorem assumes rows whose GMM kernel is the limit g(rho) exactly, so pairs are made with that kernel. How
    far from it the kernel of random rows is, `simulate_limit` tells.

    Parameters
    ----------
    panels : sequence of (rho, gamma)
        With rho above -1 and below 1.
    n_features : int, default=64
        Of the rows.
    k_max : int, default=1000
        Largest number of hashes.
    repetitions : int, default=100_000
    seed : int, default=0
    n_jobs : int, default=None
        Threads: None is 1, -1 all processors. The result does not depend on it.
    progress : callable, default=None
        Called with the numbers of repetitions done and in all.

    Returns
    -------
    simulation : RBFFromGMMSimulation

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

    def task(case: int, count: int, seeds: np.random.SeedSequence) -> Array:
        shares = hash_shares(limits, (count, size), d, seeds)
        estimates = (rbf_from_gmm(full, gamma) for (full, _), (_, gamma) in zip(shares, pairs, strict=True))
        return np.stack([power_sums(estimate - kernel) for estimate, kernel in zip(estimates, kernels, strict=True)])

    sums = sum_over_chunks(
        task,
        n_cases=1,
        repetitions=repetitions,
        size=size,
        seed=seed,
        stream=STREAM,
        n_jobs=n_jobs,
        progress=progress,
    )
    return RBFFromGMMSimulation(pairs, np.arange(1, size + 1, dtype=np.float64), Errors.from_sums(sums[0], repetitions))
