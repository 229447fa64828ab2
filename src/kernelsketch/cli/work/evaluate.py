"""``kernelsketch evaluate``: predict blocks and compare with their labels."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...exceptions import InputError
from .._options import InputOptions, RunOptions, open_input
from .._predictor import Predictor, check_label_types, class_numbers
from .._progress import CountedRows, ProgressMeter
from .._results import label_value, print_facts, print_json

Array = NDArray[Any]
SHOWN = 20  # classes in the table


def evaluate(input: str, model: Path, reading: InputOptions, running: RunOptions, json: bool) -> None:
    with ProgressMeter("evaluating", running.quiet) as meter, open_input(input, reading, running) as stream:
        counted, predictor = CountedRows(stream, meter), Predictor(model, stream, running.threads)
        is_regressor = predictor.is_regressor
        result: _ValueScores | _ClassScores = _ValueScores() if is_regressor else _ClassScores(predictor.model.classes_)
        for block in counted:
            if block.y is None:
                raise InputError(f"{input} has no labels. Name their column with --label COLUMN; -1 is the last.")
            for codes, y in predictor.parts(block):
                assert y is not None
                result.add(y, predictor.model.predict(codes), input)
    if not counted.rows:
        raise InputError(f"{input} has no rows.")
    facts = {"rows": counted.rows, **result.facts(), "seconds": meter.seconds}
    if json:
        print_json(facts)
        return
    print_facts({**result.lines(facts), "evaluated": counted.summary})
    if isinstance(result, _ClassScores):
        from rich.console import Console

        Console().print(result.table(facts))


class _ClassScores:
    """Count pairs (label, prediction). Labels that the model does not know have a row of their own."""

    def __init__(self, classes: Array) -> None:
        self._classes = classes
        self._counts = np.zeros((len(classes) + 1, len(classes)), np.int64)

    def add(self, y: Array, predicted: Array, name: str) -> None:
        check_label_types(y, self._classes, name)
        pairs = class_numbers(y, self._classes), class_numbers(predicted, self._classes)
        np.add.at(self._counts, pairs, 1)

    def facts(self) -> dict[str, Any]:
        known, total = self._counts[:-1], int(self._counts.sum())
        right, actual, chosen = np.diag(known), known.sum(axis=1), self._counts.sum(axis=0)
        accuracy = float(right.sum() / total)
        with np.errstate(invalid="ignore"):
            precision, recall, f1 = right / chosen, right / actual, 2 * right / (chosen + actual)
        per_class = [
            {"label": label_value(label), "rows": n, "precision": _number(a), "recall": _number(b), "f1": _number(c)}
            for label, n, a, b, c in zip(self._classes.tolist(), actual.tolist(), precision, recall, f1, strict=True)
        ]
        return {
            "accuracy": accuracy,
            "standard_error": math.sqrt(accuracy * (1 - accuracy) / total),
            "macro_f1": float(np.nanmean(f1)),
            "unknown_labels": int(self._counts[-1].sum()),
            "classes": per_class,
            "confusion": known,
        }

    def lines(self, facts: dict[str, Any]) -> dict[str, str]:
        lines = {
            "accuracy": f"{100 * facts['accuracy']:.2f} % ± {100 * facts['standard_error']:.2f}",
            "macro F1": f"{facts['macro_f1']:.4f}",
        }
        if facts["unknown_labels"]:
            lines["unknown labels"] = f"{facts['unknown_labels']:,} rows have labels that the model does not know"
        return lines

    def table(self, facts: dict[str, Any]) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table("class", "rows", "precision", "recall", "F1", "most often predicted as", box=None)
        for column in table.columns[1:5]:
            column.justify = "right"
        for number, found in enumerate(facts["classes"][:SHOWN]):
            wrong = self._counts[number].copy()
            wrong[number] = 0
            taken = f"{label_value(self._classes[wrong.argmax()].item())} ({wrong.max()})" if wrong.any() else ""
            shares = ["-" if found[key] is None else f"{found[key]:.3f}" for key in ("precision", "recall", "f1")]
            table.add_row(Text(str(found["label"])), f"{found['rows']:,}", *shares, Text(taken))
        if len(facts["classes"]) > SHOWN:
            table.add_row(f"{len(facts['classes']) - SHOWN} more classes: see --json")
        return table


class _ValueScores:
    """Sum errors, and labels around the first of them."""

    def __init__(self) -> None:
        self._n, self._origin = 0, np.float64(0)
        self._absolute = self._squared = self._sum = self._sum_squares = np.float64(0)

    def add(self, y: Array, predicted: Array, name: str) -> None:
        if y.dtype.kind not in "iufb":
            raise InputError(f"The labels of {name} are text, but the model predicts numbers.")
        y = y.astype(np.float64)
        if self._n == 0:
            self._origin = np.float64(y[0])
        self._n += len(y)
        with np.errstate(over="ignore"):  # squares of large values become infinite, and are shown so
            error, shifted = predicted - y, y - self._origin
            self._absolute += np.abs(error).sum()
            self._squared += np.float64(error @ error)
            self._sum += shifted.sum()
            self._sum_squares += np.float64(shifted @ shifted)

    def facts(self) -> dict[str, Any]:
        with np.errstate(all="ignore"):
            spread = self._sum_squares - self._sum**2 / self._n
            return {
                "r2": float(1 - self._squared / spread) if spread > 0 else None,
                "mean_absolute_error": float(self._absolute / self._n),
                "root_mean_squared_error": float(np.sqrt(self._squared / self._n)),
            }

    def lines(self, facts: dict[str, Any]) -> dict[str, str]:
        return {
            "R2": "-" if facts["r2"] is None else f"{facts['r2']:.4f}",
            "mean absolute error": f"{facts['mean_absolute_error']:.6g}",
            "root mean squared error": f"{facts['root_mean_squared_error']:.6g}",
        }


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)
