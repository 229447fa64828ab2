"""One pass over a stream: each block of rows moves the weights as little as fits it, and the weights are averaged.

A block of rows changes w to the minimizer of 1/2 |w' - w|^2 + sum of the losses of its rows, found by the same block
solver as in :mod:`kernelsketch.linear._dual` with duals that start at 0 and are forgotten. The model is the average of
w over the blocks, later ones counting more, which needs no learning rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends import LINEAR_BLOCK_ROWS, LinearObjective, LinearPass
from ._alphabet import CodeTable
from ._dual import Targets, shuffled

Array = NDArray[Any]


@dataclass
class OnlineState:
    """Weights as they stand, their average, and the number of blocks seen."""

    alphabet: Array
    w: Array
    bias: Array
    mean_w: Array
    mean_bias: Array
    blocks: int


def learn(
    state: OnlineState, table: CodeTable, targets: Targets, objective: LinearObjective, seed: int, threads: int
) -> None:
    """Bring the state up to date with some rows, each visited once."""
    count, backend = len(targets.positive), table.backend(threads)
    order = shuffled(len(table.codes), seed + state.blocks)
    for start in range(0, len(order), LINEAR_BLOCK_ROWS):
        rows = order[start : start + LINEAR_BLOCK_ROWS]
        n = len(rows)
        state_of_block = LinearPass(
            np.arange(n, dtype=np.int32),
            None if targets.labels is None else targets.labels[rows],
            None if targets.targets is None else targets.targets[rows],
            targets.cost[rows],
            targets.positive,
            targets.factors,
            np.full(count, np.inf, np.float32),
            np.ones(count, np.uint8),
            state.w,
            state.bias,
            backend.zeros((count, n), np.float32),
            backend.zeros((count, n), np.uint8),
        )
        backend.linear_pass(table.codes[rows], table.empty[rows], objective, state_of_block)
        state.blocks += 1
        rate = 2 / (state.blocks + 1)
        state.mean_w *= np.float32(1 - rate)
        state.mean_w += np.float32(rate) * state.w
        state.mean_bias += rate * (state.bias - state.mean_bias)
