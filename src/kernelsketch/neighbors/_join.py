"""The exact similarity join of sparse rows by prefixes (``reference/join.py`` has the proof that it misses no pair).

Every row has a prefix, its rarest features, and similar rows share a feature of their prefixes. For shingles of texts a
prefix holds few features that other rows have, so this finds all pairs in less time than LSH tables find most of them.
Rows of few common features share nearly all of them, and tiles of the kernel matrix then take less time per pair: the
back end walks the lists of rows that have a feature, and whole columns of common features, instead of merging two rows
at a time. The sums of tiles are in float64 but in another order than those of ``reference/join.py``, so a pair near the
threshold is decided by the exact similarity.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt

import numpy as np

from .._array import Array
from .._interruptible import interruptible
from ..backends import CsrRows, Join, Ratio, backend_for, processor_for
from ._vectors import stacked

CHUNK = 1 << 22  # candidates at a time
PER_ROW, FREE = 500, 10_000_000  # candidates up to which the join takes less time than LSH tables
# Costs in seconds, measured on one thread. Candidates: each of them, and each nonzero of the two rows of a pair that is
# verified. Tiles: each pair, each feature that a pair shares, or each row of the matrix for a feature of many rows, and
# each row for each nonzero that is looked up in the list of features of a tile.
CANDIDATE_COST, MERGE_COST = 100e-9, 6e-9
PAIR_COST, SHARED_COST, COLUMN_COST, LOOKUP_COST = 3e-9, 2e-9, 0.25e-9, 0.1e-9
LEAST_BITS, MOST_BITS = 12, 27  # of a table of counters
MOST_ROWS, LEAST_ROWS = 2048, 64  # of a tile
PER_PAIR = 64  # bytes of memory per pair of a tile: its kernel, and the pair itself if it is similar
NEAR = 1e-9  # relative; the sums of two orders differ by less


def counters_for(nonzeros: int, room: int = 1 << 29) -> Array:
    """Return an empty table that counts features of about so many nonzeros, in at most so many bytes."""
    bits = min(nonzeros.bit_length(), MOST_BITS, (room // 2).bit_length() - 1)
    return np.zeros(1 << max(bits, LEAST_BITS), np.uint16)


def prefixes_of(rows: CsrRows, counters: Array, threshold: float, threads: int) -> tuple[Array, Array]:
    """Return the features of all prefixes, without those that occur once, and the rows that have them."""
    inside = processor_for(threads=threads).join_prefixes(rows, counters, threshold)
    sizes = np.diff(np.concatenate([[0], np.cumsum(inside)])[rows.indptr])
    return rows.indices[inside], np.repeat(np.arange(len(rows)), sizes)


class Candidates:
    """Pairs of rows that share a feature of their prefixes. ``count`` says how many, with repetitions.

    Rows ascend.
    """

    def __init__(self, features: Array, rows: Array) -> None:
        order = np.argsort(features, kind="stable")
        features, self._rows = features[order], rows[order]
        last = np.ones(len(features), bool)  # of the rows that share a feature
        last[:-1] = features[1:] != features[:-1]
        ends = np.flatnonzero(last) + 1
        begins = np.concatenate([[0], ends])[:-1]
        later = np.repeat(ends, ends - begins) - np.arange(len(features)) - 1  # rows behind each in its group
        self._places = np.flatnonzero(later)
        self._later = later[self._places]
        self.count = int(self._later.sum())

    def cost(self, n_rows: int, per_pair: float) -> float:
        """Return about how many seconds the candidates among so many rows take, if a pair takes so many to verify."""
        return CANDIDATE_COST * self.count + per_pair * min(self.count, n_rows * (n_rows - 1) // 2)

    def blocks(self, norms: Array, threshold: float, most: int) -> Iterator[Array]:
        """Yield pairs, the smaller row first, whose norms allow the similarity; about ``most`` at a time.

        Each pair comes once: all candidates of a row are in one block, unless these alone are more than ``most``.
        """
        n = len(norms)
        order = np.argsort(self._rows[self._places], kind="stable")
        places, later = self._places[order], self._later[order]
        owners = self._rows[places]
        done = np.concatenate([[0], np.cumsum(later)])
        ends = np.append(np.flatnonzero(owners[1:] != owners[:-1]) + 1, len(owners))  # of the places of a row
        start = 0
        while start < len(places):
            stop = max(start + 1, int(np.searchsorted(done, done[start] + most, side="right")) - 1)
            whole = ends[np.searchsorted(ends, stop, side="right") - 1] if stop >= ends[0] else 0
            stop = int(whole) if whole > start else stop
            counts = later[start:stop]
            left = np.repeat(places[start:stop], counts)
            right = left + 1 + np.arange(len(left)) - np.repeat(done[start:stop] - done[start], counts)
            one, two = self._rows[left], self._rows[right]  # ascending: the sort of the features is stable
            a, b = norms[one], norms[two]
            able = np.minimum(a, b) >= threshold * np.maximum(a, b) * (1 - 2.0**-20)
            keys = interruptible(np.unique, one[able] * n + two[able])
            yield np.stack([keys // n, keys % n], axis=1)
            start = stop


def tiles_cost(counters: Array, n_rows: int, nonzeros: int) -> float:
    """Return about how many seconds the tiles of so many rows take whose features have been counted."""
    counts = counters[counters > 1].astype(np.float64)
    counts[counts == np.iinfo(counters.dtype).max] = n_rows  # the counters stop there
    shared = counts @ np.minimum(SHARED_COST * counts, COLUMN_COST * n_rows)
    return float(shared + PAIR_COST * n_rows**2 + LOOKUP_COST * nonzeros * n_rows) / 2


def joined_pairs(
    rows: CsrRows, threshold: float, threads: int, *, exact: bool = True
) -> Iterator[tuple[Array, Array]] | None:
    """Return blocks of pairs of at least this similarity, with their similarities; None if LSH tables are faster.

    A pair may be in several blocks. Unless ``exact``, the last bits of the similarities may not be those of
    ``join_similarities``.
    """
    join: Join = processor_for(threads=threads)
    counters = counters_for(len(rows.data))
    join.join_count(rows, counters)
    candidates = Candidates(*prefixes_of(rows, counters, threshold, threads))
    cost = candidates.cost(len(rows), 2 * len(rows.data) / max(1, len(rows)) * MERGE_COST)
    in_tiles = tiles_cost(counters, len(rows), len(rows.data))
    if min(cost, in_tiles) > CANDIDATE_COST * (PER_ROW * len(rows) + FREE):
        return None
    if in_tiles < cost:
        return similar_in_tiles(rows, None, threshold, MOST_ROWS, threads, exact=exact)
    return _verified(rows, candidates, threshold, join)


def _verified(rows: CsrRows, candidates: Candidates, threshold: float, join: Join) -> Iterator[tuple[Array, Array]]:
    for pairs in candidates.blocks(rows.norms(), threshold, CHUNK):
        similarity = join.join_similarities(rows, pairs[:, 0].copy(), pairs[:, 1].copy())
        kept = similarity >= threshold
        yield pairs[kept], similarity[kept]


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
    kernel = backend_for(*left.arrays, threads=threads).gmm(left, right, Ratio.MIN_MAX, symmetric=same)
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


def _in_float64(rows: CsrRows) -> CsrRows:
    return CsrRows(rows.indptr, rows.indices, rows.data.astype(np.float64), rows.n_features)
