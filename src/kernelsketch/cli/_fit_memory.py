"""Peak memory of a fit, measured in a process of its own."""

from __future__ import annotations

import gc
import multiprocessing
import re
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from sklearn.base import clone

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")


def peak_memory(fits: list[tuple[Any, Any, Any]]) -> list[float | None]:
    """Return the MiB that each fit (model, X, y) adds at its peak; None where the system does not tell."""
    if not RESET.exists():  # not Linux
        return [None] * len(fits)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
        return list(pool.map(_peak, fits))


def _peak(fit: tuple[Any, Any, Any]) -> float | None:
    model, X, y = fit
    clone(model).fit(X[:100], y[:100])  # libraries are loaded and caches filled once
    gc.collect()
    try:
        RESET.write_text("5")  # the peak starts from here
    except OSError:
        return None
    before = _status("VmRSS")
    model.fit(X, y)
    return (_status("VmHWM") - before) / 1024


def _status(key: str) -> int:
    found = re.search(key + r":\s+(\d+) kB", STATUS.read_text())
    assert found is not None
    return int(found[1])
