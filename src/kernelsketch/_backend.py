"""Text parsing by native code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _native
from .backends import CsrRows
from .reference import libsvm as reference_libsvm
from .reference import text as reference_text

Array = NDArray[Any]


class CsvTaken(NamedTuple):
    """How far native code read a text of CSV; lines are rows and blank lines."""

    rows: int
    lines: int
    bytes: int


class Native:
    def libsvm(self, text: Array, base: int, dtype: Any, threads: int) -> reference_libsvm.Parsed:
        lines, colons = _native.libsvm_size(text)
        labels, label_at, qid = np.empty(lines), np.empty((lines, 2), np.int64), np.empty(lines, np.int64)
        indptr, ids, values = np.empty(lines + 1, np.int64), np.empty(colons, np.int64), np.empty(colons, dtype)
        parse: Any = _native.libsvm_parse
        rows, pairs, largest, first_text, any_qid, error, at, length = parse(
            text, base, labels, label_at, qid, indptr, ids, values, threads
        )
        return reference_libsvm.Parsed(
            labels[:rows],
            label_at[:rows],
            qid[:rows] if any_qid else None,
            indptr[: rows + 1],
            ids[:pairs],
            values[:pairs],
            first_text,
            largest,
            reference_libsvm.Fault(reference_libsvm.ERRORS[error], at, length) if error else None,
        )

    def csv(self, text: Array, delimiter: str, label: int | None, X: Array, y: Array | None, threads: int) -> CsvTaken:
        if not (delimiter.isascii() and _native.csv_delimiter(delimiter)):
            return CsvTaken(0, 0, 0)
        labels = [None, None] if y is None else [y, None] if y.ndim == 1 else [None, y]
        parse: Any = _native.csv_parse
        return CsvTaken(*parse(text, delimiter, -1 if label is None else label, X, *labels, threads))

    def distinct_texts(self, text: Array, at: Array) -> tuple[Array, Array]:
        numbers, first = np.empty(len(at), np.int64), np.empty(len(at), np.int64)
        count = _native.distinct_texts(text, at, numbers, first)
        return at[first[:count]], numbers

    def text_numbers(self, values: Array) -> reference_text.Texts:
        out, ends = np.empty(len(values) * _native.DECIMAL_SIZE, np.uint8), np.empty(len(values) + 1, np.int64)
        write: Any = _native.text_numbers
        write(values, out, ends)
        return reference_text.Texts(out[: ends[-1]], ends)

    def text_lines(self, heads: reference_text.Texts, qid: Array | None, mark: str, rows: CsrRows, base: int) -> Array:
        bound = _native.text_bound(len(rows.indptr) - 1, len(rows.data), len(heads.text), len(mark))
        out = np.empty(bound, np.uint8)
        write: Any = _native.text_lines
        size = write(*heads, qid, mark, *rows.arrays, base, out)
        return out[:size]


def backend() -> Native:
    return Native()
