"""Data for property tests: matrices that real and hostile users have."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Array = NDArray[Any]

KINDS = ("normal", "nonnegative", "sparse", "integers", "wide", "constant")


@st.composite
def matrices(draw: Any, max_rows: int = 12, max_features: int = 300, kinds: tuple[str, ...] = KINDS) -> Array:
    """A float32 or float64 matrix; now and then with rows of zeros and repeated rows."""
    n, d = draw(st.integers(1, max_rows)), draw(st.integers(1, max_features))
    return _matrix(draw, n, d, kinds)


@st.composite
def matrix_pairs(
    draw: Any, max_rows: int = 12, max_features: int = 300, kinds: tuple[str, ...] = KINDS
) -> tuple[Array, Array]:
    """Two matrices of the same features and dtype that share some rows."""
    n, m, d = (
        draw(st.integers(1, max_rows)),
        draw(st.integers(1, max_rows)),
        draw(st.integers(1, max_features)),
    )
    both = _matrix(draw, n + m, d, kinds)
    return both[:n], both[n:]


def _matrix(draw: Any, n: int, d: int, kinds: tuple[str, ...]) -> Array:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(kinds))
    X = rng.normal(size=(n, d))
    if kind == "nonnegative":
        X = np.abs(X)
    elif kind == "sparse":
        X *= rng.random((n, d)) < 0.1
    elif kind == "integers":
        X = np.rint(X * 30)
    elif kind == "wide":
        X = np.sign(X) * 10 ** rng.uniform(-30, 30, (n, d)) * (rng.random((n, d)) < 0.7)
    elif kind == "constant":
        X = np.repeat(rng.uniform(0.01, 1, (n, 1)), d, axis=1)
    X = X.astype(draw(st.sampled_from([np.float32, np.float64])))
    if draw(st.booleans()):
        X[rng.integers(n)] = 0
    if draw(st.booleans()):
        X[rng.integers(n)] = X[rng.integers(n)]
    return X
