"""Rows of any file as codes of one hash."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

from scipy import sparse

from .._validation import row_batches
from ..codes import PackedCodes
from ..features import GCWS
from ..formats import RowBlock

STEP_BYTES = 1 << 24


def codes_of(hasher: GCWS, X: Any) -> Iterator[tuple[slice, PackedCodes]]:
    """Codes of rows, some at a time: they may take more room than the rows.

    Sparse rows may be of any width, since features that are not there are zeros.
    """
    if sparse.issparse(X) and hasher.center_ is None and X.shape[1] != hasher.n_features_in_:
        hasher = copy(hasher)
        hasher.n_features_in_ = X.shape[1]
    for rows in row_batches(X.shape[0], 2 * int(hasher.n_components), STEP_BYTES):
        yield rows, X[rows] if isinstance(X, PackedCodes) else hasher.codes(X[rows])


def hasher_for(hasher: GCWS, X: Any) -> GCWS:
    """A hash that was fitted to the first rows that come."""
    fitted: GCWS = hasher.fit(X[:1])
    return fitted


def features_of(codes: PackedCodes, y: Any, *, normalize: bool = True) -> Iterator[RowBlock]:
    """One-hot features of codes with their labels, some rows at a time: they take a dozen times the room."""
    for rows in row_batches(len(codes), 12 * codes.n_components, STEP_BYTES):
        yield RowBlock(codes[rows].to_csr(normalize=normalize), None if y is None else y[rows])
