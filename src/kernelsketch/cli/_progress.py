"""Progress on standard error: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import monotonic
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..formats import RowBlock, RowStream
from ..hashing import PackedCodes

SECONDS = 5.0  # between lines


def duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Meter:
    """Shows how far a piece of work has come; ``with Meter("hashing", quiet) as meter: meter.show(share, text)``."""

    def __init__(self, title: str, quiet: bool) -> None:
        self.title = title
        self._quiet, self._bars = quiet, None
        self._start = self._begun = self._shown = monotonic()
        if not quiet and sys.stderr.isatty():
            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[text]}"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
        self._task: Any = None

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
            self._task = self._bars.add_task(self.title, total=None, text="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def begin(self, title: str) -> None:
        """Another part of the work."""
        self.title, self._begun = title, monotonic()
        if self._bars is not None:
            self._bars.remove_task(self._task)
            self._task = self._bars.add_task(title, total=None, text="")

    @property
    def seconds(self) -> float:
        """Of all parts."""
        return monotonic() - self._start

    def show(self, share: float | None, text: str) -> None:
        """``share`` from 0 to 1, None where it is not known."""
        if self._bars is not None:
            self._bars.update(self._task, total=None if share is None else 1.0, completed=share or 0.0, text=text)
            return
        now = monotonic()
        if self._quiet or now - self._shown < SECONDS:
            return
        self._shown = now
        known = ""
        if share:
            known = f", {100 * share:.0f} %, about {duration((now - self._begun) * (1 - share) / share)} left"
        print(f"{self.title}: {text}{known}", file=sys.stderr, flush=True)


class Counted:
    """Rows of a stream as they pass, counted and shown."""

    def __init__(self, stream: RowStream, meter: Meter) -> None:
        self._stream, self._meter = stream, meter
        self.rows, self.n_features = 0, 0
        self.feature_names = stream.feature_names

    def __iter__(self) -> Iterator[RowBlock]:
        for rows in self._stream:
            self.rows += rows.X.shape[0]
            width = rows.X.n_features if isinstance(rows.X, PackedCodes) else rows.X.shape[1]
            self.n_features = max(self.n_features, width)
            yield rows
            self._meter.show(self._stream.fraction, f"{self.rows:,} rows, {self.rate:,.0f} a second")

    @property
    def rate(self) -> float:
        return self.rows / max(self._meter.seconds, 1e-9)
