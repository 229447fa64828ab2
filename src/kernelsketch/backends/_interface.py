"""The interface of a back end: one protocol per concept, and the types of arguments and results.

A back end computes in the memory where the rows live and **returns** its results there. There are two exceptions, both
for speed. If the caller passes ``out`` (a memory map, a slice of a larger array), the result is written to this array,
which is also returned. Each pass of a solver updates its state (:class:`LinearPass`) in place.

Learning and near neighbours have files of their own, ``_interface_learning`` and ``_interface_index``.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from ._interface_index import Index, Join
from ._interface_learning import Linear
from ._rows import CsrRows, Rows

Array = NDArray[Any]  # or an array of the back end's library

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

    def from_numpy(self, array: NDArray[Any]) -> Array:
        """Copy a NumPy array to the memory of the back end, if it is not there already."""
        ...

    def to_numpy(self, array: Array) -> NDArray[Any]:
        """Return an array of the back end as a NumPy array."""
        ...

    def csr_matrix(self, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> Any:
        """Make a CSR matrix of the array library."""
        ...


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


class Values(Protocol):
    """A look at the values of rows, before work on them."""

    def measure(self, rows: Rows) -> Measure: ...

    def to_bytes(self, values: Array, offset: int, width: int) -> tuple[Array, Array]:
        """Return ``values - offset`` as uint8, padded with zeros to ``width`` columns, and the L1 norms of the rows.

        The values must be whole numbers from ``offset`` to ``offset + 255``. The norms are float64.
        """
        ...

    def is_canonical(self, indptr: Array, indices: Array, n_features: int) -> bool:
        """Return whether CSR arrays are sound, with ascending and distinct indices in each row."""
        ...

    def row_maxima(self, indptr: Array, values: Array) -> Array:
        """Return the largest value of each sparse row, 0 for an empty row. Values are float64 and not negative."""
        ...


# Kernels.


class Ratio(IntEnum):
    """How a min-max kernel combines the sums of minima and maxima."""

    MIN_MAX = 0  # sum of minima over sum of maxima
    INTERSECTION = 1  # sum of minima over the mean of the norms


class Kernels(Protocol):
    """Blocks of min-max kernel matrices. ``symmetric`` means that a and b are the same rows."""

    def gmm_dense(
        self, a: Array, b: Array, ratio: Ratio, *, symmetric: bool = False, out: Array | None = None
    ) -> Array: ...

    def gmm_bytes(
        self,
        a: Array,
        b: Array,
        a_norms: Array,
        b_norms: Array,
        ratio: Ratio,
        *,
        symmetric: bool = False,
        out: Array | None = None,
    ) -> Array:
        """Compute a block from uint8 rows, padded with zeros to a multiple of eight features.

        The norms have the dtype of the result.
        """
        ...

    def gmm_sparse(
        self, a: CsrRows, b: CsrRows, ratio: Ratio, *, symmetric: bool = False, out: Array | None = None
    ) -> Array: ...

    def weighted_differences(self, x: Array, weights: Array) -> Array:
        """Return the sum of ``weights[i, j] * |x[i] - x[j]|`` over all pairs i < j, float64 (features,).

        Both arguments are float32.
        """
        ...


# Hashes.


class GcwsParams(NamedTuple):
    """Everything that samples depend on apart from the row. Only dense rows can have a ``center`` (float64)."""

    n_components: int
    seed: int
    p: float
    center: Array | None


class Hashes(Protocol):
    """Generalized consistent weighted sampling, and codes made from samples."""

    def gcws_codes(self, rows: Rows, params: GcwsParams, bits: int, t_bits: int) -> tuple[Array, Array]:
        """Return codes (rows, hashes) of the smallest unsigned type, and bool flags of all-zero rows."""
        ...

    def gcws_samples(self, rows: Rows, params: GcwsParams) -> tuple[Array, Array, Array]:
        """Return full samples i* and t*, int64 (rows, hashes), and flags of empty rows, whose i* is -1."""
        ...

    def gcws_fingerprints(self, rows: Rows, params: GcwsParams) -> tuple[Array, Array]:
        """Return one byte per full sample, (rows, hashes), and flags of empty rows."""
        ...

    def concatenate(self, slots: Array, t: Array, counts: Array) -> Array:
        """Return 63-bit signatures (rows, len(counts)). Hash j joins ``counts[j]`` successive samples."""
        ...

    def pack(self, codes: Array, width: int) -> Array:
        """Pack codes of ``width`` bits one after the other into uint8 (rows, bytes)."""
        ...

    def unpack(self, packed: Array, width: int, n_components: int) -> Array: ...

    def used_codes(self, codes: Array, width: int) -> Array:
        """Return for each code of ``width`` bits whether it occurs, bool (2**width,)."""
        ...

    def renumber(self, codes: Array, number_of: Array, *, out: Array | None = None) -> tuple[Array, int]:
        """Return the number of each code, uint8 or uint16 as in ``number_of``, and the largest of them.

        ``out`` may be the array of the codes.
        """
        ...

    def match_counts(self, a: Array, a_empty: Array, b: Array, b_empty: Array) -> Array:
        """Count the equal codes of each pair of rows, int32. An empty row matches no row."""
        ...


# Fourier features.


class FourierParams(NamedTuple):
    """Everything that Fourier features depend on apart from the row. ``gamma`` is that of the paper.

    ``normalize`` scales the features of a row to unit norm.
    """

    n_components: int
    gamma: float
    seed: int
    normalize: bool


class Fourier(Protocol):
    """Random Fourier features."""

    def fourier(self, rows: Rows, params: FourierParams, table_bytes: int, *, out: Array | None = None) -> Array | None:
        """Return features (rows, n_components), or None if a value is NaN or infinite.

        The back end computes the norms of the rows, which show values that are not finite, so callers need no check of
        their own. Weights of more than ``table_bytes`` are generated block by block.
        """
        ...


# Serving.


class HashView(NamedTuple):
    """A group of adjacent columns with a hash of its own. A plain hash is one group.

    ``counts`` holds the number of samples that each hash joins, for the exponential kernels, and is otherwise None.
    """

    seed: int
    width: int
    hashes: int
    counts: Array | None


class ReadyModel(NamedTuple):
    """A hash and a linear model, as a back end holds them ready for predictions.

    ``number_of`` gives the number of each code, uint8 or uint16, of an entry on the last axis of ``w``.
    ``offset`` is added to the decision values of each problem.
    """

    views: list[HashView]
    center: Array | None
    p: float
    bits: int
    t_bits: int
    number_of: Array
    w: Array
    offset: Array


class Serving(Protocol):
    """Predictions of a few rows at a time."""

    def predictor(self, model: ReadyModel) -> Callable[[Rows], Array | None] | None:
        """Return a function from rows to decision values, float64 (rows, problems), that threads may share.

        The function returns None if a value is not finite. A back end that has no such function returns None itself;
        callers then hash rows and compute decision values step by step.
        """
        ...


# Decision trees.


class TreeArrays(NamedTuple):
    """An ensemble of decision trees: the nodes of all trees in one set of arrays.

    Children have larger numbers than their parent; those of a leaf are -1. A row goes left if its feature is at most
    the threshold, and a missing value (NaN) if ``missing_left`` is not 0. Tree t adds the value of the leaf that a row
    reaches to output t modulo ``len(baseline)``.
    """

    feature: Array  # int32
    threshold: Array  # float64
    left: Array  # int32
    right: Array  # int32
    missing_left: Array  # uint8
    value: Array  # float64, of leaves
    roots: Array  # int32, one per tree
    baseline: Array  # float64, one per output


class Trees(Protocol):
    """Ensembles of decision trees."""

    def trees_decide(self, features: Array, trees: TreeArrays) -> Array:
        """Return the baseline plus the values of all trees, (rows, outputs) float64, added in the order of the trees.

        ``features`` are float64 in C or Fortran order, with NaN for missing values.
        """
        ...

    def growth_rows(self, binned: Array, bins: Array) -> GrowthRows:
        """Return training rows on which trees grow.

        ``binned`` (features, rows) are uint8 numbers of bins. Feature f has ``bins[f]`` of them, int32, at most 255,
        and the number ``bins[f]`` for a missing value.
        """
        ...


class Growth(NamedTuple):
    """How trees grow: leaves at most, rows per leaf at least, a ridge, and the rate of the values of leaves.

    A leaf has the value -rate * (sum of gradients) / (sum of hessians + ridge).
    """

    leaves: int
    leaf_rows: int
    ridge: float
    rate: float


class GrownTrees(NamedTuple):
    """One tree per output. Nodes are as in :class:`TreeArrays`, (outputs, 2 leaves - 1), of which ``sizes`` exist.

    A row goes left if its bin of the feature is at most ``bin``. ``values`` (outputs, rows) holds the value of the leaf
    that each training row reaches.
    """

    feature: Array
    bin: Array
    left: Array
    right: Array
    missing_left: Array
    value: Array
    sizes: Array
    values: Array


class GrowthRows(Protocol):
    """Training rows on which trees grow."""

    def grow(self, gradients: Array, hessians: Array, growth: Growth) -> GrownTrees:
        """Grow one tree per output on integer gradients and hessians, int32 (outputs, rows).

        The hessians of an output are not negative, and their sum is below 2**40.
        """
        ...


# Quantiles.


class Quantiles(Protocol):
    """Where numbers stand among those of training rows."""

    def quantile_levels(self, numbers: Array, tables: Array) -> Array:
        """Return the levels of float64 numbers (rows, columns), from -1 to 1, float32 of the same shape.

        ``tables`` (columns, quantiles) hold at least two quantiles per column in ascending order. NaN gets 0.
        """
        ...


# Texts.


class ShingleParams(NamedTuple):
    """How a text becomes shingles (``reference/shingles.py``)."""

    words: bool  # whether shingles consist of words; otherwise of characters
    n_min: int
    n_max: int
    lowercase: bool


class Shingles(Protocol):
    """Texts as sparse rows. Texts are always in main memory, and so are the results."""

    def shingles(self, text: Array, ends: Array, params: ShingleParams) -> tuple[Array, Array, Array]:
        """Return ``indptr``, features below 2**62 and float32 counts of the texts ``text[ends[i]:ends[i + 1]]``."""
        ...

    def shingles_of_texts(self, texts: tuple[str | bytes, ...], params: ShingleParams) -> tuple[Array, Array, Array]:
        """Do the same for texts that are not joined: strings in ASCII, and bytes."""
        ...


class Backend(
    Arrays, Values, Kernels, Hashes, Fourier, Linear, Serving, Trees, Quantiles, Index, Join, Shingles, Protocol
):
    """All operations that the library needs from a back end."""
