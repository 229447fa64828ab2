"""How far a fit has come, as data, and the lines that ``verbose`` prints of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputTypeError, Setting

Array = NDArray[Any]


class FitProgress(NamedTuple):
    """How far a fit has come. Functions that estimators take as ``progress`` are called with it.

    Attributes
    ----------
    stage : {"calibration", "cross-validation", "training"}
        What the solver works for.
    C : float
        The C of the problems that it solves.
    passes : int
        Number of passes over the rows so far.
    gaps : array of shape (1 or n_classes,)
        Duality gap of each problem, relative to its objective.
    fold, n_folds : int
        Number of the fold, from 1 on, and how many there are; 0 in the stage "training".
    is_solved : bool
        Whether this is the last report about a C on a fold, in the stage "cross-validation".
    """

    stage: str = "training"
    C: float = 1.0
    passes: int = 0
    gaps: Array = np.zeros(0)
    fold: int = 0
    n_folds: int = 0
    is_solved: bool = False

    def told_by_solver(self, report: Report | None) -> Any:
        """Return the function that a solver calls with passes and gaps; None if there is no report."""
        if report is None:
            return None
        return lambda passes, gaps: report(self._replace(passes=passes, gaps=gaps))


Report = Callable[[FitProgress], None]
TRAINING = FitProgress()


def reporter(progress: Any, verbose: int, name: str, tol: float) -> Report | None:
    """Return ``progress`` if it is given, or a function that prints: once per second with ``verbose=1``, each time with
    more.
    """
    if progress is not None:
        if not callable(progress):
            raise InputTypeError(
                Setting("progress"), f" must be a function of a FitProgress, got {type(progress).__name__}."
            )
        report: Report = progress
        return report
    shown = time.monotonic()

    def show(event: FitProgress) -> None:
        nonlocal shown
        now = time.monotonic()
        if event.fold and event.is_solved:
            _print(name, f"fold {event.fold}/{event.n_folds}, C={event.C:g}: {event.passes} passes")
        elif not event.fold and (verbose > 1 or now - shown > 1):
            shown = now
            _print(
                name,
                f"pass {event.passes}: duality gap {float(np.max(event.gaps)):.1e} of the objective, "
                f"{int((event.gaps > tol).sum())} of {len(event.gaps)} problems above tol",
            )

    return show if verbose else None


def _print(name: str, text: str) -> None:
    print(f"[{name}] {text}", flush=True)
