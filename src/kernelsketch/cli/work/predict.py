"""``kernelsketch predict``: predict blocks and write lines."""

from __future__ import annotations

import json as json_lines
import sys
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from ..._losses import PROBABILITY_LOSSES
from ...exceptions import InputError
from ...formats import encoded, open_text
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
        lines = _Lines(predictor, values, task.json)
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
            raise InputError(
                "--proba needs a classifier that was trained on a table, with --loss "
                f"{' or '.join(PROBABILITY_LOSSES)}, or in Python with probability='calibrated'."
            )
        if values == "scores" and predictor.is_regressor:
            raise InputError("--scores needs a classifier, but this model is a regressor: leave it out.")
        if not predictor.is_regressor:
            self._labels = [label_value(label) for label in model.classes_.tolist()]
            names = [str(label) for label in self._labels]
            self._names, self._columns = names, names if values == "probabilities" or len(names) > 2 else names[1:]

    def write(self, file: IO[bytes], block: Any) -> None:
        for codes, _ in self._predictor.parts(block):
            lines = self._json_lines(codes) if self._json else self._text_lines(codes)
            file.write(encoded("".join(f"{line}\n" for line in lines)))

    def _text_lines(self, codes: Any) -> Iterator[str]:
        model = self._predictor.model
        if self._predictor.is_regressor:
            yield from map(repr, model.predict(codes).tolist())
            return
        decisions = model.decision_function(codes)
        labels = [self._names[number] for number in _class_numbers(decisions).tolist()]
        if self._values is None:
            yield from labels
            return
        if not self._begun:
            self._begun = True
            yield "\t".join(["label", *self._columns])
        for label, row in zip(labels, self._columns_of(codes, decisions), strict=True):
            yield "\t".join([label, *(f"{value:.6g}" for value in row)])

    def _json_lines(self, codes: Any) -> Iterator[str]:
        model = self._predictor.model
        if self._predictor.is_regressor:
            yield from (json_lines.dumps({"value": value}) for value in model.predict(codes).tolist())
            return
        decisions = model.decision_function(codes)
        found = [{"label": self._labels[number]} for number in _class_numbers(decisions).tolist()]
        if self._values is not None:
            for one, row in zip(found, self._columns_of(codes, decisions), strict=True):
                one[self._values] = dict(zip(self._columns, row, strict=True))
        yield from map(json_lines.dumps, found)

    def _columns_of(self, codes: Any, decisions: Any) -> list[list[float]]:
        if self._values == "probabilities":
            decisions = self._predictor.model.predict_proba(codes)
        values: list[list[float]] = (decisions[:, None] if decisions.ndim == 1 else decisions).tolist()
        return values


def _class_numbers(decisions: Any) -> Any:
    """Return the numbers of the classes that ``predict`` chooses."""
    return (decisions > 0).astype(np.intp) if decisions.ndim == 1 else decisions.argmax(axis=1)
