"""Hasher: the parameters of a hash, and the functions that turn rows into codes, samples and fingerprints."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import Array
from .._mix import GOLDEN64, mix_number
from .._validation import check_center, row_batches
from ..backends import HASH_VERSION, GcwsParams, Hashes, Rows, backend_for, code_dtype
from ..exceptions import InputError, Setting
from ._powers import check_powers
from ._views import check_views, union_codes, union_samples, views_of

if TYPE_CHECKING:
    from ._codes import PackedCodes

STEP_BYTES = 1 << 25  # scratch memory for codes before they are packed and samples before they are joined


@dataclass(frozen=True, eq=False)
class Hasher:
    """Hash rows to codes, samples or fingerprints.

    A hasher is an immutable value that holds everything that codes depend on, apart from the rows. It has no number of
    features, because a code does not depend on features that are zero.

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
    views : tuple of int, default=()
        Widths of adjacent groups of columns that are hashed separately; () means the plain hash. See Notes.

    Notes
    -----
    With V views, a row has ``sum(views)`` columns. Each view takes the hash of its own columns, which are numbered from
    0, and the codes of the views stand side by side. The fraction of equal codes estimates the mean of the kernels of
    the views, weighted with their numbers of hashes. All views have the same p, gamma, bits and t_bits, and each takes
    its part of the center.

    - A view has ``n_components // V`` hashes, and the first ``n_components % V`` views have one more.
    - View 0 has the seed of the union. View v above 0 has the seed ``mix64(mix64(seed) + v * GOLDEN64)`` modulo 2**64,
      with the functions of ``kernelsketch._mix``.
    - A row that is all zero in a view, but not in all views, has the codes of a row with a single feature there, whose
      number is the width of the view and whose value is 1. Rows that are zero in the same view therefore match there,
      and they match no other row, up to collisions of b-bit codes. A row that is zero in all views is empty.
    """

    n_components: int
    seed: int
    bits: int = 8
    t_bits: int = 0
    p: float = 1.0
    gamma: float | None = None
    center: Array | None = None
    hash_version: int = HASH_VERSION
    views: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.views:
            check_views(self.views, self.n_components)
        if self.center is not None and self.center.flags.writeable:  # a change would make another hash of this one
            center = self.center.copy()
            center.flags.writeable = False
            object.__setattr__(self, "center", center)

    def __reduce__(self) -> Any:
        return Hasher, tuple(getattr(self, field.name) for field in fields(self))

    @property
    def width(self) -> int:
        """Bits per code."""
        return self.bits + self.t_bits

    @property
    def counts(self) -> Array | None:
        """The number of samples that each hash of the exponential kernels joins; None without ``gamma``."""
        return None if self.gamma is None else poisson_counts(self.seed, self.gamma, self.n_components)

    def difference(self, other: Hasher, *, ignore: tuple[str, ...] = ()) -> str | None:
        """Describe the first parameter in which two hashes differ. The result is None if they are equal."""
        for name in ("hash_version", "seed", "p", "gamma", "views", "n_components", "bits", "t_bits"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if name not in ignore and mine != theirs:
                return f"{name} {mine} against {theirs}"
        mine, theirs = (np.zeros(0) if c is None else c for c in (self.center, other.center))
        return None if np.array_equal(mine, theirs) else "center"

    def leading(self, n_components: int) -> Hasher:
        """Return the hasher of the leading ``n_components`` hashes. A union of hashes has all of them or none."""
        if self.views and n_components != self.n_components:
            raise InputError(
                f"the leading {n_components} of {self.n_components} hashes cannot be taken, because they come from "
                f"{len(self.views)} views one after the other: hash the rows again with n_components={n_components}."
            )
        return replace(self, n_components=n_components)

    def check(self, rows: Rows) -> None:
        """Refuse rows that do not fit the views, the center or the power, or that overflow with one of them."""
        if self.views and rows.n_features != sum(self.views):
            raise InputError(
                f"X has {rows.n_features} features, but views={list(self.views)} needs {sum(self.views)}: pass rows "
                "with the columns of all views."
            )
        if self.center is not None:
            self._check_center(rows)
        check_powers(self, rows)

    def _check_center(self, rows: Rows) -> None:
        center = check_center(self.center, rows)
        assert center is not None
        (values,) = rows.arrays
        if not np.isfinite(max(float(values.max()), -float(values.min())) + float(np.abs(center).max())):
            raise InputError("X minus center can exceed the largest float: scale X and center down first.")

    def codes(self, rows: Rows, *, threads: int = 1) -> PackedCodes:
        """Return the packed codes of checked rows, in the memory where the rows live."""
        from ._codes import PackedCodes

        self.check(rows)
        backend = backend_for(*rows.arrays, threads=threads)
        if self.gamma is None and self.width == 8 and not self.views:  # codes of 8 bits need no packing
            packed, empty = self.block_codes(rows, backend)
            return PackedCodes(packed, empty, self, rows.n_features)
        packed = backend.empty((len(rows), -(-self.n_components * self.width // 8)), np.uint8)
        empty = backend.empty((len(rows),), np.bool_)
        for part in row_batches(len(rows), self._scratch_bytes(rows), STEP_BYTES):
            if self.views and self.width == 8:  # these, too, go to their place at once
                empty[part] = union_codes(self, rows.part(part), backend, packed[part])
            else:
                codes, empty[part] = self.block_codes(rows.part(part), backend)
                packed[part] = backend.pack(codes, self.width)
        return PackedCodes(packed, empty, self, rows.n_features)

    def samples(self, rows: Rows, *, threads: int = 1) -> tuple[Array, Array]:
        """Return the full samples i* and t* of checked rows, int64 of shape (rows, hashes).

        i* is -1 for an empty row. With ``gamma``, i* is a 63-bit mix of the joined samples and t* is 0. With ``views``
        and without ``gamma``, the features in i* are numbered by their columns in the whole row, and a row that is zero
        in view v, but not in all views, has feature ``sum(views) + v`` there. Samples of different views are therefore
        distinct.
        """
        self.check(rows)
        backend = backend_for(*rows.arrays, threads=threads)
        if self.gamma is None and not self.views:
            return self.block_samples(rows, backend)[:2]
        slots, t = (backend.empty((len(rows), self.n_components), np.int64) for _ in range(2))
        for part in row_batches(len(rows), self._scratch_bytes(rows) + 32 * self.n_components, STEP_BYTES):
            slots[part], t[part], _ = self.block_samples(rows.part(part), backend)
        return slots, t

    def fingerprints(self, rows: Rows, *, threads: int = 1) -> tuple[Array, Array]:
        """Return one byte per full sample, of shape (rows, hashes), and flags of empty rows, for an index.

        The caller has checked the rows, and called :meth:`check` for them.
        """
        if self.views:
            raise InputError(Setting("views", list(self.views)), " cannot be used in an index: it compares whole rows.")
        return backend_for(*rows.arrays, threads=threads).gcws_fingerprints(rows, self._params())

    def block_codes(self, rows: Rows, backend: Hashes) -> tuple[Array, Array]:
        """Return the codes of a block of rows, not packed, and flags of empty rows. The rows are not checked."""
        if self.views:
            out = backend.empty((len(rows), self.n_components), code_dtype(self.width))
            return out, union_codes(self, rows, backend, out)
        if self.gamma is None:
            return backend.gcws_codes(rows, self._params(), self.bits, self.t_bits)
        joined, empty = self._joined(rows, backend)
        codes = (joined & ((1 << self.bits) - 1)).astype(code_dtype(self.width))
        codes[empty] = 0
        return codes, empty

    def block_samples(self, rows: Rows, backend: Hashes) -> tuple[Array, Array, Array]:
        """Return the samples of a block of rows and flags of empty rows. The rows are not checked."""
        if self.views:
            return union_samples(self, rows, backend)
        if self.gamma is None:
            return backend.gcws_samples(rows, self._params())
        joined, empty = self._joined(rows, backend)
        joined[empty] = -1
        return joined, backend.zeros(joined.shape, np.int64), empty

    def _params(self) -> GcwsParams:
        return GcwsParams(self.n_components, self.seed, self.p, self.center)

    def _scratch_bytes(self, rows: Rows) -> int:
        """Return the bytes per row that hashing a block takes. A view also takes a copy of its columns."""
        if self.views:
            return int(rows.row_bytes + sum(v.hasher._scratch_bytes(rows) for v in views_of(self, rows.n_features)))
        counts = self.counts
        if counts is None:
            return int(2 * code_dtype(self.width).itemsize * self.n_components)
        return 24 * max(1, int(counts.sum()))

    def _joined(self, rows: Rows, backend: Hashes) -> tuple[Array, Array]:
        """Return signatures of the exponential kernel: 63-bit mixes and flags of empty rows."""
        counts = self.counts
        assert counts is not None
        total = int(counts.sum())
        slots, t, empty = backend.gcws_samples(rows, self._params()._replace(n_components=max(total, 1)))
        return backend.concatenate(slots[:, :total], t[:, :total], backend.from_numpy(counts)), empty


def poisson_counts(seed: int, gamma: float, n_hashes: int) -> Array:
    """Return the number of samples m_j ~ Poisson(gamma) that each hash j of eGMM joins, equal for all rows.

    m_j is the Poisson quantile of frac(U + j phi), where phi is the golden ratio and U comes from the seed. Every
    prefix of the hashes nearly has the right frequencies, so the estimate has a smaller variance than with independent
    draws.
    """
    start = mix_number(seed + 2 * GOLDEN64)
    steps = (start + np.arange(n_hashes, dtype=np.uint64) * np.uint64(GOLDEN64)) >> np.uint64(11)
    u = (steps.astype(np.float64) + 0.5) * 2.0**-53
    most = int(gamma + 12 * np.sqrt(gamma) + 40)
    m = np.arange(most + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
    cumulative = np.cumsum(np.exp(m * np.log(gamma) - gamma - log_factorial))
    return np.searchsorted(cumulative, u).astype(np.int64)
