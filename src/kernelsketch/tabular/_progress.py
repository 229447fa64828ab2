"""Progress of work on rows that takes more than a few seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic
from typing import Any

from ..exceptions import InputTypeError, Setting

SECONDS = 5.0  # before the first text, and between texts


def check_progress(progress: Any) -> None:
    """Refuse a parameter ``progress`` that is not a function."""
    if progress is not None and not callable(progress):
        raise InputTypeError(Setting("progress"), f" must be a function of a text, got {type(progress).__name__}.")


class RowProgress:
    """Says every few seconds how many rows are done: to a function, or on standard error."""

    def __init__(self, title: str, n_rows: int, progress: Callable[[str], None] | None) -> None:
        self._title, self._n_rows, self._say = title, n_rows, progress
        self._start = self._said = monotonic()

    def done(self, rows: int) -> None:
        """Take note that so many rows are done."""
        now = monotonic()
        if rows >= self._n_rows or now - self._said < SECONDS:
            return
        self._said = now
        left = (now - self._start) * (self._n_rows - rows) / rows
        text = f"{rows:,} of {self._n_rows:,} rows, about {left:.0f} s left"
        if self._say is None:
            print(f"{self._title}: {text}", file=sys.stderr, flush=True)
        else:
            self._say(text)
