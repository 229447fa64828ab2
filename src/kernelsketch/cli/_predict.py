"""``kernelsketch predict``: labels for the rows of a file, as they are read."""

from __future__ import annotations

import json as json_lines
import sys
from collections.abc import Iterator
from typing import IO, Annotated, Any

import numpy as np
import typer

from ..exceptions import InputError
from ..formats import RowBlock, open_text
from ..storage import check_other
from ._errors import UsageError
from ._groups import grouped
from ._models import Decider
from ._options import Input, Model, Reading, Running, open_input
from ._output import label_value, tell
from ._progress import Counted, Meter, duration


@grouped
def predict(
    input: Input,
    model: Model,
    reading: Reading,
    running: Running,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="- is standard output; may end in .gz, .bz2, .xz or .zst."),
    ] = "-",
    scores: Annotated[
        bool, typer.Option("--scores", help="Decision values too: a line of class names, then tab-separated.")
    ] = False,
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities too, of a model with log_loss.")] = False,
    json: Annotated[bool, typer.Option("--json", help="An object a line.")] = False,
) -> None:
    """Predict the label of each row: one a line, in the order of the file.

    Rows are hashed and decided on block by block: memory stays constant, and the speed is that of hashing. Columns of a
    file with names are found by their names. Labels that INPUT may hold are not looked at: see [bold]evaluate[/bold].
    """
    if scores and proba:
        raise UsageError("--scores and --proba exclude each other.")
    with (
        Meter("predicting", running.quiet or (output == "-" and sys.stdout.isatty())) as meter,
        open_input(input, reading, running) as stream,
    ):
        counted, decider = Counted(stream, meter), Decider(model, stream, running.threads)
        check_other(output, model, "the model's file")
        lines = _Lines(decider, scores=scores, proba=proba, json=json)
        with open_text(output) as file:
            for rows in counted:
                lines.write(file, rows)
    if output != "-":
        text = f"{counted.rows:,} rows in {duration(meter.seconds)}, {counted.rate:,.0f} a second"
        tell({"predicted": text, "output": output}, to_stderr=True)


class _Lines:
    """Predictions as text."""

    def __init__(self, decider: Decider, *, scores: bool, proba: bool, json: bool) -> None:
        self._decider, self._json, self._begun = decider, json, False
        model = decider.model
        if proba and (decider.is_regressor or model.loss != "log_loss"):
            raise InputError("--proba needs a classifier that was trained with --loss log_loss.")
        if scores and decider.is_regressor:
            raise InputError("--scores is for classes: this model predicts values.")
        self._extra = "probabilities" if proba else "scores" if scores else None
        if not decider.is_regressor:
            self._labels = [label_value(label) for label in model.classes_.tolist()]
            names = [str(label) for label in self._labels]
            self._names, self._columns = names, names if proba or len(names) > 2 else names[1:]

    def write(self, file: IO[bytes], rows: RowBlock) -> None:
        for codes, _ in self._decider.parts(rows):
            lines = self._json_lines(codes) if self._json else self._text_lines(codes)
            file.write("".join(f"{line}\n" for line in lines).encode())

    def _text_lines(self, codes: Any) -> Iterator[str]:
        model = self._decider.model
        if self._decider.is_regressor:
            yield from map(repr, model.predict(codes).tolist())
            return
        decisions = model.decision_function(codes)
        labels = [self._names[number] for number in _numbers(decisions).tolist()]
        if self._extra is None:
            yield from labels
            return
        if not self._begun:
            self._begun = True
            yield "\t".join(["label", *self._columns])
        for label, row in zip(labels, self._values(codes, decisions), strict=True):
            yield "\t".join([label, *(f"{value:.6g}" for value in row)])

    def _json_lines(self, codes: Any) -> Iterator[str]:
        model = self._decider.model
        if self._decider.is_regressor:
            yield from (json_lines.dumps({"value": value}) for value in model.predict(codes).tolist())
            return
        decisions = model.decision_function(codes)
        found = [{"label": self._labels[number]} for number in _numbers(decisions).tolist()]
        if self._extra is not None:
            for one, row in zip(found, self._values(codes, decisions), strict=True):
                one[self._extra] = dict(zip(self._columns, row, strict=True))
        yield from map(json_lines.dumps, found)

    def _values(self, codes: Any, decisions: Any) -> list[list[float]]:
        if self._extra == "probabilities":
            decisions = self._decider.model.predict_proba(codes)
        values: list[list[float]] = (decisions[:, None] if decisions.ndim == 1 else decisions).tolist()
        return values


def _numbers(decisions: Any) -> Any:
    """Of the classes, as ``predict`` chooses them."""
    return (decisions > 0).astype(np.intp) if decisions.ndim == 1 else decisions.argmax(axis=1)
