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
from ._interrupts import Interrupts
from ._views import VIEWS

APART = 3  # times the rows of the kernel machine: from so many rows on, trees learn from the others


@dataclass(frozen=True)
class Effort:
    """The views, the steps of gradient descent on their weights, the number of hashes, and the values of C to try.

    ``n_trees`` is the largest number of boosted trees per output and fold. ``n_folds`` folds choose the settings, and
    each has its part of the hashes. In a table of at least ``APART`` times ``n_kernel_rows`` rows the kernel machine
    learns from so many rows only, and trees from the others; None means that it learns from all. A budget may lower
    ``n_kernel_rows`` and ``most_steps``, after which every descent stops, and ``n_rows``, of which None means all.
    After an interruption only the first ``n_scored_folds`` folds choose, and no trees of all rows join those of the
    folds if ``final_trees`` is false.
    """

    name: str
    views: tuple[str, ...]
    n_steps: int
    n_components: int
    Cs: tuple[float, ...]
    n_trees: int
    n_folds: int
    n_kernel_rows: int | None = None
    most_steps: int | None = None  # None: the clock of the first descent says
    n_rows: int | None = None
    n_scored_folds: int | None = None
    final_trees: bool = True

    def settings(self) -> dict[str, Any]:
        """Return what :func:`effort_of` makes the same effort of."""
        ended_early: dict[str, Any] = {}
        if self.n_scored_folds is not None:
            ended_early["n_scored_folds"] = self.n_scored_folds
        if not self.final_trees:
            ended_early["final_trees"] = False
        return ended_early | {
            "effort": self.name,
            "n_rows": self.n_rows,
            "n_kernel_rows": self.n_kernel_rows,
            "n_steps": self.n_steps if self.most_steps is None else self.most_steps,
            "n_components": self.n_components,
            "Cs": list(self.Cs),
            "n_trees": self.n_trees,
        }


EFFORTS = {
    effort.name: effort
    for effort in (
        Effort("quick", VIEWS[:2], 20, 1024, (1.0, 10.0), 0, 3),
        Effort("default", VIEWS, 25, 2304, (0.1, 1.0, 10.0, 100.0), 320, 5, 12_000),
        Effort("thorough", VIEWS, 50, 4 * 2304, (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0), 640, 5, 48_000),
    )
}
PILOT_ROWS, PILOT_HASHES = 3000, 384
PASSES = {0.1: 0.4, 0.3: 0.5, 1.0: 0.6, 3.0: 0.8, 10.0: 1.0, 30.0: 1.5, 100.0: 2.0, 300.0: 3.0}  # time relative to C=10
WEIGHTS_SHARE = 0.25  # of a budget, for the weights of columns
LEARNING_SHARE, ALONE_SHARE = 0.45, 0.8  # of a budget, for linear models; trees, where they can grow, take what is left
END_SHARE = 0.07  # of a budget, for what follows the trees
ENOUGH_ROWS, FEW_ROWS, FEWEST_ROWS = 5000, 2000, 100  # on which linear models learn, before they get fewer hashes


def effort_of(given: str | dict[str, Any]) -> Effort:
    """Return the effort of a name, or of the settings of an earlier fit, which are checked."""
    if isinstance(given, str):
        return EFFORTS[given]

    def is_whole(value: Any, least: int) -> bool:
        return isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) < 2**31

    def is_positive(value: Any) -> bool:
        kinds = (int, float, np.integer, np.floating)
        return isinstance(value, kinds) and not isinstance(value, bool) and bool(0 < value <= sys.float_info.max)

    # Efforts of earlier versions have no n_kernel_rows, and those of fits that were not interrupted not the others.
    given = {"n_kernel_rows": None, "n_scored_folds": None, "final_trees": True, **given}
    known = EFFORTS["quick"].settings().keys() | {"n_scored_folds", "final_trees"}
    for words, keys in (("lacks the key", known - given.keys()), ("has an unknown key", given.keys() - known)):
        if keys:
            raise ParameterError(
                Setting("effort"), f" {words} {min(map(repr, keys)):.60}: pass effort_ of a fitted model."
            )
    n_rows, n_kernel_rows, Cs = given["n_rows"], given["n_kernel_rows"], given["Cs"]
    n_scored, final_trees = given["n_scored_folds"], given["final_trees"]
    allowed = {
        "effort": isinstance(given["effort"], str) and given["effort"] in EFFORTS,
        "n_rows": n_rows is None or is_whole(n_rows, 2),
        "n_kernel_rows": n_kernel_rows is None or is_whole(n_kernel_rows, 2),
        "n_steps": is_whole(given["n_steps"], 1),
        "n_components": is_whole(given["n_components"], 1),
        "Cs": isinstance(Cs, (list, tuple)) and len(Cs) > 0 and all(is_positive(C) for C in Cs),
        "n_trees": is_whole(given["n_trees"], 0),
        "n_scored_folds": n_scored is None or is_whole(n_scored, 1),
        "final_trees": isinstance(final_trees, bool),
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
        n_kernel_rows=None if n_kernel_rows is None else int(n_kernel_rows),
        most_steps=int(given["n_steps"]),
        n_components=int(given["n_components"]),
        Cs=tuple(sorted({float(C) for C in Cs})),
        n_trees=int(given["n_trees"]),
        n_scored_folds=None if n_scored is None else int(n_scored),
        final_trees=final_trees,
    )


def summary_of(effort: dict[str, Any], n_rows: int, budget: float | None) -> str:
    """Return in words what a budget or an interruption had time for, of what the effort of its name takes."""
    whole = EFFORTS[effort["effort"]]
    used = n_rows if effort["n_rows"] is None else min(n_rows, effort["n_rows"])
    of_kernel, steps = effort["n_kernel_rows"], min(effort["n_steps"], whole.n_steps)
    parts = [f"{used} of {n_rows} rows"]
    if of_kernel is not None and used >= APART * of_kernel:
        parts = [f"{used} of {n_rows} rows ({of_kernel} of them in the kernel machine)"]
        if effort["n_trees"] == 0:
            parts = [f"{of_kernel} of {n_rows} rows"]
    parts += [f"{effort['n_components']} of {whole.n_components} hashes", f"{steps} of {whole.n_steps} steps"]
    parts += [f"{len(effort['Cs'])} of {len(whole.Cs)} values of C"]
    if whole.n_trees:
        parts += [f"up to {effort['n_trees']} of {whole.n_trees} trees"]
    if (scored := effort.get("n_scored_folds")) is not None:
        parts += [f"{scored} of {whole.n_folds} folds"]
    reason = "until the interruption" if budget is None else f"to fit into budget={budget:g}"
    return f"trained on {', '.join(parts)}, {reason}"


class Clock:
    """The seconds of a budget, or no limit, and whether Ctrl-C ends the fit before."""

    def __init__(self, budget: float | None, interrupts: Interrupts | None = None) -> None:
        self.interrupts = interrupts or Interrupts()
        self._start, self.budget = monotonic(), np.inf if budget is None else float(budget)

    @property
    def elapsed(self) -> float:
        return monotonic() - self._start

    @property
    def left(self) -> float:
        return max(0.0, self.budget - self.elapsed)


def fitting_effort(
    effort: Effort, n_rows: int, clock: Clock, pilot: Callable[[int, int], float], *, can_set_apart: bool = False
) -> Effort:
    """Return the largest effort, if necessary on fewer rows, whose linear models fit in their share of the time left.

    ``pilot(rows, hashes)`` trains one model with C=10, and returns the seconds of the training alone. They tell the
    time of larger models, since hashing and learning are linear in rows and hashes. Models get fewer rows before they
    get fewer hashes, until they have few. If ``can_set_apart`` is true, trees can learn from the other
    rows.
    """
    if np.isinf(clock.budget):
        return effort
    rows = min(n_rows, PILOT_ROWS)
    unit = pilot(rows, PILOT_HASHES) / (rows * PILOT_HASHES)
    room = kernel_share(effort) * clock.left
    all_rows = rows_of_kernel(effort, n_rows) if can_set_apart else n_rows
    for candidate, least in _ladder(effort):
        fitting = int(min(room / (_work(candidate) * max(unit, 1e-12)), 2**31))
        if fitting >= all_rows:
            return candidate
        if fitting >= least:
            break
    fitting = max(min(n_rows, FEWEST_ROWS), min(n_rows, fitting))
    if can_set_apart:
        return replace(candidate, n_kernel_rows=min(fitting, n_rows // APART))
    return replace(candidate, n_rows=fitting)


def rows_of_kernel(effort: Effort, n_rows: int) -> int:
    """Return how many rows the kernel machine learns from, where trees can learn from the others."""
    few = effort.n_kernel_rows is not None and n_rows >= APART * effort.n_kernel_rows
    return effort.n_kernel_rows if few and effort.n_kernel_rows is not None else n_rows


def kernel_share(effort: Effort) -> float:
    """Return the share of the time left, before weights are learned, that is for the kernel machine."""
    return LEARNING_SHARE if effort.n_trees else ALONE_SHARE


def passes_of(C: float) -> float:
    """Return the time of a linear model relative to that of C=10."""
    return float(np.interp(np.log(C), np.log(list(PASSES)), list(PASSES.values())))


def _work(effort: Effort) -> float:
    folds = (1 - 1 / effort.n_folds) * sum(passes_of(C) for C in effort.Cs)
    return effort.n_components * (folds + max(passes_of(C) for C in effort.Cs))


def _ladder(effort: Effort) -> list[tuple[Effort, int]]:
    """Return the effort and smaller ones, with the rows below which the next one is better."""
    few = tuple(C for C in effort.Cs if C in (1.0, 10.0))
    found = [(effort, ENOUGH_ROWS), (replace(effort, Cs=tuple(C for C in effort.Cs if C <= 100)), ENOUGH_ROWS)]
    found += [(replace(effort, n_components=effort.n_components // part, Cs=few), FEW_ROWS) for part in (1, 3)]
    return [*found, (replace(effort, n_components=effort.n_components // 12, Cs=(10.0,)), 0)]
