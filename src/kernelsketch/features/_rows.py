"""Checked rows as the back end takes them, and seeds: what the transformers share."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from .._backend import CsrRows
from .._validation import check_finite, check_rows
from ..exceptions import InputError

MOST_FEATURES = 2**62
LINE_BYTES = 64  # of a cache line


def canonical_rows(X: Any) -> Any:
    """X, which scikit-learn has checked, with ascending distinct indices if it is sparse."""
    rows = check_rows(X, "X")
    if rows.shape[1] > MOST_FEATURES:
        raise InputError(f"X has {rows.shape[1]} features: features are numbered up to 2**62 - 1.")
    if rows is not X:  # duplicates have been added up
        check_finite(rows.data, "X", lambda k: (int(np.searchsorted(rows.indptr, k, "right")) - 1, rows.indices[k]))
    return rows


def native_rows(rows: Any, part: slice) -> Any:
    """Some of the rows as the back end takes them: views, where the layout allows it."""
    if not sparse.issparse(rows):
        return np.require(rows[part], requirements=["C", "ALIGNED"])
    begin, end = int(rows.indptr[part.start]), int(rows.indptr[part.stop])
    indptr = rows.indptr[part.start : part.stop + 1].astype(np.int64) - begin
    indices = np.require(rows.indices[begin:end], requirements=["C", "ALIGNED"])
    return CsrRows(indptr, indices, np.require(rows.data[begin:end], requirements=["C", "ALIGNED"]), rows.shape[1])


def seed_of(random_state: Any) -> int:
    """A whole number is the seed itself, up to 2**64 - 1; else one is drawn."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(0, 2**63, dtype=np.int64))


def aligned_empty(shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """np.empty that starts on a cache line: vectors that straddle two of them cost up to a tenth of the time."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    room = np.empty(size + LINE_BYTES, np.uint8)
    start = -room.ctypes.data % LINE_BYTES
    return np.asarray(room[start : start + size].view(dtype).reshape(shape))
