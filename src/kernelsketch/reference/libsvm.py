"""The parser of LIBSVM text, which has one row per line: ``label id:value id:value ...``.

::

    line   = blanks [ label [ blanks "qid:" digits ] { blanks id ":" number } blanks ] [ "#" anything ] end
    end    = LF | CR LF                                blanks = spaces and tabs
    label  = bytes above 32 other than "#", ":" and DEL; a number if it is a finite number, otherwise text
    id     = digits, from base (0 or 1) to 2^62 - 1
    number = [ "+" | "-" ] ( digits [ "." [ digits ] ] | "." digits ) [ ( "e" | "E" ) [ "+" | "-" ] digits ]

Lines without a label are skipped. The ids of a row ascend in the result. An id that occurs twice in a row is an error.
Numbers are correctly rounded.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from .._libsvm import LARGEST_ID, Fault, Parsed
from .._rounding import nearest_float

_NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_TOKEN = re.compile(rb"[^ \t#]+")


class _FaultError(Exception):
    def __init__(self, kind: str, at: int, length: int) -> None:
        self.fault = Fault(kind, at, length)


def parse(text: bytes, base: int, dtype: Any) -> Parsed:
    """Parse a text of complete lines."""
    labels: list[float] = []
    places: list[tuple[int, int]] = []
    qids: list[int] = []
    rows: list[dict[int, Any]] = []
    fault, start = None, 0
    try:
        for line in text.split(b"\n"):
            body = line.removesuffix(b"\r").split(b"#")[0]
            tokens = [(start + m.start(), m[0]) for m in _TOKEN.finditer(body)]
            if tokens:
                labels.append(_label(*tokens[0]))
                places.append((tokens[0][0], tokens[0][0] + len(tokens[0][1])))
                qid, row = _pairs(tokens[1:], base, dtype)
                qids.append(qid)
                rows.append(row)
            start += len(line) + 1
    except _FaultError as found:
        fault = found.fault
    ids = [i for row in rows for i in sorted(row)]
    return Parsed(
        np.array(labels, np.float64),
        np.array(places, np.int64).reshape(-1, 2),
        np.array(qids, np.int64) if any(qid >= 0 for qid in qids) else None,
        np.cumsum([0, *map(len, rows)], dtype=np.int64),
        np.array(ids, np.int64),
        np.array([row[i] for row in rows for i in sorted(row)], dtype),
        next((i for i, label in enumerate(labels) if math.isnan(label)), -1),
        max(ids, default=-1),
        fault,
    )


def _label(at: int, token: bytes) -> float:
    if b":" in token:
        raise _FaultError("label_missing", at, len(token))
    value = float(token) if _NUMBER.fullmatch(token) else math.nan
    if math.isfinite(value):
        return value
    for k, byte in enumerate(token):
        if byte < 32 or byte == 127:
            raise _FaultError("label_character", at + k, 1)
    return math.nan


def _pairs(tokens: list[tuple[int, bytes]], base: int, dtype: Any) -> tuple[int, dict[int, Any]]:
    """Return the qid (-1 if there is none) and the values by id."""
    qid, row = -1, dict[int, Any]()
    for at, token in tokens:
        if token.startswith(b"qid:"):
            if row or qid >= 0:
                raise _FaultError("qid_place", at, len(token))
            if not token[4:].isdigit() or _whole(token[4:]) > LARGEST_ID:
                raise _FaultError("qid", at, len(token))
            qid = _whole(token[4:])
            continue
        i, value = _pair(at, token, base, dtype)
        if i in row:
            raise _FaultError("id_repeated", at, len(token))
        row[i] = value
    return qid, row


def _pair(at: int, token: bytes, base: int, dtype: Any) -> tuple[int, Any]:
    name, colon, number = token.partition(b":")
    if not colon:
        raise _FaultError("pair", at, len(token))
    if not name.isdigit():
        raise _FaultError("id", at, len(name) or len(token))
    i = _whole(name)
    if i < base:
        raise _FaultError("id_small", at, len(name))
    if i > LARGEST_ID:
        raise _FaultError("id_large", at, len(name))
    if not number:
        raise _FaultError("value_missing", at, len(token))
    place = at + len(name) + 1
    if not _NUMBER.fullmatch(number):
        word = (number[1:] if number[:1] in (b"+", b"-") else number).lower()
        kind = {b"nan": "value_nan", b"inf": "value_infinite", b"infinity": "value_infinite"}.get(word, "value")
        raise _FaultError(kind, place, len(number))
    value = nearest_float(number.decode(), dtype)
    if not math.isfinite(value):
        raise _FaultError("value_large", place, len(number))
    return i - base, value


def _whole(digits: bytes) -> int:
    """Return digits as a number. Only the first 30 digits are used, because int() refuses very long numbers."""
    return int(digits.lstrip(b"0")[:30] or b"0")
