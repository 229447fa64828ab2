"""Scaling: columns as a model scales them before it hashes rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import row_batches
from ..backends import CsrRows, DenseRows, Rows, place_of
from ..exceptions import InputError, InputTypeError

Array = NDArray[Any]

STEP_BYTES = 1 << 24
LARGEST = 1e30  # scaled values are clipped to it, so that they are finite in float32


@dataclass(frozen=True, eq=False, slots=True)
class Scaling:
    """A fitted scaling, an immutable value.

    Attributes
    ----------
    spread
        What each column is divided by, in float64, or None if ``quantiles`` are given. A 0 makes the column 0.
    center
        What is subtracted from each column first, or None if the scaling was fitted on sparse rows.
    quantiles
        Ascending quantiles of each column, of shape (quantiles, columns), which are mapped to -1 ... 1, or None.
    """

    spread: Array | None = None
    center: Array | None = None
    quantiles: Array | None = None

    @property
    def needs_dense(self) -> bool:
        """Whether zeros do not stay zeros."""
        return self.center is not None or self.quantiles is not None

    def apply(self, rows: Rows) -> Rows:
        """Return scaled rows of the same dtype, computed in float64."""
        check_numpy(rows)
        if isinstance(rows, CsrRows):
            if self.needs_dense:
                raise InputError(
                    "X is sparse, but the model was fitted with scale on dense rows, whose zeros do not stay zeros: "
                    "pass a dense array, or fit the model on sparse rows with scale='standard'."
                )
            return self._apply_sparse(rows)
        scaled = np.empty(rows.shape, rows.dtype)
        for part in row_batches(len(rows), 8 * rows.n_features, STEP_BYTES):
            scaled[part] = self._scaled(rows.values[part].astype(np.float64))
        return DenseRows(scaled)

    def _scaled(self, values: Array) -> Array:
        if self.quantiles is not None:
            return _ranks(values, self.quantiles)
        assert self.spread is not None
        if self.center is not None:
            values = values / 2 - self.center / 2  # in halves, which cannot overflow
            values = _divided(values, self.spread) * 2
        else:
            values = _divided(values, self.spread)
        return values

    def _apply_sparse(self, rows: CsrRows) -> CsrRows:
        assert self.spread is not None
        data = _divided(rows.data.astype(np.float64), self.spread[rows.indices]).astype(rows.dtype)
        found = CsrRows(rows.indptr, rows.indices, data, rows.n_features)
        if not data.all():
            whole = found.to_scipy().copy()
            whole.eliminate_zeros()
            found = CsrRows.of(whole)
        return found


def _divided(values: Array, spread: Array) -> Array:
    with np.errstate(over="ignore"):
        found = np.divide(values, spread, out=np.zeros_like(values), where=spread > 0)
    return np.clip(found, -LARGEST, LARGEST)


def _ranks(values: Array, quantiles: Array) -> Array:
    """Map each column to -1 ... 1 by its quantiles. A tie gets the mean of its first and its last rank."""
    references = np.linspace(-1, 1, len(quantiles))
    found = np.zeros_like(values)
    for j in range(values.shape[1]):
        column, q = values[:, j], quantiles[:, j]
        if q[0] < q[-1]:
            forward = np.interp(column, q, references)
            found[:, j] = (forward - np.interp(-column, -q[::-1], -references[::-1])) / 2
    return found


def check_numpy(rows: Rows) -> None:
    """Refuse arrays of other libraries."""
    if place_of(rows.arrays[-1]) is not None:
        raise InputTypeError(
            f"scale needs NumPy arrays or SciPy matrices, but X holds {type(rows.arrays[-1]).__name__}: convert it, or "
            "scale the columns first and set scale=None."
        )
