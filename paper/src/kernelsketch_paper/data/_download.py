"""One file from a server, whole or not at all.

A connection that breaks is tried again after a pause that doubles. What has arrived stays beside the path with the
ending ``.partial`` and is continued by an HTTP range, but only if the server says by ETag or date that the file is
still the same. The file takes its name once its length is right, and its checksum where one is known.
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

from ._progress import Report

BLOCK = 1 << 18
PASSING = {408, 425, 429, 500, 502, 503, 504}  # answers that another attempt may change


@dataclass(frozen=True)
class Patience:
    """How long to wait for an answer, how often to try, and the first pause between attempts, in seconds."""

    timeout: float = 60.0
    attempts: int = 5
    pause: float = 1.0


class _BrokenOffError(ConnectionError):
    """Fewer bytes came than were announced."""


class _StorageError(Exception):
    """A file could not be written."""


def fetch(url: str, path: Path, sha256: str | None, report: Report, patience: Patience | None = None) -> str:
    """Download to a path; returns the SHA-256 found."""
    patience = patience or Patience()
    if not url.startswith(("http://", "https://")):
        raise InputError(f"{url} is not an address of the web: http:// or https:// is needed.")
    partial = _Partial(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _attempts(url, partial, report, patience)
        found = _sha256(partial.path)
        if sha256 and found != sha256:
            partial.remove()
            raise InputError(
                f"{url} is not the file that was expected: SHA-256 expected {sha256}, found {found}. Nothing was kept. "
                "Try again; if it stays so, the source has changed: please report it."
            )
        os.replace(partial.path, path)
        partial.remove()
    except (_StorageError, OSError) as error:
        if isinstance(error, UnavailableError):
            raise
        partial.remove()
        raise UnavailableError(f"{url} cannot be stored in {path.parent}: {_reason(error)}. {_ELSEWHERE}") from None
    return found


_ELSEWHERE = "Free some space, or choose another place for the cache by XDG_CACHE_HOME (LOCALAPPDATA on Windows)."
_OFFLINE = (
    "Check the connection and call again: what has arrived is kept and continued. Without a connection, download it "
    "elsewhere, and see 'Datasets' in the documentation for how to store it."
)


class _Partial:
    """What has arrived so far, and the server's mark of which version of the file it is part of."""

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


def _attempts(url: str, partial: _Partial, report: Report, patience: Patience) -> None:
    for attempt in range(patience.attempts):
        if attempt:
            time.sleep(patience.pause * 2 ** (attempt - 1))
        try:
            return _attempt(url, partial, report, patience.timeout)
        except urllib.error.HTTPError as error:
            error.close()
            reason = f"the server answered {error.code} ({error.reason})"
            if error.code == 416:  # what we have reaches beyond the file
                partial.remove()
            elif error.code not in PASSING:
                raise UnavailableError(f"{url} cannot be downloaded: {reason}. {_MOVED}") from None
        except (OSError, http.client.HTTPException) as error:
            reason = _reason(error)
    raise UnavailableError(
        f"{url} cannot be downloaded: {reason}, after {patience.attempts} attempts. {_OFFLINE}"
    ) from None


_MOVED = "The file may have moved: look for it on the dataset's page, and please report it."


def _attempt(url: str, partial: _Partial, report: Report, timeout: float) -> None:
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
            raise _BrokenOffError("the server sent another range than was asked for")
        length = response.headers.get("Content-Length")
        total = start + int(length) if length else None
        with partial.open(_version(response.headers), append=start > 0) as file:
            done = _copy(response, file, start, total, report)
    if total is not None and done != total:
        raise _BrokenOffError(f"the connection broke off after {done} of {total} bytes")
    if partial.path.stat().st_size != done:
        partial.remove()
        raise _BrokenOffError("another process wrote to the same file")


def _copy(response: Any, file: Any, done: int, total: int | None, report: Report) -> int:
    while block := response.read(BLOCK):
        try:
            file.write(block)
            file.flush()
        except OSError as error:
            raise _StorageError(error) from error
        done += len(block)
        report(done, total)
    return done


def _version(headers: Any) -> str | None:
    """A strong ETag or the date of the file: what If-Range accepts."""
    tag: str | None = headers.get("ETag")
    date: str | None = headers.get("Last-Modified")
    return tag if tag and not tag.startswith("W/") else date


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _reason(error: BaseException) -> str:
    if isinstance(error, _StorageError):
        return _reason(error.args[0])
    if isinstance(error, urllib.error.URLError):
        inner = error.reason
        return _reason(inner) if isinstance(inner, BaseException) else str(inner)
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "no space left on the disk"
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
