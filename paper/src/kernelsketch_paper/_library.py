"""Names of kernelsketch that are public to packages beside it, but not part of what users of the library import.

Other modules of this package take them from here, so that a change in the library is followed in one place.
"""

from __future__ import annotations

from typing import Any

from kernelsketch.backends import FOURIER_VERSION, HASH_VERSION
from kernelsketch.formats import open_rows
from kernelsketch.storage import NamedPath, check_outputs, write_atomically

__all__ = [
    "FOURIER_VERSION",
    "HASH_VERSION",
    "NamedPath",
    "check_outputs",
    "model_bytes",
    "open_rows",
    "write_atomically",
]


def model_bytes(model: Any) -> int:
    """Return the size of a fitted linear model on codes: one float32 weight per class, hash and used code."""
    problems = 1 if len(model.classes_) == 2 else len(model.classes_)
    return 4 * problems * int(model.n_components) * len(model.used_codes_)
