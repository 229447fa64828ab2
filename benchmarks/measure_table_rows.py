"""Microseconds per row of predictors of models of tables, on tables of compare_mixed.py.

    KERNELSKETCH_DATA=/folder python benchmarks/measure_table_rows.py [TABLE ...]

A model with ``effort="default", budget=25`` is fitted to the training rows of split 0, and its predictor is loaded
from its file. ``dict`` and ``array`` are medians of wall time over 500 different rows, one by one. The others are
medians of processor time: ``one_row_frame`` of 100 data frames of one row, ``frame_of_1000`` and
``model_frame_of_1000`` of 9 calls with a data frame of 1,000 rows, per row, of the predictor and of the model. All
calls are ``predict``; one thread. The rows go to results/table_predictors.csv. Predictions are compared with those of
the model by ==.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from compare_mixed import OF_CLASSES, load
from machine import RESULTS, machine
from threadpoolctl import threadpool_limits

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor
from kernelsketch.serving import Predictor

TABLES = ("Magic", "diamonds", "telco_churn", "bank_marketing")
TIMES = ("dict", "array", "one_row_frame", "frame_of_1000", "model_frame_of_1000")
COLUMNS = ("table", "columns", "features", "trees", *(f"{name}_us" for name in TIMES))


def microseconds(call, arguments, clock=perf_counter):
    times = []
    for argument in arguments:
        start = clock()
        call(argument)
        times.append(clock() - start)
    return 1e6 * float(np.median(times))


def measure(name):
    X, y, X_test, _ = load(name, 0)
    kind = GCWSTabularClassifier if name in OF_CLASSES else GCWSTabularRegressor
    model = kind(budget=25).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.safetensors")
        predictor = Predictor.load(Path(folder) / "model.safetensors")
    some, many = X_test[:500], X_test[:1000]
    records, arrays = some.to_dict("records"), list(some.to_numpy(dtype=object))
    frames = [some[i : i + 1] for i in range(100)]
    assert (predictor.predict(many) == model.predict(many)).all()
    for record, array, frame in zip(records[:50], arrays, frames, strict=False):
        expected = model.predict([record])[0]
        assert expected == predictor.predict(record) == predictor.predict(array) == predictor.predict(frame)[0]
    calls = 9 * [many]
    found = [
        microseconds(predictor.predict, records),
        microseconds(predictor.predict, arrays),
        microseconds(predictor.predict, frames, process_time),
        microseconds(predictor.predict, calls, process_time) / len(many),
        microseconds(model.predict, calls, process_time) / len(many),
    ]
    trees = 0 if model._trees is None else len(model._trees.roots)
    return name, X.shape[1], len(model._plan.features), trees, *(f"{time:.1f}" for time in found)


def main():
    with threadpool_limits(1):
        rows = [measure(name) for name in sys.argv[1:] or TABLES]
    with (RESULTS / "table_predictors.csv").open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    (RESULTS / "table_predictors.json").write_text(json.dumps(machine(), indent=2) + "\n")
    for row in rows:
        print(*row, sep="\t")


if __name__ == "__main__":
    main()
