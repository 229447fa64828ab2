"""Exact duplicates: n equal rows are reported as n - 1 pairs with the first of them, not as n (n - 1) / 2 pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import row_batches
from ..backends import Vectors
from ..exceptions import InputError
from . import _segments, _vectors

Array = NDArray[Any]

STEP_BYTES = 1 << 26


def find_duplicates(index: Any) -> tuple[Array, Array]:
    """Find the rows that are equal to a row of smaller id, except all-zero rows.

    Equal rows have equal codes and norms, so only rows that agree in both are compared, each with the first of them.
    A duplicate is missed only if a different row of smaller id has the same codes and norm.

    Returns
    -------
    originals, duplicates : int64 arrays of shape (n_duplicates,)
        Ids; in the order of the originals, then of the duplicates.
    """
    s = _segments.whole(index._segments, index._layout)
    if s.vectors is None:
        raise InputError("codes cannot tell equal rows from similar ones: build the index with store_vectors=True.")
    rows = np.flatnonzero(s.flags == 0)
    both = np.concatenate([s.codes[rows], s.vectors.norms[rows, None].view(np.uint8)], axis=1)
    words = both.view(np.dtype((np.void, both.shape[1])))[:, 0]
    order = np.argsort(words, kind="stable")
    again = np.concatenate([np.zeros(min(1, len(order)), bool), words[order[1:]] == words[order[:-1]]])
    first = rows[order[np.maximum.accumulate(np.where(again, 0, np.arange(len(order))))]]
    pairs = np.stack([first, rows[order]], axis=1)[again]
    width = max(1, _vectors.nbytes(s.vectors) // max(1, len(s.ids)))
    parts = [pairs[part] for part in row_batches(len(pairs), width, STEP_BYTES)]
    same = [part[_equal(*(_vectors.take(s.vectors, side) for side in part.T))] for part in parts]
    found = s.ids[np.concatenate([np.zeros((0, 2), np.int64), *same])]
    found = found[np.lexsort(found.T[::-1])]
    return found[:, 0], found[:, 1]


def _equal(a: Vectors, b: Vectors) -> Array:
    """Return which rows of a and b are equal, row by row."""
    if a.indptr is None or b.indptr is None:
        return np.asarray((_vectors.as_floats(a) == _vectors.as_floats(b)).all(axis=1))
    assert a.indices is not None
    assert b.indices is not None
    assert a.data is not None
    assert b.data is not None
    sizes, others = np.diff(a.indptr), np.diff(b.indptr)
    same: Array = sizes == others
    left, right = np.repeat(same, sizes), np.repeat(same, others)
    differ = (a.indices[left] != b.indices[right]) | (a.data[left] != b.data[right])
    same[np.repeat(np.arange(len(same)), sizes)[left][differ]] = False
    return same
