"""Segments: groups of indexed rows with their own LSH tables, merged as the index grows.

Every addition makes a new segment. It is merged with the segments before it that are at most twice as large, so that
there are few segments and each row is moved about log(n) times. A removed row is only flagged. When more than a quarter
of the rows of a segment are removed, the segment is rewritten without them. LSH tables are built from the codes, so a
merge does not hash the rows again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._array import Array
from ..backends import Postings, Segment, Vectors, backend_for, directory_shift
from ..exceptions import InputError
from . import _vectors
from ._graph import LinkedRows, make_graph

EMPTY, REMOVED = 1, 2  # flags; 0 is a row that can be a neighbour
MOST_REMOVED = 4  # a segment is rewritten when more than one in four of its rows is removed
MOST_ROWS = 2**31 - 1  # per segment
NARROW = 2**32  # keys and positions below this limit are sorted together, as one 64-bit word


class TableLayout(NamedTuple):
    """What every segment has: LSH tables, inverted lists of heavy features, or a graph."""

    n_tables: int
    hashes_per_table: int
    heavy_fraction: float = 0.0  # 0: no inverted lists
    graph_degree: int = 0  # 0: no graph


def directory_bits(live: int) -> int:
    """Return the bits of a bucket number, for 4 to 8 rows per bucket. A directory then takes at most 1 byte per row."""
    return max(0, live.bit_length() - 3)


def make(
    codes: Array,
    flags: Array,
    ids: Array,
    vectors: Vectors | None,
    layout: TableLayout,
    threads: int,
    names: Array | None = None,
    linked: LinkedRows | None = None,
) -> Segment:
    """Build a segment with its LSH tables, inverted lists or graph. Its rows are sorted by id."""
    if len(ids) > MOST_ROWS:
        raise InputError(f"X has {len(ids)} rows, and an index can hold {MOST_ROWS}: split X among several indexes.")
    if (ids[1:] < ids[:-1]).any():
        order = np.argsort(ids, kind="stable")
        codes, flags, ids = codes[order], flags[order], ids[order]
        vectors = None if vectors is None else _vectors.part_of(vectors, order)
        linked = None if linked is None else linked._replace(rows=np.argsort(order)[linked.rows])
        names = None if names is None else names[order]
    bits = directory_bits(int((flags == 0).sum()))
    backend = backend_for(codes, threads=threads)
    rows, starts = backend.index_tables(codes, flags, layout.n_tables, layout.hashes_per_table, bits)
    postings = None
    if layout.heavy_fraction:
        assert vectors is not None
        postings = make_postings(vectors, flags, layout.heavy_fraction, threads)
    graph = None
    if layout.graph_degree:
        assert vectors is not None
        graph = make_graph(vectors, flags, layout.graph_degree, linked, threads)
    return Segment(codes, flags, ids, rows, starts, vectors, postings, names, graph)


def merge(segments: Sequence[Segment], layout: TableLayout, threads: int) -> Segment:
    """Merge segments into one, without their removed rows."""
    kept = [np.flatnonzero(s.flags != REMOVED) for s in segments]
    parts = list(zip(segments, kept, strict=True))
    vectors = [_vectors.part_of(s.vectors, rows) for s, rows in parts if s.vectors is not None]
    return make(
        np.concatenate([s.codes[rows] for s, rows in parts]),
        np.concatenate([s.flags[rows] for s, rows in parts]),
        np.concatenate([s.ids[rows] for s, rows in parts]),
        _vectors.join(vectors) if vectors else None,
        layout,
        threads,
        _names_of(parts),
        _linked_rows(segments, kept),
    )


def _linked_rows(segments: Sequence[Segment], kept: Sequence[Array]) -> LinkedRows | None:
    """Return the rows of the largest segment, if they have a graph and none is removed."""
    sizes = [len(rows) for rows in kept]
    largest = int(np.argmax(sizes))
    graph = segments[largest].graph
    if graph is None or sizes[largest] < len(segments[largest].ids):
        return None
    return LinkedRows(np.arange(sizes[largest]) + sum(sizes[:largest]), graph)


def _names_of(parts: Sequence[tuple[Segment, Array]]) -> Array | None:
    """Return the names of some rows of each segment; None if no segment has names."""
    if all(s.names is None for s, _ in parts):
        return None
    return np.concatenate([np.full(len(rows), "", object) if s.names is None else s.names[rows] for s, rows in parts])


def whole(segments: Sequence[Segment], layout: TableLayout, threads: int = 1) -> Segment:
    """Return all rows that are not removed as one segment."""
    if len(segments) == 1 and not (segments[0].flags == REMOVED).any():
        return segments[0]
    return merge(segments, layout, threads)


def append(segments: Sequence[Segment], new: Segment, layout: TableLayout, threads: int) -> list[Segment]:
    """Return the segments with a new one, merged if it is large enough."""
    together = [*segments, new]
    first = len(together) - 1
    size = len(new.ids)
    while first > 0 and len(together[first - 1].ids) <= 2 * size and len(together[first - 1].ids) + size <= MOST_ROWS:
        first -= 1
        size += len(together[first].ids)
    if first == len(together) - 1:
        return together
    return [*together[:first], merge(together[first:], layout, threads)]


def find(segments: Sequence[Segment], ids: Array) -> tuple[Array, Array]:
    """Return the segment and the row of each id; both are -1 for an id that is not in the index."""
    segment, row = np.full(len(ids), -1), np.full(len(ids), -1)
    for number, s in enumerate(segments):
        if len(s.ids) == 0:
            continue
        place = np.minimum(np.searchsorted(s.ids, ids), len(s.ids) - 1)
        here = (s.ids[place] == ids) & (s.flags[place] != REMOVED)
        segment[here], row[here] = number, place[here]
    return segment, row


def flagged(segments: Sequence[Segment], ids: Array) -> list[Segment]:
    """Return the segments with these ids, all of which must be in the index, flagged as removed."""
    segment, row = find(segments, ids)
    after = []
    for number, s in enumerate(segments):
        rows = row[segment == number]
        if len(rows):
            flags = np.array(s.flags)
            flags[rows] = REMOVED
            s = s._replace(flags=flags)
        after.append(s)
    return after


def remove(segments: Sequence[Segment], ids: Array, layout: TableLayout, threads: int) -> list[Segment]:
    """Return the segments without these ids, all of which must be in the index."""
    after = [
        merge([s], layout, threads) if int((s.flags == REMOVED).sum()) * MOST_REMOVED > len(s.flags) else s
        for s in flagged(segments, ids)
    ]
    return [s for s in after if len(s.ids)] or after[:1]


def ids_of(segments: Sequence[Segment], *, nonempty: bool = False) -> Array:
    """Return the ids of the index in ascending order, without those of all-zero rows if ``nonempty``."""
    flags = (EMPTY, REMOVED) if nonempty else (REMOVED,)
    parts = [s.ids[~np.isin(s.flags, flags)] for s in segments]
    return np.sort(np.concatenate([np.zeros(0, np.int64), *parts]))


def nbytes(s: Segment) -> int:
    """Return the bytes of codes, flags, ids, LSH tables, inverted lists and graph, without the vectors."""
    parts = (*s[:5], *(s.postings or ()), *(s.graph or ()))
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


def make_postings(x: Vectors, flags: Array, heavy_fraction: float, threads: int) -> Postings:
    """Build inverted lists: for each feature and sign the rows of flag 0 in which it is heavy (reference/index.py)."""
    rows = x.csr
    row = np.repeat(np.arange(len(rows), dtype=np.uint32), np.diff(rows.indptr))
    taken = np.flatnonzero(backend_for(rows.data, threads=threads).index_heavy(x, heavy_fraction) & (flags[row] == 0))
    row, size = row[taken], np.abs(rows.data[taken])
    keys = 2 * rows.indices[taken].astype(np.int64) + (rows.data[taken] < 0)
    keys, order = _stably_sorted(keys)
    first = np.flatnonzero(np.concatenate([np.ones(min(1, len(keys)), bool), keys[1:] != keys[:-1]]))
    entries = np.stack([row[order], size[order].view(np.uint32)], axis=1)
    found, starts = keys[first], np.append(first, len(keys))
    last = int(found[-1]) if len(found) else 0
    shift = directory_shift(last, len(found))
    directory = np.searchsorted(found, np.arange((last >> shift) + 1) << shift)
    return Postings(np.append(directory, len(found)).astype(np.uint32), found, starts, entries)


def _stably_sorted(keys: Array) -> tuple[Array, Array]:
    """Return the sorted keys and their old positions. The sort is stable."""
    if len(keys) and (keys.max() >= NARROW or len(keys) >= NARROW):
        order = np.argsort(keys, kind="stable")
        return keys[order], order
    both = np.sort(keys.astype(np.uint64) << np.uint64(32) | np.arange(len(keys), dtype=np.uint64))
    return (both >> np.uint64(32)).astype(np.int64), (both & np.uint64(NARROW - 1)).astype(np.int64)
