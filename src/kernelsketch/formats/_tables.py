"""CSV and TSV as they are: cells of text, with gaps, and one column of labels. No cell has to be a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._rounding import NUMBER
from ._cells import CELL_BYTES, Batch, CsvColumns
from ._csv import CsvStart, begin_csv
from ._labels import LabelColumn
from ._source import Source
from ._stream import Opened, Options, RowBlock


def open_tsv_table(source: Source, options: Options) -> Opened:
    return open_csv_table(source, replace(options, delimiter=options.delimiter or "\t"))


def open_csv_table(source: Source, options: Options) -> Opened:
    start = begin_csv(source, options, _is_header)
    width, names = start.table.n_features, start.feature_names
    return Opened(_blocks(start, options), width, None, names, is_table=True, label_name=start.label_name)


def _is_header(cells: list[str], _: Any) -> bool:
    """Return whether the first line has names: words in all cells, of which the first may be empty.

    Categories are words too, so one gap, one number, or one cell of digits without letters, such as a date or an
    amount, makes it a row.
    """
    return not any(map(_is_value, cells)) and all(cell.strip() for cell in cells[1:])


def _is_value(cell: str) -> bool:
    if NUMBER.fullmatch(cell):
        return True
    return any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell))


def _blocks(start: CsvStart, options: Options) -> Iterator[RowBlock]:
    table, records = start.table, start.records
    labels = LabelColumn(options.text_labels, options.block_bytes, ignored=options.ignore_labels)
    label = table.label
    while (batch := records.take(options.rows_a_block(table.width, CELL_BYTES))) is not None:
        good, fault = table.good_rows(batch)
        cells = np.empty((good, table.width), object)
        for row in range(good):
            cells[row] = batch.rows[row]
        y = None
        if label is not None:
            y = labels.of_texts(cells[:, label].tolist(), partial(_place, table, batch, label))
        if fault is not None:
            raise fault
        yield RowBlock(cells if label is None else np.delete(cells, label, axis=1), y)


def _place(table: CsvColumns, batch: Batch, label: int, row: int) -> str:
    return table.place(batch, row, label)
