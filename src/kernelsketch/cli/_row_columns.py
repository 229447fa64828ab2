"""Columns that a command reads beside the features: further labels, weights and ids of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array import Array
from .._rounding import float_of
from ..exceptions import InputError
from ..formats import RowBlock, RowStream
from ._options import RowsOptions, columns_beside


class RowColumns:
    """The columns beside the features of the blocks of a stream."""

    def __init__(self, stream: RowStream, options: RowsOptions, labels: Sequence[Any] = ()) -> None:
        self._stream, self._columns = stream, dict(columns_beside(options))
        self._labels = [str(label) for label in labels[1:]]
        self._total = 0.0

    def weights(self, block: RowBlock) -> Array | None:
        """Return the weights of the rows, or None if the command line names no column of weights."""
        column = self._columns.get("sample_weight")
        if column is None:
            return None
        found = self._numbers(block, self._values(block, column), f"the weight, column {column!r},")
        if (found < 0).any():
            row = int(np.argmax(found < 0))
            raise InputError(
                f"{self._stream.place(block, row)}: the weight, column {column!r}, is "
                f"{found[row]:g}. Weights must not be negative: change it, or drop the row with the weight 0."
            )
        self._total += float(found.sum())
        return found

    def check_total(self) -> None:
        """Refuse weights that are all 0, at the end of the rows."""
        if "sample_weight" in self._columns and not self._total:
            column = self._columns["sample_weight"]
            raise InputError(f"the weights, column {column!r}, are 0 in all rows: give a row a weight above 0.")

    def names(self, block: RowBlock) -> list[str] | None:
        """Return the ids of the rows as text, empty where one is missing."""
        if "id" not in self._columns:
            return None
        return ["" if value is None else str(value) for value in self._values(block, self._columns["id"]).tolist()]

    def labels(self, block: RowBlock) -> Any:
        """Return the labels: those of the label column or, of several columns, numbers (rows, labels)."""
        if not self._labels or block.y is None:
            return block.y
        columns = [self._floats(block, block.y, 0)]
        for number, name in enumerate(self._labels, 1):
            if name not in block.carried:
                raise InputError(
                    f"{self._stream.name} has no column {name!r}, which is a label of the model: name the columns of "
                    "all labels with --label, in the order of the training."
                )
            columns.append(self._floats(block, self._values(block, name), number))
        return np.column_stack(columns)

    def _values(self, block: RowBlock, column: str) -> Array:
        """Return the values of a column as objects; those of Parquet and Arrow may be None."""
        values = block.carried[column]
        if isinstance(values, np.ndarray):
            return values
        found = np.empty(len(values), object)
        found[:] = values.to_pylist()
        return found

    def _floats(self, block: RowBlock, values: Any, number: int) -> Array:
        y = np.asarray(values)
        if y.dtype.kind in "fiub":
            return y.astype(np.float64)
        return self._numbers(block, values, f"label {number + 1}")

    def _numbers(self, block: RowBlock, values: Any, what: str) -> Array:
        return _converted(values, lambda row: self._stream.place(block, row), what)


def _converted(values: Any, place: Callable[[int], str], what: str) -> Array:
    """Return objects as finite numbers."""
    found = np.empty(len(values))
    for row, value in enumerate(values.tolist()):
        is_text = isinstance(value, str)
        number = (float_of(value) if is_text else value) if value is not None else None
        if number is None or not np.isfinite(number):
            missing = value is None or (is_text and not value.strip())
            raise InputError(
                f"{place(row)}: {what} is {'missing' if missing else f'{value!r}, not a number'}. Fix the row, or "
                "leave it out."
            )
        found[row] = number
    return found
