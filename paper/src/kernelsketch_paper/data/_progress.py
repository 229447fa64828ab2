"""Progress of a download: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

OnBytes = Callable[[int, int | None], None]  # called with bytes so far and in all; None if not reported
_STEP = 10  # percent between two lines
_BYTES = 1 << 24  # bytes between two lines where the size is unknown


@contextmanager
def progress(title: str) -> Iterator[OnBytes]:
    """Give a function to call as bytes arrive."""
    if not sys.stderr.isatty():
        yield _lines(title)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(title, total=None)
        yield lambda done, total: bars.update(bar, completed=done, total=total)


def _lines(title: str) -> OnBytes:
    last = -1

    def show(done: int, total: int | None) -> None:
        nonlocal last
        mark = done * 100 // total // _STEP if total else done // _BYTES
        if mark != last:
            last = mark
            size = f" of {total / 1e6:.1f} MB" if total else " MB"
            print(f"{title}: {done / 1e6:.1f}{size}", file=sys.stderr, flush=True)

    return show
