"""Download one file completely or not at all.

A broken connection is tried again after a pause that doubles. The bytes that have arrived stay beside the path with
the ending ``.partial``. The next attempt, or the next run, continues them with an HTTP range request, but only if the
server confirms by ETag or date that the file is still the same. The file takes its name once its length is right, and
its checksum where one is known.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelsketch.exceptions import InputError, UnavailableError

from ._progress import OnBytes

BLOCK = 1 << 18
TRANSIENT = {408, 425, 429, 500, 502, 503, 504}  # answers after which another attempt may succeed


@dataclass(frozen=True)
class Patience:
    """Seconds to wait for an answer, number of attempts, and seconds of the first pause between them."""

    timeout: float = 60.0
    attempts: int = 5
    pause: float = 1.0


class UnreachableError(UnavailableError):
    """No connection to the server could be made."""


class _BrokenOffError(ConnectionError):
    """Fewer bytes came than the server announced."""


class _StorageError(Exception):
    """A file could not be written."""


def fetch(url: str, path: Path, sha256: str | None, on_bytes: OnBytes, patience: Patience | None = None) -> str:
    """Download a file to a path and return its SHA-256."""
    patience = patience or Patience()
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url} is not a web address: it must start with http:// or https://.")
    partial = _Partial(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _attempts(url, partial, on_bytes, patience)
        found = file_sha256(partial.path)
        if sha256 and found != sha256:
            partial.remove()
            raise InputError(
                f"{url} is not the expected file: SHA-256 expected {sha256}, found {found}. Nothing was kept. "
                "Try again. If the error stays, the source has changed its file: please report it."
            )
        os.replace(partial.path, path)
        partial.remove()
    except (_StorageError, OSError) as error:
        if isinstance(error, UnavailableError):
            raise
        partial.remove()
        raise UnavailableError(f"{url} cannot be stored in {path.parent}: {_reason(error)}. {_NO_SPACE}") from None
    return found


_NO_SPACE = "Free some space, or set XDG_CACHE_HOME to a folder on another disk."
_OFFLINE = (
    "Check the connection and call again: the bytes that have arrived are kept and continued. Without a connection, "
    "download the file on another machine; the page 'Datasets of the paper' of the documentation says how to store it."
)


class _Partial:
    """The bytes that have arrived so far, and the server's mark of the version that they belong to."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(path.name + ".partial")
        self._mark = path.with_name(path.name + ".partial.version")

    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() and self._mark.exists() else 0

    def version(self) -> str:
        return self._mark.read_text(encoding="latin-1")

    def open(self, version: str | None, append: bool) -> Any:
        try:
            if version:
                self._mark.write_text(version, encoding="latin-1")
            else:
                self._mark.unlink(missing_ok=True)
            return self.path.open("ab" if append else "wb")
        except OSError as error:
            raise _StorageError(error) from error

    def remove(self) -> None:
        for path in (self.path, self._mark):
            with contextlib.suppress(OSError):
                path.unlink()


def _attempts(url: str, partial: _Partial, on_bytes: OnBytes, patience: Patience) -> None:
    for attempt in range(patience.attempts):
        if attempt:
            time.sleep(patience.pause * 2 ** (attempt - 1))
        try:
            return _attempt(url, partial, on_bytes, patience.timeout)
        except urllib.error.HTTPError as error:
            error.close()
            kind = UnavailableError
            reason = f"the server answered {error.code} ({error.reason})"
            if error.code == 416:  # the partial file is longer than the file
                partial.remove()
            elif error.code not in TRANSIENT:
                raise UnavailableError(f"{url} cannot be downloaded: {reason}. {_MOVED}") from None
        except (OSError, http.client.HTTPException) as error:
            kind = UnreachableError if isinstance(error, urllib.error.URLError) else UnavailableError
            reason = _reason(error)
    raise kind(f"{url} cannot be downloaded: {reason}, after {patience.attempts} attempts. {_OFFLINE}") from None


_MOVED = "The file may have moved: search for it on the dataset's page, and please report it."


def _attempt(url: str, partial: _Partial, on_bytes: OnBytes, timeout: float) -> None:
    start = partial.size()
    headers = {"User-Agent": "kernelsketch", "Accept-Encoding": "identity"}
    if start:
        headers |= {"Range": f"bytes={start}-", "If-Range": partial.version()}
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=timeout) as response:
        if response.status != 206:
            start = 0
        elif not (response.headers.get("Content-Range") or "").startswith(f"bytes {start}-"):
            partial.remove()
            raise _BrokenOffError("the server sent another range than the one requested")
        length = response.headers.get("Content-Length")
        total = start + int(length) if length else None
        with partial.open(_version(response.headers), append=start > 0) as file:
            done = _copy(response, file, start, total, on_bytes)
    if total is not None and done != total:
        raise _BrokenOffError(f"the connection broke off after {done} of {total} bytes")
    if partial.path.stat().st_size != done:
        partial.remove()
        raise _BrokenOffError("another process wrote to the same file")


def _copy(response: Any, file: Any, done: int, total: int | None, on_bytes: OnBytes) -> int:
    while block := response.read(BLOCK):
        try:
            file.write(block)
            file.flush()
        except OSError as error:
            raise _StorageError(error) from error
        done += len(block)
        on_bytes(done, total)
    return done


def _version(headers: Any) -> str | None:
    """Return a strong ETag or the date of the file, which are what If-Range accepts."""
    tag: str | None = headers.get("ETag")
    date: str | None = headers.get("Last-Modified")
    return tag if tag and not tag.startswith("W/") else date


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _reason(error: BaseException) -> str:
    if isinstance(error, _StorageError):
        return _reason(error.args[0])
    if isinstance(error, urllib.error.URLError):
        inner = error.reason
        return _reason(inner) if isinstance(inner, BaseException) else str(inner)
    if isinstance(error, TimeoutError):
        return "the server did not answer in time"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "no space is left on the disk"
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
