"""How results were made, from ``provenance.json`` beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kernelsketch.exceptions import InputError

from ..experiments import PROVENANCE
from ._parts import Column, Table

FIRST = ("machine", "cpu", "cores", "commit", "kernelsketch", "python", "started", "finished", "seconds", "scale")
ELSEWHERE = ("not_run", "notes", "own")  # shown in sections of their own


def read_provenance(folder: Path) -> dict[str, Any]:
    """Return what is recorded about results; empty if there is no record."""
    path = folder / PROVENANCE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}. Run `kernelsketch reproduce` again, or remove it.") from None
    if not isinstance(found, dict):
        raise InputError(f"{path} must hold a JSON object, got {type(found).__name__}: remove it or make it anew.")
    for name, kind in (("not_run", dict), ("notes", list)):
        if not isinstance(found.get(name, kind()), kind):
            raise InputError(f"{path}: '{name}' has the wrong type. Run `kernelsketch reproduce` again, or remove it.")
    return found


def plain(value: Any) -> str:
    """Return a value of any shape in one line."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {plain(v)}" for name, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(plain, value))
    if isinstance(value, float):
        return f"{value:,.6g}"
    return str(value)


def duration(value: Any) -> str:
    """Return seconds as hours and minutes, or as minutes and seconds."""
    try:
        hours, rest = divmod(round(float(value)), 3600)
    except (TypeError, ValueError, OverflowError):
        return plain(value)
    minutes, seconds = divmod(rest, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {seconds:02d} s"


def provenance_table(found: dict[str, Any]) -> Table:
    """Return everything that is recorded, the most important facts first."""
    names = [*(name for name in FIRST if name in found), *(n for n in found if n not in FIRST and n not in ELSEWHERE)]
    lines = [
        {
            "name": "time of all cells" if name == "seconds" else name.replace("_", " "),
            "value": (duration if name == "seconds" else plain)(found[name]),
        }
        for name in names
        if found[name] is not None and found[name] != []
    ]
    columns = (Column("name", "fact"), Column("value", "value"))
    caption = f"From {PROVENANCE}, which was written with the results."
    return Table("provenance", "How the results were made", caption, columns, lines)


def reasons(found: dict[str, Any]) -> dict[str, str]:
    """Return the datasets that were not run, each with the reason."""
    return {str(name): plain(why) for name, why in found.get("not_run", {}).items()}


def remarks(found: dict[str, Any]) -> tuple[str, ...]:
    """Return the notes that were written by hand."""
    return tuple(map(plain, found.get("notes", ())))
