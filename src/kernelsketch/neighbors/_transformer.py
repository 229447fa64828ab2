"""GCWSNeighborsTransformer: neighbour graphs for estimators with ``metric="precomputed"``."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._estimator import ValidatedOnce
from .._rows import canonical_rows, checked_data
from .._validation import check_n_jobs
from ..exceptions import InputError, Setting
from ._index import GCWSIndex


class GCWSNeighborsTransformer(
    ValidatedOnce,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Transform rows into the sparse graph of their near neighbours under the GMM kernel.

    The transformer works like scikit-learn's ``KNeighborsTransformer`` and ``RadiusNeighborsTransformer``, but finds
    the neighbours with a :class:`GCWSIndex`. Distances are 1 - GMM. Estimators with ``metric="precomputed"`` take the
    graph, for example ``KNeighborsClassifier``, ``DBSCAN`` and ``TSNE``. A training row is its own neighbour at
    distance 0.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours per row. With ``mode="distance"`` the graph has one more, as in scikit-learn, because a
        training row is its own neighbour.
    threshold : float, default=None
        If given, the graph has all candidates of at least this similarity instead of ``n_neighbors`` per row.
    mode : {"distance", "connectivity"}, default="distance"
        Values of the graph: distances 1 - GMM, or ones.
    index : GCWSIndex, default=None
        Index whose parameters are used; it is copied, not fitted. None is ``GCWSIndex(fill_missing=True)``. Without
        ``fill_missing`` a row can have fewer neighbours than requested, which scikit-learn's estimators reject.
    n_jobs : int, default=None
        Number of threads. None uses the value of ``index``.

    Attributes
    ----------
    index_ : GCWSIndex
        Index of the training rows.
    n_samples_fit_ : int
        Number of training rows.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    GCWSIndex : The index itself.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from kernelsketch import GCWSNeighborsTransformer
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(GCWSNeighborsTransformer(5), KNeighborsClassifier(5, metric="precomputed"))
    >>> model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "threshold": [Interval(Real, 0, 1, closed="right"), None],
        "mode": [StrOptions({"distance", "connectivity"})],
        "index": [GCWSIndex, None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        threshold: float | None = None,
        mode: str = "distance",
        index: GCWSIndex | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.threshold = threshold
        self.mode = mode
        self.index = index
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> GCWSNeighborsTransformer:
        """Index the training rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Training rows.
        y : Ignored

        Returns
        -------
        self
            The fitted transformer.
        """
        X = checked_data(self, X)
        given = GCWSIndex(fill_missing=True) if self.index is None else self.index
        index = GCWSIndex(**given.get_params(deep=False))
        if self.n_jobs is not None:
            index.set_params(n_jobs=self.n_jobs)
        self.index_ = index.fit(canonical_rows(X, check_n_jobs(index.n_jobs)))
        self._n_features_out = self.n_samples_fit_
        return self

    @property
    def n_samples_fit_(self) -> int:
        """Number of training rows."""
        check_is_fitted(self)
        return int(self.index_.n_samples_fit_)

    def transform(self, X: Any) -> Any:
        """Return the graph from rows to their neighbours among the training rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows to find neighbours of.

        Returns
        -------
        graph : CSR matrix of shape (n_samples, n_samples_fit_)
            The entries of a row are in the order of ascending distance.
        """
        check_is_fitted(self)
        self._validate_params()
        rows = canonical_rows(checked_data(self, X, reset=False), check_n_jobs(self.index_.n_jobs))
        if self.threshold is not None:
            distances, ids = self.index_.neighbors_above(rows, threshold=self.threshold)
            ends = np.concatenate([[0], np.cumsum([len(found) for found in ids])])
            values = np.concatenate(distances) if self.mode == "distance" else np.ones(int(ends[-1]))
            return sparse.csr_matrix((values, np.concatenate(ids), ends), shape=(len(ids), self.n_samples_fit_))
        wanted = int(self.n_neighbors) + (self.mode == "distance")
        if wanted > self.n_samples_fit_:
            raise InputError(
                Setting("n_neighbors", self.n_neighbors),
                f" in mode {self.mode!r} needs at least {wanted} training rows, got {self.n_samples_fit_}.",
            )
        return self.index_.kneighbors_graph(rows, wanted, self.mode)
