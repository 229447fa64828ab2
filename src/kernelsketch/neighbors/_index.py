"""GCWSIndex: near neighbours by tables of GCWS samples (reference/index.py)."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from .._backend import backend
from .._validation import check_n_jobs, check_positive_int, row_batches
from ..exceptions import InputError
from ..features import GCWS
from ..features._rows import native_rows
from ..reference.index import CHANCE, MOST_BAND, MOST_CODES, Queries, Segment, Task
from . import _answers, _segments, _vectors
from ._arguments import check_count, check_ids, check_threshold, next_ids
from ._file import load_index, save_index
from ._tune import tune_index

Array = NDArray[Any]

STEP_BYTES = 1 << 26  # of queries in work
PAIR_BYTES = 1 << 24  # of codes of pairs at a time


class GCWSIndex(BaseEstimator):  # type: ignore[misc]
    r"""Near neighbours under the GMM kernel, found by hash tables of GCWS samples.

    Every row has ``n_components`` codes: bytes made from its samples (i*, t*). Table l groups rows that agree in all
    codes of its band, ``band`` successive ones. A row of similarity s to the query is with it in at least one table
    with probability

    .. math:: 1 - (1 - c^K)^L, \qquad c = s + (1 - s) / 256,

    K = ``band``, L = ``n_tables`` (:func:`kernelsketch.theory.index_recall`). Such rows are the candidates. The
    ``depth`` of them with most equal codes are compared exactly, by the GMM kernel of the rows themselves. Distances
    are 1 - GMM. Signed, dense and sparse rows are taken as they are.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours of a query, where the method is not told.
    n_tables : int, default=32
        Number of tables, L. More find more. After :meth:`fit` a smaller number is allowed: queries then use the first
        tables only, which is faster and finds less. 0 compares the codes of every row.
    band : int, default=4
        Codes that must be equal, K, from 1 to 8. The larger, the fewer candidates, and the more similar.
    n_components : int, default=128
        Codes of a row, one byte each, at most 4096. More rank candidates better. At least ``n_tables * band`` are made.
    depth : int, default=100
        Candidates of a query that :meth:`kneighbors` compares exactly. It can be changed after :meth:`fit`.
    store_vectors : bool, default=True
        Whether to keep rows for the exact comparison. Otherwise similarity is estimated from codes, with standard
        error sqrt(s (1 - s) / n_components) at most, and a candidate costs its codes only.
    complete : bool, default=False
        What :meth:`kneighbors` does for a query with too few candidates. True: codes of all rows are compared, and what
        is still missing are the rows of smallest id at distance 1. False: ids are padded by -1 and distances by inf.
    p : float, default=1.0
        Power of the pGMM kernel; see :func:`gmm_kernel`.
    center : None, "mean", "median" or vector of shape (n_features,), default=None
        Subtracted first; learned at :meth:`fit`. Not for sparse data.
    random_state : int, RandomState instance or None, default=0
        The seed of the hash.
    n_jobs : int, default=None
        Threads: None is 1, -1 all processors. No result depends on it.

    Attributes
    ----------
    ids_ : int64 array of shape (n_rows,)
        Ids of the rows in the index, ascending.
    n_samples_fit_ : int
        Number of these rows.
    bytes_per_row_ : float
        Of tables, codes, ids and flags, without the vectors.
    hasher_ : GCWS
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Where the rows had string names.

    See Also
    --------
    GCWSNeighborsTransformer : neighbour graphs for scikit-learn's estimators.
    gmm_kernel : the exact kernel.

    Notes
    -----
    Candidates are a relation of two rows: no answer depends on the order of insertion, on other rows, or on
    threads. Of equal distances the smaller id comes first. A row without a nonzero value has no neighbours and
    is none.

    Vectors are kept as float32, small whole numbers as bytes. Distances are computed from these in float64. The center
    and, for ``p`` other than 1 or values far from 1, a scale are learned at :meth:`fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelsketch import GCWSIndex
    >>> X = np.random.default_rng(0).gamma(1.0, size=(1000, 50))
    >>> index = GCWSIndex(n_neighbors=2).fit(X)
    >>> distances, ids = index.kneighbors(X[:1] * 1.01)
    >>> int(ids[0, 0]), round(float(distances[0, 0]), 4)
    (0, 0.0099)
    """

    n_features_in_: int
    _segments: list[Segment]

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_tables": [Interval(Integral, 0, MOST_CODES, closed="both")],
        "band": [Interval(Integral, 1, MOST_BAND, closed="both")],
        "n_components": [Interval(Integral, 1, MOST_CODES, closed="both")],
        "depth": [Interval(Integral, 1, None, closed="left")],
        "store_vectors": ["boolean"],
        "complete": ["boolean"],
        "p": [Interval(Real, 0, None, closed="neither")],
        "center": [StrOptions({"mean", "median"}), "array-like", None],
        "random_state": [Interval(Integral, 0, 2**64 - 1, closed="both"), np.random.RandomState, None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        n_tables: int = 32,
        band: int = 4,
        n_components: int = 128,
        depth: int = 100,
        store_vectors: bool = True,
        complete: bool = False,
        p: float = 1.0,
        center: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_tables = n_tables
        self.band = band
        self.n_components = n_components
        self.depth = depth
        self.store_vectors = store_vectors
        self.complete = complete
        self.p = p
        self.center = center
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, *, ids: Any = None) -> GCWSIndex:
        """Index rows; what was there before is forgotten. On an error it is not.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        y : ignored
        ids : int64 array of shape (n_samples,), default=None
            Distinct whole numbers of any sign that stand for the rows in answers. None: 0, 1, 2, ...

        Returns
        -------
        self
        """
        before = self.__dict__.copy()
        try:
            self._fit(X, ids)
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _fit(self, X: Any, ids: Any) -> None:
        n_codes = self._n_codes(int(self.n_tables))
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        wanted = np.arange(X.shape[0]) if ids is None else check_ids(ids, X.shape[0])
        hasher = GCWS(n_codes, p=self.p, center=self.center, random_state=self.random_state)
        hasher.fit(X)
        rows = hasher._check_rows(X)
        how = _vectors.choose_kept(rows, hasher.center_, float(self.p)) if self.store_vectors else None
        self.hasher_, self._kept = hasher, how
        self._layout = (int(self.n_tables), int(self.band))
        self._set([self._segment(rows, wanted)])

    def add(self, X: Any, ids: Any = None) -> GCWSIndex:
        """Add rows. On an error nothing is added.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        ids : int64 array of shape (n_samples,), default=None
            Distinct, and none of them in the index. None: the numbers after the largest id.

        Returns
        -------
        self
        """
        self._check_ready()
        rows = self._check_rows(X)
        if ids is None:
            wanted = next_ids(self.ids_, rows.shape[0])
        else:
            wanted = check_ids(ids, rows.shape[0])
            there = _segments.find(self._segments, wanted)[0] >= 0
            if there.any():
                raise InputError(
                    f"ids: {int(there.sum())} of {len(wanted)} are in the index already, {wanted[np.argmax(there)]} "
                    "for one. Remove them first, index.remove(ids), or choose others."
                )
        new = self._segment(rows, wanted)
        self._set(_segments.append(self._segments, new, self._layout[1], check_n_jobs(self.n_jobs)))
        return self

    def widen(self, n_features: int) -> GCWSIndex:
        """Make room for more features of sparse rows: those that are indexed have zeros there.

        Parameters
        ----------
        n_features : int
            At least ``n_features_in_``.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        width = check_positive_int(n_features, "n_features")
        dense = [s.vectors for s in self._segments if s.vectors is not None and s.vectors.indptr is None]
        if width < self.n_features_in_ or dense or self.hasher_.center_ is not None:
            raise InputError(
                f"n_features={width}: only an index of sparse rows without a center can become wider, and this one "
                f"has {self.n_features_in_} features{' of dense rows' if dense else ''}."
            )
        self.n_features_in_ = self.hasher_.n_features_in_ = width
        self._segments = [
            s if s.vectors is None else s._replace(vectors=s.vectors._replace(n_features=width)) for s in self._segments
        ]
        return self

    def remove(self, ids: Any) -> GCWSIndex:
        """Remove rows by their ids. On an error nothing is removed.

        Parameters
        ----------
        ids : int64 array of shape (n,)
            Distinct, and all of them in the index.

        Returns
        -------
        self
        """
        self._check_ready()
        wanted = check_ids(ids)
        missing = _segments.find(self._segments, wanted)[0] < 0
        if missing.any():
            raise InputError(
                f"ids: {int(missing.sum())} of {len(wanted)} are not in the index, {wanted[np.argmax(missing)]} for "
                "one. index.ids_ has those that are."
            )
        self._set(_segments.remove(self._segments, wanted, self._layout[1], check_n_jobs(self.n_jobs)))
        return self

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """The nearest rows of each query.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_queries, n_features), default=None
            None: the indexed rows, in the order of ``ids_``, each without itself.
        n_neighbors : int, default=None
            None: the parameter of that name.
        return_distance : bool, default=True

        Returns
        -------
        distances : float64 array of shape (n_queries, n_neighbors)
            1 - GMM, ascending; only if ``return_distance``.
        ids : int64 array of shape (n_queries, n_neighbors)
            -1 at distance inf where too few candidates were found, unless ``complete``.
        """
        self._check_ready()
        k = check_count(self.n_neighbors if n_neighbors is None else n_neighbors, self.n_samples_fit_, X is None)
        n = self._n_queries(X)
        ids, similarity = np.full((n + 1, k), -1), np.full((n + 1, k), -np.inf)
        task = self._task(most=k, depth=max(k, int(self.depth)) if self._kept is not None else k)
        for place, queries in self._queries(X):
            block_ids, block = _answers.as_matrix(*self._search(queries, task), k)
            if self.complete:
                self._complete(queries, task, block_ids, block)
            ids[place], similarity[place] = block_ids, block
        ids, distances = ids[:n], 1 - similarity[:n]
        return (distances, ids) if return_distance else ids

    def radius_neighbors(
        self,
        X: Any = None,
        similarity: float | None = None,
        *,
        radius: float | None = None,
        return_distance: bool = True,
    ) -> Any:
        """All candidates of at least some similarity.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_queries, n_features), default=None
            None: the indexed rows, in the order of ``ids_``, each without itself.
        similarity : float, default=None
            The least GMM of a neighbour, above 0 and at most 1.
        radius : float, default=None
            The same as a distance, 1 - similarity. One of the two is needed.
        return_distance : bool, default=True

        Returns
        -------
        distances : object array of shape (n_queries,)
            A float64 array for each query, ascending; only if ``return_distance``.
        ids : object array of shape (n_queries,)
            An int64 array for each query.
        """
        self._check_ready()
        task = self._task(least=check_threshold(similarity, radius))
        n = self._n_queries(X)
        distances, ids = np.empty(n + 1, object), np.empty(n + 1, object)
        for place, queries in self._queries(X):
            ends, block_ids, block = self._search(queries, task)
            ids[place] = _answers.as_lists(ends, block_ids)
            distances[place] = _answers.as_lists(ends, 1 - block)
        return (distances[:n], ids[:n]) if return_distance else ids[:n]

    def query_pairs(self, threshold: float) -> tuple[Array, Array]:
        """Pairs of indexed rows of at least some similarity: near duplicates, a self-join.

        Parameters
        ----------
        threshold : float
            The least GMM of a pair, above 0 and at most 1.

        Returns
        -------
        pairs : int64 array of shape (n_pairs, 2)
            Ids, the smaller first; ascending.
        similarity : float64 array of shape (n_pairs,)
        """
        self._check_ready()
        task = self._task(least=check_threshold(threshold, None, "threshold"), later=True)
        pairs, values = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
        for _, queries in self._queries(None):
            ends, ids, similarity = self._search(queries, task)
            first = np.repeat(self._own_ids(queries), np.diff(ends))
            pairs.append(np.stack([first, ids], axis=1))
            values.append(similarity)
        joined, value = np.concatenate(pairs), np.concatenate(values)
        order = np.lexsort((joined[:, 1], joined[:, 0]))
        return joined[order], value[order]

    def estimate_pairs(self, pairs: Any) -> Array:
        """Similarities of pairs of indexed rows as their codes estimate them, whether or not rows are kept.

        The share of equal codes, less what is equal by chance.

        Parameters
        ----------
        pairs : int64 array of shape (n_pairs, 2)
            Ids, for example of :meth:`query_pairs`.

        Returns
        -------
        similarity : float64 array of shape (n_pairs,)
        """
        check_is_fitted(self)
        ids = np.asarray(pairs)
        if ids.ndim != 2 or ids.shape[1] != 2 or ids.dtype.kind not in "iu":
            raise InputError(f"pairs must be whole numbers of shape (n_pairs, 2), got {ids.dtype} of {ids.shape}.")
        known, places = np.unique(ids, return_inverse=True)
        segment, row = _segments.find(self._segments, known)
        if (segment < 0).any():
            raise InputError(f"pairs: {known[np.argmin(segment)]} is not in the index. index.ids_ has what is.")
        places = places.reshape(ids.shape)
        found = np.empty(len(ids))
        for part in row_batches(len(ids), 4 * int(self.hasher_.n_components), PAIR_BYTES):
            a, b = (self._codes_at(segment, row, places[part, side]) for side in (0, 1))
            found[part] = (a == b).mean(axis=1)
        return np.clip((found - CHANCE) / (1 - CHANCE), 0, 1)

    def _codes_at(self, segment: Array, row: Array, places: Array) -> Array:
        codes = np.empty((len(places), int(self.hasher_.n_components)), np.uint8)
        for number, s in enumerate(self._segments):
            here = segment[places] == number
            codes[here] = s.codes[row[places[here]]]
        return codes

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """The nearest rows of each query as a sparse matrix.

        Parameters
        ----------
        X, n_neighbors
            As in :meth:`kneighbors`.
        mode : {"connectivity", "distance"}, default="connectivity"
            Ones, or distances 1 - GMM.

        Returns
        -------
        graph : CSR matrix of shape (n_queries, n_samples_fit_)
            Column j stands for ``ids_[j]``. Rows with too few candidates have fewer entries, unless ``complete``.
        """
        if mode not in ("connectivity", "distance"):
            raise InputError(f"mode must be 'connectivity' or 'distance', got {mode!r}.")
        distances, ids = self.kneighbors(X, n_neighbors)
        return _answers.as_graph(distances, ids, self.ids_, mode)

    def tune(
        self, X: Any, target_recall: float = 0.9, *, n_neighbors: int | None = None, queries: Any = None
    ) -> GCWSIndex:
        """Choose ``band``, ``n_tables``, ``n_components`` and ``depth`` for rows like these, and say what to expect.

        The neighbours of up to 256 queries are searched exactly. From their similarities the theory tells the recall of
        each choice and how many candidates it costs; ``depth`` is measured on codes. The index is not built: call
        :meth:`fit` next.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to be indexed.
        target_recall : float, default=0.9
            The share of true neighbours to be found, above 0 and below 1.
        n_neighbors : int, default=None
            None: the parameter of that name.
        queries : array or CSR matrix of shape (n_queries, n_features), default=None
            Rows like those that will be asked for. None: rows of X, each without itself.

        Returns
        -------
        self
            With the parameters set, and in ``tuning_`` a dict of what is expected: ``recall``, its ``standard_error``
            on the sample, ``candidates`` of a query, ``bytes_per_row``, and ``similarity``, the median of that of
            neighbours.
        """
        self._validate_params()
        tune_index(self, X, target_recall, self.n_neighbors if n_neighbors is None else n_neighbors, queries)
        return self

    def save(self, path: Any) -> None:
        """Write the index to a safetensors file: complete, or not at all. Removed rows are left out.

        Parameters
        ----------
        path : str or path
        """
        check_is_fitted(self)
        save_index(self, Path(path))

    @classmethod
    def load(cls, path: Any, *, mmap: bool = False) -> Self:
        """Read an index that :meth:`save` wrote. Answers are the same to the last bit.

        Parameters
        ----------
        path : str or path
        mmap : bool, default=False
            Map the file instead of reading it: opening takes no time and no memory, and queries read what they need.
            The checksum over the whole file is then not checked, only sizes, types and the header. Additions and
            removals stay in memory until :meth:`save`.

        Returns
        -------
        index : GCWSIndex
        """
        index: Self = load_index(cls, Path(path), mmap)
        return index

    @property
    def ids_(self) -> Array:
        return _segments.ids_of(self._segments)

    @property
    def n_samples_fit_(self) -> int:
        return self._n_rows

    @property
    def nbytes_(self) -> int:
        """Of all arrays, vectors included."""
        vectors = [part for s in self._segments if s.vectors is not None for part in s.vectors]
        return sum(map(_segments.nbytes, self._segments)) + sum(getattr(part, "nbytes", 0) for part in vectors)

    @property
    def bytes_per_row_(self) -> float:
        return sum(map(_segments.nbytes, self._segments)) / max(1, self.n_samples_fit_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_segments")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.center is None
        return tags

    def _n_codes(self, n_tables: int) -> int:
        """Codes of a row."""
        count = max(int(self.n_components), n_tables * int(self.band))
        if count > MOST_CODES:
            raise InputError(
                f"n_tables={n_tables} tables of band={self.band} codes need {count} codes a row: there can be "
                f"{MOST_CODES}. Use fewer tables or a smaller band."
            )
        return count

    def _set(self, segments: list[Segment]) -> None:
        self._segments = segments
        self._n_rows = sum(int((s.flags != _segments.REMOVED).sum()) for s in segments)

    def _check_ready(self) -> None:
        """Whether the index is built, and its parameters still fit what was built."""
        check_is_fitted(self)
        self._validate_params()
        tables, band = self._layout
        if self.band != band:
            raise InputError(f"band={self.band} cannot be used: the index was built with {band}. Fit again.")
        if self.store_vectors != (self._kept is not None):
            raise InputError(f"store_vectors={self.store_vectors} came after the index was built: fit again.")
        if self._n_codes(tables) != self.hasher_.n_components:
            built = self.hasher_.n_components
            raise InputError(f"n_components={self.n_components} cannot be used: rows have {built} codes. Fit again.")
        if self.n_tables > tables:
            raise InputError(f"n_tables={self.n_tables} is more than the {tables} tables that were built: fit again.")

    def _check_rows(self, X: Any) -> Any:
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        if sparse.issparse(X) and self.hasher_.center_ is not None:
            X = X.toarray()
        return self.hasher_._check_rows(X)

    def _codes(self, rows: Any) -> tuple[Array, Array]:
        codes = np.empty((rows.shape[0], int(self.hasher_.n_components)), np.uint8)
        empty = np.empty(len(codes), np.uint8)
        part = native_rows(rows, slice(0, len(codes)))
        backend().gcws_mixes(part, self.hasher_._hashing(), codes, empty, check_n_jobs(self.n_jobs))
        return codes, empty

    def _segment(self, rows: Any, ids: Array) -> Segment:
        threads = check_n_jobs(self.n_jobs)
        codes, empty = self._codes(rows)
        vectors = None if self._kept is None else _vectors.keep(rows, empty, self._kept, threads)
        return _segments.make(codes, empty, ids, vectors, *self._layout, threads)

    def _n_queries(self, X: Any) -> int:
        return self.n_samples_fit_ if X is None else int(np.shape(X)[0])

    def _queries(self, X: Any) -> Iterator[tuple[Any, Queries]]:
        """Queries a few at a time, and their places in the answer: for removed rows the one past its end."""
        kept = [s.vectors for s in self._segments if s.vectors is not None]
        threads = check_n_jobs(self.n_jobs)
        if X is not None:
            rows = self._check_rows(X)
            width = 8 * (rows.shape[1] if not sparse.issparse(rows) else rows.nnz // rows.shape[0]) + self.n_components
            for part in row_batches(rows.shape[0], width, STEP_BYTES):
                block = rows[part]
                codes, empty = self._codes(block)
                vectors = None
                if self._kept is not None:
                    vectors = _vectors.for_search(_vectors.keep(block, empty, self._kept, threads), kept)
                yield part, Queries(codes, empty, vectors)
            return
        everyone = self.ids_
        for number, s in enumerate(self._segments):
            width = self.n_components + (0 if s.vectors is None else _vectors.nbytes(s.vectors) // max(1, len(s.ids)))
            for part in row_batches(len(s.ids), width, STEP_BYTES):
                vectors = None
                if s.vectors is not None:
                    vectors = _vectors.for_search(_vectors.part_of(s.vectors, part), kept)
                place = np.searchsorted(everyone, s.ids[part])
                place[s.flags[part] == _segments.REMOVED] = len(everyone)
                yield place, Queries(s.codes[part], s.flags[part], vectors, number, part.start)

    def _own_ids(self, queries: Queries) -> Array:
        return self._segments[queries.segment].ids[queries.first : queries.first + len(queries.codes)]

    def _task(self, *, least: float = 0.0, depth: int = 0, most: int = 0, later: bool = False) -> Task:
        return Task(int(self.band), int(self.n_tables), depth, most, least, self._kept is not None, later)

    def _search(self, queries: Queries, task: Task) -> tuple[Array, Array, Array]:
        try:
            return backend().index_search(queries, self._segments, task, check_n_jobs(self.n_jobs))
        except (RuntimeError, ValueError) as error:  # a mapped file can hold anything
            raise InputError(f"the index cannot be searched: {error}. GCWSIndex.load(path) checks its file.") from error

    def _complete(self, queries: Queries, task: Task, ids: Array, similarity: Array) -> None:
        """Search the codes of all rows for queries that found too few, and fill what is then missing."""
        short = np.flatnonzero(np.isneginf(similarity[:, -1]))
        own = queries.segment >= 0
        for some in short[:, None] if own else [short]:  # rows of the index are numbered without gaps
            if len(some) == 0 or task.tables == 0:
                continue
            again = queries._replace(
                codes=queries.codes[some],
                empty=queries.empty[some],
                vectors=None if queries.vectors is None else _vectors.take(queries.vectors, some),
                first=queries.first + int(some[0]),
            )
            found = self._search(again, task._replace(tables=0))
            ids[some], similarity[some] = _answers.as_matrix(*found, task.most)
        if len(short):
            spare = _segments.ids_of(self._segments, nonempty=True)
            _answers.fill(ids, similarity, short, spare, self._own_ids(queries) if own else None)
