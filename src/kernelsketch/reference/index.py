"""The near-neighbour index: which rows are candidates, how they are ranked and compared, how results are ordered.

A row has k codes. Each is a fingerprint: one byte mixed from a full sample (i*, t*) and its hash number. Codes of two
rows of similarity s are equal with probability c = s + (1 - s) / 256. LSH table l uses a band of K =
``hashes_per_table`` codes, those numbered l K, ..., (l + 1) K - 1. Two rows are candidates for each other if they
agree on the whole band of one of the L tables, which happens with probability 1 - (1 - c^K)^L. Native code looks up
candidates in the buckets of the tables; this module compares the codes of all rows.

For sparse rows, inverted lists can replace the tables. The heavy features of a row are those of its largest absolute
values, as few as hold ``heavy_fraction`` of its L1 norm. Two rows are candidates if they have a heavy feature in
common, with the same sign. Candidates are ranked by the GMM that they would have if they shared nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._array import Array
from .._mix import GOLDEN64, mix64
from .gmm import of_minima

if TYPE_CHECKING:
    from ..backends import Postings, Queries, SearchParams, Segment, Vectors

LANES = 8  # partial sums of the minima: feature f of a dense row, or value f of a sparse one, goes to lane f % 8
CHANCE = 1 / 256  # probability that different samples have equal codes
WHOLE = 2.0**40  # the norm of a row, as an integer of which its values are fractions
LEVELS = 4096  # of similarity, by which candidates of inverted lists are ranked


def fingerprints(slots: Array, t: Array) -> Array:
    """Return the codes of samples of shape (rows, hashes): one byte each, 0 for an all-zero row (slot -1)."""
    golden = np.uint64(GOLDEN64)
    number = np.arange(1, slots.shape[1] + 1, dtype=np.uint64)
    h = mix64(mix64(slots.astype(np.uint64) + number * golden) + t.astype(np.uint64) + golden)
    return np.where(slots < 0, 0, h & np.uint64(255)).astype(np.uint8)


def buckets(codes: Array, hashes_per_table: int, table: int, bits: int) -> Array:
    """Return the bucket of each row in a table: the leading ``bits`` of a mix of its band."""
    key = np.zeros(len(codes), np.uint64)
    for j in range(hashes_per_table):
        key |= codes[:, table * hashes_per_table + j].astype(np.uint64) << np.uint64(8 * j)
    h = mix64(key + np.uint64((table + 1) * GOLDEN64 % 2**64))
    return (h >> np.uint64(64 - bits) if bits else h * np.uint64(0)).astype(np.int64)


def tables(codes: Array, flags: Array, n_tables: int, hashes_per_table: int, bits: int) -> tuple[Array, Array]:
    """Return for each table the rows of flag 0, by bucket and then by row number, and where each bucket begins."""
    live = np.flatnonzero(flags == 0)
    rows = np.empty((n_tables, len(live)), np.uint32)
    starts = np.empty((n_tables, (1 << bits) + 1), np.uint32)
    for table in range(n_tables):
        found = buckets(codes[live], hashes_per_table, table, bits)
        rows[table] = live[np.argsort(found, kind="stable")]
        starts[table] = np.searchsorted(np.sort(found), np.arange((1 << bits) + 1))
    return rows, starts


def heavy(x: Vectors, i: int, heavy_fraction: float) -> Array:
    """Return which values of a sparse row are heavy: all as large as the one at which ``heavy_fraction`` is reached.

    Fractions of the norm are multiples of 2**-40, so that their sums do not depend on the order of the values.
    """
    size = np.abs(_sparse_row(x, i)[1])
    if len(size) == 0:
        return np.zeros(0, bool)
    share = (size.astype(np.float64) * (WHOLE / x.norms[i])).astype(np.int64)
    order = np.argsort(-size, kind="stable")
    reached = np.cumsum(share[order]) >= int(heavy_fraction * WHOLE)
    return np.asarray(size >= size[order[np.argmax(reached)]]) if reached.any() else np.ones(len(size), bool)


def heavy_keys(x: Vectors, i: int, heavy_fraction: float) -> tuple[Array, Array]:
    """Return the keys of the heavy features of a row, ascending, and their absolute values."""
    features, values = _sparse_row(x, i)
    part = heavy(x, i, heavy_fraction)
    return 2 * features[part].astype(np.int64) + (values[part] < 0), np.abs(values[part])


def levels(x: Vectors, i: int, heavy_fraction: float, postings: Postings, norms: Array) -> Array:
    """Return the rank of each row for query i: GMM of what their heavy features share, in 4096ths; -1 for no candidate.

    Sums are in float32, as in native code.
    """
    shared = np.zeros(len(norms), np.float32)
    for key, value in zip(*heavy_keys(x, i, heavy_fraction), strict=True):
        place = int(np.searchsorted(postings.keys, key))
        if place < len(postings.keys) and postings.keys[place] == key:
            rows, bits = postings.entries[int(postings.starts[place]) : int(postings.starts[place + 1])].T
            shared[rows] += np.minimum(value, bits.copy().view(np.float32))
    found = of_minima(shared, np.float32(x.norms[i]) + norms.astype(np.float32))
    return np.where(shared > 0, level_of(found), -1)


def level_of(similarity: Array) -> Array:
    """Return similarities as levels, from 0 to 4095."""
    return np.asarray(np.clip(similarity.dtype.type(LEVELS) * similarity, 0, LEVELS - 1).astype(np.int64))


def norms(vectors: Vectors) -> Array:
    """Return L1 norms, summed in the order of `similarity`, so that a row has similarity 1 with itself."""
    dense = vectors.dense
    rows = [_sparse_row(vectors, i)[1] for i in range(len(vectors.csr))] if dense is None else dense
    return np.array([lanes_sum(np.abs(row).astype(np.float64)) for row in rows], np.float64)


def similarity(a: Vectors, i: int, b: Vectors, j: int) -> float:
    """Return GMM of two rows in float64: M / ((|u| + |v|) - M), where M sums the minima of features of equal sign."""
    if a.indptr is not None:
        M = _common_sparse(_sparse_row(a, i), _sparse_row(b, j))
    else:
        M = lanes_sum(_shared(_dense_row(a, i), _dense_row(b, j)))
    return float(of_minima(M, a.norms[i] + b.norms[j]))


def lanes_sum(values: Array) -> float:
    """Sum float64 values in 8 lanes: value f is added to lane f % 8."""
    lanes = np.zeros(LANES)
    for first in range(0, len(values), LANES):
        part = values[first : first + LANES]
        lanes[: len(part)] += part
    a, b, c, d, e, f, g, h = lanes
    return float(((a + b) + (c + d)) + ((e + f) + (g + h)))


def estimate(matches: Array, k: int) -> Array:
    """Estimate similarities from numbers of equal codes of k: unbiased, except that negative estimates become 0."""
    return np.asarray(np.maximum((matches / k - CHANCE) / (1 - CHANCE), 0.0))


def search(queries: Queries, segments: list[Segment], params: SearchParams) -> tuple[Array, Array, Array]:
    """Find the neighbours of queries. Return where those of each query begin, their ids and their similarities.

    The most similar row comes first; of equally similar rows, the one of smaller id.
    """
    found = [_neighbors(queries, i, segments, params) for i in range(len(queries.codes))]
    ends = np.cumsum([0, *(len(ids) for ids, _ in found)]).astype(np.int64)
    ids = np.concatenate([np.zeros(0, np.int64), *(ids for ids, _ in found)])
    return ends, ids, np.concatenate([np.zeros(0), *(values for _, values in found)])


def _neighbors(queries: Queries, i: int, segments: list[Segment], params: SearchParams) -> tuple[Array, Array]:
    ids, matches, places = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], []
    own = None if queries.segment < 0 else int(segments[queries.segment].ids[queries.first + i])
    for number, segment in enumerate(segments):
        if queries.empty[i]:
            break
        match = _matches(queries, i, segment, params)
        accepted = (match >= 0) & (segment.flags == 0)
        if own is not None:
            accepted &= segment.ids > own if params.later_only else segment.ids != own
        rows = np.flatnonzero(accepted)
        ids.append(segment.ids[rows])
        matches.append(match[rows])
        places += [(number, int(row)) for row in rows]
    id_, score = np.concatenate(ids), np.concatenate(matches)
    best = np.lexsort((id_, -score))[: params.n_rerank or None]
    if params.exact:
        value = np.array([_exact(queries, i, segments[places[b][0]], places[b][1]) for b in best], np.float64)
    elif params.heavy_fraction:
        value = score[best] / LEVELS
    else:
        value = estimate(score[best], queries.codes.shape[1])
    best, value = (
        best[(value > 0) & (value >= params.threshold)],
        value[(value > 0) & (value >= params.threshold)],
    )
    order = np.lexsort((id_[best], -value))[: params.n_neighbors or None]
    return id_[best][order], value[order]


def _matches(queries: Queries, i: int, segment: Segment, params: SearchParams) -> Array:
    """Return the rank of each row of a segment: its number of equal codes, or its level; -1 for no candidate."""
    if params.heavy_fraction:
        assert queries.vectors is not None
        assert segment.vectors is not None
        assert segment.postings is not None
        return levels(queries.vectors, i, params.heavy_fraction, segment.postings, segment.vectors.norms)
    if params.n_tables == 0 and params.n_rerank == 0 and params.exact:
        return np.zeros(len(segment.flags), np.int64)  # all rows are compared exactly, so ranks do not matter
    equal = segment.codes == queries.codes[i]
    count: Array = equal.sum(axis=1)
    if params.n_tables == 0:
        return count
    bands = equal[:, : params.n_tables * params.hashes_per_table].reshape(
        len(equal), params.n_tables, params.hashes_per_table
    )
    return np.where(np.any(np.all(bands, axis=2), axis=1), count, -1)


def _exact(queries: Queries, i: int, segment: Segment, row: int) -> float:
    assert queries.vectors is not None
    assert segment.vectors is not None
    return similarity(queries.vectors, i, segment.vectors, row)


def _shared(u: Array, v: Array) -> Array:
    low, high = np.minimum(u, v), np.maximum(u, v)
    return (np.maximum(low, 0) - np.minimum(high, 0)).astype(np.float64)


def _dense_row(x: Vectors, i: int) -> Array:
    rows = x.dense if x.dense is not None else x.bytes
    assert rows is not None
    return np.asarray(rows[i], np.float32)


def _sparse_row(x: Vectors, i: int) -> tuple[Array, Array]:
    row = x.csr.part(slice(i, i + 1))
    return row.indices, row.data


def _common_sparse(a: tuple[Array, Array], b: tuple[Array, Array]) -> float:
    """Sum the minima of two sparse rows. The lanes follow the values of the second row."""
    _, left, right = np.intersect1d(a[0], b[0], assume_unique=True, return_indices=True)
    values = np.zeros(len(b[0]))
    values[right] = _shared(a[1][left], b[1][right])
    return lanes_sum(values)
