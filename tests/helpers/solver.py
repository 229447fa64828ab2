"""The solver as one call."""

from __future__ import annotations

from kernelsketch.linear._solver import Solver


def solve(table, targets, objective, stop, *, seed=0, threads=1, start=None, progress=None):
    return Solver(objective, stop, seed=seed, threads=threads, progress=progress).solve(table, targets, start)
