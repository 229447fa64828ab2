"""``kernelsketch evaluate``: predict blocks and compare with their labels."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

import numpy as np

from ...exceptions import InputError
from ...formats import encoded
from ...storage import write_atomically
from .._errors import UsageError, set_by
from .._file_predictor import FilePredictor, numbers_of_classes
from .._memory import memory_left
from .._progress import CountedRows, ProgressMeter
from .._results import label_value, print_facts, print_json, print_table
from .._row_columns import RowColumns
from .._scores import ClassScores, ValueScores
from .._slices import MOST_VALUES, SliceScores, slice_table
from ..commands.evaluate import Evaluate
from .evaluate_several import check_one_label, evaluate_several

SHOWN = 20  # classes in the table
WIDEST_LABEL = 12  # letters of a class in the confusion matrix


def evaluate(task: Evaluate) -> None:
    predictor = FilePredictor(task.model, task.threads)
    if predictor.has_several:
        evaluate_several(task, predictor)
        return
    check_one_label(task)
    made = predictor.model
    positive = _positive(task, predictor)
    with (
        ProgressMeter("evaluating", task.quiet) as meter,
        set_by(carry="slice"),
        predictor.open(task.inputs, task, ignore_labels=False, carry=task.slice) as stream,
    ):
        counted, columns = CountedRows(stream, meter), RowColumns(stream, task)
        room = 0 if predictor.is_regressor and not task.slice else memory_left(task)
        names = list(dict.fromkeys(task.slice or ()))
        slices = [SliceScores(name, room // (2 * len(names))) for name in names]
        scores: Any = ValueScores() if predictor.is_regressor else ClassScores(made.classes_, room, positive)
        for block in counted:
            if block.y is None:
                raise InputError(f"{task.input} has no labels. Name their column with --label COLUMN; -1 is the last.")
            weights = columns.weights(block)
            with predictor.counting_rows():
                _add(block, predictor, scores, slices, task, weights)
            for one in slices:
                one.check_room()
    if not counted.rows:
        raise InputError(f"{task.input} has no rows.")
    columns.check_total()
    facts = {"rows": counted.rows, **scores.facts(), "seconds": meter.seconds}
    if slices:
        facts["slices"] = [one.facts() for one in slices]
    lines = scores.lines(facts)
    if task.report is not None:
        from .._report import report_page

        page = report_page(str(task.model), task.input, made, facts, lines, scores)
        write_atomically(task.report, encoded(page))
        lines["report"] = facts["report"] = str(task.report)
    if task.json:
        print_json(facts)
        return
    print_facts({**lines, "evaluated": counted.summary})
    if not predictor.is_regressor:
        names = ["class", "rows", "precision", "recall", "F1", "most often predicted as"]
        print_table(names, list(_class_rows(facts)), range(1, 5), SHOWN, "classes")
        names, rows = confusion_table(facts)
        print("\nconfusion matrix: rows by their class (down) and the class that is predicted (across)")
        print_table(names, rows, range(1, len(names)), len(rows), "classes")
    for found in facts.get("slices", ()):
        print(f"\nby {found['column']}{', quartiles' if found['kind'] == 'quartiles' else ''}")
        names, rows = slice_table(found)
        print_table(names, rows, range(1, len(names)), MOST_VALUES + 1, "values")


def _positive(task: Evaluate, predictor: FilePredictor) -> int | None:
    """Return the number of the class that --positive names."""
    if task.positive is None:
        return None
    if predictor.is_regressor:
        raise UsageError("--positive needs a classifier, but this model is a regressor: leave it out.")
    classes = [str(label_value(label)) for label in predictor.model.classes_.tolist()]
    if task.positive not in classes:
        near = get_close_matches(task.positive, classes, n=3) or classes[:20]
        shown = ", ".join(near) + (", ..." if len(near) == 20 < len(classes) else "")
        raise UsageError(f"--positive {task.positive} is no class of {task.model}: pass one of its classes: {shown}.")
    return classes.index(task.positive)


def _add(
    block: Any, predictor: FilePredictor, scores: Any, slices: list[SliceScores], task: Evaluate, weights: Any
) -> None:
    """Add a block to the scores of all rows and of the slices."""
    model, name, start = predictor.model, task.input, 0
    has_probabilities = hasattr(model, "predict_proba")
    for X, y in predictor.parts(block):
        assert y is not None
        weight = None if weights is None else weights[start : start + len(y)]
        if predictor.is_regressor:
            of_rows = scores.add(y, model.predict(X), name, weight)
        else:
            decisions = model.decision_function(X)
            values = np.asarray(model.predict_proba(X)) if has_probabilities else decisions
            chosen = numbers_of_classes(model, X, decisions)
            of_rows = scores.add(y, chosen, values, name, are_probabilities=has_probabilities, weights=weight)
        for one in slices:
            one.add(block.carried[one.column][start : start + len(y)], of_rows)
        start += len(y)


def confusion_table(facts: dict[str, Any], width: int | None = None) -> tuple[list[str], list[list[str]]]:
    """Return the confusion matrix as the names of columns and rows of cells.

    Only as many of the most frequent classes are shown as fit in ``width`` letters, by default those of the terminal;
    the others are put together.
    """
    if width is None:
        from rich.console import Console

        width = Console().width
    labels = [_cut(str(one["label"])) for one in facts["classes"]]
    counts = np.asarray(facts["confusion"])
    cells = [max(len(label), len(f"{most:,}")) + 2 for label, most in zip(labels, counts.max(axis=0), strict=True)]
    by_rows = np.argsort([-one["rows"] for one in facts["classes"]], kind="stable")
    room, kept = width - max(map(len, labels)) - 12, []
    for number in by_rows.tolist():
        room -= cells[number]
        if room < 0:
            break
        kept.append(number)
    kept = sorted(kept) if len(kept) >= 2 else by_rows[:2].tolist()
    rest = np.setdiff1d(np.arange(len(labels)), kept)
    columns = np.column_stack([counts[:, kept], counts[:, rest].sum(axis=1)]) if len(rest) else counts[:, kept]
    lines = [[labels[number], *(f"{n:,}" for n in columns[number])] for number in kept]
    if len(rest):
        lines.append([f"{len(rest)} others", *(f"{n:,}" for n in columns[rest].sum(axis=0))])
    return ["class", *(labels[number] for number in kept), *([f"{len(rest)} others"] if len(rest) else [])], lines


def _cut(label: str) -> str:
    return label if len(label) <= WIDEST_LABEL else label[: WIDEST_LABEL - 1] + "…"


def _class_rows(facts: dict[str, Any]) -> Iterator[list[str]]:
    labels = [found["label"] for found in facts["classes"]]
    for number, found in enumerate(facts["classes"]):
        wrong = np.array(facts["confusion"][number])
        wrong[number] = 0
        taken = f"{labels[wrong.argmax()]} ({wrong.max()})" if wrong.any() else ""
        shares = ["-" if found[key] is None else f"{found[key]:.3f}" for key in ("precision", "recall", "f1")]
        yield [str(found["label"]), f"{found['rows']:,}", *shares, taken]
