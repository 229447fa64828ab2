"""Operand: one side of a kernel, that is checked rows and their preparation.

Preparation subtracts the center, raises values to a power and scales rows. It works block by block, so that no copy of
the whole input exists. Rows that need no preparation and have the right dtype and layout are used without a copy.

Every row has an exponent, that of the ``p``-th power of its largest entry. A prepared row is ``values * 2**exponent``
with the largest value in [1/2, 2). The rows that are compared get a common exponent, so that values from the smallest
to the largest float, to any power, neither overflow nor underflow. See docs/decisions/0004-range.rst.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np

from .._array import Array
from .._validation import check_finite, row_batches
from ..backends import CsrRows, DenseRows, Measure, Rows, Values, backend_for

STEP_BYTES = 1 << 20  # bytes of float64 values processed at a time, which stay in the cache
SMALL, LIFT = 2.0**-500, 550  # rows of smaller entries are multiplied by 2**LIFT before a power below 1 is taken


class Operand:
    """Checked rows of one side of a kernel, prepared block by block: centered, to a power ``p`` or scaled to a norm.

    ``exponents`` (int64) has the exponent of each row, 0 for an empty row and with a norm, for which ``p`` is 1.
    ``empty`` says which rows have no nonzero value after centering. ``name`` is that of the argument in messages.
    """

    def __init__(
        self,
        rows: Rows,
        name: str,
        dtype: Any,
        *,
        center: Array | None = None,
        p: float = 1.0,
        norm: int | None = None,
        backend: Values | None = None,
        measure: Measure | None = None,
    ) -> None:
        self.rows, self.name, self.dtype = rows, name, np.dtype(dtype)
        self.backend = backend_for(*rows.arrays) if backend is None else backend
        self.center, self.p, self.norm = center, p, norm
        self.n_rows, self.n_features = rows.shape
        self.sparse = rows.sparse
        self.changes_values = center is not None or p != 1.0 or norm is not None
        # The largest entry of row i after centering is _sizes[i] * 2**_halved[i].
        self.measure = self.backend.measure(rows) if measure is None else measure
        self._sizes, self._halved = self._centered_sizes()
        self.empty = self._sizes == 0
        sizes = np.where(self.empty, 1.0, self._sizes)
        self.exponents = self.backend.zeros((self.n_rows,), np.int64)
        if norm is None and p == 1.0:
            self.exponents[:] = np.where(self.empty, 0, np.frexp(sizes)[1] + self._halved)
        self._fraction: Array | None = None  # the p-th power of the largest entry is 2**(exponent + fraction)
        if norm is None and p != 1.0:
            part, exponent = np.frexp(sizes)
            whole, rest = _multiple(p, exponent + self._halved)
            rest = rest + p * np.log2(part)
            self.exponents[:] = whole + np.floor(rest)
            self._fraction = rest - np.floor(rest)
        self._sizes = sizes

    @property
    def plain(self) -> bool:
        """Whether unscaled rows can be used without a copy."""
        return not self.changes_values and self.rows.dtype == self.dtype and self.rows.contiguous

    def take(self, rows: Array) -> Operand:
        """Return the operand of a copy of some rows, given by their numbers."""
        chosen, part = self.backend.from_numpy(rows), copy(self)
        part.n_rows, part.empty, part.exponents = len(rows), self.empty[chosen], self.exponents[chosen]
        part._sizes, part._halved = self._sizes[chosen], self._halved[chosen]
        if self._fraction is not None:
            part._fraction = self._fraction[chosen]
        if isinstance(self.rows, DenseRows):
            part.rows = self.rows.take(chosen)
            return part
        begin, end = self.rows.indptr[chosen], self.rows.indptr[chosen + 1]
        indptr = self.backend.zeros((len(rows) + 1,), np.int64)
        indptr[1:] = np.cumsum(end - begin)
        source = self.backend.from_numpy(np.arange(int(indptr[-1]))) + self._spread(begin - indptr[:-1], indptr)
        part.rows = CsrRows(indptr, self.rows.indices[source], self.rows.data[source], self.n_features)
        return part

    def batches(self, rows: slice, size: int | None) -> Iterator[slice]:
        """Yield ranges of rows whose prepared values take at most ``size`` bytes. None gives one range."""
        if size is None:
            yield rows
            return
        for part in row_batches(rows.stop - rows.start, self.n_features * self.dtype.itemsize, size):
            yield slice(rows.start + part.start, rows.start + part.stop)

    def csr_batches(self, rows: slice, size: int | None) -> Iterator[slice]:
        """Yield ranges of rows as :meth:`batches` does, for rows that are prepared in CSR form."""
        if not isinstance(self.rows, CsrRows) or size is None:
            yield from self.batches(rows, size)
            return
        start = rows.start
        while start < rows.stop:
            stop = rows.stop
            if self.rows.indptr[stop] - self.rows.indptr[start] > size // 16:
                room = self.rows.indptr[start] + size // 16
                stop = min(stop, max(start + 1, int(np.searchsorted(self.rows.indptr, room, side="right")) - 1))
            yield slice(start, stop)
            start = stop

    def dense(self, rows: slice, shift: Array | None, dtype: Any = None) -> Any:
        """Return prepared rows in C order, each multiplied by ``2**shift``. None for ``shift`` leaves them unscaled."""
        dtype = self.dtype if dtype is None else dtype
        if isinstance(self.rows, DenseRows) and not self.changes_values and shift is None:
            return self.rows.values[rows].astype(dtype, order="C", copy=False)
        block = self.backend.zeros((rows.stop - rows.start, self.n_features), dtype)
        for part in row_batches(len(block), 8 * self.n_features, STEP_BYTES):
            source = slice(rows.start + part.start, rows.start + part.stop)
            shifts = None if shift is None else shift[part]
            if self.sparse:
                piece = self.csr(source, shifts, dtype)
                first = self._spread(self.backend.from_numpy(self.n_features * np.arange(len(piece))), piece.indptr)
                block[part].reshape(-1)[first + piece.indices] = piece.data
            else:
                block[part] = self._prepared(source, shifts)
        return block

    def csr(self, rows: slice, shift: Array | None, dtype: Any = None) -> CsrRows:
        """Return prepared rows in CSR form, scaled as by :meth:`dense`."""
        dtype = self.dtype if dtype is None else dtype
        if not isinstance(self.rows, CsrRows):
            dense = self.dense(rows, shift, dtype)
            if self.backend.place is None:
                return DenseRows(dense).to_csr()
            row, feature = np.nonzero(dense)
            numbers = self.backend.from_numpy(np.arange(len(dense) + 1))
            return CsrRows(np.searchsorted(row, numbers), feature, dense[row, feature], self.n_features)
        part = self.rows.part(rows)
        data = part.data
        if self.changes_values or shift is not None:
            data = self._prepared_csr(rows, data, part.indptr, shift)
        return CsrRows(part.indptr, part.indices, data.astype(dtype, copy=False), self.n_features)

    # Preparation itself, in float64.

    def _shifted(self, rows: slice) -> tuple[Array, Array]:
        """Return rows minus the center, and 1 for each row that was halved to avoid an overflow."""
        assert isinstance(self.rows, DenseRows)
        x = self.rows.values[rows].astype(np.float64, order="C")  # C: sums must not depend on the layout
        halved = self.backend.zeros((len(x),), np.int64)
        if self.center is not None:
            with np.errstate(over="ignore"):
                z = x - self.center
            over = ~np.isfinite(z).all(axis=1)
            z[over] = x[over] / 2 - self.center / 2
            halved[over] = 1
            x = z
        return x, halved

    def _prepared(self, rows: slice, shift: Array | None) -> Any:
        scaled = self._scaled(self._shifted(rows)[0], rows, lambda per_row: per_row[:, None])
        if self.norm is not None:
            length = np.linalg.norm(scaled, self.norm, axis=1, keepdims=True)
            scaled /= np.where(length > 0, length, 1.0)
        return scaled if shift is None else (np.ldexp(scaled, shift[:, None]))

    def _prepared_csr(self, rows: slice, data: Array, indptr: Array, shift: Array | None) -> Any:
        scaled = self._scaled(data.astype(np.float64), rows, lambda per_row: self._spread(per_row, indptr))
        if self.norm is not None:
            sums = self._row_sums(np.abs(scaled) ** self.norm, indptr)
            lengths = sums if self.norm == 1 else np.sqrt(sums)
            scaled /= self._spread(np.where(lengths > 0, lengths, 1.0), indptr)
        return scaled if shift is None else (np.ldexp(scaled, self._spread(shift, indptr)))

    def _scaled(self, z: Array, rows: slice, spread: Any) -> Any:
        """Return signed p-th powers divided by two to the power of the row's exponent.

        With a norm, values are divided by the largest entry of the row instead, so that squares neither overflow nor
        underflow. ``spread`` repeats one value per row over the entries of the row.
        """
        if self.norm is not None:
            return z / spread(self._sizes[rows])
        if self.p == 1.0:
            return np.ldexp(z, spread(self._halved[rows] - self.exponents[rows]))
        # The order of operations avoids underflow: powers first for a small p, quotients first for a large p.
        if self.p < 1.0:
            # The value of an entry is that of z times 2**lift.
            lift = np.where(self._sizes[rows] < SMALL, -LIFT, self._halved[rows])
            small = bool((lift < 0).any())  # powers of the smallest floats would lose bits
            powers = np.abs(np.ldexp(z, spread(np.maximum(-lift, 0))) if small else z) ** self.p
            whole, rest = _multiple(self.p, lift)
            shift = whole.astype(np.int64) - self.exponents[rows]
            if bool(lift.any()):
                powers = powers * spread(np.exp2(rest))
            return np.copysign(np.ldexp(powers, spread(shift)), z)
        assert self._fraction is not None
        powers = (np.abs(z) / spread(self._sizes[rows])) ** self.p
        return np.copysign(powers * spread(np.exp2(self._fraction[rows])), z)

    def _centered_sizes(self) -> tuple[Array, Array]:
        """Return the largest absolute value of each row after `_shifted`, and 1 for each row that was halved.

        NaN and infinity are refused.
        """
        sizes, halved = self.measure.sizes, self.backend.zeros((self.n_rows,), np.int64)
        if not np.isfinite(sizes).all():
            self._refuse()
        if self.center is not None:
            sizes = self.backend.zeros((self.n_rows,), np.float64)
            for rows in row_batches(self.n_rows, 8 * self.n_features, STEP_BYTES):
                z, halved[rows] = self._shifted(rows)
                sizes[rows] = np.abs(z).max(axis=1)
        return sizes, halved

    def _refuse(self) -> None:
        """Say where the first value is that is not finite."""
        row = int(np.argmin(np.isfinite(self.measure.sizes)))
        if isinstance(self.rows, CsrRows):
            begin, end = int(self.rows.indptr[row]), int(self.rows.indptr[row + 1])
            check_finite(self.rows.data[begin:end], self.name, lambda k: (row, int(self.rows.indices[begin + k])))
        else:
            check_finite(self.rows.values[row].astype(np.float64), self.name, lambda k: (row, k))

    def _row_sums(self, values: Array, indptr: Array) -> Array:
        """Return the sum of each row of CSR values."""
        sums = self.backend.zeros((len(indptr) - 1,), np.float64)
        stored = np.flatnonzero(np.diff(indptr))
        if len(stored):
            sums[stored] = np.add.reduceat(values, indptr[stored])
        return sums

    def _spread(self, per_row: Array, indptr: Array) -> Any:
        """Repeat one value per row for each of the CSR values of the row."""
        if self.backend.place is None:
            return np.repeat(per_row, np.diff(indptr))
        numbers = self.backend.from_numpy(np.arange(int(indptr[-1])))  # array libraries repeat by one number only
        return per_row[np.searchsorted(indptr, numbers, side="right") - 1]


def _multiple(p: float, k: Array) -> tuple[Array, Array]:
    """Return the product of p and integers below 2^12 as an integer and a rest, which is accurate by itself.

    The product with the leading 40 bits of p is exact.
    """
    part, exponent = math.frexp(p)
    high = math.ldexp(math.floor(math.ldexp(part, 40)), exponent - 40)
    whole = np.floor(high * k)
    return whole, (high * k - whole) + (p - high) * k
