"""Accuracy of a model that goes on training with new rows: the table of docs/decisions/0013-one-pass.rst.

Run ``KERNELSKETCH_DATA=/path/to/npz python benchmarks/measure_continue.py``. It takes a few minutes and writes
results/continue.csv. A part of the training rows fits a model, and ``partial_fit`` learns the others in one pass.
Beside it are the model of the part, one that counts as no rows in the average over blocks, and one of all rows. Each
line has the means over ten splits into rows for training (4,000 at most) and for tests, and the smallest and the
largest gain over the model of the part.
"""

import csv
import os
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from kernelsketch import GCWSClassifier

RESULT = Path(__file__).parent / "results" / "continue.csv"
DATASETS = ("Letter", "Magic", "Pendigits", "USPS")
SPLITS, ROWS, TEST_ROWS, HASHES = 10, 4000, 3000, 256
METHODS = ("part", "continued", "continued_from_0_rows", "all_rows")


def accuracies(X, y, C, share, seed):
    """Return the accuracies of METHODS on one split."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    X, y, X_test, y_test = X[:ROWS], y[:ROWS], X_test[:TEST_ROWS], y_test[:TEST_ROWS]
    n = int(share * len(X))
    models = {name: GCWSClassifier(HASHES, C=C, n_jobs=2).fit(X[:n], y[:n]) for name in METHODS[:3]}
    forgetful = models["continued_from_0_rows"]
    forgetful.training_ = replace(forgetful.training_, rows=None)
    for name in METHODS[1:3]:
        models[name].partial_fit(X[n:], y[n:])
    models["all_rows"] = GCWSClassifier(HASHES, C=C, n_jobs=2).fit(X, y)
    return [100 * models[name].score(X_test, y_test) for name in METHODS]


def main():
    warnings.simplefilter("ignore")
    lines = []
    for name in DATASETS:
        file = np.load(Path(os.environ["KERNELSKETCH_DATA"]) / f"{name}.npz", allow_pickle=False)
        X, y = file["X"].astype(float), file["y"]
        for C in (1, 10):
            for share in (0.5, 0.9):
                found = np.array([accuracies(X, y, C, share, seed) for seed in range(SPLITS)])
                gains = found[:, 1:3] - found[:, :1]
                spread = [f(gains[:, j]) for j in range(2) for f in (np.min, np.max)]
                lines.append([name, C, share, SPLITS, *(f"{value:.2f}" for value in [*found.mean(axis=0), *spread])])
                print(*lines[-1], sep="  ", flush=True)
    with RESULT.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        gains = [f"{which}_gain_{name}" for name in METHODS[1:3] for which in ("smallest", "largest")]
        writer.writerow(["dataset", "C", "share_of_first_rows", "splits", *METHODS, *gains])
        writer.writerows(lines)


if __name__ == "__main__":
    main()
