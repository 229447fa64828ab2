"""The specification of LIBSVM and Vowpal Wabbit text that is written.

::

    line = head [ " qid:" group ] mark { " " id ":" value } LF

The head is the label, the mark nothing or a blank and a bar. A number is the shortest text that reads back the same in
its dtype, of these the nearest. From 1e-4 to 1e16 (float32: 1e6), without the latter, it stands as it is, 0.25 or 1024;
else with an exponent of two digits at least, 2.5e-05 or 1e+16.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def numbers(values: Array) -> list[str]:
    """Return the texts of numbers: float32, float64, int64 or uint64."""
    if values.dtype.kind in "iu":
        return list(map(str, values.tolist()))
    if values.dtype == np.float32:  # NumPy's str() has changed its notation between versions
        return [_single(value) for value in values]
    return [repr(value).removesuffix(".0") for value in values.tolist()]


def _single(value: Any) -> str:
    if value == 0 or 1e-4 <= abs(float(value)) < 1e6:
        return np.format_float_positional(value, trim="-")
    return np.format_float_scientific(value, trim="-", exp_digits=2)


def lines(heads: list[str], qid: Array | None, mark: str, indptr: Array, ids: Array, values: Array, base: int) -> bytes:
    """Return the bytes of one line per row of a CSR matrix; a group below 0 is none."""
    pairs = [f" {i + base}:{value}" for i, value in zip(ids.tolist(), numbers(values), strict=True)]
    found = []
    for row, head in enumerate(heads):
        group = "" if qid is None or qid[row] < 0 else f" qid:{qid[row]}"
        found += [head, group, mark, *pairs[indptr[row] : indptr[row + 1]], "\n"]
    return "".join(found).encode()
