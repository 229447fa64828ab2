"""Reports during long calls of native code, from the calling thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .. import _native


@contextmanager
def heartbeat(call: Callable[[], None]) -> Iterator[None]:
    """Within the context, native calls of this thread that take long call a function about ten times per second."""
    before = _native.set_heartbeat(call)
    try:
        yield
    finally:
        _native.set_heartbeat(before)
