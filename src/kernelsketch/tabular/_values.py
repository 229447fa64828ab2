"""Values of columns: Python objects as numbers, dates and text, names of categories, and what text says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from .._array import Array
from .._rounding import floats_of
from ..exceptions import InputTypeError
from ._notation import Reading, find_reading, looks_grouped, reader_of

MISSING_TEXTS = {"", "na", "n/a", "nan", "-nan", "+nan", "null", "none", "?"}
INFINITE = {f"{sign}{name}": float(f"{sign}inf") for sign in ("", "+", "-") for name in ("inf", "infinity")}
DATE_UNIT = "datetime64[us]"
NO_DATE = np.datetime64("NaT", "us")
TRUTH = {"true": "1", "false": "0"}  # names of truth values, as numbers and as categories
LARGEST_EXACT = 2**53  # whole numbers up to here are exact in float64


class TextValues(NamedTuple):
    """Text as numbers or dates, or None if it is neither, and the reading that says so."""

    values: Array | None
    reading: Reading


def map_distinct(values: Array, change: Callable[[Any], Any]) -> Array:
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


def plain_value(value: Any) -> Any:
    """Return None, a float, a datetime64 or a string."""
    if value is None:
        return None
    if isinstance(value, (str, bytes)):
        return value.decode(errors="replace") if isinstance(value, bytes) else value
    if isinstance(value, np.timedelta64):
        value = float(value / np.timedelta64(1, "s"))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, timedelta) and type(value).__name__ != "NaTType":
        value = value.total_seconds()
    if isinstance(value, (bool, int, float, Decimal)):
        number = float(value)
        return None if number != number else number
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas' marks of missing values; NaT passes for a date
        return None
    if isinstance(value, date):  # or datetime, which derives from it
        if isinstance(value, datetime) and value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return np.datetime64(value, "us")
    if isinstance(value, (Number, str)) or not isinstance(value, (Iterable, dict)):
        return str(value)
    raise InputTypeError(
        f"X contains {repr(value)[:60]} of type {type(value).__name__}. The argument must be a string or a number: "
        "turn such values into columns first."
    )


def category_text(value: Any) -> str | None:
    """Return the name of a category, or None if the value is missing. Equal numbers of all types have one name."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        value = int(value)
    if isinstance(value, int):
        return str(int(value))
    value = plain_value(value)
    if value is None or value == "" or (isinstance(value, np.datetime64) and np.isnat(value)):
        return None
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def is_large_integer(value: Any) -> bool:
    """Return whether a value is an integer that a float64 may not hold exactly."""
    return isinstance(value, (int, np.integer)) and abs(int(value)) > LARGEST_EXACT


def is_missing_text(value: Any) -> bool:
    """Return whether a value is None or a text that marks a missing number or date."""
    return value is None or (isinstance(value, str) and value.strip().lower() in MISSING_TEXTS)


def read_texts(texts: Array) -> TextValues:
    """Find what strings are, of which None and some others mark missing values, and return their values."""
    truth = _truth_values(texts)
    if truth is not None:
        return TextValues(truth, Reading(False, note="truth values stored as text"))
    numbers = as_numbers(texts)
    if numbers is not None:
        doubt = ""
        if looks_grouped(text.strip() for text in texts if not is_missing_text(text)):
            example = next(text for text in texts if text is not None and "." in text)
            doubt = (
                f"looks like numbers whose points begin thousands, for example {example!r}, which is read as "
                f"{float(example)!r}: pass numbers if this is wrong."
            )
        return TextValues(numbers, Reading(False, doubt=doubt))
    distinct = [text.strip() for text in dict.fromkeys(texts.tolist()) if not is_missing_text(text)]
    reading = find_reading(distinct) if distinct else Reading(None)
    if reading.is_date is None:
        return TextValues(None, reading)
    return TextValues((as_dates if reading.is_date else as_numbers)(texts, reading.notation), reading)


def _truth_values(texts: Array) -> Array | None:
    """Return 1 for "True" and 0 for "False" if all strings are one of them or mark a missing value, but not all do."""
    known = {}
    for text in dict.fromkeys(texts.tolist()):
        if not is_missing_text(text):
            name = TRUTH.get(text.strip().lower())
            if name is None:
                return None
            known[text] = float(name)
    return np.array([known.get(text, np.nan) for text in texts.tolist()]) if known else None


def as_numbers(texts: Array, notation: str = "") -> Array | None:
    """Return strings as numbers if all of them are numbers in a notation, or mark a missing value, but not all do."""
    quickly = floats_of(texts.tolist()) if not notation and not any(text is None for text in texts) else None
    if quickly is not None and len(quickly):
        return np.asarray(quickly)
    read = reader_of(notation, is_date=False)

    def number(text: str) -> float | None:
        found: float | None = read(text)
        return INFINITE.get(text.lower()) if found is None else found

    found = _values(texts, number, np.full(len(texts), np.nan))
    if found is None or np.isfinite(found).any():
        return found
    words = (text.strip().lower() for text in texts if not is_missing_text(text))
    return None if all(word in INFINITE for word in words) else found  # "infinity" alone may be a category


def as_dates(texts: Array, notation: str = "") -> Array | None:
    """Return strings as dates if all of them are dates in a notation, or mark a missing value, but not all do."""
    found = _values(texts, reader_of(notation, is_date=True), np.full(len(texts), NO_DATE))
    return None if found is None or np.isnat(found).all() else found


def unreadable_row(texts: Array, notation: str, is_date: bool) -> int:
    """Return the first row whose text cannot be read."""
    read = reader_of(notation, is_date)
    return next(i for i, text in enumerate(texts) if not is_missing_text(text) and read(text.strip()) is None)


def _values(texts: Array, read: Callable[[str], Any], out: Array) -> Array | None:
    """Write what texts are, except for missing ones. Return None if one of them cannot be read."""
    known: dict[Any, Any] = {}
    for i, text in enumerate(texts):
        value = known.get(text)
        if value is None:
            if is_missing_text(text):
                continue
            value = known[text] = read(text.strip())
            if value is None:
                return None
        out[i] = value
    return out
