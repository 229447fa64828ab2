"""What the user decides about columns: which are categories, which are left out, and what infinity means."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from difflib import get_close_matches
from numbers import Integral
from typing import Any

import numpy as np

from .._array import Array
from ..exceptions import InputError, ParameterError, Setting
from ._frame import CATEGORY, NUMBER, Column, Table
from ._values import INFINITE, TRUTH, category_text, is_missing_text, map_distinct

DROPPED = "dropped"
CHOICES = ("", CATEGORY, DROPPED)  # about a column
INFINITY = ("error", "missing")  # what infinity is
MOST_SHOWN = 5  # names in an error
_WHOLE = re.compile(r"\s*([+-]?\d+)(\.0*)?\s*")
_PADDED = re.compile(r"\s*[+-]?0\d")  # leading zeros: a code, not a number


def flags_of(parameter: str, which: Any, names: list[str], named: bool) -> Array:
    """Return a flag for each column: whether a list of names, positions or flags has it."""
    found, wanted = np.zeros(len(names), bool), [] if which is None else list(which)
    if wanted and all(isinstance(item, (bool, np.bool_)) for item in wanted):
        if len(wanted) != len(names):
            raise ParameterError(
                Setting(parameter, ...), f" has {len(wanted)} flags, but X has {len(names)} columns: pass one for each."
            )
        return np.array(wanted, bool)
    places = {name: place for place, name in enumerate(names)}
    for item in wanted:
        is_position = isinstance(item, Integral) and not isinstance(item, (bool, np.bool_))
        if is_position and 0 <= item < len(names):
            found[int(item)] = True
        elif isinstance(item, str) and named and item in places:
            found[places[item]] = True
        elif is_position:
            raise ParameterError(
                Setting(parameter, ...), f" has the position {item}, but X has the columns 0 to {len(names) - 1}."
            )
        elif not isinstance(item, str):
            raise ParameterError(
                Setting(parameter, ...),
                f" has {item!r:.60}: pass names of columns, positions from 0, or one flag each.",
            )
        elif not named:
            raise ParameterError(
                Setting(parameter, ...),
                f" has the name {item!r}, but X has no names of columns: pass positions from 0.",
            )
        else:
            raise ParameterError(
                Setting(parameter, ...), f" has {item!r}, which is no column of X. {_close(item, names)}"
            )
    return found


def _close(name: str, names: list[str]) -> str:
    """Return a sentence with the names that are nearest to one, or with the first ones."""
    by_case = {other.lower(): other for other in reversed(names)}
    near = [by_case[other] for other in get_close_matches(name.lower(), by_case, n=3)]
    shown = ", ".join(map(repr, near or names[:MOST_SHOWN]))
    if near:
        return f"Did you mean {' or '.join(map(repr, near))}?"
    return f"X has the columns {shown}{' ...' if len(names) > MOST_SHOWN else ''}."


def dropping(which: Any) -> Callable[[list[str], bool], Array]:
    """Return a function that says which columns the parameter ``drop`` leaves out."""
    return lambda names, named: flags_of("drop", which, names, named)


def chosen(table: Table, categorical: Any, infinity: str) -> Table:
    """Return training rows whose columns are as the user decides; those that are dropped are dropped already."""
    names = [column.name for column in table.columns]
    flags = flags_of("categorical_features", categorical, names, table.named)
    pairs = zip(table.columns, flags, strict=True)
    columns = [settled(column, CATEGORY if flag else "", infinity) for column, flag in pairs]
    return Table(columns, table.n_rows, table.named)


def settled(column: Column, choice: str, infinity: str, known: Collection[str] = ()) -> Column:
    """Return a column as the user decides. Names of categories in ``known`` do not mark a missing value."""
    if DROPPED in (choice, column.choice):
        return dropped(column.name, len(column.values))
    if choice == CATEGORY:
        return column if column.choice == CATEGORY else _as_category(column, known)
    if column.kind == NUMBER:
        infinite = np.isinf(column.values)
        if infinite.any():
            if infinity == "error":
                row = int(infinite.argmax())
                raise InputError(
                    f"column {column.name!r} contains infinity (row {row}): replace it by a finite number or by a "
                    "missing value (NaN), or pass ",
                    Setting("infinity", "missing"),
                    ", which reads it as a missing value.",
                )
            return column._replace(values=np.where(infinite, np.nan, column.values))
    return column


def infinite_column(column: Column) -> Column:
    """Return categories as numbers if all of them are words for infinity: a few rows may have no other values."""
    words = [value if value is None else value.strip().lower() for value in column.values]
    if all(word in INFINITE or is_missing_text(word) for word in words):
        values = np.array([np.nan if word is None else INFINITE.get(word, np.nan) for word in words])
        return column._replace(kind=NUMBER, values=values, texts=None)
    return column


def dropped(name: str, n_rows: int) -> Column:
    """Return a column that is left out; its values are not there."""
    return Column(name, NUMBER, np.full(n_rows, np.nan), choice=DROPPED)


def _as_category(column: Column, known: Collection[str]) -> Column:
    """Return a column as categories. Whole numbers of all types, also as text, have the name of the integer."""
    if column.kind == CATEGORY:
        values, gone, note = column.values, None, ""
    else:
        values = column.texts if column.texts is not None else column.values
        gone, note = column.missing, f"{column.kind}s read as categories"

    def name_of(value: Any) -> str | None:
        name = category_text(value)
        if not isinstance(value, str) or name is None:
            return name
        name = TRUTH.get(name.strip().lower(), name)
        whole = _WHOLE.fullmatch(name)
        if whole and not _PADDED.match(name):
            name = str(int(whole[1]))
        return None if is_missing_text(name) and known and name not in known else name

    found = map_distinct(np.asarray(values, object) if values.dtype.kind != "M" else values, name_of)
    if gone is not None:
        found[gone] = None
    return Column(column.name, CATEGORY, found, note, choice=CATEGORY)
