"""Columns that a command reads beside the features: further labels, weights and ids of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array import Array
from .._rounding import float_of
from ..exceptions import InputError
from ..formats import RowBlock, RowStream
from ._options import RowsOptions, columns_beside


class RowColumns:
    """The columns beside the features of the blocks of a stream."""

    def __init__(self, stream: RowStream, options: RowsOptions, n_labels: int) -> None:
        self._stream = stream
        names = [*["label"] * max(0, n_labels - 1), *(name for name, _ in columns_beside(options))]
        self._places = {name: place for place, name in enumerate(names) if name != "label"}
        self._labels = range(max(0, n_labels - 1))  # places of the labels after the first
        self._columns = dict(columns_beside(options))
        self._total = 0.0

    def weights(self, block: RowBlock) -> Array | None:
        """Return the weights of the rows, or None if the command line names no column of weights."""
        place = self._places.get("sample_weight")
        if place is None:
            return None
        found = self._numbers(block, block.beside[place], f"the weight, column {self._columns['sample_weight']!r},")
        if (found < 0).any():
            row = int(np.argmax(found < 0))
            raise InputError(
                f"{self._stream.place(block, row)}: the weight, column {self._columns['sample_weight']!r}, is "
                f"{found[row]:g}. Weights must not be negative: change it, or drop the row with the weight 0."
            )
        self._total += float(found.sum())
        return found

    def check_total(self) -> None:
        """Refuse weights that are all 0, at the end of the rows."""
        if "sample_weight" in self._columns and not self._total:
            raise InputError(
                f"the weights, column {self._columns['sample_weight']!r}, are 0 in all rows: give a row a weight above 0."
            )

    def ids(self, block: RowBlock) -> Array | None:
        """Return the ids of the rows as objects, or None if the command line names no column of ids."""
        place = self._places.get("id")
        return None if place is None else np.asarray(block.beside[place])

    def whole_ids(self, block: RowBlock) -> Array | None:
        """Return ids that are whole numbers."""
        ids = self.ids(block)
        if ids is None:
            return None
        found = np.empty(len(ids), np.int64)
        for row, value in enumerate(ids.tolist()):
            try:
                found[row] = int(value) if not isinstance(value, float) or value == int(value) else int("")
            except (TypeError, ValueError, OverflowError):
                raise InputError(
                    f"{self._stream.place(block, row)}: the id, column {self._columns['id']!r}, is {value!r}, and an "
                    "index has ids that are whole numbers of 64 bits. Leave --id out to number the rows from 0, and "
                    "keep a list of your ids in this order."
                ) from None
        return found

    def labels(self, block: RowBlock) -> Any:
        """Return the labels: those of the label column or, of several columns, numbers (rows, labels)."""
        if not self._labels or block.y is None:
            return block.y
        columns = [self._floats(block, block.y, 0)]
        for place in self._labels:
            if block.beside[place] is None:
                raise InputError(f"{self._stream.name} lacks one of the labels: name those that it has with --label.")
            columns.append(self._floats(block, block.beside[place], place + 1))
        return np.column_stack(columns)

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
