"""CSV rows by Python's csv module: every valid file and every error. It specifies what native code must return."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from .._array import Array
from .._rounding import NUMBER, nearest_float
from ..exceptions import InputError, Sentence, Setting
from ._columns import Columns
from ._encoding import not_utf8
from ._lines import Lines
from ._stream import NotNumbersError

CELL_BYTES = 64  # that a cell of a few letters takes as a string
MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "-"}
_COLUMN = Setting("drop", ...)
_LINE_END = re.compile(r"\r\n|\r|\n")


class Batch(NamedTuple):
    """Some rows of cells, and the line in which each of them ends."""

    rows: list[list[str]]
    ends: list[int]

    def lines(self, count: int) -> Array:
        """Return the lines where the first rows end."""
        return np.array(self.ends[:count], np.int64)

    def line(self, row: int) -> int:
        """Return the line where a row begins: it takes one line, and one more per line end inside its cells."""
        return self.ends[row] - sum(len(_LINE_END.findall(cell)) for cell in self.rows[row])


class Records:
    """The rows of a file without blank lines and without the lines that native code has read."""

    def __init__(self, name: str, lines: Lines, delimiter: str, most_bytes: int) -> None:
        self._name, self._lines, self.delimiter, self._most = name, lines, delimiter, most_bytes
        self._reader = csv.reader(self._texts(), delimiter=delimiter, strict=True)
        self._given_back: Batch | None = None
        self._error: InputError | None = None
        self._size = 0  # bytes that the row takes as cells, as far as it is read

    def _texts(self) -> Iterator[str]:
        while line := self._lines.next():
            self._size += len(line) + CELL_BYTES * line.count(self.delimiter)
            if self._size > self._most:
                raise InputError(
                    f"{self._name}, line {self._lines.count}: the cells of a row take more than {self._most} bytes. "
                    "Look for an unclosed quote or, if the row is right, raise ",
                    Setting("block_bytes"),
                    ".",
                )
            yield line

    @property
    def between_lines(self) -> bool:
        """Whether the next row begins at the next line, so that native code may read it."""
        return self._given_back is None and self._error is None

    def give_back(self, batch: Batch) -> None:
        self._given_back = batch

    def take(self, count: int) -> Batch | None:
        """Return 1 to ``count`` rows, or None at the end. An error is raised after the rows before it were returned.

        There are fewer rows than ``count`` if their cells take much memory.
        """
        if self._given_back is not None:
            batch, self._given_back = self._given_back, None
            return batch
        if self._error is not None:
            raise self._error
        batch, size, self._size = Batch([], []), 0, 0
        try:
            while not batch.rows and self._lines.skip_blank():
                for cells in islice(self._reader, count):
                    if not cells:  # csv takes long for each blank line, and there may be millions of them
                        self._lines.skip_blank()
                        continue
                    batch.rows.append(cells)
                    batch.ends.append(self._lines.count)
                    size, self._size = size + self._size, 0
                    if size > self._most // 4:
                        break
        except (csv.Error, UnicodeDecodeError, InputError) as error:
            self._error = self._explained(error)
            if not batch.rows:
                raise self._error from None
        return batch if batch.rows else None

    def _explained(self, error: Exception) -> InputError:
        line = self._lines.count
        if isinstance(error, UnicodeDecodeError):
            return not_utf8(error, f"{self._name}, line {line + 1}")
        if isinstance(error, csv.Error):
            return InputError(
                f"{self._name}, line {line}: the line cannot be split into cells: {error}. Look for an unclosed quote."
            )
        return error if isinstance(error, InputError) else InputError(str(error))


def delimiter_hint(cells: list[str], delimiter: str) -> Sentence:
    """Return a sentence for errors if the first line has another usual delimiter more often than the one in use."""
    line = delimiter.join(cells)
    other = max(";\t|", key=line.count)
    if other == delimiter or line.count(other) < len(cells):
        return Sentence()
    what, advice = ("tabs", Setting("format", "tsv")) if other == "\t" else (repr(other), Setting("delimiter", other))
    return Sentence(
        f" Its first line has more {what} than {delimiter!r}: pass ", advice, " if they separate the cells."
    )


class CsvColumns:
    """The columns of a file: which are features, and how a bad cell is named. ``hint`` is a sentence for errors."""

    def __init__(self, name: str, columns: Columns, names: tuple[str, ...] | None, hint: str = "") -> None:
        self._name, self.columns, self._names, self._hint = name, columns, names, hint
        self.width, self.label = columns.width, columns.label
        self.n_features = len(columns.features)
        self._features_of = columns.features_of()

    def place(self, batch: Batch, row: int, column: int) -> str:
        named = f" ({self._names[column]!r})" if self._names else ""
        return f"{self._name}, line {batch.line(row)}, column {column + 1}{named}"

    def place_of_label(self, batch: Batch, row: int) -> str:
        return self.place(batch, row, self.label or 0)

    def good_rows(self, batch: Batch) -> tuple[int, InputError | None]:
        """Return the number of rows before the first with another number of cells, and the fault of that one."""
        rows, width = batch.rows, self.width
        good = next((k for k, cells in enumerate(rows) if len(cells) != width), len(rows))
        if good == len(rows):
            return good, None
        return good, InputError(
            f"{self._name}, line {batch.line(good)}: the row has {len(rows[good])} cells, the first has {width}. "
            "Quote cells that hold the delimiter.",
            self._hint,
        )

    def split(self, batch: Batch, dtype: Any) -> tuple[Array, list[str], InputError | None]:
        """Return the features as numbers and the label cells up to the first faulty row, and the fault."""
        rows, label = batch.rows, self.label
        good, fault = self.good_rows(batch)
        if label is None and self.columns.are_usual:
            flat = list(chain.from_iterable(rows[:good]))
        else:
            flat = list(chain.from_iterable(map(self._features_of, rows[:good])))
        X = np.empty((good, self.n_features), dtype)
        if not _fill_quickly(flat, X):
            for k, cell in enumerate(flat):
                number = _number(cell, X.dtype)
                if isinstance(number, Sentence):
                    good, feature = divmod(k, self.n_features)
                    place = self.columns.features[feature]
                    name = self._names[place] if self._names else place
                    number = Sentence(*(Setting("drop", name) if part is _COLUMN else part for part in number.parts))
                    fault = NotNumbersError(f"{self.place(batch, good, place)}: ", number, ".", self._hint)
                    break
                X.flat[k] = number
        return X[:good], [] if label is None else [cells[label] for cells in rows[:good]], fault

    def carried(self, batch: Batch, count: int) -> dict[str, Array]:
        """Return the cells of the columns that are carried beside the first rows of a batch."""
        found = {}
        for name, place in self.columns.carried.items():
            found[name] = np.empty(count, object)
            found[name][:] = [row[place] for row in batch.rows[:count]]
        return found


def _number(cell: str, dtype: Any) -> float | Sentence:
    """Return the number, or a sentence about what is wrong, in which ``_COLUMN`` stands for the column."""
    if NUMBER.fullmatch(cell):
        value = float(nearest_float(cell.strip(), dtype))
        if math.isfinite(value):
            return value
        return Sentence(f"{cell!r} is too large for {dtype}. Scale the feature, or clip it")
    if cell.strip().lower() in MISSING:
        advice = "Impute it first, for example with sklearn.impute.SimpleImputer, or leave the column out with "
        return Sentence(f"the value is missing ({cell!r}). {advice}", _COLUMN)
    shown = cell if len(cell) <= 40 else cell[:40] + "..."
    return Sentence(
        f"{shown!r} is not a number. Encode the column, for example with sklearn.preprocessing.OneHotEncoder, leave it "
        "out with ",
        _COLUMN,
        ", or name it with ",
        Setting("label", ...),
        " if it has the labels",
    )


def _fill_quickly(cells: list[str], X: Array) -> bool:
    """Convert all cells at once; return False if some cell may not be a number by our rules."""
    text = "".join(cells)
    # float() accepts more than we do: underscores, digits and blanks of other scripts, nan and inf.
    if not (text.isascii() and text.isprintable()) or "_" in text:
        return False
    try:
        numbers = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return False
    with np.errstate(over="ignore"):
        X[...] = numbers.reshape(X.shape)
    if not np.isfinite(X).all():
        return False
    if X.dtype == np.float32:
        for k in np.flatnonzero(_between_floats(numbers, X.ravel())):  # rounded twice: round in one step
            X.flat[k] = nearest_float(cells[k].strip(), X.dtype)
    return True


def _between_floats(numbers: Array, floats: Array) -> Array:
    """Return where a float64 lies exactly between the float32 that it became and the next one."""
    step = numbers - floats
    with np.errstate(over="ignore"):
        other = np.nextafter(floats, np.copysign(np.inf, step).astype(np.float32))
    between: Array = (step != 0) & (other - numbers == step)
    return between
