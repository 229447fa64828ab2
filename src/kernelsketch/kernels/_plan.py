"""How a kernel matrix is computed: which arithmetic, in which blocks, at which scale.

A plan is made once for (X, Y, parameters) and fills any range of its rows, so a whole matrix and
its blocks agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._backend import backend
from .._validation import row_batches
from ._operand import BLOCK_BYTES, STEP_BYTES, Operand

Array = NDArray[Any]

# Seconds, measured on one thread: of the dense kernel per pair and feature; of the sparse one per pair, per
# shared feature of a pair, and per nonzero and row where a feature is so common that it is kept as a column.
DENSE_COST, PAIR_COST, SHARED_COST, COLUMN_COST = 0.03e-9, 0.6e-9, 2.0e-9, 0.25e-9
# Dense rows of sparse data that long are not worth making.
DENSE_FEATURES = 1 << 20
# Small integers as bytes: exact up to so many features, and worth a look from so many steps on.
BYTE_FEATURES, BYTE_STEPS = 16384, 10**8


class Plan:
    """Base: rows ``a`` against rows ``b`` (``b is a`` for a matrix of X with itself)."""

    def __init__(self, a: Operand, b: Operand) -> None:
        self.a, self.b = a, b
        self.dtype = a.dtype
        self.shape = (a.n_rows, b.n_rows)

    def fill(self, rows: slice, out: Array) -> None:
        """Write the given rows of the matrix to ``out``."""
        raise NotImplementedError

    def fill_all(self, out: Array) -> None:
        self.fill(slice(0, self.shape[0]), out)

    def exponential(self, rows: slice, out: Array, gamma: float) -> None:
        """exp(-gamma (1 - out)) in place; 0 where a row is empty."""
        wide = self.dtype == np.float32 and gamma > 1e30  # beyond float32's range
        for part in row_batches(len(out), 8 * out.shape[1], STEP_BYTES):
            block = out[part].astype(np.float64) if wide else out[part]
            np.subtract(block, 1, out=block)
            np.multiply(block, gamma, out=block)
            np.exp(block, out=block)
            out[part] = block
        out[self.a.empty[rows]] = 0
        out[:, self.b.empty] = 0


class MinMaxPlan(Plan):
    """Sums of minima over sums of maxima (or their kind), by the back end.

    Parameters
    ----------
    a, b : Operand
    ratio : int
        ``MIN_MAX`` or ``INTERSECTION`` of the reference.
    threads : int
    gamma : float or None
        For the exponential of the kernel.
    """

    def __init__(self, a: Operand, b: Operand, ratio: int, threads: int, gamma: float | None = None) -> None:
        super().__init__(a, b)
        self.ratio, self.threads, self.gamma = ratio, threads, gamma
        self.backend = backend()
        self.groups = list(self._exponent_groups())
        self.offset = 0
        self.method = self._choose_method()

    def fill(self, rows: slice, out: Array) -> None:
        for exponent, columns in self.groups:
            if columns is None:
                self._fill_columns(rows, out, exponent)
            else:
                self._fill_selected(rows, out, exponent, columns)
        if self.gamma is not None:
            self.exponential(rows, out, self.gamma)

    # Scale: rows are compared at a common exponent.

    def _exponent_groups(self) -> Iterator[tuple[int | None, Array | None]]:
        """Columns that can share an exponent: (exponent or None for unscaled, columns or None for all)."""
        single = self.dtype == np.float32
        used = np.concatenate([x.exponents[~x.empty] for x in (self.a, self.b)])
        low, high = (int(used.min()), int(used.max())) if len(used) else (0, 0)
        top = (125 if single else 1021) - int(self.a.n_features).bit_length()
        as_given = self.a.norm is not None or not self.a.changes_values
        if as_given and low >= (-100 if single else -960) and high <= top:
            yield None, None
        elif high - low <= (60 if single else 600):
            yield high, None
        else:
            span = 40 if single else 400
            order = np.argsort(self.b.exponents, kind="stable")
            sorted_exponents = self.b.exponents[order]
            start = 0
            while start < len(order):
                stop = int(np.searchsorted(sorted_exponents, sorted_exponents[start] + span, side="right"))
                yield int(sorted_exponents[stop - 1]), order[start:stop]
                start = stop

    def _shift(self, operand: Operand, exponent: int | None, rows: Any) -> Array | None:
        """Clipped where the other side is so much larger, or smaller, that the kernel is below 1e-13."""
        if exponent is None:
            return None
        low, high = (-100, 60) if self.dtype == np.float32 else (-1000, 600)
        return np.asarray(np.clip(operand.exponents[rows] - exponent, low, high))

    def _fill_selected(self, rows: slice, out: Array, exponent: int | None, columns: Array) -> None:
        """Columns that do not lie side by side: gathered, computed, scattered."""
        b = self.b
        row_bytes = 8 * max(1, b.n_values() // b.n_rows if b.sparse else b.n_features)
        for part in row_batches(len(columns), row_bytes, BLOCK_BYTES):
            chosen = columns[part]
            selected = Operand(b.X[chosen], b.name, b.dtype, center=b.center, p=b.p, norm=b.norm)
            for a_rows in self.a.batches(rows, whole=False):
                block = np.empty((a_rows.stop - a_rows.start, len(chosen)), self.dtype)
                self._call(a_rows, selected, slice(0, len(chosen)), exponent, block, symmetric=False)
                out[a_rows.start - rows.start : a_rows.stop - rows.start, chosen] = block

    def _fill_columns(self, rows: slice, out: Array, exponent: int | None) -> None:
        symmetric = self.b is self.a and rows == slice(0, self.shape[0])
        batches: Callable[[Operand, slice], Iterator[slice]] = lambda x, r: (  # noqa: E731
            x.csr_batches if self.method == "sparse" else x.batches
        )(r, self._whole(x, exponent))
        all_columns = slice(0, self.shape[1])
        for a_rows in batches(self.a, rows):
            top = slice(a_rows.start - rows.start, a_rows.stop - rows.start)
            for b_rows in batches(self.b, all_columns):
                if symmetric and b_rows.start < a_rows.start:
                    out[top, b_rows] = out[b_rows, top].T
                else:
                    self._call(
                        a_rows, self.b, b_rows, exponent, out[top, b_rows], symmetric and a_rows == b_rows
                    )

    def _whole(self, operand: Operand, exponent: int | None) -> bool:
        if self.method == "bytes" or (self.method == "dense" and operand.sparse):
            return False
        return operand.plain and exponent is None and operand.sparse == (self.method == "sparse")

    # Arithmetic.

    def _call(
        self, a_rows: slice, b: Operand, b_rows: slice, exponent: int | None, out: Array, symmetric: bool
    ) -> None:
        a_shift, b_shift = self._shift(self.a, exponent, a_rows), self._shift(b, exponent, b_rows)
        end = (out, self.ratio, symmetric, self.threads)
        if self.method == "sparse":
            left = self.a.csr(a_rows, a_shift)
            self.backend.gmm_sparse(left, left if symmetric else b.csr(b_rows, b_shift), *end)
            return
        u = self.a.dense(a_rows, a_shift)
        v = u if symmetric else b.dense(b_rows, b_shift)
        if self.method == "dense":
            self.backend.gmm_dense(u, v, *end)
        else:
            u_bytes, u_norms = self._bytes(u)
            v_bytes, v_norms = (u_bytes, u_norms) if symmetric else self._bytes(v)
            self.backend.gmm_bytes(u_bytes, v_bytes, u_norms, v_norms, *end)

    def _bytes(self, x: Array) -> tuple[Array, Array]:
        """Rows of small integers as bytes, padded to groups of eight, and their L1 norms."""
        padded = np.zeros((len(x), -(-x.shape[1] // 8) * 8), np.uint8)
        norms = np.empty(len(x), self.dtype)
        for part in row_batches(len(x), 8 * x.shape[1], STEP_BYTES):
            padded[part, : x.shape[1]] = x[part] - self.offset
            norms[part] = np.abs(x[part]).sum(axis=1, dtype=np.float64)
        return padded, norms

    def _choose_method(self) -> str:
        a, b = self.a, self.b
        n, m, d = a.n_rows, b.n_rows, a.n_features
        if not a.sparse and not b.sparse:
            if self.groups == [(None, None)] and d <= BYTE_FEATURES and n * m * d >= BYTE_STEPS:
                return "bytes" if self._small_integers() else "dense"
            return "dense"
        if d > DENSE_FEATURES:
            return "sparse"
        counts = [
            np.bincount(x.X.indices[: x.n_values()], minlength=d).astype(np.float64)
            if x.sparse
            else np.full(d, float(x.n_rows))
            for x in (a, b)
        ]
        sparse_cost = counts[0] @ np.minimum(SHARED_COST * counts[1], COLUMN_COST * m) + PAIR_COST * n * m
        return "sparse" if sparse_cost < DENSE_COST * n * m * d else "dense"

    def _small_integers(self) -> bool:
        """Whether all values are integers in [-255, 255] that span at most 255; sets the offset."""
        low, high = np.inf, -np.inf
        for operand in (self.a,) if self.b is self.a else (self.a, self.b):
            if operand.changes_values:
                return False
            for rows in row_batches(operand.n_rows, 8 * operand.n_features, STEP_BYTES):
                x = operand.X[rows]
                if x.dtype.kind == "f" and not np.array_equal(x, np.rint(x)):
                    return False
                low, high = min(low, float(x.min())), max(high, float(x.max()))
                if high - low > 255 or low < -255 or high > 255:
                    return False
        self.offset = int(low)
        return True


class CorrelationPlan(Plan):
    """Cosines of rows, by BLAS on rows of unit norm; or their exponential."""

    FEATURES = 8192  # summed by one float32 product before they go to a float64

    def __init__(self, a: Operand, b: Operand, gamma: float | None = None) -> None:
        super().__init__(a, b)
        self.gamma = gamma

    def fill(self, rows: slice, out: Array) -> None:
        sparse_side = self.a.sparse or self.b.sparse
        for b_rows in self._batches(self.b, slice(0, self.shape[1]), sparse_side):
            right = self._rows(self.b, b_rows)
            for a_rows in self._batches(self.a, rows, sparse_side):
                top = slice(a_rows.start - rows.start, a_rows.stop - rows.start)
                left = right if self.a is self.b and a_rows == b_rows else self._rows(self.a, a_rows)
                self._multiply(left, right, out[top, b_rows])
        if self.a is self.b:
            own = np.arange(rows.start, rows.stop)
            out[own - rows.start, own] = ~self.a.empty[rows]
        if self.gamma is not None:
            self.exponential(rows, out, self.gamma)

    def _batches(self, operand: Operand, rows: slice, sparse_side: bool) -> Iterator[slice]:
        if not sparse_side:
            return operand.batches(rows, whole=False)
        # A sparse product takes up to 16 bytes a pair: squares of 1024 x 1024 pairs, and a block of values.
        parts = (
            slice(r.start + rows.start, r.stop + rows.start)
            for r in row_batches(rows.stop - rows.start, 1, 1024)
        )
        return (s for part in parts for s in operand.csr_batches(part, whole=False))

    def _rows(self, operand: Operand, rows: slice) -> Any:
        if not operand.sparse:
            return operand.dense(rows, None)
        from scipy import sparse

        found = operand.csr(rows, None)
        shape = (rows.stop - rows.start, operand.n_features)
        return sparse.csr_array((found.data, found.indices, found.indptr), shape=shape)

    def _multiply(self, left: Any, right: Any, out: Array) -> None:
        if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
            product = left.astype(np.float64) @ right.astype(np.float64).T
            out[...] = product if isinstance(product, np.ndarray) else product.toarray()
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
