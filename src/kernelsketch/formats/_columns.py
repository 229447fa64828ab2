"""Which columns of a table are features, and which have another role or are left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from operator import itemgetter
from typing import Any

import numpy as np

from .._array import Array
from ..exceptions import InputError, Setting
from ._stream import Options, label_column, shown_names

_WHOLE = re.compile(r"-?\d+")
Names = tuple[str, ...] | None


@dataclass(frozen=True)
class Columns:
    """The numbers of the columns of a file: the label, those that are carried beside X, by name, and the features."""

    width: int
    label: int | None
    carried: dict[str, int]
    features: tuple[int, ...]

    def left_out(self) -> Array | None:
        """Return 1 for each column that is neither a feature nor the label, and 0 for the others; None if all are."""
        if self.are_usual:
            return None
        found = np.ones(self.width, np.uint8)
        found[[*self.features, *([] if self.label is None else [self.label])]] = 0
        return found

    @property
    def are_usual(self) -> bool:
        """Whether all columns but the label are features."""
        return len(self.features) == self.width - (self.label is not None)

    def features_of(self) -> Callable[[Sequence[Any]], Sequence[Any]]:
        """Return a function from the cells of a row to those of its features."""
        if len(self.features) > 1:
            return itemgetter(*self.features)
        return lambda cells: [cells[place] for place in self.features]


def columns_of(options: Options, names: Names, width: int, name: str) -> Columns:
    """Find the columns that the options name in a file of so many columns, which may have names."""
    label = label_column(options, names, width, name)
    carried = {column: _place(column, "carry", names, width, name) for column in options.carry or ()}
    beside = dict(_beside(options, names, width, name, label))
    dropped = set(_dropped(options, names, width, name))
    if label is not None and label in dropped:
        raise InputError(Setting("drop", options.label), f": this column of {name} is the label.", parameter="drop")
    others: set[int | None] = {*dropped, *beside.values(), label}
    if options.features is not None and names is not None and set(options.features) <= set(names):
        others = {label, *(place for place, column in enumerate(names) if column not in options.features)}
    return Columns(width, label, carried | beside, tuple(place for place in range(width) if place not in others))


def _beside(options: Options, names: Names, width: int, name: str, label: int | None) -> Iterator[tuple[str, int]]:
    for option, column in options.beside or ():
        if option == "label" and options.label_beside is not None and column not in (names or ()):
            continue  # a further label, which may be missing
        place = _place(column, option, names, width, name)
        if place == label:
            raise InputError(
                Setting(option, column),
                f": this column of {name} is the label already. Name another one.",
                parameter=option,
            )
        yield str(column), place


def _dropped(options: Options, names: Names, width: int, name: str) -> Iterator[int]:
    for column in options.drop or ():
        # of several files, another one may have the column
        may_be_missing = options.part_of is not None or column in options.optional
        if may_be_missing and isinstance(column, str) and names is not None and column not in names:
            continue
        yield _place(column, "drop", names, width, name)


def _place(column: str | int, option: str, names: Names, width: int, name: str) -> int:
    """Return the number of a column, which is named by its name or, in a file without names, by its number."""
    if names is None and _WHOLE.fullmatch(str(column)):
        if -width <= int(column) < width:
            return int(column) % width
    elif names is not None and isinstance(column, int) and -width <= column < width:
        return column % width
    elif names is not None and list(names).count(str(column)) == 1:
        return names.index(str(column))
    given = Setting(option, column)
    if names is None:
        what = f": {name} has no column names, but {width} columns. Pass 0 to {width - 1}."
        raise InputError(given, what, parameter=option)
    near = [] if column in names else get_close_matches(str(column), names, n=3)
    hint = f"The nearest: {', '.join(map(repr, near))}." if near else f"Its columns are {shown_names(names)}."
    many = "several columns" if column in names else "no column"
    raise InputError(given, f": {name} has {many} of that name. {hint}", parameter=option)
