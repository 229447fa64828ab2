"""Atomic writes: a file appears complete under its name, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from .._interruptible import interruptible
from ..exceptions import InputError

if sys.platform != "win32":
    import fcntl

PARTIAL_SUFFIX = ".kernelsketch.partial"
PIECE_BYTES = 1 << 24  # that are written, read or summed at a time
LARGE_BYTES = 1 << 26  # of a file that takes long to reach the disk
DISK_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))  # a disk, a file size limit, a quota


def check_other(path: Any, read: Any, what: str) -> None:
    """Refuse an output path that names the file which is being read; ``what`` says in the error what that file is."""
    if os.path.exists(path) and os.path.exists(read) and os.path.samefile(path, read):
        raise InputError(f"{path} is {what}: choose another name for the output.")


def write_atomically(path: Path, *parts: Any) -> None:
    """Write bytes to a temporary file beside the path and rename it, so that no reader ever sees half a file.

    Temporary files of writers that were killed earlier are removed. After an error the old file is unchanged, and the
    message says so.
    """
    with atomic_file(path) as file:
        for part in parts:
            for piece in pieces(part):
                file.write(piece)


def pieces(data: Any) -> Iterator[memoryview]:
    """Yield bytes in pieces, between which Python looks at signals: Ctrl-C does not wait for gigabytes."""
    view = memoryview(data)
    for start in range(0, len(view), PIECE_BYTES):
        yield view[start : start + PIECE_BYTES]


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside the path; it takes the path's place when the block ends without an error.

    A symbolic link stays, and the file that it points to is replaced. A character device such as /dev/null gets the
    whole content at the end. Errors that name another file pass unchanged.
    """
    try:
        real = check_target(path)
        with _copied_to_device(real) if _is_device(real) else _temporary_beside(real) as file:
            yield file
    except OSError as error:
        if error.filename not in (None, str(path)) and not str(error.filename).endswith(PARTIAL_SUFFIX):
            raise
        advice = " Free some space, or choose another folder." if error.errno in DISK_FULL else ""
        what = f"{error.strerror or error}: the file was not written, and what was there before is untouched.{advice}"
        raise OSError(error.errno, what, str(path)) from error


def check_target(path: Path) -> Path:
    """Refuse a path that cannot be written before any work is done for it; return the path behind symbolic links."""
    real = Path(os.path.realpath(path))
    if not real.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"There is no folder {path.parent}", str(path))
    if real.is_dir():
        raise IsADirectoryError(errno.EISDIR, "It is a folder, name a file in it", str(path))
    if _is_device(real):
        return real
    if real.exists() and not real.is_file():
        raise OSError(errno.EINVAL, "It is a device or a pipe, not a file that can be replaced", str(path))
    if not os.access(real.parent, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"There is no permission to write to {real.parent}", str(path))
    most = _longest_name(real.parent) - len(PARTIAL_SUFFIX) - 9  # for a dot and eight random characters
    if len(os.fsencode(real.name)) > most:
        raise OSError(errno.ENAMETOOLONG, f"The name has more than {most} bytes, choose a shorter one", str(path))
    return real


def _longest_name(folder: Path) -> int:
    try:
        return os.pathconf(folder, "PC_NAME_MAX")
    except (AttributeError, OSError, ValueError):  # Windows, and file systems that do not say it
        return 255


def _is_device(path: Path) -> bool:
    """Return whether a path is a character device, such as /dev/null."""
    try:
        return stat.S_ISCHR(path.stat().st_mode)
    except OSError:
        return False


@contextmanager
def _copied_to_device(path: Path) -> Iterator[IO[bytes]]:
    with tempfile.NamedTemporaryFile(suffix=PARTIAL_SUFFIX) as file:  # whose name tells its folder
        yield file
        file.seek(0)
        with path.open("wb") as device:
            shutil.copyfileobj(file, device)


@contextmanager
def locked(path: Path, message: str) -> Iterator[None]:
    """Keep a file locked, which is made if it is not there. If another process has locked it, raise this message."""
    file = lock_file(path, message)
    try:
        yield
    finally:
        file.close()


def lock_file(path: Path, message: str) -> IO[bytes]:
    """Open and lock a file until it is closed. Windows has no such locks."""
    file = open(path, "ab")  # noqa: SIM115
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise InputError(message) from None
    return file


@contextmanager
def _temporary_beside(path: Path) -> Iterator[IO[bytes]]:
    _remove_leftovers(path)
    lock, name = _create_locked(path)
    try:
        with open(name, "w+b") as file:  # opened by name, so that file.name tells its folder
            yield file
            file.flush()
            _sync(file)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)  # the permissions that a plain open() gives
        os.replace(name, path)  # while the lock is held, so that no other writer takes the file for a leftover
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    finally:
        if lock is not None:
            os.close(lock)
    _sync_folder(path.parent)


def _sync(file: IO[bytes]) -> None:
    """Wait until a file is on the disk, for which a large one takes seconds."""
    large = os.fstat(file.fileno()).st_size > LARGE_BYTES
    interruptible(os.fsync, file.fileno()) if large else os.fsync(file.fileno())


def _create_locked(path: Path) -> tuple[int | None, str]:
    """Create the temporary file; return a handle that keeps it locked, and its name.

    On Windows the handle is None, since an open file cannot be renamed there.
    """
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".", suffix=PARTIAL_SUFFIX)
        if sys.platform != "win32":
            with contextlib.suppress(OSError):  # some file systems have no locks
                fcntl.flock(handle, fcntl.LOCK_EX)
            if os.fstat(handle).st_nlink == 0:  # another writer removed it before it was locked
                os.close(handle)
                continue
            return handle, name
        os.close(handle)
        return None, name


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files of this path that no living writer has locked."""
    ours = re.compile(re.escape(path.name) + r"\.[a-z0-9_]{8}" + re.escape(PARTIAL_SUFFIX))
    for name in os.listdir(path.parent):
        if ours.fullmatch(name):
            with contextlib.suppress(OSError):  # its writer is still at work
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
    """Write the folder's entry to the disk, where the system can synchronize folders."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
