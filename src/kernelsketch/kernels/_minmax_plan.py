"""MinMaxPlan: the choice of the arithmetic (dense, bytes, sparse), the scale and the blocks of min-max kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import row_batches
from ..backends import CsrRows, Ratio, backend_for
from ._operand import STEP_BYTES, Operand
from ._plan import Plan, transpose

Array = NDArray[Any]

# Bytes of prepared rows held at a time. Rows of b are prepared again for each block of a, so a gets more memory.
A_BYTES, B_BYTES = 1 << 24, 1 << 23
# Costs in seconds, measured on one thread. Dense kernel: per pair and feature. Sparse kernel: per pair, per shared
# feature of a pair, and per nonzero and row for features that are common enough to be kept as a column. Conversion of a
# sparse row to a dense row: per feature and per nonzero.
DENSE_COST, PAIR_COST, SHARED_COST, COLUMN_COST = 0.03e-9, 0.6e-9, 2.0e-9, 0.25e-9
ZERO_COST, SCATTER_COST = 0.3e-9, 15e-9
# Sparse data with more features than this are never converted to dense rows.
DENSE_FEATURES = 1 << 20
# The arithmetic on bytes is exact up to this number of features. Below this number of steps (pairs times features)
# the search for small integers does not pay.
BYTE_FEATURES, BYTE_STEPS = 16384, 10**8

# Limits of the scale, as powers of two. Rows whose exponents lie in SAFE are compared as they are. Rows whose exponents
# lie within SPAN of each other are brought to a common exponent. All others are compared in float64, in groups of rows
# whose exponents lie within GROUP. If two exponents differ by more than FAR, the kernel is below 2^-480 and set to 0.
SAFE = {np.dtype(np.float32): (-100, 125), np.dtype(np.float64): (-960, 1021)}
SPAN = {np.dtype(np.float32): 60, np.dtype(np.float64): 600}
GROUP, FAR = 400, 500


class MinMaxPlan(Plan):
    """Compute a min-max kernel by the back end.

    Parameters
    ----------
    a, b : Operand
        The two sides of the kernel.
    ratio : Ratio
        What the kernel makes of the sums of minima and maxima.
    threads : int
        Number of threads.
    gamma : float or None
        Parameter of the exponential of the kernel. None means no exponential.
    """

    def __init__(self, a: Operand, b: Operand, ratio: Ratio, threads: int, gamma: float | None = None) -> None:
        super().__init__(a, b, gamma)
        self.ratio = ratio
        self.backend = backend_for(*a.rows.arrays, *b.rows.arrays, threads=threads)
        self.exponent, self.wide = self._choose_scale()
        self.offset = 0
        self.method = self._choose_method()

    def _fill(self, rows: slice, out: Array) -> None:
        if self.wide:
            self._fill_wide(rows, out)
            return
        symmetric = self._is_symmetric(rows)
        for a_rows in self._batches(self.a, rows, A_BYTES):
            top = slice(a_rows.start - rows.start, a_rows.stop - rows.start)
            left = self._prepare(self.a, a_rows, self._shift(self.a, a_rows), self.dtype)
            for b_rows in self._batches(self.b, slice(0, self.shape[1]), A_BYTES if symmetric else B_BYTES):
                target = out[top, b_rows]
                if symmetric and b_rows.start < a_rows.start:
                    transpose(out[b_rows, top], target)
                elif symmetric and b_rows == a_rows:
                    self._compute(left, left, target, symmetric=True)
                else:
                    right = self._prepare(self.b, b_rows, self._shift(self.b, b_rows), self.dtype)
                    self._compute(left, right, target, symmetric=False)
                    del right  # frees the memory before the next block is prepared
            del left

    # Scale.

    def _choose_scale(self) -> tuple[int | None, bool]:
        """Return the common exponent of all rows, and whether one exponent is not enough. None means unscaled rows."""
        used = np.concatenate([x.exponents[~x.empty] for x in (self.a, self.b)])
        low, high = (int(used.min()), int(used.max())) if len(used) else (0, 0)
        least, most = SAFE[self.dtype]
        as_given = self.a.norm is not None or not self.a.changes_values
        if as_given and low >= least and high <= most - int(self.a.n_features).bit_length():
            return None, False
        return high, high - low > SPAN[self.dtype]

    def _shift(self, operand: Operand, rows: slice) -> Array | None:
        return None if self.exponent is None else operand.exponents[rows] - self.exponent

    def _fill_wide(self, rows: slice, out: Array) -> None:
        """Fill the rows in float64, one group of columns with similar exponents after the other."""
        b = self.b
        row_bytes = 8 * max(1, b.n_values() // b.n_rows if b.sparse else b.n_features)
        order = np.argsort(b.exponents, kind="stable")
        exponents = b.exponents[order]
        start = 0
        while start < len(order):
            stop = int(np.searchsorted(exponents, exponents[start] + GROUP, side="right"))
            exponent = int(exponents[stop - 1])
            for part in row_batches(stop - start, row_bytes, B_BYTES):
                columns = order[start + part.start : start + part.stop]
                chosen = Operand(b.rows.take(columns), b.name, np.float64, center=b.center, p=b.p, norm=b.norm)
                shift = chosen.exponents - exponent
                right = self._prepare(chosen, slice(0, len(columns)), shift, np.float64)
                most_rows = max(1, B_BYTES // (8 * len(columns)))
                for a_rows in self._batches(self.a, rows, B_BYTES, most_rows):
                    gap = self.a.exponents[a_rows] - exponent
                    left = self._prepare(self.a, a_rows, np.clip(gap, -GROUP - FAR, FAR), np.float64)
                    block = self._compute(left, right, None, symmetric=False)
                    block[np.abs(gap[:, None] - shift[None, :]) > FAR] = 0
                    out[a_rows.start - rows.start : a_rows.stop - rows.start, columns] = block
            start = stop

    # Blocks and arithmetic.

    def _batches(self, operand: Operand, rows: slice, size: int, most_rows: int | None = None) -> Iterator[slice]:
        """Yield ranges of rows to process at a time. If nothing has to be prepared, one range has all rows."""
        in_form = operand.sparse == (self.method == "sparse")
        whole = in_form and operand.plain and self.exponent is None and self.method != "bytes"
        ranges = operand.csr_batches if self.method == "sparse" else operand.batches
        for part in ranges(rows, None if whole else size):
            step = most_rows or part.stop - part.start
            for start in range(part.start, part.stop, step):
                yield slice(start, min(start + step, part.stop))

    def _prepare(self, operand: Operand, rows: slice, shift: Array | None, dtype: Any) -> Any:
        """Return rows in the form that the chosen arithmetic takes."""
        if self.method == "sparse":
            return operand.csr(rows, shift, dtype)
        dense = operand.dense(rows, shift, dtype)
        return self._bytes(dense) if self.method == "bytes" else dense

    def _compute(self, left: Any, right: Any, out: Array | None, symmetric: bool) -> Array:
        if self.method == "sparse":
            return self.backend.gmm_sparse(left, right, self.ratio, symmetric=symmetric, out=out)
        if self.method == "dense":
            return self.backend.gmm_dense(left, right, self.ratio, symmetric=symmetric, out=out)
        return self.backend.gmm_bytes(left[0], right[0], left[1], right[1], self.ratio, symmetric=symmetric, out=out)

    def _bytes(self, x: Array) -> tuple[Array, Array]:
        """Return rows of small integers as bytes, padded to groups of eight features, and their L1 norms."""
        padded, norms = self.backend.to_bytes(x, self.offset, -(-x.shape[1] // 8) * 8)
        return padded, norms.astype(self.dtype)

    def _choose_method(self) -> str:
        a, b = self.a, self.b
        n, m, d = a.n_rows, b.n_rows, a.n_features
        if not a.sparse and not b.sparse:
            if self.exponent is None and d <= BYTE_FEATURES and n * m * d >= BYTE_STEPS:
                return "bytes" if self._small_integers() else "dense"
            return "dense"
        if d > DENSE_FEATURES:
            return "sparse"
        counts = [_feature_counts(x) for x in (a, b)]
        sparse_cost = counts[0] @ np.minimum(SHARED_COST * counts[1], COLUMN_COST * m) + PAIR_COST * n * m
        times_b = -(-n * d * self.dtype.itemsize // A_BYTES)  # b is converted to dense rows for each block of a
        made_dense = sum(
            times * (ZERO_COST * x.n_rows * d + SCATTER_COST * x.n_values())
            for x, times in ((a, 1), (b, times_b))
            if x.sparse
        )
        return "sparse" if sparse_cost < DENSE_COST * n * m * d + made_dense else "dense"

    def _small_integers(self) -> bool:
        """Return whether all values are integers in [-255, 255] whose range is at most 255. Sets the offset."""
        both = (self.a, self.b)
        if any(x.changes_values or x.sparse or not x.measure.small for x in both):
            return False
        low, high = min(x.measure.low for x in both), max(x.measure.high for x in both)
        self.offset = int(low)
        return high - low <= 255


def _feature_counts(operand: Operand) -> Array:
    """Return the number of rows that have each feature."""
    if not isinstance(operand.rows, CsrRows):
        return np.full(operand.n_features, float(operand.n_rows))
    counts = np.zeros(operand.n_features)
    for part in row_batches(operand.n_values(), 8, STEP_BYTES):
        found = np.bincount(operand.rows.indices[part], minlength=operand.n_features)
        counts += operand.backend.to_numpy(found)
    return counts
