"""Compare two installed versions of kernelsketch on the same work, in one run, and write the ratios to a CSV file.

    python benchmarks/compare_versions.py before=/path/to/old/python after=/path/to/new/python

Each round starts a process of each version in turn, so that both meet the same load of the machine. A process does
every piece of work several times and reports the least processor time of each, on one thread. The file holds the
median over the rounds of both versions and of their ratio in the same round.
"""

from __future__ import annotations

import csv
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROUNDS, REPEATS = 9, 5
RESULT = Path(__file__).parent / "results" / "versions.csv"

PROGRAM = r"""
import json, sys, time, warnings
import numpy as np
from scipy import sparse
import kernelsketch as ks
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
dense = (rng.gamma(1.0, size=(1200, 784)) * (rng.random((1200, 784)) < 0.2)).astype(np.float32)
small = rng.integers(0, 256, (1200, 784)).astype(np.float32)
text = sparse.random_array((3000, 100_000), density=1e-3, random_state=0, dtype=np.float32, format="csr")
centers = rng.normal(size=(10, 64))
y = rng.integers(0, 10, 6000)
X = (centers[y] + 1.5 * rng.normal(size=(6000, 64))).astype(np.float32)
hashed = ks.GCWS(256).fit(X).codes(X)
model = ks.GCWSClassifier(256).fit(hashed, y)
index = ks.GCWSIndex().fit(X)
one = X[:1]
nrff = ks.NRFF(512).fit(dense)
work = {
    "GMM matrix, float32, 1200 x 1200 x 784": lambda: ks.gmm_kernel(dense, dense[::-1]),
    "GMM matrix of X with itself": lambda: ks.gmm_kernel(dense),
    "GMM matrix, small integers": lambda: ks.gmm_kernel(small, small[::-1]),
    "GMM matrix, centered": lambda: ks.gmm_kernel(dense, dense[::-1], center="mean"),
    "GMM matrix, CSR, 3000 x 3000": lambda: ks.gmm_kernel(text, text[::-1]),
    "GCWS codes, 784 features, k=256": lambda: ks.GCWS(256).fit(dense).codes(dense),
    "GCWS codes, 4 bits": lambda: ks.GCWS(256, bits=4).fit(dense).codes(dense),
    "GCWS codes, CSR, k=256": lambda: ks.GCWS(256).fit(text).codes(text),
    "GCWS transform, k=256": lambda: ks.GCWS(256).fit(dense).transform(dense),
    "NRFF, k=512": lambda: nrff.transform(dense),
    "training, 10 classes": lambda: ks.GCWSClassifier(256).fit(hashed, y),
    "training, 2 classes, C=10": lambda: ks.GCWSClassifier(256, C=10).fit(hashed, y > 4),
    "hashing and training": lambda: ks.GCWSClassifier(128).fit(X, y),
    "prediction, 6000 rows": lambda: model.predict(X),
    "prediction, 1 row, 100 times": lambda: [model.predict(one) for _ in range(100)],
    "index: build": lambda: ks.GCWSIndex().fit(X),
    "index: 1000 queries": lambda: index.kneighbors(X[:1000]),
    "kernel of two rows, 100 times": lambda: [ks.gmm_kernel(one, one) for _ in range(100)],
}
found = {}
for name, run in work.items():
    run()
    times = []
    for _ in range(int(sys.argv[1])):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    found[name] = min(times)
print(json.dumps(found))
"""


def main() -> None:
    versions = dict(argument.split("=", 1) for argument in sys.argv[1:])
    if set(versions) != {"before", "after"}:
        sys.exit(__doc__)
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in versions}
    for number in range(ROUNDS):
        for name, python in versions.items() if number % 2 == 0 else reversed(versions.items()):
            done = subprocess.run([python, "-c", PROGRAM, str(REPEATS)], capture_output=True, text=True, check=True)
            rounds[name].append(json.loads(done.stdout))
        print(f"round {number + 1} of {ROUNDS}", flush=True)
    with RESULT.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["work", "before_ms", "after_ms", "ratio", "ratio_least", "ratio_most", "rounds"])
        for name in rounds["before"][0]:
            before, after = ([found[name] for found in rounds[side]] for side in ("before", "after"))
            ratios = [b / a for a, b in zip(before, after, strict=True)]
            middle = [1000 * statistics.median(side) for side in (before, after)]
            row = [*(f"{ms:.3f}" for ms in middle), *(f"{f(ratios):.3f}" for f in (statistics.median, min, max))]
            table.writerow([name, *row, ROUNDS])
            print(f"{name:45s} {middle[0]:9.2f} ms {middle[1]:9.2f} ms   ratio {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
