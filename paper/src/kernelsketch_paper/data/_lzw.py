"""Unpack files of the Unix program ``compress`` (``.Z``), for which Python has no module.

The format is LZW with codes of 9 to at most 16 bits, lowest bit first. Codes are written in groups of eight: where the
width changes, or the table is cleared, the rest of the group is padding.
"""

from __future__ import annotations

from kernelsketch.exceptions import InputError

_MAGIC = b"\x1f\x9d"
_CLEAR = 256


def unlzw(content: bytes, most: int, name: str) -> bytes:
    """Return the unpacked content of a ``.Z`` file; more than ``most`` bytes are refused."""
    if len(content) < 3 or content[:2] != _MAGIC or not 9 <= content[2] & 31 <= 16:
        raise InputError(f"{name} is not a file of the program compress: the source has changed its format.")
    widest, with_clear = content[2] & 31, bool(content[2] & 128)
    literals = [bytes([k]) for k in range(256)]
    table = [*literals, b""] if with_clear else literals.copy()
    found: list[bytes] = []
    size, width, previous = 0, 9, b""
    start = position = 24  # in bits; groups of eight codes begin at ``start``
    end = 8 * len(content)
    while position + width <= end:
        byte, shift = divmod(position, 8)
        code = int.from_bytes(content[byte : byte + 4], "little") >> shift & (1 << width) - 1
        position += width
        if with_clear and code == _CLEAR:
            table = [*literals, b""]
            start = position = _group_end(start, position, width)
            width, previous = 9, b""
            continue
        if code < len(table):
            word = table[code]
        elif code == len(table) and previous:
            word = previous + previous[:1]
        else:
            raise InputError(f"{name} is damaged: code {code} refers to a word that does not exist.")
        size += len(word)
        if size > most:
            raise InputError(f"{name} unpacks to more than {most} bytes: the source has not published this.")
        found.append(word)
        if previous and len(table) < 1 << widest:
            table.append(previous + word[:1])
        previous = word
        if len(table) >= 1 << width and width < widest:
            start = position = _group_end(start, position, width)
            width += 1
    return b"".join(found)


def _group_end(start: int, position: int, width: int) -> int:
    """Return where the group of eight codes ends that holds the last code read."""
    group = 8 * width
    return start + -(-(position - start) // group) * group
