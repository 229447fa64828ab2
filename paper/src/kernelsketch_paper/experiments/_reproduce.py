"""One call from a target to a folder of results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kernelsketch._validation import check_n_jobs
from kernelsketch.exceptions import InputError, UnavailableError
from kernelsketch.storage import write_atomically

from . import _protocol as protocol
from ._comparison import has_lightgbm
from ._results import PROVENANCE, write_results
from ._run import Progress, State, provenance, run
from ._store import Store, only_writer
from ._wanted import available, wanted


@dataclass(frozen=True)
class Reproduced:
    """What a run came to: its state, and the datasets that were not run, each with a reason."""

    state: State
    not_run: dict[str, str]
    others: int  # stored cells of other versions, which were not used


def reproduce(
    target: str,
    out: Any,
    *,
    scale: str = "standard",
    datasets: Sequence[str] = (),
    jobs: int | None = -1,
    memory: int | None = None,
    budget: float | None = None,
    download: bool = False,
    verify: bool = True,
    progress: Progress | None = None,
) -> Reproduced:
    """Run experiments of the paper, and write ``results.csv`` and ``provenance.json``.

    Finished cells are kept in ``cells.jsonl`` in the same folder: a run that was stopped or killed goes on.

    Parameters
    ----------
    target : str
        ``"table1"`` to ``"table5"``, ``"figures"``, ``"beyond"`` (comparisons that the paper does not have), ``"all"``.
    out : path
        Folder, made where there is none.
    scale : str, default="standard"
        ``"full"`` (the paper's grids: days), ``"standard"`` (hours), ``"quick"`` (minutes) or ``"tiny"`` (for tests).
    datasets : sequence of str, default=()
        Only these.
    jobs : int, default=-1
        Processes, each with one thread; -1 is one a processor.
    memory : int, default=None
        Bytes that all cells may take together; None is 80 % of what is free.
    budget : float, default=None
        Seconds after which no cell is begun.
    download : bool, default=False
        Whether to fetch datasets that are not here.
    verify : bool, default=True
        Whether datasets must have the registry's checksums; cells of others are kept apart.
    progress : callable, default=None
        Called with the ``State`` every second.

    Returns
    -------
    Reproduced
    """
    if scale not in protocol.SCALES:
        raise InputError(f"there is no scale {scale!r}: choose one of {', '.join(protocol.SCALES)}.")
    folder, started = Path(out), datetime.now(UTC)
    asked, not_run = available(wanted(target, protocol.SCALES[scale], datasets, verify), download)
    if not any(asked.experiments.values()):
        raise UnavailableError(
            f"none of the {len(not_run)} datasets of {target} is on this machine: name a folder of them in "
            "KERNELSKETCH_DATA, or have them downloaded (--download). `kernelsketch datasets NAME` tells its source."
        )
    limits: dict[str, Any] = {"jobs": check_n_jobs(jobs), "memory": memory, "budget": budget}
    with only_writer(folder):
        store, state = run(asked, folder, progress=progress, **limits)
        not_run |= _reasons(state)
        about = provenance(asked.scale.rows, started)
        about |= {"scale": scale, "target": target, "cells_done": state.done, "cells_planned": state.total}
        _write(folder, store, {**about, "not_run": not_run})
    return Reproduced(state, not_run, store.others)


def _reasons(state: State) -> dict[str, str]:
    """What was left out of a run, and why."""
    found = {} if has_lightgbm() else {"LightGBM": "it is not installed: pip install 'kernelsketch[experiments]'"}
    for key, need in state.too_large.items():
        cell = json.loads(key)
        reason = f"{cell['method']} needs {need / 1e9:.1f} GB, more than the memory limit"
        found[f"{cell['dataset']} ({cell['experiment']})"] = reason
    return found


def _write(folder: Path, store: Store, about: dict[str, Any]) -> None:
    """Results, and their provenance. Notes that somebody wrote there stay; so do reasons until there are results."""
    rows, earlier = store.rows(), _earlier(folder)
    write_results(folder, rows)
    have = {row.dataset for row in rows}
    reasons = {name: reason for name, reason in earlier.get("not_run", {}).items() if name not in have}
    about["not_run"] = {**reasons, **about["not_run"]}
    about["seconds"] = round(sum(done.seconds for done in store.done.values()))  # of all cells together
    about["notes"] = earlier.get("notes", [])
    write_atomically(folder / PROVENANCE, (json.dumps(about, indent=2) + "\n").encode())


def _earlier(folder: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((folder / PROVENANCE).read_text()))
    except (OSError, ValueError):
        return {}
