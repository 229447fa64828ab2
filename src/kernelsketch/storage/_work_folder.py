"""WorkFolder: a private folder for the files of one command. What an interrupted command leaves there, the next uses.

A work folder is one that this class has made and marked with its lock file. A folder that is there already is used only
if it has the lock file and nothing but files of ours; any other folder is refused and left as it is. Files are opened
relative to the folder and without following links, so that no file outside of it can be written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
from pathlib import Path
from typing import IO

from ..exceptions import InputError

if sys.platform != "win32":
    import fcntl

LOCK = "kernelsketch.lock"
COLLECTION = "collection.safetensors"  # the list of a folder that is a collection of documents
_NEW = ".new"  # ending of a file that is about to take the place of another
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_HAS_HANDLES = sys.platform != "win32"  # of folders, relative to which files are opened


class WorkFolder:
    """A folder that one command at a time works in. It is made, for this user only, if it is not there.

    ``names`` is a regular expression of the names that its files may have.
    """

    def __init__(self, path: Path, names: str) -> None:
        self.path, self._ours = path, re.compile(f"(?:{names})(?:{re.escape(_NEW)})?|{re.escape(LOCK)}")
        self._folder: int | None = None
        self._lock: int | None = None
        try:
            while not self._take():  # another command has removed the folder between two steps
                self.close()
        except BaseException:
            self.close()
            raise

    def _take(self) -> bool:
        """Make or open the folder and lock it; return False if it went away meanwhile."""
        try:
            os.mkdir(self.path, 0o700)
            is_new = True
        except FileExistsError:
            is_new = False
        try:
            status = os.lstat(self.path)
            if not stat.S_ISDIR(status.st_mode):
                raise self._refusal("a symbolic link" if stat.S_ISLNK(status.st_mode) else "not a folder")
            if _HAS_HANDLES:
                self._folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
                status = os.fstat(self._folder)
            names = self._list()
            if not names and (is_new or _is_private(status)):  # a killed command may have made no more than the folder
                self._lock = self._handle(LOCK, new=True)
            elif LOCK not in names:
                held = f"holds {sorted(names)[0]!r} but no {LOCK}" if names else f"has no {LOCK}"
                raise self._refusal(f"a folder that kernelsketch did not make (it {held})")
            else:
                self._lock = self._handle(LOCK, new=False)
        except FileNotFoundError:
            return False
        except FileExistsError:  # another command has made the lock file at the same time
            return False
        except PermissionError as error:
            raise self._refusal(f"not accessible ({error.strerror})") from None
        if not self._is_locked():
            return False
        for name in sorted(self._list()):
            if not self._ours.fullmatch(name):
                raise self._refusal(f"a folder that kernelsketch did not make alone (it holds {name!r})")
            if not _is_ours(os.stat(self._at(name), dir_fd=self._folder, follow_symlinks=False)):
                raise self._refusal(f"changed by others (in it, {name!r} is not a plain file of this user)")
        return True

    def _is_locked(self) -> bool:
        """Lock the folder; return False if the lock file has been removed meanwhile, with the folder."""
        assert self._lock is not None
        if sys.platform == "win32":
            return True
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):  # others: some file systems have no locks
                raise InputError(
                    f"{self.path} is in use by another command: wait until it ends, or choose another output."
                ) from None
        return os.fstat(self._lock).st_nlink > 0

    def _refusal(self, what: str) -> InputError:
        return InputError(
            f"{self.path} is {what}, and a folder of this name is needed while the command works: nothing in it was "
            "touched. Rename or remove it, or choose another output."
        )

    def _list(self) -> set[str]:
        return set(os.listdir(self.path if self._folder is None else self._folder))

    def _at(self, name: str) -> str:
        return str(self.path / name) if self._folder is None else name

    def _handle(self, name: str, *, new: bool) -> int:
        flags = os.O_RDWR | _FLAGS | (os.O_CREAT | os.O_EXCL if new else 0)
        try:
            handle = os.open(self._at(name), flags, 0o600, dir_fd=self._folder)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise self._refusal(f"changed by others (in it, {name!r} is a symbolic link)") from None
        if not new and not _is_ours(os.fstat(handle)):
            os.close(handle)
            raise self._refusal(f"changed by others (in it, {name!r} is not a plain file of this user)")
        return handle

    def create(self, name: str) -> IO[bytes]:
        """Make a file, in the place of an older one, and open it for reading and writing."""
        self.remove(name)
        return open(self._handle(name, new=True), "r+b")

    def open(self, name: str) -> IO[bytes]:
        """Open a file that is there for reading and writing."""
        return open(self._handle(name, new=False), "r+b")

    def write(self, name: str, content: bytes) -> None:
        """Write a whole file, which takes the place of an older one when it is complete."""
        with self.create(name + _NEW) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(self._at(name + _NEW), self._at(name), src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._at(name), dir_fd=self._folder)

    def clear(self, *, keep: tuple[str, ...] = ()) -> None:
        """Remove all files of ours but these, and never a file of others."""
        for name in self._list() - {LOCK, *keep}:
            if self._ours.fullmatch(name):
                self.remove(name)

    def delete(self) -> None:
        """Remove our files and the folder. Files of others, which have come meanwhile, keep the folder."""
        with contextlib.suppress(OSError):
            self.clear()
            if _HAS_HANDLES:  # while the folder is locked
                self._remove_folder()
        self.close()
        if not _HAS_HANDLES:
            with contextlib.suppress(OSError):
                self._remove_folder()

    def _remove_folder(self) -> None:
        self.remove(LOCK)  # last, since a folder without it is not ours
        if self._folder is None or os.path.samestat(os.fstat(self._folder), os.lstat(self.path)):
            os.rmdir(self.path)

    def close(self) -> None:
        """Release the folder; what is in it stays."""
        for handle in (self._lock, self._folder):
            if handle is not None:
                os.close(handle)
        self._lock = self._folder = None


def _is_private(status: os.stat_result) -> bool:
    """Return whether a folder is as we make it: of this user, and for nobody else."""
    return _is_of_user(status) and stat.S_IMODE(status.st_mode) == 0o700


def _is_ours(status: os.stat_result) -> bool:
    """Return whether a file is a plain one of this user, and has no other name."""
    return stat.S_ISREG(status.st_mode) and status.st_nlink <= 1 and _is_of_user(status)


def _is_of_user(status: os.stat_result) -> bool:
    return sys.platform == "win32" or status.st_uid == os.geteuid()
