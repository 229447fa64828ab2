"""``SVC(probability=True)`` and its replacements: time, accuracy and log-loss, on one thread.

scikit-learn 1.9 deprecates ``probability=True`` and names ``CalibratedClassifierCV(SVC(), ensemble=False)`` in its
place. Columns are standardized for all models but that of tables, which takes them as they are. The rows are at most
8,000 for training and 4,000 for testing, drawn once. Datasets come from the folder ``KERNELSKETCH_DATA`` (npz files
with X and y). Times are processor times. Usage::

    KERNELSKETCH_DATA=/path/to/data python benchmarks/compare_svc.py [DATASET ...]
"""

from __future__ import annotations

import csv
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from kernelsketch import GCWSClassifier, GCWSTabularClassifier

OUT = Path(__file__).parent / "results" / "svc.csv"
DATASETS = ("Adult", "Covertype25k", "Letter", "MNIST", "Magic", "Pendigits", "Satimage", "SpamBase")
MOST_TRAIN, MOST_TEST = 8_000, 4_000

Make = Callable[[float], Any]
MODELS: dict[str, Make] = {
    "SVC(probability=True)": lambda C: make_pipeline(StandardScaler(), SVC(C=C, probability=True, random_state=0)),
    "CalibratedClassifierCV(SVC(), ensemble=False)": lambda C: make_pipeline(
        StandardScaler(), CalibratedClassifierCV(SVC(C=C), ensemble=False)
    ),
    "GCWSClassifier(probability='calibrated')": lambda C: make_pipeline(
        StandardScaler(), GCWSClassifier(C=C, probability="calibrated")
    ),
    "GCWSTabularClassifier()": lambda C: GCWSTabularClassifier(),
}
COSTS = (1.0, 10.0)


def read(name: str) -> tuple[Any, Any, Any, Any]:
    with np.load(Path(os.environ["KERNELSKETCH_DATA"]) / f"{name}.npz", allow_pickle=False) as file:
        X, y = np.asarray(file["X"], np.float64), file["y"]
    order = np.random.default_rng(0).permutation(len(y))
    n_test = min(MOST_TEST, len(y) // 3)
    test, train = order[:n_test], order[n_test:][:MOST_TRAIN]
    return X[train], y[train], X[test], y[test]


def measure(make: Make, C: float, data: tuple[Any, Any, Any, Any]) -> dict[str, Any]:
    X_train, y_train, X_test, y_test = data
    model = make(C)
    start = time.process_time()
    model.fit(X_train, y_train)
    fitted = time.process_time()
    shares = model.predict_proba(X_test)
    done = time.process_time()
    guess = model.classes_[np.argmax(shares, axis=1)]
    return {
        "fit_seconds": f"{fitted - start:.3f}",
        "predict_us_per_row": f"{(done - fitted) / len(X_test) * 1e6:.1f}",
        "accuracy": f"{100 * np.mean(guess == y_test):.2f}",
        "log_loss": f"{log_loss(y_test, shares, labels=model.classes_):.4f}",
    }


def main() -> None:
    versions = f"scikit-learn {version('scikit-learn')}"
    rows = []
    for name in sys.argv[1:] or DATASETS:
        data = read(name)
        for model, make in MODELS.items():
            for C in COSTS if model != "GCWSTabularClassifier()" else (float("nan"),):
                with warnings.catch_warnings(), threadpool_limits(1):
                    warnings.simplefilter("ignore", FutureWarning)
                    found = measure(make, C, data)
                rows.append(
                    {
                        "dataset": name,
                        "train_rows": len(data[1]),
                        "test_rows": len(data[3]),
                        "model": model,
                        "C": "" if C != C else f"{C:g}",
                        **found,
                        "peer": versions,
                    }
                )
                print(*rows[-1].values(), sep="  ", flush=True)
    with OUT.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
