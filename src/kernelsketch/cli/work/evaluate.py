"""``kernelsketch evaluate``: predict blocks and compare with their labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...exceptions import InputError
from ...formats import encoded
from ...storage import write_atomically
from .._file_predictor import FilePredictor
from .._memory import memory_left
from .._progress import CountedRows, ProgressMeter
from .._results import print_facts, print_json, print_table
from .._row_columns import RowColumns
from .._scores import ClassScores, ValueScores
from ..commands.evaluate import Evaluate
from .evaluate_several import evaluate_several, one_label

SHOWN = 20  # classes in the table


def evaluate(task: Evaluate) -> None:
    predictor = FilePredictor(task.model, task.threads)
    if predictor.has_several:
        evaluate_several(task, predictor)
        return
    made = predictor.model
    with (
        ProgressMeter("evaluating", task.quiet) as meter,
        predictor.open(task.inputs, task, ignore_labels=False) as stream,
    ):
        columns = RowColumns(stream, task, one_label(task))
        counted = CountedRows(stream, meter)
        values, classes = ValueScores(), None
        has_probabilities = hasattr(made, "predict_proba")
        if not predictor.is_regressor:
            classes = ClassScores(made.classes_, memory_left(task) if has_probabilities else 0)
        for block in counted:
            if block.y is None:
                raise InputError(f"{task.input} has no labels. Name their column with --label COLUMN; -1 is the last.")
            weights, start = columns.weights(block), 0
            with predictor.counting_rows():
                for X, y in predictor.parts(block):
                    assert y is not None
                    weight, start = None if weights is None else weights[start : start + len(y)], start + len(y)
                    if classes is None:
                        values.add(y, made.predict(X), task.input, weight)
                    else:
                        probabilities = made.predict_proba(X) if has_probabilities else None
                        classes.add(y, made.predict(X), probabilities, task.input, weight)
    if not counted.rows:
        raise InputError(f"{task.input} has no rows.")
    columns.check_total()
    scores = values if classes is None else classes
    facts = {"rows": counted.rows, **scores.facts(), "seconds": meter.seconds}
    lines = scores.lines(facts)
    if task.report is not None:
        from .._report import report_page

        page = report_page(str(task.model), task.input, made, facts, lines, values.points)
        write_atomically(task.report, encoded(page))
        lines["report"] = facts["report"] = str(task.report)
    if task.json:
        print_json(facts)
        return
    print_facts({**lines, "evaluated": counted.summary})
    if classes is not None:
        names = ("class", "rows", "precision", "recall", "F1", "most often predicted as")
        print_table(names, list(_class_rows(facts)), range(1, 5), SHOWN, "classes")


def _class_rows(facts: dict[str, Any]) -> Iterator[list[str]]:
    labels = [found["label"] for found in facts["classes"]]
    for number, found in enumerate(facts["classes"]):
        wrong = np.array(facts["confusion"][number])
        wrong[number] = 0
        taken = f"{labels[wrong.argmax()]} ({wrong.max()})" if wrong.any() else ""
        shares = ["-" if found[key] is None else f"{found[key]:.3f}" for key in ("precision", "recall", "f1")]
        yield [str(found["label"]), f"{found['rows']:,}", *shares, taken]
