"""``open_table``: columns of values as CSV, TSV, JSONL, Parquet or lines of text, written block by block."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

import numpy as np

from ..exceptions import InputError, Setting
from ._arrow import pyarrow_module
from ._detect import BY_ENDING
from ._source import endings
from ._write import STANDARD_OUTPUT, encoded, open_target, open_text

TABLE_FORMATS = ("csv", "tsv", "jsonl", "parquet", "text")
_REFUSED = {".json": "one JSON value", ".xls": "an Excel file", ".xlsx": "an Excel file"}  # not text by surprise
_BY_ENDING = BY_ENDING | {".jsonl": "jsonl", ".ndjson": "jsonl"} | _REFUSED
_DELIMITERS = {"csv": ",", "tsv": "\t"}


class Chosen(NamedTuple):
    """A column of values that are all from ``among``, or of lists of such values."""

    values: list[Any]
    among: list[Any]


def table_format(path: Any, format: str | None = None) -> str:
    """Return the format of a table: the given one, that of the ending, or text if the name has no such ending."""
    compression, ending = endings(os.fspath(path))
    found = format or _BY_ENDING.get(ending, "text")
    if found not in TABLE_FORMATS:
        raise InputError(
            f"{os.fspath(path)}: a table is not written as {found}: choose a name that ends in .csv, .tsv, .jsonl or "
            ".parquet, or pass ",
            Setting("format", ...),
            f" with one of {', '.join(TABLE_FORMATS)}.",
            parameter="format",
        )
    if found == "parquet" and (compression or os.fspath(path) in STANDARD_OUTPUT):
        raise InputError(
            f"parquet can be written to uncompressed files only, got {os.fspath(path)!r}: choose another name, or "
            "pass ",
            Setting("format", "csv"),
            ".",
            parameter="format",
        )
    return found


@contextmanager
def open_table(
    path: Any, format: str, names: Sequence[str] | None = None, *, rounded: Collection[str] = ()
) -> Iterator[Any]:
    """Open a file for a table; it appears when the block ends without an error.

    The writer has the method ``write(columns)``, which takes a block: values by the names of the columns, each an
    array, an array of pyarrow, :class:`Chosen` or, for JSONL, a list of anything. NaN and None are missing values.
    ``names`` are those of the columns, if they are known before the first block. As text, a table of one column has no
    line of names, and the columns ``rounded`` have six digits.
    """
    if format == "parquet":
        pyarrow_module("pyarrow.parquet")  # says at once that it is missing
    with open_target(path) if format == "parquet" else open_text(path) as file:
        writer = _ParquetWriter(file, path) if format == "parquet" else _LineWriter(file, format, rounded)
        if names is not None:
            writer.begin(names)
        try:
            yield writer
            writer.close()
        except BaseException:
            writer.abandon()
            raise


class _LineWriter:
    """Writes a line per row."""

    def __init__(self, file: IO[bytes], format: str, rounded: Collection[str]) -> None:
        self._file, self._format, self._rounded = file, format, set(rounded)
        self._names: list[str] | None = None

    def begin(self, names: Sequence[str]) -> None:
        """Write the names of the columns, if the format has them."""
        self._names = list(names)
        if self._format in _DELIMITERS:
            self._file.write(self._cells([self._names]))
        elif self._format == "text" and len(names) > 1:
            self._file.write(encoded("\t".join(map(_one_line, names)) + "\n"))

    def write(self, columns: Mapping[str, Any]) -> None:
        if self._names is None:
            self.begin(list(columns))
        assert self._names is not None
        rows = zip(*(_plain_values(columns[name]) for name in self._names), strict=True)
        if self._format == "jsonl":
            lines = [json.dumps(dict(zip(self._names, row, strict=True)), default=str) for row in rows]
            self._file.write(encoded("".join(f"{line}\n" for line in lines)))
        elif self._format == "text":
            self._file.write(encoded("".join("\t".join(self._texts(row)) + "\n" for row in rows)))
        else:
            self._file.write(self._cells([_as_cell(value) for value in row] for row in rows))

    def _cells(self, rows: Any) -> bytes:
        text = io.StringIO()
        csv.writer(text, delimiter=_DELIMITERS[self._format], lineterminator="\n").writerows(rows)
        return encoded(text.getvalue())

    def _texts(self, row: tuple[Any, ...]) -> Iterator[str]:
        for name, value in zip(self._names or (), row, strict=True):
            if name in self._rounded and isinstance(value, float):
                yield f"{value:.6g}"
            else:
                yield _one_line(str(_as_cell(value))) if len(row) > 1 else str(value)

    def flush(self) -> None:
        """Make readers of a pipe see the rows so far."""
        self._file.flush()

    def close(self) -> None:
        """Nothing is left to write."""

    def abandon(self) -> None:
        """Nothing is open."""


class _ParquetWriter:
    """Writes a row group per block, or a few."""

    def __init__(self, file: IO[bytes], path: Any) -> None:
        self._file, self._path = file, path
        self._writer: Any = None

    def begin(self, names: Sequence[str]) -> None:
        """The types are those of the first block."""

    def write(self, columns: Mapping[str, Any]) -> None:
        pa = pyarrow_module("pyarrow")
        batch = pa.table({name: _arrow_array(pa, values) for name, values in columns.items()})
        if self._writer is None:
            self._writer = pyarrow_module("pyarrow.parquet").ParquetWriter(pa.PythonFile(self._file, "w"), batch.schema)
        self._writer.write_table(batch.cast(self._writer.schema))

    def flush(self) -> None:
        """Readers need the whole file."""

    def close(self) -> None:
        if self._writer is None:
            raise InputError(
                f"{self._path}: there are no rows, so the types of the columns, which Parquet needs, are not known: "
                "write CSV or JSONL."
            )
        self._writer.close()

    def abandon(self) -> None:
        if self._writer is not None:
            self._writer.close()  # otherwise it would close itself later, when the file is gone


def _arrow_array(pa: Any, values: Any) -> Any:
    if isinstance(values, Chosen):
        kind = pa.array(values.among).type
        return pa.array(values.values, pa.list_(kind) if values.values and isinstance(values.values[0], list) else kind)
    if isinstance(values, np.ndarray):
        is_text = values.dtype.kind in "OU"
        return pa.array(values.tolist(), pa.string()) if is_text else pa.array(values, from_pandas=True)
    return values


def _plain_values(values: Any) -> list[Any]:
    """Return values of Python, with None where one is missing."""
    found = values.values if isinstance(values, Chosen) else values if isinstance(values, list) else values.tolist()
    return [None if value != value else value for value in found]


def _as_cell(value: Any) -> Any:
    """Return a value as a cell holds it; a list is written as JSON."""
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else value


def _one_line(text: str) -> str:
    """Return a text without tabs and line ends, which would be read as the ends of fields and rows."""
    return " ".join(text.split()) if any(letter in text for letter in "\t\r\n") else text
