"""The similarity join of sparse rows: keys of equal rows, prefixes that similar rows share, and exact similarities.

::

    key         two sums modulo 2^64 over the nonzeros, of e = mix64(mix64(feature + GOLDEN64) ^ bits) and of
                mix64(e + GOLDEN64), where bits are those of the value as float64
    counters    how often features occur, up to 2^16 - 1, in a table of 2^q numbers; a feature is counted at the
                leading q bits of mix64(feature + GOLDEN64)
    prefix      of a row: its features in the order of their counters, then of their numbers, as few as leave less than
                the share ``threshold`` of its L1 norm
    similarity  the GMM kernel of two rows: m / (|u| + |v| - m), where m is the sum of the smaller absolute values of
                the features that both rows have with the same sign; 0 if both rows are all zero

**Why it finds every pair.** Let two rows have a similarity of at least ``threshold``, and let u be the one whose prefix
ends first in the order. If the prefixes had no feature in common, then nothing that the rows share would be in the
prefix of u, so m < threshold |u|; but m >= threshold (|u| + |v| - m) >= threshold |u|.

Rare features come first, so few rows share one of a prefix. Features of a prefix that are counted once are left out,
since no other row has them.
"""

from __future__ import annotations

import numpy as np

from .._array import Array
from .._mix import GOLDEN64, mix64
from .gmm import of_minima

_GOLDEN = np.uint64(GOLDEN64)
SLACK = 1 - 2.0**-20  # rounding of the sums may not end a prefix too early


def keys(indptr: Array, features: Array, values: Array) -> Array:
    """Return the keys of rows, uint64 of shape (n_rows, 2)."""
    found = np.zeros((len(indptr) - 1, 2), np.uint64)
    with np.errstate(over="ignore"):
        e = mix64(_mixed(features) ^ values.astype(np.float64).view(np.uint64))
        two = np.stack([e, mix64(e + _GOLDEN)], axis=1)
        two[values == 0] = 0
        for row in range(len(found)):
            found[row] = two[indptr[row] : indptr[row + 1]].sum(axis=0, dtype=np.uint64)
    return found


def count(features: Array, counters: Array) -> None:
    """Count features in a table of uint16, each up to 2^16 - 1."""
    new = np.bincount(slots(features, counters).astype(np.int64), minlength=len(counters))
    counters[:] = np.minimum(counters + new, 2**16 - 1)


def slots(features: Array, counters: Array) -> Array:
    """Return where features are counted."""
    with np.errstate(over="ignore"):
        return _mixed(features) >> np.uint64(65 - len(counters).bit_length())


def prefixes(indptr: Array, features: Array, values: Array, counters: Array, threshold: float) -> Array:
    """Return which nonzeros belong to the prefix of their row, without features that occur in no other row."""
    inside = np.zeros(len(features), bool)
    weights, places = np.abs(values.astype(np.float64)), counters[slots(features, counters)]
    for begin, end in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
        norm = 0.0
        for weight in weights[begin:end].tolist():
            norm += weight
        rest = norm
        order = np.lexsort((features[begin:end], places[begin:end]))
        for k in (begin + order).tolist():
            if weights[k] == 0:
                continue
            if rest < threshold * norm * SLACK:
                break
            inside[k] = places[k] > 1
            rest -= weights[k]
    return inside


def similarities(indptr: Array, features: Array, values: Array, left: Array, right: Array) -> Array:
    """Return the GMM kernel of pairs of rows."""
    found = np.zeros(len(left))
    for i, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        u, v = (dict(zip(features[p].tolist(), values[p].tolist(), strict=True)) for p in _parts(indptr, a, b))
        shared = 0.0
        for feature in sorted(u.keys() & v.keys()):
            if np.sign(u[feature]) * np.sign(v[feature]) > 0:
                shared += min(abs(u[feature]), abs(v[feature]))
        norms = [0.0, 0.0]
        for side, row in enumerate((u, v)):
            for value in row.values():
                norms[side] += abs(value)
        found[i] = of_minima(shared, norms[0] + norms[1])
    return found


def _parts(indptr: Array, *rows: int) -> list[slice]:
    return [slice(int(indptr[row]), int(indptr[row + 1])) for row in rows]


def _mixed(features: Array) -> Array:
    with np.errstate(over="ignore"):
        return mix64(features.astype(np.uint64) + _GOLDEN)
