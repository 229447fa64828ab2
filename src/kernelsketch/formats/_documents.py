"""Documents: records with a text, in JSONL, CSV, TSV, Parquet and Arrow files, lines of text, folders of text files.

``DocumentStream`` reads blocks of documents, whose records stay as they are in the file, so that ``DocumentWriter``
(``_document_writer.py``) writes those that stay unchanged: lines to the byte, batches of Parquet and Arrow by value.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from ..exceptions import InputError, Sentence, Setting
from ._arrow import next_batch, parquet_file, pyarrow_module, read_arrow, rows_of_bytes, text_lengths
from ._cells import CELL_BYTES, delimiter_hint
from ._detect import BY_ENDING, JSON_START, format_of
from ._folder import text_files
from ._lines import BOM, CR_HINT
from ._source import Source
from ._stream import check_delimiter
from ._write import encoded

BLOCK_BYTES = 1 << 22
RECORD_BYTES = 128  # of a block, besides its text, for a record: there may be millions of blank lines
LINE_BYTES = 64  # besides its text, for a line of a record that has several
GROWTH, BRACKET_BYTES, VALUE_GROWTH = 24, 64, 8  # of memory that a document takes, that of a list or object, of others
TABLES = ("parquet", "arrow")
DOCUMENT_FORMATS = ("jsonl", "lines", "csv", "tsv", *TABLES)  # of files; a folder has the format "files"
TEXT_FIELD = "text"  # unless another one is named
ENDED_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
NOT_JSON = (ValueError, RecursionError)  # the second for brackets within brackets, thousands deep
_JSON = (".jsonl", ".ndjson", ".json")
MOST_RECORD = 1 << 28  # bytes of a line of JSONL, a record of CSV or a file
_MOST_ROWS = 1 << 13  # of a batch of Parquet


@dataclass
class Documents:
    """A block of documents, with their records as they are in the file."""

    texts: list[Any] = field(default_factory=list)  # str or bytes; None where there is none
    ids: list[Any] = field(default_factory=list)  # empty if they were not requested, as are the values
    values: list[Any] = field(default_factory=list)  # of the column that decides which document stays
    records: Any = field(default_factory=list)  # bytes, or a batch of pyarrow
    faults: dict[int, str] = field(default_factory=dict)  # why a document has no text, by its number in the block
    replaced: int = 0  # number of documents with bytes that are not UTF-8


@dataclass(frozen=True)
class Fields:
    """The names of the fields of a document: its text, its id, and the number that decides which one stays.

    If the field of the text is not named, it is ``text``, and files without fields may be read line by line.
    """

    named_text: str | None = None
    id: str | None = None
    value: str | None = None

    @property
    def text(self) -> str:
        return TEXT_FIELD if self.named_text is None else self.named_text

    @property
    def others(self) -> list[str]:
        return [name for name in (self.id, self.value) if name is not None]


class DocumentStream:
    """The blocks of documents of a file or a folder. ``fraction`` is the part that has been read.

    ``format`` is one of DOCUMENT_FORMATS; None finds out. If ``fields`` names no field of the text, a file or stream
    without a known ending, JSON or a column ``text`` has the format ``lines``: each line is a text.
    With ``records_only`` texts, ids and values are not read, which is faster; texts are then None. ``delimiter`` is
    that of CSV, by default a comma, or a tab for TSV. A document that has more than ``most_bytes`` is refused, and so
    is a batch of Parquet or Arrow that takes more than ``batch_bytes`` of memory. ``files`` are those of a folder, by
    default all that :func:`text_files` finds. ``columns`` has the names of the columns of CSV, Parquet or Arrow.
    """

    def __init__(
        self,
        path: str,
        fields: Fields,
        *,
        format: str | None = None,
        records_only: bool = False,
        delimiter: str | None = None,
        most_bytes: int = MOST_RECORD,
        batch_bytes: int | None = None,
        files: list[str] | None = None,
    ) -> None:
        self.name, self._wanted, self._records_only, self._most = path, fields, records_only, most_bytes
        self._batch_bytes = batch_bytes
        self._delimiter = check_delimiter(delimiter)
        self._source: Source | None = None
        self.header = b""  # of CSV: the line of names
        self.columns: list[str] = []  # of CSV, Parquet and Arrow
        self.schema: Any = None  # of Parquet and Arrow
        self._done: float | None = 0.0
        self._block = Documents()  # which is being filled
        self._first_fields: list[str] = []
        self._has_ids = False
        if path != "-" and os.path.isdir(path):
            self.format = "files"
            names = text_files(path) if files is None else files
            if not names:
                raise InputError(f"{path} has no files: check the name.")
            self._blocks = self._filled(self._files(path, names))
            return
        self._source = source = Source(path)
        try:
            self.format = _format(source, fields) if format is None else format
            if self.format in TABLES:
                self._blocks = self._parquet(source) if self.format == "parquet" else self._arrow(source)
            else:
                readers = {"jsonl": self._jsonl, "lines": self._plain_lines}
                self._blocks = self._filled(readers.get(self.format, self._csv)(source))
        except BaseException:
            source.close()
            raise

    @property
    def fraction(self) -> float | None:
        """The part that has been read, from 0 to 1, or None."""
        if self._source is None or self.format in TABLES:
            return self._done
        return None if self._source.size is None else self._source.bytes_read / max(1, self._source.size)

    def __iter__(self) -> Iterator[Documents]:
        return self._blocks

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._blocks = iter(())
        if self._source is not None:
            self._source.close()

    # Lines.

    def _filled(self, sizes: Iterator[int]) -> Iterator[Documents]:
        """Yield blocks. ``sizes`` adds one record after the other to the block, and yields what each takes of it."""
        size = 0
        for added in sizes:
            size += added + RECORD_BYTES
            if size >= BLOCK_BYTES:
                yield self._finished()
                size = 0
        if self._block.records:
            yield self._finished()

    def _finished(self) -> Documents:
        """Return the block and begin the next one.

        A name of ids that no record of the first block has is wrong. Single ids may be missing.
        """
        if self._first_fields and not self._has_ids:
            shown = ", ".join(map(repr, self._first_fields[:20]))
            raise InputError(
                f"{self.name} has no field {self._wanted.id!r} for ids. Its fields are {shown}. Name one of them with ",
                Setting("id", ...),
                ".",
            )
        self._first_fields = []
        block, self._block = self._block, Documents()
        return block

    def _jsonl(self, source: Source) -> Iterator[int]:
        for number, line in enumerate(iter(lambda: source.file.readline(self._most + 1), b""), 1):
            if len(line) > self._most // 2 and self._is_too_long(line):
                raise too_long(f"{self.name}, line {number}", self._most)
            self._block.records.append(line)
            if self._records_only:
                self._block.texts.append(None)
            else:
                self._json_line(line, number)
            yield len(line)

    def _plain_lines(self, source: Source) -> Iterator[int]:
        """Take each line as a text; blank ones are texts without words."""
        if self._wanted.others:
            raise InputError(
                f"{self.name} has lines of text, which have no field {self._wanted.others[0]!r}: leave the option out, "
                "or pass JSONL or CSV."
            )
        for number, line in enumerate(iter(lambda: source.file.readline(self._most + 1), b""), 1):
            if len(line) > self._most:
                raise too_long(f"{self.name}, line {number}", self._most)
            text, replaced = _decoded(line.removeprefix(BOM) if number == 1 else line)
            self._block.replaced += replaced
            self._block.records.append(line)
            self._block.texts.append(None if self._records_only else text.rstrip("\r\n"))
            yield len(line)

    def _is_too_long(self, line: bytes) -> bool:
        """Return whether a line is longer than the limit, or its lists and objects take more memory than its text."""
        brackets = line.count(b"[") + line.count(b"{")
        return len(line) > self._most or BRACKET_BYTES * brackets + VALUE_GROWTH * len(line) > GROWTH * self._most

    def _json_line(self, line: bytes, number: int) -> None:
        if line.isspace():
            self._add(None, {}, f"line {number} is blank")
            return
        text, replaced = _decoded(line.removeprefix(BOM) if number == 1 else line)
        self._block.replaced += replaced
        try:
            found = _loads(text)
        except NOT_JSON as error:
            fault = str(error)
            if isinstance(error, json.JSONDecodeError):
                fault = f"{error.msg.removesuffix(' at')}, at column {error.colno}"
            hint = f". {CR_HINT}" if b"\r" in line.rstrip() else ""
            self._add(None, {}, f"line {number} is not JSON: {fault}{hint}")
            return
        if isinstance(found, dict):
            self._add(found.get(self._wanted.text, _ABSENT), found, f"line {number}")
        else:
            self._add(None, {}, f"line {number} is {_kind(found)}, not a JSON object")

    def _add(self, text: Any, record: Any, where: str) -> None:
        """Add a document whose text may be missing."""
        block = self._block
        if not isinstance(text, (str, bytes)):
            what: str = where
            if record and text is _ABSENT:
                shown = ", ".join(map(repr, list(record)[:10]))
                known = (
                    f"{where} has no field {self._wanted.text!r}; it has {shown}. If its text is one of these, pass "
                )
                what = Sentence(known, Setting("text", ...))
            elif record:
                what = f"{where}: field {self._wanted.text!r} is {_kind(text)}, not a text"
            block.faults[len(block.texts)] = Sentence(f"{self.name}, ", what, ".")
            text = None
        block.texts.append(text)
        if self._wanted.id is not None:
            block.ids.append(record.get(self._wanted.id))
            self._has_ids = self._has_ids or self._wanted.id in record
            self._first_fields = self._first_fields or list(record)
        if self._wanted.value is not None:
            block.values.append(record.get(self._wanted.value))

    def _csv(self, source: Source) -> Iterator[int]:
        csv.field_size_limit(1 << 40)  # cells may be of any length
        lines = _RawLines(source, self._most)
        delimiter = self._delimiter or ("\t" if self.format == "tsv" else ",")
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            names = [name.strip() for name in next(reader, [])]
        except csv.Error as error:
            raise InputError(f"{self.name}, line {lines.number}: {error}. Fix the line.") from None
        self.header, self.columns = lines.take(), names
        hint = delimiter_hint(names, delimiter) if self._delimiter is None else ""
        for name in (self._wanted.text, *self._wanted.others):
            self._check_column(name, names, hint)
        return self._csv_records(reader, lines, names)

    def _csv_records(self, reader: Any, lines: _RawLines, names: list[str]) -> Iterator[int]:
        places = [names.index(name) for name in (self._wanted.text, *self._wanted.others)]
        while True:
            first = lines.number + 1
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raise InputError(f"{self.name}, line {lines.number}: {error}. Fix the line.") from None
            raw = lines.take()
            if cells is None:
                return
            self._block.records.append(raw)
            self._block.replaced += lines.replaced
            lines.replaced = False
            if not cells:
                self._add(None, {}, f"line {first} is blank")
            elif len(cells) != len(names):
                self._add(None, {}, f"line {first} has {len(cells)} cells, and the first line has {len(names)}")
            else:
                record = {names[column]: cells[column] for column in places}
                self._add(record[self._wanted.text], record, f"line {first}")
            yield len(raw) + CELL_BYTES * len(cells)

    def _check_column(self, name: str, names: list[str], hint: str = "") -> None:
        if names.count(name) == 1:
            return
        shown = ", ".join(map(repr, names[:20]))
        advice = " What decides which document stays is first, longest or one of them." * (name == self._wanted.value)
        raise InputError(f"{self.name} has no column {name!r}, or several. Its columns are {shown}.{advice}", hint)

    # Tables.

    def _parquet(self, source: Source) -> Iterator[Documents]:
        file = parquet_file(source, self._batch_bytes)
        self._check_schema(file.schema_arrow)
        rows = rows_of_bytes(file.metadata, 2 * BLOCK_BYTES, _MOST_ROWS)
        return self._batches(file.iter_batches(batch_size=rows, use_threads=False), file.metadata.num_rows)

    def _arrow(self, source: Source) -> Iterator[Documents]:
        schema, batches = read_arrow(source)
        self._check_schema(schema)
        return self._batches(batches, None)

    def _check_schema(self, schema: Any) -> None:
        types = pyarrow_module("pyarrow").types
        for name in (self._wanted.text, *self._wanted.others):
            self._check_column(name, schema.names)
        kind = schema.field(self._wanted.text).type
        inner = kind.value_type if types.is_dictionary(kind) else kind
        texts = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
        if not any(is_text(inner) for is_text in texts) and str(inner) != "string_view":
            raise InputError(f"{self.name}: column {self._wanted.text!r} holds {kind}, not texts: choose another one.")
        self.schema = schema
        self.columns = [f"{one.name}: {one.type}{'' if one.nullable else ' not null'}" for one in schema]

    def _batches(self, batches: Iterator[Any], n_rows: int | None) -> Iterator[Documents]:
        done = 0
        while True:
            assert self._source is not None
            batch = next_batch(self._source, batches, self._batch_bytes)
            if batch is None:
                return
            for part in self._parts(batch, done):
                self._block.records = part
                if self._records_only:
                    self._block.texts = [None] * part.num_rows
                    yield self._finished()
                    continue
                columns = {name: part.column(name).to_pylist() for name in (self._wanted.text, *self._wanted.others)}
                for row in range(part.num_rows):
                    record = {name: values[row] for name, values in columns.items()}
                    self._add(record[self._wanted.text], record, f"row {done + row}")
                done += part.num_rows
                self._done = None if n_rows is None else done / max(1, n_rows)
                yield self._finished()

    def _parts(self, batch: Any, done: int) -> Iterator[Any]:
        """Yield a batch in parts whose texts are those of a block; the dictionary of a column may repeat long ones."""
        lengths = text_lengths(batch.column(self._wanted.text))
        ends, start = np.cumsum(lengths + RECORD_BYTES), 0
        if len(lengths) and int(lengths.max()) > self._most:
            raise too_long(f"{self.name}, row {done + int(np.argmax(lengths))}", self._most)
        while start < batch.num_rows:
            before = int(ends[start - 1]) if start else 0
            stop = int(np.searchsorted(ends, before + BLOCK_BYTES, side="right"))
            stop = min(max(stop, start + 1), start + _MOST_ROWS)
            yield batch.slice(start, stop - start)
            start = stop

    # Folders.

    def _files(self, folder: str, names: list[str]) -> Iterator[int]:
        if self._wanted.value is not None:
            raise InputError(f"{folder} is a folder of texts, which have no field {self._wanted.value!r}.")
        for number, name in enumerate(names, 1):
            source = Source(os.path.join(folder, name))
            try:
                content = source.file.read(self._most + 1)
            finally:
                source.close()
            if len(content) > self._most:
                raise too_long(source.name, self._most)
            text, replaced = _decoded(content)
            record = {"id": name.replace(os.sep, "/"), "text": text}
            self._block.replaced += replaced
            self._block.records.append(encoded(json.dumps(record, ensure_ascii=False)) + b"\n")
            self._block.texts.append(text)
            if self._wanted.id is not None:
                self._block.ids.append(record["id"])
            self._done = number / len(names)
            yield len(content)


class _RawLines:
    """The lines of a file for Python's csv module, and the bytes of those that a record has taken."""

    def __init__(self, source: Source, most: int) -> None:
        self._file, self._name, self._most, self._size = source.file, source.name, most, 0
        self._waiting: list[bytes] = []  # the last first
        self._taken: list[bytes] = []
        self.number, self.replaced = 0, False

    def __iter__(self) -> _RawLines:
        return self

    def __next__(self) -> str:
        if not self._waiting:
            line = self._file.readline(self._most + 1)
            if not line:
                raise StopIteration
            lone = line.count(b"\r") > line.endswith(b"\r\n")  # a line end of old files, or a character of a cell
            self._waiting = ENDED_LINE.findall(line)[::-1] if lone else [line]
        line = self._waiting.pop()
        self._taken.append(line)
        self.number += 1
        self._size += len(line) + LINE_BYTES * (len(self._taken) > 1)
        if self._size > self._most:
            raise too_long(f"{self._name}, line {self.number}", self._most)
        if self.number == 1:
            line = line.removeprefix(BOM)
        text, replaced = _decoded(line)
        self.replaced = self.replaced or replaced
        return text

    def take(self) -> bytes:
        """Return the bytes of the lines since the last call."""
        taken, self._taken, self._size = b"".join(self._taken), [], 0
        return taken


def too_long(where: str, most: int) -> InputError:
    return InputError(
        f"{where}: the document has more than {most} bytes. Raise ",
        Setting("most_bytes"),
        ", or split the document.",
    )


def _decoded(content: bytes) -> tuple[str, bool]:
    """Return text, and whether some of its bytes are not UTF-8 and had to be replaced."""
    text = content.decode("utf-8", "replace")
    return text, "\ufffd" in text and content != text.encode()


_ABSENT = object()
_decode = json.JSONDecoder().raw_decode


def _loads(line: str) -> Any:
    """Return what ``json.loads`` does, in less time for an ordinary line."""
    if not line.startswith("{"):
        return json.loads(line)
    found, end = _decode(line)
    if line[end:].strip(" \t\r\n"):
        raise ValueError(f"there is more after column {end}")
    return found


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return f"{value!r:.40}"


def _format(source: Source, fields: Fields) -> str:
    """Find out the format of a file."""
    if source.suffix in _JSON or source.head.lstrip().removeprefix(BOM).startswith(b"{"):
        return "jsonl"
    is_plain = source.suffix not in BY_ENDING and b"\0" not in source.head and not JSON_START.match(source.head)
    if fields.named_text is None and is_plain:
        names = re.split(rb"[,\t]", source.head.removeprefix(BOM).split(b"\n", 1)[0])
        if TEXT_FIELD.encode() not in (name.strip(b'" \r') for name in names):
            return "lines"
    found = format_of(source)
    if found not in DOCUMENT_FORMATS:
        raise InputError(
            f"{source.name} has the format {found}, which holds no texts: pass JSONL, CSV, Parquet, Arrow or a folder, "
            "or ",
            Setting("format", "lines"),
            " if each line is a text.",
        )
    return found
