"""Rows as LIBSVM or Vowpal Wabbit text, out.

::

    line = head [ " qid:" group ] mark { " " id ":" value } LF

The head is the label, the mark nothing or a blank and a bar. A number is the shortest text that reads back the same in
its dtype, of these the nearest. From 1e-4 to 1e16 (float32: 1e6), without the latter, it stands as it is, 0.25 or 1024;
else with an exponent of two digits at least, 2.5e-05 or 1e+16.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Texts(NamedTuple):
    """Texts one after the other, the i-th from ``ends[i]`` to ``ends[i + 1]``."""

    text: Array  # bytes (uint8)
    ends: Array  # int64, one more than there are texts

    @classmethod
    def of(cls, texts: list[str]) -> Texts:
        parts = [text.encode() for text in texts]
        return cls(np.frombuffer(b"".join(parts), np.uint8), np.cumsum([0, *map(len, parts)], dtype=np.int64))

    def to_list(self) -> list[str]:
        content, ends = self.text.tobytes(), self.ends.tolist()
        return [content[begin:end].decode() for begin, end in pairwise(ends)]


def numbers(values: Array) -> list[str]:
    """Texts of numbers: float32, float64, int64 or uint64."""
    if values.dtype.kind in "iu":
        return list(map(str, values.tolist()))
    if values.dtype == np.float32:  # NumPy's str() has changed its notation between versions
        return [_single(value) for value in values]
    return [repr(value).removesuffix(".0") for value in values.tolist()]


def _single(value: Any) -> str:
    if value == 0 or 1e-4 <= abs(float(value)) < 1e6:
        return np.format_float_positional(value, trim="-")
    return np.format_float_scientific(value, trim="-", exp_digits=2)


def lines(
    heads: Texts, qid: Array | None, mark: str, indptr: Array, ids: Array, values: Array, base: int
) -> NDArray[np.uint8]:
    """Rows in CSR form as the bytes of their lines; a group below 0 is none."""
    pairs = [f" {i + base}:{value}" for i, value in zip(ids.tolist(), numbers(values), strict=True)]
    found = bytearray()
    for row in range(len(indptr) - 1):
        group = "" if qid is None or qid[row] < 0 else f" qid:{qid[row]}"
        found += heads.text[heads.ends[row] : heads.ends[row + 1]].tobytes()
        found += "".join([group, mark, *pairs[indptr[row] : indptr[row + 1]], "\n"]).encode()
    return np.frombuffer(found, np.uint8)
