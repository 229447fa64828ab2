"""Near neighbours: segments of an index, queries, and their arguments.

It is a part of the interface of a back end; ``_interface.py`` says what all parts have in common.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from .._array import Array
from ._interface import Arrays
from ._rows import CsrRows

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

    @property
    def csr(self) -> CsrRows:
        """The sparse rows."""
        assert self.indptr is not None
        assert self.indices is not None
        assert self.data is not None
        return CsrRows(self.indptr, self.indices, self.data, self.n_features)


class Postings(NamedTuple):
    """Inverted lists of heavy features. The key of feature f is 2 f for positive and 2 f + 1 for negative values."""

    directory: Array  # uint32: entry g is the number of keys below g << shift; see directory_shift
    keys: Array  # int64, ascending
    starts: Array  # int64 (keys + 1): where the list of each key begins
    entries: Array  # uint32 (starts[-1], 2): row, ascending per key; and absolute value, the bits of a float32


class Graph(NamedTuple):
    """Links of dense rows to rows near them. Where a row has fewer links, its own number follows."""

    links: Array  # uint32 (rows, degree)
    entries: Array  # uint32: rows where a search begins
    norms: Array  # float32: sums of |q - zero| over the bytes q of a row, at least 1
    zero: int = 0  # floats are compared as bytes: round(x * scale) + zero, cut off to 0 .. 255
    scale: float = 1.0
    bytes: Array | None = None  # uint8 (rows, features): rounded floats; None: the bytes of the vectors


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
    names: Array | None = None  # str, empty where a row has no name; None if no row has one
    graph: Graph | None = None
    file: str = ""  # its name in an index folder, if it has been saved to one; its flags may have changed since


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
    n_rerank: int = 0  # number of candidates that are compared exactly
    n_neighbors: int = 0
    threshold: float = 0.0
    exact: bool = False  # whether similarities are exact; otherwise they are estimated from codes
    later_only: bool = False  # whether to return only neighbours whose id is above that of the query
    heavy_fraction: float = 0.0


class Index(Arrays, Protocol):
    """LSH tables and inverted lists, and the search in them."""

    def index_tables(
        self, codes: Array, flags: Array, n_tables: int, hashes_per_table: int, bits: int
    ) -> tuple[Array, Array]:
        """Return the arrays ``rows`` and ``starts`` of a segment."""

    def index_norms(self, vectors: Vectors) -> Array:
        """Return the L1 norms of dense or sparse float32 rows."""

    def index_heavy(self, vectors: Vectors, heavy_fraction: float) -> Array:
        """Return which values of sparse rows belong to the heavy part of their row, as bool."""

    def index_search(
        self, queries: Queries, segments: list[Segment], params: SearchParams
    ) -> tuple[Array, Array, Array]:
        """Return the neighbours of all queries: the start of each query's neighbours, their ids and similarities.

        An index is in main memory: queries and segments are NumPy arrays, and so are results.
        """
