"""How well the contributions of ``explain`` agree with Shapley values of the model: results/explanations.csv.

The reference are sampled Shapley values against at most 256 training rows, of one half of them. ``shapley-16`` and
``shapley-64`` compare with so many rows of the other half. ``shapley`` compares with the 64 rows that the model keeps,
of which some may be in the reference, and so does ``hashes``. Further
tables are read from the folder KERNELSKETCH_DATA, if it is set. The machine is in results/explanations.json.

Columns: ``correlation`` of all contributions of all rows with the reference; ``row_correlation``, its mean within rows;
``deviation``, the mean absolute difference divided by the mean size of the reference; ``slope`` of a regression on the
reference without intercept; ``same_top``, the share of rows whose largest contribution is of the same column;
``ms_per_row``, milliseconds of CPU time per row of 20 rows, with one thread; and ``fit_seconds`` of CPU time.
"""

import csv
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from machine import RESULTS, machine
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from threadpoolctl import threadpool_limits

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor

MOST_ROWS, EXPLAINED, REFERENCE = 1500, 20, 256
NUMBERS = ("ames_housing", "bikeshare_dc")
CLASSES = ("attrition_ibm", "credit_scoring", "mlc_churn", "telco_churn")


def customers(n=1500):
    """A generated table of numbers, categories, dates, text and gaps."""
    rng = np.random.default_rng(0)
    spending, plan = rng.lognormal(4, 1, n), rng.choice(["free", "basic", "pro"], n)
    word = rng.choice(["refund", "invoice", "thanks", "delivery"], n)
    frame = pd.DataFrame(
        {
            "spending": np.where(rng.random(n) < 0.1, np.nan, spending),
            "plan": plan,
            "joined": pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "message": [
                f"{a} for order {i} {b}" for i, (a, b) in enumerate(zip(word, rng.permutation(word), strict=True))
            ],
            "city": rng.choice([f"city {i}" for i in range(40)], n),
            "noise": rng.normal(size=n),
        }
    )
    score = np.log(spending) - 4 + (plan == "free") * (word == "refund") * 3 - frame["joined"].dt.year + 2023
    return frame, np.where(score + rng.logistic(0, 0.3, n) > 0, "leaves", "stays")


def tables():
    """Yield the name, the task, the rows and the targets of each table."""
    for name, load in (("breast_cancer", load_breast_cancer), ("wine", load_wine), ("diabetes", load_diabetes)):
        X, y = load(return_X_y=True, as_frame=True)
        yield name, name != "diabetes", X, y
    yield "customers", True, *customers()
    folder = os.environ.get("KERNELSKETCH_DATA")
    for name in (*CLASSES, *NUMBERS) if folder else ():
        path = Path(folder) / "tables" / f"{name}.csv.gz"
        if path.exists():
            frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
            yield name, name in CLASSES, frame.drop(columns="target"), frame["target"]


def agreement(found, reference, used):
    found, reference = found[:, used].reshape(len(found), -1), reference[:, used].reshape(len(found), -1)
    rows = [np.corrcoef(*pair)[0, 1] for pair in zip(found, reference, strict=True)]
    top = [abs(a).argmax() == abs(b).argmax() for a, b in zip(found, reference, strict=True)]
    return {
        "correlation": np.corrcoef(found.ravel(), reference.ravel())[0, 1],
        "row_correlation": np.mean(rows),
        "deviation": abs(found - reference).mean() / abs(reference).mean(),
        "slope": (found * reference).sum() / (reference**2).sum(),
        "same_top": np.mean(top),
    }


def measured(name, is_class, X, y):
    """Yield the lines of a table."""
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X.iloc[order].reset_index(drop=True), np.asarray(y)[order]
    n = min(MOST_ROWS, len(X) - EXPLAINED)
    start = process_time()
    model = (GCWSTabularClassifier() if is_class else GCWSTabularRegressor()).fit(X[:n], y[:n])
    seconds = process_time() - start
    rows, used = X[n : n + EXPLAINED], [column.is_used for column in model.columns_]
    draws = np.random.default_rng(1).permutation(n)
    known, others = X.iloc[draws[: n // 2][:REFERENCE]], X.iloc[draws[n // 2 :]]
    reference = model.explain(rows, background=known, random_state=1).values
    for method, options in {
        "hashes": {"method": "hashes"},
        "shapley-16": {"background": others[:16], "random_state": 2},
        "shapley-64": {"background": others[:64], "random_state": 2},
        "shapley": {},
    }.items():
        start = process_time()
        explanation = model.explain(rows, **options)
        milliseconds = 1000 * (process_time() - start) / len(rows)
        gap = explanation.base_values + explanation.values.sum(axis=1) - explanation.output
        yield {
            "table": name,
            "training_rows": n,
            "columns": sum(used),
            "classes": len(getattr(model, "classes_", [])),
            "trees_share": round(model.trees_share_, 2),
            "method": method,
            **{key: round(float(value), 3) for key, value in agreement(explanation.values, reference, used).items()},
            "ms_per_row": round(milliseconds, 2),
            "fit_seconds": round(seconds, 1),
            "largest_gap": f"{float(abs(gap).max() / abs(explanation.output).max()):.0e}",
        }


def main():
    lines = []
    with threadpool_limits(limits=1):
        for table in tables():
            for line in measured(*table):
                lines.append(line)
                print(*line.values(), flush=True)
    about = {"date": datetime.now(UTC).date().isoformat(), **machine()}
    (RESULTS / "explanations.json").write_text(json.dumps(about, indent=1) + "\n")
    with (RESULTS / "explanations.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
