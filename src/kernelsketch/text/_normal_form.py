"""Normal forms of Unicode in linear time.

A normal form sorts the combining marks behind a letter by their class. Python inserts them one after the other, which
takes quadratic time: a megabyte of marks would take minutes. Here long runs of marks are sorted first.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Literal

NormalForm = Literal["NFC", "NFD", "NFKC", "NFKD"]

STEP = 64  # marks of a run that is sorted; words have a few
_PLANES = range(0x300, 0x20000)  # all marks are among these characters


def normalized(text: str, form: NormalForm) -> str:
    """Return what :func:`unicodedata.normalize` does."""
    apart: NormalForm = "NFKD" if form in ("NFKC", "NFKD") else "NFD"
    if _has_long_run(text, _marks(apart)):
        text = _runs(apart).sub(lambda run: _sorted(run[0], apart), text)
    return unicodedata.normalize(form, text)


def _has_long_run(text: str, marks: frozenset[str]) -> bool:
    """Return whether one of the pieces of a text has marks alone, as a piece of every run of two pieces has."""
    places = (STEP * number for number, letter in enumerate(text[::STEP]) if letter in marks)
    return any(marks.issuperset(text[place : place + STEP]) for place in places)


@cache
def _marks(form: NormalForm) -> frozenset[str]:
    """Return the characters that decompose to marks alone."""
    known = (chr(code) for code in _PLANES if unicodedata.combining(chr(code)) or unicodedata.decomposition(chr(code)))
    return frozenset(mark for mark in known if all(map(unicodedata.combining, unicodedata.normalize(form, mark))))


@cache
def _runs(form: NormalForm) -> re.Pattern[str]:
    return re.compile(f"[{''.join(map(re.escape, sorted(_marks(form))))}]{{{STEP},}}")


def _sorted(run: str, form: NormalForm) -> str:
    """Return the marks of a run in the order of their classes; marks of one class keep their order."""
    apart = {mark: unicodedata.normalize(form, mark) for mark in set(run)}
    return "".join(sorted("".join(map(apart.__getitem__, run)), key=unicodedata.combining))
