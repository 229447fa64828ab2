"""``kernelsketch predict``: predict blocks and write lines."""

from __future__ import annotations

import json as json_lines
import sys
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from ..._losses import PROBABILITY_LOSSES
from ...formats import encoded, open_text
from .._errors import UsageError
from .._explanation_lines import ExplanationLines
from .._file_predictor import FilePredictor
from .._progress import CountedRows, ProgressMeter
from .._results import label_value, print_facts
from ..commands.predict import Predict


def predict(task: Predict) -> None:
    predictor = FilePredictor(task.model, task.threads)
    values = "scores" if task.scores else "probabilities" if task.proba else None
    title, quiet = "explaining" if task.explain else "predicting", task.output == "-" and sys.stdout.isatty()
    with (
        ProgressMeter(title, task.quiet or quiet) as meter,
        predictor.open(task.input, task, ignore_labels=True) as stream,
    ):
        counted = CountedRows(stream, meter)
        lines: Any = _Lines(predictor, values, task.json, task.interval)
        if task.explain is not None:
            lines = ExplanationLines(predictor, task.explain, task.explain_by, task.json, counted.show_done)
        with open_text(task.output) as file:
            for block in counted:
                lines.write(file, block, counted.rows - block.X.shape[0])
    if task.output != "-":
        print_facts({"predicted": counted.summary, "output": task.output}, to_stderr=True)


class _Lines:
    """Predictions as lines of text or JSON."""

    def __init__(self, predictor: FilePredictor, values: str | None, json: bool, coverage: float | None) -> None:
        self._predictor, self._values, self._json, self._begun = predictor, values, json, False
        self._coverage, model = coverage, predictor.model
        if coverage is not None and not predictor.is_tabular:
            raise UsageError(
                "--interval needs a model that was trained on a table (CSV, TSV, Parquet, Arrow) without --plain, "
                "because it has errors of held-out rows: train one, or leave --interval out."
            )
        if values == "probabilities" and not hasattr(model, "predict_proba"):
            raise UsageError(
                "--proba needs a classifier that was trained on a table, with --loss "
                f"{' or '.join(PROBABILITY_LOSSES)}, or in Python with probability='calibrated'."
            )
        if values == "scores" and predictor.is_regressor:
            raise UsageError("--scores needs a classifier, but this model is a regressor: leave it out.")
        if not predictor.is_regressor:
            self._labels = [label_value(label) for label in model.classes_.tolist()]
            names = [str(label) for label in self._labels]
            self._columns = names if values == "probabilities" or len(names) > 2 else names[1:]

    def write(self, file: IO[bytes], block: Any, row: int) -> None:
        """Write the lines of a block that begins with this row of the file."""
        with self._predictor.counting_from(row):
            for codes, _ in self._predictor.parts(block):
                file.write(encoded("".join(f"{line}\n" for line in self._lines(codes))))

    def _lines(self, codes: Any) -> Iterator[str]:
        model = self._predictor.model
        if self._predictor.is_regressor:
            yield from self._numbers(codes)
            return
        decisions = model.decision_function(codes)
        # The classes that predict chooses, without the work of computing the decisions again.
        numbers = (decisions > 0).astype(np.intp) if decisions.ndim == 1 else decisions.argmax(axis=1)
        labels = [self._labels[number] for number in numbers.tolist()]
        if self._coverage is not None:
            yield from self._sets(labels, model.predict_set(codes, self._coverage))
            return
        if self._values is None:
            yield from (json_lines.dumps({"label": label}) if self._json else str(label) for label in labels)
            return
        shown = model.predict_proba(codes) if self._values == "probabilities" else decisions
        yield from self._head("label", *self._columns)
        for label, row in zip(labels, shown.reshape(len(labels), -1).tolist(), strict=True):
            if self._json:
                yield json_lines.dumps({"label": label, self._values: dict(zip(self._columns, row, strict=True))})
            else:
                yield "\t".join([str(label), *(f"{value:.6g}" for value in row)])

    def _head(self, *columns: str) -> Iterator[str]:
        """Yield the names of columns, before the first row only."""
        if not (self._json or self._begun):
            yield "\t".join(columns)
        self._begun = True

    def _numbers(self, codes: Any) -> Iterator[str]:
        model = self._predictor.model
        values = model.predict(codes).tolist()
        if self._coverage is None:
            yield from (json_lines.dumps({"value": value}) if self._json else repr(value) for value in values)
            return
        yield from self._head("value", "lower", "upper")
        for value, (low, high) in zip(values, model.predict_interval(codes, self._coverage).tolist(), strict=True):
            row = {"value": value, "lower": low, "upper": high}
            yield json_lines.dumps(row) if self._json else "\t".join(map(repr, row.values()))

    def _sets(self, labels: list[Any], sets: Any) -> Iterator[str]:
        """Yield each label with the classes of its set, as a list of JSON, because labels may hold any character."""
        yield from self._head("label", "set")
        for label, row in zip(labels, sets.tolist(), strict=True):
            found = [other for other, there in zip(self._labels, row, strict=True) if there]
            listed = json_lines.dumps(found, ensure_ascii=False)
            yield json_lines.dumps({"label": label, "set": found}) if self._json else f"{label}\t{listed}"
