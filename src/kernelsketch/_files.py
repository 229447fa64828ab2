"""Files that are written complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from .exceptions import InputError

if sys.platform != "win32":
    import fcntl

ENDING = ".kernelsketch.partial"
FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))  # a disk, a limit, a quota


def check_other(path: Any, read: Any, what: str) -> None:
    """Refuse to write over a file that is being read as something else."""
    if os.path.exists(path) and os.path.exists(read) and os.path.samefile(path, read):
        raise InputError(f"{path} is {what}: choose another name for the output.")


def write_atomically(path: Path, *parts: Any) -> None:
    """Write bytes beside the path and rename, so that a reader never meets half a file.

    What an earlier process left when it was killed is removed. An error leaves the old file as it was, and says so.
    """
    with atomic_file(path) as file:
        for part in parts:
            file.write(part)


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """A file beside the path that takes its place at the end of the block; nothing of it stays after an error.

    A link stays: the file that it points to is replaced. Errors that name another file are passed on as they are.
    """
    try:
        with _beside(check_target(path)) as file:
            yield file
    except OSError as error:
        if error.filename not in (None, str(path)) and not str(error.filename).endswith(ENDING):
            raise
        advice = " Free some space, or choose another folder." if error.errno in FULL else ""
        what = f"{error.strerror or error}: the file was not written, and what was there before is untouched.{advice}"
        raise OSError(error.errno, what, str(path)) from error


def check_target(path: Path) -> Path:
    """Refuse what cannot be written before work is put into it; the path behind links otherwise."""
    real = Path(os.path.realpath(path))
    if not real.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"There is no folder {path.parent}", str(path))
    if real.is_dir():
        raise IsADirectoryError(errno.EISDIR, "It is a folder, name a file in it", str(path))
    if real.exists() and not real.is_file():
        raise OSError(errno.EINVAL, "It is a device or a pipe, not a file that can be replaced", str(path))
    if not os.access(real.parent, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"There is no permission to write to {real.parent}", str(path))
    return real


@contextmanager
def _beside(path: Path) -> Iterator[IO[bytes]]:
    _sweep(path)
    lock, name = _create(path)
    try:
        with open(name, "w+b") as file:  # by its name, so that the file knows its folder
            yield file
            file.flush()
            os.fsync(file.fileno())
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)  # as a file that is simply opened
        os.replace(name, path)  # while it is locked: nobody takes it for a leftover
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    finally:
        if lock is not None:
            os.close(lock)
    _sync_folder(path.parent)


def _create(path: Path) -> tuple[int | None, str]:
    """A file to write to, and a handle that keeps it locked; on Windows none, since an open file cannot be renamed."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".", suffix=ENDING)
        if sys.platform != "win32":
            with contextlib.suppress(OSError):  # some file systems have no locks
                fcntl.flock(handle, fcntl.LOCK_EX)
            if os.fstat(handle).st_nlink == 0:  # swept away before it was locked
                os.close(handle)
                continue
            return handle, name
        os.close(handle)
        return None, name


def _sweep(path: Path) -> None:
    """Remove what killed writers of this path have left: files like ours that nobody has locked."""
    ours = re.compile(re.escape(path.name) + r"\.[a-z0-9_]{8}" + re.escape(ENDING))
    for name in os.listdir(path.parent):
        if ours.fullmatch(name):
            with contextlib.suppress(OSError):  # of a writer at work
                _remove_unlocked(path.parent / name)


def _remove_unlocked(path: Path) -> None:
    if sys.platform == "win32":
        path.unlink()  # fails as long as it is open
        return
    handle = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Bring the new name to the disk, where folders can be synchronized."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
