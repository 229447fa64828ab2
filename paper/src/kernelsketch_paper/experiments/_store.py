"""Finished cells on disk: one line of JSON per cell, appended and synchronized before the next one starts.

A kill can break only the last line. A broken last line is ignored when the file is read, and cut off.
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
except ImportError:  # on Windows, users have to keep runs in different folders
    fcntl = None  # type: ignore[assignment]

CELLS, LOCK = "cells.jsonl", ".lock"


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Lock a folder for one run. The system releases the lock when the process ends, however it ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("w") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(
                    f"Another run writes to {folder}: wait for its end, or choose another folder with --out."
                ) from None
        yield


class FinishedCell(NamedTuple):
    """A finished cell: its key, its rows, and the seconds that it took."""

    key: str
    rows: tuple[Row, ...]
    seconds: float


class Store:
    """The finished cells of one folder. A line counts only if it has the same ``versions`` (protocol, hash, rows)."""

    def __init__(self, folder: Path, versions: dict[str, Any]) -> None:
        self.path = Path(folder) / CELLS
        self.versions = versions
        self.done: dict[str, FinishedCell] = {}
        self.other_versions = 0  # number of lines with other versions
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
                    f"{self.path}, line {number}, is not a finished cell ({error}): delete the line or move the "
                    "file away."
                ) from None
            if versions == self.versions:
                self.done[key] = FinishedCell(key, rows, seconds)
            else:
                self.other_versions += 1
        if len(whole) < len(content):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))

    def add(self, finished: FinishedCell) -> None:
        """Append a cell. It is on disk when this returns, and nothing of it stays if this fails."""
        line = {"key": finished.key, "versions": self.versions, "seconds": round(finished.seconds, 3)}
        line["rows"] = [{k: v for k, v in asdict(row).items() if v is not None} for row in finished.rows]
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
        self.done[finished.key] = finished

    def rows(self) -> list[Row]:
        """Return the rows of all finished cells."""
        return [row for finished in self.done.values() for row in finished.rows]
