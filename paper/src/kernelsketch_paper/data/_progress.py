"""How far a download is: a bar of rich where it is installed and there is a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[int, int | None], None]  # bytes done, bytes in all where the server tells
_STEP = 10  # percent between lines
_BYTES = 1 << 24  # between lines where the size is not known


@contextmanager
def progress(title: str) -> Iterator[Report]:
    """A function to call as bytes arrive."""
    if sys.stderr.isatty():
        try:
            import rich.progress  # noqa: F401
        except ImportError:
            pass
        else:
            with _bar(title) as report:
                yield report
            return
    yield _lines(title)


@contextmanager
def _bar(title: str) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(title, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


def _lines(title: str) -> Report:
    last = -1

    def report(done: int, total: int | None) -> None:
        nonlocal last
        mark = done * 100 // total // _STEP if total else done // _BYTES
        if mark != last:
            last = mark
            share = f" of {total / 1e6:.1f} MB" if total else " MB"
            print(f"{title}: {done / 1e6:.1f}{share}", file=sys.stderr, flush=True)

    return report
