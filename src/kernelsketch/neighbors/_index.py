"""GCWSIndex: the near-neighbour index, its parameters and its changes (specified in reference/index.py)."""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils._param_validation import Interval

from .._array import Array
from .._hash_parameters import HASH_CONSTRAINTS
from .._rows import MOST_FEATURES, check_width
from .._validation import check_n_jobs, check_positive_int
from ..backends import MOST_CODES, MOST_HASHES_PER_TABLE, Rows, Segment, rows_on_host
from ..exceptions import InputError, Setting
from ..text import Shingles, holds_texts
from . import _segments, _vectors
from ._folder import load_folder, save_folder
from ._graph import MOST_LINKS
from ._row_ids import LARGEST_ID, check_ids, check_names
from ._search import NeighborSearch
from ._storage import load_index, save_index
from ._tune import tuned_index


class GCWSIndex(NeighborSearch):
    r"""Approximate nearest-neighbour index for the GMM kernel: LSH tables, lists or a graph, with exact re-ranking.

    The distance is 1 - GMM; on nonnegative rows GMM is the weighted Jaccard similarity. Rows can be dense or CSR, and
    their values can have any sign. The index needs no training, and rows can be added and removed at any time.

    A search has two stages:

    1. *Candidates.* Every row has ``n_components`` hash codes of one byte. Each of the ``n_tables`` LSH tables puts
       rows that agree on its ``hashes_per_table`` codes into the same bucket, and the rows that share a bucket with
       the query in any table are its candidates. For sparse rows, inverted lists of their heaviest features can replace
       the tables (see ``heavy_fraction``), and for dense rows a graph (see ``graph_degree``).
    2. *Re-ranking.* The ``n_rerank`` candidates with the most equal codes are compared with the query by the exact
       kernel.

    Which parameters to choose:

    =============================================== ============================================================
    You want                                        Parameter
    =============================================== ============================================================
    a certain recall                                :meth:`tune`, which chooses the parameters from your data
    a higher recall, for more time                  larger ``n_rerank``, like ``k_factor`` of ``IndexRefine`` in
                                                    faiss or ``ef`` in hnswlib
    a higher recall, for more time and memory       larger ``n_tables``
    fewer candidates: faster, lower recall          larger ``hashes_per_table``
    neighbours of low similarity in sparse rows     ``heavy_fraction``, from about 0.5 to 0.9
    neighbours of low similarity in dense rows      ``graph_degree``, from 16 to 48
    an index without the rows themselves            ``store_vectors=False`` with a larger ``n_components``
    exactly ``n_neighbors`` results for every query ``fill_missing=True``
    the true neighbours, whatever they cost         ``n_tables=0`` and ``n_rerank=None``
    =============================================== ============================================================

    A row of similarity s to the query is a candidate with probability

    .. math:: 1 - (1 - c^K)^L, \qquad c = s + (1 - s) / 256,

    where K is ``hashes_per_table`` and L is ``n_tables`` (:func:`kernelsketch.theory.index_recall`).

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours per query, unless a method is given another number.
    n_tables : int, default=32
        Number of LSH tables, L. More tables find more neighbours and take 4 to 5 bytes per row each. After :meth:`fit`
        you can lower it: queries then use only the first tables, which is faster. With 0 there are no tables, and the
        codes of all rows are compared. Not used with ``heavy_fraction`` and ``graph_degree``.
    hashes_per_table : int, default=4
        Number of hashes per table, K, from 1 to 8: two rows are in the same bucket of a table if they agree on all of
        them. More hashes per table give fewer candidates, which are more similar. Not used with ``heavy_fraction`` and
        ``graph_degree``.
    n_components : int, default=128
        Number of hashes per row, one byte each, at most 4096. More hashes rank the candidates better. The index makes
        at least ``n_tables * hashes_per_table``. Not used with ``heavy_fraction`` and ``graph_degree``.
    n_rerank : int or None, default=100
        Number of candidates per query that :meth:`kneighbors` compares with the query by the exact kernel. None
        compares all of them; with ``n_tables=0`` or ``graph_degree`` these are all rows, and the search is exact. You
        can change it after :meth:`fit`.
    heavy_fraction : float, default=None
        For sparse rows, such as texts: use inverted lists of features instead of LSH tables. The heavy features of a
        row are those with the largest absolute values, as few as hold this fraction of its L1 norm. Candidates are the
        rows that have a heavy feature in common with the query, with the same sign, and those that share most in their
        heavy features are re-ranked. All rows of a similarity above 1 / ``heavy_fraction`` - 1 are candidates; with 1,
        all rows of a similarity above 0 are. After :meth:`fit` you can lower it, which is faster and finds fewer
        neighbours. None uses LSH tables.
    graph_degree : int, default=None
        For dense rows: use a graph instead of LSH tables, with up to this number of links per row, from 2 to 256, each
        of 4 bytes. :meth:`kneighbors` follows links from row to row, as hnswlib and pynndescent do, and re-ranks the
        ``n_rerank`` nearest rows that it came across (``M`` and ``ef`` in hnswlib). More links increase the recall,
        take more memory, and make building slower. None uses no graph.
    store_vectors : bool, default=True
        Whether to store the rows for re-ranking. Without them similarities are estimated from the codes, with standard
        error sqrt((1 - s) (s + 1 / 255) / n_components).
    fill_missing : bool, default=False
        Whether :meth:`kneighbors` searches all rows for a query with too few candidates. With True, such a query is
        compared with the codes of all rows (with ``heavy_fraction``, with the rows themselves). If neighbours are still
        missing, the rows of smallest id follow at distance 1. Only an index with too few rows that are not all zero
        then leaves neighbours missing. Missing neighbours have id -1 and distance inf.
    p : float, default=1.0
        Power of the pGMM kernel; see :func:`gmm_kernel`. The hash needs ``|p log2(value)|`` of at most 16384 for the
        largest value of each row, and other rows are refused; up to p=15 all values pass.
    center : None, "mean", "median" or array of shape (n_features,), default=None
        Vector that is subtracted from all rows. "mean" and "median" are learned in :meth:`fit`. Not for sparse rows.
    shingles : Shingles, default=None
        With a :class:`~kernelsketch.text.Shingles`, the methods take texts where they take rows, and turn them into
        rows by it. It is saved with the index. With ``weight="idf"``, :meth:`fit` learns the document frequencies from
        texts; given rows that a fitted Shingles has made, it keeps those of that Shingles.
    random_state : int, RandomState instance or None, default=0
        Seed of the hash.
    n_jobs : int, default=None
        Number of threads. None is 1, -1 uses all processors. Results do not depend on it.

    Attributes
    ----------
    ids_ : int64 array of shape (n_rows,)
        Ids of the indexed rows, ascending.
    has_names_ : bool
        Whether some rows have names, which :meth:`names_of` returns.
    n_samples_fit_ : int
        Number of indexed rows.
    bytes_per_row_ : float
        Memory per row of codes, LSH tables, inverted lists or graph, ids and flags, without the stored vectors.
    nbytes_ : int
        Memory of the whole index, including the stored vectors.
    hasher_ : GCWS
        The hash of the index, as a fitted transformer.
    shingles_ : Shingles
        How texts become rows, fitted. Only with ``shingles``.
    vocabulary_size_ : int or None
        Number of different shingles of the texts, estimated from a share of them if there are more than 16 million
        values; None with ``store_vectors=False``. Only with ``shingles``.
    tuning_ : dict
        What :meth:`tune` expects of its choice. Only after :meth:`tune`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features,)
        Names of the features. Only if the rows had string names.

    See Also
    --------
    GCWSNeighborsTransformer : Neighbour graphs for scikit-learn's estimators.
    gmm_kernel : The exact kernel.

    Notes
    -----
    Whether two rows are candidates for each other depends on these two rows only. So results do not depend on the order
    of insertion or on the number of threads. With ``graph_degree`` they depend on the order of insertion, and on the
    number of threads neither. If distances are equal, the smaller id comes first. All-zero rows are
    never returned and get no neighbours; with ``fill_missing`` they get rows at distance 1.

    Threads can share an index. The results of concurrent calls of :meth:`fit`, :meth:`add`, :meth:`remove`,
    :meth:`widen`, :meth:`save`, :meth:`save_folder` and the query methods are those of calls one after the other, in
    some order. A query searches the rows that are in the index when it begins, and waits for no other call. Changes
    wait for each other, and for :meth:`save_folder`. Setting parameters is not part of this.

    An id of your own may be -1. Its distance is finite, while that of a missing neighbour is inf.

    The index stores vectors as float32, and as bytes if all values are integers from 0 to 255. Distances are computed
    from these in float64. If ``p`` is not 1 or the values are far from 1, :meth:`fit` learns a scale from its rows, and
    later rows must have a similar scale.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelsketch import GCWSIndex
    >>> X = np.random.default_rng(0).gamma(1.0, size=(1000, 50))
    >>> index = GCWSIndex(n_neighbors=2).fit(X)
    >>> distances, ids = index.kneighbors(X[:1] * 1.01)
    >>> int(ids[0, 0]), round(float(distances[0, 0]), 4)
    (0, 0.0099)

    Texts:

    >>> from kernelsketch.text import Shingles
    >>> index = GCWSIndex(1, shingles=Shingles((1, 2))).fit(["the quick brown fox", "a lazy dog", "the end"])
    >>> index.kneighbors(["A quick, brown fox!"])[1]
    array([[0]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_tables": [Interval(Integral, 0, MOST_CODES, closed="both")],
        "hashes_per_table": [Interval(Integral, 1, MOST_HASHES_PER_TABLE, closed="both")],
        "n_components": [Interval(Integral, 1, MOST_CODES, closed="both")],
        "n_rerank": [Interval(Integral, 1, None, closed="left"), None],
        "heavy_fraction": [Interval(Real, 0, 1, closed="right"), None],
        "graph_degree": [Interval(Integral, 2, MOST_LINKS, closed="both"), None],
        "store_vectors": ["boolean"],
        "fill_missing": ["boolean"],
        "shingles": [Shingles, None],
        **{name: HASH_CONSTRAINTS[name] for name in ("p", "center", "random_state", "n_jobs")},
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        n_tables: int = 32,
        hashes_per_table: int = 4,
        n_components: int = 128,
        n_rerank: int | None = 100,
        heavy_fraction: float | None = None,
        graph_degree: int | None = None,
        store_vectors: bool = True,
        fill_missing: bool = False,
        p: float = 1.0,
        center: Any = None,
        shingles: Shingles | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_tables = n_tables
        self.hashes_per_table = hashes_per_table
        self.n_components = n_components
        self.n_rerank = n_rerank
        self.heavy_fraction = heavy_fraction
        self.graph_degree = graph_degree
        self.store_vectors = store_vectors
        self.fill_missing = fill_missing
        self.p = p
        self.center = center
        self.shingles = shingles
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, *, ids: Any = None, names: Any = None) -> GCWSIndex:
        """Build the index from rows. Rows that were indexed before are dropped, unless there is an error.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to index.
        y : Ignored
        ids : int64 array of shape (n_samples,), default=None
            Distinct integers of any sign that stand for the rows in results. None uses 0, 1, 2, ...
        names : list of str, default=None
            A name for each row, such as the key of a document, which is stored with the index. :meth:`names_of` returns
            the names of ids. Rows without a name have an empty one.

        Returns
        -------
        self
            The fitted index.
        """
        index = self._snapshot(_threads=check_n_jobs(self.n_jobs))
        index = index._with_segments([index._fit(X, ids, names)])
        with self._turn():
            self._become(index._snapshot(_folder_state=self._folder_state))  # another thread may have saved since
        return self

    def _fit(self, X: Any, ids: Any, names: Any) -> Segment:
        """Learn from rows, and return the segment of all of them."""
        layout = self._layout_of_parameters()
        n_codes = self._n_codes(layout.n_tables)
        if self.shingles is not None:
            self._shingles = clone(self.shingles).fit(X) if holds_texts(X) else copy(self.shingles)
        rows = self._rows_of(X, reset=True)
        wanted = np.arange(len(rows)) if ids is None else check_ids(ids, len(rows))
        named = check_names(names, len(rows))
        hasher = self._hasher_for(rows, n_codes)
        hasher.check(rows)
        transform, host = None, rows_on_host(rows)
        if self.store_vectors:
            transform = _vectors.choose_transform(host, hasher.center, hasher.p, self._threads)
        if layout.heavy_fraction and (transform is None or not transform.sparse):
            why = "X is dense: pass scipy.sparse.csr_array(X), or heavy_fraction=None"
            if transform is None:
                why = "store_vectors is False: pass store_vectors=True, or heavy_fraction=None"
            raise InputError(
                Setting("heavy_fraction", self.heavy_fraction), f" needs sparse rows that the index stores, but {why}."
            )
        if layout.graph_degree and (layout.heavy_fraction or transform is None or transform.sparse):
            why = "X is sparse: pass X.toarray() if it fits in memory, or heavy_fraction=0.7 for inverted lists"
            if transform is None:
                why = "store_vectors is False: pass store_vectors=True, or graph_degree=None"
            if layout.heavy_fraction:
                why = "heavy_fraction is set, which is for sparse rows: pass one of them"
            raise InputError(
                Setting("graph_degree", self.graph_degree), f" needs dense rows that the index stores, but {why}."
            )
        self._hasher, self._vector_transform, self._layout = hasher, transform, layout
        return self._make_segment(rows, host, wanted, named)

    def add(self, X: Any, ids: Any = None, *, names: Any = None) -> GCWSIndex:
        """Add rows to the index. If there is an error, no row is added.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to add.
        ids : int64 array of shape (n_samples,), default=None
            Distinct integers that the index does not have yet. None uses the numbers after the largest id.
        names : list of str, default=None
            A name for each row, as in :meth:`fit`.

        Returns
        -------
        self
            The index with these rows.
        """
        while True:
            index = self._ready()
            rows = index._check_rows(X)
            own = index._free_ids(ids, len(rows))
            new = index._make_segment(rows, rows_on_host(rows), own, check_names(names, len(rows)))
            with self._turn():
                now = self._snapshot()
                if now._hasher is not index._hasher or now.n_features_in_ != index.n_features_in_:
                    continue  # another thread has called fit or widen since
                if now._segments is not index._segments:  # rows are in the order of their ids whichever these are
                    new = new._replace(ids=np.sort(now._free_ids(ids, len(rows))))
                self._become(now._with_segments(_segments.append(now._segments, new, now._layout, index._threads)))
                return self

    def _free_ids(self, ids: Any, n_rows: int) -> Array:
        """Return ids for new rows: those that are given, if the index has none of them, or the next ones."""
        if ids is None:
            ids = _segments.ids_of(self._segments)
            first = int(ids[-1]) + 1 if len(ids) else 0
            if first + n_rows - 1 > LARGEST_ID:
                raise InputError(
                    Setting("ids"),
                    f" cannot continue after {first - 1}, the largest in the index: pass ids for these rows.",
                )
            return np.arange(first, first + n_rows, dtype=np.int64)
        wanted = check_ids(ids, n_rows)
        there = _segments.find(self._segments, wanted)[0] >= 0
        if there.any():
            raise InputError(
                f"ids: {int(there.sum())} of {len(wanted)} are in the index already, for example "
                f"{wanted[np.argmax(there)]}. Remove them first with index.remove(ids), or choose others."
            )
        return wanted

    def widen(self, n_features: int) -> GCWSIndex:
        """Increase the number of features of an index of sparse rows. Indexed rows have zeros in the new features.

        Feature names are dropped.

        Parameters
        ----------
        n_features : int
            New number of features, at least ``n_features_in_``.

        Returns
        -------
        self
            The wider index.
        """
        width = check_positive_int(n_features, "n_features")
        if width > MOST_FEATURES:
            raise InputError(Setting("n_features", width), f": there can be at most {MOST_FEATURES}.")
        with self._turn():
            index = self._fitted()
            dense = [s.vectors for s in index._segments if s.vectors is not None and s.vectors.indptr is None]
            if width < index.n_features_in_ or dense or index._hasher.center is not None:
                raise InputError(
                    Setting("n_features", width),
                    f": only an index of sparse rows without a center can become wider, and this "
                    f"one has {index.n_features_in_} features{' of dense rows' if dense else ''}.",
                )
            check_width(index, width, reset=True)
            segments = [
                s if s.vectors is None else s._replace(vectors=s.vectors._replace(n_features=width))
                for s in index._segments
            ]
            self._become(index._snapshot(_segments=segments))
        return self

    def remove(self, ids: Any) -> GCWSIndex:
        """Remove rows by their ids. If there is an error, no row is removed.

        Parameters
        ----------
        ids : int64 array of shape (n,)
            Distinct ids of indexed rows.

        Returns
        -------
        self
            The index without these rows.
        """
        wanted = check_ids(ids)
        with self._turn():
            index = self._ready()
            missing = _segments.find(index._segments, wanted)[0] < 0
            if missing.any():
                raise InputError(
                    f"ids: {int(missing.sum())} of {len(wanted)} are not in the index, for example "
                    f"{wanted[np.argmax(missing)]}. index.ids_ lists those that are."
                )
            segments = _segments.remove(index._segments, wanted, index._layout, index._threads)
            self._become(index._with_segments(segments))
        return self

    def tune(
        self,
        X: Any,
        *,
        recall: float = 0.95,
        n_neighbors: int | None = None,
        queries: Any = None,
        n_rows: int | None = None,
    ) -> GCWSIndex:
        """Return an index with the fastest parameters that reach a recall. This index stays as it is.

        Call :meth:`fit` on the result: ``index = GCWSIndex().tune(X).fit(X)``. The method chooses ``n_tables``,
        ``hashes_per_table``, ``n_components``, ``heavy_fraction``, ``graph_degree`` and ``n_rerank``; all other
        parameters are those of this index. It finds the true neighbours of up to 256 queries with the exact kernel.
        From their similarities it computes the recall and the number of candidates of many settings of the LSH tables,
        and measures the ``n_rerank`` that they need on a sample. For sparse rows it measures settings of
        ``heavy_fraction`` as well. It chooses ``n_tables=0`` and ``n_rerank=None`` if rows are dense and the exact
        comparison of all of them is estimated to be the fastest. For 10,000 to 100,000 dense rows it also builds a
        graph of all of them, which takes some seconds, and chooses ``graph_degree=32`` if that is estimated to be
        faster. With more rows, or with ``n_rows``, set ``graph_degree`` yourself.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to be indexed.
        recall : float, default=0.95
            Fraction of the true neighbours that queries should find, above 0 and below 1.
        n_neighbors : int, default=None
            Number of neighbours per query, which becomes the parameter of the new index. None: that of this index.
        queries : array or CSR matrix of shape (n_queries, n_features), default=None
            Rows like those of later queries. None uses rows of X, which are not their own neighbours.
        n_rows : int, default=None
            Number of rows that the index will hold, if X is a sample of them. None: those of X.

        Returns
        -------
        index : GCWSIndex
            A new index with these parameters, not fitted. Its ``tuning_`` is a dict of what to expect: ``recall``, its
            ``standard_error`` on the sample, ``candidates`` per query, ``bytes_per_row``, and ``similarity``, the
            median similarity of the true neighbours.
        """
        self._validate_params()
        if self.shingles is not None and holds_texts(X):
            fitted = clone(self.shingles).fit(X)
            X, queries = fitted.transform(X), None if queries is None else fitted.transform(queries)
        tuned: GCWSIndex = tuned_index(self, X, recall, n_neighbors, queries, n_rows)
        return tuned

    def save(self, path: Any) -> None:
        """Save the index to one safetensors file. A file of this name is replaced by the complete new one, or stays.

        Parameters
        ----------
        path : str or path
            File to write. The name of a folder is refused: :meth:`save_folder` writes to one.

        Notes
        -----
        With ``graph_degree``, rows added since :meth:`fit` are first inserted into the graph of the others, or a graph
        is built anew if rows were removed. Queries of this index then search that graph, as those of the file do.
        """
        index = self._ready()
        if index._layout.graph_degree:  # results of the file and of this index are the same from now on
            with self._turn():
                index = self._ready()
                segment = _segments.whole(index._segments, index._layout, index._threads)
                index = index._with_segments([segment])
                self._become(index)
        save_index(index, path)

    def save_folder(self, path: Any) -> None:
        """Save the index to a folder, in which only what has changed is written.

        These are the rows added since the index was loaded from the folder or saved to it, and which rows are removed.
        If the process is killed, the folder holds the old index or the new one.

        Parameters
        ----------
        path : str or path
            Folder to write to. It must be empty, new, or hold an index.
        """
        with self._turn():
            index = self._ready()
            segments, state = save_folder(index, Path(path))
            self._become(index._snapshot(_segments=segments, _folder_state=state))

    @classmethod
    def load(cls, path: Any, *, mmap: bool = False) -> Self:
        """Load an index that :meth:`save` or :meth:`save_folder` wrote. Its results are the same to the last bit.

        Parameters
        ----------
        path : str or path
            File or folder to read.
        mmap : bool, default=False
            Whether to map files into memory instead of reading them. Opening then takes no time and almost no memory,
            and queries read what they need. Headers, types and sizes are checked, but not the checksums of whole
            files. Additions and removals stay in memory until they are saved. Other programs must not write into a file
            as long as it is mapped, which :meth:`save` never does; a file that every user may write to is read all the
            same.

        Returns
        -------
        index : GCWSIndex
            The loaded index.
        """
        index: Self = (load_folder if Path(path).is_dir() else load_index)(cls, Path(path), mmap)
        return index

    def _make_segment(self, rows: Rows, host: Rows, ids: Array, names: Array | None) -> Segment:
        """Hash rows where they are, and make a segment of them in main memory. ``host`` are the same rows there."""
        codes, empty = self._codes(rows)
        vectors = None
        if self._vector_transform is not None:
            vectors = _vectors.to_vectors(host, empty, self._vector_transform, self._threads)
        return _segments.make(codes, empty, ids, vectors, self._layout, self._threads, names)
