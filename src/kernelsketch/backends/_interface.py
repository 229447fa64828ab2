"""The interface of a back end: one protocol per concept, and the types of arguments and results.

A back end computes in the memory where the rows live and **returns** its results there. There are two exceptions, both
for speed. If the caller passes ``out`` (a memory map, a slice of a larger array), the result is written to this array,
which is also returned. Each pass of a solver updates its state (:class:`LinearPass`) in place.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

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


# Learning on codes.


class LinearObjective(NamedTuple):
    """The objective of a linear model.

    ``loss`` is a number in the table of losses, ``scale`` is the value of the intercept's feature (0 for no intercept),
    and ``epsilon`` is the parameter of the Huber loss.
    """

    loss: int
    scale: float
    epsilon: float = 0.0


LINEAR_SWEEPS = 32  # number of sweeps of coordinate descent per block, at most


class LinearPass(NamedTuple):
    """The arguments of one pass over the rows. Axes are problems first, then rows. ``linear.h`` explains each field.

    ``w`` (problems, k, stride), ``bias``, ``beta`` and ``shrunk`` are the state of the solver, which a pass updates in
    place. The small arrays that the loop of the solver reads are NumPy arrays: ``order``, ``threshold``, ``running``
    and ``bias``. All other arrays live in the memory of the codes.
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
    sweeps: int = LINEAR_SWEEPS


class LinearTargets(NamedTuple):
    """The targets of all problems, in the memory of the codes. :class:`LinearPass` has the same fields."""

    labels: Array | None
    targets: Array | None
    cost: Array
    positive: Array
    factors: Array


class LinearSolved(NamedTuple):
    """What a solver of a back end's own reached: objective, duality gap and number of passes per problem, NumPy."""

    objective: Array
    gap: Array
    passes: Array


class Symbols(NamedTuple):
    """Rows as symbols, each of which stands for the codes of ``together`` neighbouring hashes.

    ``rows`` has shape (n, groups). Group g has ``counts[g]`` symbols, and ``cells`` (groups, stride, together) says
    where a table of weights, flattened, has the codes of a symbol. The last group may have fewer codes.
    """

    rows: Array
    counts: Array
    cells: Array

    @property
    def together(self) -> int:
        return int(self.cells.shape[2])


class NewtonStep(NamedTuple):
    """The arguments of one step of Newton's method. ``newton.h`` explains each field.

    ``w``, ``bias``, ``beta`` and ``f`` (problems, rows), the decision values, are the state of the solver, which a step
    updates in place.
    """

    labels: Array | None
    targets: Array | None
    cost: Array
    positive: Array
    factors: Array
    running: Array
    fresh: Array
    w: Array
    bias: Array
    beta: Array
    f: Array
    tol: float
    symbols: Symbols
    sample: int
    most: Array


NEWTON_STATS = 4  # number of statistics that a step returns per problem
LINEAR_BLOCK_ROWS = 256  # number of rows whose decision values are computed at once
LINEAR_SEGMENT = 16384  # number of rows that a pass may read at a time; a block ends there
LINEAR_STATS = 5  # number of statistics that a pass returns per problem


class Linear(Protocol):
    """Block dual coordinate descent on codes or a solver of the back end's own, and decision values."""

    def linear_solve(
        self,
        codes: Array,
        empty: Array,
        objective: LinearObjective,
        targets: LinearTargets,
        w: Array,
        bias: Array,
        beta: Array,
        tol: float,
        max_iter: int,
        progress: Callable[[int, Array], None] | None = None,
        visited: int = 0,
    ) -> LinearSolved | None:
        """Solve all problems to a duality gap of ``tol`` times the objective, from ``w`` and ``bias`` on.

        The solver changes ``w``, ``bias`` (a NumPy array) and ``beta`` in place and makes at most about ``max_iter``
        passes over the rows. It tells ``progress`` the number of passes so far and the relative gap of each problem.
        None means that the back end has no solver of its own for these problems, so that passes have to be called. It
        is asked again after a part of the first pass. ``visited`` is the number of rows whose ``beta`` is known.
        """
        ...

    def linear_pass(self, codes: Array, empty: Array, objective: LinearObjective, state: LinearPass) -> Array:
        """Make one pass of block dual coordinate descent for each running problem and return its statistics.

        The result is a NumPy array (problems, 5). The statistics are the sum of losses during the pass, the largest
        violation, the number of rows whose dual changed, the sum of conjugates, and the squared norm of the weights.
        """
        ...

    def linear_decide(self, codes: Array, empty: Array, scale: float, w: Array, bias: Array) -> Array:
        """Return decision values (rows, problems) in the type of ``w``."""
        ...

    def linear_accumulate(self, codes: Array, empty: Array, beta: Array, sums: Array) -> None:
        """Add the duals of the rows that have each code to ``sums`` (k, stride), float64, in the order of the rows."""
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


# Near neighbours.

MOST_CODES = 4096  # most codes per row of an index
MOST_HASHES_PER_TABLE = 8
CODE_CHANCE = 1 / 256  # probability that two different samples have equal fingerprints


class Vectors(NamedTuple):
    """Rows that are compared exactly, and their L1 norms (float64). Fields that do not apply are None.

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
    """Inverted lists of heavy features. The key of feature f is 2 f for positive and 2 f + 1 for negative values."""

    directory: Array  # uint32: entry g is the number of keys below g << shift; see directory_shift
    keys: Array  # int64, ascending
    starts: Array  # int64 (keys + 1): where the list of each key begins
    entries: Array  # uint32 (starts[-1], 2): row, ascending per key; and absolute value, the bits of a float32


def directory_shift(last: int, keys: int) -> int:
    """Return the smallest shift for which a directory up to the last key has at most as many entries as keys."""
    return max(0, last.bit_length() - max(keys, 1).bit_length() + 1)


class Segment(NamedTuple):
    """Rows that were indexed together, in ascending order of ids."""

    codes: Array  # uint8 (rows, k)
    flags: Array  # uint8, not 0 for rows that are never neighbours because they are empty or removed
    ids: Array  # int64
    rows: Array  # uint32 (tables, rows of flag 0): row numbers ordered by bucket, then number
    starts: Array  # uint32 (tables, 2**bits + 1): where each bucket begins
    vectors: Vectors | None
    postings: Postings | None = None


class Queries(NamedTuple):
    """The queries of a search. ``segment`` is -1 unless the queries are rows of a segment.

    In this case query i is row ``first + i`` of that segment and is not returned as its own neighbour.
    """

    codes: Array
    empty: Array
    vectors: Vectors | None
    segment: int = -1
    first: int = 0


class SearchParams(NamedTuple):
    """The parameters of a search. A value of 0 for ``n_rerank`` or ``n_neighbors`` means all.

    If ``n_tables`` is 0, every row is a candidate. If ``heavy_fraction`` is above 0, the candidates are the rows that
    share a heavy feature with the query, and codes are not used.
    """

    hashes_per_table: int
    n_tables: int
    n_rerank: int  # number of candidates that are compared exactly
    n_neighbors: int
    min_similarity: float
    exact: bool  # whether similarities are exact; otherwise they are estimated from codes
    later_only: bool  # whether to return only neighbours whose id is above that of the query
    heavy_fraction: float = 0.0


class Index(Protocol):
    """LSH tables and inverted lists, and the search in them."""

    def index_tables(
        self, codes: Array, flags: Array, n_tables: int, hashes_per_table: int, bits: int
    ) -> tuple[Array, Array]:
        """Return the arrays ``rows`` and ``starts`` of a segment."""
        ...

    def index_norms(self, vectors: Vectors) -> Array:
        """Return the L1 norms of dense or sparse float32 rows."""
        ...

    def index_heavy(self, vectors: Vectors, heavy_fraction: float) -> Array:
        """Return which values of sparse rows belong to the heavy part of their row, as bool."""
        ...

    def index_search(
        self, queries: Queries, segments: list[Segment], params: SearchParams
    ) -> tuple[Array, Array, Array]:
        """Return the neighbours of all queries: the start of each query's neighbours, their ids and similarities.

        An index is in main memory: queries and segments are NumPy arrays, and so are results.
        """
        ...


class Join(Protocol):
    """The similarity join of sparse rows (``reference/join.py``)."""

    def join_keys(self, rows: CsrRows) -> Array:
        """Return the keys of rows, uint64 of shape (n_rows, 2)."""
        ...

    def join_count(self, rows: CsrRows, counters: Array) -> None:
        """Count the features of rows in a table of uint16, whose length is a power of two."""
        ...

    def join_prefixes(self, rows: CsrRows, counters: Array, threshold: float) -> Array:
        """Return which nonzeros belong to the prefix of their row, as bool."""
        ...

    def join_similarities(self, rows: CsrRows, left: Array, right: Array) -> Array:
        """Return the exact GMM kernel of pairs of rows, given by their numbers."""
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
