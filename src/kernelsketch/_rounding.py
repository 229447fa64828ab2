"""Text to numbers: which texts are numbers, and the nearest float, with a single rounding."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

# The one rule for files and tables. float() takes more: underscores, digits of other scripts, nan and inf.
NUMBER = re.compile(r"[ \t]*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?[ \t]*", re.ASCII)
_OVERFLOW = 2.0**128 - 2.0**103  # the middle between the largest float32 and 2^128


def float_of(text: str) -> float | None:
    """Return the number that a text is, or None if it is none. Numbers beyond the largest float64 are infinite."""
    return float(text) if NUMBER.fullmatch(text) else None


def floats_of(texts: Sequence[str]) -> Any:
    """Return texts as an array of float64, or None if some text is not a number."""
    joined = "".join(texts)
    if joined.isascii() and joined.isprintable() and "_" not in joined:  # float() then takes no more than nan and inf
        try:
            quickly = np.fromiter(map(float, texts), np.float64, len(texts))
        except ValueError:
            return None
        if np.isfinite(quickly).all():
            return quickly
    found = [float_of(text) for text in texts]
    return None if None in found else np.array(found, np.float64)


def nearest_float(number: str, dtype: Any) -> Any:
    """Return the float of the dtype that is nearest to a decimal number; infinity beyond the largest.

    Rounding to float64 and then to float32 errs only if the float64 lies exactly between two floats of 32 bits. Those
    cases are decided with exact fractions.
    """
    value = float(number)
    if np.dtype(dtype) == np.float64:
        return value
    if abs(value) == _OVERFLOW and abs(Fraction(Decimal(number))) < Fraction(_OVERFLOW):
        return np.float32(math.copysign(np.finfo(np.float32).max, value))
    with np.errstate(over="ignore"):
        near = np.float32(value)
        if float(near) == value or not np.isfinite(near):
            return near
        other = np.nextafter(near, np.float32(math.copysign(math.inf, value - float(near))))
    if value - float(near) == float(other) - value:
        exact = Fraction(Decimal(number))
        if exact != Fraction(value):
            return max(near, other) if exact > Fraction(value) else min(near, other)
    return near
