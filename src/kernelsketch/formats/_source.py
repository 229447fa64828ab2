"""Sources of bytes: a path, standard input or an open stream, compressed or not."""

from __future__ import annotations

import io
import os
import stat
import sys
from pathlib import Path
from typing import IO, Any

from ..exceptions import InputError, InputTypeError, Setting
from ._compressed import MAGIC, decompressed, ending_of
from ._encoding import Reencoded

_HEAD = 1 << 16  # bytes by which a format is recognized


class Source:
    """An open file or stream.

    ``file`` gives its decompressed bytes; ``head`` holds the first of them, which ``file`` gives again. ``path`` is the
    path of a plain, uncompressed file, in which libraries may seek; None otherwise. ``size`` is that of a regular file.
    Text of another ``encoding`` is given as UTF-8.
    """

    file: Any
    head: bytes

    def __init__(self, given: Any, encoding: str | None = None) -> None:
        self._close = False
        self.name, raw = self._opened(given)
        self._raw = raw
        self.size = _size_of(raw)
        self.bytes_read = 0
        self.path: Path | None = None
        self.compressed = False
        try:
            self._begin(given)
            if encoding is not None:  # the format may then be recognized by the text
                text: Any = Reencoded(self.file, encoding, self.name)
                self.file, self.head = _with_head(text)
                self.path = None
        except BaseException:
            self.close()
            raise

    def _begin(self, given: Any) -> None:
        """Read the first bytes, and decompress if they are those of compressed data."""
        plain, start = _with_head(_Checked(self._raw, self))
        ending = ending_of(start)
        named, suffix = endings(self.name)
        if named and not ending and start and self._close:  # a GzipFile has the name of its file
            raise InputError(f"{self.name} ends with {named} but its bytes are not compressed that way: rename it.")
        self.suffix = suffix
        self.compressed = bool(ending)
        if not ending and self._close and self.size is not None:
            self.path = Path(given)
        if ending:
            self.file, self.head = _with_head(decompressed(plain, ending, self.name))
        else:
            self.file, self.head = plain, start

    def _opened(self, given: Any) -> tuple[str, IO[bytes]]:
        if isinstance(given, str) and given == "-":
            if sys.stdin is None:
                raise InputError("standard input is closed: name a file.")
            return "standard input", sys.stdin.buffer
        if isinstance(given, (str, os.PathLike)):
            try:
                file = open(given, "rb", buffering=0)  # noqa: SIM115  closed by close()
            except OSError as error:
                raise InputError(f"{os.fspath(given)} cannot be read: {error.strerror or error}.") from None
            self._close = True
            return str(os.fspath(given)), file
        if not hasattr(given, "read"):
            raise InputTypeError(
                Setting("source"),
                f" must be a path, '-' for standard input or a binary stream, got {type(given).__name__}.",
            )
        if isinstance(given, io.TextIOBase):
            raise InputTypeError(Setting("source"), " is a stream of text: open it in binary mode, 'rb'.")
        name = getattr(given, "name", None)
        return name if isinstance(name, str) else "the stream", given

    def check_size(self) -> None:
        """Refuse a file whose length has changed since it was opened."""
        if self.size is not None:
            self.check_length(os.fstat(self._raw.fileno()).st_size)

    def check_length(self, length: int) -> None:
        if self.size is not None and length != self.size:
            raise InputError(
                f"{self.name} changed while it was read: it had {self.size} bytes, now {length}. Read it when no "
                "other program writes to it, or read a copy."
            )

    def seekable(self, format: str) -> Any:
        """Return the path or a seekable stream, for libraries that seek in a file."""
        if self.path is not None:
            return self.path
        if not self.compressed and hasattr(self._raw, "seekable") and self._raw.seekable():
            self._raw.seek(0)
            return self._raw
        what = "compressed" if self.compressed else "a stream without random access"
        raise InputError(
            f"{self.name} is {what}, but {format} needs a plain file: store the bytes in a file and pass its path."
        )

    def close(self) -> None:
        if self._close:
            self._raw.close()


def endings(name: str) -> tuple[str, str]:
    """Return the endings for compression and format of a name, in lower case; empty strings where there are none."""
    path = Path(name.lower())
    if path.suffix in MAGIC:
        return path.suffix, Path(path.stem).suffix
    return "", path.suffix


class _Checked(io.RawIOBase):
    """Counts bytes, and refuses a file that has grown or shrunk."""

    def __init__(self, raw: Any, source: Source) -> None:
        self._raw, self._source = raw, source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            count = self._read(buffer)
        except OSError as error:  # an OSError would be taken for an error of the output
            raise InputError(f"{self._source.name} cannot be read: {error.strerror or error}.") from error
        self._source.bytes_read += count
        done, size = self._source.bytes_read, self._source.size
        if size is not None and (done > size or not count):
            self._source.check_length(max(done, os.fstat(self._raw.fileno()).st_size) if count else done)
        return count

    def _read(self, buffer: Any) -> int:
        if isinstance(self._raw, io.FileIO):
            return self._raw.readinto(buffer) or 0
        if isinstance(self._raw, io.BufferedIOBase):
            return self._raw.readinto1(buffer)  # what is available: Python handles signals between two such calls
        data = self._raw.read(len(buffer))
        if not isinstance(data, bytes):
            raise InputTypeError(f"source gives {type(data).__name__}, not bytes: open it in binary mode, 'rb'.")
        buffer[: len(data)] = data
        return len(data)


class _Headed(io.RawIOBase):
    """Gives the bytes that were read before, then the rest."""

    def __init__(self, head: bytes, rest: io.RawIOBase) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._head:
            return self._rest.readinto(buffer) or 0
        data, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def _with_head(raw: io.RawIOBase) -> tuple[io.BufferedReader, bytes]:
    head = b""
    while len(head) < _HEAD and (data := raw.read(_HEAD - len(head))):
        head += data
    return io.BufferedReader(_Headed(head, raw), 1 << 16), head


def _size_of(stream: Any) -> int | None:
    """Return the size of a regular file that is read from its start, otherwise None. (A GzipFile has other bytes.)"""
    raw = stream.raw if isinstance(stream, io.BufferedReader) else stream
    if not isinstance(raw, io.FileIO):
        return None
    status = os.fstat(raw.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) and stream.tell() == 0 else None
