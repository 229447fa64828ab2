"""A bound of the memory that a library takes while it decodes a part of a file.

A few kilobytes of Parquet or Arrow may hold billions of values, and pyarrow decodes a batch of rows as a whole, without
any bound of its own. On Linux the system can refuse memory beyond a bound, and the library then raises a MemoryError.
pyarrow's own memory pools reserve 1 GB in advance, which makes the bound as vague; the command line therefore
makes it take memory from the system (``cli/__init__.py``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


@contextmanager
def bounded_memory(most: int | None) -> Iterator[None]:
    """Limit the process to ``most`` bytes more than it has; beyond that an allocation fails. None means no bound.

    The bound holds for all threads of the process. Where the system cannot set it, there is none.
    """
    before = None if most is None else _allocated()
    if most is None or before is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = before + most
    if soft != resource.RLIM_INFINITY:
        wanted = min(wanted, soft)
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _allocated() -> int | None:
    """Return the bytes that the process has allocated, as the limit counts them; None if they cannot be read."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[5]) * int(os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, IndexError):
        return None
