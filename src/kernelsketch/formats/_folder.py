"""Folders of texts or of parts of a table: which of their files are read, and what shows that these have changed."""

from __future__ import annotations

import glob
import hashlib
import os
import stat
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..storage import COLLECTION, LOCK, PARTIAL_SUFFIX
from ._source import endings

PART_ENDINGS = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow", ".feather")  # of documents


def text_files(folder: str, outputs: Iterable[str] = ()) -> list[str]:
    """Return the files of a folder and its subfolders that are documents, by their path from the folder, in order.

    Names that begin with a dot are left out, and so is what commands of kernelsketch write there: ``outputs``, by the
    identity of the files or by folder and name, files that are not complete yet, work folders, and
    collections of documents. Links to files are followed, links to folders are not.
    """
    outputs = list(outputs)
    written = {_identity(found) for path in outputs if (found := _status(path)) is not None}
    places = {os.path.realpath(path) for path in outputs}  # another command may put a new file there at any time
    last_names = {os.path.basename(path) for path in places}
    names: list[str] = []
    folders = [""]
    while folders:
        inner = folders.pop()
        try:
            with os.scandir(os.path.join(folder, inner)) as scanned:
                entries = list(scanned)
        except OSError as error:
            raise InputError(
                f"{os.path.join(folder, inner)} cannot be read: {error.strerror or error}. Allow it, or name the "
                "folders and files to read."
            ) from None
        if any(entry.name in (LOCK, COLLECTION) for entry in entries):
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.name.endswith(PARTIAL_SUFFIX):
                continue
            name = os.path.join(inner, entry.name)
            if entry.is_dir(follow_symlinks=False):
                folders.append(name)
            elif entry.name in last_names and os.path.realpath(entry.path) in places:
                continue
            elif entry.is_file() and not (written and _identity(os.stat(entry.path)) in written):
                names.append(name)
    names.sort(key=lambda name: name.split(os.sep))
    return names


def is_pattern(path: str) -> bool:
    """Return whether a name is a pattern of a shell such as ``part-*.csv``, and not that of a file."""
    return glob.has_magic(path) and not os.path.lexists(path)


def files_like(pattern: str) -> list[str]:
    """Return the files and folders that a pattern matches, in order; ``**`` matches folders within folders.

    Names that begin with a dot or an underscore are left out, as in folders of parts.
    """
    found = sorted(glob.glob(pattern, recursive=True), key=lambda name: name.split(os.sep))
    kept = [path for path in found if not _is_mark(os.path.basename(path))]
    if not kept:
        raise InputError(f"{pattern} matches no file: check the name and the folder.")
    return kept


def row_files(inputs: Sequence[str]) -> list[str]:
    """Return the files that names of files, folders and patterns stand for, for :func:`.open_rows`.

    Files stay in their order; the parts in a folder, and what a pattern matches, come in the order of their names. What
    Spark and others write beside the parts is left out: names that begin with a dot or an underscore, such as
    ``_SUCCESS``, checksums (``.crc``), and files of no bytes. Folders of partitions, such as ``year=2024``, are
    refused.

    Parameters
    ----------
    inputs : sequence of str
        Names of files and folders, and patterns such as ``"part-*.csv"``; or ``"-"`` alone.

    Returns
    -------
    list of str
    """
    if list(inputs) == ["-"]:
        return ["-"]
    if "-" in inputs:
        raise InputError(
            "standard input is read alone, but there are several inputs: join them, for example with cat, or store "
            "standard input in a file."
        )
    found: list[str] = []
    for given in inputs:
        for path in files_like(given) if is_pattern(given) else [given]:
            if os.path.isdir(path):
                found += _parts_of(path)
            elif given == path or os.path.getsize(path):
                found.append(path)
    if not found:
        raise InputError(f"{', '.join(inputs)}: all files are empty. Check the names.")
    return found


def document_files(inputs: Sequence[str], outputs: Iterable[str] = ()) -> list[str]:
    """Return the files and folders of documents that names of files, folders and patterns stand for.

    A folder whose files are all tables or lines of documents, as Spark and pandas write them, stands for these parts;
    any other folder is one of text files, each of them a document.
    """
    found: list[str] = []
    for given in inputs:
        for path in files_like(given) if is_pattern(given) else [given]:
            names = text_files(path, outputs) if os.path.isdir(path) else []
            parts = [name for name in names if not any(map(_is_mark, name.split(os.sep)))]
            is_of_parts = parts and all(endings(name)[1] in PART_ENDINGS for name in parts)
            found += [os.path.join(path, name) for name in parts] if is_of_parts else [path]
    return found


def _parts_of(folder: str) -> list[str]:
    """Return the parts of a table in a folder. Folders of partitions, such as ``year=2024``, are refused."""
    names = [name for name in text_files(folder) if not any(map(_is_mark, name.split(os.sep)))]
    for name in names:
        partition = next((part for part in name.split(os.sep)[:-1] if "=" in part), None)
        if partition is not None:
            column = partition.partition("=")[0]
            raise InputError(
                f"{folder} has folders of partitions such as {partition}, whose column {column!r} is in no file. To "
                "read the table with the column, write it without partitions, for example with "
                f"pandas.read_parquet({folder!r}).to_parquet('rows.parquet'); to read it without, pass "
                f"'{os.path.join(folder, f'{column}=*')}'."
            )
    paths = [os.path.join(folder, name) for name in names]
    if not names:
        raise InputError(f"{folder} has no files of rows: check the name.")
    return [path for path in paths if os.path.getsize(path)]


def _is_mark(name: str) -> bool:
    """Return whether a name is that of a file beside the parts of a table, which has no rows."""
    return name.startswith((".", "_")) or name.endswith(".crc")


class InputFiles:
    """The files and folders that a command reads several times, as they were when it began.

    ``outputs`` are files that are written meanwhile; where they lie in a folder that is read, they are no documents.
    """

    def __init__(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self._outputs = outputs
        self._found = {path: self._look_at(path) for path in inputs}

    def _look_at(self, path: str) -> tuple[list[str] | None, Any]:
        """Return the names of the files of a folder, None for a file; and what changes with their content."""
        names = text_files(path, self._outputs) if os.path.isdir(path) else None
        states = [_state(os.path.join(path, name) if name else path) for name in (names if names is not None else [""])]
        return names, np.array(states, np.int64).reshape(-1, 3)

    def files_of(self, path: str) -> list[str] | None:
        """Return the documents of a folder that is an input; None for a file."""
        return self._found[path][0]

    def signature(self) -> list[tuple[str, str]]:
        """Return the absolute path of each input, and a digest that changes when one of its files does."""
        found = []
        for path, (names, states) in self._found.items():
            digest = hashlib.sha256(states.tobytes())
            for name in names or ():
                digest.update(os.fsencode(name) + b"\0")
            found.append((os.path.abspath(path), digest.hexdigest()))
        return found

    def check(self) -> None:
        """Refuse files that have changed since the command began, or that have come or gone."""
        for path, (names, states) in self._found.items():
            now, states_now = self._look_at(path)
            if now == names and np.array_equal(states, states_now):
                continue
            changed = path
            if names is not None and now is not None:
                before = dict(zip(names, states.tolist(), strict=True))
                after = dict(zip(now, states_now.tolist(), strict=True))
                changed = os.path.join(path, min(n for n in {*names, *now} if before.get(n) != after.get(n)))
            raise InputError(
                f"{changed} changed while it was read. Run the command again when no other program writes to it."
            )


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _state(path: str) -> tuple[int, int, int]:
    """Return what changes when a file is edited or replaced: its size, its time and its number in the file system."""
    found = _status(path)
    if found is None:
        return -1, -1, -1
    size = found.st_size if stat.S_ISREG(found.st_mode) else -1
    return size, found.st_mtime_ns, found.st_ino & (2**63 - 1)
