"""Queries of the index: neighbours, near-duplicate pairs, graphs. Each searches a snapshot (``_state.py``).

Results have the shapes of scikit-learn's nearest neighbours: matrices, lists, graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse

from .._array import Array
from .._rows import check_width, estimator_rows, rows_of
from .._validation import check_fraction, check_positive_int, row_batches
from .._warnings import warn_user
from ..backends import (
    CODE_CHANCE,
    CsrRows,
    DenseRows,
    Index,
    Queries,
    Rows,
    SearchParams,
    Segment,
    backend_for,
    in_library_of,
    on_host,
    place_of,
    processor_for,
    rows_on_host,
)
from ..exceptions import BackendError, InputError, InputTypeError, RangeWarning, Setting
from ..text import holds_texts
from . import _segments, _vectors
from ._clusters import first_equal, row_keys
from ._state import IndexState

MAX_PAIRS = 20_000_000  # of about 100 bytes each
FIRST_QUERIES = 64  # rows that are joined first; later ones come in larger blocks
BLOCK_PAIRS, MOST_BLOCK_PAIRS = 1 << 20, 1 << 27  # pairs of a block as they should be, and if all rows were similar
STEP_BYTES = 1 << 26  # of a batch of queries
PAIR_BYTES = 1 << 24  # of the codes of a batch of pairs


class NeighborSearch(IndexState):
    """The query methods of :class:`GCWSIndex`, which builds what they search."""

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Find the nearest indexed rows of each query.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_queries, n_features), default=None
            None: the indexed rows, in the order of ``ids_``, each without itself.
        n_neighbors : int, default=None
            Number of neighbours per query. None uses the parameter of the index.
        return_distance : bool, default=True
            Whether to return distances as well.

        Returns
        -------
        distances : float64 array of shape (n_queries, n_neighbors)
            1 - GMM, ascending. Only if ``return_distance``.
        ids : int64 array of shape (n_queries, n_neighbors)
            Ids of the neighbours. If a query has too few candidates, its row ends with -1 at distance inf;
            ``fill_missing=True`` searches all rows for such a query.
        """
        index = self._ready()
        k = index._count_of(n_neighbors, index._n_rows, own=X is None)
        rows = None if X is None else index._check_rows(X)
        n = index._n_rows if rows is None else len(rows)
        ids, similarity = np.full((n + 1, k), -1), np.full((n + 1, k), -np.inf)
        n_rerank = 0 if index.n_rerank is None else min(max(k, int(index.n_rerank)), index._n_rows)
        params = index._params(n_neighbors=k, n_rerank=n_rerank if index._vector_transform is not None else k)
        backend = index._backend(rows)
        for place, queries in index._queries(rows):
            by_graph = index._layout.graph_degree > 0 and n_rerank > 0
            found = index._search_graphs(queries, params) if by_graph else index._search(queries, params, backend)
            block_ids, block = _as_matrix(*found, k)
            if index.fill_missing:
                index._fill_missing(backend, queries, params, block_ids, block)
            ids[place], similarity[place] = block_ids, block
        ids, distances = (in_library_of(X, backend.from_numpy(part[:n])) for part in (ids, 1 - similarity))
        return (distances, ids) if return_distance else ids

    def neighbors_above(self, X: Any = None, *, threshold: float, return_distance: bool = True) -> Any:
        """Find all candidates of each query whose similarity is at least a threshold.

        With ``graph_degree``, all rows are candidates. scikit-learn's ``radius_neighbors`` takes a radius, which is a
        distance; the same neighbours have ``threshold = 1 - radius``.

        Parameters
        ----------
        X, return_distance
            As in :meth:`kneighbors`.
        threshold : float
            Smallest GMM of a neighbour, above 0 and at most 1.

        Returns
        -------
        distances : object array of shape (n_queries,)
            One float64 array per query, ascending. Only if ``return_distance``.
        ids : object array of shape (n_queries,)
            One int64 array per query.
        """
        index = self._ready()
        params = index._params(threshold=check_fraction(threshold, "threshold", with_one=True))
        rows = None if X is None else index._check_rows(X)
        n = index._n_rows if rows is None else len(rows)
        distances, ids = np.empty(n + 1, object), np.empty(n + 1, object)
        backend = index._backend(rows)
        for place, queries in index._queries(rows):
            ends, block_ids, block = index._search(queries, params, backend)
            block_ids, block = (in_library_of(X, backend.from_numpy(part)) for part in (block_ids, 1 - block))
            ids[place] = _as_lists(ends, block_ids)
            distances[place] = _as_lists(ends, block)
        return (distances[:n], ids[:n]) if return_distance else ids[:n]

    def query_pairs(
        self, threshold: float, *, all_equal: bool = False, max_pairs: int | None = MAX_PAIRS
    ) -> tuple[Array, Array]:
        """Find the near-duplicate pairs among the indexed rows: a self-join with a similarity threshold.

        Rows that are equal are listed once: each with the first of them, the one of smallest id, at similarity 1. Only
        this first row is paired with the rows that are similar to them. So 10,000 copies of a row give 9,999 pairs, not
        50 million.

        Parameters
        ----------
        threshold : float
            Smallest GMM of a pair, above 0 and at most 1.
        all_equal : bool, default=False
            Whether to list all pairs of equal rows, and all pairs of rows that are similar to them.
        max_pairs : int or None, default=20_000_000
            Number of pairs, of about 100 bytes each, above which the search stops with an error. None means no bound.

        Returns
        -------
        pairs : int64 array of shape (n_pairs, 2)
            Ids of each pair, the smaller first. Pairs are in ascending order.
        similarity : float64 array of shape (n_pairs,)
            GMM of each pair.

        Notes
        -----
        If the index does not store vectors, rows count as equal if all their codes are.
        """
        index = self._ready()
        threshold = check_fraction(threshold, "threshold", with_one=True)
        if not isinstance(all_equal, (bool, np.bool_)):
            raise InputTypeError(f"all_equal must be True or False, got {all_equal!r}.", parameter="all_equal")
        equal, distinct = np.zeros((0, 2), np.int64), index
        if not all_equal:
            equal = index._equal_rows()
            distinct = index._snapshot(_segments=_segments.flagged(index._segments, equal[:, 1]))
        pairs, values = [equal], [np.ones(len(equal))]
        if max_pairs is not None:
            max_pairs = check_positive_int(max_pairs, "max_pairs")
        count = len(equal)
        for found, similarity in distinct._pair_blocks(threshold):
            pairs.append(found)
            values.append(similarity)
            count += len(found)
            if max_pairs is not None and count > max_pairs:
                raise InputError(
                    f"there are more than max_pairs={max_pairs} pairs of at least threshold={threshold:g}: raise "
                    "threshold, pass max_pairs=None if the pairs fit in memory, or use NearDuplicates, which finds the "
                    "clusters without keeping pairs."
                )
        joined, value = np.concatenate(pairs), np.concatenate(values)
        order = np.lexsort((joined[:, 1], joined[:, 0]))
        return joined[order], value[order]

    def _equal_rows(self) -> Array:
        """Return the ids of rows that are equal, without all-zero rows: each with the first of them."""
        live = [s.flags == 0 for s in self._segments]
        ids = np.concatenate([s.ids[rows] for s, rows in zip(self._segments, live, strict=True)])
        keys = np.concatenate([_keys_of(s)[rows] for s, rows in zip(self._segments, live, strict=True)])
        order = np.argsort(ids)
        ids, first = ids[order], first_equal(keys[order])
        again = np.flatnonzero(first != np.arange(len(first)))
        return np.stack([ids[first[again]], ids[again]], axis=1)

    def _pair_blocks(self, threshold: float) -> Iterator[tuple[Array, Array]]:
        """Yield pairs of at least this similarity, with their similarities, in blocks."""
        params = self._params(threshold=threshold, later_only=True)
        backend = self._backend(None)
        step, most = FIRST_QUERIES, max(FIRST_QUERIES, MOST_BLOCK_PAIRS // max(1, self._n_rows))
        for _, queries in self._queries(None):
            start, n = 0, len(queries.codes)
            while start < n:
                part = queries_of(queries, slice(start, min(n, start + step)))
                ends, ids, similarity = self._search(part, params, backend)
                yield np.stack([np.repeat(self._own_ids(part), np.diff(ends)), ids], axis=1), similarity
                start += step
                if len(ids) < BLOCK_PAIRS // 4:
                    step = min(4 * step, most)
                elif len(ids) > BLOCK_PAIRS:
                    step = max(1, step // 4)

    def estimate_pairs(self, pairs: Any) -> Array:
        """Estimate the similarities of pairs of indexed rows from their codes.

        The estimate is the fraction of equal codes, corrected for codes that are equal by chance. It does not need the
        stored vectors.

        Parameters
        ----------
        pairs : int64 array of shape (n_pairs, 2)
            Ids of indexed rows, for example from :meth:`query_pairs`.

        Returns
        -------
        similarity : float64 array of shape (n_pairs,)
            Estimate per pair, from 0 to 1.
        """
        index = self._fitted()
        if index._layout.heavy_fraction or index._layout.graph_degree:
            name, kind = (
                ("heavy_fraction", "inverted lists") if index._layout.heavy_fraction else ("graph_degree", "a graph")
            )
            raise InputError(
                Setting(name, getattr(index, name)),
                f": an index of {kind} has no codes to estimate from. Its query methods return exact similarities.",
            )
        ids = np.asarray(on_host(pairs))
        if ids.dtype == np.uint64 and not (ids > np.iinfo(np.int64).max).any():
            ids = ids.astype(np.int64)
        if ids.ndim != 2 or ids.shape[1] != 2 or ids.dtype.kind not in "iu":
            raise InputError(
                f"pairs must be integers of shape (n_pairs, 2), got {ids.dtype} of shape {ids.shape}.",
                parameter="pairs",
            )
        known, places = np.unique(ids, return_inverse=True)
        segment, row = _segments.find(index._segments, known)
        if (segment < 0).any():
            raise InputError(
                f"pairs: id {known[np.argmin(segment)]} is not in the index. index.ids_ lists those that are."
            )
        places = places.reshape(ids.shape)
        found = np.empty(len(ids))
        for part in row_batches(len(ids), 4 * index._hasher.n_components, PAIR_BYTES):
            a, b = (index._codes_at(segment, row, places[part, side]) for side in (0, 1))
            found[part] = (a == b).mean(axis=1)
        return np.clip((found - CODE_CHANCE) / (1 - CODE_CHANCE), 0, 1)

    def _codes_at(self, segment: Array, row: Array, places: Array) -> Array:
        codes = np.empty((len(places), self._hasher.n_components), np.uint8)
        for number, s in enumerate(self._segments):
            here = segment[places] == number
            codes[here] = s.codes[row[places[here]]]
        return codes

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """Return the nearest indexed rows of each query as a sparse graph.

        Parameters
        ----------
        X, n_neighbors
            As in :meth:`kneighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            Values of the graph: ones, or distances 1 - GMM.

        Returns
        -------
        graph : CSR matrix of shape (n_queries, n_samples_fit_)
            Column j stands for ``ids_[j]``. Queries with too few candidates have fewer entries, unless
            ``fill_missing``.
        """
        if mode not in ("connectivity", "distance"):
            raise InputError(f"mode must be 'connectivity' or 'distance', got {mode!r}.", parameter="mode")
        index = self._ready()
        distances, ids = (on_host(part) for part in index.kneighbors(X, n_neighbors))
        graph = _as_graph(distances, ids, index.ids_, mode)
        if place_of(X) is None:
            return graph
        backend = index._backend(rows_of(X))
        data, indices, indptr = (backend.from_numpy(part) for part in (graph.data, graph.indices, graph.indptr))
        return in_library_of(X, backend.csr_matrix(data, indices, indptr, graph.shape))

    def _check_rows(self, X: Any) -> Rows:
        rows = self._rows_of(X, reset=False)
        if self._hasher.center is not None and rows.sparse:
            dense = rows_on_host(rows).to_dense()
            rows = DenseRows(self._backend(rows).from_numpy(dense.values))
        self._hasher.check(rows)
        return rows

    def _rows_of(self, X: Any, *, reset: bool) -> Rows:
        """Check the user's rows, or turn texts into rows, which need no check. Rows are from a caller that checked."""
        if isinstance(X, (DenseRows, CsrRows)):
            check_width(self, X.n_features, reset)
            return X
        if self.shingles is not None and holds_texts(X):
            X = copy(self._shingles).set_params(n_jobs=self.n_jobs).transform(X)
            if X.shape[0]:
                return self._rows_of(CsrRows.of(X), reset=reset)
        return estimator_rows(self, X, reset=reset, threads=self._threads)

    def _codes(self, rows: Rows) -> tuple[Array, Array]:
        codes, empty = map(on_host, self._hasher.fingerprints(rows, threads=self._threads))
        return codes, empty.view(np.uint8)

    def _queries(self, rows: Rows | None) -> Iterator[tuple[Any, Queries]]:
        """Yield batches of queries with their positions in the result.

        ``rows`` are checked; None stands for the indexed rows. The position of a removed row is one past the end of the
        result, where callers have one more row, which they drop.
        """
        stored = [s.vectors for s in self._segments if s.vectors is not None]
        if rows is not None:
            for part in row_batches(len(rows), rows.row_bytes + self.n_components, STEP_BYTES):
                asked = rows.part(part)
                block = rows_on_host(asked)
                if self.heavy_fraction or self.graph_degree:  # inverted lists and graphs need no codes
                    codes, empty = np.empty((len(block), 0), np.uint8), _vectors.empty_rows(block)
                else:
                    codes, empty = self._codes(asked)
                vectors = None
                if self._vector_transform is not None:
                    found, lost = _vectors.query_vectors(block, empty, self._vector_transform, self._threads)
                    vectors = _vectors.for_search(found, stored)
                    if lost.any():
                        _warn_about_range(part.start + np.flatnonzero(lost))
                        empty = empty | lost
                yield part, Queries(codes, empty, vectors)
            return
        everyone = _segments.ids_of(self._segments)
        for number, s in enumerate(self._segments):
            width = self.n_components + _vectors.nbytes(s.vectors) // max(1, len(s.ids))
            for part in row_batches(len(s.ids), width, STEP_BYTES):
                vectors = None
                if s.vectors is not None:
                    vectors = _vectors.for_search(_vectors.part_of(s.vectors, part), stored)
                place = np.searchsorted(everyone, s.ids[part])
                place[s.flags[part] == _segments.REMOVED] = len(everyone)
                yield place, Queries(s.codes[part], s.flags[part], vectors, number, part.start)

    def _own_ids(self, queries: Queries) -> Array:
        """Return the ids of queries that are indexed rows."""
        return self._segments[queries.segment].ids[queries.first : queries.first + len(queries.codes)]

    def _params(self, **given: Any) -> SearchParams:
        n_tables, hashes_per_table, heavy_fraction, _ = self._layout_of_parameters()
        exact = self._vector_transform is not None
        return SearchParams(hashes_per_table, n_tables, exact=exact, heavy_fraction=heavy_fraction, **given)

    def _backend(self, rows: Rows | None) -> Index:
        """Return the back end of the queries. The index itself is in main memory, whatever they are."""
        return backend_for(*(() if rows is None else rows.arrays), threads=self._threads)

    def _search(self, queries: Queries, params: SearchParams, backend: Index) -> tuple[Array, Array, Array]:
        return self._searched(lambda: backend.index_search(queries, self._segments, params))

    def _search_graphs(self, queries: Queries, params: SearchParams) -> tuple[Array, Array, Array]:
        processor = processor_for(queries.empty, threads=self._threads)
        return self._searched(
            lambda: processor.graph_search(queries, self._segments, params.n_rerank, params.n_neighbors)
        )

    def _searched(self, search: Callable[[], tuple[Array, Array, Array]]) -> tuple[Array, Array, Array]:
        try:
            ends, ids, similarity = map(on_host, search())
            return ends, ids, similarity
        except BackendError:
            raise
        except (RuntimeError, ValueError) as error:  # a mapped file can hold anything
            raise InputError(f"the index cannot be searched: {error}. GCWSIndex.load(path) checks the file.") from error

    def _fill_missing(
        self, backend: Index, queries: Queries, params: SearchParams, ids: Array, similarity: Array
    ) -> None:
        """Search all rows for queries that found too few neighbours, then fill up with rows of similarity 0.

        All rows are candidates then, ranked by their codes. With inverted lists all of them are compared exactly.
        """
        short = np.flatnonzero(np.isneginf(similarity[:, -1]))
        own = queries.segment >= 0
        wider = params._replace(n_tables=0)
        if params.heavy_fraction or self._layout.graph_degree:
            wider = wider._replace(n_rerank=0, heavy_fraction=0.0)
        for some in short[:, None] if own else [short]:  # queries that are indexed rows must be successive
            if len(some) == 0 or wider == params:
                continue
            found = self._search(queries_of(queries, some), wider, backend)
            ids[some], similarity[some] = _as_matrix(*found, params.n_neighbors)
        if len(short):
            available = _segments.ids_of(self._segments, nonempty=True)
            _fill_with_unrelated(ids, similarity, short, available, self._own_ids(queries) if own else None)


def queries_of(queries: Queries, rows: slice | Array) -> Queries:
    """Return some of the queries; they are successive if they are rows of an index."""
    first = rows.start if isinstance(rows, slice) else int(rows[0])
    return queries._replace(
        codes=queries.codes[rows],
        empty=queries.empty[rows],
        vectors=None if queries.vectors is None else _vectors.part_of(queries.vectors, rows),
        first=queries.first + first,
    )


def _warn_about_range(rows: Array) -> None:
    listed = ", ".join(map(str, rows[:5].tolist())) + (f" and {len(rows) - 5} more" if len(rows) > 5 else "")
    warn_user(
        "X has rows with values that float32 cannot hold at the scale of the first indexed rows "
        f"(row{'s' if len(rows) > 1 else ''} {listed}): they get no neighbours. Bring them to the scale of the index, "
        "or build it with store_vectors=False.",
        RangeWarning,
    )


def _keys_of(s: Segment) -> Array:
    return row_keys(DenseRows(s.codes.astype(np.float32)) if s.vectors is None else _vectors.as_rows(s.vectors))


def _as_matrix(ends: Array, ids: Array, similarity: Array, k: int) -> tuple[Array, Array]:
    """Return ids and similarities of shape (queries, k), padded with -1 and -inf."""
    held = np.arange(k) < np.diff(ends)[:, None]
    wide_ids, wide = np.full(held.shape, -1, np.int64), np.full(held.shape, -np.inf)
    wide_ids[held], wide[held] = ids, similarity
    return wide_ids, wide


def _fill_with_unrelated(ids: Array, similarity: Array, short: Array, available: Array, own: Array | None) -> None:
    """Replace the padding of the queries ``short`` by the smallest unused ids of ``available``, at similarity 0.

    ``own`` holds the ids of the queries if they are indexed rows, which are not their own neighbours.
    """
    k = ids.shape[1]
    for i in short.tolist():
        found = int(np.isfinite(similarity[i]).sum())
        used = ids[i, :found] if own is None else np.append(ids[i, :found], own[i])
        unused = available[: k + len(used)]
        unused = unused[~np.isin(unused, used)][: k - found]
        ids[i, found : found + len(unused)] = unused
        similarity[i, found : found + len(unused)] = 0.0


def _as_lists(ends: Array, values: Array) -> Array:
    """Return an array that holds one array per query."""
    lists = np.empty(len(ends) - 1, object)
    for i, (begin, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        lists[i] = values[begin:end]
    return lists


def _as_graph(distances: Array, ids: Array, columns: Array, mode: str) -> Any:
    """Return a matrix of results as a CSR graph. Column j of the graph stands for id ``columns[j]``; ids ascend."""
    held = np.isfinite(distances)
    indptr = np.concatenate([[0], np.cumsum(held.sum(axis=1))])
    data = distances[held] if mode == "distance" else np.ones(int(indptr[-1]))
    return sparse.csr_matrix((data, np.searchsorted(columns, ids[held]), indptr), shape=(len(ids), len(columns)))
