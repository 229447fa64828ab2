"""Memory of this process, and what ``--memory`` leaves for the work."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from pathlib import Path

from ..exceptions import InputError
from ._options import BLOCK_SHARE, LEAST_BLOCK, LIBRARIES, MOST_BLOCK, RunOptions, size_text

LEAST = 64_000_000  # bytes that most commands need for few rows
SLACK = 1.02  # what is in use differs a little from run to run


def memory_left(running: RunOptions, *, reading: bool = True, least: int | None = LEAST) -> int:
    """Return what --memory leaves: less what is in use, and less a block as text, as rows and as copies.

    Without ``reading``, the work that takes the memory begins when the last block has been dropped. ``least`` is what
    the command needs for few rows: an error names a value that leaves as much. With None there is no error, and what
    is left may be negative.
    """
    base = _resident_bytes() or LIBRARIES
    left = running.bytes - base - (4 * running.block_bytes if reading else 0)
    if left <= 0 and least is not None:
        raise InputError(
            f"--memory {running.memory} is too small: Python, the libraries and the reading of a file need "
            f"--memory {_enough(base, least, reading=reading)} or more."
        )
    return left


def enough_memory(running: RunOptions, left: int, needed: float, *, reading: bool = True) -> str:
    """Return a value of --memory that leaves ``needed`` bytes, as text; the one given leaves ``left``."""
    used = running.bytes - left
    return _enough(used - (4 * running.block_bytes if reading else 0), needed, reading=reading)


def _enough(base: int, needed: float, *, reading: bool) -> str:
    total = base + needed
    if reading:  # a part of what --memory adds goes to larger blocks
        blocks = (total - LIBRARIES) / (1 - 4 / BLOCK_SHARE) - (total - LIBRARIES)
        total += 4 * min(MOST_BLOCK, max(LEAST_BLOCK, blocks / 4))
    return size_text(SLACK * total)


def _resident_bytes() -> int | None:
    """Return the memory that this process has now; None where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def peak_bytes() -> int | None:
    """Return the most memory that this process has had so far; None where the system does not tell."""
    with suppress(OSError):  # getrusage counts the process that we were forked from, too
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found:
            return 1024 * int(found[1])
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
