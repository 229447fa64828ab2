"""``kernelsketch datasets`` lists the registry and shows which datasets are on this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from ..data import Entry


def datasets(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Name of one dataset to describe in full. Without it, all datasets are listed."
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--data-dir",
            metavar="FOLDER",
            help="Folder to search before the folder in KERNELSKETCH_DATA and the cache.",
        ),
    ] = None,
) -> None:
    """List the datasets of the paper and some more: sizes, splits, licences, and whether they are on this machine."""
    from rich.console import Console

    from ..data import entry

    Console().print(_all(folder) if name is None else _one(entry(name), folder))


def _all(folder: Path | None) -> Table:
    from rich.table import Table

    from ..data import entry, names

    table = Table("name", "rows", "dims", "classes", "split", "licence", "here", box=None, collapse_padding=True)
    table.title = (
        f"{len(names())} datasets; those with * are not in the paper.\n"
        "here: bundled, found on this machine, fetched by load, or to be stored by hand"
    )
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
            "generated" if found.recipe else found.split.split()[0],
            re.split(" by |[,;(]", found.licence)[0].strip(),
            _here(found, folder),
        )
    return table


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)


def _here(found: Entry, folder: Path | None) -> str:
    from ..data import where

    if found.is_bundled:
        return "bundled"
    if where(found.name, folder=folder):
        return "found"
    return "fetched" if found.remote else "by hand"


def _one(found: Entry, folder: Path | None) -> Table:
    from rich.table import Table

    drawn = f", drawn from {found.part_of}" if found.part_of else ""
    facts = {
        "title": found.title,
        "in the paper": "yes" if found.in_paper else "no",
        "training rows": _number(found.n_train) if found.n_train else "half",
        "test rows": _number(found.n_test) if found.n_test else "half",
        "features": _number(found.n_features),
        "classes": _number(found.n_classes),
        "split": f"{'generated' if found.recipe else found.split}{drawn}",
        "preprocessing": found.preprocessing,
        "source": found.source,
        "page": found.page,
        **(_bundled_facts(found) if found.is_bundled else _file_facts(found, folder)),
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


def _file_facts(found: Entry, folder: Path | None) -> dict[str, str]:
    from ..data import where

    path = where(found.name, folder=folder)
    return {
        "download": "\n".join(found.remote.urls) if found.remote else f"by hand. {found.by_hand}".rstrip(),
        "file": found.file,
        "SHA-256": found.sha256 or "unknown; the first download records it",
        "here": str(path) if path else "no",
    }


def _bundled_facts(found: Entry) -> dict[str, str]:
    return {"here": f"bundled: {found.origin}; it needs no file"}
