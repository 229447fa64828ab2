"""Codes and features of the rows of any file, by one hash."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

from scipy import sparse

from .._validation import row_batches
from ..codes import PackedCodes
from ..features import GCWS

STEP_BYTES = 1 << 24


def codes_of(hasher: GCWS, X: Any) -> Iterator[tuple[slice, PackedCodes]]:
    """Yield the codes of a block in parts, since codes may take more memory than the rows.

    Sparse rows may have any width, since absent features are zeros.
    """
    if sparse.issparse(X) and hasher.center_ is None and X.shape[1] != hasher.n_features_in_:
        hasher = copy(hasher)
        hasher.n_features_in_ = X.shape[1]
    for rows in row_batches(X.shape[0], 2 * int(hasher.n_components), STEP_BYTES):
        yield rows, X[rows] if isinstance(X, PackedCodes) else hasher.codes(X[rows])


def fit_hasher(hasher: GCWS, X: Any) -> GCWS:
    """Fit a hash to the width of the first block."""
    fitted: GCWS = hasher.fit(X[:1])
    return fitted


def features_of(codes: PackedCodes, y: Any, *, normalize: bool = True) -> Iterator[tuple[Any, Any]]:
    """Yield one-hot features of codes with their labels in parts, since they take a dozen times the memory."""
    for rows in row_batches(len(codes), 12 * codes.n_components, STEP_BYTES):
        yield codes[rows].to_csr(normalize=normalize), None if y is None else y[rows]
