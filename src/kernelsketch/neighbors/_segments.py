"""The rows of an index, in segments: each with its own tables, merged as they grow.

An addition makes a segment of its own. It becomes one with those before it that are at most twice as large, so that
there are few of them and each row is moved about log(n) times. Removed rows keep their place, with a flag, until they
are a quarter of their segment. Tables are made from codes alone: merging hashes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends import Segment, Vectors, backend_for
from ..exceptions import InputError
from . import _postings, _vectors

Array = NDArray[Any]

EMPTY, REMOVED = 1, 2  # flags
MOST_REMOVED = 4  # a segment is rewritten when more than one in four of its rows is removed
MOST_ROWS = 2**31 - 1  # of a segment


class Layout(NamedTuple):
    """What is built for each segment: tables of a band of codes, or postings of the heavy part of rows."""

    tables: int
    band: int
    mass: float = 0.0  # 0: no postings


def directory_bits(live: int) -> int:
    """Buckets of a table are a quarter to an eighth of its rows: at most one byte of directory a row."""
    return max(0, live.bit_length() - 3)


def make(codes: Array, flags: Array, ids: Array, vectors: Vectors | None, layout: Layout, threads: int) -> Segment:
    """A segment with its tables and postings; rows are brought into the order of their ids."""
    if len(ids) > MOST_ROWS:
        raise InputError(f"X has {len(ids)} rows: an index holds up to {MOST_ROWS}. Split it into several.")
    if (ids[1:] < ids[:-1]).any():
        order = np.argsort(ids, kind="stable")
        codes, flags, ids = codes[order], flags[order], ids[order]
        vectors = None if vectors is None else _vectors.take(vectors, order)
    bits = directory_bits(int((flags == 0).sum()))
    rows, starts = backend_for(codes, threads=threads).index_tables(codes, flags, layout.tables, layout.band, bits)
    postings = None
    if layout.mass:
        assert vectors is not None
        postings = _postings.make(vectors, flags, layout.mass, threads)
    return Segment(codes, flags, ids, rows, starts, vectors, postings)


def merge(segments: Sequence[Segment], layout: Layout, threads: int) -> Segment:
    """One segment of the rows that are not removed."""
    kept = [np.flatnonzero(s.flags != REMOVED) for s in segments]
    parts = list(zip(segments, kept, strict=True))
    vectors = [_vectors.take(s.vectors, rows) for s, rows in parts if s.vectors is not None]
    return make(
        np.concatenate([s.codes[rows] for s, rows in parts]),
        np.concatenate([s.flags[rows] for s, rows in parts]),
        np.concatenate([s.ids[rows] for s, rows in parts]),
        _vectors.join(vectors) if vectors else None,
        layout,
        threads,
    )


def whole(segments: Sequence[Segment], layout: Layout) -> Segment:
    """All rows that are not removed, as one segment."""
    if len(segments) == 1 and not (segments[0].flags == REMOVED).any():
        return segments[0]
    return merge(segments, layout, 1)


def append(segments: Sequence[Segment], new: Segment, layout: Layout, threads: int) -> list[Segment]:
    """The segments with another, merged where that is due."""
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
    """(segment, row) of each id, both -1 for an id that is not there."""
    segment, row = np.full(len(ids), -1), np.full(len(ids), -1)
    for number, s in enumerate(segments):
        if len(s.ids) == 0:
            continue
        place = np.minimum(np.searchsorted(s.ids, ids), len(s.ids) - 1)
        here = (s.ids[place] == ids) & (s.flags[place] != REMOVED)
        segment[here], row[here] = number, place[here]
    return segment, row


def remove(segments: Sequence[Segment], ids: Array, layout: Layout, threads: int) -> list[Segment]:
    """The segments without these ids, all of which are there."""
    segment, row = find(segments, ids)
    after = []
    for number, s in enumerate(segments):
        rows = row[segment == number]
        if len(rows):
            flags = np.array(s.flags)
            flags[rows] = REMOVED
            s = s._replace(flags=flags)
            if int((flags == REMOVED).sum()) * MOST_REMOVED > len(flags):
                s = merge([s], layout, threads)
        after.append(s)
    return [s for s in after if len(s.ids)] or after[:1]


def ids_of(segments: Sequence[Segment], *, nonempty: bool = False) -> Array:
    """Ids in ascending order."""
    flags = (EMPTY, REMOVED) if nonempty else (REMOVED,)
    parts = [s.ids[~np.isin(s.flags, flags)] for s in segments]
    return np.sort(np.concatenate([np.zeros(0, np.int64), *parts]))


def nbytes(s: Segment) -> int:
    """Of codes, flags, ids, tables and postings."""
    return sum(part.nbytes for part in (*s[:5], *(s.postings or ())))
