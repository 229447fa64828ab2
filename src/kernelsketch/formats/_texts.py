"""What the text writers share: rows as CSR, labels as words, and lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np
from scipy import sparse

from .._array import Array
from .._validation import check_rows
from ..exceptions import InputError
from ._native_text import Texts, numbers_as_text, rows_as_text
from ._stream import check_block

_WORD = re.compile(r"[^\x00-\x20#:\x7f]+")
_STEP = 1 << 16  # rows and pairs that are written at a time, about a megabyte of text


class _Csr(NamedTuple):
    """Some rows, in the types that native code writes."""

    indptr: Array
    indices: Array
    data: Array


def sparse_rows(X: Any, name: str) -> Any:
    """Return CSR rows with ascending ids and finite values; zeros of dense rows are omitted."""
    rows = check_rows(X, name)
    if not sparse.issparse(rows):
        rows = sparse.csr_array(_plain(rows))  # SciPy has no other byte orders, nor float16
    check_block(rows, 0, name)
    return rows


def words(y: Array, name: str) -> Texts:
    """Return labels as strings that hold no blanks, '#' or ':'."""
    if y.dtype.kind in "fiub":
        return numbers_as_text(_plain(y))
    texts = [str(label) for label in y.tolist()]
    for row, text in enumerate(texts):
        if not _WORD.fullmatch(text):
            raise InputError(
                f"{name}: y[{row}] is {text!r}, which cannot stand in a line: labels must not hold blanks, '#' or ':'."
            )
    return Texts.of(texts)


def write_lines(file: IO[bytes], X: Any, heads: Texts, qid: Array | None, mark: str, base: int) -> None:
    """Write one line per row: head, query id, mark and pairs, as specified in reference/text.py."""
    indptr = X.indptr.astype(np.int64, copy=False)
    for rows in _steps(indptr):
        ends, head_ends = indptr[rows.start : rows.stop + 1], heads.ends[rows.start : rows.stop + 1]
        pairs = slice(ends[0], ends[-1])
        part = _Csr(ends - ends[0], X.indices[pairs].astype(np.int64, "C", copy=False), _plain(X.data[pairs]))
        part_heads = Texts(heads.text[head_ends[0] : head_ends[-1]], head_ends - head_ends[0])
        groups = None if qid is None else qid[rows].astype(np.int64, "C", copy=False)
        file.write(rows_as_text(part_heads, groups, mark, part, base).data)


def _steps(indptr: Array) -> Iterator[slice]:
    start, n = 0, len(indptr) - 1
    while start < n:
        fit = int(np.searchsorted(indptr, indptr[start] + _STEP, side="right")) - 1
        stop = min(max(fit, start + 1), start + _STEP)
        yield slice(start, stop)
        start = stop


def _plain(values: Array) -> Array:
    """Convert to one of the dtypes that native code writes: float32, float64, int64 and uint64."""
    kind = values.dtype.kind
    if kind == "f":
        return values.astype(np.float32 if values.dtype.itemsize == 4 else np.float64, "C", copy=False)
    return values.astype(np.uint64 if kind == "u" else np.int64, "C", copy=False)
