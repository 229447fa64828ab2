"""Rows: the form of checked data in the whole library, dense or CSR, of any array library.

The arrays are NumPy arrays or arrays of another library that implements NumPy's dispatch protocols
(``__array_ufunc__`` and ``__array_function__``), as CuPy does. The code that makes rows checks them first. Rows have
two dimensions, real numbers, and at least one row and one feature. In CSR form the indices of each row are ascending
and distinct.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True, eq=False, slots=True)
class DenseRows:
    """Dense rows: ``values`` of shape (n_rows, n_features), in any memory layout."""

    sparse: ClassVar[bool] = False
    values: Any

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.values.shape
        return n, d

    @property
    def n_features(self) -> int:
        return int(self.values.shape[1])

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def arrays(self) -> tuple[Any, ...]:
        return (self.values,)

    @property
    def contiguous(self) -> bool:
        """Whether the rows are contiguous, so that a back end does not have to copy them."""
        return bool(self.values.flags.c_contiguous and getattr(self.values.flags, "aligned", True))

    @property
    def row_bytes(self) -> int:
        """Number of bytes per row in float64."""
        return 8 * self.n_features

    def part(self, rows: slice) -> DenseRows:
        """Return successive rows as a view."""
        return DenseRows(self.values[rows])

    def columns(self, columns: slice) -> DenseRows:
        """Return adjacent columns as a view, whose rows are not contiguous."""
        return DenseRows(self.values[:, columns])

    def take(self, rows: Any) -> DenseRows:
        """Return the rows with the given numbers."""
        return DenseRows(self.values[rows])

    def to_csr(self) -> CsrRows:
        from scipy import sparse  # takes a tenth of a second to import, and few callers need it

        return CsrRows.of(sparse.csr_array(self.values))

    def to_dense(self) -> DenseRows:
        return self


@dataclass(frozen=True, eq=False, slots=True)
class CsrRows:
    """Rows in CSR form. ``indptr`` is int64 and starts at 0."""

    sparse: ClassVar[bool] = True
    indptr: Any
    indices: Any
    data: Any
    n_features: int

    @classmethod
    def of(cls, X: Any) -> CsrRows:
        """Make rows from a SciPy CSR matrix, whose arrays may be longer than the part that it uses."""
        indptr = X.indptr.astype(np.int64, copy=False)
        end = int(indptr[-1])
        return cls(indptr, X.indices[:end], X.data[:end], X.shape[1])

    def __len__(self) -> int:
        return int(self.indptr.shape[0]) - 1

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), self.n_features

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def arrays(self) -> tuple[Any, ...]:
        return self.indptr, self.indices, self.data

    @property
    def contiguous(self) -> bool:
        return True

    @property
    def row_bytes(self) -> int:
        """Average number of bytes of the values per row in float64."""
        return 8 * max(1, int(self.data.shape[0]) // max(1, len(self)))

    def part(self, rows: slice) -> CsrRows:
        """Return successive rows, whose values are views."""
        begin, end = int(self.indptr[rows.start]), int(self.indptr[rows.stop])
        indptr = self.indptr[rows.start : rows.stop + 1]
        return CsrRows(
            indptr - begin if begin else indptr, self.indices[begin:end], self.data[begin:end], self.n_features
        )

    def columns(self, columns: slice) -> CsrRows:
        """Return a copy of adjacent columns, which are numbered from 0."""
        kept = np.flatnonzero((self.indices >= columns.start) & (self.indices < columns.stop))
        indptr = np.searchsorted(kept, self.indptr).astype(np.int64, copy=False)
        return CsrRows(indptr, self.indices[kept] - columns.start, self.data[kept], columns.stop - columns.start)

    def norms(self) -> Any:
        """Return the L1 norms in float64, by sums over all values."""
        return np.diff(np.concatenate([[0.0], np.cumsum(np.abs(self.data), dtype=np.float64)])[self.indptr])

    def take(self, rows: Any) -> CsrRows:
        """Return the rows with the given numbers."""
        return CsrRows.of(self.to_scipy()[rows])

    def to_csr(self) -> CsrRows:
        return self

    def to_dense(self) -> DenseRows:
        return DenseRows(self.to_scipy().toarray())

    def to_scipy(self) -> Any:
        from scipy import sparse

        return sparse.csr_array((self.data, self.indices, self.indptr), shape=self.shape)


Rows = DenseRows | CsrRows
