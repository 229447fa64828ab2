"""How many threads a call may use: the ``n_jobs`` convention of scikit-learn, and what limits "all processors".

``None`` is one thread, or what :func:`joblib.parallel_config` says. A negative number counts from the processors that
this process may use: those of its CPU affinity, at most as many as CPU quotas, the limits of ``threadpoolctl`` and
``OMP_NUM_THREADS`` allow. Inside a worker of joblib the processors are already shared out: a
worker process uses its part of them, as OpenMP and BLAS do there, and a worker thread uses itself alone. A process of a
``multiprocessing.Pool`` does not know its part, and uses one. A positive number is taken as it is.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

MOST_THREADS = 1024


def on_threads(work: Callable[[Any], Any], items: Iterable[Any], threads: int) -> Iterator[Any]:
    """Yield ``work(item)`` in the order of the items, each on one of the threads if there are several of both.

    This is for NumPy calls on large arrays, which release Python's lock.
    """
    every = list(items)
    if threads == 1 or len(every) < 2:
        yield from map(work, every)
    else:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(min(threads, len(every))) as pool:
            yield from pool.map(work, every)


def threads_for(n_jobs: int | None) -> int:
    """Return the number of threads for a whole number other than 0, or None."""
    import joblib  # comes with scikit-learn, whose n_jobs convention it defines
    from joblib.parallel import get_active_backend

    active, wanted = get_active_backend()
    wanted = n_jobs if n_jobs is not None else wanted
    if wanted is not None and _in_pool():
        return min(max(1, wanted), MOST_THREADS)
    threads = int(joblib.effective_n_jobs(n_jobs))
    if wanted is not None and wanted < 0:
        usable = min(int(joblib.cpu_count()), _all_threads(active.nesting_level or 0))
        threads = min(threads, max(1, usable + 1 + wanted))
    return min(threads, MOST_THREADS)


def _in_pool() -> bool:
    """Return whether this is a process of a ``multiprocessing.Pool``: joblib warns that it starts none there."""
    import multiprocessing

    return multiprocessing.current_process().daemon


def _all_threads(nesting_level: int) -> int:
    """Return how many threads quotas, OpenMP and the workers around this one allow."""
    limits = [quota_threads(), _openmp_threads()]
    if nesting_level > 0:
        import multiprocessing

        in_worker_process = nesting_level == 1 and multiprocessing.parent_process() is not None
        limits.append(_environment_threads(otherwise=1) if in_worker_process else 1)
    return max(1, min(limits))


def _environment_threads(otherwise: int) -> int:
    """Return ``OMP_NUM_THREADS``, which joblib sets in its worker processes."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(first) if first.isdigit() else otherwise


def _openmp_threads() -> int:
    """Return the smallest limit of the loaded OpenMP libraries, which threadpoolctl and OMP_NUM_THREADS set."""
    libraries = _openmp_libraries()
    if not libraries.lib_controllers:
        _openmp_libraries.cache_clear()  # scikit-learn loads one sooner or later
        return _environment_threads(otherwise=MOST_THREADS)
    return min(int(library.num_threads) for library in libraries.lib_controllers)


@cache
def _openmp_libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="openmp")  # looks through all libraries: takes milliseconds


def quota_threads(mounted: str = "/sys/fs/cgroup", own: str = "/proc/self/cgroup") -> int:
    """Return how many processors the CPU quotas of the control groups around this process allow, as systemd sets them.

    :func:`joblib.cpu_count` has the quota of a container, of version 1 or 2.
    """
    shares = [MOST_THREADS]
    lines = Path(own).read_text().splitlines() if Path(own).exists() else []
    for inner in (Path(line[4:]) for line in lines if line.startswith("0::/")):
        for group in (inner, *inner.parents):
            try:
                quota, period = map(int, Path(mounted, group, "cpu.max").read_text().split())
            except (OSError, ValueError):  # not there, or "max"
                continue
            shares.append(math.ceil(quota / period))
    return min(shares)
