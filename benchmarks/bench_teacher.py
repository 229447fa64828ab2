"""Measure how much of the gain of a CatBoost ensemble a tabular model keeps that learns from its probabilities.

    KERNELSKETCH_DATA=/folder python benchmarks/bench_teacher.py [--splits 0] [--cache FOLDER] [TABLE ...]

Tables, splits and sizes are those of ``compare_mixed.py``: at most 4,000 labelled rows train and 8,000 test. Up to
8,000 further rows have no labels. The teacher is the mean of three CatBoost models with 300 trees each and other seeds.
Its out-of-fold probabilities are those of three folds, each predicted by the three models of the other folds. The
students are default fits with one thread:

- labels: from the labels alone;
- in-sample: from the probabilities of the teacher on the rows that trained it;
- out-of-fold: from its out-of-fold probabilities;
- mean: from the mean of the labels, as probabilities of 0 and 1, and the out-of-fold probabilities;
- unlabelled: from the out-of-fold probabilities, and those of the teacher on the rows without labels.

Where 8,000 further rows are there, a second teacher of this kind learns from their labels instead, and never sees the
rows of the student, which has only these:

- other rows: from the probabilities of this teacher;
- other rows, mean: from the mean of the labels and these probabilities.

``kept`` is the share of the gain in test log-loss of the teacher over the student with labels, blank for these two and
where the teacher is no better. ``gain_error`` is the standard error of the gain of the teacher, or of a student over
the student with labels, from the test rows. Seconds are CPU seconds of a fit, microseconds those of a row of the
test data frame until its probabilities. The result gets a row per table, split and model; rows that it has
already are kept. ``--cache`` keeps the probabilities of teachers. ``--summary`` prints the shares.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import warnings
from datetime import UTC, datetime
from pathlib import Path
from time import process_time

import compare_mixed
import numpy as np
import pandas as pd
from machine import RESULTS, installed, machine
from sklearn.model_selection import StratifiedKFold
from table_peers import categories_of, load_package, reader
from threadpoolctl import threadpool_limits

from kernelsketch import GCWSTabularClassifier

TABLES = ("bank_marketing", "hotel_bookings", "stackoverflow_remote", "Adult", "IJCNN", "SpamBase", "RobotNavi", "DNA")
MOST_UNLABELLED, MODELS, TREES, FOLDS = 8000, 3, 300, 3
SECOND = "teacher of other rows"
STUDENTS = ("labels", "in-sample", "out-of-fold", "mean", "unlabelled", "other rows", "other rows, mean")
COLUMNS = "table,split,model,n_train,n_unlabelled,log_loss,gain,gain_error,kept,accuracy,fit_cpu_seconds,row_cpu_us"


class Teacher:
    """The mean of CatBoost models with other seeds. Categories are text, and a gap is a category."""

    def __init__(self, X, y, split):
        package = load_package("catboost")
        self._base = reader(X)
        self._names = categories_of(self._base(X))
        given = {"cat_features": self._names, "thread_count": 1, "verbose": 0, "allow_writing_files": False}
        self._models = [
            package.CatBoostClassifier(**given, iterations=TREES, random_seed=MODELS * split + seed).fit(
                self._read(X), y
            )
            for seed in range(MODELS)
        ]

    def _read(self, rows):
        frame = self._base(rows)
        for name in self._names:
            frame[name] = frame[name].astype(object).where(frame[name].notna(), "missing").astype(str)
        return frame

    def predict_proba(self, X):
        rows = self._read(X)
        return np.mean([model.predict_proba(rows) for model in self._models], axis=0)


def load(name, split):
    """Return training rows, labels, further rows, their labels, test rows and test labels."""
    usual, compare_mixed.MOST_TEST = compare_mixed.MOST_TEST, compare_mixed.MOST_TEST + MOST_UNLABELLED
    try:
        X, y, others, labels = compare_mixed.load(name, split)
    finally:
        compare_mixed.MOST_TEST = usual
    further = others.iloc[usual:].reset_index(drop=True)
    return X, y, further, labels[usual:], others.iloc[:usual], labels[:usual]


def taught(name, split, folder):
    """Return the probabilities of the teacher: in-sample, out-of-fold, and of unlabelled and test rows."""
    file = folder / f"{name}-{split}.npz" if folder else None
    if file is not None and file.exists():
        with np.load(file) as found:
            return dict(found)
    X, y, unlabelled, labels, X_test, _ = load(name, split)
    teacher, out_of_fold = Teacher(X, y, split), np.empty((len(y), int(y.max()) + 1))
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=split).split(X, y):
        out_of_fold[test] = Teacher(X.iloc[train], y[train], split).predict_proba(X.iloc[test])
    found = {"in-sample": teacher.predict_proba(X), "out-of-fold": out_of_fold}
    if len(unlabelled) == MOST_UNLABELLED:
        second = Teacher(unlabelled, labels, MODELS + split)
        found |= {"second, train": second.predict_proba(X), "second, test": second.predict_proba(X_test)}
    found["rest"] = teacher.predict_proba(unlabelled) if len(unlabelled) else out_of_fold[:0]
    start = process_time()
    found["test"] = teacher.predict_proba(X_test)
    found["row_cpu_us"] = 1e6 * (process_time() - start) / len(X_test)
    if file is not None:
        np.savez(file, **found)
    return found


def measure(name, split, folder):
    """Yield the rows of a table."""
    X, y, unlabelled, _, X_test, y_test = load(name, split)
    given = taught(name, split, folder)

    def losses(P):
        return -np.log(np.clip(P[np.arange(len(y_test)), y_test], 1e-7, 1))

    def row_of(model, P, extra=0, seconds="", micros=0.0):
        row = {"table": name, "split": split, "model": model, "n_train": len(y), "n_unlabelled": extra}
        gains = by_labels - losses(P)
        row |= {"log_loss": f"{losses(P).mean():.5f}", "gain": f"{gains.mean():.5f}"}
        row |= {"gain_error": f"{gains.std() / len(gains) ** 0.5:.5f}"}
        best = float((by_labels - losses(given["second, test" if "other" in model else "test"])).mean())
        row["kept"] = f"{gains.mean() / best:.3f}" if best > 0 and model not in ("teacher", SECOND, "labels") else ""
        row["accuracy"] = f"{np.mean(P.argmax(axis=1) == y_test):.5f}"
        return row | {"fit_cpu_seconds": seconds, "row_cpu_us": f"{micros:.1f}"}

    for student in STUDENTS:
        rows, targets, extra = X, given.get(student, y), 0
        if student == "mean":
            targets = (np.eye(given["test"].shape[1])[y] + given["out-of-fold"]) / 2
        if "other" in student:
            if "second, train" not in given:
                continue
            targets = given["second, train"]
            if "mean" in student:
                targets = (np.eye(targets.shape[1])[y] + targets) / 2
        if student == "unlabelled":
            if not len(unlabelled):
                continue
            rows, extra = pd.concat([X, unlabelled], ignore_index=True), len(unlabelled)
            targets = np.concatenate([given["out-of-fold"], given["rest"]])
        start = process_time()
        model = GCWSTabularClassifier().fit(rows, targets)
        trained = process_time()
        P = model.predict_proba(X_test)
        micros = 1e6 * (process_time() - trained) / len(y_test)
        if student == "labels":
            by_labels = losses(P)
            yield row_of("teacher", given["test"], micros=float(given["row_cpu_us"]))
            if "second, test" in given:
                yield row_of(SECOND, given["second, test"], len(unlabelled), micros=float(given["row_cpu_us"]))
        yield row_of(student, P, extra, f"{trained - start:.1f}", micros)


def summary(rows):
    """Return lines: per student the gain and the share kept, where its teacher gains more than two standard errors."""
    lines, keys = [], ["table", "split"]
    for teacher, students in (("teacher", STUDENTS[1:5]), (SECOND, STUDENTS[5:])):
        best = rows[rows["model"] == teacher].set_index(keys)
        clear = best.index[best["gain"] > 2 * best["gain_error"]]
        micros = rows[rows["model"] == "labels"]["row_cpu_us"].median()
        line = f"{teacher}: gain {best['gain'].mean():+.4f}, clear on {len(clear)} of {len(best)}"
        lines.append(
            f"{line} ({', '.join(sorted({name for name, _ in clear}))}); students take {micros:.0f} us per row"
        )
        for student in students:
            found = rows[rows["model"] == student].set_index(keys)
            line = f"  {student}: gain {found['gain'].mean():+.4f} over {len(found)}"
            kept = found.loc[found.index.intersection(clear), "kept"]
            if len(kept):
                line += f"; kept {kept.mean():.2f} +- {kept.std() / max(1, len(kept)) ** 0.5:.2f} where clear"
            lines.append(line)
    return lines


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--splits", default="0")
    parser.add_argument("--cache", type=Path, default=None, help="folder of the probabilities of teachers")
    parser.add_argument("--out", type=Path, default=RESULTS / "teacher.csv")
    parser.add_argument("--only-teachers", action="store_true", help="fill the cache, and train no student")
    parser.add_argument("--summary", action="store_true", help="print means from the file, and train nothing")
    asked = parser.parse_args()
    if asked.summary:
        return print(*summary(pd.read_csv(asked.out)), sep="\n")
    names, splits = asked.tables or TABLES, list(map(int, asked.splits.split(",")))
    if asked.only_teachers:
        for split in splits:
            for name in names:
                with threadpool_limits(1):
                    taught(name, split, asked.cache)
        return None
    if not asked.out.exists():
        asked.out.write_text(COLUMNS + "\n")
    known = pd.read_csv(asked.out)
    done = set(zip(known["table"], known["split"], strict=True))
    about = {"date": datetime.now(UTC).date().isoformat(), **machine(), "catboost": installed("catboost")}
    asked.out.with_suffix(".json").write_text(json.dumps(about, indent=1) + "\n")
    for split in splits:
        for name in names:
            if (name, split) in done:
                continue
            with threadpool_limits(1):
                rows = list(measure(name, split, asked.cache))
            with asked.out.open("a", newline="") as file:
                csv.DictWriter(file, COLUMNS.split(","), lineterminator="\n").writerows(rows)
            print(name, split, *(f"{row['model']} {row['log_loss']}" for row in rows), flush=True)
    return None


if __name__ == "__main__":
    sys.exit(main())
