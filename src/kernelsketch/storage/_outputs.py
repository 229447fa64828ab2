"""The one rule for the files of a command: an output is no input, no other output, and in no folder that is read."""

from __future__ import annotations

import os
import stat
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..exceptions import InputError


class NamedPath(NamedTuple):
    """A path and what the user calls it, such as ``--output``. The string ``"-"`` is standard input or output.

    Outputs may lie in a folder that is read if it has ``own_endings``; its files with these endings may be replaced.
    """

    name: str
    path: str | Path
    own_endings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.path}"


def check_outputs(outputs: Sequence[NamedPath], inputs: Sequence[NamedPath]) -> None:
    """Refuse an output that is an input or another output, or that lies in a folder which is an input.

    Files are compared by what they are: a link, a hard link or another way to write the name makes no difference. Files
    that are not there yet are the same if their folders and their names are. Character devices such as ``/dev/null``
    may be named several times, and so may standard output.
    """
    read = [(given, _identity(given.path, sys.stdin)) for given in inputs]
    written: list[tuple[NamedPath, Any]] = []
    for output in outputs:
        if output.path == "-" and any(other.path == "-" for other, _ in written):
            continue
        identity = _identity(output.path, sys.stdout)
        for other, found in [*read, *written]:
            if identity is not None and identity == found:
                raise InputError(f"{output} and {other} are the same file: choose another name for {output.name}.")
        _check_folders(output, identity, read)
        written.append((output, identity))


def _identity(path: str | Path, stream: Any) -> tuple[Any, ...] | None:
    """Return what two names of the same file have in common; None if a file may be named several times."""
    if path == "-":
        try:
            status = os.fstat(stream.fileno())
        except (AttributeError, OSError, ValueError):  # closed, or no file of the system
            return None
        return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
    real = os.path.realpath(Path(path))  # as a file is written; Path removes a slash at the end
    for name in (real, path):  # /dev/stdout that is a pipe is there, but no path leads to it
        try:
            status = os.stat(name)
        except OSError:
            continue
        return None if stat.S_ISCHR(status.st_mode) else (status.st_dev, status.st_ino)
    folder, name = os.path.split(real)
    if sys.platform in ("darwin", "win32"):  # where names that differ in case or normal form mean one file
        name = unicodedata.normalize("NFC", name).casefold()
    try:
        status = os.stat(folder)
    except OSError:
        return (folder, name)
    return (status.st_dev, status.st_ino, name)


def _check_folders(output: NamedPath, identity: Any, read: Sequence[tuple[NamedPath, Any]]) -> None:
    folders = [(given, found) for given, found in read if given.path != "-" and os.path.isdir(given.path)]
    if not folders or output.path == "-":
        return
    real = Path(os.path.realpath(output.path))
    parents = [_identity(parent, None) for parent in real.parents]
    for given, found in folders:
        is_within = found is not None and found in parents
        if is_within and not given.own_endings:
            raise InputError(f"{output} lies in the folder that is read, {given}: choose another folder.")
        if not real.is_file() or {*real.suffixes[-2:]} & {*given.own_endings}:
            continue
        name = real if is_within else _link_in(given.path, identity)
        if name is not None:
            also = "" if is_within else f", as {name}"
            raise InputError(f"{output} is a file of the folder that is read, {given}{also}: choose another name.")


def _link_in(folder: str | Path, identity: Any) -> str | None:
    """Return the first name in a folder and its subfolders of a file that lies elsewhere; None if it has none there."""
    for inner, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.join(inner, name)
            if _identity(path, None) == identity:
                return path
    return None
