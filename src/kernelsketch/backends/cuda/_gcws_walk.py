"""Weighted sampling of short rows on a GPU: launches the kernels of ``gcws.cu``, which explains the method."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._device import THREADS, Gpu
from ._gcws_values import CODES, DenseValues, SparseValues, Values, Wanted

TOGETHER_HASHES, ALONE_HASHES = 128, 128  # of gcws.cu: hashes per warp
TOGETHER_ROWS, ALONE_ROWS = 8, 2  # rows per group, if groups walk side by side or each alone
ROWS_AT_ONCE = TOGETHER_ROWS
GROUPS = 16  # groups that walk side by side
TABLE_BYTES = 1 << 30
DENSE_SHARE = 1 / 64  # share of values of CSR rows that are nonzero, above which groups walk side by side


class Groups(NamedTuple):
    """The entries of groups of rows, as ``gcws.cu`` lists them."""

    starts: Any  # of sparse rows, or None
    d: int
    rows: int  # per group
    entries: Any
    counts: Any
    logs: Any
    largest: Any
    slots: Any  # the number of slots that occur, on the GPU
    slot_of: Any  # by rank
    room: int  # most slots that can occur
    together: bool  # whether groups walk side by side


def hash_by_walks(gpu: Gpu, values: Values, wanted: Wanted, empty: Any) -> None:
    groups = (
        _listed_sparse(gpu, values, empty) if isinstance(values, SparseValues) else _listed_dense(gpu, values, empty)
    )
    if wanted.what == CODES[1] and wanted.t_bits == 0:
        _walked(gpu, groups, wanted, wanted.out, None)
        return
    (n, k), winners = wanted.out.shape, gpu.xp.empty(wanted.out.shape, np.int32)
    _walked(gpu, groups, wanted, None, winners)
    gpu.over(
        n * k,
        "gcws",
        "gcws_finish",
        *(groups.starts, groups.d, groups.rows, groups.entries, groups.counts, groups.logs, winners, n, k),
        *(groups.slot_of, np.uint64(wanted.seed), wanted.bits, wanted.t_bits, wanted.what, wanted.out, wanted.t),
    )


def _listed_dense(gpu: Gpu, values: DenseValues, empty: Any) -> Groups:
    xp, d, count = gpu.xp, values.d, -(-values.n // TOGETHER_ROWS)
    entries, logs = xp.empty((count * 2 * d, 2), np.int32), xp.empty((count * 2 * d, TOGETHER_ROWS), np.float32)
    counts, used, largest = xp.empty(count, np.int32), xp.zeros(2 * d, np.uint8), xp.zeros(1, np.float32)
    name = f"gcws_list_dense_{values.name}"
    results = (entries, counts, logs, used, empty, largest)
    gpu.launch("gcws", name, (count,), (THREADS,), *values.arguments, *results)
    groups = Groups(None, d, TOGETHER_ROWS, entries, counts, logs, largest, None, None, 2 * d, True)
    return _ranked(gpu, groups, used, None)


def _listed_sparse(gpu: Gpu, values: SparseValues, empty: Any) -> Groups:
    xp, nnz = gpu.xp, len(values.data)
    together = nnz > DENSE_SHARE * values.n * values.n_features
    group_rows = TOGETHER_ROWS if together else ALONE_ROWS
    room, count = max(1, nnz), -(-values.n // group_rows)
    entries, logs = xp.empty((room, 2), np.int32), xp.empty((room, group_rows), np.float32)
    counts, order = xp.empty(count, np.int32), xp.empty(room, np.int64)
    used, largest = xp.zeros(values.size, np.uint8), xp.zeros(1, np.float32)
    name = f"gcws_list_sparse_{'together' if together else 'alone'}_{values.name}"
    results = (entries, counts, logs, order, used, empty, largest)
    gpu.launch("gcws", name, (count,), (THREADS,), *values.arguments, *results)
    groups = Groups(values.starts, 0, group_rows, entries, counts, logs, largest, None, None, values.size, together)
    return _ranked(gpu, groups, used, values.slot_of)


def _ranked(gpu: Gpu, groups: Groups, used: Any, slot_of_key: Any) -> Groups:
    """Number the slots that occur."""
    xp, keys = gpu.xp, len(used)
    ranks = xp.cumsum(used, dtype=np.int32)
    slots = ranks[-1:].copy()
    ranks -= 1
    room = groups.room if groups.together else max(1, int(slots[0]))
    slot_of = xp.empty(keys, np.int64)
    gpu.over(keys, "gcws", "gcws_slots", slot_of_key, used, ranks, keys, slot_of)
    arguments = (groups.starts, groups.d, groups.rows, groups.entries, groups.counts, ranks)
    gpu.launch("gcws", "gcws_rank", (len(groups.counts),), (THREADS,), *arguments)
    return groups._replace(slots=slots, slot_of=slot_of, room=room)


def _slots_at_once(gpu: Gpu) -> int:
    """Return the number of slots whose parameters are in shared memory, ``kSlots`` of ``gcws.cu``."""
    return 24 if gpu.shared_kib >= 136 else 14 if gpu.shared_kib >= 96 else 6


def _walked(gpu: Gpu, groups: Groups, wanted: Wanted, codes: Any, winners: Any) -> None:
    """Make tables of parameters for as many hashes as they have room for, and walk through the entries with each."""
    xp, room, (n, k) = gpu.xp, groups.room, wanted.out.shape
    form, words, tile = ("together", 4, TOGETHER_HASHES) if groups.together else ("alone", 2, ALONE_HASHES)
    tiles = max(1, min(-(-k // tile), TABLE_BYTES // (4 * words * room * tile)))
    count, table = len(groups.counts), xp.empty((tiles, room, words, tile), np.uint32)
    blocks, threads, shared = count, 32, 0
    if groups.together:
        blocks, threads = -(-count // GROUPS), 32 * GROUPS
        shared = 2 * _slots_at_once(gpu) * 16 * TOGETHER_HASHES + GROUPS * 2 * 32 * (8 + 4 * TOGETHER_ROWS)
    for first in range(0, k, tiles * tile):
        used_tiles = min(tiles, -(-(k - first) // tile))
        gpu.launch(
            "gcws",
            f"gcws_table_{form}",
            (room, used_tiles),
            (tile,),
            *(np.uint64(wanted.seed), groups.slot_of, groups.slots, room, first, table),
        )
        gpu.launch(
            "gcws",
            f"gcws_sample_{form}",
            (blocks, used_tiles),
            (threads,),
            *(groups.starts, groups.d, groups.entries, groups.counts, groups.logs, n, groups.largest),
            *(table, room, groups.slots, groups.slot_of, first, k, wanted.bits, codes, winners),
            shared=shared,
        )
