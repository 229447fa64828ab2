"""MinMaxPlan: the arithmetic (dense, bytes, sparse), the scale and the blocks of min-max kernels.

The arithmetic of a pair of rows follows from these two rows and from the form of X and Y (dense or sparse, float32 or
float64), so that other rows of the call cannot change the result. Each row has a kind, and the kinds of two rows decide
how they are compared. Ordinary data has one kind of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._array import Array
from ..backends import ByteRows, CsrRows, Kernels, Ratio, backend_for
from ._operand import Operand
from ._plan import Plan, transpose

Index = slice | Array  # rows or columns of the matrix: a range, or their numbers

# Bytes of prepared rows held at a time. Rows of b are prepared again for each block of a, so a gets more memory.
A_BYTES, B_BYTES = 1 << 24, 1 << 23
# Rows of a group that does not take the whole side are copied and compared this many at a time.
GROUP_ROWS = 1 << 10
# Sparse rows that store at least one of this many features are compared as dense rows: if both sides are sparse, and if
# one is dense. The dense kernel takes 0.03 ns per feature, the sparse kernel 2 ns per shared feature or 0.25 ns per
# nonzero, whichever is less. Sparse data with more features than DENSE_FEATURES are never converted to dense rows.
BOTH_SPARSE, ONE_SPARSE = 8, 64
DENSE_FEATURES = 1 << 20
# The arithmetic on bytes is exact up to this number of features. Below this number of steps (pairs times features)
# the search for small integers does not pay.
BYTE_FEATURES, BYTE_STEPS = 16384, 10**8

# Limits of the scale, as powers of two. Two rows whose exponents lie in SAFE are compared as they are. Other pairs are
# compared in float64, divided by the power of two in the middle of the bin of the larger row. If two exponents differ
# by more than BIN, the kernel is below 2^-480 and set to 0.
SAFE = {np.dtype(np.float32): (-100, 125), np.dtype(np.float64): (-960, 1021)}
BIN = 500


class Kind(NamedTuple):
    """What decides how a row is compared."""

    safe: bool  # the exponent of the row lies in SAFE
    bin: int  # its exponent lies in [BIN * (bin - 1/2), BIN * (bin + 1/2))
    full: bool  # it is compared as a dense row with other full rows


class Group(NamedTuple):
    """All rows of one kind."""

    kind: Kind
    rows: Index


class Pair(NamedTuple):
    """How rows of two kinds are compared."""

    method: str  # "dense", "bytes" or "sparse"
    dtype: Any  # of prepared rows
    exponent: int | None  # rows are divided by two to this power; None means rows as given
    in_place: bool  # whether the result needs no change


class Block(NamedTuple):
    """Rows that are prepared at a time: their numbers in the matrix, and where they are."""

    rows: Index
    operand: Operand
    part: slice

    @property
    def exponents(self) -> Array:
        return self.operand.exponents[self.part]


class MinMaxPlan(Plan):
    """Compute a min-max kernel by the back end: a ratio of the sums of minima and maxima, or its exponential."""

    def __init__(self, a: Operand, b: Operand, ratio: Ratio, threads: int, gamma: float | None = None) -> None:
        super().__init__(a, b, gamma)
        self.ratio = ratio
        self.backend: Kernels = backend_for(*a.rows.arrays, *b.rows.arrays, threads=threads)
        self.as_given = a.norm is not None or not a.changes_values
        self.least, self.most = SAFE[self.dtype]
        self.most -= int(a.n_features).bit_length()  # sums stay below the largest float
        sides = (a.exponents,) if b is a else (a.exponents, b.exponents)
        self.all_safe = all(bool(x.min() >= self.least) and bool(x.max() <= self.most) for x in sides)
        self.a_kinds = self._kinds(a)
        self.b_groups = _groups(self.a_kinds if b is a else self._kinds(b), slice(0, b.n_rows))
        self.offset = 0
        self.small = self._small_integers()

    def method(self, left: Kind, right: Kind) -> str:
        """Return the arithmetic of two kinds of rows. Bytes and dense rows give the same bits."""
        if not (left.full and right.full):
            return "sparse"
        return "bytes" if self.small else "dense"

    def _fill(self, rows: slice, out: Array) -> None:
        a_groups, b_groups = _groups(self.a_kinds, rows), self.b_groups
        symmetric = self._is_symmetric(rows)
        if len(a_groups) == len(b_groups) == 1 and a_groups[0].kind.safe and b_groups[0].kind.safe:
            self._compare(a_groups[0], b_groups[0], rows.start, out, symmetric)  # ordinary data
            return
        near = _near(a_groups, b_groups)
        if not near.all():
            out[...] = 0  # the kernel of rows that are far apart in size
        for i, j in np.argwhere(near).tolist():
            if not symmetric or j >= i:
                self._compare(a_groups[i], b_groups[j], rows.start, out, symmetric)

    def _compare(self, left: Group, right: Group, start: int, out: Array, symmetric: bool) -> None:
        """Fill in the kernel of two groups, and its transpose if symmetric. ``out`` begins with row ``start``."""
        pair = self._pair(left.kind, right.kind)
        if not (pair.in_place and isinstance(left.rows, slice) and isinstance(right.rows, slice)):
            left, right = _numbered(left), _numbered(right)
        same = symmetric and left.kind == right.kind
        for i, a in enumerate(self._blocks(self.a, left.rows, pair, A_BYTES)):
            first = self._prepare(a, pair)
            for j, b in enumerate(self._blocks(self.b, right.rows, pair, A_BYTES if same else B_BYTES)):
                if same and j < i:
                    continue
                on_diagonal = same and j == i
                second = first if on_diagonal else self._prepare(b, pair)
                a_rows = _moved(a.rows, -start)
                view = _view(out, a_rows, b.rows)
                block = self.backend.gmm(first, second, self.ratio, symmetric=on_diagonal, out=view)
                del second  # frees the memory before the next block is prepared
                if not pair.in_place:
                    block[np.abs(a.exponents[:, None] - b.exponents) > BIN] = 0
                if view is None:
                    out[self._cells(a_rows, b.rows)] = block
                if symmetric and not on_diagonal:
                    mirrored = _view(out, b.rows, a.rows)
                    if mirrored is None:
                        out[self._cells(b.rows, a.rows)] = block.T
                    else:
                        transpose(block, mirrored)
            del first

    def _pair(self, left: Kind, right: Kind) -> Pair:
        method = self.method(left, right)
        if left.safe and right.safe:
            return Pair(method, self.dtype, None if self.as_given else 0, in_place=True)
        exponent = BIN * max(left.bin, right.bin)
        wide = np.dtype(np.float64)
        return Pair(method, wide, exponent, in_place=self.dtype == wide and left.bin == right.bin)

    def _kinds(self, operand: Operand) -> Kind | Array:
        """Return the kind of each row as a row of integers, or one kind if it is that of all rows."""
        full: Any = True
        if isinstance(operand.rows, CsrRows):
            features = BOTH_SPARSE if self.a.sparse and self.b.sparse else ONE_SPARSE
            stored = np.diff(operand.backend.to_numpy(operand.rows.indptr))
            full = (stored * features >= operand.n_features) & (operand.n_features <= DENSE_FEATURES)
            full = bool(full[0]) if full.all() == full.any() else full
        if self.all_safe and isinstance(full, bool):
            return Kind(True, 0, full)
        kinds = np.empty((operand.n_rows, len(Kind._fields)), np.int64)
        exponents = operand.backend.to_numpy(operand.exponents)
        kinds[:, 0] = (exponents >= self.least) & (exponents <= self.most)
        kinds[:, 1] = 0 if self.all_safe else (exponents + BIN // 2) // BIN  # safe rows are compared alike
        kinds[:, 2] = full
        return _kind(kinds[0]) if (kinds == kinds[0]).all() else kinds

    def _blocks(self, operand: Operand, rows: Index, pair: Pair, size: int) -> Iterator[Block]:
        """Yield the rows to process at a time. If nothing has to be prepared, one block has all rows of a range."""
        sparse = pair.method == "sparse"
        if isinstance(rows, slice):
            in_form = operand.sparse == sparse and pair.method != "bytes"
            whole = in_form and operand.plain and pair.exponent is None
            for part in (operand.csr_batches if sparse else operand.batches)(rows, None if whole else size):
                yield Block(part, operand, part)
            return
        for start in range(0, len(rows), GROUP_ROWS):
            chosen = operand.take(rows[start : start + GROUP_ROWS])
            for part in (chosen.csr_batches if sparse else chosen.batches)(slice(0, chosen.n_rows), B_BYTES):
                yield Block(rows[start + part.start : start + part.stop], chosen, part)

    def _prepare(self, block: Block, pair: Pair) -> Any:
        """Return rows in the form that the arithmetic takes."""
        operand, rows = block.operand, block.part
        shift = None if pair.exponent is None else block.exponents - pair.exponent
        if pair.method == "sparse":
            return operand.csr(rows, shift, pair.dtype)
        dense = operand.dense(rows, shift, pair.dtype)
        return self._bytes(dense) if pair.method == "bytes" else dense

    def _bytes(self, x: Array) -> ByteRows:
        """Return rows of small integers as bytes, padded to groups of eight features, and their L1 norms."""
        found = self.backend.to_bytes(x, self.offset, -(-x.shape[1] // 8) * 8)
        return found._replace(norms=found.norms.astype(self.dtype))

    def _small_integers(self) -> bool:
        """Return whether all values are integers in [-255, 255] whose range is at most 255. Sets the offset."""
        both, (n, m), d = (self.a, self.b), self.shape, self.a.n_features
        if d > BYTE_FEATURES or n * m * d < BYTE_STEPS:
            return False
        if any(x.changes_values or x.sparse or not x.measure.small for x in both):
            return False
        low, high = min(x.measure.low for x in both), max(x.measure.high for x in both)
        self.offset = int(low)
        return high - low <= 255

    def _cells(self, rows: Index, columns: Index) -> tuple[Any, Any]:
        """Return the index of a rectangle of the matrix, where the matrix lives."""
        first, second = (self.a.backend.from_numpy(np.asarray(x)) for x in (rows, columns))
        return first[:, None], second


def _groups(kinds: Kind | Array, rows: slice) -> list[Group]:
    """Return the groups of the given rows. If they are of one kind, their group holds the range."""
    if isinstance(kinds, Kind):
        return [Group(kinds, rows)]
    distinct, group_of = np.unique(kinds[rows], axis=0, return_inverse=True)
    if len(distinct) == 1:
        return [Group(_kind(distinct[0]), rows)]
    order = np.argsort(group_of.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(group_of.ravel()))[:-1]
    parts = np.split(rows.start + order, ends)
    return [Group(_kind(kind), part) for kind, part in zip(distinct, parts, strict=True)]


def _near(left: list[Group], right: list[Group]) -> Array:
    """Return which groups may have a similarity above 0: safe ones, and those of adjacent bins."""
    (a_safe, a_bins), (b_safe, b_bins) = (np.array([group.kind[:2] for group in side]).T for side in (left, right))
    return np.asarray((a_safe[:, None] & b_safe).astype(bool) | (np.abs(a_bins[:, None] - b_bins) <= 1))


def _kind(values: Array) -> Kind:
    return Kind(bool(values[0]), int(values[1]), bool(values[2]))


def _numbered(group: Group) -> Group:
    rows = group.rows
    return group._replace(rows=np.arange(rows.start, rows.stop)) if isinstance(rows, slice) else group


def _moved(rows: Index, by: int) -> Index:
    return slice(rows.start + by, rows.stop + by) if isinstance(rows, slice) else rows + by


def _view(out: Array, rows: Index, columns: Index) -> Array | None:
    """Return the part of the matrix that a back end can write to, if both are ranges."""
    return out[rows, columns] if isinstance(rows, slice) and isinstance(columns, slice) else None
