"""``kernelsketch datasets`` lists the registry, shows which datasets are on this machine, and downloads the others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelsketch.cli.plugins import ProgressMeter, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from ..data import Entry, Missing


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
    download: Annotated[
        bool,
        typer.Option(
            "--download",
            help="Download all datasets that have an address and are not on this machine, or the one of that NAME, "
            "and print the steps for those without an address. An interrupted download is continued.",
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """List the datasets of the paper and some more: sizes, splits, licences, and whether they are on this machine."""
    from rich.console import Console

    from ..data import entry, missing, names

    if download:
        found = missing(names() if name is None else [name], folder=folder)
        with ProgressMeter("downloading", quiet) as meter:
            failed = _downloaded(found, meter, silent=json)
        if json:
            done = [one.name for one in found.to_download if one.name not in failed]
            by_hand = {one.name: f"{one.page}. {one.by_hand}" for one in found.by_hand}
            print_json({"downloaded": done, "failed": failed, "by_hand": by_hand, "folder": _cache()})
        else:
            _print_steps(found)
        if failed or (name is not None and found.by_hand):
            raise typer.Exit(1)
        return
    if json:
        chosen = names() if name is None else [name]
        print_json([_facts(entry(one), folder) for one in chosen])
        return
    Console().print(_all(folder) if name is None else _one(entry(name), folder))


def _facts(found: Entry, folder: Path | None) -> dict[str, Any]:
    """Return what is known about a dataset, for JSON."""
    return {
        "name": found.name,
        "title": found.title,
        "in_paper": found.in_paper,
        "training_rows": found.n_train,
        "test_rows": found.n_test,
        "n_features": found.n_features,
        "n_classes": found.n_classes,
        "licence": found.licence,
        "here": found.is_bundled or _here(found, folder) == "found",
        "bytes": None if found.remote is None else found.remote.size,
    }


def _downloaded(found: Missing, meter: ProgressMeter, *, silent: bool) -> dict[str, str]:
    """Download datasets, with a line for each unless ``silent``. Return the reasons for those that failed."""
    from ..data import download_missing

    count, number = len(found.to_download), 0

    def say(line: str) -> None:
        if not silent:
            print(line, flush=True)

    if not count:
        if not found.by_hand:
            say("There is nothing to download: these datasets are on this machine.")
        return {}
    say(f"{_datasets(count)} to download, about {_bytes(found.size)}. The downloads go to {_cache()}.")

    def show(one: Entry) -> None:
        nonlocal number
        number += 1
        assert one.remote is not None
        say(f"{number}/{count} {one.name}, about {_bytes(one.remote.size)}")
        meter.show((number - 1) / count, f"{one.name}, {number} of {count}")

    try:
        failed = download_missing(found, show)
    except KeyboardInterrupt:
        say("Stopped. What has arrived is kept; the same command continues from there.")
        raise typer.Exit(130) from None
    say(f"{_datasets(count - len(failed))} downloaded, {len(failed)} failed.")
    for name, reason in failed.items():
        say(f"failed: {name}: {reason}")
    return failed


def _print_steps(found: Missing) -> None:
    if not found.by_hand:
        return
    print(
        f"{_datasets(len(found.by_hand))} to be stored by hand, in {_cache()} or a folder that KERNELSKETCH_DATA names:"
    )
    for one in found.by_hand:
        print(f"{one.name}: {one.page}. {one.by_hand} The name of the file is {one.file}.")
        if one.sha256:
            print("  Its checksum will differ from the registry's: --skip-checksum and verify=False accept it.")


def _datasets(count: int) -> str:
    return f"{count} dataset" if count == 1 else f"{count} datasets"


def _bytes(size: int) -> str:
    if size >= 1e9:
        return f"{size / 1e9:.1f} GB"
    return f"{size / 1e6:.0f} MB" if size >= 1e7 else f"{max(size / 1e6, 0.1):.1f} MB"


def _cache() -> Path:
    from ..data import cache_folder

    return cache_folder()


def _all(folder: Path | None) -> Table:
    from rich.table import Table

    from ..data import entry, names

    table = Table("name", "rows", "dims", "classes", "split", "licence", "here", box=None, collapse_padding=True)
    table.title = (
        f"{len(names())} datasets; those with * are not in the paper.\n"
        "here: bundled, found on this machine, to be stored by hand, or the approximate\n"
        "size of what load and --download get"
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
    return _bytes(found.remote.size) if found.remote else "by hand"


def _one(found: Entry, folder: Path | None) -> Table:
    from rich.table import Table
    from rich.text import Text

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
            table.add_row(key, Text(value))
    return table


def _file_facts(found: Entry, folder: Path | None) -> dict[str, str]:
    from ..data import where

    path = where(found.name, folder=folder)
    return {
        "download": "\n".join(found.remote.urls) if found.remote else f"by hand. {found.by_hand}".rstrip(),
        "size": f"about {_bytes(found.remote.size)}" if found.remote else "",
        "format": found.remote.format if found.remote else "",
        "file": found.file,
        "SHA-256": found.sha256 or "unknown; the first download records it",
        "here": str(path) if path else "no",
    }


def _bundled_facts(found: Entry) -> dict[str, str]:
    return {"here": f"bundled: {found.origin}; it needs no file"}
