"""The documents of a file as blocks of rows, for commands that take rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..exceptions import InputError
from ..formats import DocumentStream, Fields, RowBlock
from ..text import Shingles


class TextRows:
    """A stream of the texts of a file as sparse rows, like the :class:`~kernelsketch.formats.RowStream` of its rows."""

    feature_names = None

    def __init__(self, path: str, text: str, shingles: Shingles, most_bytes: int) -> None:
        self._documents = DocumentStream(path, Fields(text), most_bytes=most_bytes)
        self._shingles = shingles
        self.name, self.format = path, self._documents.format

    @property
    def fraction(self) -> float | None:
        """The part of the file that has been read."""
        return self._documents.fraction

    def __iter__(self) -> Iterator[RowBlock]:
        for block in self._documents:
            if block.faults:
                raise InputError(f"{block.faults[min(block.faults)]} Mend the record, or remove it.")
            yield RowBlock(self._shingles.transform(block.texts))

    def __enter__(self) -> TextRows:
        return self

    def __exit__(self, *error: Any) -> None:
        self._documents.__exit__(*error)
