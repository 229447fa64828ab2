"""``kernelsketch predict``: predict blocks and write columns."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..._losses import PROBABILITY_LOSSES
from ...formats import Chosen, open_table, table_format
from .._errors import UsageError, set_by
from .._explanation_columns import ExplanationColumns
from .._file_predictor import FilePredictor, numbers_of_classes
from .._progress import CountedRows, ProgressMeter
from .._results import label_value, print_facts
from ..commands.predict import Predict


def predict(task: Predict) -> None:
    with set_by(format="to"):
        format = table_format(task.output, "jsonl" if task.json else task.to)
    predictor = FilePredictor(task.model, task.threads)
    title, quiet = "explaining" if task.explain else "predicting", task.output == "-" and sys.stdout.isatty()
    with (
        ProgressMeter(title, task.quiet or quiet) as meter,
        predictor.open(task.inputs, task, ignore_labels=True, carry=task.columns) as stream,
    ):
        counted = CountedRows(stream, meter)
        answers: Any = _answers(predictor, task)
        beside = list(dict.fromkeys([*([] if task.id is None else [task.id]), *(task.columns or ())]))
        names: list[str] | None = [*beside, *answers.names]
        rounded = answers.rounded
        if task.explain is not None:
            answers = ExplanationColumns(predictor, task.explain, task.explain_by, format, counted.show_done)
            names = None
        _check_names(names or ())
        with open_table(task.output, format, names, rounded=rounded) as file:
            for block in counted:
                _write(file, block, predictor, answers, beside, counted.rows - block.X.shape[0])
    if task.output != "-":
        print_facts({"predicted": counted.summary, "output": task.output}, to_stderr=True)


def _answers(predictor: FilePredictor, task: Predict) -> Any:
    if predictor.has_several:
        from .predict_several import SeveralAnswers

        return SeveralAnswers(predictor, task)
    return _Answers(predictor, task)


def _write(file: Any, block: Any, predictor: FilePredictor, answers: Any, beside: list[str], before: int) -> None:
    """Write a block, before which there are so many rows."""
    start = 0
    for X, _ in predictor.parts(block):
        pieces = answers.pieces(X, before, start) if hasattr(answers, "pieces") else _whole(answers, X, predictor)
        for columns in pieces:
            answers_of_rows = next(iter(columns.values()))
            rows = slice(start, start + len(getattr(answers_of_rows, "values", answers_of_rows)))
            carried = {name: block.carried[name][rows] for name in beside}
            _check_names([*carried, *columns])
            file.write(carried | columns)
            file.flush()
            start = rows.stop


def _whole(answers: Any, X: Any, predictor: FilePredictor) -> Iterator[dict[str, Any]]:
    with predictor.counting_rows():
        columns = answers.columns(X)
    yield columns


def _check_names(names: Iterable[str]) -> None:
    """Refuse to carry a column that has the name of another one of the output."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UsageError(
                f"--columns or --id {name}: the output has another column of that name. Rename the column of INPUT, or "
                "leave it out."
            )
        seen.add(name)


class _Answers:
    """The predictions of a block by the names of their columns."""

    def __init__(self, predictor: FilePredictor, task: Predict) -> None:
        model = predictor.model
        self._model, self._coverage, self._is_regressor = model, task.interval, predictor.is_regressor
        self._values = "score" if task.scores else "probability" if task.proba else None
        if task.interval is not None and not predictor.is_tabular:
            raise UsageError(
                "--interval needs a model that was trained on a table (CSV, TSV, Parquet, Arrow) without --plain, "
                "because it has errors of held-out rows: train one, or leave --interval out."
            )
        if task.proba and not hasattr(model, "predict_proba"):
            raise UsageError(
                "--proba needs a classifier that was trained on a table, with --loss "
                f"{' or '.join(PROBABILITY_LOSSES)}, or in Python with probability='calibrated'."
            )
        if task.scores and predictor.is_regressor:
            raise UsageError("--scores needs a classifier, but this model is a regressor: leave it out.")
        self.names = ["prediction"]
        self.rounded: list[str] = []
        if self._is_regressor:
            self.names += ["lower", "upper"] if task.interval is not None else []
            return
        self._labels = [label_value(label) for label in model.classes_.tolist()]
        if self._values is not None:
            shown = self._labels[1:] if task.scores and len(self._labels) == 2 else self._labels
            self.rounded = [f"{self._values}_{label}" for label in shown]
        self.names += [*self.rounded, *(["set"] if task.interval is not None else [])]

    def columns(self, X: Any) -> dict[str, Any]:
        """Return the columns of a block of rows by name."""
        model = self._model
        if self._is_regressor:
            values = [np.asarray(model.predict(X), np.float64)]
            if self._coverage is not None:
                values += list(model.predict_interval(X, self._coverage).T)
            return dict(zip(self.names, values, strict=True))
        decisions = model.decision_function(X)
        numbers = numbers_of_classes(model, X, decisions)
        found: dict[str, Any] = {
            "prediction": Chosen([self._labels[number] for number in numbers.tolist()], self._labels)
        }
        if self._coverage is not None:
            sets = model.predict_set(X, self._coverage).tolist()
            listed = [[label for label, there in zip(self._labels, row, strict=True) if there] for row in sets]
            return {**found, "set": Chosen(listed, self._labels)}
        if self._values is None:
            return found
        values = model.predict_proba(X) if self._values == "probability" else decisions.reshape(len(decisions), -1)
        columns = np.asarray(values, np.float64).T
        return found | dict(zip(self.rounded, columns, strict=True))
