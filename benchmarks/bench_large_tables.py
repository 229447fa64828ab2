"""Tables of many rows: what a fit with and without a budget takes and reaches, against LightGBM with 300 trees.

    KERNELSKETCH_DATA=/folder python benchmarks/bench_large_tables.py [--tables generated,hotel_bookings]
                              [--models default,budget-60] [--out benchmarks/results/large_tables.csv]

- ``generated``: 300,000 rows of 20 columns, made here: numbers, categories, gaps, interactions and noise;
- ``hotel_bookings`` and ``diamonds``: 80,000 and 45,000 training rows of tables as in ``compare_mixed.py``;
- ``CovertypeFull_binary``: 300,000 training rows, of which the 44 0/1 columns are numbers.

Models are ``default``, ``quick``, ``budget-SECONDS``, ``rows-COUNT`` (the default on some rows), and ``LightGBM-300``
with 300 trees, categories as such and otherwise its defaults. Each has one thread and a process of its own, whose peak
memory counts the table. The result gets a row per table and model; rows that it has already are kept. Wall seconds on a
loaded machine say little where they are far above the CPU seconds.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import warnings
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pandas as pd
from machine import RESULTS, machine
from sklearn.metrics import roc_auc_score

MODELS = ("LightGBM-300", "rows-12000", "budget-15", "budget-60", "default")
N_TEST = 30_000
TREES = 300
COLUMNS = "table,model,n_train,n_columns,rows_used,hashes,trees,trees_share,accuracy,auc,log_loss,rmse"
COLUMNS = [*COLUMNS.split(","), "wall_seconds", "cpu_seconds", "peak_mib"]


def generated(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of 20 columns, and labels of two classes that depend on ten of them, with noise."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, 10))
    numbers[:, 1] = np.exp(numbers[:, 1])
    numbers[:, 2] = rng.integers(0, 30, n_rows)
    sizes = {"region": 12, "product": 60, "channel": 4, "plan": 3, "agent": 200, "day": 7, "color": 8}
    codes = {name: np.minimum(rng.geometric(3.0 / size, n_rows) - 1, size - 1) for name, size in sizes.items()}
    flags = rng.random((n_rows, 3)) < [0.1, 0.5, 0.3]
    effects = {name: np.random.default_rng(7).normal(size=size) for name, size in sizes.items()}
    a, b, c, d, e, f = numbers[:, :6].T
    logit = np.sin(2 * a) * d + 0.8 * ((c > 12) ^ flags[:, 1]) - 0.5 * (e + f) ** 2 / 2 + 0.7 * np.log(b) * a
    logit += 0.8 * effects["product"][codes["product"]] + 0.5 * effects["agent"][codes["agent"]]
    logit += 1.2 * effects["region"][codes["region"]] * np.tanh(2 * numbers[:, 6]) + 0.9 * flags[:, 0] * d
    y = rng.random(n_rows) < 1 / (1 + np.exp(-1.3 * logit))
    table = {f"number{i}": column for i, column in enumerate(numbers.T)}
    table |= {
        name: np.array([f"{name}{i}" for i in range(sizes[name])], object)[of_rows] for name, of_rows in codes.items()
    }
    table |= {f"flag{i}": np.where(flags[:, i], "yes", "no").astype(object) for i in range(3)}
    for name, share in (("number0", 0.05), ("number4", 0.3), ("region", 0.1)):
        gaps = rng.random(n_rows) < share
        table[name] = np.where(gaps, None if table[name].dtype == object else np.nan, table[name])
    return pd.DataFrame(table), y.astype(np.int64)


def load(name):
    """Return training rows, training targets, test rows, test targets, and whether the targets are classes."""
    folder, is_class = Path(os.environ.get("KERNELSKETCH_DATA", ".")), name != "diamonds"
    if name == "generated":
        X, y = generated(300_000 + N_TEST)
    elif name == "CovertypeFull_binary":
        with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
            X, y = pd.DataFrame(file["X"]), np.unique(file["y"], return_inverse=True)[1]
        X.columns = [str(column) for column in X.columns]
    else:
        X = pd.read_csv(folder / "tables" / f"{name}.csv.gz", keep_default_na=False, na_values=[""])
        y = X.pop("target").to_numpy()
        y = np.unique(y.astype(str), return_inverse=True)[1] if is_class else y.astype(float)
    n_train = {"hotel_bookings": 80_000, "diamonds": 45_000}.get(name, 300_000)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:n_train], order[n_train : n_train + N_TEST]
    return X.iloc[train].reset_index(drop=True), y[train], X.iloc[test].reset_index(drop=True), y[test], is_class


def fit_lightgbm(X, y, X_test, is_class):
    import lightgbm
    from table_peers import reader

    read = reader(X)
    X, X_test = read(X), read(X_test)
    kind = lightgbm.LGBMClassifier if is_class else lightgbm.LGBMRegressor
    model = kind(n_estimators=TREES, n_jobs=1, verbosity=-1, random_state=0).fit(X, y)
    return {"rows_used": len(y), "trees": TREES}, lambda: predicted(model, X_test, is_class)


def fit_ours(X, y, X_test, is_class, model):
    from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor

    kind, _, number = model.partition("-")
    if kind == "rows":
        X, y = X[: int(number)], y[: int(number)]
    options = {"budget": float(number)} if kind == "budget" else {"effort": "quick" if kind == "quick" else "default"}
    options |= {"verbose": int(os.environ.get("VERBOSE", "0"))}
    fitted = (GCWSTabularClassifier if is_class else GCWSTabularRegressor)(**options).fit(X, y)
    effort = fitted.effort_
    done = {"rows_used": effort["n_rows"] or len(y), "hashes": effort["n_components"]}
    trees = 0 if fitted._trees is None else len(fitted._trees.roots)
    done |= {"trees": trees, "trees_share": f"{fitted.trees_share_:.2f}"}
    return done, lambda: predicted(fitted, X_test, is_class)


def predicted(model, X, is_class):
    return model.predict_proba(X) if is_class else model.predict(X)


def measure(table, model):
    X, y, X_test, y_test, is_class = load(table)
    n_columns, n_train = X.shape[1], len(y)
    fit = fit_lightgbm if model == "LightGBM-300" else lambda *given: fit_ours(*given, model)
    wall, cpu = perf_counter(), process_time()
    done, predict = fit(X, y, X_test, is_class)
    wall, cpu = perf_counter() - wall, process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = predict()
    row = {"table": table, "model": model, "n_train": n_train, "n_columns": n_columns, **done}
    if is_class:
        row["accuracy"] = f"{np.mean(found.argmax(axis=1) == y_test):.5f}"
        row["auc"] = f"{roc_auc_score(y_test, found[:, 1]):.5f}"
        row["log_loss"] = f"{-np.log(np.clip(found[np.arange(len(y_test)), y_test], 1e-7, 1)).mean():.5f}"
    else:
        row["rmse"] = f"{np.sqrt(np.mean((found - y_test) ** 2)):.6g}"
    return row | {"wall_seconds": f"{wall:.1f}", "cpu_seconds": f"{cpu:.1f}", "peak_mib": f"{peak:.0f}"}


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default="generated,hotel_bookings,diamonds,CovertypeFull_binary")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--out", type=Path, default=RESULTS / "large_tables.csv")
    parser.add_argument("--one", action="store_true", help="measure one model in this process, and print it as JSON")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.tables, asked.models)))
        return
    done = set()
    if asked.out.exists():
        with asked.out.open(newline="") as file:
            done = {(row["table"], row["model"]) for row in csv.DictReader(file)}
    else:
        asked.out.write_text(",".join(COLUMNS) + "\n")
    about = {"date": datetime.now(UTC).date().isoformat(), **machine(), "lightgbm": version("lightgbm")}
    asked.out.with_suffix(".json").write_text(json.dumps(about, indent=1) + "\n")
    for table in asked.tables.split(","):
        for model in asked.models.split(","):
            if (table, model) in done:
                continue
            command = [sys.executable, __file__, "--one", "--tables", table, "--models", model]
            out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
            print(*out[:-1], sep="\n")
            row = json.loads(out[-1])
            with asked.out.open("a", newline="") as file:
                csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)
            print(*row.values(), sep="  ", flush=True)


if __name__ == "__main__":
    main()
