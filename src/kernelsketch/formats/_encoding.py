"""Text in other encodings than UTF-8, which readers get as UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import IO

from ..exceptions import InputError, Sentence, Setting

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_STEP = 1 << 16
OTHERS = Sentence(
    " If the file has another encoding, pass ",
    Setting("encoding", "cp1252"),
    " (Western Windows) or ",
    Setting("encoding", "latin-1"),
    ", for example.",
)


def checked_encoding(name: object) -> str | None:
    """Return the name of an encoding of text, or None for UTF-8."""
    if name is None:
        return None
    try:
        found = codecs.lookup(name) if isinstance(name, str) else None
    except (LookupError, ValueError):
        found = None
    if found is None or not found._is_text_encoding:
        raise InputError(
            Setting("encoding"), f" must be the name of an encoding that Python has, such as latin-1, got {name!r}."
        )
    return None if found.name in ("utf-8", "utf-8-sig") else found.name


def check_marks(head: bytes, name: str) -> None:
    """Refuse text that begins with the byte order mark of UTF-16."""
    if head.startswith(_UTF16):
        raise InputError(f"{name} has the encoding UTF-16: pass ", Setting("encoding", "utf-16"), ".")


def not_utf8(error: UnicodeDecodeError, place: str) -> InputError:
    """Return the error about a byte of a line."""
    return InputError(
        f"{place}, byte {error.start + 1}: 0x{error.object[error.start]:02x} is not UTF-8 ({error.reason}).", OTHERS
    )


class Reencoded(io.RawIOBase):
    """Gives text of another encoding as UTF-8."""

    def __init__(self, file: IO[bytes], encoding: str, name: str) -> None:
        self._file, self._encoding, self._name = file, encoding, name
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready, self._line, self._ended = b"", 1, False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        while not self._ready and not self._ended:
            data = self._file.read(_STEP)
            self._ended = not data
            try:
                text = self._decoder.decode(data, final=self._ended)
            except UnicodeDecodeError as error:
                self._refuse(error)
            self._line += text.count("\n")
            self._ready = text.encode("utf-8", "backslashreplace")
        part, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def _refuse(self, error: UnicodeDecodeError) -> None:
        """Raise the error about bytes that the encoding does not have."""
        before = error.object[: error.start].decode(self._encoding, "replace")
        line = self._line + before.count("\n")
        raise InputError(
            f"{self._name}, line {line}: 0x{error.object[error.start]:02x} is not {self._encoding} ({error.reason}). "
            "Pass ",
            Setting("encoding", ...),
            " with the encoding of the file.",
        ) from None
