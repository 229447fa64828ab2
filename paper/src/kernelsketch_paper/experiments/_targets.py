"""From what a user asks for to experiments and datasets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from kernelsketch.exceptions import InputError, UnavailableError

from .. import data
from .._choices import TARGETS
from . import _protocol as protocol
from ._protocol import Scale
from ._results import published

_TABLES = {"table1": "uci", "table2": "large", "table3": "mnist", "table5": "mnist"}
ALIKE = tuple(f"M-Noise{level}" for level in range(2, 7))  # one dataset in six versions would count six times
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
        raise InputError(f"target={target!r} is unknown: choose one of {', '.join(TARGETS)}.")
    for name in datasets:
        data.entry(name)  # refuses unknown names
    found = _experiments(target)
    if datasets:
        chosen = {e: tuple(n for n in names if n in datasets) for e, names in found.items()}
        found = {e: names for e, names in chosen.items() if names}
        if not found:
            raise InputError(f"{target} has none of {', '.join(datasets)}. {_offer(target, datasets)}")
    return Selection(found, scale, verified)


def _offer(target: str, datasets: Sequence[str]) -> str:
    names = sorted({name for group in _experiments(target).values() for name in group})
    close = [name for asked in datasets for name in get_close_matches(asked, names, 2)]
    return f"It has {', '.join(close or names)}."


def _experiments(target: str) -> dict[str, tuple[str, ...]]:
    tables = {
        table: tuple(row.dataset for row in published().values() if row.table == table) for table in _TABLES.values()
    }
    every = tuple(published())
    if target in _TABLES:
        return {"kernels": tables[_TABLES[target]]}
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
    for name in dict.fromkeys(name for names in selection.experiments.values() for name in names):
        reason = _missing(name, download)
        if reason:
            reasons[name] = reason
    experiments = {e: tuple(n for n in names if n not in reasons) for e, names in selection.experiments.items()}
    return Selection(experiments, selection.scale, selection.verified), reasons


def _missing(name: str, download: bool) -> str:
    """Return why a dataset cannot be run, or nothing. Results store the reason, so it names no local folder."""
    if data.where(name) is not None:
        return ""
    entry = data.entry(name)
    if entry.remote is None:
        return f"it is not on this machine and cannot be downloaded automatically: {entry.page} {entry.by_hand}".strip()
    if not download:
        return "it is not on this machine; --download gets it"
    try:
        data.load(name)
    except UnavailableError as error:
        return str(error)
    return ""
