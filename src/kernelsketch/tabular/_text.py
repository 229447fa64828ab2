"""Tables whose cells are text, as files of comma-separated values have them: ``text_table``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._frames import check_distinct
from ._frame import CATEGORY, DATE, NUMBER, Column, Table, as_dates, as_numbers, refuse_infinity

Array = NDArray[Any]


def text_table(cells: Array, names: Sequence[str] | None) -> Table:
    """Return a table of cells (rows, columns), which are strings: numbers, dates or categories by column.

    Empty cells are missing. Tabular models take the table as X. Without names, columns count by their position.
    """
    if names is not None:
        check_distinct(names)
    shown = names or [f"x{i}" for i in range(cells.shape[1])]
    columns = [_text_column(name, column) for name, column in zip(shown, np.ascontiguousarray(cells.T), strict=True)]
    return Table(columns, len(cells), names is not None)


def _text_column(name: str, cells: Array) -> Column:
    numbers = _numbers(cells)
    if numbers is not None:
        refuse_infinity(name, numbers)
        return Column(name, NUMBER, numbers, texts=cells)
    dates = as_dates(cells)
    if dates is not None:
        return Column(name, DATE, dates, texts=cells)
    return Column(name, CATEGORY, np.array([cell or None for cell in cells], object))


def _numbers(cells: Array) -> Array | None:
    try:
        return cells.astype(np.float64)
    except ValueError:  # some cells are empty or words
        return as_numbers(cells)
