"""Labels of a stream: all numbers or all strings. The first block decides, unless the caller does.

NumPy gives every string of an array as much room as the longest one has. So one long label among a million short ones
would take gigabytes. Where an array of text would take more than a block may, readers yield an array of objects, and
``RowStream`` cuts it into blocks whose text fits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._array import Array
from .._rounding import float_of
from ..exceptions import InputError, Setting

LARGEST_EXACT = 2.0**53  # whole numbers up to here are exact in float64
MOST_LENGTH = 1000  # characters of a text label: an array of text is as wide as its longest
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
Place = Callable[[int], str]  # from the number of a label to "file, line 3, column 1"


class LabelColumn:
    """Decides once whether labels are strings, and refuses later labels that do not fit."""

    def __init__(self, text: bool | None, block_bytes: int, *, ignored: bool = False) -> None:
        self.text = True if ignored else text  # whether labels are strings; None as long as this is undecided
        self._ignored, self._given, self._most = ignored, text is not None, block_bytes

    def may_be_inexact(self, numbers: Array) -> bool:
        """Return whether numbers may have lost digits, so that their text must be compared."""
        return not (self.text or self._given) and len(numbers) > 0 and bool((np.abs(numbers) >= LARGEST_EXACT).any())

    def chosen(self, numbers: Array, first_text: int, texts: Callable[[], Any], place: Place) -> Array:
        """Return the labels of a block: ``numbers``, or strings if label ``first_text`` (-1: none) is not a number."""
        if self._ignored:
            return np.zeros(len(numbers), np.str_)
        if first_text < 0 and self.may_be_inexact(numbers):
            first_text = _inexact(numbers, texts)
        if self.text is None and len(numbers):
            self.text = first_text >= 0
        if not self.text:
            if first_text >= 0:
                raise InputError(
                    f"{place(first_text)}: the label {texts()[first_text]!r} is not a number, or has more digits than "
                    "a float64 holds. Pass ",
                    Setting("text_labels", True),
                    " to take all labels as text.",
                )
            return numbers
        found = text_array(texts(), self._most)
        check_lengths(found, place)
        return found

    def of_texts(self, texts: Sequence[str], place: Place) -> Array:
        """Return the labels of a column of cells."""
        if self._ignored:
            return np.zeros(len(texts), np.str_)
        missing = next((k for k, text in enumerate(texts) if not text or text.isspace()), None)
        if missing is not None:
            self.of_texts(texts[:missing], place)  # which may have an error
            what = f"the label is missing ({texts[missing]!r}). Drop the row, or give it a label"
            raise InputError(f"{place(missing)}: {what}.")
        if self.text:
            return self.chosen(np.empty(0), -1, lambda: texts, place)
        numbers, first_text = np.full(len(texts), np.nan), -1
        for k, text in enumerate(texts):
            value = float_of(text)
            if value is None or not np.isfinite(value):
                first_text = k
                break
            numbers[k] = value
        return self.chosen(numbers, first_text, lambda: texts, place)


def text_array(texts: Sequence[str] | Array, most: int) -> Array:
    """Return strings as an array of text or, if that would take more than ``most`` bytes, of objects."""
    if isinstance(texts, np.ndarray):
        return texts
    longest = max(map(len, texts), default=0)
    return np.array(texts, dtype=np.str_ if 4 * longest * len(texts) <= most else object)


def numbered_texts(names: list[str], numbers: Array, most: int) -> Array:
    """Return the strings with these numbers as an array of text or, if that would take more bytes, of objects."""
    longest = max(map(len, names), default=0)
    return np.array(names, dtype=np.str_ if 4 * longest * len(numbers) <= most else object)[numbers]


def joined_labels(parts: list[Array], most: int) -> Array:
    """Return labels of several arrays as one, of objects if text would take more than ``most`` bytes."""
    if parts[0].dtype.kind in "UO" and sum(map(len, parts)) * max(part.dtype.itemsize for part in parts) > most:
        parts = [part.astype(object) for part in parts]
    return np.concatenate(parts)


def check_lengths(labels: Array, place: Place) -> None:
    """Refuse text labels that are too long to be class names."""
    if labels.dtype.kind != "O" and labels.dtype.itemsize <= 4 * MOST_LENGTH:
        return
    for k, text in enumerate(labels.tolist()):
        if len(text) > MOST_LENGTH:
            raise InputError(
                f"{place(k)}: the label {text[:20] + '...'!r} has {len(text)} characters: the limit is "
                f"{MOST_LENGTH}. Use shorter names."
            )


def _inexact(numbers: Array, texts: Callable[[], Any]) -> int:
    """Return the first label that is a whole number with more digits than a float64 holds, such as an id; -1: none.

    Such labels are text, because different ones could become the same number.
    """
    found = texts()
    for k in np.flatnonzero(np.abs(numbers) >= LARGEST_EXACT).tolist():
        if _WHOLE.fullmatch(found[k].strip()) and int(found[k]) != int(numbers[k]):
            return int(k)
    return -1
