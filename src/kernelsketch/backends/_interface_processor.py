"""What only the processor computes, on NumPy arrays: predictors, trees, columns of tables, joins, texts.

It is a part of the interface of a back end; ``_interface.py`` says what all parts have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from .._array import Array
from ._interface_index import Queries, Segment
from ._rows import CsrRows, Rows

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


class ReadyTable(NamedTuple):
    """A model of tables, as a back end holds it ready for predictions: features, columns of views, hash and trees."""

    model: ReadyModel
    trees: TreeArrays | None
    features: Array  # int64 (features, 2): the number of a row that it is, or -1 for a flag; its scale, or -1
    starts: Array  # int64: the first flag of each column that has flags
    scales: Array  # float64 (scales, 5): unit, low, high, mean, spread
    quantiles: Array  # float64 (scales, levels)
    mean: Array  # float64, one per feature: what components subtract
    directions: Array  # float64 (features, components)
    sources: Array  # int32, by column of the views: a place in standardized features, components and quantiles
    weights: Array  # float32, by column of the views
    slopes: Array  # float64 (rows, problems), of the calibration; (0, problems) for numbers
    intercepts: Array  # float64, of the calibration; none for numbers
    center: float  # a number is center + spread * decision value
    spread: float
    share: float  # of the trees in the blend
    temperature: float  # that divides logits


class RowColumn(NamedTuple):
    """How the value of a column becomes numbers and the position of a flag."""

    name: str
    kind: int  # 0: not used, 1: a number, 2: a date, 3: a category
    targets: list[int]  # places of its numbers among those of a row
    parts: list[int]  # of a date, one per number: places in DATE_PARTS
    flagged: int  # place among the columns that have flags, or -1
    missing: int  # position of a missing number or date, or -1
    known: dict[Any, int]  # values of a category, and their rows in the arrays
    numbers: Array  # float64 (known, targets)
    positions: Array  # int32 (known,)


class TableRows(Protocol):
    """A model of tables that is ready for rows. Threads may share it."""

    def values(self, numbers: Array, positions: Array) -> Array | None:
        """Return logits or predictions (rows, problems), or None if a value is not finite.

        ``numbers`` are float64 (rows, numbers) with NaN where one is missing, and ``positions`` int32 (rows, columns
        with flags) the flags that are 1, or -1.
        """

    def reader(
        self, columns: list[RowColumn], read: Callable[[int, Any], Any]
    ) -> Callable[[dict[Any, Any] | list[Any]], Array | int | None]:
        """Return a function that takes one row of Python values, and returns the same as ``values``.

        It returns the number of a column if the row lacks that column. ``read(column, value)`` says what a value is
        that is neither a plain number nor a known category: a float, the microseconds of a date, None if it is missing,
        or the numbers and the position of a category.
        """


class Serving(Protocol):
    """Predictions of a few rows at a time."""

    def predictor(self, model: ReadyModel) -> Callable[[Rows], Array | None] | None:
        """Return a function from rows to decision values, float64 (rows, problems), that threads may share.

        The function returns None if a value is not finite. A back end that has no such function returns None itself;
        callers then hash rows and compute decision values step by step.
        """

    def table_predictor(self, table: ReadyTable) -> TableRows | None:
        """Return the same for a model of tables. A back end that has none returns None."""


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

    def tree_shapley(
        self, features: Array, background: Array, trees: TreeArrays, owners: Array, n_columns: int
    ) -> Array:
        """Return Shapley values of the sums of trees against background rows, (rows, columns, outputs) float64.

        ``owners``, int32, has the column of each feature. Features of a column change together.
        """

    def growth_rows(self, binned: Array, bins: Array) -> GrowthRows:
        """Return training rows on which trees grow.

        ``binned`` (features, rows) are uint8 numbers of bins. Feature f has ``bins[f]`` of them, int32, at most 255,
        and the number ``bins[f]`` for a missing value.
        """


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


# Columns of tables.


class Columns(Protocol):
    """Operations on columns of tables."""

    def quantile_levels(self, numbers: Array, tables: Array) -> Array:
        """Return the levels of float64 numbers (rows, columns), from -1 to 1, float32 of the same shape.

        ``tables`` (columns, quantiles) hold at least two quantiles per column in ascending order. NaN gets 0.
        """

    def components(self, standard: Array, mean: Array, directions: Array) -> Array:
        """Return components of standardized features, float32 (rows, components).

        ``standard`` are float32 in any order; ``mean`` and ``directions`` (features, components) float64.
        """

    def shares(self, logits: Array) -> Array:
        """Return probabilities (rows, classes) of float64 logits (rows, problems)."""

    def blended(self, logits: Array, trees: Array, share: float, temperature: float) -> Array:
        """Return the logits of the blend of a linear model and of trees, whose raw values are float64 logits too.

        ``share`` is that of the trees, and ``temperature`` divides the logarithms of the blended probabilities.
        """

    def weighted_differences(self, x: Array, weights: Array) -> Array:
        """Return the sum of ``weights[i, j] * |x[i] - x[j]|`` over all pairs i < j, float64 (features,).

        Both arguments are float32.
        """


# Near neighbours.


class Graphs(Protocol):
    """Graphs of dense rows, and the search in them."""

    def graph_bytes(self, values: Array, zero: int, scale: float) -> tuple[Array, Array]:
        """Return float32 rows as bytes, round(x * scale) + zero, cut off to 0 .. 255, and their norms."""

    def graph_build(self, bytes_: Array, norms: Array, order: Array, done: int, links: Array) -> None:
        """Link the rows ``order[done:]`` to rows near them: ``links`` changes. Those before have links already."""

    def graph_search(
        self, queries: Queries, segments: list[Segment], n_rerank: int, n_neighbors: int
    ) -> tuple[Array, Array, Array]:
        """Return what ``index_search`` returns, for neighbours found by the graphs of segments."""


# Similarity joins.


class Join(Protocol):
    """The similarity join of sparse rows (``reference/join.py``)."""

    def join_keys(self, rows: CsrRows) -> Array:
        """Return the keys of rows, uint64 of shape (n_rows, 2)."""

    def join_count(self, rows: CsrRows, counters: Array) -> None:
        """Count the features of rows in a table of uint16, whose length is a power of two."""

    def join_prefixes(self, rows: CsrRows, counters: Array, threshold: float) -> Array:
        """Return which nonzeros belong to the prefix of their row, as bool."""

    def join_similarities(self, rows: CsrRows, left: Array, right: Array) -> Array:
        """Return the exact GMM kernel of pairs of rows, given by their numbers."""


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

    def shingles_of_texts(self, texts: tuple[str | bytes, ...], params: ShingleParams) -> tuple[Array, Array, Array]:
        """Do the same for texts that are not joined: strings in ASCII, and bytes."""


class Checks(Protocol):
    """Checks of the user's arrays."""

    def is_canonical(self, indptr: Array, indices: Array, n_features: int) -> bool:
        """Return whether CSR arrays are sound, with ascending and distinct indices in each row."""
