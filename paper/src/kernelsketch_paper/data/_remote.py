"""From the files of a source to one ``.npz`` file in the cache.

The parsed rows are kept as ``NAME.npz``, like any local file. ``NAME.json`` beside it records the addresses, the time,
and the checksums of the downloads and of the ``.npz`` file. Later loads and downloads must have the same checksums.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
import zipfile
import zlib
from collections.abc import Collection
from datetime import UTC, datetime
from itertools import zip_longest
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

from kernelsketch.exceptions import InputError, UnavailableError

from .._library import write_atomically
from ._archive import SourceFile
from ._download import Patience, fetch, file_sha256
from ._entry import Entry, Remote
from ._npz import StoredRows, npz_bytes
from ._parse import parse
from ._progress import progress
from ._splits import RANDOM, split_rows

_UNREADABLE = (
    *(InputError, ValueError, OSError, EOFError, RuntimeError),  # RuntimeError: an archive with a password
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, LZMAError),
)


def record(path: Path) -> dict[str, Any]:
    """Return what is recorded about a file in the cache; empty if there is no record."""
    try:
        found = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def download(entry: Entry, folder: Path, patience: Patience | None = None, keep: Collection[str] = ()) -> Path:
    """Download, parse and check a dataset, store it in a folder, and return its path.

    The downloads are deleted afterwards, except those whose addresses are to be kept for further datasets.
    """
    assert entry.remote is not None
    path = folder / entry.file
    fetched = _fetched(entry.remote, folder / "downloads", record(path).get("downloads", {}), patience)
    try:
        content = npz_bytes(_parsed(entry, entry.remote, [file for file, _ in fetched.values()]))
        about = {
            "name": path.stem,
            "retrieved": datetime.now(UTC).isoformat(timespec="seconds"),
            "downloads": {url: sha256 for url, (_, sha256) in fetched.items()},
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        _store(entry, path, content, about)
    finally:
        for url, (file, _) in fetched.items():
            if urldefrag(url).url not in keep:
                file.path.unlink(missing_ok=True)
    return path


def _store(entry: Entry, path: Path, content: bytes, about: dict[str, Any]) -> None:
    try:
        write_atomically(path, content)
        try:
            write_atomically(path.with_suffix(".json"), json.dumps(about, indent=1).encode())
        except OSError:
            path.unlink()
            raise
    except OSError as error:
        raise UnavailableError(
            f"{entry.name} was downloaded but cannot be stored in {path.parent}: {error.strerror or error}. The file "
            f"takes {len(content) / 1e6:.1f} MB. Free some space, or set XDG_CACHE_HOME to a folder on another disk."
        ) from None


def _fetched(
    remote: Remote, folder: Path, known: dict[str, str], patience: Patience | None
) -> dict[str, tuple[SourceFile, str]]:
    """Return the files of a dataset by address, each with its checksum. Files already there are not fetched again."""
    found: dict[str, tuple[SourceFile, str]] = {}
    for url, registered in zip_longest(remote.urls, remote.sha256, fillvalue=""):
        address, member = urldefrag(url)
        if remote.format == "openml":
            address = _openml_address(address, folder, patience)
        path, expected = folder / _file_name(address), registered or known.get(url)
        sha256 = file_sha256(path) if path.exists() else None
        if sha256 is None or sha256 != (expected or sha256):
            with progress(path.name.split("-", 1)[1]) as on_bytes:
                sha256 = fetch(address, path, expected, on_bytes, patience)
        found[url] = SourceFile(path, unquote(member) or None), sha256
    return found


def _file_name(address: str) -> str:
    """Return a name that is distinct for each address and keeps its ending."""
    name = PurePosixPath(unquote(urlsplit(address).path)).name or "file"
    return f"{hashlib.sha256(address.encode()).hexdigest()[:12]}-{name}"


def _openml_address(description: str, folder: Path, patience: Patience | None) -> str:
    """Return the address of the rows, which OpenML's description of a dataset contains."""
    path = folder / _file_name(description)
    fetch(description, path, None, lambda done, total: None, patience)
    try:
        return str(json.loads(path.read_bytes())["data_set_description"]["url"])
    except (ValueError, KeyError, TypeError):
        raise UnavailableError(
            f"{description} did not answer with OpenML's description of a dataset: try again later."
        ) from None
    finally:
        path.unlink()


def _parsed(entry: Entry, remote: Remote, files: list[SourceFile]) -> StoredRows:
    """Return the rows once they are known to be what the registry says."""
    count = len(remote.train)
    try:
        rows = parse(remote.format, files[:count], files[count:], entry.n_features or 0, dict(remote.options))
        if remote.rows not in (None, rows.X.shape[0]):
            raise InputError(f"there are {rows.X.shape[0]} rows, not {remote.rows}.")
        if entry.n_classes not in (None, len(rows.classes)):
            raise InputError(f"there are {len(rows.classes)} classes, not {entry.n_classes}.")
        if entry.split == RANDOM or rows.is_test is not None:
            split_rows(entry, rows.X.shape[0], rows.is_test, 0)
    except _UNREADABLE as error:
        urls = ", ".join(remote.urls)
        raise InputError(
            f"{entry.name}: the files from {urls} cannot be used: {str(error).rstrip('.')}. Nothing was stored."
        ) from None
    return rows
