"""What commands say at the end: a few lines, or JSON."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InputError
from ._options import Running

LIBRARIES = 250_000_000  # bytes of Python and its libraries, where the system does not tell


def tell(facts: dict[str, str], *, to_stderr: bool = False) -> None:
    """One fact a line."""
    width = max(map(len, facts)) + 2
    for name, text in facts.items():
        print(f"{name:{width}}{text}", file=sys.stderr if to_stderr else sys.stdout)


def tell_json(result: Any) -> None:
    print(json.dumps(_finite(result), default=_plain, allow_nan=False))


def _finite(value: Any) -> Any:
    """What is not finite has no place in JSON."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part) for part in value]
    return None if isinstance(value, (float, np.floating)) and not np.isfinite(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return str(value)


def size_of(path: Path | str) -> str:
    return bytes_text(os.stat(path).st_size)


def bytes_text(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def resident_bytes() -> int | None:
    """Of this process now; None where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def memory_left(running: Running) -> int:
    """Of what is asked for: less what is in use, less a block as text, rows and copies."""
    used = (resident_bytes() or LIBRARIES) + 4 * running.block_bytes
    if used >= running.bytes:
        least = bytes_text(used + 100_000_000)
        raise InputError(f"--memory {running.memory} is too small: reading and the libraries need {least} at least.")
    return running.bytes - used


def peak_bytes() -> int | None:
    """Of this process so far; None where the system does not tell."""
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


def label_value(label: Any) -> Any:
    """A label as files have it: 1 rather than 1.0."""
    return int(label) if isinstance(label, float) and label.is_integer() and abs(label) < 2**53 else label


def labels_text(labels: list[Any], most: int = 6) -> str:
    shown = ", ".join(str(label_value(label)) for label in labels[:most])
    return f"{len(labels)}: {shown}{', ...' if len(labels) > most else ''}"
