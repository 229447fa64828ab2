"""Tables as lists of columns, and the inference of what a column of Python objects holds.

A column holds numbers (float64, NaN where a value is missing), dates (datetime64, NaT) or categories (strings, None).
Columns of Python objects are inferred: numbers, numbers stored as text, dates, or categories.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, InputTypeError

Array = NDArray[Any]

NUMBER, DATE, CATEGORY = "number", "date", "category"
MISSING_TEXTS = {"", "na", "n/a", "nan", "null", "none", "?"}
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?Z?$")
DATE_UNIT = "datetime64[us]"


class Column(NamedTuple):
    """A column: its values, their kind, and a note about how they were read, if that is not obvious."""

    name: str
    kind: str
    values: Array
    note: str = ""
    texts: Array | None = None  # of numbers and dates that were stored as text

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
    if raw == NUMBER:
        found = values.astype(np.float64)
        refuse_infinity(name, found)
        return Column(name, NUMBER, found)
    if raw == DATE:
        return Column(name, DATE, values.astype(DATE_UNIT))
    if raw == CATEGORY:
        return Column(name, CATEGORY, _map_distinct(values, category_text))
    return _inferred(name, values)


def refuse_infinity(name: str, values: Array) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        row = int(infinite.argmax())
        raise InputError(
            f"column {name!r} contains infinity (row {row}): replace it by a finite number or by a missing value (NaN)."
        )


def _inferred(name: str, values: Array) -> Column:
    """Return a column of Python objects as numbers, dates or categories."""
    values = _map_distinct(values, _plain)
    present = [value for value in values if value is not None]
    if not present:
        return Column(name, NUMBER, np.full(len(values), np.nan))
    if all(isinstance(value, float) for value in present):
        return column_of(name, NUMBER, _or_missing(values, np.nan, np.float64))
    if all(isinstance(value, np.datetime64) for value in present):
        return Column(name, DATE, _or_missing(values, np.datetime64("NaT"), DATE_UNIT))
    if all(isinstance(value, str) for value in present):
        numbers = as_numbers(values)
        if numbers is not None:
            refuse_infinity(name, numbers)
            return Column(name, NUMBER, numbers, "numbers stored as text", values)
        dates = as_dates(values)
        if dates is not None:
            return Column(name, DATE, dates, "dates stored as text", values)
        return Column(name, CATEGORY, _map_distinct(values, category_text))
    return Column(name, CATEGORY, _map_distinct(values, category_text), "numbers and text mixed: read as categories")


def _or_missing(values: Array, missing: Any, dtype: Any) -> Array:
    return np.array([missing if value is None else value for value in values], dtype=dtype)


def _map_distinct(values: Array, change: Callable[[Any], Any]) -> Array:
    """Apply a function to each value, once per distinct value where values can be hashed."""
    known: dict[Any, Any] = {}
    found = np.empty(len(values), object)
    for i, value in enumerate(values):
        try:
            key = (type(value), value)
            if key not in known:
                known[key] = change(value)
            found[i] = known[key]
        except TypeError:  # a list, say
            found[i] = change(value)
    return found


def _plain(value: Any) -> Any:
    """Return None, a float, a datetime64 or a string."""
    if value is None:
        return None
    if isinstance(value, (str, bytes)):
        return value.decode(errors="replace") if isinstance(value, bytes) else value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float, Decimal)):
        number = float(value)
        return None if number != number else number
    if isinstance(value, date):  # or datetime, which derives from it
        if isinstance(value, datetime) and value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return np.datetime64(value, "us")
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas' marks of missing values
        return None
    if isinstance(value, (Number, str)) or not isinstance(value, (Iterable, dict)):
        return str(value)
    raise InputTypeError(
        f"X contains {repr(value)[:60]} of type {type(value).__name__}. The argument must be a string or a number: "
        "turn such values into columns first."
    )


def category_text(value: Any) -> str | None:
    """Return the name of a category, or None if the value is missing. 1, 1.0 and numpy.int64(1) have one name."""
    value = _plain(value)
    if value is None or value == "" or (isinstance(value, np.datetime64) and np.isnat(value)):
        return None
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value)


def is_missing_text(value: Any) -> bool:
    """Return whether a value is None or a text that marks a missing number or date."""
    return value is None or (isinstance(value, str) and value.strip().lower() in MISSING_TEXTS)


def as_numbers(values: Array) -> Array | None:
    """Return strings as numbers if all of them are numbers or mark a missing value."""
    known: dict[Any, float] = {None: np.nan}
    found = np.empty(len(values))
    some = False
    for i, value in enumerate(values):
        number = known.get(value)
        if number is None:
            text = value.strip() if isinstance(value, str) else value
            if isinstance(text, str) and text.lower() in MISSING_TEXTS:
                number = np.nan
            else:
                try:
                    number = float(text)
                except ValueError:
                    return None
                some = True
            known[value] = number
        found[i] = number
    return found if some else None


def as_dates(values: Array) -> Array | None:
    """Return strings as dates if all of them are dates as in 2024-05-17 or 2024-05-17T12:30:00, or empty."""
    found = np.full(len(values), np.datetime64("NaT"), DATE_UNIT)
    some = False
    for i, value in enumerate(values):
        if value is None or (isinstance(value, str) and value.strip().lower() in MISSING_TEXTS):
            continue
        if not (isinstance(value, str) and ISO_DATE.match(value.strip())):
            return None
        try:
            found[i] = np.datetime64(value.strip().rstrip("Z").replace(" ", "T"), "us")
        except ValueError:
            return None
        some = True
    return found if some else None
