"""The solver as one call."""

from __future__ import annotations

from kernelsketch.linear._solver import Solver


def solve(table, targets, objective, stop, *, seed=0, threads=1, start=None, progress=None):
    report = None if progress is None else lambda event: progress(event.passes, event.gaps)
    return Solver(objective, stop, seed, threads, report).solve(table, targets, start)
