"""Compressed bytes: gzip, bzip2 and xz by Python, Zstandard by an extra. The first bytes decide."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

from ..exceptions import InputError, MissingExtraError

MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\0", ".zst": b"\x28\xb5\x2f\xfd"}
_STEP = 1024  # bytes that a decompressor gets at a time: of Zstandard they become 32 MiB at most
_MOST_XZ = 1 << 27  # bytes that an xz decompressor may allocate; xz -9 needs half of it


def ending_of(start: bytes) -> str:
    """Return the ending that stands for the compression of these first bytes; an empty string if there is none."""
    found = next((ending for ending, magic in MAGIC.items() if start.startswith(magic)), "")
    if found == ".bz2" and start[4:10] not in (b"1AY&SY", b"\x17rE8P\x90"):  # three letters may be a word
        return ""
    return found


def decompressed(file: IO[bytes], ending: str, name: str) -> io.RawIOBase:
    """Return a stream of the decompressed bytes."""
    inner: Any
    if ending == ".gz":
        inner = gzip.GzipFile(fileobj=file, mode="rb")
    elif ending == ".bz2":
        inner = bz2.BZ2File(file, "rb")
    elif ending == ".xz":
        inner = _FrameReader(file, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_XZ), padding=b"\0")
    else:
        inner = _FrameReader(file, _zstd_decompressors())
    return _Decompressed(inner, ending, name)


def compressor(file: IO[bytes], ending: str) -> IO[bytes]:
    """Return a file that compresses what is written to it; closing it leaves the given file open."""
    if ending == ".gz":
        return cast(IO[bytes], gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0))
    if ending == ".bz2":
        return cast(IO[bytes], bz2.BZ2File(file, "wb"))
    if ending == ".xz":
        return cast(IO[bytes], lzma.LZMAFile(file, "wb"))
    library = _zstd()
    if library.__name__ == "zstandard":
        return cast(IO[bytes], library.ZstdCompressor().stream_writer(file, closefd=False))
    return cast(IO[bytes], library.ZstdFile(file, "wb"))


class _Decompressed(io.RawIOBase):
    """Reads decompressed bytes, and turns errors of the libraries into ours."""

    def __init__(self, inner: Any, ending: str, name: str) -> None:
        self._inner, self._ending, self._name = inner, ending, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._inner.read(len(buffer))
        except EOFError:
            raise InputError(
                f"{self._name} ends in the middle of its compressed data: it is truncated. Get it again."
            ) from None
        except Exception as error:
            if not isinstance(error, (OSError, zlib.error, lzma.LZMAError, *_zstd_errors())):
                raise
            raise InputError(
                f"{self._name} cannot be decompressed as {self._ending}: {error}. It is damaged: get it again."
            ) from None
        buffer[: len(data)] = data
        return len(data)


class _FrameReader:
    """Reads frames one after the other, a little at a time, whatever they expand to.

    The libraries' own readers take a truncated file of Zstandard for a short one, and an xz file may declare gigabytes.
    """

    def __init__(self, file: IO[bytes], new: Callable[[], Any], padding: bytes = b"") -> None:
        self._file, self._new, self._padding = file, new, padding
        self._frame: Any = None
        self._ready = memoryview(b"")

    def read(self, size: int) -> bytes:
        while not self._ready:
            data = self._file.read(_STEP)
            if not data:
                if self._frame is not None:
                    raise EOFError
                return b""
            self._ready = memoryview(b"".join(self._decompressed(data)))
        found = bytes(self._ready[:size])
        self._ready = self._ready[size:]
        return found

    def _decompressed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._frame is None:
                data = data.lstrip(self._padding) if self._padding else data
                if not data:
                    return
                self._frame = self._new()
            yield self._frame.decompress(data)
            data = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame = None


def _zstd_decompressors() -> Callable[[], Any]:
    """Return what makes a decompressor of a frame; a file may have millions of small frames."""
    library = _zstd()
    made: Callable[[], Any] = library.ZstdDecompressor
    return made().decompressobj if library.__name__ == "zstandard" else made


def _zstd() -> Any:
    """Return Python's own module if there is one, otherwise the package."""
    for name in ("compression.zstd", "zstandard"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise MissingExtraError("zstd", "zstandard")


def _zstd_errors() -> tuple[type[Exception], ...]:
    try:
        return (_zstd().ZstdError,)
    except MissingExtraError:
        return ()
