"""NearDuplicates: clusters of rows that are nearly the same, and :func:`dedup` for rows and texts."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context, clone
from sklearn.utils._param_validation import Interval, StrOptions

from .._array import Array
from .._estimator import PlainParameters, check_constraints
from .._frames import frame_of
from .._hash_parameters import HASH_CONSTRAINTS
from .._rows import estimator_rows
from .._validation import check_n_jobs, row_batches
from ..backends import CsrRows, Rows, processor_for
from ..exceptions import InputError, InputTypeError, Setting
from ..text import Shingles, holds_texts, plain_texts
from . import _clusters, _vectors
from ._index import GCWSIndex
from ._join import joined_pairs
from ._tune import layout_for

SHINGLE_WORDS = 5  # of a shingle, unless another transformer is given


class NearDuplicates(PlainParameters, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    r"""Cluster rows that are nearly the same, and choose one row of each cluster that stays.

    Two rows are near-duplicates if their GMM kernel, the weighted Jaccard similarity on nonnegative rows, is at least
    ``threshold``. Equal rows are found first, by a hash of their values. Among the others candidates are found, and the
    exact kernel decides, so every pair that is joined is really that similar. The candidates of sparse rows, such as
    texts, are the rows that share one of their rarest features, or all rows where that takes less time, among which no
    pair is missed. If both take long, and for dense rows, :class:`GCWSIndex` finds the candidates: a pair of exactly
    the threshold is then found with probability ``recall``, and more similar pairs more often.

    Parameters
    ----------
    threshold : float, default=0.8
        Smallest similarity of near-duplicates, above 0 and at most 1.
    recall : float, default=0.95
        Probability that a pair of exactly the threshold is found, above 0 and below 1, where LSH tables are used. A
        higher one takes more time and memory.
    how : {"single", "star"}, default="single"
        ``"single"`` is single linkage: a cluster consists of all rows that a chain of near-duplicates connects, so
        its ends may be less similar. With ``"star"``, every row of a cluster is a near-duplicate of the one that stays:
        rows are visited in their order, and a row that is not yet in a cluster begins one with all its near-duplicates
        that are not in a cluster.
    random_state : int, RandomState instance or None, default=0
        Seed of the hash.
    n_jobs : int, default=None
        Number of threads. None is 1, -1 uses all processors. Results do not depend on it.

    Attributes
    ----------
    labels_ : int64 array of shape (n_samples,)
        Number of the cluster of each row, from 0. Clusters are numbered in the order of their first rows.
    representatives_ : int64 array of shape (n_samples,)
        Number of the row that stays for each row; a row that stays has its own number.
    similarities_ : float64 array of shape (n_samples,)
        Similarity of each row to the one that stays, 1 for those that stay.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    dedup : The same for texts and for rows, in one call.
    GCWSIndex.query_pairs : Pairs of the rows of an index.

    Notes
    -----
    All-zero rows are similar to no row, not even to each other: each is a cluster of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelsketch import NearDuplicates
    >>> X = np.random.default_rng(0).gamma(1.0, size=(4, 50))
    >>> X = np.vstack([X, X[:2] * 1.05, X[:1]])
    >>> model = NearDuplicates(threshold=0.9).fit(X)
    >>> model.labels_
    array([0, 1, 2, 3, 0, 1, 0])
    >>> model.similarities_.round(2)
    array([1.  , 1.  , 1.  , 1.  , 0.95, 0.95, 1.  ])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "threshold": [Interval(Real, 0, 1, closed="right")],
        "recall": [Interval(Real, 0, 1, closed="neither")],
        "how": [StrOptions({"single", "star"})],
        "random_state": HASH_CONSTRAINTS["random_state"],
        "n_jobs": HASH_CONSTRAINTS["n_jobs"],
    }

    def __init__(
        self,
        threshold: float = 0.8,
        *,
        recall: float = 0.95,
        how: str = "single",
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.threshold = threshold
        self.recall = recall
        self.how = how
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, *, priority: Any = None) -> NearDuplicates:
        """Find the clusters.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows.
        y : Ignored
        priority : array of shape (n_samples,), default=None
            The row of highest priority stays, and of several the first one. None: the first row stays.

        Returns
        -------
        self
            The fitted clusterer.
        """
        _refuse_texts(X)
        threads = check_n_jobs(self.n_jobs)
        rows = estimator_rows(self, X, reset=True, threads=threads)
        rank = _clusters.rank_of(priority, len(rows))
        first, distinct = _first_rows(rows, threads)
        links = (pairs for pairs, _ in self._links(rows, distinct, threads, exact=False))
        stays = _clusters.stays_of(self.how, links, first, rank)
        self.representatives_ = stays
        _, begins, label = np.unique(stays, return_index=True, return_inverse=True)
        self.labels_ = np.argsort(np.argsort(begins))[label]
        self.similarities_ = np.ones(len(rows))
        members = _clusters.linked_members(stays, first)
        self.similarities_[members] = pair_similarities(rows, members, stays[members], threads)
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def pairs(self, X: Any) -> tuple[Array, Array]:
        """Find the pairs of near-duplicates among rows, without clusters.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        pairs : int64 array of shape (n_pairs, 2)
            Numbers of the rows of each pair, the smaller first, in ascending order. A row that equals earlier ones is
            listed once, with the first of them.
        similarity : float64 array of shape (n_pairs,)
            GMM kernel of each pair.
        """
        _refuse_texts(X)
        threads = check_n_jobs(self.n_jobs)
        rows = estimator_rows(clone(self), X, reset=True, threads=threads)
        first, distinct = _first_rows(rows, threads)
        return _clusters.all_pairs(list(self._links(rows, distinct, threads, exact=True)), first)

    def _links(self, rows: Rows, distinct: Array, threads: int, *, exact: bool) -> Iterator[tuple[Array, Array]]:
        """Yield pairs of near-duplicates among distinct rows and their similarities, in blocks; a pair may come twice.

        Unless ``exact``, the last bits of the similarities do not count.
        """
        if len(distinct) < len(rows):
            rows = rows.take(distinct)
        if len(rows) < 2:
            return
        threshold = float(self.threshold)
        found = None
        if isinstance(rows, CsrRows):
            found = joined_pairs(rows, threshold, threads, exact=exact)
        if found is None:
            layout = layout_for(threshold, float(self.recall))
            index = GCWSIndex(
                n_tables=layout.n_tables,
                hashes_per_table=layout.hashes_per_table,
                n_components=layout.n_tables * layout.hashes_per_table,
                random_state=self.random_state,
                n_jobs=self.n_jobs,
            )
            found = index.fit(rows)._snapshot(_threads=threads)._pair_blocks(threshold)
        for pairs, similarity in found:
            yield distinct[pairs], similarity


def dedup(
    X: Any,
    *,
    threshold: float = 0.8,
    recall: float = 0.95,
    how: str = "single",
    keep: Any = "first",
    shingles: Shingles | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> tuple[Array, Array]:
    """Find near-duplicates among texts or rows, and say which of them to keep.

    Parameters
    ----------
    X : iterable of str or bytes, or array or CSR matrix of shape (n, n_features)
        Texts, or rows of numbers.
    threshold, recall, how, random_state, n_jobs
        As for :class:`NearDuplicates`. The similarity of texts is the weighted Jaccard similarity of their shingles.
    keep : {"first", "longest"} or array of shape (n,), default="first"
        Which member of a cluster stays: the first, the longest text, or the one of the largest number in the array.
    shingles : Shingles, default=None
        How texts become rows. None is ``Shingles(5)``, runs of five words; use fewer for short texts. With
        ``weight="idf"`` it is fitted to the texts.

    Returns
    -------
    clusters : int64 array of shape (n,)
        For each text or row, the number of the one that stays.
    keep : bool array of shape (n,)
        Which of them stay.

    See Also
    --------
    NearDuplicates : A clusterer of rows, with the similarities as well.

    Examples
    --------
    >>> from kernelsketch import dedup
    >>> texts = ["The quick brown fox jumps over the lazy dog in the park.", "Something else.",
    ...          "The quick brown fox jumps over the lazy dog in the garden!", "something  ELSE"]
    >>> clusters, keep = dedup(texts, threshold=0.7)
    >>> clusters
    array([0, 1, 0, 1])
    >>> [text for text, stays in zip(texts, keep) if stays][1]
    'Something else.'
    """
    given: dict[str, Any] = {
        "threshold": threshold,
        "recall": recall,
        "how": how,
        "random_state": random_state,
        "n_jobs": n_jobs,
    }
    constraints = {**NearDuplicates._parameter_constraints, "shingles": [Shingles, None]}
    check_constraints(constraints, {**given, "shingles": shingles}, "dedup")
    frame = frame_of(X)
    X = plain_texts(list(X) if isinstance(X, Iterator) else X) if frame is None else frame
    is_text = holds_texts(X)
    if not is_text and shingles is not None:
        raise InputError(Setting("shingles"), " applies to texts, and X has rows of numbers: leave it out.")
    if isinstance(keep, str):
        if keep not in ("first", "longest"):
            raise InputError(Setting("keep"), f" must be 'first', 'longest' or an array of numbers, got {keep!r}.")
        if keep == "longest" and not is_text:
            raise InputError(
                Setting("keep", "longest"), " applies to texts, and X has rows of numbers: pass an array of numbers."
            )
        priority = None if keep == "first" else np.array([_length(text) for text in X], np.int64)
    else:
        priority = keep
    if is_text:
        if len(X) == 0:
            return np.zeros(0, np.int64), np.zeros(0, bool)
        made = Shingles(SHINGLE_WORDS, n_jobs=n_jobs) if shingles is None else shingles
        X = made.fit(X).transform(X) if made.weight == "idf" else made.transform(X)
    model = NearDuplicates(**given)
    model.fit(X, priority=priority)
    return model.representatives_, model.representatives_ == np.arange(len(model.representatives_))


def _length(text: Any) -> int:
    return len(text) if isinstance(text, (str, bytes)) else 0  # the check that comes later names what is no text


def _refuse_texts(X: Any) -> None:
    is_list = isinstance(X, Sized) and getattr(X, "ndim", 1) == 1 and len(X) > 0
    if is_list and holds_texts(X):
        raise InputTypeError(
            "X has texts, and NearDuplicates takes rows of numbers: pass kernelsketch.text.Shingles(5).transform(X), "
            "or call kernelsketch.dedup(X)."
        )


def _first_rows(rows: Rows, threads: int) -> tuple[Array, Array]:
    return _clusters.first_rows(_clusters.row_keys(rows, threads), _vectors.empty_rows(rows).astype(bool))


def pair_similarities(rows: Rows, left: Array, right: Array, threads: int) -> Array:
    """Return the exact GMM kernel of pairs of rows, given by their numbers."""
    if isinstance(rows, CsrRows):
        return processor_for(threads=threads).join_similarities(rows, left, right)
    found = np.empty(len(left))
    for part in row_batches(len(left), 4 * rows.row_bytes):
        u, v = (rows.values[side[part]].astype(np.float64) for side in (left, right))
        sums, apart = np.abs(u).sum(axis=1) + np.abs(v).sum(axis=1), np.abs(u - v).sum(axis=1)
        found[part] = (sums - apart) / (sums + apart)
    return found
