"""CSV and TSV, read: cells of numbers, or a table as it is, and one column of labels. Quoting is that of Python's csv.

Native code reads ordinary lines of numbers, and stops before any other line; Python (``_cells.py``) reads that one.
Python also reads the first rows where they decide whether labels are strings, and the cells of tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._array import Array
from .._rounding import NUMBER
from ..exceptions import InputError, Sentence, Setting
from ._cells import CELL_BYTES, MISSING, CsvColumns, Records, delimiter_hint
from ._columns import columns_of
from ._labels import LabelColumn, joined_labels, numbered_texts
from ._lines import Lines, longest_line
from ._native_text import CsvTaken, distinct_texts, parse_csv
from ._source import Source
from ._stream import Opened, Options, RowBlock, wrong_width

_BATCH = 1 << 16  # cells that are text at a time
_CHUNK = 1 << 20  # bytes of text for a thread
_LEAST_CHUNK = 1 << 16


def open_tsv(source: Source, options: Options) -> Opened:
    return open_csv(source, replace(options, delimiter=options.delimiter or "\t"))


def open_csv(source: Source, options: Options) -> Opened:
    start = _begin(source, options)
    blocks = _table_blocks(start, options) if options.as_table else _Reader(start, options).blocks()
    table = start.table
    names, places = (start.feature_names, start.label_name, start.names), table.columns.features
    return Opened(blocks, table.n_features, None, names[0], options.as_table, names[1], names[2], places)


class _Start(NamedTuple):
    """A file of which the header has been read."""

    lines: Lines
    records: Records
    table: CsvColumns
    names: tuple[str, ...] | None
    feature_names: tuple[str, ...] | None
    label_name: str | None


def _begin(source: Source, options: Options) -> _Start:
    """Read the header, if there is one."""
    chunk = max(_LEAST_CHUNK, min(_CHUNK * options.threads, options.block_bytes))
    most = longest_line(options.block_bytes)
    lines = Lines(source, chunk, most)
    records = Records(source.name, lines, options.delimiter or ",", most)
    first = records.take(1)
    if first is None:
        raise InputError(f"{source.name} is empty: it has no line with cells.")
    cells = first.rows[0]
    header = _has_header(cells, options, source.name)
    names = tuple(cell.strip() for cell in cells) if header else None
    hint = delimiter_hint(cells, records.delimiter) if options.delimiter is None else ""
    try:
        columns = columns_of(options, names, len(cells), source.name)
    except InputError as error:
        raise InputError(error.message, hint, parameter=error.parameter) from None
    if not header and options.header is None and not all(_are_numbers(cells, columns.label)):
        hint = Sentence(hint, " If the first line holds names, pass ", Setting("header", True), ".")
    table = CsvColumns(source.name, columns, names, hint)
    width = table.n_features
    if not width:
        advice = hint or Sentence(" Check that ", Setting("delimiter", records.delimiter), " is right.")
        raise InputError(f"{source.name} has no column besides the label.", advice)
    if options.n_features not in (None, width):
        raise wrong_width(source.name, f"{width} columns of features", options)
    if not header:
        records.give_back(first)
    feature_names = None if names is None else tuple(names[place] for place in columns.features)
    label_name = None if names is None or columns.label is None else names[columns.label]
    return _Start(lines, records, table, names, feature_names, label_name)


def _has_header(cells: list[str], options: Options, name: str) -> bool:
    """Return whether the first line has names: those of the first part, if the file is a part of a table."""
    if options.header is not None:
        return options.header
    stripped, first = [cell.strip() for cell in cells], options.part_of
    looks_so = _names_a_table(cells) if options.as_table else _is_header(cells, options.label)
    if first is None:
        is_named = isinstance(options.label, str) and (options.label_beside is None or options.label in stripped)
        is_named = is_named or any(isinstance(column, str) and column in stripped for column in options.drop or ())
        named = {*(options.carry or ()), *(column for _, column in options.beside or ())}
        return is_named or not named.isdisjoint(stripped) or looks_so
    if first.columns is not None and set(stripped) == set(first.columns):
        return True
    if looks_so != (first.columns is not None):
        found = ("no line of names", "has one") if first.columns else ("a line of names", "has none")
        raise InputError(
            f"{name} begins with {found[0]}, but {first.name} {found[1]}: give all parts of a table the line, or join "
            "them to one file. If the first line is taken for the wrong one, pass ",
            Setting("header", True),
            " or ",
            Setting("header", False),
            ".",
        )
    return looks_so


def _is_header(cells: list[str], label: Any) -> bool:
    """Return whether the feature cells have words and no numbers. A line with both is a row with a bad cell."""
    are_numbers = _are_numbers(cells, label)
    return bool(are_numbers) and not any(are_numbers)


def _names_a_table(cells: list[str]) -> bool:
    """Return whether the first line has names: words in all cells, of which the first may be empty.

    Categories are words too, so one gap, one number, or one cell of digits without letters, such as a date or an
    amount, makes it a row.
    """
    return not any(map(_is_value, cells)) and all(cell.strip() for cell in cells[1:])


def _is_value(cell: str) -> bool:
    return NUMBER.fullmatch(cell) is not None or (any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell)))


def _are_numbers(cells: list[str], label: Any) -> list[bool]:
    """Return whether feature cells that are not missing are numbers."""
    skipped = label % len(cells) if isinstance(label, int) and -len(cells) <= label < len(cells) else None
    known = (cell for j, cell in enumerate(cells) if j != skipped and cell.strip().lower() not in MISSING)
    return [NUMBER.fullmatch(cell) is not None for cell in known]


def _table_blocks(start: _Start, options: Options) -> Iterator[RowBlock]:
    """Yield cells of text with gaps. No cell has to be a number."""
    table, records = start.table, start.records
    labels = LabelColumn(options.text_labels, options.block_bytes, ignored=options.ignore_labels)
    while (batch := records.take(options.rows_a_block(table.width, CELL_BYTES))) is not None:
        good, fault = table.good_rows(batch)
        cells = np.empty((good, table.width), object)
        for row in range(good):
            cells[row] = batch.rows[row]
        X, y = cells, None
        if table.label is not None:
            y = labels.of_texts(cells[:, table.label].tolist(), partial(table.place_of_label, batch))
        if len(table.columns.features) < table.width:
            X = cells[:, table.columns.features]
        if fault is not None:
            raise fault
        carried = table.carried(batch, good)
        yield RowBlock(X, y, None, carried, batch.lines(good) if carried else None)


class _Reader:
    """Fills blocks, by native code where that can read the lines."""

    def __init__(self, start: _Start, options: Options) -> None:
        self._lines, self._records, self._table = start.lines, start.records, start.table
        self._threads = options.threads
        self._dtype = np.dtype(np.float64 if options.dtype is None else options.dtype)
        self._width = self._table.n_features
        self._rows = options.rows_a_block(self._width, self._dtype.itemsize)
        self._step = max(1, _BATCH // self._width)  # rows that Python reads at a time, at most
        self._turn = 1  # the same once native code has begun: more if it does not get far between
        self._smooth = True  # whether native code took all that it was given, the last time
        self._labels = LabelColumn(options.text_labels, options.block_bytes, ignored=options.ignore_labels)
        self._block_bytes = options.block_bytes
        columns = self._table.columns
        self._is_native, self._left_out = not columns.carried, columns.left_out()
        if not self._is_native:
            self._turn = self._step
        self._carried: list[dict[str, Any]] = []  # of the batches of a block
        self._ends: list[Array] = []

    def blocks(self) -> Iterator[RowBlock]:
        room = min(self._rows, self._step)
        while True:
            X = np.empty((room, self._width), self._dtype)
            ys: list[Array] = []
            count = 0
            while count < self._rows:
                if count == len(X):  # nothing else refers to X
                    room = min(self._rows, 2 * room)
                    X.resize((room, self._width), refcheck=False)
                if not (taken := self._natively(X[count:], ys) or self._by_python(X[count:], ys)):
                    break
                count += taken
            if not count:
                return
            X.resize((count, self._width), refcheck=False)
            y = joined_labels(ys, self._block_bytes) if ys else None
            yield RowBlock(X, y, None, *self._taken_carried())

    def _taken_carried(self) -> tuple[dict[str, Any], Array | None]:
        """Return the columns that are carried beside the rows of a block, and the lines of these rows."""
        if not self._ends:
            return {}, None
        carried = {name: np.concatenate([part[name] for part in self._carried]) for name in self._carried[0]}
        lines, self._carried, self._ends = np.concatenate(self._ends), [], []
        return carried, lines

    def _by_python(self, X: Array, ys: list[Array]) -> int:
        undecided = self._table.label is not None and self._labels.text is None
        batch = self._records.take(min(len(X), self._step if undecided else self._turn))
        if batch is None:
            return 0
        found, texts, fault = self._table.split(batch, self._dtype)
        if self._table.label is not None:
            ys.append(self._labels.of_texts(texts, partial(self._table.place_of_label, batch)))
        if fault is not None:
            raise fault
        X[: len(found)] = found
        if self._table.columns.carried:
            self._carried.append(self._table.carried(batch, len(found)))
            self._ends.append(batch.lines(len(found)))
        return len(found)

    def _natively(self, X: Array, ys: list[Array]) -> int:
        label, is_text = self._table.label, self._labels.text
        if not (self._is_native and self._records.between_lines) or (label is not None and is_text is None):
            return 0
        text = self._lines.waiting()
        X = X[: len(text) // (2 * self._width)]  # a number takes at least two bytes
        y = None if label is None else np.empty((len(X), 2), np.int64) if is_text else np.empty(len(X))
        threads = self._threads if self._smooth else 1  # work of threads beyond a line that is not ordinary is lost
        taken = parse_csv(text, self._records.delimiter, label, X, y, threads, self._left_out)
        if y is not None:
            y = y[: taken.rows]
            if is_text:
                labels = _decoded(text[: taken.bytes], y, self._block_bytes)
            else:
                labels = None if self._labels.may_be_inexact(y) else y
            if labels is None:
                taken = CsvTaken(0, 0, 0)
            else:
                ys.append(labels)
        self._lines.take(taken.lines, taken.bytes)
        self._smooth = taken.rows == len(X) or taken.bytes == len(text)
        self._turn = 1 if taken.rows > 10 * self._turn else min(2 * self._turn, self._step)
        return taken.rows


def _decoded(text: Array, at: Array, most: int) -> Array | None:
    """Return the labels, or None if one is missing or not UTF-8."""
    places, numbers = distinct_texts(text, at)
    known = text.tobytes()
    try:
        labels = [known[begin:end].decode() for begin, end in places.tolist()]
    except UnicodeDecodeError:
        return None
    if any(label.isspace() for label in labels):
        return None
    return numbered_texts(labels, numbers, most)
