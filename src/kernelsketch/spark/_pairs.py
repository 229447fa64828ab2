"""The exact GMM kernel of pairs: row i of one matrix and row i of another (equation 3 of the paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._array import Array
from ..kernels import sign_split


def gmm_pairs(U: Any, V: Any, p: float = 1.0, center: Any = None) -> Array:
    """Return the similarity of each pair in float64. The wider matrix determines the number of features."""
    if center is not None:
        U, V = ((X.toarray() if sparse.issparse(X) else X) - np.asarray(center, np.float64) for X in (U, V))
    if U.shape != V.shape or sparse.issparse(U) or sparse.issparse(V):
        U, V = _as_wide(U, V.shape[1]), _as_wide(V, U.shape[1])
    U, V = (sign_split(X.astype(np.float64)) for X in (U, V))
    # Each pair is divided by its largest value, so that no sum overflows. For p = 1 the divisor is a power of 2, so the
    # division is exact.
    largest = np.maximum(_largest(U), _largest(V))
    scale = np.where(largest > 0, np.ldexp(1.0, np.frexp(largest)[1] - 1) if p == 1 else largest, 1.0)
    U, V = _divided(U, scale), _divided(V, scale)
    if sparse.issparse(U):
        least, most = U.minimum(V), U.maximum(V)
    else:
        least, most = np.minimum(U, V), np.maximum(U, V)
    above, below = _powers(least, p), _powers(most, p)
    return np.divide(above, below, out=np.zeros(len(below)), where=below > 0)


def _as_wide(X: Any, width: int) -> Any:
    X = sparse.csr_matrix(X, copy=True)
    X.resize(X.shape[0], max(X.shape[1], width))
    return X


def _largest(X: Any) -> Array:
    found = X.max(axis=1)
    return np.asarray(found.toarray() if sparse.issparse(found) else found).ravel()


def _divided(X: Any, scale: Array) -> Any:
    if not sparse.issparse(X):
        return X / scale[:, None]
    X = X.tocsr(copy=True)
    X.data /= np.repeat(scale, np.diff(X.indptr))
    return X


def _powers(X: Any, p: float) -> Array:
    if p != 1:
        X = X.power(p) if sparse.issparse(X) else X**p
    return np.asarray(X.sum(axis=1)).ravel()
