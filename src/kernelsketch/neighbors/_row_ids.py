"""Ids and names of rows as users pass them to an index."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import Array
from ..backends import on_host
from ..exceptions import InputError, InputTypeError, Setting

LARGEST_ID = 2**63 - 1


def check_names(names: Any, n_rows: int) -> Array | None:
    """Return names as an array of strings, one per row."""
    if names is None:
        return None
    found = np.empty(n_rows, object)
    given = list(names)
    if len(given) != n_rows:
        raise InputError(Setting("names"), f" must be strings, one for each of the {n_rows} rows, got {len(given)}.")
    for row, name in enumerate(given):
        if not isinstance(name, str):
            raise InputTypeError(
                Setting("names"), f" must be strings, but names[{row}] is {name!r}: pass '' for a row without a name."
            )
        found[row] = name
    return found


def check_ids(ids: Any, n_rows: int | None = None) -> Array:
    """Return ids as int64. They must be distinct integers, one per row if ``n_rows`` is given."""
    found = np.asarray(on_host(ids))
    if found.ndim == 1 and len(found) == 0 and not n_rows:
        return np.zeros(0, np.int64)
    if found.dtype.kind not in "iu":
        raise InputTypeError(Setting("ids"), f" must be integers of 64 bits, got dtype {found.dtype}.")
    if found.ndim != 1 or (n_rows is not None and len(found) != n_rows):
        wanted = "1-D" if n_rows is None else f"of shape ({n_rows},), one per row"
        raise InputError(Setting("ids"), f" must be {wanted}, got shape {found.shape}.")
    if found.dtype.kind == "u" and found.max() > LARGEST_ID:
        raise InputError(Setting("ids"), f" must be at most 2**63 - 1, got {found.max()}.")
    found = found.astype(np.int64)
    rising = np.sort(found)
    repeated = rising[1:] == rising[:-1]
    if repeated.any():
        raise InputError(Setting("ids"), f" must be distinct, got {rising[np.argmax(repeated)]} more than once.")
    return found
