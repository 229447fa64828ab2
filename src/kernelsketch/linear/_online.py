"""The solver of ``partial_fit``: one pass over a stream, with a proximal step per block of rows.

A block of rows moves w to the minimizer of 1/2 |w' - w|^2 + sum of the losses of its rows. The block solver of
:mod:`kernelsketch.linear._descent` finds it, with duals that start at 0 and are dropped afterwards. The model is the
average of w over the blocks, in which later blocks count more. There is no learning rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends import LINEAR_BLOCK_ROWS, LinearObjective, LinearPass
from ._code_table import CodeTable
from ._descent import shuffled
from ._problem import Targets

Array = NDArray[Any]


@dataclass
class OnlineState:
    """State of one-pass learning: the current weights, their average, and the number of blocks seen."""

    used_codes: Array
    w: Array
    bias: Array
    mean_w: Array
    mean_bias: Array
    blocks: int


def learn(
    state: OnlineState, table: CodeTable, targets: Targets, objective: LinearObjective, seed: int, threads: int
) -> None:
    """Update the state with one proximal step per block of the given rows."""
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
        picked = backend.from_numpy(rows)
        backend.linear_pass(table.codes[picked], table.empty[picked], objective, state_of_block)
        state.blocks += 1
        rate = 2 / (state.blocks + 1)
        state.mean_w *= np.float32(1 - rate)
        state.mean_w += np.float32(rate) * state.w
        state.mean_bias += rate * (state.bias - state.mean_bias)
