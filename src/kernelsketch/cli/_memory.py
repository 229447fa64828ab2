"""The memory of the machine and of this process, and what ``--memory`` leaves for the work."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..exceptions import InputError

if TYPE_CHECKING:
    from ._options import RunOptions

UNKNOWN = 4_000_000_000  # bytes, where the system has no such figure
ROOT, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
LIBRARIES = 250_000_000  # bytes of Python and its libraries, as a rule
LEAST_BLOCK, MOST_BLOCK = 1 << 22, 1 << 26
BLOCK_SHARE = 32  # blocks that the memory besides the libraries would hold
HALF = "half"  # of the memory there is: the default of --memory
_UNITS = {"": 1, **{unit: 10 ** (3 * q) for q, unit in enumerate("KMGT", 1)}}
_UNITS |= {f"{unit}I": 2 ** (10 * q) for q, unit in enumerate("KMGT", 1)}
LEAST = 64_000_000  # bytes that most commands need for few rows
SLACK = 1.02  # what is in use differs a little from run to run


def memory_of(text: str) -> int:
    """Return the number of bytes that a text such as 2GB, 512MiB, 1e9 or half means."""
    if text == HALF:
        return available_memory() // 2
    found = re.fullmatch(r"\s*([\d.]+(?:e\d+)?)\s*([KMGT]?I?)B?\s*", text.upper().replace("E", "e"))
    try:
        if found is None or (found[2] == "I"):
            raise ValueError
        size = int(float(found[1]) * _UNITS[found[2]])
        if size < 1:
            raise ValueError
    except (ValueError, OverflowError):
        sentence = f"{text!r} is not a size. Write it as in 2GB, 512MiB, 1500000000 or half."
        raise typer.BadParameter(sentence, param_hint="--memory") from None
    return size


def size_text(size: float) -> str:
    """Return a number of bytes, rounded up, as --memory takes it."""
    if size < 1e9:
        return f"{10 * math.ceil(size / 1e7)}MB"
    return f"{math.ceil(size / 1e7) / 100:g}GB"


@cache
def available_memory() -> int:
    """Return the bytes of the machine, or the smallest limit of its control groups if that is less."""
    return min([_machine_bytes() or UNKNOWN, *group_limits(ROOT, OWN)])


def group_limits(root: Path, own: Path) -> Iterator[int]:
    """Yield the limits of the control groups of this process and of the groups around them, of version 1 and 2."""
    try:
        lines = own.read_text().splitlines()
    except (OSError, UnicodeError):
        return
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0":
            places, name = [root, root / "unified"], "memory.max"
        elif "memory" in controllers.split(","):
            places, name = [root / "memory"], "memory.limit_in_bytes"
        else:
            continue
        inner = Path(path.lstrip("/"))
        for place in places:  # in a container the path may be that outside of it, and the limit lies at the root
            for group in (place / inner, *(place / outer for outer in inner.parents)):
                try:
                    yield int((group / name).read_text())
                except (OSError, ValueError):  # not there, or "max"
                    continue


def _machine_bytes() -> int | None:
    if sys.platform == "win32":
        return _windows_bytes()
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _windows_bytes() -> int | None:
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = [
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in ("total", "free", "pages", "free_pages", "all", "rest", "more")),
        ]

    status = Status(length=ctypes.sizeof(Status))
    found = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined,unused-ignore]
    return int(status.total) if found else None


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
    """Return the memory that this process has now; None where the system has no such figure."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def peak_bytes() -> int | None:
    """Return the most memory that this process has had so far; None where the system has no such figure."""
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
