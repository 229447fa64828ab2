"""The similarity join of texts on disk: pairs, clusters and similarities in a bounded amount of memory.

Memory holds the records of the texts and the prefixes of their rows. If these are too many, they wait on disk in parts,
which are joined one after the other. Rows are made again from the texts where they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends import backend_for
from ..text import StoredTexts
from . import _clusters
from ._duplicates import first_equal
from ._join import Candidates, counters_for, prefixes_of
from ._spill import PrefixEntries

Array = NDArray[Any]

BLOCK_BYTES = 1 << 22  # of text that becomes rows at a time
PER_ENTRY = 64  # bytes of memory per feature of a prefix
MOST_PARTS = 256
SAMPLE = 10_000  # texts from which the size of prefixes is estimated

Progress = Callable[[float], None]


class TextClusters(NamedTuple):
    """Clusters of texts. Pairs are those of distinct rows; equal texts are listed with the first of them."""

    stays: Array  # for each text, the one that stays
    similarity: Array  # to the one that stays
    pairs: Array  # (n_pairs, 2), ascending
    pair_similarity: Array


def join_texts(
    texts: StoredTexts,
    threshold: float,
    how: str,
    rank: Array,
    *,
    room: int,
    threads: int,
    keep_pairs: bool,
    progress: Progress,
) -> TextClusters:
    """Find the clusters of near-duplicates. ``room`` is the memory for the prefixes in bytes."""
    records = texts.records()
    n = len(records)
    first = first_equal(np.ascontiguousarray(records["keys"]))
    first = np.where(records["norm"] > 0, first, np.arange(n))
    distinct = np.flatnonzero((first == np.arange(n)) & (records["norm"] > 0))
    best = np.full(n, n)
    np.minimum.at(best, first, rank)
    kept: list[tuple[Array, Array]] = [(np.zeros((0, 2), np.int64), np.zeros(0))]

    def links() -> Iterator[Array]:
        for pairs, similarity in _pairs(texts, distinct, threshold, room, threads, progress):
            if keep_pairs:
                kept.append((pairs, similarity))
            yield pairs

    linked = (_clusters.single_linkage if how == "single" else _clusters.star)(n, links(), best)
    stays = _clusters.spread(linked, first, rank)
    similarity = np.ones(n)
    members = np.flatnonzero((stays != np.arange(n)) & (first != first[stays]))
    for part, values in _similarities(texts, np.stack([members, stays[members]], axis=1), threads):
        similarity[members[part]] = values
    pairs, values = (np.concatenate([part[side] for part in kept]) for side in (0, 1))
    if keep_pairs:
        again = np.flatnonzero(first != np.arange(n))
        pairs = np.concatenate([pairs, np.stack([first[again], again], axis=1)])
        values = np.concatenate([values, np.ones(len(again))])
        _, once = np.unique(pairs[:, 0] * n + pairs[:, 1], return_index=True)
        pairs, values = pairs[once], values[once]
    return TextClusters(stays, similarity, pairs, values)


def _pairs(
    texts: StoredTexts, distinct: Array, threshold: float, room: int, threads: int, progress: Progress
) -> Iterator[tuple[Array, Array]]:
    """Yield pairs of at least this similarity with their similarities; a pair may come twice."""
    records = texts.records()
    nonzeros = int(records["size"][distinct].sum())
    backend, counters = backend_for(threads=threads), counters_for(nonzeros, room // 2)
    blocks = _blocks(_sizes(texts)[distinct])
    for number, block in enumerate(blocks):
        backend.join_count(texts.rows(distinct[block]), counters)
        progress((number + 1) / len(blocks) / 3)
    parts = _parts(texts, distinct, counters, threshold, room - counters.nbytes, threads)
    entries = PrefixEntries(texts, parts)
    try:
        for number, block in enumerate(blocks):
            found, row = prefixes_of(texts.rows(distinct[block]), counters, threshold, threads)
            entries.add(found, distinct[block][row])
            progress((1 + (number + 1) / len(blocks)) / 3)
        del counters
        for part in range(parts):
            candidates = Candidates(*entries.take(part))
            done = 0
            for pairs in candidates.blocks(records["norm"], threshold):
                for some, similarity in _similarities(texts, pairs, threads):
                    similar = similarity >= threshold
                    yield pairs[some][similar], similarity[similar]
                done += len(pairs)
                progress((2 + (part + min(0.99, done / max(1, candidates.count))) / parts) / 3)
    finally:
        entries.close()


def _sizes(texts: StoredTexts) -> Array:
    """Return the bytes of each text."""
    return np.diff(np.concatenate([[0], texts.records()["end"]]))


def _parts(texts: StoredTexts, distinct: Array, counters: Array, threshold: float, room: int, threads: int) -> int:
    """Return in how many parts the prefixes take so many bytes each, as far as a sample tells."""
    sample = distinct[:: 1 + len(distinct) // SAMPLE]
    found = 0
    for block in _blocks(_sizes(texts)[sample]):
        found += len(prefixes_of(texts.rows(sample[block]), counters, threshold, threads)[0])
    entries = (found + 1) / max(1, len(sample)) * len(distinct)
    return min(MOST_PARTS, 1 + int(1.1 * entries * PER_ENTRY) // max(room, 1 << 20))


def _similarities(texts: StoredTexts, pairs: Array, threads: int) -> Iterator[tuple[slice, Array]]:
    """Yield the exact similarities of pairs, part by part."""
    ends = texts.records()["end"]
    sizes = ends[pairs] - np.where(pairs == 0, 0, ends[pairs - 1])
    for part in _blocks(sizes.sum(axis=1)):
        items, places = np.unique(pairs[part], return_inverse=True)
        left, right = places.reshape(-1, 2).T
        rows = texts.rows(items)
        yield part, backend_for(threads=threads).join_similarities(rows, left.copy(), right.copy())


def _blocks(sizes: Array) -> list[slice]:
    """Cut successive items into blocks of at most BLOCK_BYTES, and at least one item."""
    ends, blocks, start = np.cumsum(sizes), [], 0
    while start < len(sizes):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + BLOCK_BYTES, side="right")))
        blocks.append(slice(start, stop))
        start = stop
    return blocks
