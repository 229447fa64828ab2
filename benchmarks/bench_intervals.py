"""Measure how often intervals and sets of the tabular models have the truth, and how wide they are, on real tables.

    KERNELSKETCH_DATA=/folder python benchmarks/bench_intervals.py [--splits 0,1,2] [--task regression] [TABLE ...]

Tables, splits and sizes are those of ``compare_mixed.py``. One fit of a table, with one thread, gives all coverages of
all methods but the last:

- ours: ``predict_interval`` and ``predict_set``;
- constant: the same with one spread for all rows;
- uncorrected: ours without what the final model gains over those of folds;
- APS: adaptive prediction sets of the same held-out probabilities, without random numbers;
- LightGBM-CQR: quantile regression by LightGBM with its defaults on 75 % of the training rows, and conformalized by the
  other 25 % (Romano, Patterson and Candes, 2019).

``coverage`` is that of the test rows, with its standard error over test rows and the choice of the model's order
statistic. ``size`` is the mean width in standard deviations of the test targets, or the mean number of classes.
``loss`` is the mean interval score (Gneiting and Raftery, 2007) in the same unit. ``extra_cpu`` is the CPU time of what
``predict_interval`` needs as a share of the fit. The result gets a row per table, split, method and coverage; rows that
it has already are kept. ``--summary`` prints means from the file, of all tables and of the reporting half alone, and
the root mean square (rms) of deviations in units of standard errors.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import warnings
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from time import process_time
from unittest.mock import patch

import numpy as np
import pandas as pd
from compare_mixed import HALVES, NEW, OF_CLASSES, load
from machine import RESULTS, installed, machine
from table_peers import load_package, reader
from threadpoolctl import threadpool_limits

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor
from kernelsketch.tabular import _intervals, _learn

GOALS = (0.5, 0.8, 0.9, 0.95)
COLUMNS = ["task", "new", "half", "table", "split", "method", "goal", "n_train", "n_test"]
COLUMNS += ["coverage", "coverage_error", "size", "loss", "extra_cpu"]


class Watch:
    """Keeps what a fit passes to its intervals, and the CPU seconds that these take."""

    def __init__(self):
        self.seconds, self.given = 0.0, None

    def timed(self, function):
        def call(*given, **named):
            start = process_time()
            found = function(*given, **named)
            self.seconds += process_time() - start
            return found

        return call

    def keep(self, function):
        def call(*given):
            self.given = given
            return function(*given)

        return call


def fitted(kind, X, y):
    """Return a fitted model, what its intervals come from, and the share of CPU time of these."""
    watch, learner, intervals = Watch(), _learn.Learner, _intervals.Intervals
    of = "of_classes" if kind is GCWSTabularClassifier else "of_numbers"
    with (
        patch.object(learner, "_grown", watch.timed(learner._grown)),
        patch.object(learner, "_curve", watch.timed(learner._curve)),
        patch.object(intervals, of, watch.timed(watch.keep(getattr(intervals, of)))),
    ):
        start = process_time()
        model = kind().fit(X, y)
        seconds = process_time() - start
    return model, watch.given, watch.seconds / (seconds - watch.seconds)


def of_numbers(X, y, X_test, y_test, split):
    """Yield the method, the goal, and lower and upper ends."""
    model, (features, errors, weights, folds, curve), share = fitted(GCWSTabularRegressor, X, y)
    with patch.object(_intervals, "POWERS", np.zeros(1)):
        constant = _intervals.Intervals.of_numbers(features, errors, weights, folds, curve)
    uncorrected = _intervals.Intervals.of_numbers(features, errors, weights, folds, None)
    for method, own in (("ours", model._intervals), ("constant", constant), ("uncorrected", uncorrected)):
        model._intervals = own
        for goal in GOALS:
            yield method, goal, model.predict_interval(X_test, goal), share if method == "ours" else ""
    for goal in GOALS:
        yield "LightGBM-CQR", goal, lightgbm_quantiles(X, y, X_test, split, goal), ""


def lightgbm_quantiles(X, y, X_test, split, goal):
    """Return the ends of conformalized quantile regression."""
    package, read = load_package("lightgbm"), reader(X)
    order = np.random.default_rng(split).permutation(len(y))
    train, others = order[len(y) // 4 :], order[: len(y) // 4]
    common = {"objective": "quantile", "verbosity": -1, "num_threads": 1, "seed": split, "deterministic": True}
    X, X_test, ends = read(X), read(X_test), []
    for level in ((1 - goal) / 2, (1 + goal) / 2):
        data = package.Dataset(X.iloc[train], y[train])
        model = package.train({**common, "force_row_wise": True, "alpha": level}, data, 100)
        ends.append((model.predict(X.iloc[others], num_threads=1), model.predict(X_test, num_threads=1)))
    (low, low_test), (high, high_test) = ends
    scores = np.sort(np.maximum(low - y[others], y[others] - high))
    margin = scores[min(len(scores), ceil((len(scores) + 1) * goal)) - 1]
    return np.column_stack([low_test - margin, high_test + margin])


def of_classes(X, y, X_test):
    """Yield the method, the goal, and sets."""
    model, (P, labels, weights), share = fitted(GCWSTabularClassifier, X, y)
    assert not np.ptp(weights)
    P_test = model.predict_proba(X_test)
    for goal in GOALS:
        yield "ours", goal, model.predict_set(X_test, goal), share
        scores = np.sort(above(P)[np.arange(len(P)), labels])
        rank = min(len(scores), ceil((len(scores) + 1) * goal))
        yield "APS", goal, above(P_test) <= scores[rank - 1], ""


def above(P):
    """Return for each class the sum of the probabilities that are as large as its own."""
    order = np.argsort(-P, axis=1, kind="stable")
    found = np.empty_like(P)
    np.put_along_axis(found, order, np.cumsum(np.take_along_axis(P, order, axis=1), axis=1), axis=1)
    return found


def measure(name, split):
    """Return the rows of a table."""
    X, y, X_test, y_test = load(name, split)
    half = next(half for half, names in HALVES.items() if name in names)
    common = {"new": int(name in NEW), "half": half, "table": name, "split": split}
    common |= {"n_train": len(y), "n_test": len(y_test)}
    rows = []
    if name in OF_CLASSES:
        for method, goal, sets, share in of_classes(X, y, X_test):
            right, size = sets[np.arange(len(y_test)), y_test], sets.sum(axis=1).mean()
            rows.append(row_of(common, "classification", method, goal, right, size, "", share))
        return rows
    unit = y_test.std()
    for method, goal, ends, share in of_numbers(X, y, X_test, y_test, split):
        low, high = ends.T
        beyond = np.maximum(low - y_test, 0) + np.maximum(y_test - high, 0)
        loss = f"{np.mean(high - low + 2 / (1 - goal) * beyond) / unit:.5g}"
        rows.append(row_of(common, "regression", method, goal, beyond == 0, np.mean(high - low) / unit, loss, share))
    return rows


def row_of(common, task, method, goal, right, size, loss, share):
    """Return a row. The standard error is that of a share of the test rows, whose goal has one among training rows."""
    variance = goal * (1 - goal) * (1 / common["n_test"] + 1 / common["n_train"])
    row = {**common, "task": task, "method": method, "goal": goal, "coverage": f"{right.mean():.5f}"}
    row |= {"coverage_error": f"{variance**0.5:.5f}", "size": f"{size:.5g}", "loss": loss}
    return row | {"extra_cpu": share if share == "" else f"{share:.4f}"}


def summary(rows):
    """Return lines: means over tables of means over splits, and how many tables are within three standard errors."""
    lines = []
    for (task, method, goal), part in rows.groupby(["task", "method", "goal"]):
        by_table = part.groupby("table")
        coverage = by_table["coverage"].mean() - goal
        error = coverage.std() / len(coverage) ** 0.5
        standardized = (part["coverage"] - goal) / part["coverage_error"]
        within = (standardized.abs() <= 3).groupby(part["table"]).all()
        peer = rows[(rows["task"] == task) & (rows["method"] == "constant") & (rows["goal"] == goal)]
        line = f"{task}, {method}, {goal}: coverage {100 * coverage.mean():+.2f} +- {100 * error:.2f} points"
        line += (
            f", within 3 errors on {within.sum()} of {len(within)} tables, rms {(standardized**2).mean() ** 0.5:.2f}"
        )
        if len(peer):
            ratios = {
                name: np.log(by_table[name].mean() / peer.groupby("table")[name].mean()).mean()
                for name in ("size", "loss")
            }
            line += f", width x{np.exp(ratios['size']):.3f}, loss x{np.exp(ratios['loss']):.3f} of constant"
        else:
            accuracy = rows[(rows["method"] == "ours") & (rows["goal"] == min(GOALS))].set_index(["table", "split"])
            wanted = part.join(accuracy["coverage"].rename("accuracy"), on=["table", "split"])
            above = (wanted["coverage"] - np.maximum(wanted["accuracy"], goal)).groupby(wanted["table"]).mean()
            error = above.std() / len(above) ** 0.5
            line += f", above goal and accuracy {100 * above.mean():+.2f} +- {100 * error:.2f}"
            line += f", {by_table['size'].mean().mean():.3f} classes"
        lines.append(line)
    for task, part in rows[rows["method"] == "ours"].groupby("task"):
        lines.append(
            f"{task}, CPU: +{100 * part['extra_cpu'].mean():.1f} %, at most {100 * part['extra_cpu'].max():.1f} %"
        )
    return lines


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--task", choices=("regression", "classification"), default=None)
    parser.add_argument("--splits", default="0,1,2")
    parser.add_argument("--out", type=Path, default=RESULTS / "intervals.csv")
    parser.add_argument("--summary", action="store_true", help="print means from the file, and train nothing")
    asked = parser.parse_args()
    if asked.summary:
        rows = pd.read_csv(asked.out)
        print("all tables", *summary(rows), sep="\n")
        return print("reporting half", *summary(rows[rows["half"] == "report"]), sep="\n")
    if not asked.out.exists():
        asked.out.write_text(",".join(COLUMNS) + "\n")
    known = pd.read_csv(asked.out)
    done = set(zip(known["table"], known["split"], strict=True))
    about = {"date": datetime.now(UTC).date().isoformat(), **machine(), "lightgbm": installed("lightgbm")}
    asked.out.with_suffix(".json").write_text(json.dumps(about, indent=1) + "\n")
    every = [name for names in HALVES.values() for name in names]
    chosen = [name for name in every if asked.task is None or (name in OF_CLASSES) == (asked.task == "classification")]
    for split in map(int, asked.splits.split(",")):
        for name in asked.tables or chosen:
            if (name, split) in done:
                continue
            with threadpool_limits(1):
                rows = measure(name, split)
            with asked.out.open("a", newline="") as file:
                csv.DictWriter(file, COLUMNS, lineterminator="\n").writerows(rows)
            print(name, split, *(row["coverage"] for row in rows if row["method"] == "ours"), flush=True)
    return None


if __name__ == "__main__":
    sys.exit(main())
