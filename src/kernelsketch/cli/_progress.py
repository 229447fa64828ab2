"""Progress on standard error: a bar on a terminal, a line every ten seconds elsewhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any, Self, cast

if TYPE_CHECKING:
    from ..formats import RowBlock, RowStream

FIRST, SECONDS = 5.0, 10.0  # until the first line, and between lines

_begin_of_process: float | None = None  # when the process began, if it runs one command only


def count_from(begin: float) -> None:
    """Make times include what came before the command itself: the start of Python and its imports."""
    global _begin_of_process
    _begin_of_process = begin


def format_duration(seconds: float) -> str:
    """Return a number of seconds as text, such as 12 s or 2.5 h."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class ProgressMeter:
    """Show how far the work has come.

    ``with ProgressMeter("hashing", quiet) as meter: meter.show(fraction, text)``; ``meter.begin(title)`` starts the
    next part of the work. Where nothing is shown for ten seconds, as in a long call of the library, the last text is
    shown again with the time.
    """

    def __init__(self, title: str, quiet: bool) -> None:
        self.title = title
        self._quiet = quiet
        self._bars = None if quiet or not sys.stderr.isatty() else _bars()
        self._begun = monotonic()
        self._start = self._begun if _begin_of_process is None else _begin_of_process
        self._due = self._begun + FIRST
        self._text, self._fraction = "", cast("float | None", None)
        self._task: Any = None
        self._lock, self._end = threading.Lock(), threading.Event()

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
            self._task = self._bars.add_task(self.title, total=None, text="")
        elif not self._quiet:
            threading.Thread(target=self._repeat, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        if self._bars is not None:
            self._bars.stop()

    def begin(self, title: str) -> None:
        """Start the next part of the work."""
        with self._lock:
            self.title, self._begun, self._text, self._fraction = title, monotonic(), "", None
        if self._bars is not None:
            self._bars.remove_task(self._task)
            self._task = self._bars.add_task(title, total=None, text="")

    @property
    def seconds(self) -> float:
        """Seconds since the start of the process, or of the first part if the process does more than this command."""
        return monotonic() - self._start

    def say(self, text: str) -> None:
        """Show a text that is worth a line of its own, such as the end of a stage."""
        if self._bars is not None:
            self._bars.update(self._task, text=text)
        elif not self._quiet:
            self._print(f"{self.title}: {text}")

    def show(self, fraction: float | None, text: str) -> None:
        """Show the fraction of this part that is done, from 0 to 1 or None if it is not known, and a text."""
        if self._bars is not None:
            done = fraction or 0.0
            self._bars.update(self._task, total=None if fraction is None else 1.0, completed=done, text=text)
            return
        with self._lock:
            self._fraction, self._text = fraction, text
        self._show_if_due()

    def _repeat(self) -> None:
        """Show lines while the command is busy and shows none itself."""
        while not self._end.wait(max(0.1, self._due + 0.5 - monotonic())):
            self._show_if_due(again=True)

    def _show_if_due(self, *, again: bool = False) -> None:
        """Show the last text if a line is due; ``again`` says that it may have been shown before."""
        now = monotonic()
        with self._lock:
            if self._quiet or now < self._due:
                return
            self._due = now + SECONDS
            title, text, fraction, begun = self.title, self._text, self._fraction, self._begun
        parts = [text] if text else []
        if fraction and fraction < 1:
            left = format_duration((now - begun) * (1 - fraction) / fraction)
            parts.append(f"{100 * fraction:.0f} %, about {left} left")
        if again or not parts:
            parts.append(f"{format_duration(now - begun)} so far")
        self._print(f"{title}: {', '.join(parts)}")

    def _print(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


def _bars() -> Any:
    """Return rich's progress bars; rich is imported for terminals only."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[text]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


class CountedRows:
    """The blocks of a stream, counted and shown as they pass."""

    def __init__(self, stream: RowStream, meter: ProgressMeter) -> None:
        self._stream, self._meter = stream, meter
        self.rows, self.n_features = 0, 0
        self.feature_names = stream.feature_names

    def __iter__(self) -> Iterator[RowBlock]:
        for block in self._stream:
            self.rows += block.X.shape[0]
            width = getattr(block.X, "n_features", block.X.shape[1])  # codes store how many features their rows had
            self.n_features = max(self.n_features, width)
            yield block
            self._meter.show(self._stream.fraction, f"{self.rows:,} rows, {self.rate:,.0f} rows per second")

    @property
    def expected(self) -> int:
        """The number of rows of the whole stream, as far as it can be estimated now."""
        return max(self.rows, round(self.rows / (self._stream.fraction or 1.0)))

    def show_done(self, rows: int) -> None:
        """Show that the work is done for so many rows, where it takes longer than to read them."""
        rate = rows / max(self._meter.seconds, 1e-9)
        self._meter.show(rows / max(self.expected, 1), f"{rows:,} rows, {rate:,.1f} rows per second")

    @property
    def at_end(self) -> bool:
        """Whether the whole file has been read, though a few of its rows may be still to come."""
        return (self._stream.fraction or 0.0) >= 1.0

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self._meter.seconds

    @property
    def rate(self) -> float:
        """Rows per second."""
        return self.rows / max(self._meter.seconds, 1e-9)

    def facts(self, output: str) -> dict[str, Any]:
        return {"output": output, "rows": self.rows, "n_features": self.n_features, "seconds": self._meter.seconds}

    @property
    def summary(self) -> str:
        """The number of rows, the time and the rate as text."""
        return f"{self.rows:,} rows in {format_duration(self._meter.seconds)}, {self.rate:,.0f} rows per second"
