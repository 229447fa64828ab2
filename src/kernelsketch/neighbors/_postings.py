"""Inverted lists: for each feature and sign the rows in which it is a heavy feature (reference/index.py)."""

from __future__ import annotations

import numpy as np

from .._array import Array
from ..backends import Postings, Vectors, backend_for, directory_shift

NARROW = 2**32  # keys and positions below this limit are sorted together, as one 64-bit word


def make(x: Vectors, flags: Array, heavy_fraction: float, threads: int) -> Postings:
    """Build the inverted lists of the rows whose flag is 0."""
    assert x.indptr is not None
    assert x.indices is not None
    assert x.data is not None
    row = np.repeat(np.arange(len(x.norms), dtype=np.uint32), np.diff(x.indptr))
    taken = np.flatnonzero(backend_for(x.data, threads=threads).index_heavy(x, heavy_fraction) & (flags[row] == 0))
    row, size = row[taken], np.abs(x.data[taken])
    keys = 2 * x.indices[taken].astype(np.int64) + (x.data[taken] < 0)
    keys, order = _sorted(keys)
    first = np.flatnonzero(np.concatenate([np.ones(min(1, len(keys)), bool), keys[1:] != keys[:-1]]))
    entries = np.stack([row[order], size[order].view(np.uint32)], axis=1)
    found, starts = keys[first], np.append(first, len(keys))
    last = int(found[-1]) if len(found) else 0
    shift = directory_shift(last, len(found))
    directory = np.searchsorted(found, np.arange((last >> shift) + 1) << shift)
    return Postings(np.append(directory, len(found)).astype(np.uint32), found, starts, entries)


def _sorted(keys: Array) -> tuple[Array, Array]:
    """Return the sorted keys and their old positions. The sort is stable."""
    if len(keys) and (keys.max() >= NARROW or len(keys) >= NARROW):
        order = np.argsort(keys, kind="stable")
        return keys[order], order
    both = np.sort(keys.astype(np.uint64) << np.uint64(32) | np.arange(len(keys), dtype=np.uint64))
    return (both >> np.uint64(32)).astype(np.int64), (both & np.uint64(NARROW - 1)).astype(np.int64)
