"""Check the arguments of the formulas: numbers or arrays, within their range."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, InputTypeError, Setting

Array = NDArray[np.float64]


def as_correlation(value: Any, name: str = "rho") -> Array:
    """Check that the numbers lie between -1 and 1."""
    return _within(value, name, -1.0, 1.0)


def as_similarity(value: Any, name: str = "similarity") -> Array:
    """Check that the numbers lie between 0 and 1."""
    return _within(value, name, 0.0, 1.0)


def as_positive(value: Any, name: str) -> Array:
    """Check that the numbers are finite and positive."""
    array = _as_numbers(value, name)
    _refuse(array, ~(np.isfinite(array) & (array > 0)), name, "a finite number above 0")
    return array


def as_count(value: Any, name: str = "k") -> Array:
    """Check that the numbers are positive integers."""
    array = _as_numbers(value, name)
    _refuse(array, ~(np.isfinite(array) & (array >= 1) & (array == np.floor(array))), name, "a whole number above 0")
    return array


def as_result(value: Any) -> Any:
    """Return a float if every argument was a number, and the array otherwise."""
    array = np.asarray(value)
    return array if array.ndim else float(array)


def _within(value: Any, name: str, low: float, high: float) -> Array:
    array = _as_numbers(value, name)
    # A correlation computed in floating point can exceed 1 by a rounding error; the caller decides whether to clip it.
    allowed = f"a number from {low:g} to {high:g} (np.clip removes rounding errors)"
    _refuse(array, ~((array >= low) & (array <= high)), name, allowed)
    return array


def _as_numbers(value: Any, name: str) -> Array:
    try:
        array = np.asarray(value)
    except ValueError as error:  # nested lists have unequal lengths
        raise InputError(Setting(name), f" cannot be read as an array: {error}") from None
    if array.dtype.kind not in "fiu":
        raise InputTypeError(
            Setting(name), f" must be a number or an array of numbers, got {value!r} (dtype {array.dtype})."
        )
    return array.astype(np.float64)


def _refuse(array: Array, bad: Any, name: str, allowed: str) -> None:
    if not bad.any():
        return
    first = np.unravel_index(int(np.argmax(bad)), array.shape)
    where = f" at position {tuple(int(i) for i in first)}" if array.ndim else ""
    raise InputError(Setting(name), f" must be {allowed}, got {float(array[first])!r}{where}.")
