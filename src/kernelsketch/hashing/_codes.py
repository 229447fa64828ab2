"""PackedCodes: the b-bit codes of a set of rows, in memory or in a memory-mapped file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .._array import Array
from .._validation import check_n_jobs, row_batches
from ..backends import backend_for, on_host, place_of
from ..exceptions import BackendError, InputError, InputTypeError, Setting
from ..storage import check_mapped
from ._hasher import Hasher


@dataclass(frozen=True, eq=False, repr=False)
class PackedCodes:
    """Hold the b-bit codes of a set of rows in ``ceil(k * (bits + t_bits) / 8)`` bytes per row.

    :meth:`GCWS.codes` makes packed codes and :meth:`PackedCodes.load` reads them from a file. They are immutable, and
    slices share memory if possible. Codes are arrays of the same library as the rows that they were made from.

    Parameters
    ----------
    packed : uint8 array of shape (n_rows, bytes per row)
        The codes of each row one after the other, least significant bit first.
    empty : bool array of shape (n_rows,)
        Whether a row is all zero. Such rows match no row, and all their one-hot features are zero.
    hasher : Hasher
        The hash that made the codes. It holds the seed, the parameters, the number of codes per row and their bits.
    n_features : int, default=0
        Number of features of the rows, or 0 if it is not known. With ``views`` it is their sum.

    Attributes
    ----------
    n_components : int
        Number of codes per row (the paper's k).
    bits, t_bits : int
        Number of bits of i* and of t* in each code.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelsketch import GCWS
    >>> X = np.random.default_rng(0).normal(size=(3, 50))
    >>> codes = GCWS(n_components=256, bits=4).fit(X).codes(X)
    >>> codes
    PackedCodes(3 rows, 256 codes of 4 bits: 128 bytes per row)
    >>> codes[:2, :64].shape
    (2, 64)
    """

    packed: Array
    empty: Array
    hasher: Hasher
    n_features: int = 0

    def __post_init__(self) -> None:
        if self.empty.ndim != 1 or self.empty.dtype != bool:
            raise InputError(
                Setting("empty"), f" must hold one flag per row, got {self.empty.dtype} of shape {self.empty.shape}."
            )
        expected = (len(self.empty), -(-self.n_components * self.width // 8))
        if self.packed.shape != expected or self.packed.dtype != np.uint8:
            raise InputError(
                Setting("packed"),
                f" must be uint8 of shape {expected}, got {self.packed.dtype} of shape {self.packed.shape}.",
            )
        if self.hasher.views and self.n_features != sum(self.hasher.views):
            raise InputError(
                Setting("n_features", self.n_features),
                f" is not the sum of the views {list(self.hasher.views)} of the hash: pass ",
                Setting("n_features", sum(self.hasher.views)),
                ".",
            )

    @property
    def n_components(self) -> int:
        return self.hasher.n_components

    @property
    def bits(self) -> int:
        return self.hasher.bits

    @property
    def t_bits(self) -> int:
        return self.hasher.t_bits

    @property
    def width(self) -> int:
        """Bits per code."""
        return self.hasher.width

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.empty), self.n_components

    @property
    def nbytes(self) -> int:
        return int(self.packed.nbytes + self.empty.nbytes)

    def __len__(self) -> int:
        return len(self.empty)

    def __repr__(self) -> str:
        n, k = self.shape
        return f"PackedCodes({n} rows, {k} codes of {self.width} bits: {self.packed.shape[1]} bytes per row)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PackedCodes):
            return NotImplemented
        self.check_mapped()
        other.check_mapped()
        return (
            self.shape == other.shape
            and self.hasher.difference(other.hasher) is None
            and np.array_equal(self.empty, other.empty)
            and np.array_equal(self.packed, other.packed)
        )

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: Any) -> PackedCodes:
        """Select rows by slice, mask or numbers, ``codes[rows]``, and the leading k hashes, ``codes[rows, :k]``.

        Codes of several views have no leading hashes.
        """
        self.check_mapped()
        rows, hashes = key if isinstance(key, tuple) else (key, slice(None))
        rows = [rows] if isinstance(rows, (int, np.integer)) else rows
        kept = self if isinstance(hashes, slice) and hashes == slice(None) else self._leading(hashes)
        return replace(kept, packed=kept.packed[rows], empty=kept.empty[rows])

    def _leading(self, hashes: Any) -> PackedCodes:
        if not isinstance(hashes, slice) or hashes.start not in (None, 0) or hashes.step not in (None, 1):
            raise InputError(f"only leading hashes can be selected, as in codes[:, :k], got {hashes!r}.")
        count = len(range(*hashes.indices(self.n_components)))
        if count == 0:
            raise InputError("codes[:, :k] needs k above 0.")
        used = count * self.width
        packed = self.packed[:, : -(-used // 8)]
        if used % 8:
            packed = packed.copy()
            packed[:, -1] &= (1 << used % 8) - 1
        return replace(self, packed=packed, hasher=self.hasher.leading(count))

    @classmethod
    def concatenate(cls, parts: Sequence[PackedCodes]) -> PackedCodes:
        """Concatenate the rows of several objects, whose hashes must be equal."""
        parts = list(parts)
        if not parts:
            raise InputError("nothing to concatenate: pass at least one PackedCodes.")
        for part in parts:
            if not isinstance(parts[0], PackedCodes):
                raise InputTypeError(f"expected PackedCodes, got {type(parts[0]).__name__}.")
            parts[0]._check_as_many(part, "concatenated")
            part.check_mapped()
        packed = np.concatenate([part.packed for part in parts])
        return replace(parts[0], packed=packed, empty=np.concatenate([part.empty for part in parts]))

    def check_mapped(self) -> None:
        """Raise an error if the codes are mapped from a file that has become shorter: reading them would be fatal."""
        check_mapped(self.packed)

    def __getstate__(self) -> dict[str, Any]:
        self.check_mapped()
        return self.__dict__

    def check_same(self, other: PackedCodes) -> None:
        """Raise an error if the other codes come from a different hash and cannot be compared with these."""
        if not isinstance(other, PackedCodes):
            raise InputTypeError(f"expected PackedCodes, got {type(other).__name__}.")
        ignore = () if self.hasher.views else ("n_components",)  # a plain hash has leading hashes, a union has none
        difference = self.hasher.difference(other.hasher, ignore=ignore)
        if difference is not None:
            raise InputError(
                f"these codes come from different hashes ({difference}): hash both sides with the same parameters."
            )

    def _check_as_many(self, other: PackedCodes, use: str) -> None:
        """Refuse codes of a different hash or of other numbers per row. ``use`` says what is done with both."""
        self.check_same(other)
        if self.n_components != other.n_components:
            raise InputError(
                f"codes of {self.n_components} and of {other.n_components} hashes cannot be {use}: take the leading "
                "hashes of both, codes[:, :k]."
            )

    def unpack(self) -> Array:
        """Return the codes as an array of shape (n_rows, n_components) and type uint8, uint16 or uint32.

        The array is a view if the codes have 8 bits, and if possible also if they have 16 bits.
        """
        self.check_mapped()
        if self.width == 8:
            return self.packed
        if self.width == 16 and isinstance(self.packed, np.ndarray) and self.packed.flags.c_contiguous:
            return self.packed.view("<u2").astype(np.uint16, copy=False)
        return backend_for(self.packed).unpack(self.packed, self.width, self.n_components)

    def to_csr(self, *, normalize: bool = True, dtype: Any = np.float64) -> Any:
        """Return the codes as one-hot features, a CSR matrix of shape (n_rows, n_components * 2**width).

        The features of hash j start at column ``j * 2**width``. ``normalize`` scales rows to unit norm. All features of
        an empty row are zero. Indices are int32 if they fit, otherwise int64.
        """
        backend = backend_for(self.packed)
        n, k = self.shape
        size = 1 << self.width
        columns, stored = k * size, int(n - self.empty.sum()) * k
        index = np.int32 if max(columns, stored) <= np.iinfo(np.int32).max else np.int64
        counts = np.where(self.empty, 0, k)
        indptr = backend.zeros((n + 1,), index)
        indptr[1:] = np.cumsum(counts)
        kept = self[~self.empty] if self.empty.any() else self
        indices = backend.empty((len(kept), k), index)
        offsets = backend.from_numpy((np.arange(k, dtype=np.int64) * size).astype(index))
        for rows in row_batches(len(kept), 8 * k):
            np.add(kept[rows].unpack(), offsets, out=indices[rows], casting="unsafe")
        data = backend.empty((stored,), dtype)
        for part in row_batches(stored, 8):
            data[part] = 1 / np.sqrt(k) if normalize else 1
        return backend.csr_matrix(data, indices.ravel(), indptr, (n, columns))

    def to_host(self) -> PackedCodes:
        """Return the codes as NumPy arrays in main memory. Codes that are there already are returned as they are."""
        if place_of(self.packed) is None:
            return self
        return replace(self, packed=on_host(self.packed), empty=on_host(self.empty))

    def to_torch(self) -> Any:
        """Return the columns of the one-hot features as a PyTorch tensor, for :class:`torch.nn.EmbeddingBag`.

        The tensor is int64 of shape (n_rows, n_components), on the device of the codes. Code c of hash j is column
        ``j * 2**width + c``. An all-zero row has the columns of code 0; leave such rows out by means of ``empty``.
        """
        try:
            torch = import_module("torch")
        except ImportError as error:
            raise BackendError("PyTorch is not installed: run  pip install torch") from error
        backend = backend_for(self.packed)
        first = backend.from_numpy(np.arange(self.n_components, dtype=np.int64) << self.width)
        columns = self.unpack() + first
        return torch.from_numpy(columns) if backend.place is None else torch.from_dlpack(columns)

    def match_counts(self, other: PackedCodes | None = None, *, n_jobs: int | None = None) -> Array:
        """Count the equal codes of each pair of rows. The result is int32 of shape (n_rows, n_rows of other)."""
        right = self if other is None else other
        self._check_as_many(right, "compared")
        backend = backend_for(self.packed, right.packed, threads=check_n_jobs(n_jobs))
        a = self.unpack()
        b = a if right is self else right.unpack()
        return backend.match_counts(a, self.empty, b, right.empty)

    def estimate_kernel(
        self, other: PackedCodes | None = None, *, return_std: bool = False, n_jobs: int | None = None
    ) -> Any:
        """Estimate the kernel of each pair of rows as the fraction of equal codes.

        With ``return_std`` the method also returns the standard error of the estimates, sqrt(K (1 - K) / k). With
        ``gamma`` or ``views`` the true standard error is smaller. Codes of few bits also match by chance, and codes
        without t* give larger estimates on data with few features. The user guide has a table of both effects.
        """
        estimate = self.match_counts(other, n_jobs=n_jobs) / self.n_components
        return (estimate, np.sqrt(estimate * (1 - estimate) / self.n_components)) if return_std else estimate

    def save(self, path: Any, y: Any = None) -> None:
        """Write the codes to a safetensors file atomically: a failed write leaves no partial file.

        ``y`` holds one label per row, numbers or text. :func:`kernelsketch.formats.open_rows` reads it back.
        """
        from ._codes_file import save_codes

        self.check_mapped()
        save_codes(Path(path), self, None if y is None else np.asarray(y))

    @classmethod
    def load(cls, path: Any, *, mmap: bool = False) -> PackedCodes:
        """Read codes from a file that :meth:`save` wrote.

        With ``mmap`` the codes are memory-mapped instead of read. The header and all sizes are then checked, but the
        checksum of the codes is not. Other programs must not write into the file as long as it is mapped; a file that
        every user may write to is read all the same.
        """
        from ._codes_file import load_codes

        return load_codes(Path(path), mmap=mmap)[0]
