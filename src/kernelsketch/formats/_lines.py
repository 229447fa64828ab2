"""The lines of a file: many at a time for native code, or one by one."""

from __future__ import annotations

import re

import numpy as np

from .._array import Array
from ..exceptions import InputError, Setting
from ._source import Source

BOM = b"\xef\xbb\xbf"  # the byte order mark of UTF-8
MOST_LINE = 1 << 30
CR_HINT = r"Its lines seem to end with CR: end them with LF, for example by  tr '\r' '\n' < OLD > NEW"
_LEAST_LIMIT = 1 << 24  # of lines, however small blocks are
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)?")
_BLANK_LINES = re.compile(rb"[\r\n]+")


def longest_line(block_bytes: int) -> int:
    """Return the bytes that a line may have: four times those of a block, since it is read and parsed as a whole."""
    return min(MOST_LINE, max(_LEAST_LIMIT, 4 * block_bytes))


def line_too_long(name: str, limit: int, format: str) -> InputError:
    return InputError(
        f"{name} has a line of more than {limit} bytes: is it {format}? If so, raise ",
        Setting("block_bytes"),
        ".",
    )


class Lines:
    """Lines that end with LF, CR LF or CR; ``count`` of them have been taken."""

    def __init__(self, source: Source, chunk: int, limit: int) -> None:
        self._name, self._file, self._chunk, self._limit = source.name, source.file, chunk, limit
        self._text, self._at = b"", 0  # whole lines, and how far they are taken
        self._rest = bytearray()  # the beginning of the next line
        self._started = False
        self.count = 0

    def _fill(self) -> bool:
        """Read more if no line is waiting; return whether there is one."""
        while self._at == len(self._text):
            data = self._file.read(self._chunk)
            if not self._started:
                data, self._started = data.removeprefix(BOM), True
            # A CR that comes last may be half a line end.
            cut = data.rfind(b"\n") + 1 or data.rfind(b"\r", 0, -1) + 1
            if cut or not data:
                self._text, self._at = b"".join((self._rest, memoryview(data)[:cut])), 0
                self._rest = bytearray(memoryview(data)[cut:])
                if not data:
                    return bool(self._text)
            else:
                self._rest += data
                if len(self._rest) > self._limit:
                    raise line_too_long(self._name, self._limit, "CSV")
        return True

    def next(self) -> str:
        """Take one line with its end; an empty string after the last."""
        if self._at == len(self._text) and not self._fill():
            return ""
        found = _LINE.match(self._text, self._at)
        assert found is not None
        line = found[0].decode()
        self._at = found.end()
        self.count += 1
        return line

    def skip_blank(self) -> bool:
        """Take the blank lines that come next; return whether there is a line after them."""
        while self._fill():
            found = _BLANK_LINES.match(self._text, self._at)
            if found is None:
                return True
            self.count += found[0].count(b"\n") + found[0].count(b"\r") - found[0].count(b"\r\n")
            self._at = found.end()
        return False

    def waiting(self) -> Array:
        """Return the bytes (uint8) of waiting lines that end with LF; a last line without an end is not among them."""
        there = self._fill() and self._text.endswith(b"\n")
        return np.frombuffer(self._text, np.uint8)[self._at if there else len(self._text) :]

    def take(self, lines: int, size: int) -> None:
        """Take some of the waiting lines."""
        self.count += lines
        self._at += size
