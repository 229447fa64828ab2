"""Pairs of similar rows by tiles of the kernel matrix, for rows that share so many features that most are candidates.

A tile costs little per pair: the back end walks the lists of rows that have a feature, and whole columns of common
features, instead of merging two rows at a time. Its sums are in float64 but in another order than those of
``reference/join.py``, so a pair near the threshold is decided by the exact similarity, and so are its values.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

import numpy as np

from .._array import Array
from ..backends import CsrRows, Ratio, backend_for, processor_for

MOST_ROWS, LEAST_ROWS = 2048, 64  # of a tile
PER_PAIR = 64  # bytes of memory per pair of a tile: its kernel, and the pair itself if it is similar
NEAR = 1e-9  # relative; the sums of two orders differ by less


def tile_rows(room: int) -> int:
    """Return how many rows a tile may have on each side in so many bytes."""
    return max(LEAST_ROWS, min(MOST_ROWS, isqrt(max(0, room) // PER_PAIR)))


def similar_in_tiles(
    a: CsrRows, b: CsrRows | None, threshold: float, side: int, threads: int, *, exact: bool
) -> Iterator[tuple[Array, Array]]:
    """Yield pairs of a row of a and one of b of at least this similarity, each once, with their similarities.

    If b is None, the pairs are those of two rows of a, the smaller first. Unless ``exact``, the last bits of the
    similarities are not those of other joins, though the pairs are.
    """
    other = a if b is None else b
    for begin in range(0, len(a), side):
        rows = slice(begin, min(begin + side, len(a)))
        left = _in_float64(a.part(rows))
        for start in range(begin if b is None else 0, len(other), side):
            columns = slice(start, min(start + side, len(other)))
            same = b is None and start == begin
            right = left if same else _in_float64(other.part(columns))
            pairs, similarity = _similar_of_tile(left, right, threshold, threads, exact=exact, same=same)
            if len(pairs):
                yield pairs + np.array([begin, start]), similarity


def _similar_of_tile(
    left: CsrRows, right: CsrRows, threshold: float, threads: int, *, exact: bool, same: bool
) -> tuple[Array, Array]:
    kernel = backend_for(*left.arrays, threads=threads).gmm_sparse(left, right, Ratio.MIN_MAX, symmetric=same)
    pairs = np.argwhere(~(kernel < threshold * (1 - NEAR)))
    if same:
        pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    similarity = kernel[pairs[:, 0], pairs[:, 1]]
    asked = slice(None) if exact else np.flatnonzero(~(similarity > threshold * (1 + NEAR)))
    one, two = pairs[asked, 0].copy(), pairs[asked, 1].copy()
    if len(one):
        both = left if same else stacked([left, right])
        two = two if same else two + len(left)
        similarity[asked] = processor_for(threads=threads).join_similarities(both, one, two)
    similar = similarity >= threshold
    return pairs[similar], similarity[similar]


def stacked(parts: list[CsrRows]) -> CsrRows:
    """Return the rows of all parts, one part after the other."""
    sizes = np.concatenate([[0], *(np.diff(part.indptr) for part in parts)])
    indices, data = (np.concatenate([getattr(part, name) for part in parts]) for name in ("indices", "data"))
    return CsrRows(np.cumsum(sizes), indices, data, parts[0].n_features)


def _in_float64(rows: CsrRows) -> CsrRows:
    return CsrRows(rows.indptr, rows.indices, rows.data.astype(np.float64), rows.n_features)
