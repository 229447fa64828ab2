"""Which stored texts are similar to documents of a collection, or to documents that are read once and not stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .._array import Array
from ..backends import CsrRows
from ..text import StoredTexts, Texts
from ._best import Best
from ._collection import DocumentCollection
from ._prefix_lists import Group, PrefixLists, similar_to_group
from ._text_join import blocks_of

PER_NONZERO = 40  # bytes of memory per feature of a text while the lists are made
LEAST_ROOM = 1 << 20

Documents = Iterable[tuple[CsrRows, list[Any]]]  # blocks of rows, and their ids


def match_collection(
    collection: DocumentCollection,
    texts: StoredTexts,
    items: Array,
    threshold: float,
    progress: Callable[[float], None],
) -> Best:
    """Find the most similar document of some stored texts, whose shingles are those of the collection."""
    found = Best(len(items))
    for part in blocks_of(texts.sizes()[items]):
        best = collection._best(collection._listed, texts.rows(items[part]), threshold)
        found.update(best, np.arange(part.start, part.stop))
        progress(part.stop / len(items))
    return found


def add_to_collection(
    collection: DocumentCollection, texts: StoredTexts, items: Array, ids: list[Any] | None, run: str
) -> None:
    """Add stored texts; ``run`` is the name of this addition."""

    def blocks() -> Iterator[tuple[Texts, list[Any] | None]]:
        for part in blocks_of(texts.sizes()[items]):
            yield texts.some(items[part]), None if ids is None else ids[part]

    collection._add(blocks(), run)


def shingles_of(collection: DocumentCollection) -> dict[str, Any]:
    """Return how texts become rows, as :func:`shingles_header` says it."""
    return dict(collection._listed.header["shingles"])


def runs_of(collection: DocumentCollection) -> list[str]:
    """Return the names of the last additions."""
    return list(collection._listed.runs)


def match_documents(
    texts: StoredTexts,
    items: Array,
    documents: Callable[[], Documents],
    threshold: float,
    *,
    room: int,
    threads: int,
) -> Best:
    """Find the most similar document of some stored texts, in about so many bytes of memory.

    The texts become prefix lists, and documents are looked up there as they come. If the lists of all texts are too
    large, ``documents`` is read once for each part of them.
    """
    found = Best(len(items))
    sizes = texts.records()["size"][items]
    for part in blocks_of(sizes * PER_NONZERO, max(room, LEAST_ROOM)):
        found.update(_matched(texts, items[part], documents(), threshold, threads), np.arange(part.start, part.stop))
    return found


def _matched(texts: StoredTexts, items: Array, documents: Documents, threshold: float, threads: int) -> Best:
    records, sizes, found = texts.records()[items], texts.sizes()[items], Best(len(items))

    def blocks() -> Iterator[Group]:
        for part in blocks_of(sizes):
            yield Group(texts.rows(items[part]), np.arange(part.start, part.stop))

    def rows_of(needed: Array) -> Iterator[tuple[slice, CsrRows]]:
        for part in blocks_of(sizes[needed]):
            yield part, texts.rows(items[needed[part]])

    lists = PrefixLists.of(blocks, int(records["size"].sum()), threshold, threads)
    for rows, ids in documents:
        for pairs, similarity in similar_to_group(lists, records["norm"], rows_of, rows, threshold, threads):
            found.take(pairs[:, 1], pairs[:, 0], similarity, ids.__getitem__)
    return found
