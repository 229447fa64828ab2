"""One row of Python values, as a dict or a list, on its way to features: ``RowPlan``.

Native code reads plain numbers and known categories by itself. For all other values it asks :meth:`RowPlan.read`: text
that is a number or a date, dates, categories that training has not seen, and values that are wrong. Each column is read
as a table of one row would be, so a row has the same features as in a call of the estimator for this row alone.
"""

from __future__ import annotations

import math
from datetime import date
from itertools import count
from typing import Any

import numpy as np

from .._array import Array
from .._rounding import float_of
from ..backends import RowColumn
from ._columns import DATE_PARTS, ColumnPlan, TablePlan, encode_column, read_as
from ._features import ABSENT
from ._frame import CATEGORY, DATE, NUMBER, Column
from ._notation import reader_of
from ._read import OBJECT, read_column
from ._values import TRUTH, category_text, is_missing_text, plain_value

UNSEEN = "\N{REPLACEMENT CHARACTER}\n a name that no category has"
KINDS = (None, NUMBER, DATE, CATEGORY)  # by their numbers in RowColumn


class RowPlan:
    """How the values of one row become features. It does not change, so threads may share it."""

    def __init__(self, plan: TablePlan) -> None:
        self._plan, self._columns, self._statistics = plan, plan.columns, plan.statistics
        self._readers = [reader_of(column.notation, column.kind == DATE) for column in plan.columns]
        self._levels: dict[int, int] = {}
        if plan.statistics is not None:
            self._levels = {number: place for place, number in enumerate(plan.statistics.levels.columns)}
        n_own = sum(number for column in plan.columns for _, number in column.features)
        self._first_mean = n_own
        numbers, flagged = count(), count()
        self.columns = [self._row_column(i, column, numbers, flagged) for i, column in enumerate(plan.columns)]

    def _row_column(self, i: int, plan: ColumnPlan, numbers: Any, flagged: Any) -> RowColumn:
        nothing = (np.zeros((0, 0)), np.zeros(0, np.int32))
        if not plan.is_used:
            return RowColumn(plan.name, 0, [], [], -1, -1, {}, *nothing)
        own = [next(numbers) for _, is_number in plan.features if is_number]
        place = next(flagged) if plan.categories or plan.has_other or plan.has_missing else -1
        missing = len(plan.categories) + plan.has_other if plan.has_missing else ABSENT
        if plan.kind != CATEGORY:
            parts = [DATE_PARTS.index(part) for part in plan.parts]
            empty = (np.zeros((0, len(own))), nothing[1])
            return RowColumn(plan.name, KINDS.index(plan.kind), own, parts, place, missing, {}, *empty)
        names = self._level_names(i)
        texts = [name for name in dict.fromkeys((*plan.categories, *names)) if not _is_infinite(name)]
        rows, positions = self._encoded(i, [None, *texts])
        known: dict[Any, int] = {None: 0, "": 0}
        for row, text in enumerate(texts, 1):
            known[text] = row
            value = _number_named(text)
            if value is not None:  # equal numbers of all types have one name
                known[value] = row
        return RowColumn(
            plan.name, KINDS.index(CATEGORY), own + self._means(i), [], place, missing, known, rows, positions
        )

    def _level_names(self, i: int) -> tuple[str, ...]:
        return self._statistics.levels.names[self._levels[i]] if self._statistics and i in self._levels else ()

    def _means(self, i: int) -> list[int]:
        """Return the places of the mean targets of a column among the numbers of a row, fold after fold."""
        if self._statistics is None or i not in self._levels:
            return []
        _, n_folds, n_outputs = self._statistics.means[0].shape
        width, own = n_outputs * len(self._levels), n_outputs * self._levels[i]
        return [
            self._first_mean + fold * width + own + output for fold in range(n_folds) for output in range(n_outputs)
        ]

    def _encoded(self, i: int, texts: list[str | None]) -> tuple[Array, Array]:
        """Return the numbers (texts, numbers) and the positions of the texts of a category."""
        plan, values = self._columns[i], np.empty(len(texts), object)
        values[:] = texts
        own = np.empty((len(texts), sum(number for _, number in plan.features)), order="F")
        positions = encode_column(plan, Column(plan.name, CATEGORY, values), own)
        if positions is None:
            positions = np.full(len(texts), ABSENT, np.int32)
        if self._statistics is None or i not in self._levels:
            return np.ascontiguousarray(own), positions
        names, means = self._level_names(i), self._statistics.means[self._levels[i]]
        places = {name: place for place, name in enumerate(names)}
        levels = [None if text is None else places.get(text, len(names)) for text in texts]
        shape = means.shape[1] * means.shape[2]
        found = [np.full(shape, np.nan) if level is None else means[level].ravel() for level in levels]
        return np.concatenate([own, np.array(found)], axis=1), positions

    def table(self, i: int) -> tuple[list[str], Array, Array]:
        """Return the known categories of a column, and the numbers and positions of a gap, of these, and of others.

        The categories are sorted by their bytes in UTF-8.
        """
        column, (unseen, place) = self.columns[i], self.read(i, UNSEEN)
        rows: dict[str, tuple[Array, int]] = {
            text: (column.numbers[row], int(column.positions[row]))
            for text, row in column.known.items()
            if isinstance(text, str) and text
        }
        for text in (change(name) for name in TRUTH for change in (str.lower, str.title, str.upper)):
            if text not in rows and (found := self.read(i, text)) != (unseen, place):
                rows[text] = found
        names = sorted(rows, key=lambda text: text.encode("utf-8", "surrogatepass"))
        found = [(column.numbers[0], column.positions[0]), *(rows[name] for name in names), (unseen, place)]
        numbers = np.array([own for own, _ in found], np.float64).reshape(len(found), len(column.targets))
        return names, numbers, np.array([position for _, position in found], np.int32)

    def read(self, i: int, value: Any) -> Any:
        """Return a number, the microseconds of a date, None if it is missing, or a category's numbers and position."""
        plan = self._columns[i]
        if plan.kind == CATEGORY:
            plain = isinstance(value, str) and not _is_infinite(value) and value.strip().lower() not in TRUTH
            text = category_text(value) if plain else self._one(plan, value).values[0]
            numbers, positions = self._encoded(i, [text])
            return numbers[0].tolist(), int(positions[0])
        if isinstance(value, str):
            if is_missing_text(value):
                return None
            found = self._readers[i](value.strip())
            if plan.kind == DATE and found is not None:
                return _microseconds(found)
            if found is not None and math.isfinite(found):
                return found
        elif plan.kind == DATE and isinstance(value, date):  # or datetime, which derives from it
            return _microseconds(plain_value(value))
        found = self._one(plan, value).values[0]
        return None if found != found else _microseconds(found) if plan.kind == DATE else float(found)

    def _one(self, plan: ColumnPlan, value: Any) -> Column:
        """Return a value as a column of one row, read as the plan says, or raise an error that names the column."""
        values = np.empty(1, object)
        values[0] = value
        column = read_column(plan.name, OBJECT, values)
        return read_as(self._plan.settle(plan, {plan.name: column}, 1), plan)


def _microseconds(found: Any) -> int | None:
    stamp = np.datetime64(found, "us")
    return None if np.isnat(stamp) else int(stamp.astype(np.int64))


def _is_infinite(text: str) -> bool:
    """Return whether a text is a number that is too large, which is an error where it stands alone."""
    found = float_of(text.strip())
    return found is not None and math.isinf(found)


def _number_named(text: str) -> int | float | None:
    """Return the number whose name as a category is a text, if there is one."""
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if math.isfinite(value) and category_text(value) == text:
            return value
    return None
