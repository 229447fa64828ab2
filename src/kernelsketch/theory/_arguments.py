"""Check the arguments of the formulas: numbers or arrays, within their range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, InputTypeError, Setting

Array = NDArray[np.float64]


# A correlation computed in floating point can exceed 1 by a rounding error; the caller decides whether to clip it.
CLIP = "(np.clip removes rounding errors)"


def as_correlation(value: Any, name: str = "rho") -> Array:
    """Check that the numbers lie between -1 and 1."""
    return _checked(value, name, f"a number from -1 to 1 {CLIP}", lambda x: abs(x) <= 1)


def as_similarity(value: Any, name: str = "similarity") -> Array:
    """Check that the numbers lie between 0 and 1."""
    return _checked(value, name, f"a number from 0 to 1 {CLIP}", lambda x: (x >= 0) & (x <= 1))


def as_positive(value: Any, name: str) -> Array:
    """Check that the numbers are finite and positive."""
    return _checked(value, name, "a finite number above 0", lambda x: np.isfinite(x) & (x > 0))


def as_count(value: Any, name: str = "k") -> Array:
    """Check that the numbers are positive integers."""
    return _checked(value, name, "a whole number above 0", lambda x: np.isfinite(x) & (x >= 1) & (x == np.floor(x)))


def as_result(value: Any) -> Any:
    """Return a float if every argument was a number, and the array otherwise."""
    array = np.asarray(value)
    return array if array.ndim else float(array)


def _checked(value: Any, name: str, allowed: str, is_allowed: Callable[[Array], Any]) -> Array:
    try:
        given = np.asarray(value)
    except ValueError as error:  # nested lists have unequal lengths
        raise InputError(Setting(name), f" cannot be read as an array: {error}") from None
    if given.dtype.kind not in "fiu":
        raise InputTypeError(
            Setting(name), f" must be a number or an array of numbers, got {value!r} (dtype {given.dtype})."
        )
    array = given.astype(np.float64)
    bad = ~is_allowed(array)
    if bad.any():
        first = np.unravel_index(int(np.argmax(bad)), array.shape)
        where = f" at position {tuple(int(i) for i in first)}" if array.ndim else ""
        raise InputError(Setting(name), f" must be {allowed}, got {float(array[first])!r}{where}.")
    return array
