"""Ctrl-C during a fit that is to keep what it has: the fit ends early, as if a budget had run out."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any, Self

from .._warnings import warn_user
from ..exceptions import InterruptWarning

ENDING = "interrupted: the fit ends with what it has. A second Ctrl-C stops it without a model."


class StoppedError(Exception):
    """The work that goes on is dropped, because a fit ends early."""


class Interrupts:
    """From :meth:`begin` on, takes note of one Ctrl-C. All others raise KeyboardInterrupt, as ever.

    Native code asks Python for signals while it works, and goes on after one that raises nothing. Python handles
    signals in the main thread, so in other threads nothing is noted.
    """

    def __init__(self, *, keep: bool = False, say: Callable[[str], None] = lambda _: None) -> None:
        self._keep, self._say = keep, say
        self._before: Any = None  # the handler to put back
        self._came = self._told = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def begin(self) -> None:
        """Take note of Ctrl-C from now on, because there soon is a model."""
        if not self._keep or threading.current_thread() is not threading.main_thread():
            return
        before = signal.getsignal(signal.SIGINT)
        if before is None or before == signal.SIG_IGN:
            return
        self._before = before
        signal.signal(signal.SIGINT, self._note)

    def _note(self, *_: Any) -> None:
        self._came = True
        self._restore()

    def _restore(self) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def noted(self) -> bool:
        """Return whether Ctrl-C came, and report it to the user the first time."""
        if self._came and not self._told:
            self._told = True
            self._say(ENDING)
            warn_user(ENDING, InterruptWarning)
        return self._came

    def check(self) -> None:
        """Raise :class:`StoppedError` if Ctrl-C came."""
        if self.noted():
            raise StoppedError
