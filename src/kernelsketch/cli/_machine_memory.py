"""Memory that this process may take at most: that of the machine, or of the control groups that it runs in."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

UNKNOWN = 4_000_000_000  # bytes, where the system does not tell
ROOT, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


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
