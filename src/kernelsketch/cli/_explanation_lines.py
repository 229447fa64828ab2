"""Predictions with the columns that contribute most, as lines of text or JSON."""

from __future__ import annotations

import json as json_lines
import math
from collections.abc import Callable, Iterator
from time import monotonic
from typing import IO, Any

import numpy as np

from ..formats import encoded
from ..tabular import Explanation, Table, read_table, shown
from ._errors import UsageError
from ._file_predictor import FilePredictor
from ._results import label_value

SECONDS = 1.0  # that a few rows take at a time, about


class ExplanationLines:
    """Writes for each row the prediction, the output, the base value, and the largest contributions.

    Rows are explained a few at a time, so that lines come from the start. ``done`` is called with the number of rows
    that are written.

    Text has a line of names, and one tab-separated field per contribution: ``spending=12.5 (+0.81)``. With more than
    two classes the output is that of the predicted class.
    """

    def __init__(
        self, predictor: FilePredictor, n_columns: int, method: str, json: bool, done: Callable[[int], None]
    ) -> None:
        if not predictor.is_tabular:
            raise UsageError(
                "--explain needs a model of a table, whose columns have names and kinds: train one with kernelsketch "
                "train on CSV, TSV, Parquet or Arrow, without --plain."
            )
        self._predictor, self._n_columns, self._method, self._json = predictor, n_columns, method, json
        self._done, self._begun, self._count = done, False, 1

    def write(self, file: IO[bytes], block: Any, row: int) -> None:
        """Write the lines of a block that begins with this row of the file."""
        for part, _ in self._predictor.parts(block):
            with self._predictor.counting_from(row):
                table = read_table(part)
            end, numbers = row + table.n_rows, row + np.arange(table.n_rows)
            while row < end:
                start = monotonic()
                with self._predictor.counting_from(row):
                    lines = list(self._lines(table.some((numbers >= row) & (numbers < row + self._count))))
                file.write(encoded("".join(f"{line}\n" for line in lines)))
                file.flush()
                row = min(row + self._count, end)
                self._done(row)
                if monotonic() - start < SECONDS / 2:
                    self._count *= 2

    def _lines(self, table: Table) -> Iterator[str]:
        model = self._predictor.model
        explanation = model.explain(table, method=self._method, progress=lambda text: None)
        predicted = model.predict(table).tolist()
        if not (self._json or self._begun):
            what = "label" if explanation.output_names else "value"
            ranks = [f"column {i + 1}" for i in range(min(self._n_columns, len(explanation.feature_names)))]
            others = ["others"] if self._n_columns < len(explanation.feature_names) else []
            yield "\t".join([what, _one_line(explanation.title), "base", *ranks, *others])
        self._begun = True
        for i, answer in enumerate(predicted):
            row = explanation[i]
            if row.values.ndim > 1:
                row = row.of_class(answer)
            yield self._json_line(row, answer) if self._json else self._text_line(row, answer)

    def _text_line(self, row: Explanation, answer: Any) -> str:
        columns, others = self._parts(row)
        fields = [f"{name}={shown(value)} ({part:+.4g})" for name, value, part in columns]
        last = [] if others is None else [f"{others:+.4g}"]
        start = str(label_value(answer)) if row.output_names else repr(answer)
        numbers = [f"{float(row.output):.6g}", f"{float(row.base_values):.6g}"]
        return "\t".join(map(_one_line, [start, *numbers, *fields, *last]))

    def _json_line(self, row: Explanation, answer: Any) -> str:
        columns, others = self._parts(row)
        found: dict[str, Any] = {"label": label_value(answer)} if row.output_names else {"value": answer}
        found |= {"output": float(row.output), "base": float(row.base_values), "space": row.space}
        if row.output_names:
            found["class"] = label_value(row.output_names[0])
        found["contributions"] = [
            {"column": name, "value": _json_value(value), "contribution": part} for name, value, part in columns
        ]
        found["others"] = 0.0 if others is None else others
        return json_lines.dumps(found)

    def _parts(self, row: Explanation) -> tuple[list[tuple[str, Any, float]], float | None]:
        """Return the largest contributions, and the sum of the others, or None if there are none."""
        entries = row.top(self._n_columns)
        if len(row.feature_names) <= self._n_columns:
            return entries, None
        return entries[:-1], entries[-1][2]


def _json_value(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return None if value is None or value != value else value if isinstance(value, str) else shown(value)


def _one_line(text: str) -> str:
    """Return a text without tabs and line breaks, which separate fields and rows."""
    return " ".join(text.split()) if any(mark in text for mark in "\t\r\n") else text
