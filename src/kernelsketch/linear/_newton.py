"""Newton's method, step by step: a method of the solver, for losses with a continuous derivative.

A back end does the arithmetic of a step, which ``reference/newton.py`` specifies. This module says which codes are read
together as one symbol, how many rows a step samples, and when a problem is solved. Decision 26 compares the method with
coordinate descent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from .._array import Array
from ..backends import LinearSolved, NewtonStep, NewtonSteps, Symbols
from ._code_table import CodeTable
from ._problem import DualProblem, Solution

LEAST_SAMPLE, MOST_SAMPLE = 256, 2048  # rows of the preconditioner
TOGETHER = (8, 4, 2)  # codes of a symbol, as many as go together
ROWS_PER_SYMBOL = 32  # at least, on average: otherwise tables of symbols cost more than the rows
MOST_SYMBOLS = 65534  # of a group, which are numbers of 16 bits
MOST_STRIDE = 512  # of the tables of weights: about the number of used codes
LOOK_ROWS, LOOK_HASHES = 2048, 64  # for a first look at how well codes go together


def sample_rows(lookups: int) -> int:
    """Return how many rows the preconditioner samples, so that its factor costs as much as a few passes."""
    return int(np.clip(round((64 * lookups) ** (1 / 3) / 64) * 64, LEAST_SAMPLE, MOST_SAMPLE))


def most_symbols(n: int) -> int:
    """Return how many symbols a group of hashes may have."""
    return min(n // ROWS_PER_SYMBOL, MOST_SYMBOLS)


def symbols_of(table: CodeTable, stride: int, least: int, threads: int) -> Symbols | None:
    """Return the rows as symbols of at least so many codes; None if not so many go together.

    ``stride`` is that of the tables of weights.
    """
    (n, k), backend = table.shape, cast(NewtonSteps, table.backend(threads))
    most = most_symbols(n)
    if stride > MOST_STRIDE or most == 0:
        return None
    some = np.arange(0, n, max(1, n // LOOK_ROWS))
    few = np.ascontiguousarray(table.take(some)[:, :LOOK_HASHES])
    if backend.make_symbols(few, table.empty[some], least, max(1, len(few) // 4)) is None:
        return None
    for together in TOGETHER[: TOGETHER.index(least) + 1]:
        room = table.symbol_room(-(-k // together))
        found = backend.make_symbols(table.codes, table.empty, together, most, room, table.mapped)
        if found is not None:
            break
    else:
        return None
    rows, counts, first = found
    cells = np.zeros((len(counts), max(1, -(-int(counts.max()) // 16)) * 16, together), np.int32)
    for part in table.parts():
        codes = table.part(part)
        for g, count in enumerate(counts):
            here = slice(*np.searchsorted(first[g, :count], (part.start, part.stop)))
            hashes = np.arange(g * together, min(k, (g + 1) * together))
            its_codes = codes[first[g, here] - part.start, hashes[0] : hashes[-1] + 1]
            cells[g, here, : len(hashes)] = its_codes + hashes.astype(np.int32) * np.int32(stride)
    return Symbols(rows, counts, cells, table.mapped)


def newton_solve(
    problem: DualProblem,
    found: Solution,
    symbols: Symbols,
    tol: float,
    max_iter: int,
    report: Callable[[int, Array], None],
) -> LinearSolved:
    """Solve the problems, as many at a time as there are threads, and change ``found`` in place."""
    count, table, backend = problem.count, problem.table, cast(NewtonSteps, problem.backend)
    solved = LinearSolved(np.ones(count), np.ones(count), np.zeros(count, np.int64))
    f = np.empty((min(problem.threads, count), table.shape[0]), found.w.dtype)
    for start in range(0, count, len(f)):
        some = slice(start, start + len(f))
        objective, gap, passes = (part[some] for part in solved)
        placed = problem.placed._replace(positive=problem.placed.positive[some], factors=problem.placed.factors[some])
        state = NewtonStep(
            *placed,
            running=np.ones(len(gap), np.uint8),
            fresh=np.ones(len(gap), np.uint8),
            w=found.w[some],
            bias=found.bias[some],
            beta=found.beta[some],
            f=f[: len(gap)],
            tol=tol,
            symbols=symbols,
            sample=sample_rows(symbols.rows.size),
            most=np.full(len(gap), max_iter),
        )
        while state.running.any():
            ran = state.running == 1
            stats = backend.newton_step(table.codes, table.empty, problem.objective, state)
            objective[ran], gap[ran] = stats[ran, 0], stats[ran, 1]
            passes[ran] = np.minimum(passes[ran] + stats[ran, 2].astype(np.int64), max_iter)
            state.most[:] = max_iter - passes
            # A problem stops when its gap is small, when rounding dominates the gap, or when no pass is left.
            stops = ran & (stats[:, 3] == 0)
            state.running[stops & (state.fresh == 1)] = 0
            state.fresh[:] = stops  # decision values that were carried along are computed anew
            report(int(solved.passes.max()), solved.relative_gaps)
    return solved
