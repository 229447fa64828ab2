"""Scores of parts of the rows, by the values of a column: which rows does a model predict badly?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from .._array import Array
from .._rounding import float_of
from ._errors import UsageError

FEW_ROWS = 30  # with fewer rows a slice is marked
MOST_VALUES = 20  # slices of a column; the rarer values share one
MOST_NUMBERS = 10  # different numbers that are slices of their own; more become quartiles
ROOTS = {"mean_squared_error": "root_mean_squared_error"}  # scores of which the root is shown
FEWEST_VALUES = 1000  # for which there is always room
VALUE_BYTES = 800  # of a value with its sums, also while they move to more room


class SliceScores:
    """Sums scores of rows by the value of one column. Scores are means over rows, with their standard errors."""

    def __init__(self, column: str, memory: int) -> None:
        self.column, self._most = column, max(FEWEST_VALUES, memory // VALUE_BYTES)
        self._numbers: dict[Any, int] = {}  # of values, in the order of the rows
        self._names: tuple[str, ...] = ()
        # Of each value: rows, and for each score its rows, its sum and its sum of squares.
        self._sums: Array = np.zeros((0, 0))

    def add(self, values: Any, scores: Mapping[str, Array]) -> None:
        """Add the values of rows in the column, and their scores, which are NaN where a row has none."""
        from ..tabular import is_missing_text  # which the page of dedup must not import

        keys = (_key(value, is_missing_text) for value in values.tolist())
        places = np.array([self._numbers.setdefault(key, len(self._numbers)) for key in keys], np.intp)
        self._names = tuple(scores)
        columns = [np.ones(len(places))]
        for score in scores.values():
            plain = np.nan_to_num(score, posinf=0, neginf=0)
            with np.errstate(over="ignore"):
                columns += [np.isfinite(score), plain, plain**2]
        if len(self._numbers) > len(self._sums):
            grown = np.zeros((max(len(self._numbers), 2 * len(self._sums)), len(columns)))
            grown[: len(self._sums)] = self._sums if len(self._sums) else 0
            self._sums = grown
        np.add.at(self._sums, places, np.column_stack(columns))

    def check_room(self) -> None:
        """Refuse a column with more values than memory has room for."""
        if len(self._numbers) > self._most:
            raise UsageError(
                f"--slice {self.column}: the column has more than {self._most:,} different values, for which --memory "
                "has no room: name a column with fewer values, or pass a larger --memory."
            )

    def facts(self) -> dict[str, Any]:
        """Return the slices with their rows and scores."""
        kind, groups = self._groups()
        return {"column": self.column, "kind": kind, "slices": [self._slice(*group) for group in groups]}

    def _slice(self, value: Any, numbers: list[int]) -> dict[str, Any]:
        sums = self._sums[numbers].sum(axis=0)
        found = {"value": value, "rows": int(sums[0]), "few_rows": bool(sums[0] < FEW_ROWS)}
        for i, name in enumerate(self._names):
            n, total, squares = sums[3 * i + 1 : 3 * i + 4]
            mean, error = total / n if n else math.nan, math.nan
            if n > 1 and math.isfinite(squares):
                error = math.sqrt(max(0.0, squares / n - mean**2) / n)
            if name in ROOTS:
                name, mean = ROOTS[name], math.sqrt(mean)
                error = error / (2 * mean) if mean else error
            found[name], found[f"{name}_standard_error"] = _known(mean), _known(error)
        return found

    def _groups(self) -> tuple[str, list[tuple[Any, list[int]]]]:
        """Return how the values were grouped, and the groups: what to call each, and the numbers of its values."""
        known = {key: number for key, number in self._numbers.items() if key is not None}
        missing = [(None, [self._numbers[None]])] if None in self._numbers else []
        as_numbers: dict[Any, Any] = {key: float_of(key) if isinstance(key, str) else key for key in known}
        if known and all(isinstance(value, (int, float)) for value in as_numbers.values()):
            in_order = sorted(known, key=lambda key: as_numbers[key])
            if len(set(as_numbers.values())) > MOST_NUMBERS:
                return "quartiles", [*self._quartiles(in_order, as_numbers), *missing]
            return "values", [*((key, [known[key]]) for key in in_order), *missing]
        by_rows = sorted(known, key=lambda key: -self._sums[known[key], 0])
        most = MOST_VALUES if len(by_rows) <= MOST_VALUES else MOST_VALUES - 1
        groups = [(key, [known[key]]) for key in by_rows[:most]]
        if len(by_rows) > most:
            rest = by_rows[most:]
            groups.append((f"{len(rest):,} other values", [known[key] for key in rest]))
        return "values", [*groups, *missing]

    def _quartiles(self, in_order: list[Any], as_numbers: dict[Any, Any]) -> Iterator[tuple[str, list[int]]]:
        """Yield the quarters of the rows, as far as equal values allow."""
        rows = np.cumsum([self._sums[self._numbers[key], 0] for key in in_order])
        quarter = 4 * (rows - 1) // rows[-1]
        for number in range(4):
            keys = [key for key, of_key in zip(in_order, quarter.tolist(), strict=True) if of_key == number]
            if keys:
                first, last = as_numbers[keys[0]], as_numbers[keys[-1]]
                name = f"{first:.6g}" if first == last else f"{first:.6g} to {last:.6g}"
                yield name, [self._numbers[key] for key in keys]


def _key(value: Any, is_missing: Callable[[str], bool]) -> Any:
    """Return a value by which rows are put together; None where it is missing."""
    if isinstance(value, str):
        return None if is_missing(value) else value.strip()
    if value is None or value != value:
        return None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def slice_table(found: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns of a table of slices, and its rows."""
    formats = {name: shown for name, shown in _FORMATS.items() if name in found["slices"][0]}
    return ["value", "rows", *(_NAMES.get(name, name) for name in formats)], _cells(found, formats)


def _percent(value: float, error: float | None) -> str:
    return f"{100 * value:.1f}{'' if error is None else f' ± {100 * error:.1f}'} %"


def _number(value: float, error: float | None) -> str:
    return f"{value:.4g}{'' if error is None else f' ± {error:.2g}'}"


def _share(value: float, _: float | None) -> str:
    return f"{100 * value:.1f} %"


_FORMATS: dict[str, Callable[[float, float | None], str]] = {
    "accuracy": _percent,
    "log_loss": _number,
    "observed": _share,
    "predicted": _share,
    **dict.fromkeys(("root_mean_squared_error", "mean_absolute_error", "mean_error"), _number),
}
_NAMES = {
    "log_loss": "log-loss",
    "observed": "positive",
    "predicted": "predicted",
    "root_mean_squared_error": "RMSE",
    "mean_absolute_error": "MAE",
    "mean_error": "mean error",
}


def _cells(found: dict[str, Any], formats: Mapping[str, Callable[[float, float | None], str]]) -> list[list[str]]:
    """Return a table of slices: value, rows, and the scores with their standard errors."""
    rows = []
    for one in found["slices"]:
        cells = ["missing" if one["value"] is None else str(one["value"])]
        cells.append(f"{one['rows']:,}{' (few)' if one['few_rows'] else ''}")
        for name, shown in formats.items():
            value, error = one[name], one[f"{name}_standard_error"]
            cells.append("-" if value is None else shown(value, error))
        rows.append(cells)
    return rows
