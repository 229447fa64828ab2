"""Hasher: the parameters of a hash, and the functions that turn rows into codes, samples and fingerprints."""

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

STEP_BYTES = 1 << 25  # scratch memory for codes before they are packed and samples before they are joined


@dataclass(frozen=True, eq=False)
class Hasher:
    """Hash rows to codes, samples or fingerprints.

    A hasher is an immutable value that holds everything that codes depend on, apart from the rows. Codes can be
    compared only if their hashers are equal. The number of features is not part of a hasher, because a code does not
    depend on features that are zero.

    Parameters
    ----------
    n_components : int
        Number of hashes per row, the paper's k. The first hashes do not depend on it.
    seed : int
        Seed from 0 to 2**64 - 1.
    bits : int, default=8
        Number of bits of i* that a code keeps.
    t_bits : int, default=0
        Number of bits of t* that a code keeps.
    p : float, default=1.0
        Power of the pGMM kernel.
    gamma : float or None, default=None
        Parameter of the exponential kernels. None means GMM or pGMM.
    center : float64 array or None, default=None
        Vector that is subtracted from dense rows first.
    hash_version : int
        Version of the hash function. Codes of different versions cannot be compared.
    """

    n_components: int
    seed: int
    bits: int = 8
    t_bits: int = 0
    p: float = 1.0
    gamma: float | None = None
    center: Array | None = None
    hash_version: int = HASH_VERSION

    def __post_init__(self) -> None:
        if self.center is not None and self.center.flags.writeable:  # a change would make another hash of this one
            center = self.center.copy()
            center.flags.writeable = False
            object.__setattr__(self, "center", center)

    @property
    def width(self) -> int:
        """Bits per code."""
        return self.bits + self.t_bits

    def difference(self, other: Hasher, *, ignore: tuple[str, ...] = ()) -> str | None:
        """Describe the first parameter in which two hashes differ. The result is None if they are equal."""
        for name in ("hash_version", "seed", "p", "gamma", "n_components", "bits", "t_bits"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if name not in ignore and mine != theirs:
                return f"{name} {mine} against {theirs}"
        mine, theirs = (np.zeros(0) if c is None else c for c in (self.center, other.center))
        if not np.array_equal(mine, theirs):
            return "center"
        return None

    def leading(self, n_components: int) -> Hasher:
        """Return the hasher of the leading ``n_components`` hashes."""
        return replace(self, n_components=n_components)

    def check(self, rows: Rows) -> None:
        """Raise an error for sparse rows with a center, and for values that overflow when the center is subtracted."""
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
            raise InputError("X minus center can exceed the largest float: scale X and center down first.")

    def codes(self, rows: Rows, *, threads: int = 1) -> PackedCodes:
        """Return the packed codes of checked rows, in the memory where the rows live."""
        from ._codes import PackedCodes

        self.check(rows)
        backend = backend_for(*rows.arrays, threads=threads)
        n, k, width = len(rows), self.n_components, self.width
        if self.gamma is None and width == 8:  # codes of 8 bits need no packing
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
        """Return the full samples i* and t* of checked rows, int64 of shape (rows, hashes).

        i* is -1 for an empty row. With ``gamma``, i* is a 63-bit mix of the joined samples and t* is 0.
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
        """Return one byte per full sample, of shape (rows, hashes), and flags of empty rows, for an index."""
        self.check(rows)
        return backend_for(*rows.arrays, threads=threads).gcws_fingerprints(rows, self._params())

    def _params(self, n_components: int | None = None) -> GcwsParams:
        return GcwsParams(self.n_components if n_components is None else n_components, self.seed, self.p, self.center)

    def _joined(self, rows: Rows, backend: Any) -> Iterator[tuple[slice, Array, Array]]:
        """Yield signatures of the exponential kernel batch by batch: rows, 63-bit mixes and flags of empty rows."""
        counts = poisson_counts(self.seed, float(self.gamma or 0), self.n_components)
        total = int(counts.sum())
        params = self._params(max(total, 1))
        for part in row_batches(len(rows), 24 * max(total, 1), STEP_BYTES):
            slots, t, empty = backend.gcws_samples(rows.part(part), params)
            if total == 0:
                slots, t = slots[:, :0], t[:, :0]
            yield part, backend.concatenate(slots, t, backend.from_numpy(counts)), empty
