"""``kernelsketch datasets``: what is in the registry, and what of it is on this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ..data import Entry, entry, names, where


def datasets(
    name: Annotated[str | None, typer.Argument(help="One dataset, in full. Without it: all of them.")] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--data-dir", metavar="FOLDER", help="Folder to look in first, before KERNELSKETCH_DATA and the cache."
        ),
    ] = None,
) -> None:
    """List the datasets of the paper and some more: sizes, split, licence, and whether they are on this machine."""
    console = Console()
    console.print(_everything(folder) if name is None else _one(entry(name), folder))


def _everything(folder: Path | None) -> Table:
    table = Table("name", "rows", "dims", "classes", "split", "licence", "here", box=None, collapse_padding=True)
    table.title = f"{len(names())} datasets; * is not in the paper. here: found, fetched by load, or by hand"
    table.title_justify = "left"
    for column in table.columns[:4]:
        column.no_wrap = True
    for column in table.columns[1:4]:
        column.justify = "right"
    for name in names():
        found = entry(name)
        table.add_row(
            name + ("" if found.in_paper else " *"),
            "in halves" if found.n_train is None else f"{found.n_train}+{found.n_test}",
            _number(found.n_features),
            _number(found.n_classes),
            "made anew" if found.recipe else found.split.split()[0],
            re.split(" by |[,;(]", found.licence)[0].strip(),
            _here(found, folder),
        )
    return table


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)


def _here(found: Entry, folder: Path | None) -> str:
    if where(found.name, folder=folder):
        return "found"
    return "fetched" if found.remote else "by hand"


def _one(found: Entry, folder: Path | None) -> Table:
    path = where(found.name, folder=folder)
    drawn = f", drawn from {found.part_of}" if found.part_of else ""
    facts = {
        "title": found.title,
        "in the paper": "yes" if found.in_paper else "no",
        "training rows": _number(found.n_train) if found.n_train else "half",
        "test rows": _number(found.n_test) if found.n_test else "half",
        "features": _number(found.n_features),
        "classes": _number(found.n_classes),
        "split": f"{'made anew' if found.recipe else found.split}{drawn}",
        "preprocessing": found.preprocessing,
        "source": found.source,
        "page": found.page,
        "download": "\n".join(found.remote.urls) if found.remote else f"by hand. {found.by_hand}".rstrip(),
        "file": found.file,
        "SHA-256": found.sha256 or "unknown: recorded at the first download",
        "here": str(path) if path else "no",
        "licence": found.licence,
        "citation": found.citation,
        "note": found.note,
    }
    table = Table("", found.name, show_header=True)
    table.columns[1].overflow = "fold"
    for key, value in facts.items():
        if value:
            table.add_row(key, value)
    return table
