"""Back ends against each other bit by bit, and samples against their probabilities."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.stats import binom

from kernelsketch import GCWS, NRFF, GCWSClassifier, egmm_kernel, gmm_kernel
from kernelsketch.backends import available, use_backend
from kernelsketch.exceptions import InputError

from ._learning import random_hash, random_rows

SIGMAS, FALSE_ALARM = 6.5, 1e-10  # a false alarm once in 10^10 comparisons


def soak_backends(rng: random.Random, folder: Path) -> int:
    """Hashes, kernels, Fourier features and models of random rows: equal to the last bit on every back end."""
    d, n = rng.choice([1, 5, 40]), rng.randint(1, 12)
    X = random_rows(rng, n, d)
    if rng.random() < 0.3:  # exponents of the whole range
        X = np.ldexp(X, np.random.default_rng(rng.getrandbits(64)).integers(-900, 900, size=X.shape))
    if rng.random() < 0.3:
        X = np.clip(X, -1e30, 1e30).astype(np.float32)
    options = random_hash(rng, d, True) | {"n_jobs": rng.choice([1, 2])}
    rows = sparse.csr_array(X) if "center" not in options and rng.random() < 0.3 else X
    k, y = rng.choice([1, 9, 40]), np.arange(2 * n) % 2
    results = {}
    for name in available():
        with use_backend(name):
            gcws = GCWS(**options).fit(rows)
            found = [gcws.codes(rows).packed, *gcws.signatures(rows)]
            small = np.clip(np.asarray(X, np.float64), -1e30, 1e30)
            found += [gmm_kernel(small), NRFF(k).fit_transform(small)]
            try:
                twice = np.vstack([small, small])
                found.append(GCWSClassifier(8, tol=0.3, random_state=3).fit(twice, y).decision_function(twice))
            except (InputError, Warning):
                pass
            results[name] = found
    first = results["reference"]
    for name, found in results.items():
        for a, b in zip(first, found, strict=True):
            assert a.tobytes() == np.asarray(b).tobytes(), name
    return len(results)


def soak_statistics(rng: random.Random, folder: Path) -> int:
    """Collisions of many hashes: their frequency is the kernel, for GMM, pGMM and eGMM."""
    draw = np.random.default_rng(rng.getrandbits(64))
    d, k = rng.choice([2, 10, 200]), 40_000
    X = draw.exponential(size=(2, d))
    X[1] = np.where(draw.random(d) < rng.random(), X[0], X[1])
    X *= draw.choice([-1, 1], d)
    p = rng.choice([1.0, 0.5, 3.0])
    gamma = rng.choice([None, 1.0])
    i, t = GCWS(k, p=p, gamma=gamma, random_state=rng.getrandbits(63)).fit(X).signatures(X)
    frequency = float(((i[0] == i[1]) & (t[0] == t[1])).mean())
    K = float((gmm_kernel(X, p=p) if gamma is None else egmm_kernel(X, p=p, gamma=gamma))[0, 1])
    sigma = math.sqrt(max(K * (1 - K), 1e-6) / k)
    assert abs(frequency - K) < SIGMAS * sigma + 1e-6, (frequency, K, sigma)
    for row in (0, 1):  # each slot is sampled as often as its share
        if gamma is None:
            slots, counts = np.unique(i[row], return_counts=True)
            weights = np.abs(X[row]) ** p
            for slot, count in zip(slots.tolist(), counts.tolist(), strict=True):
                share = float(weights[slot // 2] / weights.sum())
                tail = 2 * min(binom.cdf(count, k, share), binom.sf(count - 1, k, share))
                assert tail > FALSE_ALARM, (count, k * share, tail)
    return k
