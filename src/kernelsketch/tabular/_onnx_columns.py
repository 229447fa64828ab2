"""The inputs of a model of tables in ONNX: numbers, dates and categories become numbers and flags of rows.

A column is an input (rows, 1) with the name of the column: a number is float64, NaN where it is missing; a date is
seconds since 1970 in float64; a category is a text, "" where it is missing.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np

from .._array import Array
from ..backends import ReadyTable, RowColumn
from ..exceptions import InputError
from ..serving import OnnxGraph
from ._columns import CYCLES, DATE_PARTS, PLAIN_PARTS
from ._row import RowPlan

CATEGORY, DATE = 3, 2  # kinds of RowColumn
SECONDS_OF_A_DAY, DAYS_OF_400_YEARS = 86400, 146097
STARTS_OF_MONTHS = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])


class OnnxColumns:
    """The numbers and the flags of the rows of a graph, and its inputs.

    Attributes
    ----------
    inputs : list
        The inputs of the graph.
    invalid : str or None
        Flags (rows, 1) of rows that have no prediction, because a number is infinite.
    numbers : str or None
        Numbers of rows, float64 (rows, numbers) with NaN where one is missing.
    n_flags : array
        Number of flags of each column that has flags.
    flag_rows : str or None
        For each column that has flags, the number of the flag that is 1 among those of all columns, of which each has
        one more at its end: no flag. int64 (rows, columns that have flags).
    """

    def __init__(self, g: OnnxGraph, plan: RowPlan, ready: ReadyTable, infinity: str) -> None:
        self._g, self._plan = g, plan
        self._used = [(i, column) for i, column in enumerate(plan.columns) if column.kind]
        if any(column.name == "" for _, column in self._used):
            raise InputError("a column has the name '', which cannot name an input of ONNX: fit the model to a name.")
        self.inputs = [
            (column.name, "string" if column.kind == CATEGORY else "double", [1]) for _, column in self._used
        ]
        self.invalid: str | None = None
        self._numbers: dict[int, str] = {}  # by their places among the numbers of a row
        self._positions: dict[int, str] = {}  # by their places among the columns that have flags
        self.n_flags = _flag_counts(ready)
        self._add_numbers([column for _, column in self._used if column.kind != CATEGORY], infinity)
        for i, column in self._used:
            if column.kind == CATEGORY:
                self._add_category(i, column)

    @cached_property
    def numbers(self) -> str | None:
        return self._g.joined([self._numbers[i] for i in range(len(self._numbers))]) if self._numbers else None

    @cached_property
    def flag_rows(self) -> str | None:
        if not self._positions:
            return None
        g, firsts = self._g, np.cumsum(self.n_flags + 1) - self.n_flags - 1
        positions = g.joined([self._positions[i] for i in range(len(self._positions))])
        absent = g("Less", positions, g.constant(0, np.int64))
        positions = g("Where", absent, g.constant(self.n_flags[None], np.int64), positions)
        return g("Add", positions, g.constant(firsts[None], np.int64))

    def _add_numbers(self, columns: list[RowColumn], infinity: str) -> None:
        g = self._g
        if not columns:
            return
        given = g.joined([column.name for column in columns])
        infinite = g("IsInf", given)
        if infinity == "error":
            self.invalid = g("Not", g.every(g("Not", infinite)))
        given = g("Where", infinite, g.constant(np.nan), given)
        gaps = g("IsNaN", given)
        for place, column in enumerate(columns):
            x = g.taken(given, [place]) if len(columns) > 1 else given
            gap = g.taken(gaps, [place]) if len(columns) > 1 else gaps
            if column.flagged >= 0:
                missing, absent = (g.constant(position, np.int64) for position in (column.missing, -1))
                self._positions[column.flagged] = g("Where", gap, missing, absent)
            if column.kind == DATE:
                days = _Dates(g, g("Where", gap, g.constant(0.0), x))
                for target, part in zip(column.targets, column.parts, strict=True):
                    self._numbers[target] = g("Where", gap, g.constant(np.nan), days.part(DATE_PARTS[part]))
            else:
                self._numbers |= dict.fromkeys(column.targets, x)

    def _add_category(self, i: int, column: RowColumn) -> None:
        g = self._g
        names, numbers, positions = self._plan.table(i)
        texts = [_utf8(name) for name in names]
        kept = [(text, row) for row, text in enumerate(texts, 1) if text is not None]
        row = g.ml(
            "LabelEncoder",
            column.name,
            keys_strings=["", *(text for text, _ in kept)],
            values_int64s=[0, *(place for _, place in kept)],
            default_int64=len(names) + 1,
        )
        if column.flagged >= 0:
            self._positions[column.flagged] = g("Gather", g.constant(positions, np.int64), row)
        for place, target in enumerate(column.targets):
            self._numbers[target] = g("Gather", g.constant(numbers[:, place]), row)


def _flag_counts(ready: ReadyTable) -> Array:
    """Return the number of flags of each column that has flags."""
    is_flag = ready.features[:, 0] < 0
    return np.array([is_flag[a:b].sum() for a, b in pairwise([*ready.starts.tolist(), len(is_flag)])], np.int64)


def _utf8(name: str) -> bytes | None:
    """Return a name as ONNX stores it, or None if it has a lone surrogate, which no input can have."""
    try:
        return name.encode()
    except UnicodeEncodeError:
        return None


class _Dates:
    """Parts of dates (rows, 1), as native/core/tables.h computes them from microseconds since 1970."""

    def __init__(self, g: OnnxGraph, seconds: str) -> None:
        self._g = g
        micro = g("Round", g("Mul", seconds, g.constant(1e6)))
        self._micro, stamp = micro, g.cast(micro, np.int64)
        self._day = self._floor_div(stamp, 1_000_000 * SECONDS_OF_A_DAY)
        self._rest = g("Sub", stamp, g("Mul", self._day, self._whole(1_000_000 * SECONDS_OF_A_DAY)))

    def part(self, name: str) -> str:
        g = self._g
        if name == PLAIN_PARTS[0]:
            return g("Div", self._micro, g.constant(86400e6))
        if name == "month":
            return g.cast(self._month, np.float64)
        if name == "weekday":
            return g.cast(self._weekday, np.float64)
        if name == "hour":
            return g.cast(self._floor_div(self._rest, 3_600_000_000), np.float64)
        cycle, wave = name.split(" ", 1)
        phase = {CYCLES[0]: lambda: self._passed, CYCLES[1]: lambda: self._of_week}.get(cycle, lambda: self._of_year)()
        if wave.endswith("2"):
            phase = g("Add", phase, g.constant(0.75))
        one = g.constant(1.0)
        phase = g("Where", g("GreaterOrEqual", phase, one), g("Sub", phase, one), phase)
        return g("Sub", g("Abs", g("Sub", g("Mul", g.constant(4.0), phase), g.constant(2.0))), one)

    @cached_property
    def _passed(self) -> str:
        return self._g("Div", self._g.cast(self._rest, np.float64), self._g.constant(86400e6))

    @cached_property
    def _weekday(self) -> str:
        return self._g("Mod", self._g("Add", self._day, self._whole(3)), self._whole(7))

    @cached_property
    def _of_week(self) -> str:
        return self._g("Div", self._g.cast(self._weekday, np.float64), self._g.constant(7.0))

    @cached_property
    def _of_year(self) -> str:
        g = self._g
        passed = g("Add", g.cast(self._of_year_day, np.float64), self._passed)
        return g("Div", passed, g.cast(self._days_of_year, np.float64))

    @cached_property
    def _year(self) -> str:
        """The year, which the first guess misses by at most one."""
        g, one = self._g, self._whole(1)
        guess = self._floor_div(g("Mul", self._day, self._whole(400)), DAYS_OF_400_YEARS)
        year = g("Add", guess, self._whole(1970))
        year = g("Where", g("Greater", self._first_day(year), self._day), g("Sub", year, one), year)
        after = g("Add", year, one)
        return g("Where", g("LessOrEqual", self._first_day(after), self._day), after, year)

    @cached_property
    def _of_year_day(self) -> str:
        return self._g("Sub", self._day, self._first_day(self._year))

    @cached_property
    def _days_of_year(self) -> str:
        g = self._g
        return g("Sub", self._first_day(g("Add", self._year, self._whole(1))), self._first_day(self._year))

    @cached_property
    def _month(self) -> str:
        g = self._g
        leap = g("Equal", self._days_of_year, self._whole(366))
        starts = [STARTS_OF_MONTHS + (np.arange(12) > 1) * extra for extra in (1, 0)]
        begun = (g("LessOrEqual", g.constant(part[None], np.int64), self._of_year_day) for part in starts)
        count = [g("ReduceSum", g.cast(part, np.int64), g.constant([1], np.int64), keepdims=1) for part in begun]
        return g("Where", leap, *count)

    def _first_day(self, year: str) -> str:
        """The first day of a year, in days since 1970."""
        g = self._g
        before = g("Sub", year, self._whole(1))
        days = g("Mul", g("Sub", year, self._whole(1970)), self._whole(365))
        for op, every in (("Add", 4), ("Sub", 100), ("Add", 400)):
            days = g(op, days, self._floor_div(before, every))
        return g("Sub", days, self._whole(477))

    def _floor_div(self, x: str, by: int) -> str:
        g, divisor = self._g, self._whole(by)
        return g("Div", g("Sub", x, g("Mod", x, divisor)), divisor)

    def _whole(self, value: int) -> str:
        return self._g.constant(value, np.int64)
