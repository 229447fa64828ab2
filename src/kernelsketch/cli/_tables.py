"""Blocks of a table as the tabular models take them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from .._array import Array
from .._rounding import float_of, floats_of
from ..exceptions import InputError
from ..formats import RowStream, delimiter_hint
from ..tabular import Table, is_missing_text, read_table, text_table


def joined_table(parts: list[Any], names: Sequence[str] | None) -> Table:
    """Return X of several blocks of a table as one."""
    if isinstance(parts[0], np.ndarray):
        return text_table(np.concatenate(parts), names)
    pyarrow: Any = sys.modules["pyarrow"]  # the library of the blocks, so it is there
    return read_table(pyarrow.concat_tables(parts))


def _what_may_be_meant(name: str, others: set[str], stream: RowStream) -> str:
    """Return a sentence about a column that is not there: another one of a similar name, or another delimiter."""
    words = {other.lower(): other for other in sorted(others)}
    if near := get_close_matches(name.lower(), words, n=1):
        return f" It has {words[near[0]]!r}: rename this column if it is the same."
    return delimiter_hint(list(stream.feature_names or ()), ",") if stream.format == "csv" else ""


class TableReader:
    """Blocks of a file as a tabular model takes them: its columns, by name if the file and the model have names."""

    def __init__(self, model: Any, stream: RowStream, *, header_known: bool) -> None:
        self._stream, self._begun = stream, False
        kept = [column.name for column in model.columns_ if column.choice != "dropped"]
        self._widths = {len(kept): " without those that it leaves out", model.n_features_in_: ""}
        self._names = kept if hasattr(model, "feature_names_in_") else []
        self._places = None
        found = stream.feature_names
        if found is None:
            return
        if not self._names:
            if stream.format in ("csv", "tsv") and not (header_known or _are_names(found, model)):
                raise InputError(
                    f"The first line of {stream.name} may be a row or the names of columns, and the model has no "
                    "names: pass --no-header or --header."
                )
            return
        count, place = Counter(found), {name: column for column, name in enumerate(found)}
        for name in self._names:
            if count[name] != 1:
                what = "several columns" if name in place else "no column"
                raise InputError(
                    f"{stream.name} has {what} {name!r}, on which the model was trained: it needs each of its columns "
                    "once, in any order.",
                    "" if name in place else _what_may_be_meant(name, set(found) - set(self._names), stream),
                )
        self._places = [place[name] for name in self._names]

    def read(self, X: Any) -> Any:
        """Return X of a block with the columns of the model."""
        name = self._stream.name
        if not (self._stream.is_table or isinstance(X, np.ndarray)):
            raise InputError(
                f"{name} has the format {self._stream.format}, but the model was trained on a table: pass CSV, TSV, "
                "Parquet, Arrow or NPY."
            )
        if self._places is None and X.shape[1] not in self._widths:
            trained = " or ".join(f"{width}{which}" for width, which in self._widths.items())
            raise InputError(
                f"{name} has {X.shape[1]} columns, but the model was trained on {trained}. If one of them is the "
                "label, name it with --label COLUMN; -1 is the last."
            )
        if not self._stream.is_table:
            return X
        if not isinstance(X, np.ndarray):
            return X if self._places is None else X.select(self._names)
        if self._places is not None:
            return text_table(X[:, self._places], self._names)
        if not self._begun and self._names and set(self._names) <= set(X[0].tolist()):
            raise InputError(f"The first line of {name} has the names of the columns: pass --header.")
        self._begun = True
        return text_table(X, None)


class NumberReader:
    """Blocks of a table as numbers, for a model that was trained on numbers.

    ``places`` are the features among the columns of X. Without them, these are all columns or, if the model has fewer
    features, those that are not ``carried``.
    """

    def __init__(self, stream: RowStream, places: list[int] | None, carried: list[str], width: int) -> None:
        self._stream, self._names = stream, stream.feature_names
        self._places, self._carried, self._width = places, carried, width

    def read(self, X: Any) -> Array:
        """Return the features of a block."""
        names = self._names or tuple(map(str, range(X.shape[1])))
        places = self._places
        if places is None:
            all_fit = X.shape[1] == self._width
            places = [j for j, name in enumerate(names) if all_fit or name not in self._carried]
        columns = [self._numbers(X[:, j] if isinstance(X, np.ndarray) else X.column(j), names[j]) for j in places]
        return np.column_stack(columns) if columns else np.zeros((X.shape[0], 0))

    def _numbers(self, column: Any, name: str) -> Array:
        if isinstance(column, np.ndarray):
            numbers = floats_of(column.tolist())
        else:
            numbers = None if column.null_count else column.to_numpy()
        if numbers is not None and numbers.dtype.kind in "fiub" and np.isfinite(numbers).all():
            return np.asarray(numbers)
        cells = column.tolist()
        bad = next((k for k, cell in enumerate(cells) if not _is_number(cell)), 0)
        shown = "" if cells[bad] is None else str(cells[bad])[:40]
        raise InputError(
            f"{self._stream.name}, row {self._stream.block_start + bad}, column {name!r}: {shown!r} is not a number, "
            "and the model was trained on numbers. Encode or impute it first, or train without --plain."
        )


def _is_number(cell: Any) -> bool:
    value = float_of(cell) if isinstance(cell, str) else cell
    return isinstance(value, (int, float)) and bool(np.isfinite(value))


def _are_names(cells: Sequence[str], model: Any) -> bool:
    """Return whether cells cannot be a row: one of them is a word where the model has a number or a date."""
    columns = [column for column in model.columns_ if column.choice != "dropped" or len(cells) == len(model.columns_)]
    pairs = [pair for pair in zip(cells, columns, strict=False) if pair[1].choice != "dropped"]
    return any(column.kind != "category" and not is_missing_text(cell) for cell, column in pairs)
