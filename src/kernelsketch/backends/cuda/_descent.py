"""Block dual coordinate descent on a GPU, by the kernels of ``descent.cu``: for streams, and for the hinge loss.

Blocks follow each other, so most of the GPU is idle; smooth losses are learned by ``_newton`` instead. All rows of
the order are in blocks: no row is shrunk. Numbers of equal codes are at most 65,535, and so is the number of hashes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ...exceptions import BackendError
from .._interface_learning import LINEAR_BLOCK_ROWS, LINEAR_STATS, LinearObjective, LinearPass
from ._codes import matches_within
from ._device import ELSEWHERE, Gpu
from ._linear import REALS, decide, shared_rows
from ._rows import gpu_to_host, is_cupy
from ._source import check_loss

THREADS, MOST_HASHES = 256, 2**16 - 1
TOGETHER = 32  # blocks of rows whose codes are compared at the same time
NEAR_KIB = 132  # of descent.cu: shared memory that holds the matches of a block of rows


def linear_pass(gpu: Gpu, codes: Any, empty: Any, objective: LinearObjective, state: LinearPass) -> Any:
    """Make one pass over the rows, and return its statistics. Arrays of the state may be in main memory."""
    check_loss(objective.loss)
    xp = gpu.xp
    (problems, k, stride), n = state.w.shape, len(codes)
    if k > MOST_HASHES:
        raise BackendError(
            f"coordinate descent on the back end 'cuda' takes at most {MOST_HASHES} hashes, but there are {k}: use "
            f"fewer, or {ELSEWHERE}."
        )
    codes, flags = xp.ascontiguousarray(codes), xp.ascontiguousarray(empty).view(np.uint8)
    w, beta, bias = (_placed(xp, part) for part in (state.w, state.beta, state.bias))
    targets = [None if part is None else _placed(xp, part) for part in state[1:6]]
    running, order = _placed(xp, state.running), _placed(xp, state.order)
    stats, real = xp.zeros((problems, LINEAR_STATS - 1), np.float64), REALS[np.dtype(w.dtype)][0]
    loss, scale, parameter = objective
    for rows, block, none, matches in _blocks(gpu, codes, flags, order):
        count = len(rows)
        f, changes = xp.empty((problems, count), w.dtype), xp.empty((problems, count), w.dtype)
        decide(gpu, shared_rows(gpu, block, none, problems), scale, w, bias, f, 1)
        gpu.launch(
            "descent",
            f"descent_sweep_{real}",
            (problems,),
            (THREADS,),
            *(loss, float(parameter), float(scale), k, state.sweeps, count, rows, n, *targets, running, none, matches),
            *(f, beta, changes, stats),
            shared=2 * count**2 if gpu.shared_kib >= NEAR_KIB else 0,
        )
        name = f"descent_apply_{real}_u{8 * block.dtype.itemsize}"
        arguments = (changes, count, block, none, k, stride, float(scale), w, bias)
        gpu.launch("descent", name, (-(-k // THREADS), problems), (THREADS,), *arguments)
    squares = gpu_to_host((w.astype(np.float64) ** 2).sum(axis=(1, 2))) * gpu_to_host(running)
    for part, found in ((state.w, w), (state.beta, beta), (state.bias, bias)):
        if found is not part:
            part[...] = gpu_to_host(found)
    return np.concatenate([gpu_to_host(stats), squares[:, None]], axis=1)


def _blocks(gpu: Gpu, codes: Any, flags: Any, order: Any) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield blocks of rows: their numbers, codes, flags and match counts."""
    whole = len(order) // LINEAR_BLOCK_ROWS * LINEAR_BLOCK_ROWS  # the last block may be shorter
    starts = [*range(0, whole, TOGETHER * LINEAR_BLOCK_ROWS), *([whole] if whole < len(order) else [])]
    for start, end in pairwise([*starts, len(order)]):
        rows = order[start:end]
        size = min(LINEAR_BLOCK_ROWS, len(rows))
        some, none = codes[rows], flags[rows]
        for block, matches in enumerate(matches_within(gpu, some, none, size)):
            inside = slice(block * size, (block + 1) * size)
            yield rows[inside], some[inside], none[inside], matches


def _placed(xp: Any, array: Any) -> Any:
    """Return an array on the GPU: the array itself, if it is there already."""
    if is_cupy(array) or (xp is np and array.flags.c_contiguous):
        return array
    return xp.ascontiguousarray(xp.asarray(array))
