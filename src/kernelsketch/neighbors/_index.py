"""GCWSIndex: near neighbours by tables of GCWS samples (reference/index.py)."""

from __future__ import annotations

from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._rows import MOST_FEATURES, estimator_rows
from .._validation import check_n_jobs, check_positive_int
from ..backends import MOST_CODES, MOST_HASHES_PER_TABLE, Rows, Segment
from ..exceptions import InputError
from . import _segments, _vectors
from ._arguments import check_ids, index_hasher, next_ids
from ._search import Searching
from ._storage import load_index, save_index
from ._tune import tune_index

Array = NDArray[Any]


class GCWSIndex(Searching):
    r"""Near neighbours under the GMM kernel, found by hash tables of GCWS samples.

    Every row has ``n_components`` codes: bytes made from its samples (i*, t*). Table l groups rows that agree in all
    codes of its band, ``band`` successive ones. A row of similarity s to the query is with it in at least one table
    with probability

    .. math:: 1 - (1 - c^K)^L, \qquad c = s + (1 - s) / 256,

    K = ``band``, L = ``n_tables`` (:func:`kernelsketch.theory.index_recall`). Such rows are the candidates. The
    ``depth`` of them with most equal codes are compared exactly, by the GMM kernel of the rows themselves. Distances
    are 1 - GMM. Signed, dense and sparse rows are taken as they are.

    Sparse rows, texts for example, are found faster by their heaviest features: see ``mass``.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours of a query, where the method is not told.
    n_tables : int, default=32
        Number of tables, L. More find more. After :meth:`fit` a smaller number is allowed: queries then use the first
        tables only, which is faster and finds less. 0 compares the codes of every row. Not used with ``mass``, as the
        next two.
    band : int, default=4
        Codes that must be equal, K, from 1 to 8. The larger, the fewer candidates, and the more similar.
    n_components : int, default=128
        Codes of a row, one byte each, at most 4096. More rank candidates better. At least ``n_tables * band`` are made.
    depth : int, default=100
        Candidates of a query that :meth:`kneighbors` compares exactly. It can be changed after :meth:`fit`.
    mass : float, default=None
        For sparse rows: candidates are found by features instead of tables. Those of the largest values, as few as hold
        this part of the L1 norm of a row, are its heavy part; candidates are rows whose heavy part has one in common
        with the query's, of equal sign. Rows of similarity s above 1 / ``mass`` - 1 are then found for certain, 1
        finds all. The ``depth`` candidates that share most there are compared exactly. After :meth:`fit` a smaller
        number is allowed, which is faster and finds less. None: tables.
    store_vectors : bool, default=True
        Whether to keep rows for the exact comparison. Otherwise similarity is estimated from codes, with standard
        error sqrt((1 - s) (s + 1 / 255) / n_components), and a candidate costs its codes only.
    complete : bool, default=False
        What :meth:`kneighbors` does for a query with too few candidates. True: codes of all rows are compared (with
        ``mass``: the rows themselves), and what is still missing are the rows of smallest id at distance 1. False: ids
        are padded by -1 and distances by inf.
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
        Of tables or postings, codes, ids and flags, without the vectors.
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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_tables": [Interval(Integral, 0, MOST_CODES, closed="both")],
        "band": [Interval(Integral, 1, MOST_HASHES_PER_TABLE, closed="both")],
        "n_components": [Interval(Integral, 1, MOST_CODES, closed="both")],
        "depth": [Interval(Integral, 1, None, closed="left")],
        "mass": [Interval(Real, 0, 1, closed="right"), None],
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
        mass: float | None = None,
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
        self.mass = mass
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
        layout = _segments.Layout(0 if self.mass else int(self.n_tables), int(self.band), float(self.mass or 0))
        n_codes = self._n_codes(layout.tables)
        rows = estimator_rows(self, X, reset=True)
        wanted = np.arange(len(rows)) if ids is None else check_ids(ids, len(rows))
        hasher = index_hasher(self, rows, n_codes)
        hasher.check(rows)
        how = _vectors.choose_kept(rows, hasher.center, hasher.p) if self.store_vectors else None
        if layout.mass and (how is None or not how.sparse):
            why = "got dense ones: pass mass=None, or scipy.sparse.csr_array(X)" if how else "store_vectors is False"
            raise InputError(f"mass={self.mass} looks for features of sparse rows that are kept, and {why}.")
        self._hasher, self._kept, self._layout = hasher, how, layout
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
            wanted = next_ids(self.ids_, len(rows))
        else:
            wanted = check_ids(ids, len(rows))
            there = _segments.find(self._segments, wanted)[0] >= 0
            if there.any():
                raise InputError(
                    f"ids: {int(there.sum())} of {len(wanted)} are in the index already, {wanted[np.argmax(there)]} "
                    "for one. Remove them first, index.remove(ids), or choose others."
                )
        new = self._segment(rows, wanted)
        self._set(_segments.append(self._segments, new, self._layout, check_n_jobs(self.n_jobs)))
        return self

    def widen(self, n_features: int) -> GCWSIndex:
        """Make room for more features of sparse rows: those that are indexed have zeros there. Names are forgotten.

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
        if width > MOST_FEATURES:
            raise InputError(f"n_features={width}: there can be {MOST_FEATURES} at most.")
        dense = [s.vectors for s in self._segments if s.vectors is not None and s.vectors.indptr is None]
        if width < self.n_features_in_ or dense or self._hasher.center is not None:
            raise InputError(
                f"n_features={width}: only an index of sparse rows without a center can become wider, and this one "
                f"has {self.n_features_in_} features{' of dense rows' if dense else ''}."
            )
        self.n_features_in_ = width
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
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
        self._set(_segments.remove(self._segments, wanted, self._layout, check_n_jobs(self.n_jobs)))
        return self

    def tune(
        self, X: Any, target_recall: float = 0.9, *, n_neighbors: int | None = None, queries: Any = None
    ) -> GCWSIndex:
        """Choose ``band``, ``n_tables``, ``n_components``, ``mass`` and ``depth`` for rows like these.

        The neighbours of up to 256 queries are searched exactly. From their similarities the theory tells the recall of
        each choice of tables and how many candidates it costs; ``depth`` is measured on codes. For sparse rows choices
        of ``mass`` are measured beside them. ``n_neighbors`` is set, too. Nothing is built: call :meth:`fit` next.

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
        self._check_ready()
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
    def nbytes_(self) -> int:
        """Of all arrays, vectors included."""
        vectors = sum(_vectors.nbytes(s.vectors) for s in self._segments if s.vectors is not None)
        return vectors + sum(map(_segments.nbytes, self._segments))

    @property
    def bytes_per_row_(self) -> float:
        return sum(map(_segments.nbytes, self._segments)) / max(1, self.n_samples_fit_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.center is None
        return tags

    def _set(self, segments: list[Segment]) -> None:
        self._segments = segments
        self._n_rows = sum(int((s.flags != _segments.REMOVED).sum()) for s in segments)

    def _segment(self, rows: Rows, ids: Array) -> Segment:
        threads = check_n_jobs(self.n_jobs)
        codes, empty = self._codes(rows)
        vectors = None if self._kept is None else _vectors.keep(rows, empty, self._kept, threads)
        return _segments.make(codes, empty, ids, vectors, self._layout, threads)
