"""Consistent weighted sampling from Python, in G nonzeros x hashes per second, compared with datasketch.

datasketch hashes a sample of the rows, at the chunk size that is best for it. The difference is the root mean square
error of the estimated kernel of neighbouring rows, in units of its standard error sqrt(GMM (1 - GMM) / k): 1 is
right.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from datasketch import WeightedMinHashGenerator
from harness import Method, Problem
from scipy import sparse
from threadpoolctl import threadpool_limits

from kernelsketch import GCWS
from kernelsketch.reference.gmm import gmm

HASHES = (64, 256, 1024)
SAMPLE = 256  # rows that datasketch hashes


def letter_like(rng: np.random.Generator) -> Any:
    return rng.integers(1, 16, (20_000, 16)).astype(np.float32)


def mnist_like(rng: np.random.Generator) -> Any:
    shape = (10_000, 784)
    return (rng.integers(1, 256, shape) * (rng.random(shape) < 0.19)).astype(np.float32)


def embedding_like(rng: np.random.Generator) -> Any:
    return rng.standard_normal((10_000, 768), dtype=np.float32)


def text_like(rng: np.random.Generator) -> Any:
    n, d, row = 20_000, 100_000, 100
    indices = np.sort(rng.integers(0, d // row, (n, row)) + d // row * np.arange(row), axis=1).astype(np.int32)
    data = rng.random(n * row, dtype=np.float32) + np.float32(0.01)
    return sparse.csr_matrix((data, indices.ravel(), row * np.arange(n + 1, dtype=np.int32)), shape=(n, d))


def by_datasketch(generator: WeightedMinHashGenerator, X: Any, chunk: int) -> Any:
    """Samples (rows, hashes, 2)."""
    parts = []
    with threadpool_limits(1):
        for start in range(0, X.shape[0], chunk):
            parts += generator.minhash_many(sparse.csr_matrix(X[start : start + chunk]))
    return np.stack([part.hashvalues for part in parts])


def best_chunk(generator: WeightedMinHashGenerator, X: Any) -> int:
    times = {}
    for chunk in (4, 16, 64, 256):
        part = X[:chunk]
        start = perf_counter()
        by_datasketch(generator, part, chunk)
        times[chunk] = (perf_counter() - start) / chunk
    return min(times, key=lambda chunk: times[chunk])


def error_of(X: Any) -> Any:
    """Compares samples of the first rows with their exact kernels."""
    rows = X[:SAMPLE].toarray() if sparse.issparse(X) else X[:SAMPLE]
    used = rows.any(axis=0)
    exact = np.array([gmm(rows[i : i + 1, used], rows[i + 1 : i + 2, used])[0, 0] for i in range(SAMPLE - 1)])

    def compare(samples: Any, _: Any) -> float:
        if samples.ndim != 3:  # codes and features are made of the samples
            return float("nan")
        found = (samples[: SAMPLE - 1] == samples[1:SAMPLE]).all(axis=2).mean(axis=1)
        standard = np.sqrt(np.maximum(exact * (1 - exact), 1e-9) / samples.shape[1])
        return float(np.sqrt(np.mean(((found - exact) / standard) ** 2)))

    return compare


def hashing(name: str, X: Any, k: int) -> Problem:
    nonzeros = X.nnz if sparse.issparse(X) else np.count_nonzero(X)
    generator = WeightedMinHashGenerator(X.shape[1], k, seed=1)
    chunk = best_chunk(generator, X)
    model, threaded = GCWS(k).fit(X), GCWS(k, n_jobs=2).fit(X)
    return Problem(
        f"{name}, k={k}",
        [
            Method(
                "datasketch minhash_many",
                lambda: by_datasketch(generator, X[:SAMPLE], chunk),
                share=SAMPLE / X.shape[0],
            ),
            Method("GCWS.codes", lambda: model.codes(X).packed, rounds=5),
            Method("GCWS.codes, two threads", lambda: threaded.codes(X).packed, threads=2, rounds=5),
            Method(
                "GCWS.signatures",
                lambda: np.stack(model.signatures(X[:2048]), axis=2),
                share=2048 / X.shape[0],
            ),
            Method("GCWS.transform", lambda: model.transform(X[:4096]).data, share=4096 / X.shape[0]),
        ],
        float(nonzeros) * k,
        error_of(X),
    )


def matching(rng: np.random.Generator) -> Problem:
    X = rng.random((4000, 20))
    codes = GCWS(1024).fit(X).codes(X)
    whole = codes.unpack()

    def by_numpy() -> Any:
        return np.stack([(whole[i] == whole).sum(axis=1, dtype=np.int32) for i in range(200)])

    return Problem(
        "match_counts 4000 x 4000, k=1024, 8 bits",
        [
            Method("NumPy", by_numpy, share=200 / 4000),
            Method("PackedCodes.match_counts", lambda: codes.match_counts(), rounds=5),
        ],
        4000.0 * 4000 * 1024,
        lambda a, b: float(np.abs(a[:200] - b[:200]).max()),
    )


def problems() -> list[Problem]:
    rng = np.random.default_rng(0)
    data = [
        ("Letter-like", letter_like(rng)),
        ("MNIST-like", mnist_like(rng)),
        ("text-like", text_like(rng)),
        ("embedding-like", embedding_like(rng)),
    ]
    return [hashing(name, X, k) for name, X in data for k in HASHES] + [matching(rng)]
