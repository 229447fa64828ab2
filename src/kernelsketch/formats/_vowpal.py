"""Vowpal Wabbit text, written: ``label | id:value id:value ...``."""

from __future__ import annotations

from typing import IO

import numpy as np

from ..exceptions import InputError
from ._native_text import Texts
from ._stream import RowBlock
from ._texts import sparse_rows, words, write_lines


class VowpalWriter:
    """Writes rows as Vowpal Wabbit reads them; a line without a label is a row to predict."""

    def __init__(self, file: IO[bytes], zero_based: bool, names: tuple[str, ...] | None) -> None:
        self._file, self._base = file, 0 if zero_based else 1

    def write(self, rows: RowBlock, name: str) -> None:
        X = sparse_rows(rows.X, name)
        heads = Texts.of([""] * X.shape[0]) if rows.y is None else words(rows.y, name)
        if len(bars := np.flatnonzero(heads.text == ord("|"))):
            row = int(np.searchsorted(heads.ends, bars[0], side="right")) - 1
            label = heads.text[heads.ends[row] : heads.ends[row + 1]].tobytes().decode()
            raise InputError(
                f"{name}: y[{row}] is {label!r}, which Vowpal Wabbit cannot read: labels must not hold '|'."
            )
        write_lines(self._file, X, heads, None, " |", self._base)

    def close(self) -> None:
        """There is nothing left to write."""

    def abandon(self) -> None:
        """There is nothing to release."""
