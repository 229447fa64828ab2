"""What a back end is: one protocol per concept, and the values that cross the seam.

A back end computes where the rows live and **returns** its results there. There are two exceptions, both for speed:
with ``out`` the caller has a place for the result (a memory map, a slice of a larger array), which is then also what is
returned; and the state of a solver (:class:`LinearPass`) is brought up to date in place by each pass.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from ._rows import CsrRows, Rows

Array = NDArray[Any]  # or an array of the back end's own library

HASH_VERSION = 1  # of the codes: a changed code is a new version
FOURIER_VERSION = 1  # of the Fourier features


class Arrays(Protocol):
    """Where a back end's arrays live, and how to make them."""

    name: str
    threads: int
    place: Any  # the Place that owns the arrays, None for NumPy

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array: ...

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Array: ...

    def from_numpy(self, array: NDArray[Any]) -> Array:
        """A NumPy array where the back end computes."""
        ...

    def to_numpy(self, array: Array) -> NDArray[Any]:
        """An array of the back end as a NumPy array."""
        ...

    def csr_matrix(self, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> Any:
        """A CSR matrix of the array library."""
        ...


# Kernels.


class Ratio(IntEnum):
    """What a min-max kernel makes of the sums of minima and maxima."""

    MIN_MAX = 0  # sum of minima over sum of maxima
    INTERSECTION = 1  # sum of minima over the mean of the norms


class Kernels(Protocol):
    """Blocks of min-max kernel matrices. ``symmetric`` says that a and b are the same rows."""

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
        """Of uint8 rows, padded with zeros to a multiple of eight features; norms have the dtype of the result."""
        ...

    def gmm_sparse(
        self, a: CsrRows, b: CsrRows, ratio: Ratio, *, symmetric: bool = False, out: Array | None = None
    ) -> Array: ...


# Hashes.


class GcwsParams(NamedTuple):
    """What samples depend on besides the row. ``center`` (float64) is for dense rows only."""

    n_components: int
    seed: int
    p: float
    center: Array | None


class Hashes(Protocol):
    """Consistent weighted sampling, and codes made from samples."""

    def gcws_codes(self, rows: Rows, params: GcwsParams, bits: int, t_bits: int) -> tuple[Array, Array]:
        """Codes (rows, hashes) of the smallest unsigned type, and bool flags of rows without a nonzero value."""
        ...

    def gcws_samples(self, rows: Rows, params: GcwsParams) -> tuple[Array, Array, Array]:
        """Full samples (i*, t*), int64 (rows, hashes), and flags of empty rows, whose slots are -1."""
        ...

    def gcws_fingerprints(self, rows: Rows, params: GcwsParams) -> tuple[Array, Array]:
        """One byte per full sample, (rows, hashes), and flags of empty rows."""
        ...

    def concatenate(self, slots: Array, t: Array, counts: Array) -> Array:
        """63-bit signatures (rows, len(counts)): hash j joins ``counts[j]`` successive samples."""
        ...

    def pack(self, codes: Array, width: int) -> Array:
        """Codes of ``width`` bits one after the other: uint8 (rows, bytes)."""
        ...

    def unpack(self, packed: Array, width: int, n_components: int) -> Array: ...

    def match_counts(self, a: Array, a_empty: Array, b: Array, b_empty: Array) -> Array:
        """Number of equal codes of each pair of rows, int32. An empty row matches nothing."""
        ...


# Fourier features.


class FourierParams(NamedTuple):
    """What Fourier features depend on besides the row: the paper's gamma, the seed, whether rows get unit norm."""

    n_components: int
    gamma: float
    seed: int
    normalize: bool


class Fourier(Protocol):
    def fourier(self, rows: Rows, params: FourierParams, table_bytes: int, *, out: Array | None = None) -> Array | None:
        """Features (rows, n_components); weights beyond ``table_bytes`` are generated block by block.

        None if a value is NaN or infinite: the norms of the rows tell, so that nobody needs to look before.
        """
        ...


# Learning on codes.


class LinearObjective(NamedTuple):
    """Loss (its number in the table of losses), value of the intercept's feature (0 for none), epsilon of Huber."""

    loss: int
    scale: float
    epsilon: float = 0.0


class LinearPass(NamedTuple):
    """One pass over the rows; arrays over problems first, then rows. ``linear.h`` explains each field.

    ``w`` (problems, k, stride), ``bias``, ``beta`` and ``shrunk`` are the solver's state and are updated in place. All
    arrays live where the codes do, except for the small ones that the solver's loop looks at, which are NumPy's:
    ``order``, ``threshold``, ``running`` and ``bias``.
    """

    order: Array
    labels: Array | None
    targets: Array | None
    cost: Array
    positive: Array
    factors: Array
    threshold: Array
    running: Array
    w: Array
    bias: Array
    beta: Array
    shrunk: Array


LINEAR_BLOCK_ROWS = 256  # rows whose decision values are computed at once
LINEAR_SEGMENT = 16384  # rows after which a block ends: what a pass may read at a time
LINEAR_STATS = 5  # numbers that a pass reports for each problem


class Linear(Protocol):
    """Block dual coordinate descent on codes, and decision values."""

    def linear_pass(self, codes: Array, empty: Array, objective: LinearObjective, state: LinearPass) -> Array:
        """One pass of block dual coordinate descent for each running problem.

        Returns its statistics as a NumPy array (problems, 5).

        They are: losses as they were met, largest violation, rows that moved, conjugates, squared norm of the table.
        """
        ...

    def linear_decide(self, codes: Array, empty: Array, scale: float, w: Array, bias: Array) -> Array:
        """Decision values (rows, problems) in the type of ``w``."""
        ...

    def linear_accumulate(self, codes: Array, empty: Array, beta: Array, sums: Array) -> None:
        """Add the duals of the rows that have each code to ``sums`` (k, stride), float64, in the order of the rows."""
        ...


# Near neighbours.

MOST_CODES = 4096  # codes per row of an index
MOST_HASHES_PER_TABLE = 8
CODE_CHANCE = 1 / 256  # that two different samples have equal fingerprints


class Vectors(NamedTuple):
    """Rows to be compared exactly, and their L1 norms (float64). Some of the other fields are None.

    ``bytes`` (uint8) and ``dense`` (float32) are (rows, features); queries can have both. Sparse rows have ``indptr``
    (int64), ``indices`` (int32 or int64, ascending within a row), ``data`` (float32) and ``n_features``.
    """

    norms: Array
    bytes: Array | None = None
    dense: Array | None = None
    indptr: Array | None = None
    indices: Array | None = None
    data: Array | None = None
    n_features: int = 0


class Postings(NamedTuple):
    """Inverted lists of heavy features. The key of feature f is 2 f, and 2 f + 1 for its negative values."""

    directory: Array  # uint32: at g the number of keys below g << shift; see directory_shift
    keys: Array  # int64, ascending
    starts: Array  # int64 (keys + 1): where the list of each key begins
    entries: Array  # uint32 (starts[-1], 2): row, ascending for each key; and value, float32 without its sign, as bits


def directory_shift(last: int, keys: int) -> int:
    """The least shift of keys for which a directory up to the last one has at most as many places as there are keys."""
    return max(0, last.bit_length() - max(keys, 1).bit_length() + 1)


class Segment(NamedTuple):
    """Rows that were indexed together, ids ascending."""

    codes: Array  # uint8 (rows, k)
    flags: Array  # uint8, not 0 for rows that are never neighbours: empty or removed
    ids: Array  # int64
    rows: Array  # uint32 (tables, rows of flag 0): row numbers ordered by bucket, then number
    starts: Array  # uint32 (tables, 2**bits + 1): where each bucket begins
    vectors: Vectors | None
    postings: Postings | None = None


class Queries(NamedTuple):
    """Query i is row ``first + i`` of segment ``segment``, and no neighbour of itself; or ``segment`` is -1."""

    codes: Array
    empty: Array
    vectors: Vectors | None
    segment: int = -1
    first: int = 0


class SearchParams(NamedTuple):
    """What to look for. In ``n_rerank`` and ``n_neighbors`` 0 means all; with 0 ``n_tables`` every row is a candidate.

    With a ``heavy_fraction``, that of the queries, candidates share heavy features and codes play no part.
    """

    hashes_per_table: int
    n_tables: int
    n_rerank: int  # candidates that are compared exactly
    n_neighbors: int
    min_similarity: float
    exact: bool  # otherwise similarity is estimated from codes
    later_only: bool  # only neighbours with an id above the query's own
    heavy_fraction: float = 0.0


class Index(Protocol):
    """LSH tables, inverted lists and the search in them."""

    def index_tables(
        self, codes: Array, flags: Array, n_tables: int, hashes_per_table: int, bits: int
    ) -> tuple[Array, Array]:
        """``rows`` and ``starts`` of a segment."""
        ...

    def index_norms(self, vectors: Vectors) -> Array:
        """L1 norms of dense or sparse float32 rows."""
        ...

    def index_heavy(self, vectors: Vectors, heavy_fraction: float) -> Array:
        """Which values of sparse rows belong to the heavy part of their row, bool."""
        ...

    def index_search(
        self, queries: Queries, segments: list[Segment], params: SearchParams
    ) -> tuple[Array, Array, Array]:
        """Neighbours of all queries: (where those of each query begin, ids, similarities)."""
        ...


class Backend(Arrays, Kernels, Hashes, Fourier, Linear, Index, Protocol):
    """Everything that the library asks of the place where it computes."""
