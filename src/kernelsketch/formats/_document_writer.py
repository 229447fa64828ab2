"""DocumentWriter: records of documents, unchanged, in the format in which they were read."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import zip_longest
from typing import Any

from ..exceptions import InputError
from ._arrow import pyarrow_module
from ._documents import TABLES, Documents, DocumentStream
from ._source import endings
from ._write import open_target, open_text

_BY_ENDING = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".txt": "lines"}
_BY_ENDING |= {".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}


def written_format(path: str, format: str) -> str:
    """Return the format in which documents of a format are written to a file; refuse names and pipes that do not fit.

    A folder of text files becomes JSONL.
    """
    named, wanted = _BY_ENDING.get(endings(path)[1]), "jsonl" if format == "files" else format
    if named is not None and named != wanted:
        raise InputError(
            f"{path} has the ending of {named}, but the output has the format of the input, {wanted}: choose another "
            "name."
        )
    if path == "-" and wanted in TABLES:
        raise InputError(f"{wanted} cannot be written to standard output: name a file.", parameter="output")
    return wanted


class DocumentWriter:
    """Writes records of documents to a file, which appears when the ``with`` block ends without an error."""

    def __init__(self, path: str, format: str) -> None:
        self._path, self._format = path, format
        self._stack = ExitStack()
        self._file: Any = None
        self._table: Any = None
        self._first: DocumentStream | None = None
        self._open_line = False  # whether the last line has no end, as a file's last line may

    def __enter__(self) -> DocumentWriter:
        self._file = self._stack.enter_context(
            open_target(self._path) if self._format in TABLES else open_text(self._path)
        )
        return self

    def __exit__(self, *error: Any) -> None:
        if self._table is not None:
            self._table.close()
        self._stack.__exit__(*error)

    def write(self, stream: DocumentStream, block: Documents, keep: list[bool]) -> None:
        """Write the records of a block that stay."""
        if self._first is None:
            self._first = stream
            self._file.write(stream.header)
        check_same_columns(self._first, stream)
        if self._format in TABLES:
            self._write_batch(stream, block, keep)
            return
        kept = [record for record, stays in zip(block.records, keep, strict=True) if stays]
        if kept:
            self._file.write(b"\n" if self._open_line else b"")
            self._file.write(b"".join(kept))
            self._open_line = not kept[-1].endswith((b"\n", b"\r"))

    def _write_batch(self, stream: DocumentStream, block: Documents, keep: list[bool]) -> None:
        pa = pyarrow_module("pyarrow")
        if self._table is None:
            file = pa.PythonFile(self._file, "w")
            if self._format == "parquet":
                self._table = pyarrow_module("pyarrow.parquet").ParquetWriter(file, stream.schema)
            else:
                self._table = pyarrow_module("pyarrow.ipc").new_file(file, stream.schema)
        self._table.write_batch(block.records.filter(pa.array(keep)))


def check_same_columns(first: DocumentStream, other: DocumentStream) -> None:
    """Refuse a file whose columns are others than those of the first, or in another order: one header is written."""
    pairs = enumerate(zip_longest(first.columns, other.columns), 1)
    for number, (there, here) in pairs:
        if there != here:
            said = [f"{'missing' if name is None else repr(name)} in" for name in (there, here)]
            raise InputError(
                f"{other.name} has other columns than {first.name}: column {number} is {said[0]} {first.name} and "
                f"{said[1]} {other.name}. Bring the columns into one order, or dedup the files one by one."
            )
