"""Timing and memory.

Machines are noisy. Methods therefore take turns within each round, and the reported ratio of two methods is that of
their best times in the same run.
"""

from __future__ import annotations

import contextlib
import csv
import ctypes
import gc
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from machine import RESULTS, lines_of, machine
from rich.console import Console
from rich.progress import Progress
from rich.table import Table


@dataclass
class Method:
    """One way to solve a problem. The first of a problem's methods is the peer."""

    name: str
    run: Callable[[], Any]
    threads: int = 1
    rounds: int = 3
    share: float = 1.0  # of the problem that it does, where the whole would take too long


@dataclass
class Problem:
    name: str
    methods: list[Method]
    work: float  # elementary steps, for a rate
    compare: Callable[[Any, Any], float]  # difference of a result from the peer's, or its own error
    clock: Callable[[], float] = (
        perf_counter  # process_time where all methods have one thread: others then do not count
    )


@dataclass
class Row:
    """One line of the tidy CSV."""

    problem: str
    method: str
    threads: int
    seconds: float
    rate_giga: float
    ratio_to_peer: float
    difference_from_peer: float
    extra_memory_mib: float


def largest_difference(a: Any, b: Any) -> float:
    worst = 0.0
    for start in range(0, len(a), 500):
        worst = max(worst, float(np.abs(a[start : start + 500].astype(np.float64) - b[start : start + 500]).max()))
    return worst


def measure(problem: Problem, advance: Callable[[str], None]) -> list[Row]:
    seconds: dict[str, list[float]] = {m.name: [] for m in problem.methods}
    memory, difference, peer_result = {}, {}, None
    for turn in range(max(m.rounds for m in problem.methods)):
        for method in problem.methods:
            if turn >= method.rounds:
                continue
            advance(f"{problem.name}: {method.name}")
            give_back_memory()
            _reset_peak()
            before = _status("VmRSS")
            start = problem.clock()
            result = method.run()
            seconds[method.name].append((problem.clock() - start) / method.share)
            if turn == 0:
                peak = getattr(result, "peak_mib", None)  # of another process, which the result reports
                memory[method.name] = peak or _status("VmHWM") - before - result.nbytes / 2**20
                peer_result = result if peer_result is None else peer_result
                difference[method.name] = problem.compare(result, peer_result)
            del result
    peer = min(seconds[problem.methods[0].name])
    return [
        Row(
            problem.name,
            m.name,
            m.threads,
            round(min(seconds[m.name]), 5),
            round(problem.work / min(seconds[m.name]) / 1e9, 3),
            round(peer / min(seconds[m.name]), 2),
            float(f"{difference[m.name]:.4g}"),
            max(0.0, round(memory[m.name], 1)),  # memory of an earlier run may be used again
        )
        for m in problem.methods
    ]


def run_area(name: str, problems: Iterable[Problem], console: Console) -> None:
    """Measure, show and store: ``results/NAME.csv``, with the machine in ``results/NAME.json``."""
    rows: list[Row] = []
    where = machine()  # before anything is written, which git would call a change
    total = sum(m.rounds for p in problems for m in p.methods) if isinstance(problems, list) else None
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(name, total=total)

        def advance(what: str) -> None:
            progress.update(task, advance=1, description=what)

        for problem in problems:
            rows += measure(problem, advance)
    table = Table(*[f.name.replace("_", " ") for f in fields(Row)], title=name)
    for row in rows:
        table.add_row(*map(str, asdict(row).values()))
    console.print(table)
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    (RESULTS / f"{name}.json").write_text(json.dumps(where, indent=1) + "\n")


def give_back_memory() -> None:
    """Return freed memory to the system: otherwise a run that uses it again seems to take none."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # glibc alone has it
        ctypes.CDLL(None).malloc_trim(0)


def _reset_peak() -> None:
    with contextlib.suppress(OSError):  # else the peak counts from the start of the process
        Path("/proc/self/clear_refs").write_text("5")


def _status(key: str) -> float:
    """In MiB; nan where the system does not report it."""
    return next((int(x.split()[1]) / 1024 for x in lines_of("/proc/self/status") if x.startswith(key)), float("nan"))
