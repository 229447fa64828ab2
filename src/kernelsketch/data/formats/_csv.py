"""CSV and TSV, in: cells of numbers, one column of them the label. Quoting is that of Python's csv module."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from ..._validation import Array
from ...exceptions import InputError
from ._labels import NUMBER, Labels
from ._source import Source
from ._stream import Opened, Options, Rows, column_number

MOST_LINE = 1 << 28
MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "-"}
_BATCH = 1 << 16  # cells that are text at a time
_LINE_END = re.compile(r"\r\n|\r|\n")


def open_tsv(source: Source, options: Options) -> Opened:
    return open_csv(source, replace(options, delimiter=options.delimiter or "\t"))


def open_csv(source: Source, options: Options) -> Opened:
    records = _Records(source, options.delimiter or ",")
    first = records.take(1)
    if first is None:
        raise InputError(f"{source.name} has no line with cells: it is empty.")
    cells = first.rows[0]
    header = options.header
    if header is None:
        header = isinstance(options.label, str) or _is_header(cells, options.label)
    names = tuple(cell.strip() for cell in cells) if header else None
    label = None if options.label is None else column_number(options.label, names, len(cells), source.name)
    features = [j for j in range(len(cells)) if j != label]
    if not features:
        raise InputError(f"{source.name} has no column besides the label: is delimiter={records.delimiter!r} right?")
    if options.n_features not in (None, len(features)):
        raise InputError(f"{source.name} has {len(features)} columns of features, but n_features={options.n_features}.")
    if not header:
        records.give_back(first)
    feature_names = None if names is None else tuple(names[j] for j in features)
    table = _Table(source.name, len(cells), label, features, names)
    return Opened(_blocks(records, table, options), len(features), None, feature_names)


def _is_header(cells: list[str], label: Any) -> bool:
    """Whether some cell of a feature is a word, neither a number nor missing."""
    skipped = label % len(cells) if isinstance(label, int) and -len(cells) <= label < len(cells) else None
    words = (cell for j, cell in enumerate(cells) if j != skipped and cell.strip().lower() not in MISSING)
    return any(not NUMBER.fullmatch(cell) for cell in words)


class _Batch:
    """Some rows of cells; ``records`` has the blank lines too, and starts after the line ``start``."""

    def __init__(self, records: list[list[str]], start: int) -> None:
        self.rows = [cells for cells in records if cells]
        self._records, self._start = records, start

    def line(self, row: int) -> int:
        """Where a row begins: each record takes a line, and one more for each line end inside it."""
        line = self._start + 1
        for cells in self._records:
            if cells:
                if row == 0:
                    break
                row -= 1
            line += 1 + sum(len(_LINE_END.findall(cell)) for cell in cells)
        return line


class _Records:
    """Rows of a file; blank lines are none."""

    def __init__(self, source: Source, delimiter: str) -> None:
        self._name, self.delimiter = source.name, delimiter
        text = io.TextIOWrapper(source.file, "utf-8-sig", newline="")
        self._reader = csv.reader(self._lines(text), delimiter=delimiter, strict=True)
        self._waiting: _Batch | None = None
        self._error: InputError | None = None

    def _lines(self, text: io.TextIOWrapper) -> Iterator[str]:
        while line := text.readline(MOST_LINE):
            if len(line) == MOST_LINE:
                raise InputError(f"{self._name} has a line of {MOST_LINE} characters or more: is it CSV?")
            yield line

    def give_back(self, batch: _Batch) -> None:
        self._waiting = batch

    def take(self, count: int) -> _Batch | None:
        """At most ``count`` rows, one at least; None at the end. An error waits until the rows before it are read."""
        if self._waiting is not None:
            batch, self._waiting = self._waiting, None
            return batch
        while True:
            if self._error is not None:
                raise self._error
            records: list[list[str]] = []
            start = self._reader.line_num
            try:
                records.extend(islice(self._reader, count))
            except (csv.Error, UnicodeDecodeError, InputError) as error:
                self._error = self._explained(error)
            else:
                if not records:
                    return None
            if any(records):
                return _Batch(records, start)

    def _explained(self, error: Exception) -> InputError:
        line = self._reader.line_num
        if isinstance(error, UnicodeDecodeError):
            return InputError(
                f"{self._name}, after line {line}: the text is not UTF-8 ({error.reason}). Convert the file."
            )
        if isinstance(error, csv.Error):
            return InputError(
                f"{self._name}, line {line}: the cells cannot be told apart: {error}. "
                "Look for a quote that is not closed."
            )
        return error if isinstance(error, InputError) else InputError(str(error))


class _Table:
    """The columns of a file: which are features, and how a bad cell is named."""

    def __init__(
        self, name: str, width: int, label: int | None, features: list[int], names: tuple[str, ...] | None
    ) -> None:
        self._name, self._width, self.label, self.features, self._names = name, width, label, features, names

    def place(self, batch: _Batch, row: int, column: int) -> str:
        named = f" ({self._names[column]!r})" if self._names else ""
        return f"{self._name}, line {batch.line(row)}, column {column + 1}{named}"

    def split(self, batch: _Batch, dtype: Any) -> tuple[Array, list[str]]:
        """Numbers of the features, and cells of the label."""
        rows, label, width = batch.rows, self.label, self._width
        good = next((k for k, cells in enumerate(rows) if len(cells) != width), len(rows))
        texts = [] if label is None else [cells[label] for cells in rows[:good]]
        if label is None:
            flat = list(chain.from_iterable(rows[:good]))
        else:
            flat = list(chain.from_iterable(cells[:label] + cells[label + 1 :] for cells in rows[:good]))
        X = np.empty((good, len(self.features)), dtype)
        if not _fill_quickly(flat, X):
            for k, cell in enumerate(flat):
                X.flat[k] = self._number(cell, dtype, batch, k)
        if good < len(rows):
            raise InputError(
                f"{self._name}, line {batch.line(good)}: the row has {len(rows[good])} cells, the first has {width}. "
                "Quote cells that hold the delimiter."
            )
        return X, texts

    def _number(self, cell: str, dtype: Any, batch: _Batch, k: int) -> float:
        if NUMBER.fullmatch(cell):
            with np.errstate(over="ignore"):
                value = float(np.dtype(dtype).type(float(cell)))
            if math.isfinite(value):
                return value
            what = f"{cell!r} is too large for {dtype}. Scale the feature, or clip it"
        elif cell.strip().lower() in MISSING:
            what = f"the value is missing ({cell!r}). Impute it first, for example with sklearn.impute.SimpleImputer"
        else:
            shown = cell if len(cell) <= 40 else cell[:40] + "..."
            what = f"{shown!r} is not a number. Encode it, or name the column of labels with label="
        row, feature = divmod(k, len(self.features))
        raise InputError(f"{self.place(batch, row, self.features[feature])}: {what}.")


def _fill_quickly(cells: list[str], X: Array) -> bool:
    """False if some cell is not a number by our rules; it is then looked for one by one."""
    text = "".join(cells)
    # float() takes more than we do: underscores, digits and blanks of other scripts, nan and inf.
    if not (text.isascii() and text.isprintable()) or "_" in text:
        return False
    try:
        numbers = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return False
    with np.errstate(over="ignore"):
        X[...] = numbers.reshape(X.shape)
    return bool(np.isfinite(X).all())


def _blocks(records: _Records, table: _Table, options: Options) -> Iterator[Rows]:
    dtype = np.dtype(np.float64 if options.dtype is None else options.dtype)
    width = len(table.features)
    rows = options.rows_a_block(width, dtype.itemsize)
    step = max(1, _BATCH // width)
    labels = Labels(options.text_labels)
    while True:
        Xs: list[Array] = []
        ys: list[Array] = []
        count = 0
        while count < rows and (batch := records.take(min(step, rows - count))) is not None:
            X, texts = table.split(batch, dtype)
            Xs.append(X)
            if table.label is not None:
                ys.append(labels.of_texts(texts, partial(_place_of_label, table, batch)))
            count += len(X)
        if not Xs:
            return
        yield Rows(np.concatenate(Xs), np.concatenate(ys) if ys else None)


def _place_of_label(table: _Table, batch: _Batch, row: int) -> str:
    return table.place(batch, row, table.label or 0)
