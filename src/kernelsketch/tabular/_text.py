"""Tables whose cells are text, as files of comma-separated values have them: ``text_table``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._array import Array
from .._frames import check_distinct
from ._frame import Table, column_of_texts


def text_table(cells: Array, names: Sequence[str] | None) -> Table:
    """Return a table of cells (rows, columns), which are strings: numbers, dates or categories by column.

    Empty cells are missing. Tabular models take the table as X. Without names, columns count by their position.
    """
    if names is not None:
        check_distinct(names)
    shown = names or [f"x{i}" for i in range(cells.shape[1])]
    columns = [column_of_texts(name, column) for name, column in zip(shown, np.ascontiguousarray(cells.T), strict=True)]
    return Table(columns, len(cells), names is not None)
