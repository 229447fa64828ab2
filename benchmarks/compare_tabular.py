"""Compare the tabular classifier with tuned LightGBM on real tables: accuracy, log-loss, calibration and time.

    KERNELSKETCH_DATA=/folder/of/npz python benchmarks/compare_tabular.py [--threads 16] [--splits 0,1,2] [DATASET ...]

The folder holds one .npz file per dataset, with X (or a CSR matrix), y and, if there is an official split, is_test.
Split 0 is the official one; the others are random and stratified, of the same sizes. At most 20,000 rows train, and at
most 20,000 test. LightGBM chooses among four settings and the number of trees by 3-fold cross-validation of the
log-loss. results/tabular.csv gets a row per dataset, split and model; rows that it has already are kept.
"""

from __future__ import annotations

import argparse
import csv
import os
import warnings
from pathlib import Path
from time import perf_counter

import lightgbm
import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedKFold, train_test_split

from kernelsketch import GCWSTabularClassifier

RESULT = Path(__file__).parent / "results" / "tabular.csv"
DATASETS = [
    "Car",
    "Parkinson",
    "Vowel",
    "ImageSeg",
    "Splice",
    "CTG",
    "DNA",
    "SpamBase",
    "Thyroid",
    "RobotNavi",
    "Satimage",
    "Phishing",
    "HiggsSample",
    "Pendigits",
    "SkinSeg",
    "USPS",
    "Adult",
    "IJCNN",
    "Shuttle",
    "Covertype25k",
    "Isolet",
    "Letter",
]
COLUMNS = [
    "dataset",
    "split",
    "model",
    "n_train",
    "n_features",
    "accuracy",
    "log_loss",
    "calibration_error",
    "fit_seconds",
    "row_us",
    "threads",
]
MOST_ROWS = 20_000
BINS = 15
SETTINGS = [
    {"num_leaves": 31},
    {"num_leaves": 7, "min_data_in_leaf": 5},
    {"num_leaves": 63, "min_data_in_leaf": 5, "feature_fraction": 0.5, "bagging_fraction": 0.8, "bagging_freq": 1},
    {"num_leaves": 15, "learning_rate": 0.05, "feature_fraction": 0.5, "lambda_l2": 1.0},
]


def load(name, split):
    """Return training rows, training labels, test rows and test labels."""
    with np.load(Path(os.environ["KERNELSKETCH_DATA"]) / f"{name}.npz", allow_pickle=False) as file:
        if "X" in file:
            X = file["X"]
        else:
            X = sparse.csr_matrix((file["data"], file["indices"], file["indptr"]), tuple(file["shape"])).toarray()
        y = np.unique(file["y"], return_inverse=True)[1]
        held_out = file["is_test"].astype(bool) if "is_test" in file else np.zeros(len(y), bool)
    if name == "CTG":
        X = X[:, 3:25]  # the other columns tell the class
    if split == 0 and held_out.any():
        train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    else:
        size = int((~held_out).sum()) if held_out.any() else len(y) // 2
        train, test = train_test_split(np.arange(len(y)), train_size=size, random_state=split, stratify=y)
    rng = np.random.default_rng(1000 + split)
    train, test = (rng.permutation(part)[:MOST_ROWS] if len(part) > MOST_ROWS else part for part in (train, test))
    return X[train].astype(np.float32), y[train], X[test].astype(np.float32), y[test]


def trees(X, y, seed, threads):
    """Tune and train LightGBM, and return its function of probabilities."""
    n_classes = int(y.max()) + 1
    common = {"verbosity": -1, "num_threads": threads, "seed": seed, "deterministic": True, "force_row_wise": True}
    common |= {"objective": "binary"} if n_classes == 2 else {"objective": "multiclass", "num_class": n_classes}
    common |= {"learning_rate": 0.1}
    folds = list(StratifiedKFold(3, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))
    data = lightgbm.Dataset(X, y, free_raw_data=False, params={"min_data_in_bin": 3, "feature_pre_filter": False})
    tried = []
    for setting in SETTINGS:
        stop = [lightgbm.early_stopping(15, verbose=False)]
        found = lightgbm.cv({**common, **setting}, data, num_boost_round=500, folds=folds, callbacks=stop)
        losses = next(values for name, values in found.items() if name.endswith("-mean"))
        tried.append((min(losses), len(losses), setting))
    _, n_trees, setting = min(tried, key=lambda one: one[0])
    model = lightgbm.train({**common, **setting}, lightgbm.Dataset(X, y), num_boost_round=n_trees)

    def probabilities(rows):
        found = model.predict(rows, num_threads=threads)
        return np.column_stack([1 - found, found]) if found.ndim == 1 else found

    return probabilities


def ours(effort):
    def train(X, y, seed, threads):
        return GCWSTabularClassifier(effort, random_state=seed, n_jobs=threads).fit(X, y).predict_proba

    return train


MODELS = {"LightGBM": trees, "ours": ours("default"), "ours, quick": ours("quick")}


def calibration_error(P, y):
    """Return the mean distance of confidence and accuracy over bins of equal width."""
    confidence, right = P.max(axis=1), P.argmax(axis=1) == y
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    parts = [bins == b for b in range(BINS) if (bins == b).any()]
    return sum(np.mean(part) * abs(right[part].mean() - confidence[part].mean()) for part in parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=DATASETS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--splits", default="0,1,2")
    asked = parser.parse_args()
    done = set()
    if RESULT.exists():
        with RESULT.open(newline="") as file:
            done = {(row["dataset"], row["split"], row["model"], row["threads"]) for row in csv.DictReader(file)}
    else:
        RESULT.write_text(",".join(COLUMNS) + "\n")
    for split in map(int, asked.splits.split(",")):
        for name in asked.datasets:
            X, y, X_test, y_test = load(name, split)
            for model, train in MODELS.items():
                if (name, str(split), model, str(asked.threads)) in done:
                    continue
                start = perf_counter()
                predict = train(X, y, split, asked.threads)
                trained = perf_counter()
                P = predict(X_test)
                row_us = 1e6 * (perf_counter() - trained) / len(y_test)
                loss = -np.log(np.clip(P[np.arange(len(y_test)), y_test], 1e-7, 1)).mean()
                scores = [np.mean(P.argmax(axis=1) == y_test), loss, calibration_error(P, y_test), trained - start]
                shown = [f"{score:.4f}" for score in scores] + [f"{row_us:.1f}"]
                with RESULT.open("a", newline="") as file:
                    row = [name, split, model, len(y), X.shape[1], *shown, asked.threads]
                    csv.writer(file, lineterminator="\n").writerow(row)
                print(*row, sep="  ", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
