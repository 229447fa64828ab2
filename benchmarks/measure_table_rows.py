"""Microseconds per row of predictors of models of tables, and of their ONNX graphs, on tables of compare_mixed.py.

    KERNELSKETCH_DATA=/folder python benchmarks/measure_table_rows.py [TABLE ...]

A model with ``effort="default", budget=25`` is fitted to the training rows of split 0, and its predictor is loaded
from its file. All times are processor time of ``predict`` on one thread, per row. ``dict`` and ``array`` are medians of
9 turns through 500 different rows, one by one; ``one_row_frame`` is the median of 100 data frames of one row, and
``frame_of_1000`` and ``model_frame_of_1000`` of 9 calls with a data frame of 1,000 rows, of the predictor and of the
model. Predictions are compared with those of the model by ==.

``onnx_row`` and ``onnx_1000`` are those of onnxruntime on one thread, for 100 single rows and for 1,000 rows;
``onnx_different`` is the number of labels or numbers among 1,000 rows that are not equal to those of the model, and
``onnx_error`` the largest relative difference of probabilities. These cells are empty if the model has free text.
The rows go to results/table_predictors.csv.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
import onnxruntime
from compare_mixed import NEW, OF_CLASSES, load
from machine import RESULTS, installed, machine
from threadpoolctl import threadpool_limits

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor
from kernelsketch.exceptions import InputError
from kernelsketch.serving import Predictor

TABLES = (*NEW, "SpamBase", "Satimage", "Adult")
TIMES = ("dict", "array", "one_row_frame", "frame_of_1000", "model_frame_of_1000", "onnx_row", "onnx_1000")
FACTS = ("table", "columns", "features", "problems", "trees")
COLUMNS = (*FACTS, *(f"{name}_us" for name in TIMES), "onnx_different", "onnx_error", "onnx_mb")


def microseconds(call, arguments):
    start = process_time()
    for argument in arguments:
        call(argument)
    return 1e6 * (process_time() - start)


def middle(call, turns):
    """Return the median time of an argument, over turns of several arguments."""
    return float(np.median([microseconds(call, turn) / len(turn) for turn in turns]))


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
    found = [
        middle(predictor.predict, 9 * [records]),
        middle(predictor.predict, 9 * [arrays]),
        middle(predictor.predict, [[frame] for frame in frames]),
        middle(predictor.predict, 9 * [[many]]) / len(many),
        middle(model.predict, 9 * [[many]]) / len(many),
    ]
    trees = 0 if model._trees is None else len(model._trees.roots)
    facts = (name, X.shape[1], len(model._plan.features), len(model._model.linear.weights), trees)
    times, rest = graph(model, predictor, many)
    return *facts, *(f"{time:.1f}" for time in found), *times, *rest


def graph(model, predictor, rows):
    """Return the times of the ONNX graph, how it differs from the model, and its megabytes."""
    try:
        content = predictor.to_onnx()
    except InputError:
        return 2 * [""], 3 * [""]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    inputs = {column.name: values_of(rows[column.name], column.type) for column in session.get_inputs()}
    outputs = dict(zip([output.name for output in session.get_outputs()], session.run(None, inputs), strict=True))
    expected = model.predict(rows)
    different, error = outputs.get("label", outputs.get("prediction")) != expected, ""
    if "probabilities" in outputs:
        shares = model.predict_proba(rows)
        error = f"{np.max(np.abs(outputs['probabilities'] / shares - 1)):.1e}"
    single = [{name: values[i : i + 1] for name, values in inputs.items()} for i in range(100)]
    times = [
        middle(lambda one: session.run(None, one), [[one] for one in single]),
        middle(lambda all_: session.run(None, all_), 5 * [[inputs]]) / len(rows),
    ]
    return [f"{time:.1f}" for time in times], [int(different.sum()), error, f"{len(content) / 1e6:.1f}"]


def values_of(column, kind):
    values = column.astype(object).where(column.notna(), "") if kind == "tensor(string)" else column.astype(float)
    texts = [str(value) for value in values] if kind == "tensor(string)" else values
    return np.array(texts, object if kind == "tensor(string)" else np.float64)[:, None]


def main():
    facts = {**machine(), "onnxruntime": installed("onnxruntime")}  # before the files of results change
    with threadpool_limits(1):
        rows = []
        for name in sys.argv[1:] or TABLES:
            rows.append(measure(name))
            print(*rows[-1], sep="\t", flush=True)
    with (RESULTS / "table_predictors.csv").open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    (RESULTS / "table_predictors.json").write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
