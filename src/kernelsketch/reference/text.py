"""The writer of LIBSVM text.

::

    line = head [ " qid:" group ] { " " id ":" value } LF

The head is the label. A number is the shortest text that reads back as the same number of its dtype; if there are
several, the nearest one. Numbers from 1e-4 up to but not including 1e16 (for float32, 1e6) have no exponent, as in 0.25
or 1024. Other numbers have an exponent of at least two digits, as in 2.5e-05 or 1e+16.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import Array


def numbers(values: Array) -> list[str]:
    """Return the texts of numbers: float32, float64, int64 or uint64."""
    if values.dtype.kind in "iu":
        return list(map(str, values.tolist()))
    if values.dtype == np.float32:  # the notation of NumPy's str() differs between versions
        return [_single(value) for value in values]
    return [repr(value).removesuffix(".0") for value in values.tolist()]


def _single(value: Any) -> str:
    if value == 0 or 1e-4 <= abs(float(value)) < 1e6:
        return np.format_float_positional(value, trim="-")
    return np.format_float_scientific(value, trim="-", exp_digits=2)


def lines(heads: list[str], qid: Array | None, indptr: Array, ids: Array, values: Array, base: int) -> bytes:
    """Return the bytes of one line per row of a CSR matrix. A qid below 0 means that the row has none."""
    pairs = [f" {i + base}:{value}" for i, value in zip(ids.tolist(), numbers(values), strict=True)]
    found = []
    for row, head in enumerate(heads):
        group = "" if qid is None or qid[row] < 0 else f" qid:{qid[row]}"
        found += [head, group, *pairs[indptr[row] : indptr[row + 1]], "\n"]
    return "".join(found).encode()
