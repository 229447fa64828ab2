"""Exact GMM matrices, compared with the tools that users have today."""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import Method, Problem, largest_difference
from scipy import sparse
from sklearn.metrics.pairwise import manhattan_distances
from threadpoolctl import threadpool_limits

from kernelsketch import gmm_kernel


def by_manhattan(X: Any, Y: Any) -> Any:
    """scikit-learn's route: GMM = (S - D) / (S + D), S the sum of L1 norms and D the L1 distance."""
    with threadpool_limits(1):
        distance = manhattan_distances(X, Y)
    norms = [np.asarray(abs(Z).sum(axis=1), dtype=np.float64).ravel() for Z in (X, Y)]
    total = norms[0][:, None] + norms[1][None, :]
    above = total - distance
    total += distance
    above /= total
    return above


def dense(n: int, d: int, rng: np.random.Generator) -> Problem:
    X, Y = (rng.random((n, d), dtype=np.float32) for _ in range(2))
    out = np.empty((n, n), np.float32)
    return Problem(
        f"float32 {n} x {n}, d={d}",
        [
            Method("scikit-learn manhattan_distances", lambda: by_manhattan(X, Y), rounds=1 if d > 100 else 3),
            Method("gmm_kernel(X, Y)", lambda: gmm_kernel(X, Y), rounds=5),
            Method("gmm_kernel(X, Y), two threads", lambda: gmm_kernel(X, Y, n_jobs=2), threads=2, rounds=5),
            Method("gmm_kernel(X, Y, out=out)", lambda: gmm_kernel(X, Y, out=out), rounds=5),
        ],
        float(n) * n * d,
        largest_difference,
    )


def symmetric(n: int, d: int, rng: np.random.Generator) -> Problem:
    X = rng.random((n, d), dtype=np.float32)
    wide = X.astype(np.float64)
    return Problem(
        f"of X with itself, {n} x {n}, d={d}",
        [
            Method("scikit-learn manhattan_distances", lambda: by_manhattan(X, X), rounds=1 if d > 100 else 3),
            Method("gmm_kernel(X)", lambda: gmm_kernel(X), rounds=5),
            Method("gmm_kernel(X), two threads", lambda: gmm_kernel(X, n_jobs=2), threads=2, rounds=5),
            Method("gmm_kernel(X), float64", lambda: gmm_kernel(wide), rounds=3),
        ],
        float(n) * n * d,
        largest_difference,
    )


def small_integers(n: int, d: int, rng: np.random.Generator) -> Problem:
    X, Y = (rng.integers(0, 256, (n, d)).astype(np.float32) for _ in range(2))
    return Problem(
        f"integers 0..255 in float32, {n} x {n}, d={d}",
        [
            Method("scikit-learn manhattan_distances", lambda: by_manhattan(X, Y), rounds=1),
            Method("gmm_kernel(X, Y)", lambda: gmm_kernel(X, Y), rounds=5),
        ],
        float(n) * n * d,
        largest_difference,
    )


def text(n: int, d: int, row: int, zipf: bool, rng: np.random.Generator) -> Problem:
    weights = 1 / np.arange(1, d + 1) if zipf else np.ones(d)
    share = weights / weights.sum()
    sides = []
    for _ in range(2):
        indices = [np.sort(rng.choice(d, row, replace=False, p=share)) for _ in range(n)]
        data = rng.random(n * row, dtype=np.float32)
        starts = row * np.arange(n + 1, dtype=np.int32)  # scikit-learn's sparse distance takes 32-bit indices only
        sides.append(sparse.csr_array((data, np.concatenate(indices).astype(np.int32), starts), shape=(n, d)))
    X, Y = sides
    return Problem(
        f"CSR {n} x {n}, d={d}, {row} nonzeros{', Zipf' if zipf else ''}",
        [
            Method("scikit-learn manhattan_distances", lambda: by_manhattan(X, Y), rounds=1),
            Method("gmm_kernel(X, Y)", lambda: gmm_kernel(X, Y), rounds=5),
            Method("gmm_kernel(X, Y), two threads", lambda: gmm_kernel(X, Y, n_jobs=2), threads=2, rounds=5),
        ],
        float(n) * n,
        largest_difference,
    )


def problems() -> list[Problem]:
    rng = np.random.default_rng(0)
    return [
        dense(5000, 784, rng),
        dense(5000, 64, rng),
        symmetric(5000, 784, rng),
        symmetric(5000, 64, rng),
        small_integers(5000, 784, rng),
        text(3000, 100_000, 100, False, rng),
        text(3000, 100_000, 100, True, rng),
    ]
