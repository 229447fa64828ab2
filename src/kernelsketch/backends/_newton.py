"""Newton's method for linear models on codes, step by step: the solver of back ends in NumPy's memory.

A back end does the arithmetic of a step, which ``reference/newton.py`` specifies. This module decides when Newton's
method is worth its price, which codes are read together as one symbol, how many rows a step samples, and when a
problem is solved. The solver stops at the same duality gap as block dual coordinate descent; decision 26 compares both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ._interface_learning import LinearObjective, LinearSolved, LinearTargets, NewtonStep, Symbols

Array = NDArray[Any]

SQUARED_HINGE, SMOOTH = 0, {0, 2, 3, 4}  # numbers of losses: those with a continuous derivative
LEAST_CODES = 1 << 22  # fewer codes than that are learned faster by coordinate descent
LARGE_COST, MANY_ROWS = 2.0, 1 << 15  # classes that are hard to tell apart need Newton's method, whatever their rows
BUSY = 0.25  # share of the rows with a dual other than 0 from which on Newton's method is faster for the squared hinge
LEAST_SAMPLE, MOST_SAMPLE = 256, 2048  # rows of the preconditioner
TOGETHER = (8, 4, 2)  # codes of a symbol, as many as go together
ROWS_PER_SYMBOL = 32  # at least, on average: otherwise tables of symbols cost more than the rows
MOST_SYMBOLS = 65534  # of a group, which are numbers of 16 bits
MOST_STRIDE = 512  # of the tables of weights: about the number of used codes
LOOK_ROWS, LOOK_HASHES = 2048, 64  # for a first look at how well codes go together


class MakesSteps(Protocol):
    """What the solver needs of a back end."""

    def newton_step(self, codes: Array, empty: Array, objective: LinearObjective, state: NewtonStep) -> Array: ...

    def make_symbols(
        self, codes: Array, empty: Array, together: int, most: int
    ) -> tuple[Array, Array, Array] | None: ...


def sample_rows(lookups: int) -> int:
    """Return how many rows the preconditioner samples, so that its factor costs as much as a few passes."""
    return int(np.clip(round((64 * lookups) ** (1 / 3) / 64) * 64, LEAST_SAMPLE, MOST_SAMPLE))


def symbols_of(backend: MakesSteps, codes: Array, empty: Array, stride: int, least: int) -> Symbols | None:
    """Return the rows as symbols of at least so many codes; None if not so many go together.

    ``stride`` is that of the tables of weights.
    """
    n, k = codes.shape
    most = min(n // ROWS_PER_SYMBOL, MOST_SYMBOLS)
    if stride > MOST_STRIDE or most == 0:
        return None
    look = slice(None, None, max(1, n // LOOK_ROWS))
    few, few_empty = np.ascontiguousarray(codes[look, :LOOK_HASHES]), np.ascontiguousarray(empty[look])
    if backend.make_symbols(few, few_empty, least, max(1, len(few) // 4)) is None:
        return None
    for together in TOGETHER:
        found = backend.make_symbols(codes, empty, together, most) if together >= least else None
        if found is not None:
            break
    else:
        return None
    rows, counts, first = found
    cells = np.zeros((len(counts), max(1, -(-int(counts.max()) // 16)) * 16, together), np.int32)
    for g, count in enumerate(counts):
        hashes = np.arange(g * together, min(k, (g + 1) * together))
        some = codes[first[g, :count], hashes[0] : hashes[-1] + 1]
        cells[g, :count, : len(hashes)] = some + hashes.astype(np.int32) * np.int32(stride)
    return Symbols(rows, counts, cells)


def pays(codes: Array, objective: LinearObjective, targets: LinearTargets, beta: Array, visited: int) -> bool:
    """Return whether Newton's method is faster than coordinate descent, on any number of threads.

    Coordinate descent skips the rows outside of the margin of the squared hinge loss and is hard to beat if these are
    most. The duals of the rows that were visited tell. The other losses have no such rows.
    """
    if objective.loss not in SMOOTH or codes.size < LEAST_CODES:
        return False
    if is_hard(codes, objective, targets):
        return True
    return bool(visited > 0 and np.count_nonzero(beta) >= BUSY * len(beta) * visited)


def is_hard(codes: Array, objective: LinearObjective, targets: LinearTargets) -> bool:
    """Return whether coordinate descent is slow by the loss or the cost, whatever the rows are."""
    cost = float(targets.cost.max(initial=0)) * float(targets.factors.max(initial=0))
    return objective.loss != SQUARED_HINGE or (cost > LARGE_COST and len(codes) >= MANY_ROWS)


def newton_solve(
    backend: MakesSteps,
    codes: Array,
    empty: Array,
    objective: LinearObjective,
    targets: LinearTargets,
    w: Array,
    bias: Array,
    beta: Array,
    tol: float,
    max_iter: int,
    progress: Callable[[int, Array], None] | None,
    visited: int,
) -> LinearSolved | None:
    """Solve all problems, as :meth:`Linear.linear_solve` says; None if coordinate descent is the better solver."""
    if not pays(codes, objective, targets, beta, visited):
        return None
    # Pairs of codes save half of the look-ups: enough where coordinate descent is slow.
    symbols = symbols_of(backend, codes, empty, w.shape[2], 2 if is_hard(codes, objective, targets) else 4)
    if symbols is None:
        return None
    count = len(targets.positive)
    state = NewtonStep(
        *targets,
        running=np.ones(count, np.uint8),
        fresh=np.ones(count, np.uint8),
        w=w,
        bias=bias,
        beta=beta,
        f=np.empty(beta.shape, w.dtype),
        tol=tol,
        symbols=symbols,
        sample=sample_rows(symbols.rows.size),
        most=np.full(count, max_iter),
    )
    found = LinearSolved(np.full(count, np.inf), np.full(count, np.inf), np.zeros(count, np.int64))
    while state.running.any():
        ran = state.running == 1
        stats = backend.newton_step(codes, empty, objective, state)
        found.objective[ran], found.gap[ran] = stats[ran, 0], stats[ran, 1]
        found.passes[ran] = np.minimum(found.passes[ran] + stats[ran, 2].astype(np.int64), max_iter)
        state.most[:] = max_iter - found.passes
        # Problems rest with a small gap, with rounding errors as large as it, or without a pass left.
        rests = ran & (stats[:, 3] == 0)
        state.running[rests & (state.fresh == 1)] = 0
        state.fresh[:] = rests  # decision values that were carried along are computed anew
        if progress is not None:
            relative = np.divide(found.gap, found.objective, out=np.zeros(count), where=found.objective > 0)
            progress(int(found.passes.max()), relative)
    return found
