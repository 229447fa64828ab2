"""From what a user asks for to experiments and datasets."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from kernelsketch.exceptions import InputError, UnavailableError

from .. import data
from . import _protocol as protocol
from ._plan import Wanted
from ._protocol import Scale
from ._results import published

TARGETS = ("table1", "table2", "table3", "table4", "table5", "figures", "beyond", "all")
_TABLES = {"table1": "uci", "table2": "large", "table3": "mnist", "table5": "mnist"}
ALIKE = tuple(f"M-Noise{level}" for level in range(2, 7))  # one data set in six versions would count six times
COMPARED_TOO = ("USPS", "Pendigits", "DNA", "Phishing", "HiggsSample", "Adult")  # datasets the paper does not have


def wanted(target: str, scale: Scale, datasets: Sequence[str] = (), verified: bool = True) -> Wanted:
    """Experiments of a target, on all of its datasets or on those named."""
    if target not in TARGETS:
        raise InputError(f"there is no target {target!r}: choose one of {', '.join(TARGETS)}.")
    for name in datasets:
        data.entry(name)  # refuses unknown names
    found = _experiments(target)
    if datasets:
        chosen = {e: tuple(n for n in names if n in datasets) for e, names in found.items()}
        found = {e: names for e, names in chosen.items() if names}
        if not found:
            raise InputError(f"{target} has none of {', '.join(datasets)}: {_offer(target, datasets)}")
    return Wanted(found, scale, verified)


def _offer(target: str, datasets: Sequence[str]) -> str:
    names = sorted({name for group in _experiments(target).values() for name in group})
    close = [name for asked in datasets for name in get_close_matches(asked, names, 2)]
    return f"it has {', '.join(close or names)}."


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


def available(asked: Wanted, download: bool) -> tuple[Wanted, dict[str, str]]:
    """What can be run here, and why the rest cannot. ``download`` fetches what is missing."""
    reasons: dict[str, str] = {}
    for name in dict.fromkeys(name for names in asked.experiments.values() for name in names):
        reason = _missing(name, download)
        if reason:
            reasons[name] = reason
    experiments = {e: tuple(n for n in names if n not in reasons) for e, names in asked.experiments.items()}
    return Wanted(experiments, asked.scale, asked.verified), reasons


def _missing(name: str, download: bool) -> str:
    """Why a dataset cannot be run here, or nothing. Without folders of this machine: it is written beside results."""
    if data.where(name) is not None:
        return ""
    entry = data.entry(name)
    if entry.remote is None:
        return f"no file of it here, and it is not downloaded by itself: {entry.page} {entry.by_hand}".strip()
    if not download:
        return "no file of it here; --download fetches it"
    try:
        data.load(name)
    except UnavailableError as error:
        return str(error)
    return ""
