"""The texts of a file as rows of shingles, for the commands of an index."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...exceptions import InputError
from ...formats import Documents, DocumentStream, Fields, RowBlock, document_files, is_pattern, text_files
from ...text import Shingles
from .._errors import UsageError
from .._progress import ProgressMeter
from ..commands.index import Build, Dedup, Query

USUAL_NGRAM = 5


def new_shingles(task: Build | Dedup) -> Shingles:
    """Return how the options of a command turn texts into rows."""
    return Shingles(
        task.ngram or USUAL_NGRAM,
        analyzer=task.analyzer or "word",
        weight=task.weight or "count",
        normalize="NFKC" if task.normalize else None,
    )


def learn_weights(shingles: Shingles, task: Build | Dedup, own: Sequence[str], meter: ProgressMeter) -> None:
    """Read the texts once to learn the document frequencies, if the weights need them."""
    if shingles.weight != "idf":
        return
    for path in _named(task):
        if not (os.path.isfile(path) or os.path.isdir(path) or is_pattern(path)):
            option = "--keywords" if getattr(task, "keywords", False) else "--weight idf"
            what = "standard input" if path == "-" else path
            raise UsageError(f"{option} reads INPUT twice, and {what} cannot be read again: store it in a file first.")
    title = meter.title
    meter.begin("counting words")
    with open_texts(task, shingles, own) as stream:

        def shown() -> Iterator[list[Any]]:
            count = 0
            for texts in stream.texts():
                count += len(texts)
                yield texts
                meter.show(stream.fraction, f"{count:,} texts")

        shingles.fit_blocks(shown())
    meter.begin(title)


def open_texts(task: Build | Dedup | Query, shingles: Shingles, own: Sequence[str]) -> TextRows | TextParts:
    """Open the texts of a file or folder, or of several, as rows of shingles."""
    named = _named(task)
    if named == ["-"]:
        return TextRows(task, shingles, own, "-")
    if "-" in named:
        raise UsageError("standard input is read alone, but there are several inputs: store it in a file.")
    paths = document_files(named, own)
    return TextRows(task, shingles, own, paths[0]) if len(paths) == 1 else TextParts(task, shingles, own, paths)


def _named(task: Build | Dedup | Query) -> list[str]:
    return task.inputs if isinstance(task, Build) else [task.input]


class TextRows(DocumentStream):
    """The texts of a file as blocks of sparse rows. ``own`` files of the command are no texts of a folder.

    Records without a text are rows of zeros, so that rows have the numbers of records.
    """

    feature_names = None

    def __init__(self, task: Build | Dedup | Query, shingles: Shingles, own: Sequence[str], path: str) -> None:
        is_folder = os.path.isdir(path)
        super().__init__(
            path,
            Fields(task.text, task.id),
            format=None if is_folder else task.format,
            delimiter=task.delimiter,
            most_bytes=task.document_bytes,
            batch_bytes=task.batch_bytes,
            files=text_files(path, own) if is_folder else None,
        )
        self._shingles, self._skips = shingles.set_params(n_jobs=task.threads), task.on_error == "skip"
        self._names_rows = task.id is not None
        self.skipped = 0  # records without a text
        self.block = Documents()  # that of the rows which came last

    @property
    def names(self) -> list[str] | None:
        """The ids of the block as text, empty where a record has none; None if no field was named."""
        return ["" if id is None else str(id) for id in self.block.ids] if self._names_rows else None

    def texts(self) -> Iterator[list[Any]]:
        """Yield the texts of each block; a record without one has an empty text."""
        count = 0
        for self.block in super().__iter__():
            block = self.block
            count += len(block.texts)
            if block.faults and not self._skips:
                raise InputError(
                    block.faults[min(block.faults)],
                    " Fix the record, or pass --on-error skip to leave out such records.",
                )
            self.skipped += len(block.faults)
            yield [text or "" for text in block.texts]
        if count and self.skipped == count:
            raise InputError(f"{self.name}: no record has a text in that field: name the field with --text.")

    def __iter__(self) -> Iterator[Any]:
        for texts in self.texts():
            yield RowBlock(self._shingles.transform(texts))


class TextParts:
    """The texts of several files or folders, one after the other."""

    feature_names = None

    def __init__(self, task: Build | Dedup | Query, shingles: Shingles, own: Sequence[str], paths: list[str]) -> None:
        self._paths, self._shingles = paths, shingles
        self._opened: Callable[[str], TextRows] = lambda path: TextRows(task, shingles, own, path)
        self._now, self._done = self._opened(paths[0]), 0
        self.format, self.skipped = self._now.format, 0

    @property
    def names(self) -> list[str] | None:
        """The ids of the block as text."""
        return self._now.names

    @property
    def fraction(self) -> float | None:
        """The part that has been read, if files are of one size."""
        return (self._done + (self._now.fraction or 0.0)) / len(self._paths)

    def texts(self) -> Iterator[list[Any]]:
        """Yield the texts of each block."""
        for number, path in enumerate(self._paths):
            self._now = self._now if number == 0 else self._opened(path)
            with self._now as stream:
                before = self.skipped
                for texts in stream.texts():
                    self.skipped = before + stream.skipped
                    yield texts
            self._done = number + 1

    def __iter__(self) -> Iterator[Any]:
        for texts in self.texts():
            yield RowBlock(self._shingles.transform(texts))

    def __enter__(self) -> TextParts:
        return self

    def __exit__(self, *_: object) -> None:
        self._now.__exit__()
