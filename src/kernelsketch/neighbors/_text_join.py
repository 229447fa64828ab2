"""The similarity join of texts on disk: pairs, clusters and similarities in a bounded amount of memory.

Memory holds the records of the texts and, if they fit, their rows; otherwise rows are made again from the texts where
they are needed. If the prefixes of the rows are too many, they wait on disk in parts, which are joined one after the
other. Where prefixes have so many candidates that tiles of the kernel matrix take less time, these find the pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, NamedTuple

import numpy as np

from .._array import Array
from .._rows import MOST_FEATURES
from ..backends import CsrRows, processor_for
from ..text import StoredTexts
from . import _clusters
from ._join import (
    CHUNK,
    MERGE_COST,
    Candidates,
    counters_for,
    prefixes_of,
    similar_in_tiles,
    tile_rows,
    tiles_cost,
)

BLOCK_BYTES = 1 << 22  # of text that becomes rows at a time
PER_ENTRY = 64  # bytes of memory per feature of a prefix
PER_NONZERO = 12  # bytes of memory per feature of a row
PER_CANDIDATE = 128  # bytes of memory per candidate that is handled at a time, and per pair
LEAST_CHUNK = 1 << 14  # candidates at a time
TEXT_COST = 5e-9  # seconds that a byte of a text takes to become part of a row
MOST_PARTS = 256
SAMPLE = 10_000  # texts from which the size of prefixes is estimated

ENTRY = np.dtype([("feature", "<i8"), ("item", "<i8")])
NAME = "prefixes-{}.bin"

Progress = Callable[[float], None]


class PrefixEntries:
    """The features of prefixes with the texts that have them, in so many parts; one part stays in memory.

    All entries of a feature are in one part, so parts can be joined one after the other.
    """

    def __init__(self, texts: StoredTexts, parts: int) -> None:
        self._texts, self._parts = texts, parts
        self._kept = [np.zeros(0, ENTRY)]
        self._files: list[IO[bytes]] = []
        if parts > 1:
            with texts.errors_named():
                self._files = [texts.files.create(NAME.format(part)) for part in range(parts)]

    def add(self, features: Array, items: Array) -> None:
        """Add entries."""
        entries = np.empty(len(features), ENTRY)
        entries["feature"], entries["item"] = features, items
        if self._parts == 1:
            self._kept.append(entries)
            return
        part = (features >> 32) % self._parts
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(self._parts + 1))
        entries = entries[order]
        with self._texts.errors_named():
            for file, begin, end in zip(self._files, ends[:-1], ends[1:], strict=True):
                file.write(entries[begin:end].tobytes())

    def take(self, part: int) -> tuple[Array, Array]:
        """Return the features and the items of a part, which is forgotten."""
        if self._parts == 1:
            found = np.concatenate(self._kept)
            self._kept = []
        else:
            with self._texts.errors_named(), self._files[part] as file:
                file.flush()
                file.seek(0)
                found = np.fromfile(file, ENTRY)
            self._texts.files.remove(NAME.format(part))
        return found["feature"].copy(), found["item"].copy()

    def close(self) -> None:
        """Close files that have not been taken; they go with the folder of the texts."""
        for file in self._files:
            file.close()


class TextClusters(NamedTuple):
    """Clusters of texts. Pairs are those of distinct rows; equal texts are listed with the first of them."""

    stays: Array  # for each text, the one that stays
    similarity: Array  # to the one that stays
    first: Array  # for each text, the first with the same shingles
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
    apart: Array | None = None,
) -> TextClusters:
    """Find the clusters of near-duplicates. ``room`` is the memory for rows, prefixes and pairs in bytes.

    ``apart`` flags texts that are in no cluster, as those without a word are.
    """
    records = texts.records()
    n = len(records)
    alone = records["norm"] == 0 if apart is None else apart | (records["norm"] == 0)
    first, distinct = _clusters.first_rows(np.ascontiguousarray(records["keys"]), alone)
    kept: list[tuple[Array, Array]] = []

    def links() -> Iterator[Array]:
        rows = _Rows(texts, distinct, room // 4)
        found = _pairs(rows, threshold, room - rows.bytes, threads, progress, exact=keep_pairs)
        for pairs, similarity in found:
            if keep_pairs:
                kept.append((pairs, similarity))
            yield pairs

    stays = _clusters.stays_of(how, links(), first, rank)
    similarity = np.ones(n)
    members = _clusters.linked_members(stays, first)
    for part, values in _similarities(texts, np.stack([members, stays[members]], axis=1), threads):
        similarity[members[part]] = values
    pairs, values = _clusters.all_pairs(kept, first) if keep_pairs else (np.zeros((0, 2), np.int64), np.zeros(0))
    return TextClusters(stays, similarity, first, pairs, values)


def _pairs(
    rows: _Rows, threshold: float, room: int, threads: int, progress: Progress, *, exact: bool
) -> Iterator[tuple[Array, Array]]:
    """Yield pairs of at least this similarity with their similarities; a pair may come twice."""
    texts, distinct = rows.texts, rows.items
    norms, n = texts.records()["norm"][distinct], len(distinct)
    join, counters = processor_for(threads=threads), counters_for(rows.nonzeros, room // 8)
    for number, block in enumerate(rows.blocks):
        join.join_count(rows.part(block), counters)
        progress((number + 1) / len(rows.blocks) / 3)
    parts = _parts(rows, counters, threshold, room // 2 - counters.nbytes, threads)
    in_tiles = tiles_cost(counters, n, rows.nonzeros) + rows.tiles_cost(room // 4)
    entries = PrefixEntries(texts, parts)
    spent = 0.0
    try:
        for number, block in enumerate(rows.blocks):
            found, row = prefixes_of(rows.part(block), counters, threshold, threads)
            entries.add(found, block.start + row)
            progress((1 + (number + 1) / len(rows.blocks)) / 3)
        del counters
        for part in range(parts):
            candidates = Candidates(*entries.take(part))
            spent += candidates.cost(n, rows.pair_cost)
            if spent > in_tiles:
                del candidates
                yield from _tiled(rows, threshold, room, threads, progress, exact=exact)
                return
            done = 0
            for pairs in candidates.blocks(norms, threshold, max(LEAST_CHUNK, min(CHUNK, room // 2 // PER_CANDIDATE))):
                for some, similarity in rows.similarities(pairs, threads):
                    similar = similarity >= threshold
                    yield distinct[pairs[some][similar]], similarity[similar]
                done += len(pairs)
                progress((2 + (part + min(0.99, done / max(1, candidates.count))) / parts) / 3)
    finally:
        entries.close()


def _tiled(
    rows: _Rows, threshold: float, room: int, threads: int, progress: Progress, *, exact: bool
) -> Iterator[tuple[Array, Array]]:
    """Yield the same pairs, each once, by tiles of the kernel matrix."""
    blocks, side, found, waiting, done = rows.large_blocks(room // 4), tile_rows(room // 4), [], 0, 0
    for number, block in enumerate(blocks):
        one = rows.part(block)
        for other in blocks[number:]:
            two = None if other == block else rows.part(other)
            for pairs, similarity in similar_in_tiles(one, two, threshold, side, threads, exact=exact):
                found.append((rows.items[pairs + np.array([block.start, other.start])], similarity))
                waiting += len(pairs)
                if waiting * PER_CANDIDATE > room // 4:  # a few large blocks take less time than many small ones
                    yield _together(found)
                    found, waiting = [], 0
            done += 1
            progress((2 + done / (len(blocks) * (len(blocks) + 1) / 2)) / 3)
    yield _together(found)


def _together(found: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return blocks of pairs and similarities as one."""
    every = [(np.zeros((0, 2), np.int64), np.zeros(0)), *found]
    return np.concatenate([pairs for pairs, _ in every]), np.concatenate([similarity for _, similarity in every])


def _parts(rows: _Rows, counters: Array, threshold: float, room: int, threads: int) -> int:
    """Return in how many parts the prefixes take so many bytes each, as far as a sample tells."""
    sample = np.arange(0, len(rows.items), 1 + len(rows.items) // SAMPLE)
    found = 0
    for block in blocks_of(rows.texts.sizes()[rows.items[sample]]):
        found += len(prefixes_of(rows.take(sample[block]), counters, threshold, threads)[0])
    entries = (found + 1) / max(1, len(sample)) * len(rows.items)
    return min(MOST_PARTS, 1 + int(1.1 * entries * PER_ENTRY) // max(room, 1 << 20))


class _Rows:
    """The rows of some texts, counted from 0: in memory if so many bytes suffice, and otherwise made when needed."""

    def __init__(self, texts: StoredTexts, items: Array, room: int) -> None:
        self.texts, self.items = texts, items
        self._sizes = texts.sizes()[items]
        self._ends = np.cumsum(texts.records()["size"][items])
        self.blocks = blocks_of(self._sizes)
        self.nonzeros = int(self._ends[-1]) if len(items) else 0
        self.bytes = PER_NONZERO * self.nonzeros
        self._all = self._made(slice(0, len(items))) if self.bytes <= room else None
        if self._all is None:
            self.bytes = 0

    @property
    def pair_cost(self) -> float:
        """About how many seconds the verification of a pair takes."""
        n = max(1, len(self.items))
        text = 0.0 if self._all is not None else TEXT_COST * float(self._sizes.sum())
        return 2 * (MERGE_COST * self.nonzeros + text) / n

    def tiles_cost(self, room: int) -> float:
        """About how many seconds it takes to make the rows for all tiles, with room for so many bytes of them."""
        if self._all is not None:
            return 0.0
        return TEXT_COST * float(self._sizes.sum()) * (1 + PER_NONZERO * self.nonzeros / max(1, room)) / 2

    def large_blocks(self, room: int) -> list[slice]:
        """Cut the rows into blocks of which two take about so many bytes."""
        if self._all is not None:
            return [slice(0, len(self.items))]
        return blocks_of(np.diff(self._ends, prepend=0) * PER_NONZERO, room // 2)

    def part(self, rows: slice) -> CsrRows:
        """Return successive rows."""
        return self._made(rows) if self._all is None else self._all.part(rows)

    def take(self, rows: Array) -> CsrRows:
        """Return some rows."""
        return self.texts.rows(self.items[rows])

    def similarities(self, pairs: Array, threads: int) -> Iterator[tuple[slice, Array]]:
        """Yield the exact similarities of pairs of rows, part by part."""
        if self._all is None:
            yield from _similarities(self.texts, self.items[pairs], threads)
        else:
            left, right = pairs.T.copy()
            yield slice(0, len(pairs)), processor_for(threads=threads).join_similarities(self._all, left, right)

    def _made(self, rows: slice) -> CsrRows:
        """Make successive rows from few texts at a time."""
        first = int(self._ends[rows.start - 1]) if rows.start else 0
        indptr = np.concatenate([[0], self._ends[rows] - first])
        indices, data = np.empty(int(indptr[-1]), np.int64), np.empty(int(indptr[-1]), np.float32)
        for block in blocks_of(self._sizes[rows]):
            made = self.texts.rows(self.items[rows][block])
            place = slice(int(indptr[block.start]), int(indptr[block.stop]))
            indices[place], data[place] = made.indices, made.data
        return CsrRows(indptr, indices, data, MOST_FEATURES)


def _similarities(texts: StoredTexts, pairs: Array, threads: int) -> Iterator[tuple[slice, Array]]:
    """Yield the exact similarities of pairs of texts, part by part."""
    sizes = texts.sizes()[pairs]
    again = np.flatnonzero(pairs[1:, 0] == pairs[:-1, 0]) + 1  # a text that begins several pairs is read once
    sizes[again, 0] = 0
    for part in blocks_of(sizes.sum(axis=1)):
        items, places = np.unique(pairs[part], return_inverse=True)
        left, right = places.reshape(-1, 2).T
        rows = texts.rows(items)
        yield part, processor_for(threads=threads).join_similarities(rows, left.copy(), right.copy())


def blocks_of(sizes: Array, most: int | None = None) -> list[slice]:
    """Cut successive items into blocks of at most so many bytes, or BLOCK_BYTES, and at least one item."""
    most = BLOCK_BYTES if most is None else most
    ends, blocks, start = np.cumsum(sizes), [], 0
    while start < len(sizes):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + most, side="right")))
        blocks.append(slice(start, stop))
        start = stop
    return blocks
