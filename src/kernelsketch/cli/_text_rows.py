"""The documents of a file as blocks of rows, for commands that take rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from ..exceptions import InputError
from ..formats import DocumentStream, Fields, RowBlock, text_files
from ..text import Shingles
from ._options import RunOptions, TextRecords


class TextRows:
    """A stream of the texts of a file as sparse rows, like the :class:`~kernelsketch.formats.RowStream` of its rows.

    ``not_read`` are files of the command itself, such as its output, which are no documents of a folder.
    """

    feature_names = None

    def __init__(
        self, path: str, records: TextRecords, shingles: Shingles, running: RunOptions, not_read: Sequence[str] = ()
    ) -> None:
        self._documents = DocumentStream(
            path,
            Fields(records.field),
            delimiter=records.delimiter,
            most_bytes=running.document_bytes,
            batch_bytes=running.batch_bytes,
            files=text_files(path, not_read) if os.path.isdir(path) else None,
        )
        self._shingles, self._skip_errors = shingles, records.skip_errors
        self.skipped = 0  # records without a text, which are rows of zeros, so that rows have the numbers of records
        self.name, self.format = path, self._documents.format

    @property
    def fraction(self) -> float | None:
        """The part of the file that has been read."""
        return self._documents.fraction

    def __iter__(self) -> Iterator[RowBlock]:
        count = 0
        for block in self._documents:
            count += len(block.texts)
            if block.faults and not self._skip_errors:
                raise InputError(
                    block.faults[min(block.faults)],
                    " Fix the record, or pass --on-error skip to leave out such records.",
                )
            self.skipped += len(block.faults)
            yield RowBlock(self._shingles.transform([text or "" for text in block.texts]))
        if count and self.skipped == count:
            raise InputError(f"{self.name}: no record has a text in that field: name the field with --text.")

    def __enter__(self) -> TextRows:
        return self

    def __exit__(self, *error: Any) -> None:
        self._documents.__exit__(*error)
