"""Compressed bytes: gzip, bzip2 and xz by Python, Zstandard by an extra. The first bytes tell which it is."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import zlib
from typing import IO, Any, cast

from ..exceptions import InputError, MissingExtraError

MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\0", ".zst": b"\x28\xb5\x2f\xfd"}
_ZSTD_STEP = 4096  # bytes fed at a time: they become 128 MiB at most


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
        inner = lzma.LZMAFile(file, "rb")  # noqa: SIM115  reads until its user has enough
    else:
        inner = _ZstdReader(file)
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


class _ZstdReader:
    """Reads frames one after the other. (The library's own reader takes a truncated file for a short one.)"""

    def __init__(self, file: IO[bytes]) -> None:
        self._library, self._file = _zstd(), file
        self._frame: Any = None
        self._ready = b""

    def read(self, size: int) -> bytes:
        while not self._ready:
            data = self._file.read(_ZSTD_STEP)
            if not data:
                if self._frame is not None:
                    raise EOFError
                return b""
            while data:
                if self._frame is None:
                    self._frame = self._new()
                self._ready += self._frame.decompress(data)
                data = self._frame.unused_data if self._frame.eof else b""
                if self._frame.eof:
                    self._frame = None
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def _new(self) -> Any:
        if self._library.__name__ == "zstandard":
            return self._library.ZstdDecompressor().decompressobj()
        return self._library.ZstdDecompressor()


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
