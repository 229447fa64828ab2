"""Near neighbours on dense rows by a graph: the search in it, and how it is built.

A row has links to rows near it. Rows are compared as bytes: by the key D / (|u| + |v|), D the sum of absolute
differences of their bytes, in single precision. It is (1 - GMM) / (1 + GMM) of the rounded rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .._array import Array
from .index import similarity

if TYPE_CHECKING:
    from ..backends import Graph, Queries, Segment

FIRST_ROWS = 64  # inserted at once, and where searches begin
BATCH_SHARE = 32  # a batch is this part of the rows inserted before
SEARCH_WIDTH = 3  # ef of the searches for links, in degrees
EQUAL_SHARE = 4  # at most this part of the links leads to rows of key 0

Near = tuple[np.float32, int]  # a key and a row: near rows come first


def rounded(values: Array, zero: int, scale: float) -> tuple[Array, Array]:
    """Return float32 rows as bytes, round(x * scale) + zero, cut off to 0 .. 255, and their norms."""
    with np.errstate(over="ignore"):
        found = np.rint(values * np.float32(scale)) + np.float32(zero)
    bytes_ = np.asarray(np.clip(found, 0, 255).astype(np.uint8))
    return bytes_, np.maximum(np.abs(bytes_.astype(np.int64) - zero).sum(axis=1), 1).astype(np.float32)


def keys(query: Array, norm: float, bytes_: Array, norms: Array, rows: Array) -> Array:
    """Return the keys of a query and rows."""
    distance = np.abs(bytes_[rows].astype(np.int64) - query).sum(axis=1).astype(np.float32)
    return np.asarray(distance / (np.float32(norm) + norms[rows]))


def beam(
    query: Array,
    norm: float,
    bytes_: Array,
    norms: Array,
    links: Array,
    entries: Array,
    ef: int,
    is_open: Callable[[int], bool],
) -> tuple[list[Near], list[Near]]:
    """Search a graph. Return the beam, nearest first, and the rows that were expanded.

    The beam holds the nearest rows found so far, up to the ``ef``-th that can be a neighbour.
    """
    seen: set[int] = set()
    found: list[Near] = []
    expanded: list[Near] = []
    rows = [int(row) for row in entries]
    while True:
        fresh = [row for row in dict.fromkeys(rows) if row not in seen]
        seen.update(fresh)
        found = sorted([*found, *zip(keys(query, norm, bytes_, norms, np.array(fresh, np.int64)), fresh, strict=True)])
        ends = [place for place, (_, row) in enumerate(found) if is_open(row)]
        if len(ends) >= ef:
            found = found[: ends[ef - 1] + 1]
        nearest = next((near for near in found if near not in expanded), None)
        if nearest is None:
            return found, expanded
        expanded.append(nearest)
        rows = _links_of(links, nearest[1])


def chosen(row: int, candidates: list[Near], bytes_: Array, norms: Array, degree: int) -> list[int]:
    """Choose links: candidates that are not nearer to one chosen before than to the row itself, nearest first."""
    kept: list[int] = []
    for key, other in sorted(candidates):
        if len(kept) == degree:
            break
        if other == row or (key == 0 and len(kept) >= max(1, degree // EQUAL_SHARE)):
            continue
        if not (keys(bytes_[other], norms[other], bytes_, norms, np.array(kept, np.int64)) < key).any():
            kept.append(other)
    return kept


def build(bytes_: Array, norms: Array, order: Array, done: int, links: Array) -> None:
    """Insert the rows order[done:] in batches. The rows of a batch search the graph of those before it."""
    degree = links.shape[1]
    while done < len(order):
        batch = order[done : done + (max(1, done // BATCH_SHARE) if done else FIRST_ROWS)]
        entries, wanted = order[: min(done, FIRST_ROWS)], []
        for row in map(int, batch):
            if done:
                _, near = beam(
                    bytes_[row], norms[row], bytes_, norms, links, entries, SEARCH_WIDTH * degree, lambda _: True
                )
            else:
                near = _all_near(row, batch, bytes_, norms)
            wanted.append(chosen(row, near, bytes_, norms, degree))
        for row, kept in zip(map(int, batch), wanted, strict=True):
            _set(links, row, kept)
        backward = sorted((target, int(row)) for row, kept in zip(batch, wanted, strict=True) for target in kept)
        for target in sorted({target for target, _ in backward}):
            own = _links_of(links, target)
            own += [row for to, row in backward if to == target and row not in own]
            if len(own) > degree:
                own = chosen(target, _all_near(target, np.array(own), bytes_, norms), bytes_, norms, degree)
            _set(links, target, own)
        done += len(batch)


def search(queries: Queries, segments: list[Segment], n_rerank: int, n_neighbors: int) -> tuple[Array, Array, Array]:
    """Find neighbours by the graphs of segments. Return what ``index.search`` returns."""
    ends, ids, values = [0], [np.zeros(0, np.int64)], [np.zeros(0)]
    for i in range(len(queries.empty)):
        found = (
            []
            if queries.empty[i]
            else [n for s in range(len(segments)) for n in _found(queries, i, segments, s, n_rerank)]
        )
        found = sorted(found, key=lambda near: (-near[0], near[1]))[:n_neighbors]
        ends.append(ends[-1] + len(found))
        values.append(np.array([value for value, _ in found], np.float64))
        ids.append(np.array([id_ for _, id_ in found], np.int64))
    return np.array(ends, np.int64), np.concatenate(ids), np.concatenate(values)


def _found(queries: Queries, i: int, segments: list[Segment], s: int, n_rerank: int) -> list[tuple[float, int]]:
    """Return the similarities and ids of rows of a segment that can be neighbours of a query."""
    segment, x = segments[s], queries.vectors
    graph, y = segment.graph, segment.vectors
    assert x is not None
    assert y is not None
    assert graph is not None
    own = queries.first + i if queries.segment == s else -1
    if x.bytes is not None and y.bytes is not None:
        query, norm = x.bytes[i], float(np.float32(x.norms[i]))
    else:
        assert x.dense is not None
        bytes_, norms = rounded(x.dense[i : i + 1], graph.zero, graph.scale)
        query, norm = bytes_[0], float(norms[0])
    near, _ = beam(
        query.astype(np.int64),
        norm,
        bytes_of(segment),
        graph.norms,
        graph.links,
        graph.entries,
        n_rerank,
        lambda row: segment.flags[row] == 0 and row != own,
    )
    rows = [row for _, row in near if segment.flags[row] == 0 and row != own]
    found = [(similarity(x, i, y, row), int(segment.ids[row])) for row in rows]
    return [(value, id_) for value, id_ in found if value > 0]


def bytes_of(segment: Segment) -> Array:
    """Return the bytes by which rows of a segment are compared."""
    graph: Graph | None = segment.graph
    assert graph is not None
    assert segment.vectors is not None
    found = segment.vectors.bytes if graph.bytes is None else graph.bytes
    assert found is not None
    return found


def _all_near(row: int, others: Array, bytes_: Array, norms: Array) -> list[Near]:
    found = keys(bytes_[row].astype(np.int64), norms[row], bytes_, norms, others)
    return list(zip(found, map(int, others), strict=True))


def _links_of(links: Array, row: int) -> list[int]:
    """Return the links of a row: those before its own number."""
    own = np.append(links[row], row)
    return [int(other) for other in own[: np.argmax(own == row)]]


def _set(links: Array, row: int, kept: list[int]) -> None:
    links[row] = row
    links[row, : len(kept)] = kept
