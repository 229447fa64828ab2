"""How results were made: ``provenance.json`` beside them, shown whatever it has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kernelsketch.exceptions import InputError

from ..experiments._results import PROVENANCE
from ._parts import Column, Table

ORDER = (
    "protocol",
    "machine",
    "cpu",
    "python",
    "versions",
    "commit",
    "hash_version",
    "seeds",
    "started",
    "finished",
    "seconds",
)
ELSEWHERE = ("not_run", "notes")  # shown in sections of their own


def read_provenance(folder: Path) -> dict[str, Any]:
    """What is known; nothing where there is no file."""
    path = folder / PROVENANCE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}. Run `kernelsketch reproduce` again, or remove it.") from None
    if not isinstance(found, dict):
        raise InputError(f"{path} must hold an object, got {type(found).__name__}: remove it or make it anew.")
    return found


def plain(value: Any) -> str:
    """A value of any shape in one line."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {plain(v)}" for name, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(plain, value))
    if isinstance(value, float):
        return f"{value:,.6g}"
    return str(value)


def duration(value: Any) -> str:
    try:
        hours, rest = divmod(round(float(value)), 3600)
    except (TypeError, ValueError, OverflowError):
        return plain(value)
    minutes, seconds = divmod(rest, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {seconds:02d} s"


def provenance_table(found: dict[str, Any]) -> Table:
    names = [*(name for name in ORDER if name in found), *(n for n in found if n not in ORDER and n not in ELSEWHERE)]
    lines = [
        {
            "name": "time" if name == "seconds" else name.replace("_", " "),
            "value": (duration if name == "seconds" else plain)(found[name]),
        }
        for name in names
    ]
    columns = (Column("name", "what"), Column("value", "value"))
    caption = f"From {PROVENANCE}, which was written with the results."
    return Table("provenance", "How the results were made", caption, columns, lines)


def reasons(found: dict[str, Any]) -> dict[str, str]:
    """Datasets that were not run, and why."""
    given = found.get("not_run") or {}
    if isinstance(given, dict):
        return {str(name): plain(why) for name, why in given.items()}
    names = given if isinstance(given, list) else [given]
    return {plain(name): "no reason given" for name in names}


def remarks(found: dict[str, Any]) -> tuple[str, ...]:
    given = found.get("notes") or ()
    if isinstance(given, dict):
        return tuple(f"{name}: {plain(text)}" for name, text in given.items())
    return tuple(map(plain, given)) if isinstance(given, list) else (plain(given),)
