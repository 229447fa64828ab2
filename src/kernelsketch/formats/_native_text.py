"""Text parsing and writing in native code: arrays in, named values out.

The specifications are ``tests/helpers/libsvm.py`` for LIBSVM text and ``_cells.py`` for CSV. Instruction sets play no
part here: there is one parser of each kind.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from .._array import Array

LARGEST_ID = 2**62 - 1
LIBSVM_ERRORS = (  # in the order of the native enum
    "",
    "label_missing",
    "label_character",
    "pair",
    "id",
    "id_small",
    "id_large",
    "id_repeated",
    "qid_place",
    "qid",
    "value_missing",
    "value",
    "value_nan",
    "value_infinite",
    "value_large",
)


class Fault(NamedTuple):
    """The first error of a text: one of LIBSVM_ERRORS, where the offending text begins, and its length."""

    kind: str
    at: int
    length: int


class ParsedLibsvm(NamedTuple):
    """Rows of LIBSVM text in CSR form. After a fault the other fields mean nothing."""

    labels: Array  # float64, NaN for text
    label_at: Array  # begin and end of each label in the text
    qid: Array | None  # -1 where a row has none; None if no row has one
    indptr: Array
    ids: Array  # counted from 0
    values: Array
    first_text: int  # row of the first label that is not a number, or -1
    largest_id: int  # counted from 0; -1 without pairs
    fault: Fault | None


class CsvTaken(NamedTuple):
    """How far native code has read CSV text; lines are rows and blank lines."""

    rows: int
    lines: int
    bytes: int


class Texts(NamedTuple):
    """Strings in one array of bytes, the i-th from ``ends[i]`` to ``ends[i + 1]``."""

    text: Array  # bytes (uint8)
    ends: Array  # int64, one more than there are strings

    @classmethod
    def of(cls, texts: list[str]) -> Texts:
        parts = [text.encode("utf-8", "backslashreplace") for text in texts]  # lone surrogates as escapes
        return cls(np.frombuffer(b"".join(parts), np.uint8), np.cumsum([0, *map(len, parts)], dtype=np.int64))

    def to_list(self) -> list[str]:
        content, ends = self.text.tobytes(), self.ends.tolist()
        return [content[begin:end].decode() for begin, end in pairwise(ends)]


def parse_libsvm(text: Array, base: int, dtype: Any, threads: int) -> ParsedLibsvm:
    """Parse LIBSVM text: bytes (uint8) of whole lines, with ids that count from ``base``."""
    found = _native.libsvm_parse(text, base=base, single=np.dtype(dtype) == np.float32, threads=threads)
    return ParsedLibsvm(
        found.labels,
        found.label_at,
        found.qid if found.any_qid else None,
        found.indptr,
        found.ids,
        found.values,
        found.first_text,
        found.largest_id,
        Fault(LIBSVM_ERRORS[found.error], found.at, found.length) if found.error else None,
    )


def parse_csv(
    text: Array,
    delimiter: str,
    label: int | None,
    X: Array,
    y: Array | None,
    threads: int,
    left_out: Array | None = None,
) -> CsvTaken:
    """Parse CSV text into ``X`` and ``y``, up to their last row or to the first line that is not ordinary.

    ``text`` is bytes (uint8) of whole lines. ``y`` gets float64 numbers or, if it has two columns, the begin and end of
    each label in the text. ``left_out`` (uint8) is 1 for the columns whose cells are passed over.
    """
    if not (delimiter.isascii() and _native.csv_delimiter(delimiter)):
        return CsvTaken(0, 0, 0)
    numbers, places = (y, None) if y is None or y.ndim == 1 else (None, y)
    found = _native.csv_parse(
        text,
        delimiter=delimiter,
        label=label,
        values=X,
        labels=numbers,
        label_at=places,
        left_out=left_out,
        threads=threads,
    )
    return CsvTaken(found.rows, found.lines, found.bytes)


def distinct_texts(text: Array, at: Array) -> tuple[Array, Array]:
    """Return the places of the distinct strings among those at ``at[i, 0]:at[i, 1]``, and for each i which it is."""
    numbers, first = _native.distinct_texts(text, at)
    return at[first], numbers


def numbers_as_text(values: Array) -> Texts:
    """Write numbers as text: float32, float64, int64 or uint64."""
    return Texts(*_native.text_numbers(values))


def rows_as_text(heads: Texts, qid: Array | None, indptr: Array, ids: Array, values: Array, base: int) -> Array:
    """Write CSR rows as lines of LIBSVM text; return their bytes (uint8).

    ``indptr`` and ``ids`` are int64; ``values`` has a dtype that :func:`numbers_as_text` takes.
    """
    return _native.text_lines(
        heads=heads.text, head_ends=heads.ends, qid=qid, indptr=indptr, ids=ids, values=values, base=base
    )
