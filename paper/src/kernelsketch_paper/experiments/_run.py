"""Run cells in processes, within a memory limit and a time budget. Each cell is stored as soon as it is finished."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_limits

from kernelsketch import __version__

from .. import data
from .._library import FOURIER_VERSION, HASH_VERSION
from . import _protocol as protocol
from ._cells import BrokenDatasetError, Cell
from ._comparison import run_comparison
from ._hashing import run_hashing, run_time
from ._kernels import run_kernels
from ._plan import plan, sizes
from ._results import Row
from ._store import FinishedCell, Store
from ._targets import Selection
from ._tunable import run_tunable

WORK: dict[str, Callable[[Cell], list[Row]]] = {
    "kernels": run_kernels,
    "hashing": run_hashing,
    "time": run_time,
    "tunable": run_tunable,
    "comparison": run_comparison,
}
MEMORY_FRACTION = 0.8  # of the free memory


@dataclass
class State:
    """Progress of a run."""

    done: int = 0  # cells, including those of earlier runs
    total: int = 0  # cells, as far as is known now
    running: list[Cell] = field(default_factory=list)
    seconds_left: float | None = None
    failed: dict[str, str] = field(default_factory=dict)  # reasons by key
    broken: dict[str, str] = field(default_factory=dict)  # reasons by dataset whose file cannot be used
    too_large: dict[str, int] = field(default_factory=dict)  # bytes needed, by key
    out_of_time: bool = False


OnState = Callable[[State], None]


def versions(rows: int | None) -> dict[str, Any]:
    """Return what must be equal for cells to be used together. ``rows`` is the limit of rows of a scale."""
    return {"protocol": protocol.VERSION, "hash": HASH_VERSION, "fourier": FOURIER_VERSION, "rows": rows}


def run(
    selection: Selection,
    folder: Path,
    *,
    jobs: int,
    memory: int | None = None,
    budget: float | None = None,
    progress: OnState | None = None,
) -> tuple[Store, State]:
    """Run the cells that are not stored yet. ``memory`` is in bytes; after ``budget`` seconds no cell starts."""
    store, state = Store(folder, versions(selection.scale.rows)), State()
    limit = memory or int(MEMORY_FRACTION * free_memory())
    end = None if budget is None else time.monotonic() + budget
    clock, running = _Clock(), dict[Future[tuple[list[Row], float]], Cell]()
    cells: list[Cell] = []
    changed = True  # whether the plan may have grown
    pool = ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_alone, initargs=(data.own_datasets(),)
    )
    try:
        while True:
            if changed:
                cells, changed = plan(selection, store.rows()), False
            settled = {*store.done, *state.failed, *state.too_large, *(cell.key for cell in running.values())}
            waiting = [cell for cell in cells if cell.key not in settled and cell.dataset not in state.broken]
            state.out_of_time = bool(waiting) and end is not None and time.monotonic() > end
            if not state.out_of_time:
                _start(pool, waiting, running, jobs, limit, state)
            now = set(running.values())
            left = [cell for cell in waiting if cell not in now]
            state.done, state.total = sum(cell.key in store.done for cell in cells), len(cells)
            state.running, state.seconds_left = list(now), clock.left([*left, *now], jobs)
            if progress is not None:
                progress(state)
            if not running:
                return store, state
            finished, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in finished:
                cell = running.pop(future)
                _collect(future, cell, store, state, clock)
                changed |= cell.method == "rbf" and cell.experiment == "kernels"  # plans depend on these results
    finally:
        workers = list((pool._processes or {}).values())  # shutdown forgets them
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()


def _start(
    pool: ProcessPoolExecutor,
    waiting: list[Cell],
    running: dict[Future[tuple[list[Row], float]], Cell],
    jobs: int,
    limit: int,
    state: State,
) -> None:
    for cell in waiting:
        if len(running) >= jobs:
            return
        need = memory_of(cell)
        if need > limit:
            state.too_large[cell.key] = need
        elif need + sum(memory_of(other) for other in running.values()) <= limit:
            running[pool.submit(_work, cell)] = cell


def _collect(future: Future[tuple[list[Row], float]], cell: Cell, store: Store, state: State, clock: _Clock) -> None:
    try:
        rows, seconds = future.result()
    except BrokenProcessPool:
        raise MemoryError(
            f"A worker was killed while it ran {cell.experiment} of {cell.dataset}, most likely because memory ran "
            "out. Use fewer --jobs or less --memory. The finished cells are stored."
        ) from None
    except BrokenDatasetError as error:  # so no cell of this dataset can run
        state.broken[cell.dataset] = str(error)
        return
    except Exception as error:  # the other cells go on
        state.failed[cell.key] = f"{type(error).__name__}: {error}"
        return
    store.add(FinishedCell(cell.key, tuple(rows), seconds))
    clock.add(cell, seconds)


def _alone(own: dict[str, tuple[data.Entry, Path]]) -> None:
    """Prepare a worker: it uses one thread, since cells run side by side, and it ends when the runner is killed."""
    data.register(own)
    threadpool_limits(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    runner = os.getppid()

    def watch() -> None:
        while os.getppid() == runner:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _work(cell: Cell) -> tuple[list[Row], float]:
    start = time.perf_counter()
    with threadpool_limits(1):
        rows = WORK[cell.experiment](cell)
    return rows, time.perf_counter() - start


def size_of(cell: Cell) -> tuple[int, int, int]:
    """Return the numbers of training rows, test rows and features of a cell."""
    n, m, d = sizes(cell.dataset)
    most = cell.rows or sys.maxsize
    return min(n, most), min(m, most), d


def memory_of(cell: Cell) -> int:
    """Return a rough upper estimate of the peak memory in bytes."""
    n, m, d = size_of(cell)
    nonzeros = min(d, 1000)
    rows = 12 * (n + m) * nonzeros + 200_000_000
    if cell.k is not None:
        if cell.method == "gcws":
            each = 30 if cell.solver == "liblinear" else 3
            return rows + each * (n + m) * cell.k + 4 * 256 * cell.k * 30
        return rows + (30 if cell.solver == "liblinear" else 8) * n * cell.k + 8 * 4096 * cell.k
    exact = cell.method not in ("linear", "gcws", "nrff", "nystroem", "trees", "lightgbm") and not cell.search
    return rows + (8 * n * n + 16 * 2000 * n if exact else 40 * n * 1024)


def work_of(cell: Cell) -> float:
    """Return a rough number of operations, to compare cells of one experiment and method."""
    n, m, d = size_of(cell)
    settings = len(cell.Cs) * max(1, len(cell.gammas)) * max(1, len(cell.powers))
    if cell.k is not None:
        return float(n * cell.k * settings + m * cell.k)
    if cell.method == "linear":
        return float(n * min(d, 1000) * settings)
    part = min(n, protocol.CV_ROWS)
    if cell.search:
        return float(part * part * settings)
    return float(part * part * settings + n * n * len(cell.Cs) + n * (n + m) * min(d, 1000) / 20)


class _Clock:
    """Estimates the time left from the time that cells of the same kind took."""

    def __init__(self) -> None:
        self.seconds: dict[tuple[str, ...], float] = defaultdict(float)
        self.work: dict[tuple[str, ...], float] = defaultdict(float)

    def add(self, cell: Cell, seconds: float) -> None:
        for kind in _kinds(cell):
            self.seconds[kind] += seconds
            self.work[kind] += work_of(cell)

    def left(self, cells: list[Cell], jobs: int) -> float | None:
        if not self.work:
            return None
        return sum(work_of(cell) * self._rate(cell) for cell in cells) / jobs

    def _rate(self, cell: Cell) -> float:
        return next(self.seconds[kind] / self.work[kind] for kind in _kinds(cell) if self.work[kind] > 0)


def _kinds(cell: Cell) -> list[tuple[str, ...]]:
    return [(cell.experiment, cell.method, cell.solver), (cell.experiment,), ()]


def free_memory() -> int:
    """Return the free memory in bytes, or 4 GiB where the system does not report it."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError):
        return 4 << 30


def provenance(rows: int | None, started: datetime) -> dict[str, Any]:
    """Return the machine, the commit and the versions with which results were made."""
    return {
        "kernelsketch": __version__,
        "commit": _commit(),
        **versions(rows),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "machine": platform.platform(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "started": started.isoformat(timespec="seconds"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seeds": "the numbers of the splits and of the repetitions",
    }


def _commit() -> str:
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            cwd=Path(__file__).parent,
            check=True,
        )
        return answer.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown (no git checkout)"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"
