"""Names of kernelsketch that this package needs and that are not public yet.

Every other module imports public names only, so a change in the library is followed here and nowhere else.
"""

from __future__ import annotations

from typing import Any

from kernelsketch._files import write_atomically
from kernelsketch.reference.fourier import FOURIER_VERSION
from kernelsketch.reference.rng import HASH_VERSION

__all__ = ["FOURIER_VERSION", "HASH_VERSION", "model_bytes", "write_atomically"]


def model_bytes(model: Any) -> int:
    """Return the size of a fitted linear model on codes: one float32 weight per class, hash and used code."""
    problems = 1 if len(model.classes_) == 2 else len(model.classes_)
    return 4 * problems * int(model.n_components) * len(model.alphabet_)
