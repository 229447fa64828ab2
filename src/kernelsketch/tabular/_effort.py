"""How much work a fit does: by name, or by a budget in seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._views import VIEWS

Array = NDArray[Any]


@dataclass(frozen=True)
class Effort:
    """The views, the steps of gradient descent on their weights, the number of hashes, and the values of C to try."""

    views: tuple[str, ...]
    n_steps: int
    n_components: int
    Cs: tuple[float, ...]


EFFORTS = {
    "quick": Effort(VIEWS[:2], 20, 1024, (1.0, 10.0)),
    "default": Effort(VIEWS, 50, 3072, (0.1, 1.0, 10.0, 100.0)),
    "thorough": Effort(VIEWS, 100, 3 * 3072, (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)),
}
N_FOLDS = 3
PILOT_ROWS, PILOT_HASHES = 3000, 96
PASSES = {0.1: 0.4, 0.3: 0.5, 1.0: 0.6, 3.0: 0.8, 10.0: 1.0, 30.0: 1.5, 100.0: 2.0, 300.0: 3.0}  # time relative to C=10
WEIGHTS_SHARE = 0.25  # of a budget, for the weights of columns
RESERVE = 0.75  # part of what is left that the estimate of a fit may take


class Clock:
    """The seconds of a budget, or no limit."""

    def __init__(self, budget: float | None) -> None:
        self._start, self._budget = monotonic(), budget

    @property
    def elapsed(self) -> float:
        return monotonic() - self._start

    @property
    def left(self) -> float:
        return np.inf if self._budget is None else max(0.0, self._budget - self.elapsed)

    def within(self, share: float) -> bool:
        """Return whether less than a share of the budget has gone."""
        return self._budget is None or self.elapsed < share * self._budget


def fitting_effort(
    effort: Effort, n_rows: int, seconds: float, pilot: Callable[[int, int], None]
) -> tuple[Effort, int]:
    """Return the largest effort, and the number of rows, that fit in some seconds.

    ``pilot(rows, hashes)`` trains one model with C=10. Its time tells the time of larger ones, since hashing and
    learning are linear in rows and hashes.
    """
    if np.isinf(seconds):
        return effort, n_rows
    start = monotonic()
    rows = min(n_rows, PILOT_ROWS)
    pilot(rows, PILOT_HASHES)
    taken = monotonic() - start
    room = RESERVE * (seconds - taken)
    unit = taken / (rows * PILOT_HASHES)
    for candidate in _ladder(effort):
        if _work(candidate) * unit * n_rows <= room:
            return candidate, n_rows
    smallest = _ladder(effort)[-1]
    return smallest, max(min(n_rows, 100), min(n_rows, int(room / (_work(smallest) * unit))))


def _work(effort: Effort) -> float:
    folds = (N_FOLDS - 1) * sum(PASSES[C] for C in effort.Cs)
    return effort.n_components * (folds + max(PASSES[C] for C in effort.Cs))


def _ladder(effort: Effort) -> list[Effort]:
    """Return the effort and smaller ones."""
    few = tuple(C for C in effort.Cs if C in (1.0, 10.0))
    found = [effort, replace(effort, Cs=tuple(C for C in effort.Cs if C <= 100))]
    found += [replace(effort, n_components=effort.n_components // part, Cs=few) for part in (1, 2, 3)]
    found += [replace(effort, n_components=effort.n_components // part, Cs=(10.0,)) for part in (3, 6, 12)]
    return found
