"""Weighted sampling on a card: lists the nonzeros of rows and launches the kernels of ``gcws.cu``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._interface import GcwsParams
from .._rows import CsrRows, DenseRows, Rows
from ._device import Card

TOGETHER_HASHES, ALONE_HASHES, THREADS = 128, 128, 256  # of gcws.cu: hashes per warp, threads that list entries
TOGETHER_ROWS, ALONE_ROWS = 8, 2  # rows per group, if groups walk side by side or each alone
GROUPS, SLOTS = 16, 24  # groups that walk side by side, and slots whose parameters they have in shared memory
MOST_VALUES = 1 << 26  # values of a block of rows
MOST_WINNERS = 1 << 27  # samples of a block of rows
TABLE_BYTES = 1 << 30
DIRECT_SLOTS = 1 << 20  # up to this number of slots keys are slots; above it the slots that occur are numbered
DENSE_SHARE = 1 / 64  # share of values of CSR rows that are nonzero, above which groups walk side by side
NAMES = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
CODE8, CODE16, CODE32, SAMPLES, FINGERPRINTS = range(5)


class Groups(NamedTuple):
    """The entries of groups of rows, as ``gcws.cu`` lists them."""

    starts: Any  # of sparse rows, or None
    d: int
    rows: int  # per group
    entries: Any
    counts: Any
    logs: Any
    largest: Any
    slots: Any  # the number of slots that occur, on the card
    slot_of: Any  # by rank
    room: int  # most slots that can occur
    together: bool  # whether groups walk side by side


def gcws_codes(card: Card, rows: Rows, params: GcwsParams, bits: int, t_bits: int) -> tuple[Any, Any]:
    width = bits + t_bits
    what, dtype = (CODE8, np.uint8) if width <= 8 else (CODE16, np.uint16) if width <= 16 else (CODE32, np.uint32)
    codes = card.xp.empty((len(rows), params.n_components), dtype)
    if width <= 8 and t_bits == 0:
        return codes, _sampled(card, rows, params, lambda part, groups: _codes(card, groups, params, bits, codes[part]))
    finish = lambda part, groups: _finished(card, groups, params, (bits, t_bits), what, codes[part], None)  # noqa: E731
    return codes, _sampled(card, rows, params, finish)


def gcws_samples(card: Card, rows: Rows, params: GcwsParams) -> tuple[Any, Any, Any]:
    slots, t = (card.xp.empty((len(rows), params.n_components), np.int64) for _ in range(2))
    finish = lambda part, groups: _finished(card, groups, params, (0, 0), SAMPLES, slots[part], t[part])  # noqa: E731
    return slots, t, _sampled(card, rows, params, finish)


def gcws_fingerprints(card: Card, rows: Rows, params: GcwsParams) -> tuple[Any, Any]:
    codes = card.xp.empty((len(rows), params.n_components), np.uint8)
    finish = lambda part, groups: _finished(card, groups, params, (0, 0), FINGERPRINTS, codes[part], None)  # noqa: E731
    return codes, _sampled(card, rows, params, finish)


def concatenate(card: Card, slots: Any, t: Any, counts: Any) -> Any:
    xp, n = card.xp, len(slots)
    starts = xp.zeros(len(counts) + 1, np.int64)
    starts[1:] = xp.cumsum(counts)
    joined = xp.empty((n, len(counts)), np.int64)
    if joined.size:
        slots, t = xp.ascontiguousarray(slots), xp.ascontiguousarray(t)
        grid = (-(-joined.size // THREADS),)
        card.launch(
            "gcws", "gcws_concatenate", grid, (THREADS,), slots, t, n, slots.shape[1], starts, len(counts), joined
        )
    return joined


def _sampled(card: Card, rows: Rows, params: GcwsParams, finish: Any) -> Any:
    """Sample rows block by block; ``finish`` makes the results of a block. Returns the flags of empty rows."""
    empty = card.xp.empty(len(rows), np.uint8)

    def work(block: int) -> None:
        for part in _blocks(rows, params.n_components, block):
            finish(part, _listed(card, rows.part(part), params, empty[part]))

    card.in_blocks(work, -(-len(rows) // TOGETHER_ROWS) * TOGETHER_ROWS, TOGETHER_ROWS, "hashing blocks")
    return empty.view(np.bool_)


def _blocks(rows: Rows, k: int, most: int) -> Iterator[slice]:
    """Yield ranges of at most ``most`` rows whose values and samples the kernels can number."""
    n = len(rows)
    step = max(
        TOGETHER_ROWS, min(most, MOST_WINNERS // k, n if isinstance(rows, CsrRows) else MOST_VALUES // rows.n_features)
    )
    step = -(-step // TOGETHER_ROWS) * TOGETHER_ROWS
    start = 0
    while start < n:
        stop = min(n, start + step)
        if isinstance(rows, CsrRows):
            while stop - start > TOGETHER_ROWS and int(rows.indptr[stop] - rows.indptr[start]) > MOST_VALUES:
                stop = start + -(-(stop - start) // (2 * TOGETHER_ROWS)) * TOGETHER_ROWS
        yield slice(start, stop)
        start = stop


def _listed(card: Card, rows: Rows, params: GcwsParams, empty: Any) -> Groups:
    return (
        _listed_sparse(card, rows, params, empty)
        if isinstance(rows, CsrRows)
        else _listed_dense(card, rows, params, empty)
    )


def _listed_dense(card: Card, rows: DenseRows, params: GcwsParams, empty: Any) -> Groups:
    xp, (n, d), x = card.xp, rows.shape, rows.values
    dtype = np.dtype(x.dtype)
    if not (d == 1 or x.strides[1] == dtype.itemsize) or x.strides[0] % dtype.itemsize or x.strides[0] < 0:
        x = xp.ascontiguousarray(x)
    count = -(-n // TOGETHER_ROWS)
    entries, logs = xp.empty((count * 2 * d, 2), np.int32), xp.empty((count * 2 * d, TOGETHER_ROWS), np.float32)
    counts, used, largest = xp.empty(count, np.int32), xp.zeros(2 * d, np.uint8), xp.zeros(1, np.float32)
    center = None if params.center is None else xp.ascontiguousarray(xp.asarray(params.center, np.float64))
    card.launch(
        "gcws",
        f"gcws_list_dense_{NAMES[dtype]}",
        (count,),
        (THREADS,),
        *(x, n, d, x.strides[0] // dtype.itemsize, center, float(params.p)),
        *(entries, counts, logs, used, empty, largest),
    )
    groups = Groups(None, d, TOGETHER_ROWS, entries, counts, logs, largest, None, None, 2 * d, True)
    return _ranked(card, groups, used, None)


def _listed_sparse(card: Card, rows: CsrRows, params: GcwsParams, empty: Any) -> Groups:
    xp, n = card.xp, len(rows)
    starts, indices, data = rows.indptr, rows.indices, xp.ascontiguousarray(rows.data)
    if not bool((data != 0).all()):
        kept = data != 0
        before = xp.zeros(len(data) + 1, np.int64)
        before[1:] = xp.cumsum(kept)
        starts, indices, data = before[starts], indices[kept], data[kept]
    slots = 2 * indices.astype(np.int64) + (data < 0)
    if 2 * rows.n_features <= DIRECT_SLOTS:
        keys, slot_of, size = slots.astype(np.int32), None, 2 * rows.n_features
    else:
        slot_of, numbers = xp.unique(slots, return_inverse=True)
        keys, size = numbers.reshape(-1).astype(np.int32), max(1, len(slot_of))
    nnz = len(data)
    together = nnz > DENSE_SHARE * n * rows.n_features
    group_rows = TOGETHER_ROWS if together else ALONE_ROWS
    room, count = max(1, nnz), -(-n // group_rows)
    entries, logs = xp.empty((room, 2), np.int32), xp.empty((room, group_rows), np.float32)
    counts, order = xp.empty(count, np.int32), xp.empty(room, np.int64)
    used, largest = xp.zeros(size, np.uint8), xp.zeros(1, np.float32)
    starts = xp.ascontiguousarray(starts)
    card.launch(
        "gcws",
        f"gcws_list_sparse_{'together' if together else 'alone'}_{NAMES[np.dtype(data.dtype)]}",
        (count,),
        (THREADS,),
        *(starts, keys, data, n, float(params.p)),
        *(entries, counts, logs, order, used, empty, largest),
    )
    groups = Groups(starts, 0, group_rows, entries, counts, logs, largest, None, None, size, together)
    return _ranked(card, groups, used, slot_of)


def _ranked(card: Card, groups: Groups, used: Any, slot_of_key: Any) -> Groups:
    """Number the slots that occur."""
    xp, keys = card.xp, len(used)
    ranks = xp.cumsum(used, dtype=np.int32)
    slots = ranks[-1:].copy()
    ranks -= 1
    room = groups.room if groups.together else max(1, int(slots[0]))
    slot_of = xp.empty(keys, np.int64)
    card.launch("gcws", "gcws_slots", (-(-keys // THREADS),), (THREADS,), slot_of_key, used, ranks, keys, slot_of)
    arguments = (groups.starts, groups.d, groups.rows, groups.entries, groups.counts, ranks)
    card.launch("gcws", "gcws_rank", (len(groups.counts),), (THREADS,), *arguments)
    return groups._replace(slots=slots, slot_of=slot_of, room=room)


def _walked(card: Card, groups: Groups, params: GcwsParams, bits: int, codes: Any, winners: Any) -> None:
    """Make tables of parameters for as many hashes as they have room for, and walk through the entries with each."""
    xp, k, room = card.xp, params.n_components, groups.room
    form, words, tile = ("together", 4, TOGETHER_HASHES) if groups.together else ("alone", 2, ALONE_HASHES)
    tiles = max(1, min(-(-k // tile), TABLE_BYTES // (4 * words * room * tile)))
    n, count = len(codes if winners is None else winners), len(groups.counts)
    table = xp.empty((tiles, room, words, tile), np.uint32)
    blocks, threads, shared = count, 32, 0
    if groups.together:
        blocks, threads = -(-count // GROUPS), 32 * GROUPS
        shared = 2 * SLOTS * 16 * TOGETHER_HASHES + GROUPS * 2 * 32 * (8 + 4 * TOGETHER_ROWS)
    for first in range(0, k, tiles * tile):
        used_tiles = min(tiles, -(-(k - first) // tile))
        card.launch(
            "gcws",
            f"gcws_table_{form}",
            (room, used_tiles),
            (tile,),
            *(np.uint64(params.seed), groups.slot_of, groups.slots, room, first, table),
        )
        card.launch(
            "gcws",
            f"gcws_sample_{form}",
            (blocks, used_tiles),
            (threads,),
            *(groups.starts, groups.d, groups.entries, groups.counts, groups.logs, n, groups.largest),
            *(table, room, groups.slots, groups.slot_of, first, k, bits, codes, winners),
            shared=shared,
        )


def _codes(card: Card, groups: Groups, params: GcwsParams, bits: int, codes: Any) -> None:
    _walked(card, groups, params, bits, codes, None)


def _finished(
    card: Card, groups: Groups, params: GcwsParams, bits: tuple[int, int], what: int, out: Any, t: Any
) -> None:
    winners = card.xp.empty(out.shape, np.int32)
    _walked(card, groups, params, 0, None, winners)
    n, k = out.shape
    card.launch(
        "gcws",
        "gcws_finish",
        (-(-n * k // THREADS),),
        (THREADS,),
        *(groups.starts, groups.d, groups.rows, groups.entries, groups.counts, groups.logs),
        *(winners, n, k, groups.slot_of, np.uint64(params.seed), *bits, what, out, t),
    )
