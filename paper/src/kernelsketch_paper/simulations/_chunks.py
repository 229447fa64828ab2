"""Repetitions in chunks on threads, with results that do not depend on the number of threads.

The size of a chunk is fixed by the problem, each chunk has a seed of its own, and sums are taken in the order of the
chunks, so the same seed gives the same bits on one thread and on many.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelsketch._validation import check_n_jobs, check_positive_int
from kernelsketch.exceptions import InputError, InputTypeError

Array = NDArray[np.float64]
Progress = Callable[[int, int], None]  # of repetitions done, and of all
Task = Callable[[int, int, np.random.SeedSequence], Array]  # case, repetitions, seed -> sums over the repetitions

CHUNK_VALUES = 100_000  # random values a chunk: ten float64 arrays of them are 8 MB a thread
MOST_VALUES = 1_000_000  # of one repetition


def check_size(value: Any, name: str) -> int:
    """Number of samples (or features) that one repetition draws, at most."""
    size = check_positive_int(value, name)
    if size > MOST_VALUES:
        raise InputError(f"{name} must be at most {MOST_VALUES}, got {value!r}: a repetition is held in memory.")
    return size


def check_panels(panels: Any) -> tuple[tuple[float, float], ...]:
    """Pairs (rho, gamma), at least one; their ranges are checked by the formulas."""
    try:
        pairs = tuple((float(rho), float(gamma)) for rho, gamma in panels)
    except (TypeError, ValueError):
        raise InputError(f"panels must be pairs of numbers (rho, gamma), got {panels!r}.") from None
    if not pairs:
        raise InputError("panels must hold at least one pair (rho, gamma), got none.")
    return pairs


def check_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral):
        raise InputTypeError(f"seed must be a whole number from 0 on, got {seed!r} of type {type(seed).__name__}.")
    if seed < 0:
        raise InputError(f"seed must be a whole number from 0 on, got {seed!r}.")
    return int(seed)


def sum_over_chunks(
    task: Task,
    *,
    n_cases: int,
    repetitions: Any,
    size: int,
    seed: Any,
    stream: int,
    n_jobs: int | None,
    progress: Progress | None,
) -> Array:
    """Sums of ``task`` over the repetitions of each case, stacked.

    ``size`` is the number of values a repetition draws; ``stream`` keeps simulations of the same seed apart.
    """
    repetitions, seed, threads = check_positive_int(repetitions, "repetitions"), check_seed(seed), check_n_jobs(n_jobs)
    step = max(1, CHUNK_VALUES // size)
    starts = range(0, repetitions, step)
    jobs = [
        (case, min(step, repetitions - start), number) for case in range(n_cases) for number, start in enumerate(starts)
    ]

    def run(job: tuple[int, int, int]) -> Array:
        case, count, number = job
        return task(case, count, np.random.SeedSequence(seed, spawn_key=(stream, case, number)))

    sums: list[Any] = [0.0] * n_cases
    done = 0
    executor = ThreadPoolExecutor(threads)
    try:
        for (case, count, _), part in zip(jobs, executor.map(run, jobs), strict=True):
            sums[case] = sums[case] + part
            done += count
            if progress is not None:
                progress(done, n_cases * repetitions)
    finally:  # after an error or an interrupt the chunks that have not begun never do
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
        """From sums of the error, its square and its fourth power along the second axis, as `power_sums` gives them."""
        bias, mse, fourth = (sums[:, power] / repetitions for power in range(3))
        of_bias = np.sqrt(np.maximum(mse - bias**2, 0) / repetitions)
        of_mse = np.sqrt(np.maximum(fourth - mse**2, 0) / repetitions)
        return cls(bias, of_bias, mse, of_mse)

    def score(self, variance: Any) -> Array:
        """Standard errors between the mean squared error and a variance that theory gives."""
        gap = self.mse - variance
        gap = np.where(np.abs(gap) < 1e-9 * np.abs(variance), 0, gap)  # an error of constant size has no spread
        with np.errstate(divide="ignore"):  # of a single repetition too
            return np.divide(gap, self.mse_std, out=np.zeros_like(gap), where=gap != 0)


def power_sums(error: Array) -> Array:
    """Sums over the first axis of the error, its square and its fourth power. Overwrites the error."""
    total = error.sum(axis=0)
    error *= error
    square = error.sum(axis=0)
    error *= error
    return np.stack([total, square, error.sum(axis=0)])
