"""Tables as lists of columns, and the inference of what a column of Python objects holds.

A column holds numbers (float64, NaN where a value is missing), dates (datetime64, NaT) or categories (strings, None).
What infinity means is decided later, in ``_choices.py``.
Columns of Python objects are inferred: numbers, dates, both also stored as text, or categories.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._array import Array
from ._values import (
    DATE_UNIT,
    LARGEST_EXACT,
    NO_DATE,
    category_text,
    is_large_integer,
    map_distinct,
    plain_value,
    read_texts,
)

NUMBER, DATE, CATEGORY = "number", "date", "category"


class Column(NamedTuple):
    """A column: its values, their kind, and a note about how they were read, if that is not obvious."""

    name: str
    kind: str
    values: Array
    note: str = ""
    texts: Array | None = None  # of numbers and dates: the text that they were, or integers that float64 does not hold
    notation: str | None = None  # of texts that are numbers or dates
    doubt: str = ""  # a warning for those who train on the column
    choice: str = ""  # of the user: "category" if it is one whatever its values are, "dropped" if it is left out

    @property
    def missing(self) -> Array:
        """Flags of missing values."""
        if self.kind == CATEGORY:
            return np.fromiter((value is None for value in self.values), bool, len(self.values))
        return np.isnat(self.values) if self.kind == DATE else np.isnan(self.values)


class Table(NamedTuple):
    """Columns of equal length. ``named`` says whether the user gave their names."""

    columns: list[Column]
    n_rows: int
    named: bool

    def some(self, rows: Array) -> Table:
        """Return the rows that have a flag."""
        columns = [
            part._replace(values=part.values[rows], texts=None if part.texts is None else part.texts[rows])
            for part in self.columns
        ]
        return Table(columns, int(rows.sum()), self.named)


def column_of(name: str, raw: str, values: Array) -> Column:
    """Return a column of values that are numbers, dates or categories, or whose kind is to be inferred."""
    if raw == NUMBER:
        found = values.astype(np.float64)
        large = values.dtype.kind in "iu" and bool((np.abs(found) >= LARGEST_EXACT).any())
        return Column(name, NUMBER, found, texts=values if large else None)
    if raw == DATE:
        return Column(name, DATE, values.astype(DATE_UNIT))
    if raw == CATEGORY:
        return Column(name, CATEGORY, map_distinct(values, category_text))
    return _inferred(name, values)


def _inferred(name: str, objects: Array) -> Column:
    """Return a column of Python objects as numbers, dates or categories."""
    values = map_distinct(objects, plain_value)
    present = [value for value in values if value is not None]
    if not present:
        return Column(name, NUMBER, np.full(len(values), np.nan))
    if all(isinstance(value, float) for value in present):
        column = column_of(name, NUMBER, _or_missing(values, np.nan, np.float64))
        return column._replace(texts=objects) if any(map(is_large_integer, objects)) else column
    if all(isinstance(value, np.datetime64) for value in present):
        return Column(name, DATE, _or_missing(values, NO_DATE, DATE_UNIT))
    if all(isinstance(value, str) for value in present):
        column = column_of_texts(name, values)
        if column.kind == CATEGORY or column.notation:
            return column
        note = "numbers stored as text" if column.kind == NUMBER else "dates stored as text"
        return column._replace(note=column.note or note)
    note = "numbers and text mixed: read as categories"
    return Column(name, CATEGORY, map_distinct(objects, category_text), note)


def column_of_texts(name: str, texts: Array) -> Column:
    """Return a column of strings as numbers, dates or categories."""
    values, reading = read_texts(texts)
    if values is None:
        return Column(name, CATEGORY, map_distinct(texts, category_text), reading.note, doubt=reading.doubt)
    if reading.is_date:
        return Column(name, DATE, values, reading.note, texts, reading.notation, reading.doubt)
    return Column(name, NUMBER, values, reading.note, texts, reading.notation, reading.doubt)


def _or_missing(values: Array, missing: Any, dtype: Any) -> Array:
    return np.array([missing if value is None else value for value in values], dtype=dtype)
