"""Run the experiments of a target and write a folder of results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kernelsketch.exceptions import InputError, Setting, UnavailableError

from .. import data
from .._checks import check_n_jobs
from .._library import write_atomically
from . import _protocol as protocol
from ._results import PROVENANCE, write_results
from ._run import OnState, State, provenance, run
from ._store import Store, only_writer
from ._targets import Selection, available, select, with_stand_ins

OWN = "datasets"  # folder of the user's own datasets within the results


@dataclass(frozen=True)
class Reproduced:
    """The end of a run: its state, and the datasets that were not run, each with the reason."""

    state: State
    not_run: dict[str, str]
    absent: tuple[str, ...]  # those of them that are not on this machine
    stand_ins: tuple[str, ...]  # bundled datasets that were run in their place
    other_versions: int  # number of stored cells of other versions or scales, which were not used


def reproduce(
    target: str,
    out: Any,
    *,
    scale: str = "standard",
    datasets: Sequence[str] = (),
    label: str | int | None = None,
    jobs: int | None = -1,
    memory: int | None = None,
    budget: float | None = None,
    download: bool = False,
    verify: bool = True,
    progress: OnState | None = None,
) -> Reproduced:
    """Run experiments of the paper, and write ``results.csv`` and ``provenance.json``.

    Finished cells are kept in ``cells.jsonl`` in the same folder. A run that was stopped or killed continues from them.

    Parameters
    ----------
    target : str
        ``"table1"`` to ``"table5"``, ``"figures"``, ``"beyond"`` (comparisons that the paper does not have) or
        ``"all"``.
    out : path
        Folder of the results. It is created if it does not exist.
    scale : str, default="standard"
        ``"full"`` (the grids of the paper: days), ``"standard"`` (hours), ``"quick"`` (minutes), ``"tiny"`` (tests).
    datasets : sequence of str, default=()
        Names of the datasets to run, or files of your own with features that are numbers. By default all datasets of
        the target are run that are on this machine. Bundled datasets stand in for tables and figures of which fewer
        than four are, at the scales "quick" and "tiny", and at all scales where none is.
    label : str or int, default=None
        Name or number of the column of labels in your own files.
    jobs : int, default=-1
        Number of processes, each with one thread; -1 starts one per processor.
    memory : int, default=None
        Bytes that all running cells may use together. None means 80 % of the free memory.
    budget : float, default=None
        Seconds after which no further cell starts.
    download : bool, default=False
        Whether to download datasets that are not on this machine.
    verify : bool, default=True
        Whether datasets must have the checksums of the registry. Cells of other files are kept apart.
    progress : callable, default=None
        Function that is called with the ``State`` about every second.

    Returns
    -------
    reproduced : Reproduced
        State of the run, and what was not run.
    """
    if scale not in protocol.SCALES:
        raise InputError(Setting("scale", scale), f" is unknown: choose one of {', '.join(protocol.SCALES)}.")
    folder, started = Path(out), datetime.now(UTC)
    datasets = _with_own(datasets, label, folder)
    selection, not_run = available(select(target, protocol.SCALES[scale], datasets, verify), download)
    absent, before = tuple(not_run), _names(selection)
    if not datasets:
        selection = with_stand_ins(selection, target)
    stand_ins = tuple(name for name in _names(selection) if name not in before)
    if not any(selection.experiments.values()):
        raise UnavailableError(
            f"None of the datasets {', '.join(datasets)} is on this machine. Name a folder that holds them in "
            "KERNELSKETCH_DATA, or download them with --download. `kernelsketch datasets NAME` shows the source of one."
        )
    limits: dict[str, Any] = {"jobs": check_n_jobs(jobs), "memory": memory, "budget": budget}
    with only_writer(folder):
        store, state = run(selection, folder, progress=progress, **limits)
        not_run |= _reasons(state)
        about = provenance(selection.scale.rows, started)
        about |= {"scale": scale, "target": target, "cells_done": state.done, "cells_planned": state.total}
        about |= {"datasets": list(datasets), "verified": verify, "own": _digests(datasets)}
        _write(folder, store, {**about, "not_run": not_run})
    return Reproduced(state, not_run, absent, stand_ins, store.other_versions)


def _with_own(datasets: Sequence[str], label: str | int | None, folder: Path) -> list[str]:
    """Import the user's own files; return the names of all datasets."""
    if label is not None and not any(map(data.is_own, datasets)):
        raise InputError(
            Setting("label", label), " is for files of your own: name one among the datasets, or leave it out."
        )
    found = [data.import_file(name, label, folder / OWN) if data.is_own(name) else name for name in datasets]
    earlier = _earlier(folder).get("own", {})
    for name, digest in _digests(found).items():
        if earlier.get(name, digest) != digest:
            raise InputError(
                f"{name} or the choice of its label has changed since the results in {folder} were made: choose "
                "another folder with --out."
            )
    return found


def _digests(datasets: Sequence[str]) -> dict[str, str]:
    return {name: entry.note for name, (entry, _) in data.own_datasets().items() if name in datasets}


def _names(selection: Selection) -> list[str]:
    return list(dict.fromkeys(name for names in selection.experiments.values() for name in names))


def _reasons(state: State) -> dict[str, str]:
    """Return the datasets whose file is broken, and the cells that are too large, with the reason."""
    found = dict(state.broken)
    for key, need in state.too_large.items():
        cell = json.loads(key)
        reason = f"{cell['method']} needs {need / 1e9:.1f} GB, more than the memory limit"
        found[f"{cell['dataset']} ({cell['experiment']})"] = reason
    return found


def _write(folder: Path, store: Store, about: dict[str, Any]) -> None:
    """Write results and their provenance. Notes written by hand stay, and so do reasons until there are results."""
    rows, earlier = store.rows(), _earlier(folder)
    write_results(folder, rows)
    have = {row.dataset for row in rows}
    reasons = {name: reason for name, reason in earlier.get("not_run", {}).items() if name not in have}
    about["not_run"] = {**reasons, **about["not_run"]}
    if not earlier.get("datasets", about["datasets"]):
        about["datasets"] = []  # an earlier run in this folder had all datasets of its target
    about["seconds"] = round(sum(done.seconds for done in store.done.values()))  # sum over all cells
    about["notes"] = earlier.get("notes", [])
    about["own"] = {**earlier.get("own", {}), **about["own"]}
    write_atomically(folder / PROVENANCE, (json.dumps(about, indent=2) + "\n").encode())


def _earlier(folder: Path) -> dict[str, Any]:
    try:
        return dict(json.loads((folder / PROVENANCE).read_text()))
    except (OSError, ValueError):
        return {}
