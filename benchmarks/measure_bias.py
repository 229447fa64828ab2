"""Bias of the kernel estimate when t* or bits of the feature are dropped: the tables of docs/guide/hashing.rst.

Run ``python benchmarks/measure_bias.py``. It takes one or two minutes and writes results/bias.csv. It makes pairs of
rows with a GMM kernel near a target, hashes them, and compares the codes. The bias is the mean over pairs of the
share of equal codes minus the exact kernel. Its standard error is over seeds, each with its own pairs and its own
hashes.
"""

import csv
from pathlib import Path

import numpy as np

from kernelsketch import GCWS, gmm_kernel
from kernelsketch.reference.pack import encode

RESULT = Path(__file__).parent / "results" / "bias.csv"
SEEDS, PAIRS, HASHES = 50, 40, 1024
FULL_BITS = 16  # of the feature: nothing is lost below 32,768 features
SCALES = np.geomspace(0.03, 8, 60)


def make_pairs(dimension, similarity, rng):
    """Rows u, v of normal values with v = u exp(s z), whose kernel is within 0.05 of the target."""
    u = rng.normal(size=(4000, dimension))
    z = rng.normal(size=u.shape)
    probe = [np.mean(exact(u[:300], u[:300] * np.exp(s * z[:300]))) for s in SCALES]
    scale = SCALES[np.argmin(np.abs(np.array(probe) - similarity))]
    v = u * np.exp(scale * z)
    kept = np.flatnonzero(np.abs(exact(u, v) - similarity) < 0.05)[:PAIRS]
    return u[kept], v[kept]


def exact(u, v):
    low, high = np.minimum(abs(u), abs(v)), np.maximum(abs(u), abs(v))  # the signs of a pair agree
    return low.sum(axis=1) / high.sum(axis=1)


def biases(dimension, similarity, widths):
    """For each (bits, t_bits) of ``widths``, or None for the full sample: mean bias and its standard error."""
    found, kernel = [], []
    for seed in range(SEEDS):
        u, v = make_pairs(dimension, similarity, np.random.default_rng([dimension, int(100 * similarity), seed]))
        g = exact(u, v)
        np.testing.assert_allclose(g[0], gmm_kernel(u[0], v[0]), rtol=1e-12)
        i, t = GCWS(HASHES, random_state=seed).fit(u).signatures(np.concatenate([u, v]))
        n, shares = len(u), []
        for width in widths:
            if width is None:
                equal = (i[:n] == i[n:]) & (t[:n] == t[n:])
            else:
                codes = encode(i, t, *width)
                equal = codes[:n] == codes[n:]
            shares.append((equal.mean(axis=1) - g).mean())
        found.append(shares)
        kernel.append(g.mean())
    return np.mean(kernel), np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(SEEDS)


def main():
    cases = [(d, 0.5, [None, *((FULL_BITS, t_bits) for t_bits in (0, 1, 2, 4, 8))]) for d in (2, 5, 10, 30, 300)]
    cases += [(1000, g, [(b, 0) for b in (1, 2, 4, 8, FULL_BITS)]) for g in (0.1, 0.3, 0.5, 0.7, 0.9)]
    rows = []
    for dimension, similarity, widths in cases:
        kernel, bias, error = biases(dimension, similarity, widths)
        for width, b, e in zip(widths, bias, error, strict=True):
            names = ("full", "full") if width is None else width
            rows.append((dimension, *names, SEEDS * PAIRS, HASHES, f"{kernel:.4f}", f"{b:.5f}", f"{e:.5f}"))
            print(*rows[-1], sep="  ", flush=True)
    with RESULT.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["features", "bits", "t_bits", "pairs", "hashes", "mean_gmm", "bias", "standard_error"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
