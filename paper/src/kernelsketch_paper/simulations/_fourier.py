"""Simulation of Theorems 2 and 3: errors of plain and normalized random Fourier features (the paper's Figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelsketch.theory import nrff_variance, rff_mean, rff_variance

from ._chunks import Array, Errors, Progress, check_panels, check_size, power_sums, sum_over_chunks

STREAM = 1

# The panels of the paper's figure cannot be read from its source. These go from nearly equal rows, kernel 0.99, over
# 0.90, 0.61, 0.37 and 0.14 to unlike ones, kernel 0.0006.
PANELS = ((0.99, 1.0), (0.9, 1.0), (0.5, 1.0), (0.9, 10.0), (0.0, 2.0), (-0.5, 5.0))


@dataclass(frozen=True, eq=False)
class FourierSimulation:
    """Errors of RFF and NRFF at each panel (first axis) and k (second axis)."""

    panels: tuple[tuple[float, float], ...]
    k: Array
    rff: Errors
    nrff: Errors

    def rff_theory(self) -> Array:
        """V / k."""
        return np.stack([rff_variance(rho, gamma, self.k) for rho, gamma in self.panels])

    def nrff_theory(self) -> Array:
        """V_n / k."""
        return np.stack([nrff_variance(rho, gamma, self.k) for rho, gamma in self.panels])


def simulate_fourier(
    panels: Sequence[tuple[float, float]] = PANELS,
    *,
    k_max: int = 1000,
    repetitions: int = 100_000,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> FourierSimulation:
    """Errors of RFF and NRFF as estimates of the RBF kernel, at k = 1, 2, ..., k_max.

    Draws x, y and w as the theorems define them. Within a repetition the first k of the same k_max samples serve
    every k, so errors at neighbouring k are correlated.

    Parameters
    ----------
    panels : sequence of (rho, gamma)
    k_max : int, default=1000
        Largest number of features.
    repetitions : int, default=100_000
        Of each panel.
    seed : int, default=0
    n_jobs : int, default=None
        Threads: None is 1, -1 all processors. The result does not depend on it.
    progress : callable, default=None
        Called with the numbers of repetitions done and in all.

    Returns
    -------
    simulation : FourierSimulation

    Examples
    --------
    >>> from kernelsketch_paper.simulations import simulate_fourier
    >>> found = simulate_fourier([(0.9, 1.0)], k_max=100, repetitions=1000)
    >>> bool(abs(found.rff.score(found.rff_theory())).max() < 4)  # standard errors from V / k, at any k
    True
    """
    pairs = check_panels(panels)
    size = check_size(k_max, "k_max")
    kernels = [rff_mean(rho, gamma) for rho, gamma in pairs]

    def task(case: int, count: int, seeds: np.random.SeedSequence) -> Array:
        return _errors(*pairs[case], kernels[case], (count, size), np.random.default_rng(seeds))

    sums = sum_over_chunks(
        task,
        n_cases=len(pairs),
        repetitions=repetitions,
        size=size,
        seed=seed,
        stream=STREAM,
        n_jobs=n_jobs,
        progress=progress,
    )
    rff, nrff = (Errors.from_sums(sums[:, method], repetitions) for method in range(2))
    return FourierSimulation(pairs, np.arange(1, size + 1, dtype=np.float64), rff, nrff)


def _errors(rho: float, gamma: float, kernel: float, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Sums of powers of both errors: array (method, power, k)."""
    # Values in float32 are exact enough, and twice as fast: an angle is off by 1e-6, the spread of the best
    # estimates here is 7e-4. Sums are in float64.
    x, z = (rng.standard_normal(shape, np.float32) for _ in range(2))
    w = rng.random(shape, np.float32)
    w *= np.float32(2 * np.pi)
    y = np.float32(rho) * x + np.float32(np.sqrt((1 - rho) * (1 + rho))) * z
    X, Y = (np.sqrt(np.float32(2)) * np.cos(np.float32(np.sqrt(gamma)) * values + w) for values in (x, y))
    xy, xx, yy = (_running_sums(a * b) for a, b in ((X, Y), (X, X), (Y, Y)))
    plain = xy / np.arange(1, shape[1] + 1) - kernel
    normalized = xy / np.sqrt(xx * yy) - kernel
    return np.stack([power_sums(plain), power_sums(normalized)])


def _running_sums(values: Any) -> Array:
    return np.cumsum(values, axis=1, dtype=np.float64)
