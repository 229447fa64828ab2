"""Hasher: what makes a hash the one it is, and the three things it makes of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._validation import row_batches
from ..backends import HASH_VERSION, GcwsParams, Rows, backend_for
from ..exceptions import InputError
from ._poisson import poisson_counts

if TYPE_CHECKING:
    from ._codes import PackedCodes

Array = NDArray[Any]

STEP_BYTES = 1 << 25  # of scratch: codes before they are packed, samples before they are joined


@dataclass(frozen=True, eq=False)
class Hasher:
    """A hash: everything that codes depend on besides the rows. Codes can be compared only where these are equal.

    The number of features is no part of it: a row with fewer features is one whose others are 0.

    Parameters
    ----------
    n_components : int
        Number of hashes per row, the paper's k. The first hashes of a longer hash are those of a shorter one.
    seed : int
        From 0 to 2**64 - 1.
    bits, t_bits : int
        Bits of the drawn feature and of t* that a code keeps.
    p : float
        Power of the pGMM kernel.
    gamma : float or None
        Of the exponential kernels; None for GMM and pGMM.
    center : float64 array or None
        Subtracted from dense rows first.
    """

    n_components: int
    seed: int
    bits: int = 8
    t_bits: int = 0
    p: float = 1.0
    gamma: float | None = None
    center: Array | None = None
    hash_version: int = HASH_VERSION

    @property
    def width(self) -> int:
        """Bits per code."""
        return self.bits + self.t_bits

    def difference(self, other: Hasher, *, ignore: tuple[str, ...] = ()) -> str | None:
        """The first thing in which two hashes differ, in words. None if they are the same."""
        for name in ("hash_version", "seed", "p", "gamma", "n_components", "bits", "t_bits"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if name not in ignore and mine != theirs:
                return f"{name} {mine} against {theirs}"
        mine, theirs = (np.zeros(0) if c is None else c for c in (self.center, other.center))
        if not np.array_equal(mine, theirs):
            return "center"
        return None

    def leading(self, n_components: int) -> Hasher:
        """The first hashes of this one."""
        return replace(self, n_components=n_components)

    def check(self, rows: Rows) -> None:
        """Refuse rows that this hash cannot take: a center does not go with sparse rows, nor with huge values."""
        if self.center is None:
            return
        if rows.sparse:
            raise InputError(
                "center cannot be used with sparse data: subtracting it would fill the zeros. "
                "Pass center=None, or a dense array if it fits in memory."
            )
        if rows.n_features != len(self.center):
            raise InputError(
                f"center must have one value per feature, shape ({rows.n_features},), got shape {self.center.shape}."
            )
        (values,) = rows.arrays
        largest = max(abs(float(values.max())), abs(float(values.min()))) + float(np.abs(self.center).max())
        if not np.isfinite(largest):
            raise InputError("X minus center can pass the largest float: scale X and center down first.")

    def codes(self, rows: Rows, *, threads: int = 1) -> PackedCodes:
        """Packed codes of checked rows, where the rows live."""
        from ._codes import PackedCodes

        self.check(rows)
        backend = backend_for(*rows.arrays, threads=threads)
        n, k, width = len(rows), self.n_components, self.width
        if self.gamma is None and width == 8:  # codes of 8 bits are their own packed form
            packed, empty = backend.gcws_codes(rows, self._params(), self.bits, self.t_bits)
            return PackedCodes(packed, empty, self, rows.n_features)
        packed = backend.empty((n, -(-k * width // 8)), np.uint8)
        empty = backend.empty((n,), np.bool_)
        if self.gamma is None:
            for part in row_batches(n, 4 * k, STEP_BYTES):
                codes, empty[part] = backend.gcws_codes(rows.part(part), self._params(), self.bits, self.t_bits)
                packed[part] = backend.pack(codes, width)
        else:
            for part, joined, flags in self._joined(rows, backend):
                codes = (joined & ((1 << self.bits) - 1)).astype(np.uint8 if width <= 8 else np.uint16)
                codes[flags] = 0
                packed[part], empty[part] = backend.pack(codes, width), flags
        return PackedCodes(packed, empty, self, rows.n_features)

    def samples(self, rows: Rows, *, threads: int = 1) -> tuple[Array, Array]:
        """Full samples (i*, t*) of checked rows, int64 (rows, hashes); i* is -1 for an empty row.

        With ``gamma``, i* is a 63-bit mix of the joined samples and t* is 0.
        """
        self.check(rows)
        backend = backend_for(*rows.arrays, threads=threads)
        if self.gamma is None:
            slots, t, _ = backend.gcws_samples(rows, self._params())
            return slots, t
        signatures = backend.empty((len(rows), self.n_components), np.int64)
        for part, joined, flags in self._joined(rows, backend):
            joined[flags] = -1
            signatures[part] = joined
        return signatures, backend.zeros(signatures.shape, np.int64)

    def fingerprints(self, rows: Rows, *, threads: int = 1) -> tuple[Array, Array]:
        """One byte per full sample, (rows, hashes), and flags of empty rows: what an index compares."""
        self.check(rows)
        return backend_for(*rows.arrays, threads=threads).gcws_fingerprints(rows, self._params())

    def _params(self, n_components: int | None = None) -> GcwsParams:
        return GcwsParams(self.n_components if n_components is None else n_components, self.seed, self.p, self.center)

    def _joined(self, rows: Rows, backend: Any) -> Iterator[tuple[slice, Array, Array]]:
        """Signatures of the exponential kernel, a few rows at a time: (rows, 63-bit mixes, flags of empty rows)."""
        counts = poisson_counts(self.seed, float(self.gamma or 0), self.n_components)
        total = int(counts.sum())
        params = self._params(max(total, 1))
        for part in row_batches(len(rows), 24 * max(total, 1), STEP_BYTES):
            slots, t, empty = backend.gcws_samples(rows.part(part), params)
            if total == 0:
                slots, t = slots[:, :0], t[:, :0]
            yield part, backend.concatenate(slots, t, backend.from_numpy(counts)), empty
