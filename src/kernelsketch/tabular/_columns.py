"""What is done to each column of a table, learned from the training rows: ``TablePlan``.

A number or a date part becomes one feature, standardized later; a category becomes one 0/1 feature per frequent value.
Cycles of dates become two features each, so that times that are near on the clock or the calendar are near as numbers.
Free text becomes numbers of its words and shingles (``_free_text.py``).
A missing value is absent: its features are 0, where 0 is the mean of a number. A column with missing values gets one
more 0/1 feature that says so.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from .._array import Array
from .._warnings import warn_user
from ..exceptions import ColumnWarning, InputError
from ._choices import DROPPED, dropped, infinite_column, settled
from ._features import ABSENT, Features
from ._frame import (
    CATEGORY,
    DATE,
    NUMBER,
    Column,
    Table,
)
from ._free_text import FreeText, TargetOrder
from ._statistics import Levels, Statistics
from ._values import (
    DATE_UNIT,
    LARGEST_EXACT,
    NO_DATE,
    TRUTH,
    as_dates,
    as_numbers,
    category_text,
    is_missing_text,
    unreadable_row,
)

MOST_CATEGORIES = 100  # features per column by default; rarer categories share one feature
LEAST_ROWS = 2  # with which a category gets a feature of its own
ENOUGH_ROWS = 100  # of each category in the mean, from which on 0/1 features say as much as mean targets
LEAST_TEXTS, LEAST_LENGTH = 30, 10  # distinct values and their mean length, above which categories are also free text
CYCLES = ("day", "week", "year")
WAVES = ("wave 1", "wave 2")  # of a cycle
PLAIN_PARTS = ("day", "month", "weekday", "hour")
DATE_PARTS = (*PLAIN_PARTS, *(f"{cycle} {wave}" for cycle in CYCLES for wave in WAVES))
WITH_MEANS = "; mean target of each category"


class Feature(NamedTuple):
    """A feature: the number of its column, its name, and whether it is a number or a 0/1 flag."""

    column: int
    name: str
    is_number: bool


@dataclass(frozen=True)
class ColumnPlan:
    """What is done to one column.

    Parameters
    ----------
    name : str
        Name of the column.
    kind : {"number", "date", "category"}
        How its values are read.
    treatment : str
        What is done with it, in words. A column that is not used says why.
    n_missing : int
        Number of missing values among the training rows.
    categories : tuple of str
        Categories that have a feature of their own, the most frequent first.
    parts : tuple of str
        Parts of a date that are features.
    has_other : bool
        Whether the other categories share a feature.
    has_missing : bool
        Whether missing values have a feature.
    notation : str
        How numbers or dates are read from text, for example ``"1.234,56 EUR"``, ``"1,234.56 %"`` or ``"D/M/Y"``.
        Numbers and dates in the usual notation, such as 1234.56 and 2021-12-31, have ``""``.
    text : FreeText or None
        Numbers that stand for free text.
    choice : {"", "category", "dropped"}
        What ``categorical_features`` or ``drop`` decided.
    """

    name: str
    kind: str
    treatment: str
    n_missing: int = 0
    categories: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    has_other: bool = False
    has_missing: bool = False
    is_number: bool = False
    notation: str = ""
    text: FreeText | None = field(default=None, repr=False, hash=False)
    choice: str = ""

    @property
    def is_used(self) -> bool:
        return bool(self.features)

    @property
    def features(self) -> list[tuple[str, bool]]:
        """Names of the features, and whether each is a number."""
        found = [(self.name, True)] if self.is_number else []
        found += [(f"{self.name} ({part})", True) for part in self.parts]
        found += [(f"{self.name} ({number})", True) for number in self.text.names] if self.text else []
        found += [(f"{self.name} = {category}", False) for category in self.categories]
        found += [(f"{self.name}: other", False)] if self.has_other else []
        return found + ([(f"{self.name}: missing", False)] if self.has_missing else [])


def plan_column(
    column: Column, targets: TargetOrder | None = None, max_categories: int | None = MOST_CATEGORIES
) -> ColumnPlan:
    """Decide from the training rows what is done to a column.

    With ``targets``, free text becomes only those numbers that are correlated with them.
    """
    if column.choice == DROPPED:
        return ColumnPlan(column.name, column.kind, "not used: dropped", choice=DROPPED)
    plan = _plan(column, targets, max_categories)
    return replace(plan, notation=column.notation or "", choice=column.choice)


def _plan(column: Column, targets: TargetOrder | None, max_categories: int | None) -> ColumnPlan:
    missing = column.missing
    count = int(missing.sum())
    some = 0 < count < len(missing)
    if count == len(missing):
        return ColumnPlan(column.name, column.kind, "not used: all values are missing", count)
    note = f" ({column.note})" if column.note else ""
    tail = "; missing values have a feature" if some else ""
    present = column.values[~missing]
    if column.kind == CATEGORY:
        targets = None if targets is None else targets.take(~missing)
        may_be_text = column.choice != CATEGORY
        return _plan_category(column.name, present, targets, count, some, note, tail, may_be_text, max_categories)
    if column.kind == DATE:
        parts = tuple(part for part in DATE_PARTS if len(np.unique(date_part(present, part))) > 1)
        if not parts and not some:
            return ColumnPlan(column.name, DATE, "not used: it is constant", count)
        words = f"date{note}: {_parts_in_words(parts)}{tail}"
        return ColumnPlan(column.name, DATE, words, count, parts=parts, has_missing=some)
    varies = bool((present != present[0]).any())
    if not varies and not some:
        return ColumnPlan(column.name, NUMBER, f"not used: it is constant{note}", count)
    words = f"number{note}{tail}" if varies else f"constant where present{note}{tail}"
    return ColumnPlan(column.name, NUMBER, words, count, has_missing=some, is_number=varies)


def _plan_category(
    name: str,
    present: Array,
    targets: TargetOrder | None,
    count: int,
    some: bool,
    note: str,
    tail: str,
    may_be_text: bool,
    max_categories: int | None,
) -> ColumnPlan:
    counts, most = Counter(present.tolist()), "up to " if targets is None else ""
    values = sorted(counts, key=lambda value: (-counts[value], value))
    if len(values) == 1 and not some:
        return ColumnPlan(name, CATEGORY, f"not used: it has one category{note}", count)
    if len(values) > 20 and len(values) > 0.9 * len(present):
        text = _free_text(values, present, targets) if may_be_text else None
        if text is not None:
            words = f"text: {most}{text.in_words}{note}{tail}"
            return ColumnPlan(name, CATEGORY, words, count, has_missing=some, text=text)
        return ColumnPlan(name, CATEGORY, f"not used: nearly every row has its own category{note}", count)
    kept = tuple(value for value in values[:max_categories] if counts[value] >= LEAST_ROWS)
    rare = len(kept) < len(values)
    if len(kept) == 0 and not some:
        return ColumnPlan(name, CATEGORY, f"not used: no category has two rows{note}", count)
    words = f"{len(values)} categories{note}"
    words += f", {len(values) - len(kept)} of them rare" if rare else ""
    is_long = may_be_text and sum(map(len, values)) > LEAST_LENGTH * len(values)
    text = _free_text(values, present, targets) if is_long else None
    words += f"; text: {most}{text.in_words}" if text else ""
    return ColumnPlan(name, CATEGORY, words + tail, count, categories=kept, has_other=rare, has_missing=some, text=text)


def _free_text(values: list[str], present: Array, targets: TargetOrder | None) -> FreeText | None:
    """Return numbers for the text of a column, or None if it has none: its distinct values need words in common."""
    if len(values) <= LEAST_TEXTS:
        return None
    from ._text_fit import is_free_text, learn_text  # which predictions do not need, nor scikit-learn

    text = learn_text(present.tolist(), targets) if is_free_text(values) else None
    return text if text is not None and text.names else None


def _has_text(column: Column) -> bool:
    """Return whether a column of categories has words in common."""
    if column.kind != CATEGORY or column.choice:
        return False
    values = sorted(set(column.values[~column.missing].tolist()))
    if len(values) <= LEAST_TEXTS:
        return False
    from ._text_fit import is_free_text

    return is_free_text(values)


def _parts_in_words(parts: tuple[str, ...]) -> str:
    plain = ", ".join(part for part in parts if part in PLAIN_PARTS)
    cycles = ", ".join(cycle for cycle in CYCLES if any(f"{cycle} {wave}" in parts for wave in WAVES))
    return (plain or "constant") + (f"; cycles: {cycles}" if cycles else "")


def date_part(dates: Array, part: str) -> Array:
    """Return a part of dates as numbers."""
    days = dates.astype("datetime64[D]")
    if part == "day":  # with its fraction, since 1970
        return dates.astype(DATE_UNIT).astype(np.int64) / 86400e6
    cycle, _, wave = part.partition(" ")
    if wave:
        return _wave(_phase(dates, days, cycle), wave)
    if part == "month":
        return days.astype("datetime64[M]").astype(np.int64) % 12.0 + 1
    if part == "weekday":
        return (days.astype(np.int64) + 3) % 7.0
    hours: Array = (dates - days) // np.timedelta64(1, "h") * 1.0
    return hours


def _phase(dates: Array, days: Array, cycle: str) -> Array:
    """Return the part of a cycle that has passed, from 0 to below 1. All times of a day have one phase of the week."""
    of_day: Array = (dates - days) / np.timedelta64(1, "D")
    if cycle == "day":
        return of_day
    if cycle == "week":
        return date_part(dates, "weekday") / 7
    years = days.astype("datetime64[Y]")
    first, last = (year.astype("datetime64[D]").astype(np.int64) for year in (years, years + 1))
    return (days.astype(np.int64) - first + of_day) / (last - first)


def _wave(phase: Array, wave: str) -> Array:
    """Return a triangle wave, from 1 to -1 and back in a cycle; the second wave is a quarter of the cycle later.

    Both together say where in the cycle a time is, and the sum of their absolute values is the same at all times. They
    need no sine, whose last bits differ between libraries.
    """
    shifted = (phase + (0.0 if wave == WAVES[0] else 0.75)) % 1
    return np.asarray(np.abs(4 * shifted - 2) - 1)


def _merged_integers(column: Column) -> str:
    """Return a warning of a column of numbers if two of its integers are the same number in float64."""
    if column.kind != NUMBER or column.texts is None:
        return ""
    first: dict[float, int] = {}
    for row in np.flatnonzero(np.abs(column.values) >= LARGEST_EXACT):
        try:
            integer = int(column.texts[row])
        except ValueError:  # the text of another number
            continue
        other = first.setdefault(float(column.values[row]), integer)
        if other != integer:
            return (
                f"has the integers {other} and {integer}, which are the same number in float64: if they are names of "
                "things, put a letter in front of each, so that they are categories."
            )
    return ""


@dataclass(frozen=True)
class TablePlan:
    """What is done to every column, and the features that come out."""

    columns: tuple[ColumnPlan, ...]
    named: bool
    statistics: Statistics | None = None
    infinity: str = "error"  # or "missing"
    features: tuple[Feature, ...] = field(init=False)

    def __post_init__(self) -> None:
        found = [Feature(c, *pair) for c, plan in enumerate(self.columns) for pair in plan.features]
        if self.statistics is not None:
            found += [Feature(c, f"{self.columns[c].name}: mean target", True) for c in self.statistics.owners]
        object.__setattr__(self, "features", tuple(found))

    def levels(self, table: Table) -> Levels:
        """Return the categories of training rows, of the columns that have many, of which some have few rows."""
        found = {}
        for i, (column, plan) in enumerate(zip(table.columns, self.columns, strict=True)):
            n_present = int((~column.missing).sum())
            if plan.categories and (plan.has_other or n_present < ENOUGH_ROWS * len(plan.categories)):
                found[i] = column
        return Levels.of(found)

    def with_statistics(self, statistics: Statistics) -> TablePlan:
        """Return a plan whose last features are mean targets of categories."""
        columns = list(self.columns)
        for i in statistics.levels.columns:
            columns[i] = replace(columns[i], treatment=f"{columns[i].treatment}{WITH_MEANS}")
        return replace(self, columns=tuple(columns), statistics=statistics)

    @classmethod
    def of(
        cls,
        table: Table,
        targets: TargetOrder | None = None,
        *,
        max_categories: int | None = MOST_CATEGORIES,
        infinity: str = "error",
    ) -> TablePlan:
        """Learn the plan from a table of training rows, and which words of text matter from the targets."""
        if targets is not None:
            targets = targets._replace(n_texts=max(1, sum(map(_has_text, table.columns))))
        for column in table.columns:
            doubt = column.doubt or _merged_integers(column)
            if doubt:
                warn_user(f"column {column.name!r} {doubt}", ColumnWarning)
        columns = tuple(plan_column(column, targets, max_categories) for column in table.columns)
        plan = cls(columns, table.named, infinity=infinity)
        if not plan.features:
            first = next((column for column in columns if column.choice != DROPPED), columns[0])
            raise InputError(
                f"no column of X can be used; for example, column {first.name!r} is {first.treatment}. Pass columns "
                "whose values differ between rows."
            )
        return plan

    @property
    def has_choices(self) -> bool:
        """Whether the user decided something about columns that their values do not say."""
        return self.infinity != "error" or any(column.choice for column in self.columns)

    def drops(self, names: list[str], named: bool) -> Array:
        """Return flags of the columns of a table that the plan leaves out, so that they are not read."""
        if named and self.named:
            left_out = {plan.name for plan in self.columns if plan.choice == DROPPED}
            return np.array([name in left_out for name in names], bool)
        are_all = len(names) == len(self.columns)
        return np.array([are_all and self.columns[i].choice == DROPPED for i in range(len(names))], bool)

    def encode(self, table: Table, owner: str = "the model") -> Features:
        """Return the features of rows, with NaN where a number is missing. Errors name the ``owner``."""
        columns = self._matched(table, owner)
        is_number, starts = self.layout
        numbers = np.empty((table.n_rows, int(is_number.sum())), order="F")
        positions = np.empty((table.n_rows, len(starts)), np.int32, order="F")
        at = flagged = 0
        for plan, column in zip(self.columns, columns, strict=True):
            if plan.is_used:
                width = sum(number for _, number in plan.features)
                found = encode_column(plan, column, numbers[:, at : at + width])
                if found is not None:
                    positions[:, flagged] = found
                    flagged += 1
                at += width
        if self.statistics is not None:
            pairs = zip(columns, self.columns, strict=True)
            read = [read_as(column, plan) if plan.categories else column for column, plan in pairs]
            numbers[:, at:] = self.statistics.features(self.statistics.levels.numbers(read))
        return Features(is_number, numbers, starts, positions)

    @property
    def layout(self) -> tuple[Array, Array]:
        """Whether each feature is a number, and the first flag of each column that has flags."""
        is_number = np.array([feature.is_number for feature in self.features], bool)
        starts = [i for i, flag in enumerate(~is_number) if flag and self._begins_flags(i)]
        return is_number, np.array(starts, np.int64)

    def _begins_flags(self, i: int) -> bool:
        """Return whether a flag is the first one of its column."""
        before = self.features[i - 1] if i else None
        return before is None or before.is_number or before.column != self.features[i].column

    def _matched(self, table: Table, owner: str) -> list[Column]:
        """Return the columns in the order of the plan, by name if both have names. Dropped ones need not be there."""
        kept = [plan for plan in self.columns if plan.choice != DROPPED]
        if not (self.named and table.named):
            if len(table.columns) == len(kept):
                given = iter(table.columns)
                found = {plan.name: next(given) for plan in kept}
            elif len(table.columns) == len(self.columns):
                found = {plan.name: column for plan, column in zip(self.columns, table.columns, strict=True)}
            else:
                raise InputError(
                    f"X has {len(table.columns)} features, but {owner} is expecting {len(self.columns)} features as "
                    "input: pass the columns of the training rows in the same order, or a data frame with their names."
                )
            return [self.settle(plan, found, table.n_rows) for plan in self.columns]
        found = {column.name: column for column in table.columns}
        lost = [plan.name for plan in kept if plan.name not in found]
        if lost:
            plural, it = ("s", "them") if len(lost) > 1 else ("", "it")
            shown = ", ".join(map(repr, lost[:5])) + (" ..." if len(lost) > 5 else "")
            raise InputError(f"X lacks the column{plural} {shown}, on which the model was trained: add {it}.")
        return [self.settle(plan, found, table.n_rows) for plan in self.columns]

    def settle(self, plan: ColumnPlan, found: dict[str, Column], n_rows: int) -> Column:
        """Return the column of a plan as the user decided for the training rows."""
        if plan.choice == DROPPED or not plan.is_used:
            return found.get(plan.name, dropped(plan.name, n_rows))
        column = found[plan.name]
        column = infinite_column(column) if plan.kind == NUMBER and column.kind == CATEGORY else column
        return settled(column, plan.choice, self.infinity, plan.categories)


def encode_column(plan: ColumnPlan, column: Column, numbers: Array) -> Array | None:
    """Write the numbers of a column, and return the position of the flag that is 1, or None if it has no flags."""
    column = read_as(column, plan)
    missing = column.missing
    if plan.is_number:
        numbers[:, 0] = column.values
    if plan.text is not None:
        plan.text.encode(np.where(missing, "", column.values).tolist(), numbers)
        numbers[missing] = np.nan
    for i, part in enumerate(plan.parts):
        known = np.where(missing, np.datetime64(0, "us"), column.values)
        numbers[:, i] = np.where(missing, np.nan, date_part(known, part))
    if not (plan.categories or plan.has_other or plan.has_missing):
        return None
    positions = np.full(len(missing), ABSENT, np.int32)
    width = len(plan.categories) + plan.has_other
    if plan.kind == CATEGORY:
        places = {category: i for i, category in enumerate(plan.categories)}
        other = len(places) if plan.has_other else ABSENT
        positions[:] = [places.get(value, other) for value in column.values]
    positions[missing] = width if plan.has_missing else ABSENT
    return positions


def _known_name(name: str | None, known: tuple[str, ...]) -> str | None:
    """Return the name of a category; "True" is "1" for a column of truth values, whose categories are numbers."""
    return name if name is None or name in known else TRUTH.get(name.strip().lower(), name)


def read_as(column: Column, plan: ColumnPlan) -> Column:
    """Return a column in the kind and the notation of the plan."""
    is_text = column.notation is not None
    if column.kind == plan.kind and (not is_text or column.notation == plan.notation):
        return column
    if plan.kind == CATEGORY:
        if column.texts is not None:  # "01" is not the category "1"
            texts = [_known_name(category_text(text), plan.categories) for text in column.texts]
        else:
            missing = column.missing
            texts = [None if gone else category_text(value) for value, gone in zip(column.values, missing, strict=True)]
        found = np.empty(len(texts), object)
        found[:] = texts
        return column._replace(kind=CATEGORY, values=found)
    if column.missing.all() or (column.kind == CATEGORY and all(map(is_missing_text, column.values))):
        empty = np.full(len(column.values), NO_DATE) if plan.kind == DATE else None
        values = np.full(len(column.values), np.nan) if empty is None else empty
        return column._replace(kind=plan.kind, values=values)
    given, converted, row = column.values, None, int((~column.missing).argmax())
    if is_text or column.kind == CATEGORY:
        given = column.texts if column.texts is not None else column.values
        converted = (as_dates if plan.kind == DATE else as_numbers)(given, plan.notation)
        if converted is None:
            row = unreadable_row(given, plan.notation, plan.kind == DATE)
    if converted is None:
        like = f" as in {plan.notation}" if plan.notation else ""
        raise InputError(
            f"column {column.name!r} held {plan.kind}s{like} during training, but holds {given[row]!r} in row {row}: "
            "correct it, or replace it by a missing value."
        )
    return column._replace(kind=plan.kind, values=converted)
