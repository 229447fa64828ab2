"""Random Fourier features from Python, in G features per second, compared with scikit-learn's RBFSampler.

The peer gets rows that already have unit norm, and does not normalize its output; NRFF does both. All methods start
from float32 (one problem from float64) and return the same type. The difference is the root mean square error of
estimated kernels of neighbouring rows, in units of the standard error of each method by the paper's theorems: 1 is
right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import Method, Problem
from scipy import sparse
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from kernelsketch import NRFF, RFF, rbf_kernel

GAMMA = 1.0
ROUNDS = 9
OUTPUTS = 20_000_000  # of a problem with few features


def by_numpy(rows: Any, sampler: RBFSampler) -> Any:
    """The least that a user would write: BLAS, then the cosine in place."""
    k = len(sampler.random_offset_)
    Z = rows @ sampler.random_weights_
    Z += sampler.random_offset_
    np.cos(Z, out=Z)
    Z *= np.float32((2 / k) ** 0.5)
    return Z


def error_of(X: Any) -> Any:
    head = X[:512]
    kernel = np.array([rbf_kernel(head[i : i + 1], head[i + 1 : i + 2], gamma=GAMMA)[0, 0] for i in range(511)])
    plain = 0.5 + 0.5 * (1 - kernel**2) ** 2
    normalized = plain - 0.25 * kernel**2 * (3 - kernel**4)

    def compare(Z: Any, _: Any) -> float:
        Z = Z[:512].astype(np.float64)
        has_unit_norm = abs(np.linalg.norm(Z[0]) - 1) < 1e-6 and abs(np.linalg.norm(Z[1]) - 1) < 1e-6
        variance = (normalized if has_unit_norm else plain) / Z.shape[1]
        found = (Z[:-1] * Z[1:]).sum(axis=1)
        return float(np.sqrt(np.mean((found - kernel) ** 2 / variance)))

    return compare


def single(run: Any) -> Any:
    """On one thread, BLAS too."""

    def limited() -> Any:
        with threadpool_limits(1):
            return run()

    return limited


def features(name: str, X: Any, k: int) -> Problem:
    rows = normalize(X)
    sampler = RBFSampler(gamma=GAMMA / 2, n_components=k, random_state=0).fit(rows)
    rff, nrff, threaded = RFF(k).fit(X), NRFF(k).fit(X), NRFF(k, n_jobs=2).fit(X)
    methods = [
        Method("RBFSampler, rows normalized before", single(lambda: sampler.transform(rows)), rounds=ROUNDS),
        Method("normalize and RBFSampler", single(lambda: sampler.transform(normalize(X))), rounds=ROUNDS),
        Method("NRFF", lambda: nrff.transform(X), rounds=ROUNDS),
        Method("RFF", lambda: rff.transform(X), rounds=ROUNDS),
        Method("NRFF, two threads", lambda: threaded.transform(X), threads=2, rounds=ROUNDS),
    ]
    if not sparse.issparse(X):
        methods.insert(2, Method("NumPy product and cosine", single(lambda: by_numpy(rows, sampler)), rounds=ROUNDS))
    return Problem(f"{name}, k={k}", methods, float(X.shape[0]) * k, error_of(X))


def problems() -> list[Problem]:
    rng = np.random.default_rng(0)
    found = []
    for d in (16, 64, 784):
        for k in (256, 1024, 4096):
            n = (OUTPUTS if d < 784 else OUTPUTS // 2) // k
            found.append(features(f"{d} features", rng.normal(size=(n, d)).astype(np.float32), k))
    found.append(features("float64, 64 features", rng.normal(size=(5000, 64)), 1024))
    pixels = sparse.random(10_000, 784, density=0.19, format="csr", dtype=np.float32, random_state=0)
    found.append(features("CSR, 19 % of 784 features", pixels, 1024))
    text = sparse.random(10_000, 100_000, density=0.001, format="csr", dtype=np.float32, random_state=0)
    found.append(features("CSR, 100 of 100,000 features", text, 256))
    return found
