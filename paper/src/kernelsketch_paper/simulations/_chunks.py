"""Run repetitions in chunks on several threads, with results that do not depend on the number of threads.

The problem alone determines the size of a chunk, each chunk has a seed of its own, and sums are taken in the order of
the chunks. The same seed therefore gives the same bits on one thread and on many.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelsketch.exceptions import InputError

from .._checks import check_n_jobs, check_positive_int, check_seed

Array = NDArray[np.float64]
OnRepetitions = Callable[[int, int], None]  # called with the repetitions done and in all
ChunkSums = Callable[[int, int, np.random.SeedSequence], Array]  # case, repetitions, seed -> sums over the repetitions

CHUNK_VALUES = 100_000  # random values per chunk: ten float64 arrays of this size take 8 MB per thread
MAX_VALUES = 1_000_000  # random values of one repetition


def check_size(value: Any, name: str) -> int:
    """Return the largest number of samples or features that one repetition draws."""
    size = check_positive_int(value, name)
    if size > MAX_VALUES:
        raise InputError(f"{name} must be at most {MAX_VALUES}, got {value!r}: one repetition has to fit into memory.")
    return size


def check_panels(panels: Any) -> tuple[tuple[float, float], ...]:
    """Return at least one pair (rho, gamma). The formulas check the ranges."""
    try:
        pairs = tuple((float(rho), float(gamma)) for rho, gamma in panels)
    except (TypeError, ValueError):
        raise InputError(f"panels must be pairs of numbers (rho, gamma), got {panels!r}.") from None
    if not pairs:
        raise InputError("panels must hold at least one pair (rho, gamma), got none.")
    return pairs


def sum_over_chunks(
    chunk_sums: ChunkSums,
    *,
    n_cases: int,
    repetitions: Any,
    size: int,
    seed: Any,
    stream: int,
    n_jobs: int | None,
    progress: OnRepetitions | None,
) -> Array:
    """Return the sums of ``chunk_sums`` over the repetitions of each case, stacked.

    ``size`` is the number of values that a repetition draws. ``stream`` gives simulations of the same seed different
    random numbers.
    """
    repetitions, seed, threads = check_positive_int(repetitions, "repetitions"), check_seed(seed), check_n_jobs(n_jobs)
    step = max(1, CHUNK_VALUES // size)
    starts = range(0, repetitions, step)
    jobs = [
        (case, min(step, repetitions - start), number) for case in range(n_cases) for number, start in enumerate(starts)
    ]

    def run(job: tuple[int, int, int]) -> Array:
        case, count, number = job
        return chunk_sums(case, count, np.random.SeedSequence(seed, spawn_key=(stream, case, number)))

    sums: list[Any] = [0.0] * n_cases
    done = 0
    executor = ThreadPoolExecutor(threads)
    try:
        for (case, count, _), part in zip(jobs, executor.map(run, jobs), strict=True):
            sums[case] = sums[case] + part
            done += count
            if progress is not None:
                progress(done, n_cases * repetitions)
    finally:  # after an error or an interrupt, no further chunk starts
        executor.shutdown(cancel_futures=True)
    return np.stack(sums)


@dataclass(frozen=True, eq=False)
class Errors:
    """Bias and mean squared error of an estimate, each with its Monte Carlo standard error."""

    bias: Array
    bias_std: Array
    mse: Array
    mse_std: Array

    @classmethod
    def from_sums(cls, sums: Array, repetitions: int) -> Errors:
        """Make errors from sums of the error, its square and its fourth power along the second axis (`power_sums`)."""
        bias, mse, fourth = (sums[:, power] / repetitions for power in range(3))
        of_bias = np.sqrt(np.maximum(mse - bias**2, 0) / repetitions)
        of_mse = np.sqrt(np.maximum(fourth - mse**2, 0) / repetitions)
        return cls(bias, of_bias, mse, of_mse)

    def score(self, variance: Any) -> Array:
        """Return the distance between the mean squared error and a theoretical variance, in standard errors."""
        gap = self.mse - variance
        gap = np.where(np.abs(gap) < 1e-9 * np.abs(variance), 0, gap)  # an error of constant size has no standard error
        with np.errstate(divide="ignore"):  # a single repetition has no standard error
            return np.divide(gap, self.mse_std, out=np.zeros_like(gap), where=gap != 0)


def power_sums(error: Array) -> Array:
    """Return sums over the first axis of the error, its square and its fourth power. The error is overwritten."""
    total = error.sum(axis=0)
    error *= error
    square = error.sum(axis=0)
    error *= error
    return np.stack([total, square, error.sum(axis=0)])
