"""Memory of this process, and what ``--memory`` leaves for the work."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from pathlib import Path

from ..exceptions import InputError
from ._options import RunOptions
from ._results import format_bytes

LIBRARIES = 250_000_000  # bytes of Python and its libraries, where the system does not tell


def memory_left(running: RunOptions) -> int:
    """Return what --memory leaves: less what is in use, less a block as text, as rows and as copies."""
    used = (_resident_bytes() or LIBRARIES) + 4 * running.block_bytes
    if used >= running.bytes:
        least = format_bytes(used + 100_000_000)
        raise InputError(
            f"--memory {running.memory} is too small: the libraries and the reading of a file need at least {least}."
        )
    return running.bytes - used


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
