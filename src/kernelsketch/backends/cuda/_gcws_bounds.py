"""Weighted sampling of long rows on a GPU: launches the kernels of ``gcws_bounds.cu``, which explains the method."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ._device import Gpu
from ._gcws_values import DenseValues, Values, Wanted

THREADS, WARP, PLACES, CLASSES, HASHES, TILE = 256, 32, 128, 4, 8, 32  # of gcws_bounds.cu
ITEM_BYTES = 32
VISIT_THREADS, FEW_ROWS, FEW_THREADS = 1024, 8192, 256  # threads that visit a tile, and those of one with few rows
MOST_ROWS = 1 << 16  # of a tile
FEW_CLASSES_BYTES = 1 << 16  # of counters of classes, up to which they are in shared memory
ITEMS_BYTES = 1 << 28  # memory of the lists of slots
EXPECTED = 6.0  # values below the threshold of a row, on average
LIGHT_SHARE = 50  # one row in so many of a tile is lighter than its threshold expects
OFFSET = -math.log2(math.log(2))  # of log2(c), since c is exponential in units of log2


class Lists(NamedTuple):
    """The values of each row, as ``gcws_bounds.cu`` lists them."""

    starts: Any  # of sparse rows, or None
    d: int
    counts: Any
    keys: Any
    logs: Any


class Tiles(NamedTuple):
    """The values of all tiles, in the order of slots and classes."""

    rows: int  # per tile
    number: int
    slots: int
    tops: Any
    starts: Any
    placed_rows: Any
    placed_logs: Any
    thresholds: Any


def hash_by_bounds(gpu: Gpu, values: Values, wanted: Wanted, empty: Any) -> None:
    xp, n = gpu.xp, values.n
    counts, lightness, largest = xp.empty(n, np.int32), xp.empty(n, np.float32), xp.zeros(1, np.float32)
    grid, ranks, slot_of = (-(-n * WARP // THREADS),), None, None
    if isinstance(values, DenseValues):
        slots, keys = 2 * values.d, xp.empty(n * values.d, np.int32)
        lists = Lists(None, values.d, counts, keys, xp.empty(n * values.d, np.float32))
        results: tuple[Any, ...] = (keys, lists.logs, counts, lightness, empty, largest)
        _launch(gpu, f"list_dense_{values.name}", grid, *values.arguments, *results)
    else:
        lists = Lists(values.starts, 0, counts, values.keys, xp.empty(max(1, len(values.data)), np.float32))
        used = xp.zeros(values.size, np.uint8)
        results = (lists.logs, counts, lightness, used, empty, largest)
        _launch(gpu, f"list_sparse_{values.name}", grid, *values.arguments, *results)
        ranks, slot_of = xp.cumsum(used, dtype=np.int32), xp.flatnonzero(used)
        slot_of = slot_of if values.slot_of is None else values.slot_of[slot_of]
        slots = len(slot_of)
        if slots == 0:  # all rows are empty
            slots, slot_of = 1, xp.zeros(1, np.int64)
    row_at = xp.argsort(lightness)
    tiles = _tiles(gpu, lists, lightness, row_at, ranks, slots)
    _visited(gpu, lists, tiles, slot_of, row_at, largest, wanted)


def _launch(gpu: Gpu, name: str, grid: tuple[int, ...], *arguments: Any, shared: int = 0) -> None:
    gpu.launch("gcws_bounds", f"gcws_bounds_{name}", grid, (THREADS,), *arguments, shared=shared)


def _tiles(gpu: Gpu, lists: Lists, lightness: Any, row_at: Any, ranks: Any, slots: int) -> Tiles:
    """Divide rows, in descending order of their weights, into tiles, and put their values in order."""
    xp, n = gpu.xp, len(row_at)
    most = min(MOST_ROWS, (gpu.shared_bytes - VISIT_THREADS * ITEM_BYTES) // 4) // PLACES * PLACES
    count = -(-n // most)
    rows = -(-n // (count * PLACES)) * PLACES
    thresholds, least = xp.empty(count, np.float32), math.log2(EXPECTED) + OFFSET
    of_rows = (lightness, row_at, n, rows, count, LIGHT_SHARE, least, thresholds)
    _launch(gpu, "thresholds", (-(-count // THREADS),), *of_rows)
    grid, given = (-(-n // PLACES),), (*lists, row_at, n, rows)
    tops, sizes = xp.zeros(count * slots, np.uint32), xp.zeros(count * slots * CLASSES + 1, np.uint32)
    _launch(gpu, "tops", grid, *given, ranks, slots, tops)
    few = 4 * slots * CLASSES <= FEW_CLASSES_BYTES
    shared = 4 * slots * CLASSES if few else 0
    _launch(gpu, "count", grid, *given, slots, tops, int(few), sizes[1:], shared=shared)
    starts, values = xp.cumsum(sizes, dtype=np.uint32), max(1, len(lists.keys))
    placed_rows, placed_logs = xp.empty(values, np.uint16), xp.empty(values, np.float32)
    results = (starts[:-1].copy(), placed_rows, placed_logs)
    _launch(gpu, "place", grid, *given, slots, tops, int(few), *results, shared=shared)
    return Tiles(rows, count, slots, tops, starts, placed_rows, placed_logs, thresholds)


def _visited(gpu: Gpu, lists: Lists, tiles: Tiles, slot_of: Any, row_at: Any, largest: Any, wanted: Wanted) -> None:
    """Visit the values that can win, for as many hashes at a time as the lists of their slots have room for."""
    xp, (n, k), slots = gpu.xp, wanted.out.shape, tiles.slots
    states, codes = xp.empty(slots, np.uint64), xp.empty(slots, np.uint32)
    slot_grid = -(-slots // THREADS)
    _launch(gpu, "slots", (slot_grid,), np.uint64(wanted.seed), slot_of, slots, wanted.bits, states, codes)
    step = max(HASHES, min(-(-k // HASHES), ITEMS_BYTES // (4 * slots) // HASHES) * HASHES)
    items, item_counts = xp.empty((step, slots), np.uint32), xp.empty(step, np.int32)
    masks, winners = xp.empty((step, -(-slots // WARP)), np.uint32), xp.empty((step, n), np.int32)
    threads = VISIT_THREADS if tiles.rows > FEW_ROWS else FEW_THREADS
    for first in range(0, k, step):
        hashes = min(step, k - first)
        arguments = (states, slots, tiles.tops, tiles.thresholds, tiles.number, largest, first, hashes, masks)
        _launch(gpu, "choose", (slot_grid, -(-hashes // HASHES)), *arguments)
        _launch(gpu, "items", (hashes,), slots, masks, items, item_counts)
        gpu.launch(
            "gcws_bounds",
            "gcws_bounds_visit",
            (hashes, tiles.number),
            (threads,),
            *(states, n, tiles.rows, slots, tiles.tops, tiles.starts, tiles.placed_rows, tiles.placed_logs),
            *(tiles.thresholds, largest, first, items, item_counts, winners),
            shared=4 * tiles.rows + threads * ITEM_BYTES,
        )
        of_values = (*lists, row_at, n, slot_of, states, codes, winners, first, hashes, k)
        results = (wanted.bits, wanted.t_bits, wanted.what, wanted.out, wanted.t)
        _launch(gpu, "finish", (-(-n // TILE), -(-hashes // TILE)), *of_values, *results)
