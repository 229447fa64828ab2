"""Which columns of a table are features, and which have another role or are left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from ..exceptions import InputError, Setting
from ._stream import Options, label_column

_WHOLE = re.compile(r"-?\d+")


@dataclass(frozen=True)
class Columns:
    """The numbers of the columns of a file: the label, those beside the features, and the features."""

    width: int
    label: int | None
    beside: tuple[int | None, ...]  # in the order of ``Options.beside``; None for one that may be missing, and is
    features: tuple[int, ...]

    @property
    def are_usual(self) -> bool:
        """Whether all columns but the label are features."""
        return len(self.features) == self.width - (self.label is not None)

    def features_of(self) -> Callable[[Sequence[Any]], Sequence[Any]]:
        """Return a function from the cells of a row to those of its features."""
        if len(self.features) > 1:
            return itemgetter(*self.features)
        return lambda cells: [cells[place] for place in self.features]


def columns_of(options: Options, names: tuple[str, ...] | None, width: int, name: str) -> Columns:
    """Find the columns that the options name in a file of so many columns, which may have names."""
    label = label_column(options, names, width, name)
    beside = tuple(_beside(option, column, options, names, width, name) for option, column in options.beside or ())
    for (option, column), place in zip(options.beside or (), beside, strict=True):
        if place is not None and place == label:
            raise InputError(
                Setting(option, column), f": this column of {name} is the label already. Name another one.",
                parameter=option,
            )  # fmt: skip
    dropped = set()
    for column in options.drop or ():
        if isinstance(column, str) and names is not None and column not in names:
            if options.part_of is not None or column in options.optional:  # another part has it
                continue
        dropped.add(_place(column, "drop", names, width, name))
    if label in dropped:
        raise InputError(Setting("drop", options.label), f": this column of {name} is the label.", parameter="drop")
    others = dropped | {label} | set(beside)
    if options.features is not None and names is not None and set(options.features) <= set(names):
        others = {place for place, column in enumerate(names) if column not in options.features} | {label}
    return Columns(width, label, beside, tuple(place for place in range(width) if place not in others))


def _beside(
    option: str, column: str | int, options: Options, names: tuple[str, ...] | None, width: int, name: str
) -> int | None:
    may_be_missing = option == "label" and options.label_beside is not None
    if may_be_missing and (names is None or column not in names):
        return None
    return _place(column, option, names, width, name)


def _place(column: str | int, option: str, names: tuple[str, ...] | None, width: int, name: str) -> int:
    """Return the number of a column, which is named by its name or, in a file without names, by its number."""
    given: str | int = int(column) if names is None and _WHOLE.fullmatch(str(column)) else column
    try:
        place = label_column(Options(label=given), names, width, name)
    except InputError as error:
        first, *more = error.message.parts
        raise InputError(Setting(option, column), *more, parameter=option) from None
    assert place is not None
    return place
