"""Atomic writes: a file appears complete under its name, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
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
OPEN_FILES = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")  # names of what a process has opened
PIECE_BYTES = 1 << 24  # that are written, read or summed at a time
LARGE_BYTES = 1 << 26  # of a file that takes long to reach the disk
DISK_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))  # a disk, a file size limit, a quota


def write_atomically(path: Path, *parts: Any, like: Path | None = None) -> None:
    """Write bytes to a temporary file beside the path and rename it, so that no reader ever sees half a file.

    Temporary files of writers that were killed earlier are removed. After an error the old file is unchanged, and the
    message says so. ``like`` is as in :func:`atomic_file`.
    """
    with atomic_file(path, like=like) as file:
        for part in parts:
            for piece in pieces(part):
                file.write(piece)


def pieces(data: Any) -> Iterator[memoryview]:
    """Yield bytes in pieces, so that Ctrl-C takes effect between them."""
    view = memoryview(data)
    for start in range(0, len(view), PIECE_BYTES):
        yield view[start : start + PIECE_BYTES]


@contextmanager
def atomic_file(path: Path, *, like: Path | None = None) -> Iterator[IO[bytes]]:
    """Open a temporary file beside the path; it takes the path's place when the block ends without an error.

    A symbolic link stays, and the file that it points to is replaced. A character device such as /dev/null gets the
    whole content at the end. Errors that name another file pass unchanged.

    A file that is replaced keeps its permissions. A new file gets those of the file ``like``, if there is such a file,
    and otherwise those that ``open()`` gives.
    """
    try:
        real = check_target(path)
        with _copied_to_device(real) if is_device(real) else _temporary_beside(real, like) as file:
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
    if real.is_symlink():
        raise OSError(errno.ELOOP, "It is a link that leads back to itself", str(path))
    if not real.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"There is no folder {path.parent}", str(path))
    if real.is_dir():
        raise IsADirectoryError(errno.EISDIR, "It is a folder, name a file in it", str(path))
    if is_device(real):
        return real
    if str(path).startswith(OPEN_FILES) or (real.exists() and not real.is_file()):
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
    except (AttributeError, OSError, ValueError):  # Windows, and file systems without this limit
        return 255


def is_device(path: Path) -> bool:
    """Return whether a path is a character device, such as /dev/null or a terminal."""
    try:
        return stat.S_ISCHR(path.stat().st_mode)
    except OSError:
        return False


@contextmanager
def _copied_to_device(path: Path) -> Iterator[IO[bytes]]:
    with tempfile.NamedTemporaryFile(suffix=PARTIAL_SUFFIX) as file:  # whose name contains its folder
        yield file
        file.seek(0)
        with path.open("wb") as device:
            shutil.copyfileobj(file, device)


@contextmanager
def locked(path: Path, message: str) -> Iterator[None]:
    """Keep a file locked, which is made if it is not there. If another process has locked it, raise this message."""
    with open(path, "ab") as file:
        if sys.platform != "win32":  # which has no such locks
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(message) from None
        yield


@contextmanager
def _temporary_beside(path: Path, like: Path | None) -> Iterator[IO[bytes]]:
    _remove_leftovers(path)
    model = _status(path) or (None if like is None else _status(like))
    lock, name = _create_locked(path, 0o666 if model is None else 0o600)
    try:
        # The name is passed, so that file.name gives its folder.
        with open(name, "w+b", opener=None if lock is None else lambda *_: os.dup(lock)) as file:
            yield file
            file.flush()
            model = _status(path) or model  # another writer may have made the file meanwhile
            if model is not None and sys.platform != "win32":
                _copy_permissions(file.fileno(), model)
            _sync(file)
        os.replace(name, path)  # while the lock is held, so that no other writer takes the file for a leftover
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    finally:
        if lock is not None:
            os.close(lock)
    _sync_folder(path.parent)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _copy_permissions(handle: int, model: os.stat_result) -> None:
    """Give a file the permissions of another one, and its owner and group where the system allows that.

    Where the group cannot be kept, the new group gets what all others have: it must not read what it could not read.
    """
    made = os.fstat(handle)
    if (made.st_uid, made.st_gid) != (model.st_uid, model.st_gid):
        for owner in (model.st_uid, -1):
            with contextlib.suppress(OSError):
                os.fchown(handle, owner, model.st_gid)
                break
        made = os.fstat(handle)
    mode = model.st_mode & 0o777
    if made.st_gid != model.st_gid:
        mode = mode & 0o707 | (mode & 0o007) << 3
    if made.st_mode & 0o777 != mode:
        os.fchmod(handle, mode)


def _sync(file: IO[bytes]) -> None:
    """Wait until a file is on the disk, for which a large one takes seconds."""
    large = os.fstat(file.fileno()).st_size > LARGE_BYTES
    interruptible(os.fsync, file.fileno()) if large else os.fsync(file.fileno())


def _create_locked(path: Path, mode: int) -> tuple[int | None, str]:
    """Create the temporary file; return a handle that keeps it locked, and its name.

    The system applies the umask to the mode: to read it, a process has to change it, for all of its threads. On Windows
    the handle is None, since an open file cannot be renamed there.
    """
    while True:
        name = str(path.with_name(f"{path.name}.{secrets.token_hex(4)}{PARTIAL_SUFFIX}"))
        try:
            handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)  # O_EXCL follows no link
        except FileExistsError:
            continue
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
    handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
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
