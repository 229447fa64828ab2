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

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .._array import Array
from .._mix import GOLDEN64, mix64
from .gmm import of_minima

if TYPE_CHECKING:
    from ..backends import CsrRows

_GOLDEN = np.uint64(GOLDEN64)
SLACK = 1 - 2.0**-20  # rounding of the sums may not end a prefix too early


def keys(rows: CsrRows) -> Array:
    found = np.zeros((len(rows), 2), np.uint64)
    with np.errstate(over="ignore"):
        e = mix64(_mixed(rows.indices) ^ rows.data.astype(np.float64).view(np.uint64))
        two = np.stack([e, mix64(e + _GOLDEN)], axis=1)
        two[rows.data == 0] = 0
        for i, (begin, end) in enumerate(pairwise(rows.indptr)):
            found[i] = two[begin:end].sum(axis=0, dtype=np.uint64)
    return found


def count(rows: CsrRows, counters: Array) -> None:
    new = np.bincount(slots(rows.indices, counters).astype(np.int64), minlength=len(counters))
    counters[:] = np.minimum(counters + new, 2**16 - 1)


def slots(features: Array, counters: Array) -> Array:
    """Return where features are counted."""
    with np.errstate(over="ignore"):
        return _mixed(features) >> np.uint64(65 - len(counters).bit_length())


def prefixes(rows: CsrRows, counters: Array, threshold: float) -> Array:
    features, inside = rows.indices, np.zeros(len(rows.indices), bool)
    weights, places = np.abs(rows.data.astype(np.float64)), counters[slots(features, counters)]
    for begin, end in pairwise(rows.indptr.tolist()):
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


def similarities(rows: CsrRows, left: Array, right: Array) -> Array:
    found = np.zeros(len(left))
    for i, pair in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        parts = [rows.part(slice(row, row + 1)) for row in pair]
        u, v = (dict(zip(part.indices.tolist(), part.data.tolist(), strict=True)) for part in parts)
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


def _mixed(features: Array) -> Array:
    with np.errstate(over="ignore"):
        return mix64(features.astype(np.uint64) + _GOLDEN)
