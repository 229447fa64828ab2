"""Scaling: columns as a model scales them before it hashes rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import row_batches
from ..backends import CsrRows, DenseRows, Rows, backend_for, place_of, rows_on_host
from ..exceptions import InputError

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
        """Return scaled rows of the same dtype where the rows live, computed in float64.

        Sparse rows and quantiles of another library go through main memory.
        """
        place = place_of(rows.arrays[-1])
        if place is not None and (rows.sparse or self.quantiles is not None):
            backend, host = place.backend(1), self.apply(rows_on_host(rows))
            if isinstance(host, CsrRows):
                return CsrRows(*map(backend.from_numpy, host.arrays), host.n_features)  # type: ignore[arg-type,call-arg]
            return DenseRows(backend.from_numpy(host.values))
        if isinstance(rows, CsrRows):
            if self.needs_dense:
                raise InputError(
                    "X is sparse, but the model was fitted with scale on dense rows, whose zeros do not stay zeros: "
                    "pass a dense array, or fit the model on sparse rows with scale='standard'."
                )
            return self._apply_sparse(rows)
        backend = backend_for(*rows.arrays)
        spread, center = (None if x is None else backend.from_numpy(x) for x in (self.spread, self.center))
        scaled = backend.empty(rows.shape, rows.dtype)
        for part in row_batches(len(rows), 8 * rows.n_features, STEP_BYTES):
            values = rows.values[part].astype(np.float64)
            scaled[part] = _linear(values, spread, center) if self.quantiles is None else _ranks(values, self.quantiles)
        return DenseRows(scaled)

    def _apply_sparse(self, rows: CsrRows) -> CsrRows:
        assert self.spread is not None
        data = _divided(rows.data.astype(np.float64), self.spread[rows.indices]).astype(rows.dtype)
        found = CsrRows(rows.indptr, rows.indices, data, rows.n_features)
        if not data.all():
            whole = found.to_scipy().copy()
            whole.eliminate_zeros()
            found = CsrRows.of(whole)
        return found


def _linear(values: Array, spread: Any, center: Array | None) -> Array:
    if center is None:
        return _divided(values, spread)
    return _divided(values / 2 - center / 2, spread) * 2  # in halves, which cannot overflow


def _divided(values: Array, spread: Array) -> Array:
    with np.errstate(over="ignore"):
        found = values / np.where(spread > 0, spread, 1.0) * (spread > 0)
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
