"""Finished cells on disk: one line of JSON each, appended and flushed before the next begins.

A kill can only break the last line. It is left out when the file is read, and cut off before more is appended.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from kernelsketch.exceptions import InputError

from ._results import Row

try:
    import fcntl
except ImportError:  # Windows: runs must be kept apart by hand
    fcntl = None  # type: ignore[assignment]

CELLS, LOCK = "cells.jsonl", ".lock"


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold a folder for oneself; the system lets go of it when the process ends, however it does."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("w") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(f"another run writes to {folder}: wait for it, or choose another folder.") from None
        yield


class Done(NamedTuple):
    """A finished cell: its key, rows, and how long it took."""

    key: str
    rows: tuple[Row, ...]
    seconds: float


class Store:
    """Cells of one folder. ``versions`` (of protocol, hash and so on) must be those of a line for it to count."""

    def __init__(self, folder: Path, versions: dict[str, Any]) -> None:
        self.path = Path(folder) / CELLS
        self.versions = versions
        self.done: dict[str, Done] = {}
        self.others = 0  # lines of other versions
        self._read()

    def _read(self) -> None:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return
        whole = content[: content.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                found = json.loads(line)
                rows = tuple(Row(**row) for row in found["rows"])
                key, versions, seconds = str(found["key"]), found["versions"], float(found["seconds"])
            except (ValueError, TypeError, KeyError) as error:
                raise InputError(
                    f"{self.path}, line {number}, is not a cell ({error}): delete the line or move the file away."
                ) from None
            if versions == self.versions:
                self.done[key] = Done(key, rows, seconds)
            else:
                self.others += 1
        if len(whole) < len(content):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))

    def add(self, done: Done) -> None:
        """Append a cell, on disk when this returns; nothing of it stays if that fails."""
        line = {"key": done.key, "versions": self.versions, "seconds": round(done.seconds, 3)}
        line["rows"] = [{k: v for k, v in asdict(row).items() if v is not None} for row in done.rows]
        content = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            try:
                written = file.write(content)
                if written != len(content):
                    raise OSError(f"only {written} of {len(content)} bytes of a cell could be written to {self.path}")
                os.fsync(file.fileno())
            except BaseException:
                file.truncate(size)
                raise
        self.done[done.key] = done

    def rows(self) -> list[Row]:
        return [row for done in self.done.values() for row in done.rows]
