"""Simulate the limit of GMM: random rows with more and more features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelsketch.exceptions import InputError
from kernelsketch.theory import gmm_limit, gmm_limit_variance

from ._chunks import Array, Errors, OnRepetitions, check_size, power_sums, sum_over_chunks

STREAM = 4
CORRELATIONS = (0.0, 0.5, 0.9)
FREEDOMS = (math.inf, 3.0, 1.5)  # normal; t with a variance; t with a mean but no variance
N_FEATURES = (10, 32, 100, 316, 1000, 3162, 10_000)


@dataclass(frozen=True, eq=False)
class LimitSimulation:
    """Distance of GMM from its limit for each pair (rho, degrees of freedom) (first axis) and length (second axis)."""

    cases: tuple[tuple[float, float], ...]
    n_features: Array
    errors: Errors

    def theory(self) -> Array:
        """Return the variance around the limit, which is infinite where the data have no variance."""
        return np.stack([gmm_limit_variance(rho, self.n_features, df=df) for rho, df in self.cases])


def simulate_limit(
    correlations: Sequence[float] = CORRELATIONS,
    freedoms: Sequence[float] = FREEDOMS,
    *,
    n_features: Sequence[int] = N_FEATURES,
    repetitions: int = 1000,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: OnRepetitions | None = None,
) -> LimitSimulation:
    """Simulate the distance of the GMM kernel of two random rows from g(rho), over the number of features.

    Parameters
    ----------
    correlations : sequence of float
        Correlations of the data, from -1 to 1.
    freedoms : sequence of float
        Degrees of freedom of bivariate t data, above 1; infinity stands for normal data.
    n_features : sequence of int
        Lengths of the rows in ascending order. Shorter rows are the beginnings of the longest row.
    repetitions : int, default=1000
        Number of repetitions per correlation and distribution.
    seed : int, default=0
        Seed of the simulation.
    n_jobs : int, default=None
        Number of threads: None means 1, -1 means all processors. The result does not depend on it.
    progress : callable, default=None
        Function that is called with the number of repetitions done and the number in all.

    Returns
    -------
    simulation : LimitSimulation
        Errors and the theory that they are compared with.

    Examples
    --------
    >>> from kernelsketch_paper.simulations import simulate_limit
    >>> found = simulate_limit([0.5], n_features=[100, 10_000], repetitions=50)
    >>> bool((found.errors.mse[:, 1] < found.errors.mse[:, 0]).all())
    True
    """
    lengths = [check_size(n, "n_features") for n in n_features]
    if not lengths or sorted(set(lengths)) != lengths:
        raise InputError(f"n_features must be whole numbers in ascending order, got {list(n_features)!r}.")
    cases = tuple((float(rho), float(df)) for rho in correlations for df in freedoms)
    if not cases:
        raise InputError("correlations and freedoms must hold at least one number each, got none.")
    limits = [gmm_limit(rho) for rho, _ in cases]
    for _, df in cases:
        if not df > 1:
            raise InputError(f"freedoms must be above 1, got {df!r}: otherwise the data have no mean.")

    def sums_of_chunk(case: int, count: int, seeds: np.random.SeedSequence) -> Array:
        rho, df = cases[case]
        x, y = _draw(rho, df, (count, lengths[-1]), np.random.default_rng(seeds))
        ends = np.array(lengths) - 1
        distance, norms = (np.cumsum(values, axis=1)[:, ends] for values in (np.abs(x - y), np.abs(x) + np.abs(y)))
        return power_sums((norms - distance) / (norms + distance) - limits[case])

    sums = sum_over_chunks(
        sums_of_chunk,
        n_cases=len(cases),
        repetitions=repetitions,
        size=lengths[-1],
        seed=seed,
        stream=STREAM,
        n_jobs=n_jobs,
        progress=progress,
    )
    return LimitSimulation(cases, np.array(lengths, np.float64), Errors.from_sums(sums, repetitions))


def _draw(rho: float, df: float, shape: tuple[int, int], rng: np.random.Generator) -> tuple[Array, Array]:
    """Return pairs of normal values; for t data both are divided by the same chi variable."""
    x, z = rng.standard_normal(shape), rng.standard_normal(shape)
    y = rho * x + np.sqrt((1 - rho) * (1 + rho)) * z
    if df != math.inf:
        scale = np.sqrt(df / rng.chisquare(df, shape))
        x *= scale
        y *= scale
    return x, y
