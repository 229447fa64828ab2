"""Codes and features of the rows of any file, by one hash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._rows import canonical_rows
from .._validation import row_batches, widened
from ..hashing import Hasher, PackedCodes

STEP_BYTES = 1 << 24


def codes_of(hasher: Hasher, X: Any, threads: int, row_bytes: int = 0) -> Iterator[tuple[slice, PackedCodes]]:
    """Yield the codes of a block in parts, since codes may take more memory than the rows.

    ``row_bytes`` are those that the caller makes of a row, where they are more than its codes.
    Sparse rows may have any width, since absent features are zeros; with views, at most that of the views.
    """
    if X.shape[1] < sum(hasher.views):
        X = widened(X, sum(hasher.views))
    for rows in row_batches(X.shape[0], max(2 * hasher.n_components, row_bytes), STEP_BYTES):
        if isinstance(X, PackedCodes):
            yield rows, X[rows]
        else:
            yield rows, hasher.codes(canonical_rows(X[rows]), threads=threads)


def features_of(codes: PackedCodes, y: Any, *, normalize: bool = True) -> Iterator[tuple[Any, Any]]:
    """Yield one-hot features of codes with their labels in parts, since they take a dozen times the memory."""
    for rows in row_batches(len(codes), 12 * codes.n_components, STEP_BYTES):
        yield codes[rows].to_csr(normalize=normalize), None if y is None else y[rows]
