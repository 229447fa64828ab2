"""CorrelationPlan: the correlation and RBF kernels as inner products of rows of unit norm."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from .._array import Array
from .._validation import row_batches
from ._operand import Operand
from ._plan import Plan, transpose

BLOCK_BYTES = 1 << 24  # bytes of prepared rows held at a time, for each side
# That BLAS computes at a time, since Ctrl-C waits for its end. A pair of short rows takes as long as 128 features.
MOST_PRODUCTS, LEAST_FEATURES = 1 << 30, 128


class CorrelationPlan(Plan):
    """Compute cosines of rows by BLAS and, with ``gamma``, the exponential of them."""

    FEATURES = 512  # number of features that one float32 product sums before the sum goes to float64

    def __init__(self, a: Operand, b: Operand, gamma: float | None = None) -> None:
        super().__init__(a, b, gamma)

    def _fill(self, rows: slice, out: Array) -> None:
        sparse_side = self.a.sparse or self.b.sparse
        symmetric = self._is_symmetric(rows)
        for b_rows in self._batches(self.b, slice(0, self.shape[1]), sparse_side):
            right = self._rows(self.b, b_rows)
            for a_rows in self._batches(self.a, rows, sparse_side):
                top = slice(a_rows.start - rows.start, a_rows.stop - rows.start)
                if symmetric and a_rows.start > b_rows.start:
                    continue
                left = right if self.a is self.b and a_rows == b_rows else self._rows(self.a, a_rows)
                self._multiply(left, right, out[top, b_rows])
                if symmetric and a_rows == b_rows:  # some BLAS add the products of (i, j) and (j, i) in another order
                    own = out[top, b_rows]
                    np.copyto(own, own.T.copy(), where=np.tri(len(own), k=-1, dtype=bool))
                elif symmetric and a_rows.start < b_rows.start:
                    transpose(out[top, b_rows], out[b_rows, top])
        if self.a is self.b:
            own = np.arange(rows.start, rows.stop)
            out[own - rows.start, own] = ~self.a.empty[rows]

    def _batches(self, operand: Operand, rows: slice, sparse_side: bool) -> Iterator[slice]:
        if not sparse_side:
            most = int(math.sqrt(MOST_PRODUCTS / max(LEAST_FEATURES, operand.n_features)))
            return operand.batches(rows, min(BLOCK_BYTES, most * operand.n_features * operand.dtype.itemsize))
        # A sparse product takes up to 16 bytes per pair, so the blocks have at most 1024 x 1024 pairs.
        parts = (slice(r.start + rows.start, r.stop + rows.start) for r in row_batches(rows.stop - rows.start, 1, 1024))
        return (s for part in parts for s in operand.csr_batches(part, BLOCK_BYTES))

    def _rows(self, operand: Operand, rows: slice) -> Any:
        if not operand.sparse:
            return operand.dense(rows, None)
        return operand.csr(rows, None).to_scipy()

    def _multiply(self, left: Any, right: Any, out: Array) -> None:
        if sparse.issparse(left) and sparse.issparse(right):
            out[...] = _product(left, right).toarray()
        elif sparse.issparse(left) or sparse.issparse(right):
            out[...] = left.astype(np.float64) @ right.astype(np.float64).T
        elif self.dtype == np.float64 or left.shape[1] <= self.FEATURES:
            np.matmul(left, right.T, out=out)
        else:
            for part in row_batches(len(left), 16 * len(right), BLOCK_BYTES):
                total = np.zeros((part.stop - part.start, len(right)))
                for start in range(0, left.shape[1], self.FEATURES):
                    features = slice(start, start + self.FEATURES)
                    total += left[part, features] @ right[:, features].T
                out[part] = total
        np.clip(out, -1, 1, out=out)


def _product(left: Any, right: Any) -> Any:
    """Return left @ right.T in float64 over the features that occur. A product takes memory for each column."""
    features, numbers = np.unique(np.concatenate([left.indices, right.indices]), return_inverse=True)
    split = len(left.indices)
    sides = [
        sparse.csr_array((x.data.astype(np.float64), index, x.indptr), shape=(x.shape[0], max(1, len(features))))
        for x, index in ((left, numbers[:split]), (right, numbers[split:]))
    ]
    return sides[0] @ sides[1].T
