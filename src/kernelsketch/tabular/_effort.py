"""How much work a fit does: by name, or by a budget in seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic

import numpy as np

from ._views import VIEWS


@dataclass(frozen=True)
class Effort:
    """The views, the steps of gradient descent on their weights, the number of hashes, and the values of C to try.

    ``n_trees`` is the largest number of boosted trees per output. From ``hold_out_rows`` training rows on, one fold
    chooses the settings, and three folds below.
    """

    views: tuple[str, ...]
    n_steps: int
    n_components: int
    Cs: tuple[float, ...]
    n_trees: int
    hold_out_rows: int


EFFORTS = {
    "quick": Effort(VIEWS[:2], 20, 1024, (1.0, 10.0), 0, 1000),
    "default": Effort(VIEWS, 50, 2304, (0.1, 1.0, 10.0, 100.0), 320, 1500),
    "thorough": Effort(VIEWS, 100, 4 * 2304, (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0), 640, 10**9),
}
N_FOLDS = 3
PILOT_ROWS, PILOT_HASHES = 3000, 96
PASSES = {0.1: 0.4, 0.3: 0.5, 1.0: 0.6, 3.0: 0.8, 10.0: 1.0, 30.0: 1.5, 100.0: 2.0, 300.0: 3.0}  # time relative to C=10
WEIGHTS_SHARE = 0.25  # of a budget, for the weights of columns
LEARNING_SHARE = 0.45  # of a budget, for the linear models; trees take what they leave


class Clock:
    """The seconds of a budget, or no limit."""

    def __init__(self, budget: float | None) -> None:
        self._start, self.budget = monotonic(), np.inf if budget is None else float(budget)

    @property
    def elapsed(self) -> float:
        return monotonic() - self._start

    @property
    def left(self) -> float:
        return max(0.0, self.budget - self.elapsed)


def fitting_effort(
    effort: Effort, n_rows: int, n_folds: int, seconds: float, pilot: Callable[[int, int], float]
) -> tuple[Effort, int]:
    """Return the largest effort, and the number of rows, whose linear models fit in their share of some seconds.

    ``pilot(rows, hashes)`` trains one model with C=10, and returns the seconds of the training alone. They tell the
    time of larger models, since hashing and learning are linear in rows and hashes.
    """
    if np.isinf(seconds):
        return effort, n_rows
    start = monotonic()
    rows = min(n_rows, PILOT_ROWS)
    unit = pilot(rows, PILOT_HASHES) / (rows * PILOT_HASHES)
    room = LEARNING_SHARE * (seconds - (monotonic() - start))
    for candidate in _ladder(effort):
        if _work(candidate, n_folds) * unit * n_rows <= room:
            return candidate, n_rows
    smallest = _ladder(effort)[-1]
    return smallest, max(min(n_rows, 100), min(n_rows, int(room / (_work(smallest, n_folds) * unit))))


def _work(effort: Effort, n_folds: int) -> float:
    folds = n_folds * (N_FOLDS - 1) / N_FOLDS * sum(PASSES[C] for C in effort.Cs)
    return effort.n_components * (folds + max(PASSES[C] for C in effort.Cs))


def _ladder(effort: Effort) -> list[Effort]:
    """Return the effort and smaller ones."""
    few = tuple(C for C in effort.Cs if C in (1.0, 10.0))
    found = [effort, replace(effort, Cs=tuple(C for C in effort.Cs if C <= 100))]
    found += [replace(effort, n_components=effort.n_components // part, Cs=few) for part in (1, 2, 3)]
    found += [replace(effort, n_components=effort.n_components // part, Cs=(10.0,)) for part in (3, 6, 12)]
    return found
