"""How many threads a call may use: the ``n_jobs`` convention of scikit-learn, and what limits "all processors".

``None`` is one thread, or what :func:`joblib.parallel_config` says. A negative number counts from the processors that
this process may use: those of its CPU affinity, at most as many as the CPU quotas of its control groups, the limits of
``threadpoolctl`` and ``OMP_NUM_THREADS`` allow. Inside a worker of joblib the processors are already shared out: a
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
    """Return whether this is a process of a ``multiprocessing.Pool`` or the like, which may not start processes.

    It may start threads, but joblib warns there that it cannot start processes, which nobody wanted.
    """
    import multiprocessing

    return multiprocessing.current_process().daemon


def _all_threads(nesting_level: int) -> int:
    """Return how many threads quotas, OpenMP and the workers around this one allow."""
    limits = [cgroup_threads(), _openmp_threads()]
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


def cgroup_threads(mounted: str = "/sys/fs/cgroup", own: str = "/proc/self/cgroup") -> int:
    """Return how many processors the CPU quotas of this process's control groups allow, of version 1 or 2."""
    try:
        lines = Path(own).read_text().splitlines()
    except OSError:
        return MOST_THREADS
    shares = [float(MOST_THREADS)]
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            roots, read = ("", "unified"), _quota_of_version_2
        elif "cpu" in controllers.split(","):
            roots, read = (controllers, "cpu"), _quota_of_version_1
        else:
            continue
        for root in roots:  # a group has the limits of all groups that it is in
            group = Path(mounted, root, path.lstrip("/"))
            while group.is_relative_to(Path(mounted, root)):
                shares.append(read(group))
                group = group.parent
    return max(1, math.ceil(min(shares)))


def _quota_of_version_2(group: Path) -> float:
    return _share(*_numbers(group / "cpu.max"))


def _quota_of_version_1(group: Path) -> float:
    return _share(*_numbers(group / "cpu.cfs_quota_us"), *_numbers(group / "cpu.cfs_period_us"))


def _numbers(path: Path) -> list[int]:
    """Return the numbers in a file. Files that are not there, and words such as "max", have none."""
    try:
        return [int(word) for word in path.read_text().split()]
    except (OSError, ValueError):
        return []


def _share(*quota_and_period: int) -> float:
    """Return the processors that a quota allows. A negative quota, and one without a period, allow all of them."""
    if len(quota_and_period) != 2 or min(quota_and_period) <= 0:
        return MOST_THREADS
    return quota_and_period[0] / quota_and_period[1]
