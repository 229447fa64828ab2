"""Turn what a user chooses into experiments and datasets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from kernelsketch.exceptions import InputError, Setting

from .. import data
from .._choices import TARGETS
from . import _protocol as protocol
from ._protocol import Scale
from ._results import published

_TABLES = {"table1": "uci", "table2": "large", "table3": "mnist", "table5": "mnist"}
ALIKE = tuple(f"M-Noise{level}" for level in range(2, 7))  # one dataset in six versions would count six times
FEW = 5  # names that stand for all in a message
COMPARED_TOO = ("USPS", "Pendigits", "DNA", "Phishing", "HiggsSample", "Adult")  # datasets that are not in the paper


@dataclass(frozen=True)
class Selection:
    """Experiments to run, each with its datasets in order."""

    experiments: dict[str, tuple[str, ...]]
    scale: Scale
    verified: bool = True  # whether datasets must have the checksums of the registry


def select(target: str, scale: Scale, datasets: Sequence[str] = (), verified: bool = True) -> Selection:
    """Return the experiments of a target, on all of its datasets or on some of them."""
    if target not in TARGETS:
        raise InputError(Setting("target", target), f" is unknown: choose one of {', '.join(TARGETS)}.")
    for name in datasets:
        data.entry(name)  # refuses unknown names
    found = _experiments(target)
    if datasets:
        free = tuple(name for name in datasets if data.entry(name).is_free)
        chosen = {e: (*(n for n in names if n in datasets), *free) for e, names in found.items()}
        found = {e: names for e, names in chosen.items() if names}
        if not found:
            raise InputError(f"{target} has none of {', '.join(datasets)}. {_offer(target, datasets)}")
    return Selection(found, scale, verified)


def _offer(target: str, datasets: Sequence[str]) -> str:
    names = sorted({name for group in _experiments(target).values() for name in group})
    close = [name for asked in datasets for name in get_close_matches(asked, names, 2)]
    if close:
        return f"It has {', '.join(dict.fromkeys(close))}."
    return f"It has {len(names)} datasets, such as {', '.join(names[:FEW])}."


def _experiments(target: str) -> dict[str, tuple[str, ...]]:
    every = tuple(published())
    if target in _TABLES:
        return {"kernels": _datasets_by_table()[_TABLES[target]]}
    if target == "table4":
        return {"kernels": protocol.DETAILED}
    hashed = (*protocol.DETAILED, *protocol.MORE, *protocol.LARGER)
    figures = {"kernels": every, "hashing": hashed, "time": (protocol.TIMED,)}
    exact = tuple(name for name in every if name not in protocol.LARGER and name not in ALIKE)
    beyond = {"comparison": (*exact, *COMPARED_TOO), "tunable": exact}
    if target == "figures":
        return figures
    return beyond if target == "beyond" else {**figures, **beyond}


def available(selection: Selection, download: bool) -> tuple[Selection, dict[str, str]]:
    """Return what can be run on this machine, and the reasons for the rest. ``download`` gets missing datasets."""
    reasons: dict[str, str] = {}
    every = list(dict.fromkeys(name for names in selection.experiments.values() for name in names))
    failed = data.download_missing(data.missing(every)) if download else None
    for name in every:
        reason = _missing(name, failed)
        if reason:
            reasons[name] = reason
    experiments = {e: tuple(n for n in names if n not in reasons) for e, names in selection.experiments.items()}
    return Selection(experiments, selection.scale, selection.verified), reasons


def with_stand_ins(selection: Selection, target: str) -> Selection:
    """Add bundled datasets to each part of a target for which fewer than four datasets are on this machine.

    Results of a scale with all rows are for a verdict on the paper, so they get none if there is any of its datasets.
    """
    if selection.scale.rows is None and any(selection.experiments.values()):
        return selection
    found = {experiment: list(names) for experiment, names in selection.experiments.items()}
    for experiment, group, stand_ins in _parts(target):
        if sum(name in found[experiment] for name in group) < protocol.FEWEST:
            found[experiment] += [name for name in stand_ins if name not in found[experiment]]
    return Selection({e: tuple(names) for e, names in found.items()}, selection.scale, selection.verified)


def _parts(target: str) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Return the parts of a target that a report shows: experiment, datasets of the paper, and their stand-ins."""
    asked = _experiments(target)
    kernels = [
        ("kernels", names, tuple(name for name in data.names() if data.entry(name).stands_for == table))
        for table, names in _datasets_by_table().items()
        if set(names) <= set(asked.get("kernels", ()))
    ]
    parts = [
        *kernels,
        ("kernels", protocol.DETAILED, protocol.DETAILED_STAND_INS),
        ("hashing", protocol.DETAILED, protocol.DETAILED_STAND_INS),
        ("hashing", protocol.MORE, protocol.MORE_STAND_INS),
        ("hashing", protocol.LARGER, protocol.LARGER_STAND_INS),
        ("comparison", asked.get("comparison", ()), protocol.COMPARED_STAND_INS),
        ("tunable", asked.get("tunable", ()), protocol.COMPARED_STAND_INS),
    ]
    if data.where(protocol.TIMED) is None:
        parts.append(("time", (), protocol.TIMED_STAND_INS))
    return [part for part in parts if part[0] in asked and set(part[1]) <= set(asked[part[0]])]


def _datasets_by_table() -> dict[str, tuple[str, ...]]:
    return {
        table: tuple(row.dataset for row in published().values() if row.table == table)
        for table in dict.fromkeys(_TABLES.values())
    }


def _missing(name: str, failed: dict[str, str] | None) -> str:
    """Return why a dataset cannot be run, or nothing. Results store the reason, so it names no local folder.

    ``failed`` has the reasons of failed downloads, or is None if nothing was to be downloaded.
    """
    if data.is_here(name):
        return ""
    entry = data.entry(name)
    if entry.remote is None:
        return f"it is not on this machine and cannot be downloaded automatically: {entry.page} {entry.by_hand}".strip()
    if failed is None:
        return "it is not on this machine; --download gets it"
    return failed.get(entry.part_of or name, "its download failed")
