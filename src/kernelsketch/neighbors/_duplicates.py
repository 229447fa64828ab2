"""Equal rows: n of them are n - 1 pairs with the first of them, not n (n - 1) / 2 pairs.

Equal rows have equal keys: two 64-bit sums over the nonzeros of a row (``reference/join.py``). Rows with different
contents share both with a probability of about 2^-128.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import Array
from .._validation import row_batches
from ..backends import CsrRows, DenseRows, Rows, Vectors, processor_for
from ..exceptions import InputError, Setting
from . import _segments, _vectors


def row_keys(rows: Rows, threads: int = 1) -> Array:
    """Return the keys of rows, uint64 of shape (n_rows, 2). They do not depend on how the rows are stored."""
    join, keys = processor_for(*rows.arrays, work="a similarity join", threads=threads), [np.zeros((0, 2), np.uint64)]
    for part in row_batches(len(rows), rows.row_bytes):
        keys.append(join.join_keys(rows.part(part).to_csr()))
    return np.concatenate(keys)


def first_equal(keys: Array) -> Array:
    """Return for each row the number of the first row that has the same keys."""
    order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: equal keys stay in the order of the rows
    rising = keys[order]
    begins = np.ones(len(order), bool)
    begins[1:] = (rising[1:] != rising[:-1]).any(axis=1)
    first = np.empty(len(order), np.int64)
    first[order] = order[np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))]
    return first


def find_duplicates(index: Any) -> tuple[Array, Array]:
    """Find the rows that are equal to a row of smaller id, except all-zero rows.

    In an index without vectors, rows are equal if their codes are.

    Returns
    -------
    originals, duplicates : int64 arrays of shape (n_duplicates,)
        Ids; in the order of the originals, then of the duplicates.
    """
    index = index._fitted()
    if index._layout.heavy_fraction and not index.store_vectors:
        raise InputError(
            "an index of inverted lists needs its vectors: build it with ",
            Setting("store_vectors", True),
            ".",
            parameter="store_vectors",
        )
    live = [np.flatnonzero(s.flags == 0) for s in index._segments]
    ids = np.concatenate([s.ids[rows] for s, rows in zip(index._segments, live, strict=True)])
    keys = np.concatenate([_keys_of(s)[rows] for s, rows in zip(index._segments, live, strict=True)])
    order = np.argsort(ids)
    first = first_equal(keys[order])
    again = np.flatnonzero(first != np.arange(len(first)))
    found = np.stack([ids[order[first[again]]], ids[order[again]]], axis=1)
    found = found[np.lexsort(found.T[::-1])]
    return found[:, 0], found[:, 1]


def without(index: Any, ids: Array) -> list[Any]:
    """Return the segments of an index with some of its rows flagged as removed; the index stays as it is."""
    segment, row = _segments.find(index._segments, ids)
    flagged = []
    for number, s in enumerate(index._segments):
        flags = np.array(s.flags)
        flags[row[segment == number]] = _segments.REMOVED
        flagged.append(s._replace(flags=flags))
    return flagged


def _keys_of(s: Any) -> Array:
    return row_keys(DenseRows(s.codes.astype(np.float32)) if s.vectors is None else _rows_of(s.vectors))


def _rows_of(x: Vectors) -> Rows:
    if x.indptr is not None:
        _vectors.check_pointers(x)
        return CsrRows(x.indptr, x.indices, x.data, x.n_features)
    return DenseRows(_vectors.as_floats(x))
