"""Training: how a model was learned and from where learning goes on, beside the fitted model itself.

``partial_fit`` makes one pass over a stream, with a proximal step per block of rows. A block moves w to the minimizer
of 1/2 |w' - w|^2 + sum of the losses of its rows. The block solver of :mod:`kernelsketch.linear._descent` finds it,
with duals that start at 0 and are dropped afterwards. The model is the average of w over the blocks, in which later
blocks count more. There is no learning rate. A model of ``fit`` counts as the blocks of its rows: without them, a few
new rows would outweigh it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._array import Array
from ..backends import LINEAR_BLOCK_ROWS, LinearPass
from ..hashing import PackedCodes
from ..serving import LinearModel, Value, stride_of
from ._code_table import CodeTable, find_used_codes
from ._descent import shuffled
from ._problem import Targets
from ._solver import Solver


@dataclass
class OnlineState:
    """State of one-pass learning: the current weights, their average, and the number of blocks seen."""

    used_codes: Array
    w: Array
    bias: Array
    mean_w: Array
    mean_bias: Array
    blocks: int


@dataclass(frozen=True, eq=False, slots=True)
class Training(Value):
    """What only learning needs of a fit; predictions do not. Its NumPy arrays are read-only.

    Attributes
    ----------
    bias : array of shape (problems,)
        Weights of the feature of the intercept, whose value is ``intercept_scaling``.
    n_iter : int
        Number of passes of the problem that took the most.
    gap, objective : arrays of shape (problems,) or None
        Duality gap and objective of each problem, after a fit to a gap.
    duals : array of shape (problems, rows) or None
        From which a warm start continues.
    stream : OnlineState or None
        From which ``partial_fit`` continues.
    rows : int or None
        Number of rows of the fit, by which it counts when ``partial_fit`` continues; None if it is not known.
    """

    bias: Array
    n_iter: int
    gap: Array | None = None
    objective: Array | None = None
    duals: Array | None = None
    stream: OnlineState | None = None
    rows: int | None = None


def next_state(model: LinearModel | None, training: Training | None, codes: PackedCodes, problems: int) -> OnlineState:
    """Return a copy of the state from which partial_fit continues, with room for the codes of the next rows.

    It is the state of the previous partial_fit, the fitted model, or zeros.
    """
    found, before = find_used_codes(codes), None if training is None else training.stream
    if before is None and model is not None and training is not None:
        w = model.weights.astype(np.float32)
        before = OnlineState(
            model.used_codes, w, training.bias, w, training.bias, -(-(training.rows or 0) // LINEAR_BLOCK_ROWS)
        )
    elif before is None:
        w = np.zeros((problems, codes.n_components, stride_of(len(found))), np.float32)
        before = OnlineState(found, w, np.zeros(problems), w, np.zeros(problems), 0)
    used_codes = np.union1d(before.used_codes, found)
    w, mean_w = (widen(table, before.used_codes, used_codes) for table in (before.w, before.mean_w))
    return OnlineState(used_codes, w, before.bias.copy(), mean_w, before.mean_bias.copy(), before.blocks)


def widen(w: Array, old: Array, new: Array) -> Array:
    """Return a table (problems, k, stride) for the used codes ``new``, which contain ``old``; new weights are 0."""
    if len(new) == len(old):
        return w.copy()
    wide = np.zeros((*w.shape[:2], stride_of(len(new))), np.float32)
    wide[:, :, np.searchsorted(new, old)] = w[:, :, : len(old)]
    return wide


def learn(state: OnlineState, table: CodeTable, targets: Targets, solver: Solver) -> None:
    """Update the state with one proximal step per block of the given rows."""
    count, backend = len(targets.positive), table.backend(solver.threads)
    order = shuffled(len(table.codes), solver.seed + state.blocks)
    for start in range(0, len(order), LINEAR_BLOCK_ROWS):
        rows = order[start : start + LINEAR_BLOCK_ROWS]
        beta, shrunk = (backend.zeros((count, len(rows)), dtype) for dtype in (np.float32, np.uint8))
        threshold, running = np.full(count, np.inf, np.float32), np.ones(count, np.uint8)
        of = (*targets.only(rows), threshold, running, state.w, state.bias, beta, shrunk)
        block = LinearPass(np.arange(len(rows), dtype=np.int32), *of)
        picked = backend.from_numpy(rows)
        backend.linear_pass(table.codes[picked], table.empty[picked], solver.objective, block)
        state.blocks += 1
        rate = 2 / (state.blocks + 1)
        state.mean_w *= np.float32(1 - rate)
        state.mean_w += np.float32(rate) * state.w
        state.mean_bias += rate * (state.bias - state.mean_bias)
