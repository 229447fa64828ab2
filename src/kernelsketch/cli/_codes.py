"""Rows of any file as codes of one hash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._rows import canonical_rows
from .._validation import row_batches
from ..formats import RowBlock
from ..hashing import Hasher, PackedCodes

STEP_BYTES = 1 << 24


def codes_of(hasher: Hasher, X: Any, threads: int) -> Iterator[tuple[slice, PackedCodes]]:
    """Codes of rows, some at a time: they may take more room than the rows.

    Sparse rows may be of any width, since features that are not there are zeros.
    """
    for rows in row_batches(X.shape[0], 2 * hasher.n_components, STEP_BYTES):
        if isinstance(X, PackedCodes):
            yield rows, X[rows]
        else:
            yield rows, hasher.codes(canonical_rows(X[rows]), threads=threads)


def features_of(codes: PackedCodes, y: Any, *, normalize: bool = True) -> Iterator[RowBlock]:
    """One-hot features of codes with their labels, some rows at a time: they take a dozen times the room."""
    for rows in row_batches(len(codes), 12 * codes.n_components, STEP_BYTES):
        yield RowBlock(codes[rows].to_csr(normalize=normalize), None if y is None else y[rows])
