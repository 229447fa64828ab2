"""Checks of arguments that several parts of this package share."""

from __future__ import annotations

import numbers
from typing import Any

import joblib
from numpy.typing import NDArray

from kernelsketch.exceptions import InputError, InputTypeError, Setting

Array = NDArray[Any]


def check_positive_int(value: Any, name: str) -> int:
    """Return a whole number above 0."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InputTypeError(
            Setting(name), f" must be a whole number above 0, got {value!r} of type {type(value).__name__}."
        )
    if value <= 0:
        raise InputError(Setting(name), f" must be a whole number above 0, got {value!r}.")
    return int(value)


def check_seed(value: Any) -> int:
    """Return a whole number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InputTypeError(
            Setting("seed"), f" must be a whole number from 0 on, got {value!r} of type {type(value).__name__}."
        )
    if value < 0:
        raise InputError(Setting("seed"), f" must be a whole number from 0 on, got {value!r}.")
    return int(value)


def check_n_jobs(value: Any) -> int:
    """Return the number of workers by scikit-learn's convention: None means 1, -1 means all processors."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, numbers.Integral)):
        raise InputTypeError(
            Setting("n_jobs"), f" must be None or a whole number, got {value!r} of type {type(value).__name__}."
        )
    if value == 0:
        raise InputError(Setting("n_jobs"), " must not be 0: use 1 for one worker or -1 for all processors.")
    return int(joblib.effective_n_jobs(value))
