"""Shingles: from the bytes of a text to features and their counts.

::

    text     bytes in UTF-8; each maximal part that is not UTF-8 is read as one U+FFFD, as Python's "replace" does
    unit     "word": a maximal run of word characters;  "char": a character, where each run of white space is one space
             and white space at both ends does not count (characters.py)
    u        hash of a unit: h = 0, then h = mix64(h + block + GOLDEN64) for each block of 8 bytes of the unit in UTF-8,
             read as a little-endian number, the last one padded with zeros; for "char" the one block is the code point
    shingle  n successive units, for each n from n_min to n_max; a text that has units, but fewer than n_min, has one
             shingle of all its units
    feature  p = 0, then p = p * GOLDEN64 + u for each unit;  mix64(p + n) >> 2

All arithmetic is modulo 2^64, so features are 0 .. 2^62 - 1. The value of a feature is how often it occurs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .._array import Array
from .._mix import GOLDEN64, mix_number
from .characters import lower_case, spaces, word_characters

if TYPE_CHECKING:
    from ..backends import ShingleParams


def shingles(text: Array, ends: Array, params: ShingleParams) -> tuple[Array, Array, Array]:
    indptr, features, counts = [0], [], []
    for begin, end in pairwise(ends.tolist()):
        found = Counter(shingles_of(text[begin:end].tobytes(), *params))
        features += sorted(found)
        counts += [found[feature] for feature in sorted(found)]
        indptr.append(len(features))
    return np.array(indptr, np.int64), np.array(features, np.int64), np.array(counts, np.float32)


def shingles_of(text: bytes, words: bool, n_min: int, n_max: int, lowercase: bool) -> Iterator[int]:
    """Yield the features of all shingles of a text."""
    units = list(units_of(text, words, lowercase))
    hashes = [hash_of(unit, words) for unit in units]
    lengths = range(n_min, n_max + 1) if len(hashes) >= n_min else range(len(hashes), len(hashes) + 1)
    for n in lengths:
        if n:
            for i in range(len(hashes) - n + 1):
                yield feature_of(hashes[i : i + n])


def units_of(text: bytes, words: bool, lowercase: bool) -> Iterator[str]:
    """Yield the words or the characters of a text."""
    codes = [ord(character) for character in text.decode("utf-8", "replace")]
    if lowercase:
        codes = [lower_case().get(code, code) for code in codes]
    if words:
        is_word = word_characters()
        apart = "".join(chr(code) if code in is_word else " " for code in codes)
        yield from filter(None, apart.split(" "))
    else:
        plain = "".join(" " if code in spaces() else chr(code) for code in codes)
        yield from " ".join(filter(None, plain.split(" ")))


def hash_of(unit: str, words: bool) -> int:
    """Return the hash of a word or a character."""
    if not words:
        return mix_number(ord(unit) + GOLDEN64)
    content, h = unit.encode(), 0
    for start in range(0, len(content), 8):
        h = mix_number(h + int.from_bytes(content[start : start + 8], "little") + GOLDEN64)
    return h


def feature_of(hashes: list[int]) -> int:
    """Return the feature of a shingle with these hashes of units."""
    p = 0
    for u in hashes:
        p = (p * GOLDEN64 + u) % 2**64
    return mix_number(p + len(hashes)) >> 2
