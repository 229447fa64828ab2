"""Rows that have near neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def clusters(n: int, d: int, seed: int = 0, signed: bool = False, share: float = 0.3) -> NDArray[Any]:
    """Rows around a few middles, float64; ``share`` of the features of a middle are not 0."""
    rng = np.random.default_rng(seed)
    count = max(1, n // 6)
    middles = rng.gamma(0.5, size=(count, d)) * (rng.random((count, d)) < share)
    X = middles[rng.integers(count, size=n)] * rng.uniform(0.6, 1.5, (n, d))
    return np.asarray(X * rng.choice([-1.0, 1.0], d) if signed else X)
