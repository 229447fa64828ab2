"""What results cover: whether they allow a verdict on the paper, and the banner that says what they lack."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .. import data
from ..experiments import Row, published

SMALL_SCALES = ("quick", "tiny")


@dataclass(frozen=True)
class Scope:
    """The banner of a report in sentences, and whether the results allow a verdict on the paper."""

    banner: tuple[str, ...]
    has_verdict: bool


def scope_of(rows: Iterable[Row], provenance: dict[str, Any]) -> Scope:
    """Return the scope of results. Without provenance, results count as complete."""
    named = list(dict.fromkeys(row.dataset for row in rows))
    other = [name for name in named if name not in published() and _is_stand_in(name)]
    own = [name for name in named if name not in published() and name not in data.names()]
    lines = []
    scale, most = provenance.get("scale"), provenance.get("rows")
    if scale in SMALL_SCALES:
        lines.append(f"The scale is \u201c{scale}\u201d: at most {most} training rows and test rows, and small grids.")
    if provenance.get("datasets"):
        lines.append("Only some datasets were chosen.")
    if other:
        lines.append(f"Bundled datasets stand in for those of the paper: {_listed(other)}.")
    if own:
        lines.append(f"Not in the paper, but your own data: {', '.join(own)}.")
    if provenance.get("verified") is False:
        lines.append("Checksums of the datasets were not compared with those of the registry.")
    has_verdict = not lines
    done, planned = provenance.get("cells_done"), provenance.get("cells_planned")
    if isinstance(done, int) and isinstance(planned, int) and done < planned:
        lines.append(f"{planned - done:,} of {planned:,} planned cells have no result.")
    if not has_verdict:
        lines.append("So this report gives no verdict on the paper.")
    return Scope(tuple(lines), has_verdict)


def origin(name: str) -> str:
    """Return what a dataset is, in words; nothing for a dataset of the paper."""
    if name in published():
        return ""
    return data.entry(name).origin if name in data.names() else "your file"


def stand_ins(names: Iterable[str], table: str) -> list[str]:
    """Return the bundled datasets among some names that stand in for a table of the paper."""
    return [name for name in names if _is_stand_in(name) and data.entry(name).stands_for == table]


def own_data(names: Iterable[str]) -> list[str]:
    """Return the names that are neither in the registry nor in the paper."""
    return [name for name in names if name not in data.names() and name not in published()]


def _is_stand_in(name: str) -> bool:
    return name in data.names() and bool(data.entry(name).stands_for)


def _listed(names: list[str]) -> str:
    """Return names by what they are, such as "Digits, Wine (real, from scikit-learn); G-Text (generated)"."""
    by_origin: dict[str, list[str]] = {}
    for name in names:
        by_origin.setdefault(origin(name), []).append(name)
    return "; ".join(f"{', '.join(own)} ({what})" for what, own in by_origin.items())
