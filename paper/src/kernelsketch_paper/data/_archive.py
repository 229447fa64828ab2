"""Open a downloaded file, or one inside it, as a stream of bytes that is bounded.

The ending of a name says how a file is packed: ``.gz``, ``.bz2``, ``.xz`` and ``.Z`` hold one file, ``.zip`` and
``.tar`` hold several, and may hold further archives. Nothing is unpacked to disk, so that the names in an archive
cannot lead out of a folder. Nothing unpacks to more than ``RATIO`` times its download, so that a small file cannot
fill the memory.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, cast

from kernelsketch.exceptions import InputError

from ._lzw import unlzw

RATIO = 50  # the text files of the registry unpack to at most 20 times their size
SLACK = 1 << 20
_UNPACKED: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
_ARCHIVES = (".zip", ".tar")


@dataclass(frozen=True)
class SourceFile:
    """A downloaded file, or the file inside a downloaded archive whose path ends with ``member``."""

    path: Path
    member: str | None = None

    @property
    def name(self) -> str:
        return self.member or self.path.name

    @property
    def most(self) -> int:
        """Largest number of bytes that may be unpacked from the file."""
        return RATIO * self.path.stat().st_size + SLACK


@contextmanager
def opened(file: SourceFile) -> Iterator[IO[bytes]]:
    """Open a file, or the one file of that name inside an archive, and unpack it on the fly."""
    with ExitStack() as stack:
        raw: IO[bytes] = stack.enter_context(file.path.open("rb"))
        if file.member:
            found = _matching(raw, file, f"(?:^|/){re.escape(file.member)}$", stack)
            if len(found) != 1:
                count = f"{len(found)} files" if found else "no file"
                raise InputError(f"{file.path.name} has {count} {file.member}: the source has changed its archive.")
            raw = stack.enter_context(found[0][1].open(file.most))
        yield _bounded(raw, file.name, file.most)


def members(file: SourceFile, pattern: str) -> Iterator[tuple[re.Match[str], IO[bytes]]]:
    """Open the files inside an archive whose paths match a pattern, one after another, in the order of the matches.

    Two files with the same match are refused, and so are files that are too large together.
    """
    with ExitStack() as stack:
        found = _matching(stack.enter_context(file.path.open("rb")), file, pattern, stack)
        found.sort(key=lambda pair: pair[0].group())
        for (first, _), (second, _) in pairwise(found):
            if first.group() == second.group():
                raise InputError(f"{file.path.name} has two files {first.group()}: the source has changed its archive.")
        _check_size(sum(one.size for _, one in found), file.path.name, file.most)
        for match, one in found:
            with one.open(file.most) as content:
                yield match, _bounded(content, one.name, file.most)


@dataclass(frozen=True)
class _Member:
    name: str
    size: int  # as the archive declares it; a stream never gives more
    opener: Callable[[], IO[bytes]]

    def open(self, most: int) -> IO[bytes]:
        _check_size(self.size, self.name, most)
        return self.opener()


def _listed(raw: IO[bytes], name: str, stack: ExitStack) -> list[_Member]:
    """Return the files of an archive."""
    if name.endswith(".tar"):
        tar = stack.enter_context(tarfile.TarFile(fileobj=raw))
        return [
            _Member(info.name, info.size, lambda info=info: cast(IO[bytes], tar.extractfile(info)))  # type: ignore[misc]
            for info in tar
            if info.isreg()
        ]
    archive = stack.enter_context(zipfile.ZipFile(raw))
    return [
        _Member(info.filename, info.file_size, lambda info=info: archive.open(info))  # type: ignore[misc]
        for info in archive.infolist()
        if not info.is_dir()
    ]


def _matching(raw: IO[bytes], file: SourceFile, pattern: str, stack: ExitStack) -> list[tuple[re.Match[str], _Member]]:
    """Return the files of an archive whose paths match a pattern, or if it has none, those of the archives in it."""

    def matching(listed: list[_Member]) -> list[tuple[re.Match[str], _Member]]:
        return [(match, one) for one in listed if (match := re.search(pattern, one.name))]

    listed = _listed(raw, file.path.name, stack)
    found = matching(listed)
    if not found:
        for inner in (one for one in listed if one.name.endswith(_ARCHIVES)):
            found += matching(_listed(stack.enter_context(inner.open(file.most)), inner.name, stack))
    return found


def _bounded(raw: IO[bytes], name: str, most: int) -> IO[bytes]:
    suffix = Path(name).suffix
    if suffix == ".Z":
        return io.BytesIO(unlzw(raw.read(), most, name))
    return io.BufferedReader(_Bounded(_UNPACKED.get(suffix, lambda file: file)(raw), name, most))


class _Bounded(io.RawIOBase):
    """A stream that refuses to give more than a number of bytes."""

    def __init__(self, source: IO[bytes], name: str, most: int) -> None:
        self._source, self._name, self._most, self._given = source, name, most, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._source.read(len(buffer))
        self._given += len(block)
        _check_size(self._given, self._name, self._most)
        buffer[: len(block)] = block
        return len(block)


def _check_size(size: int, name: str, most: int) -> None:
    if size > most:
        raise InputError(
            f"{name} unpacks to more than {most} bytes, {RATIO} times its download: the source has not published this."
        )
