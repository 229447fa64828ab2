"""Tables on the command line: blocks as the tabular models take them, and what is printed about their columns."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..formats import RowStream
from ..tabular import ColumnPlan, Table, is_missing_text, read_table, text_table
from ._results import print_table

SHOWN, MOST_COLUMNS = 5, 50


def joined_table(parts: list[Any], names: Sequence[str] | None) -> Table:
    """Return X of several blocks of a table as one."""
    if isinstance(parts[0], np.ndarray):
        return text_table(np.concatenate(parts), names)
    pyarrow: Any = sys.modules["pyarrow"]  # the library of the blocks, so it is there
    return read_table(pyarrow.concat_tables(parts))


class TableReader:
    """Blocks of a file as a tabular model takes them: its columns, by name if the file and the model have names."""

    def __init__(self, model: Any, stream: RowStream, *, header_known: bool) -> None:
        self._stream, self._width, self._begun = stream, model.n_features_in_, False
        self._names = list(getattr(model, "feature_names_in_", []))
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
                    "once, in any order."
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
        if self._places is None and X.shape[1] != self._width:
            raise InputError(
                f"{name} has {X.shape[1]} columns, but the model was trained on {self._width}. If one of them is the "
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


def _are_names(cells: Sequence[str], model: Any) -> bool:
    """Return whether cells cannot be a row: one of them is a word where the model has a number or a date."""
    pairs = zip(cells, model.columns_, strict=False)
    return any(column.kind != "category" and not is_missing_text(cell) for cell, column in pairs)


def column_facts(model: Any) -> list[dict[str, Any]]:
    """Return what was done to each column, in the order of the table."""
    return [
        {**plan_facts(column), "importance": float(value)}
        for column, value in zip(model.columns_, model.feature_importances_, strict=True)
    ]


def plan_facts(column: ColumnPlan) -> dict[str, Any]:
    """Return what is done to a column."""
    return {
        "name": column.name,
        "kind": column.kind,
        "treatment": column.treatment,
        "used": column.is_used,
        "missing": column.n_missing,
    }


def important_columns(columns: list[dict[str, Any]]) -> str:
    """Return the most important columns as text."""
    first = by_importance(columns)[:SHOWN]
    return ", ".join(f"{column['name']} ({100 * column['importance']:.0f} %)" for column in first) or "no column"


def by_importance(columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the columns that have an importance, the most important first."""
    return sorted((column for column in columns if column["importance"] > 0), key=lambda c: -c["importance"])


def print_columns(columns: list[dict[str, Any]]) -> None:
    """Print a table of the columns: what is done to each, missing values, and the importance if it is known."""
    known = "importance" in columns[0]
    rows = []
    for column in columns:
        importance = [f"{100 * column['importance']:.1f} %" if column["used"] else "-"] if known else []
        rows.append([column["name"], column["treatment"], f"{column['missing']:,}", *importance])
    names = ("column", "treatment", "missing", *(["importance"] if known else []))
    print_table(names, rows, range(2, len(names)), MOST_COLUMNS, "columns")
