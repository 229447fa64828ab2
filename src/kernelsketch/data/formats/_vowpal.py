"""Vowpal Wabbit text, out: ``label | id:value id:value ...``."""

from __future__ import annotations

from typing import IO

from ...exceptions import InputError
from ._libsvm import label_texts, lines
from ._stream import Rows
from ._texts import sparse_rows


class VowpalWriter:
    """Rows as Vowpal Wabbit reads them: ids as they are, a line without a label is a row to predict."""

    def __init__(self, file: IO[bytes], zero_based: bool, names: tuple[str, ...] | None) -> None:
        self._file, self._base = file, 0 if zero_based else 1

    def write(self, rows: Rows, name: str) -> None:
        X = sparse_rows(rows.X, name)
        labels = [""] * X.shape[0] if rows.y is None else label_texts(rows.y, X.shape[0], name)
        for row, label in enumerate(labels):
            if "|" in label:
                raise InputError(f"{name}: y[{row}] is {label!r}, which Vowpal Wabbit cannot read: no '|'.")
        self._file.write(b"".join(lines(X, labels, self._base, " | ")))

    def close(self) -> None:
        """Nothing is left to write."""

    def abandon(self) -> None:
        """Nothing is held."""
