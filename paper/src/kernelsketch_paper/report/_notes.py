"""Explanations of differences, and contradictions within the paper, from ``notes.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files

from kernelsketch.exceptions import InputError

from ._parts import Column, Table

NAME = "notes.toml"


@dataclass(frozen=True)
class Notes:
    """Notes on datasets, reasons for differences by "dataset, kernel", and (dataset, text) of contradictions."""

    datasets: dict[str, str]
    differences: dict[str, str]
    paper: list[tuple[str, str]]


def read_notes(text: str | None = None) -> Notes:
    """Read the notes of the package, or those of a text."""
    content = files(__package__).joinpath(NAME).read_text(encoding="utf-8") if text is None else text
    try:
        found = tomllib.loads(content)
        datasets, differences = (
            {str(name): str(note) for name, note in found.get(key, {}).items()} for key in ("datasets", "differences")
        )
        paper = [(str(entry["dataset"]), str(entry["text"])) for entry in found.get("paper", [])]
    except (tomllib.TOMLDecodeError, AttributeError, KeyError, TypeError) as error:
        raise InputError(
            f"{NAME} is not a list of notes: {error}. The comment at its head says what it holds."
        ) from None
    return Notes(datasets, differences, paper)


def inconsistencies(notes: Notes) -> Table:
    """Return where the paper contradicts itself or its data."""
    columns = (Column("dataset", "dataset"), Column("text", "contradiction"))
    lines = [{"dataset": dataset, "text": text} for dataset, text in notes.paper]
    caption = "These were found while the numbers were compared."
    return Table("inconsistencies", "Contradictions", caption, columns, lines)
