"""What makes a hash the one it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .reference.rng import HASH_VERSION

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class HashInfo:
    """What codes depend on besides the rows. Codes can be compared only where these are equal.

    Not so ``n_features``: a row with fewer features is one whose others are 0.
    """

    seed: int
    p: float = 1.0
    gamma: float | None = None
    center: Array | None = None
    n_features: int = 0
    hash_version: int = HASH_VERSION

    def difference(self, other: HashInfo) -> str | None:
        """The first thing in which two differ, in words."""
        for name in ("hash_version", "seed", "p", "gamma"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                return f"{name} {mine} against {theirs}"
        mine, theirs = (np.zeros(0) if c is None else c for c in (self.center, other.center))
        if not np.array_equal(mine, theirs):
            return "center"
        return None
