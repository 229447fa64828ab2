"""``kernelsketch evaluate`` for a model of several labels: the scores of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...exceptions import InputError
from .._errors import UsageError
from .._file_predictor import FilePredictor
from .._memory import memory_left
from .._progress import CountedRows, ProgressMeter
from .._results import print_facts, print_json
from .._row_columns import RowColumns
from .._scores import ClassScores, ValueScores
from ..commands.evaluate import Evaluate


def check_one_label(task: Evaluate) -> None:
    """Refuse several labels for a model of one."""
    if len(task.labels) > 1:
        raise UsageError(f"--label is given {len(task.labels)} times, but {task.model} predicts one label: name one.")


def evaluate_several(task: Evaluate, predictor: FilePredictor) -> None:
    """Predict blocks, compare each output with its label, and print the scores."""
    made, names = predictor.model, [str(label) for label in task.labels or predictor.labels]
    n_outputs = len(made.estimators_)
    if len(names) != n_outputs:
        raise UsageError(
            f"{task.model} predicts {n_outputs} labels, and the command line names {len(names)}: pass --label for each "
            "of them, in the order of the training."
        )
    for name in ("report", "positive", "slice"):
        if getattr(task, name):
            raise UsageError(f"--{name} is for models of one label: leave it out, or train a model for each label.")
    classes = None if predictor.is_regressor else np.array([0, 1])
    scores: list[Any] = [ValueScores() for _ in names]
    if classes is not None:
        scores = [ClassScores(classes, memory_left(task) // n_outputs) for _ in names]
    with (
        ProgressMeter("evaluating", task.quiet) as meter,
        predictor.open(task.inputs, task, ignore_labels=False) as stream,
    ):
        counted, columns = CountedRows(stream, meter), RowColumns(stream, task, names)
        for block in counted:
            if block.y is None:
                raise InputError(f"{task.input} has no labels. Name their columns with --label, once for each.")
            Y, weights = columns.labels(block), columns.weights(block)
            with predictor.counting_rows():
                for X, _ in predictor.parts(block):
                    _add(scores, Y, made, X, weights, task.input)
    if not counted.rows:
        raise InputError(f"{task.input} has no rows.")
    columns.check_total()
    outputs: list[dict[str, Any]] = []
    lines: dict[str, str] = {}
    for name, one in zip(names, scores, strict=True):
        found = one.facts()
        outputs.append({"label": name, **found})
        lines |= {f"{name}: {what}": value for what, value in one.lines(found).items()}
    if task.json:
        print_json({"rows": counted.rows, "outputs": outputs, "seconds": meter.seconds})
    else:
        print_facts({**lines, "evaluated": counted.summary})


def _add(scores: list[Any], Y: Any, made: Any, X: Any, weights: Any, name: str) -> None:
    predicted = made.predict(X)
    probabilities = made.predict_proba(X) if isinstance(scores[0], ClassScores) else None
    for number, one in enumerate(scores):
        y, answers = Y[:, number], predicted[:, number]
        if probabilities is None:
            one.add(y, answers, name, weights)
        else:
            both = np.column_stack([1 - probabilities[:, number], probabilities[:, number]])
            one.add(y, answers.astype(np.intp), both, name, are_probabilities=True, weights=weights)
