"""What a parser of LIBSVM text returns: rows, or the first error. ``reference/libsvm.py`` specifies the parser."""

from __future__ import annotations

from typing import NamedTuple

from ._array import Array

LARGEST_ID = 2**62 - 1
ERRORS = (  # in the order of the native enum
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
    """The first error of a text: one of ERRORS, and the position and length of the invalid part."""

    kind: str
    at: int
    length: int


class Parsed(NamedTuple):
    """The rows of a text. If there is a fault, the other fields have no meaning."""

    labels: Array  # float64, NaN for text
    label_at: Array  # start and end of each label in the text
    qid: Array | None  # -1 for a row without one; None if no row has one
    indptr: Array
    ids: Array  # counted from 0
    values: Array
    first_text: int  # number of the first row whose label is text, or -1
    largest_id: int  # counted from 0; -1 without pairs
    fault: Fault | None
