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
    with (
        ProgressMeter("predicting", task.quiet or (task.output == "-" and sys.stdout.isatty())) as meter,
        predictor.open(task.input, task, ignore_labels=True) as stream,
    ):
        counted = CountedRows(stream, meter)
        lines: Any = _Lines(predictor, values, task.json)
        if task.explain is not None:
            lines = ExplanationLines(predictor, task.explain, task.explain_by, task.json)
        with open_text(task.output) as file:
            for block in counted:
                with predictor.counting_from(counted.rows - block.X.shape[0]):
                    lines.write(file, block)
    if task.output != "-":
        print_facts({"predicted": counted.summary, "output": task.output}, to_stderr=True)


class _Lines:
    """Predictions as lines of text or JSON."""

    def __init__(self, predictor: FilePredictor, values: str | None, json: bool) -> None:
        self._predictor, self._values, self._json, self._begun = predictor, values, json, False
        model = predictor.model
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

    def write(self, file: IO[bytes], block: Any) -> None:
        for codes, _ in self._predictor.parts(block):
            file.write(encoded("".join(f"{line}\n" for line in self._lines(codes))))

    def _lines(self, codes: Any) -> Iterator[str]:
        model = self._predictor.model
        if self._predictor.is_regressor:
            for value in model.predict(codes).tolist():
                yield json_lines.dumps({"value": value}) if self._json else repr(value)
            return
        decisions = model.decision_function(codes)
        # The classes that predict chooses, without the work of computing the decisions again.
        numbers = (decisions > 0).astype(np.intp) if decisions.ndim == 1 else decisions.argmax(axis=1)
        labels = [self._labels[number] for number in numbers.tolist()]
        if self._values is None:
            yield from (json_lines.dumps({"label": label}) if self._json else str(label) for label in labels)
            return
        shown = model.predict_proba(codes) if self._values == "probabilities" else decisions
        if not (self._json or self._begun):
            yield "\t".join(["label", *self._columns])
        self._begun = True
        for label, row in zip(labels, shown.reshape(len(labels), -1).tolist(), strict=True):
            if self._json:
                yield json_lines.dumps({"label": label, self._values: dict(zip(self._columns, row, strict=True))})
            else:
                yield "\t".join([str(label), *(f"{value:.6g}" for value in row)])
