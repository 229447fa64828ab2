"""The interface of a back end: one protocol per concept, and the types of arguments and results.

A back end computes in the memory where the rows live and **returns** its results there. There are two exceptions, both
for speed. If the caller passes ``out`` (a memory map, a slice of a larger array), the result is written to this array,
which is also returned. Each pass of a solver updates its state (:class:`LinearPass`) in place.

Learning and near neighbours have files of their own, ``_interface_learning`` and ``_interface_index``, and
``_interface_processor`` has what only the processor computes. ``_backend`` says what a back end implements.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple, Protocol

from .._array import Array
from ._rows import CsrRows, Rows

HASH_VERSION = 1  # version of the codes; it changes whenever any code changes
FOURIER_VERSION = 1  # version of the Fourier features
SHINGLE_VERSION = 1  # version of the features of shingles


class Arrays(Protocol):
    """The arrays of a back end: where they live, and how to make them."""

    name: str
    threads: int
    place: Any  # the Place that owns the arrays, None for NumPy

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array: ...

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Array: ...

    def from_numpy(self, array: Array) -> Array:
        """Copy a NumPy array to the memory of the back end, if it is not there already."""

    def to_numpy(self, array: Array) -> Array:
        """Return an array of the back end as a NumPy array."""

    def csr_matrix(self, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> Any:
        """Make a CSR matrix of the array library."""


# Values.


class Measure(NamedTuple):
    """How large the values of rows are. ``small`` says that all are whole numbers from -255 to 255.

    ``sizes`` has the largest absolute value of each row, NaN if one of its values is NaN or infinite. ``low`` and
    ``high`` are the smallest and the largest value of all, if they are finite; sparse rows have zeros, too.
    """

    sizes: Array
    low: float
    high: float
    small: bool


class ByteRows(NamedTuple):
    """Rows of small whole numbers as uint8, padded with zeros, and their L1 norms."""

    values: Array
    norms: Array


class Values(Arrays, Protocol):
    """A look at the values of rows, before work on them."""

    def measure(self, rows: Rows) -> Measure: ...

    def to_bytes(self, values: Array, offset: int, width: int) -> ByteRows:
        """Return ``values - offset``, padded to ``width`` columns, and the float64 norms of the rows of ``values``.

        The values must be whole numbers from ``offset`` to ``offset + 255``.
        """


# Kernels.


class Ratio(IntEnum):
    """How a min-max kernel combines the sums of minima and maxima."""

    MIN_MAX = 0  # sum of minima over sum of maxima
    INTERSECTION = 1  # sum of minima over the mean of the norms


Compared = Array | ByteRows | CsrRows  # one side of a min-max kernel; both sides have the same form


class Kernels(Values, Protocol):
    """Blocks of min-max kernel matrices."""

    def gmm(
        self, a: Compared, b: Compared, ratio: Ratio, *, symmetric: bool = False, out: Array | None = None
    ) -> Array:
        """Compute a block from dense arrays, rows of bytes or sparse rows.

        ``symmetric`` means that a and b are the same rows. Bytes are padded to a multiple of eight features, and their
        norms have the dtype of the result.
        """


# Hashes.


class GcwsParams(NamedTuple):
    """Everything that samples depend on apart from the row. Only dense rows can have a ``center`` (float64)."""

    n_components: int
    seed: int
    p: float
    center: Array | None


class Hashes(Arrays, Protocol):
    """Generalized consistent weighted sampling, and codes made from samples."""

    def gcws_codes(self, rows: Rows, params: GcwsParams, bits: int, t_bits: int) -> tuple[Array, Array]:
        """Return codes (rows, hashes) of the type ``code_dtype``, and bool flags of all-zero rows."""

    def gcws_samples(self, rows: Rows, params: GcwsParams) -> tuple[Array, Array, Array]:
        """Return full samples i* and t*, int64 (rows, hashes), and flags of empty rows, whose i* is -1."""

    def gcws_fingerprints(self, rows: Rows, params: GcwsParams) -> tuple[Array, Array]:
        """Return one byte per full sample, (rows, hashes), and flags of empty rows."""

    def concatenate(self, slots: Array, t: Array, counts: Array) -> Array:
        """Return 63-bit signatures (rows, len(counts)). Hash j joins ``counts[j]`` successive samples."""

    def pack(self, codes: Array, width: int) -> Array:
        """Pack codes of ``width`` bits one after the other into uint8 (rows, bytes)."""

    def unpack(self, packed: Array, width: int, n_components: int) -> Array: ...

    def used_codes(self, codes: Array, width: int) -> Array:
        """Return for each code of ``width`` bits whether it occurs, bool (2**width,)."""

    def renumber(self, codes: Array, number_of: Array, *, out: Array | None = None) -> tuple[Array, int]:
        """Return the number of each code, uint8 or uint16 as in ``number_of``, and the largest of them.

        ``out`` may be the array of the codes.
        """

    def match_counts(self, a: Array, a_empty: Array, b: Array, b_empty: Array) -> Array:
        """Count the equal codes of each pair of rows, int32. An empty row matches no row."""


# Fourier features.


class FourierParams(NamedTuple):
    """Everything that Fourier features depend on apart from the row. ``gamma`` is that of the paper.

    ``normalize`` scales the features of a row to unit norm.
    """

    n_components: int
    gamma: float
    seed: int
    normalize: bool


class Fourier(Arrays, Protocol):
    """Random Fourier features."""

    def fourier(self, rows: Rows, params: FourierParams, table_bytes: int, *, out: Array | None = None) -> Array | None:
        """Return features (rows, n_components), or None if a value is NaN or infinite.

        The back end computes the norms of the rows, which show values that are not finite, so callers need no check of
        their own. Weights of more than ``table_bytes`` are generated block by block.
        """
