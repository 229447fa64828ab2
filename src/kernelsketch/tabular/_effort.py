"""How much work a fit does: by name, by a budget in seconds, or as much as another fit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from time import monotonic
from typing import Any

import numpy as np

from ..exceptions import ParameterError, Setting
from ._views import VIEWS


@dataclass(frozen=True)
class Effort:
    """The views, the steps of gradient descent on their weights, the number of hashes, and the values of C to try.

    ``n_trees`` is the largest number of boosted trees per output and fold. ``n_folds`` folds choose the settings, and
    each has its part of the hashes. A budget may lower ``most_steps``, after which every descent stops, and ``n_rows``,
    of which None means all.
    """

    name: str
    views: tuple[str, ...]
    n_steps: int
    n_components: int
    Cs: tuple[float, ...]
    n_trees: int
    n_folds: int
    most_steps: int | None = None  # None: the clock of the first descent says
    n_rows: int | None = None

    def settings(self) -> dict[str, Any]:
        """Return what :func:`effort_of` makes the same effort of."""
        return {
            "effort": self.name,
            "n_rows": self.n_rows,
            "n_steps": self.n_steps if self.most_steps is None else self.most_steps,
            "n_components": self.n_components,
            "Cs": list(self.Cs),
            "n_trees": self.n_trees,
        }


EFFORTS = {
    effort.name: effort
    for effort in (
        Effort("quick", VIEWS[:2], 20, 1024, (1.0, 10.0), 0, 3),
        Effort("default", VIEWS, 50, 2304, (0.1, 1.0, 10.0, 100.0), 320, 5),
        Effort("thorough", VIEWS, 100, 4 * 2304, (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0), 640, 5),
    )
}
PILOT_ROWS, PILOT_HASHES = 3000, 96
PASSES = {0.1: 0.4, 0.3: 0.5, 1.0: 0.6, 3.0: 0.8, 10.0: 1.0, 30.0: 1.5, 100.0: 2.0, 300.0: 3.0}  # time relative to C=10
WEIGHTS_SHARE = 0.25  # of a budget, for the weights of columns
LEARNING_SHARE = 0.45  # of a budget, for the linear models; trees take what they leave


def effort_of(given: str | dict[str, Any]) -> Effort:
    """Return the effort of a name, or of the settings of an earlier fit, which are checked."""
    if isinstance(given, str):
        return EFFORTS[given]

    def is_whole(value: Any, least: int) -> bool:
        return isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) < 2**31

    def is_positive(value: Any) -> bool:
        kinds = (int, float, np.integer, np.floating)
        return isinstance(value, kinds) and not isinstance(value, bool) and bool(0 < value <= sys.float_info.max)

    known = EFFORTS["quick"].settings().keys()
    for words, keys in (("lacks the key", known - given.keys()), ("has an unknown key", given.keys() - known)):
        if keys:
            raise ParameterError(
                Setting("effort"), f" {words} {min(map(repr, keys)):.60}: pass effort_ of a fitted model."
            )
    n_rows, Cs = given["n_rows"], given["Cs"]
    allowed = {
        "effort": isinstance(given["effort"], str) and given["effort"] in EFFORTS,
        "n_rows": n_rows is None or is_whole(n_rows, 2),
        "n_steps": is_whole(given["n_steps"], 1),
        "n_components": is_whole(given["n_components"], 1),
        "Cs": isinstance(Cs, (list, tuple)) and len(Cs) > 0 and all(is_positive(C) for C in Cs),
        "n_trees": is_whole(given["n_trees"], 0),
    }
    for name, holds in allowed.items():
        if not holds:
            raise ParameterError(
                Setting("effort"),
                f" has {name}={given[name]!r:.60}, which is no effort: pass effort_ of a fitted model.",
            )
    return replace(
        EFFORTS[given["effort"]],
        n_rows=None if n_rows is None else int(n_rows),
        most_steps=int(given["n_steps"]),
        n_components=int(given["n_components"]),
        Cs=tuple(sorted({float(C) for C in Cs})),
        n_trees=int(given["n_trees"]),
    )


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


def fitting_effort(effort: Effort, n_rows: int, seconds: float, pilot: Callable[[int, int], float]) -> Effort:
    """Return the largest effort, if necessary on fewer rows, whose linear models fit in their share of some seconds.

    ``pilot(rows, hashes)`` trains one model with C=10, and returns the seconds of the training alone. They tell the
    time of larger models, since hashing and learning are linear in rows and hashes.
    """
    if np.isinf(seconds):
        return effort
    start = monotonic()
    rows = min(n_rows, PILOT_ROWS)
    unit = pilot(rows, PILOT_HASHES) / (rows * PILOT_HASHES)
    room = LEARNING_SHARE * (seconds - (monotonic() - start))
    for candidate in _ladder(effort):
        if _work(candidate) * unit * n_rows <= room:
            return candidate
    smallest = _ladder(effort)[-1]
    return replace(smallest, n_rows=max(min(n_rows, 100), min(n_rows, int(room / (_work(smallest) * unit)))))


def _work(effort: Effort) -> float:
    folds = (1 - 1 / effort.n_folds) * sum(PASSES[C] for C in effort.Cs)
    return effort.n_components * (folds + max(PASSES[C] for C in effort.Cs))


def _ladder(effort: Effort) -> list[Effort]:
    """Return the effort and smaller ones."""
    few = tuple(C for C in effort.Cs if C in (1.0, 10.0))
    found = [effort, replace(effort, Cs=tuple(C for C in effort.Cs if C <= 100))]
    found += [replace(effort, n_components=effort.n_components // part, Cs=few) for part in (1, 2, 3)]
    found += [replace(effort, n_components=effort.n_components // part, Cs=(10.0,)) for part in (3, 6, 12)]
    return found
