"""Clusters of near-duplicates: from similar pairs to groups of rows, and the row of each group that stays.

Rows have a *rank*: of two similar rows the one of smaller rank stays.

Rows that are equal are joined first: n of them are n - 1 pairs with the first of them, not n (n - 1) / 2 pairs. They
have equal keys: two 64-bit sums over the nonzeros of a row (``reference/join.py``). Rows with different contents share
both with a probability of about 2^-128.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from .._array import Array
from .._validation import row_batches
from ..backends import Rows, processor_for
from ..exceptions import InputError, Setting


def single_linkage(n: int, pairs: Iterable[Array], rank: Array) -> Array:
    """Return for each of n items the one that stays: that of smallest rank among all that pairs connect to it.

    ``pairs`` come in blocks of shape (n_pairs, 2), and each block is forgotten when its items are joined.
    """
    labels = np.arange(n)
    for block in pairs:
        if len(block):
            from scipy.sparse.csgraph import connected_components  # takes a while to import

            a, b = labels[block[:, 0]], labels[block[:, 1]]
            edges = sparse.coo_array((np.ones(len(block), np.int8), (a, b)), shape=(n, n))
            labels = connected_components(edges, directed=False)[1][labels]
    return _of_least_rank(labels, rank)


def star(n: int, pairs: Iterable[Array], rank: Array) -> Array:
    """Return for each of n items the one that stays, to which it is similar itself.

    Items are visited by rank. One that has not been given away stays, and takes all items that are similar to it and
    not yet given away.
    """
    blocks = [np.zeros((0, 2), np.int64), *pairs]
    every = np.concatenate(blocks)
    ranks = rank[every]
    every = np.where((ranks[:, 0] < ranks[:, 1])[:, None], every, every[:, ::-1])
    every = every[np.lexsort((rank[every[:, 1]], rank[every[:, 0]]))]
    stays = np.full(n, -1)
    starts = np.flatnonzero(np.diff(every[:, 0], prepend=-1))
    for begin, end in pairwise([*starts.tolist(), len(every)]):
        center = every[begin, 0]
        if stays[center] < 0:
            others = every[begin:end, 1]
            others = others[stays[others] < 0]
            stays[others] = center
    return np.where(stays < 0, np.arange(n), stays)


def _of_least_rank(labels: Array, rank: Array) -> Array:
    """Return the item of least rank among those with the same label."""
    return _first_of_each(np.lexsort((rank, labels)), labels)


def first_equal(keys: Array) -> Array:
    """Return for each row the number of the first row that has the same keys."""
    return _first_of_each(np.lexsort((keys[:, 1], keys[:, 0])), *keys.T)  # stable: equal keys stay in order


def _first_of_each(order: Array, *keys: Array) -> Array:
    """Return for each item the first one, in an order by keys, that has the same keys."""
    begins = np.ones(len(order), bool)
    begins[1:] = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    first = np.empty(len(order), np.int64)
    first[order] = order[np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))]
    return first


def first_rows(keys: Array, empty: Array) -> tuple[Array, Array]:
    """Return for each row the first that equals it, and the distinct rows, which are not empty."""
    first = first_equal(keys)
    first[empty] = np.flatnonzero(empty)
    return first, np.flatnonzero((first == np.arange(len(first))) & ~empty)


def row_keys(rows: Rows, threads: int = 1) -> Array:
    """Return the keys of rows, uint64 of shape (n_rows, 2). They do not depend on how the rows are stored."""
    join, keys = processor_for(*rows.arrays, work="a similarity join", threads=threads), [np.zeros((0, 2), np.uint64)]
    for part in row_batches(len(rows), rows.row_bytes):
        keys.append(join.join_keys(rows.part(part).to_csr()))
    return np.concatenate(keys)


def stays_of(how: str, links: Iterable[Array], first: Array, rank: Array) -> Array:
    """Return the row that stays for each row, where ``first`` is the first row equal to it. Links join first rows."""
    n = len(first)
    best = np.full(n, n)
    np.minimum.at(best, first, rank)
    linked = (single_linkage if how == "single" else star)(n, links, best)
    return _of_least_rank(first, rank)[linked[first]]


def linked_members(stays: Array, first: Array) -> Array:
    """Return the rows that do not equal the one that stays for them."""
    return np.flatnonzero((stays != np.arange(len(stays))) & (first != first[stays]))


def all_pairs(found: list[tuple[Array, Array]], first: Array) -> tuple[Array, Array]:
    """Return pairs and similarities, ascending and each once, with those of every row and the first that equals it."""
    n, again = len(first), np.flatnonzero(first != np.arange(len(first)))
    pairs = np.concatenate([np.stack([first[again], again], axis=1), *(some for some, _ in found)])
    values = np.concatenate([np.ones(len(again)), *(some for _, some in found)])
    _, once = np.unique(pairs[:, 0] * n + pairs[:, 1], return_index=True)
    return pairs[once], values[once]


def rank_of(priority: Any, n: int) -> Array:
    """Return the place of each row when the one of highest priority comes first, and of several the first row."""
    if priority is None:
        return np.arange(n)
    found = np.asarray(priority)
    if found.shape != (n,) or found.dtype.kind not in "fiub":
        raise InputError(
            Setting("priority"), f" must be numbers of shape ({n},), got {found.dtype} of shape {found.shape}."
        )
    if found.dtype.kind == "f" and np.isnan(found).any():
        raise InputError(Setting("priority"), f" must not be NaN, got NaN for row {int(np.argmax(np.isnan(found)))}.")
    _, level = np.unique(found, return_inverse=True)
    rank = np.empty(n, np.int64)
    rank[np.argsort(-level, kind="stable")] = np.arange(n)
    return rank
