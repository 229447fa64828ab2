"""Predictions with the columns of a table that contribute most, as columns of the output."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Any

import numpy as np

from ..formats import Chosen
from ..tabular import Explanation, Table, read_table, shown
from ._errors import UsageError
from ._file_predictor import FilePredictor
from ._results import label_value

SECONDS = 1.0  # that a few rows take at a time, about


class ExplanationColumns:
    """Returns for each row the output, the base value, and the largest contributions, which with the rest add up.

    Tables have a column per column of the model, empty where its contribution is not among the largest. JSONL has a
    list per row, the largest first, and text a field per contribution: ``spending=12.5 (+0.81)``. With more than two
    classes the output is that of the predicted class. Rows are explained a few at a time, so that they are written from
    the start; ``done`` is called with the number of rows that are written.
    """

    def __init__(
        self, predictor: FilePredictor, n_columns: int, method: str, format: str, done: Callable[[int], None]
    ) -> None:
        if not predictor.is_tabular:
            raise UsageError(
                "--explain needs a model of a table, whose columns have names and kinds: train one with kernelsketch "
                "train on CSV, TSV, Parquet or Arrow, without --plain."
            )
        self._model, self._n_columns, self._method = predictor.model, n_columns, method
        self._predictor, self._done, self._count = predictor, done, 1
        self._columns = {"text": self._as_text, "jsonl": self._as_lists}.get(format, self._as_numbers)

    def pieces(self, part: Any, before: int, start: int) -> Iterator[dict[str, Any]]:
        """Yield the columns of a few rows after the other of a part, which begins at row ``start`` of its block."""
        with self._predictor.counting_rows(start):
            table = read_table(part)
        row, numbers = 0, np.arange(table.n_rows)
        while row < table.n_rows:
            begun = monotonic()
            with self._predictor.counting_rows(start + row):
                columns = self.columns(table.some((numbers >= row) & (numbers < row + self._count)))
            yield columns
            row = min(row + self._count, table.n_rows)
            self._done(before + start + row)
            if monotonic() - begun < SECONDS / 2:
                self._count *= 2

    def columns(self, table: Table) -> dict[str, Any]:
        """Return the columns of a block of rows by name."""
        explanation = self._model.explain(table, method=self._method, progress=lambda _: None)
        answers = self._model.predict(table).tolist()
        rows = [explanation[i] for i in range(len(answers))]
        rows = [row.of_class(answer) if row.values.ndim > 1 else row for row, answer in zip(rows, answers, strict=True)]
        if explanation.output_names:
            classes = [label_value(label) for label in self._model.classes_.tolist()]
            found: Any = Chosen([label_value(answer) for answer in answers], classes)
        else:
            found = np.array(answers, np.float64)
        return {"prediction": found, **self._columns(explanation, rows)}

    def _as_text(self, explanation: Explanation, rows: Sequence[Explanation]) -> dict[str, Any]:
        parts = [self._parts(row) for row in rows]
        columns = {
            explanation.title: [f"{float(row.output):.6g}" for row in rows],
            "base": [f"{float(row.base_values):.6g}" for row in rows],
        }
        for i in range(min(self._n_columns, len(explanation.feature_names))):
            some = [largest[i] for largest, _ in parts]
            columns[f"column {i + 1}"] = [f"{name}={shown(value)} ({part:+.4g})" for name, value, part in some]
        if self._n_columns < len(explanation.feature_names):
            columns["others"] = [f"{others:+.4g}" for _, others in parts]
        return columns

    def _as_numbers(self, explanation: Explanation, rows: Sequence[Explanation]) -> dict[str, Any]:
        names = explanation.feature_names
        matrix = np.full((len(rows), len(names)), np.nan)
        place, others = {name: j for j, name in enumerate(names)}, np.zeros(len(rows))
        for i, row in enumerate(rows):
            largest, others[i] = self._parts(row)
            for name, _, part in largest:
                matrix[i, place[name]] = part
        return {
            **_outputs(rows),
            **{f"contribution_{name}": matrix[:, j] for j, name in enumerate(names)},
            "others": others,
        }

    def _as_lists(self, explanation: Explanation, rows: Sequence[Explanation]) -> dict[str, Any]:
        columns: dict[str, Any] = {**_outputs(rows), "space": [row.space for row in rows]}
        if explanation.output_names:
            columns["class"] = [label_value(row.output_names[0]) for row in rows]
        parts = [self._parts(row) for row in rows]
        columns["contributions"] = [list(_entries(largest)) for largest, _ in parts]
        return {**columns, "others": [others for _, others in parts]}

    def _parts(self, row: Explanation) -> tuple[list[tuple[str, Any, float]], float]:
        """Return the largest contributions, and the sum of the others."""
        entries = row.top(self._n_columns)
        if len(row.feature_names) <= self._n_columns:
            return entries, 0.0
        return entries[:-1], entries[-1][2]


def _outputs(rows: Sequence[Explanation]) -> dict[str, Any]:
    return {
        "output": np.array([float(row.output) for row in rows]),
        "base": np.array([float(row.base_values) for row in rows]),
    }


def _entries(largest: list[tuple[str, Any, float]]) -> Iterator[dict[str, Any]]:
    for name, value, part in largest:
        yield {"column": name, "value": _json_value(value), "contribution": part}


def _json_value(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return None if value is None or value != value else value if isinstance(value, str) else shown(value)
