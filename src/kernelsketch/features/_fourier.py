"""RFF and NRFF: random Fourier features of the RBF kernel (section 3 of the paper).

``reference/fourier.py`` is the specification.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from .._array import Array
from .._estimator import ValidatedOnce
from .._hash_parameters import seed_of
from .._rows import estimator_rows
from .._validation import check_n_jobs, row_batches
from ..backends import FourierParams, backend_for, in_library_of

TABLE_BYTES = 1 << 30  # bytes of weights held at once; more weights than these are generated block by block
MOST_ROWS = 1 << 20  # rows per call of the back end, which keeps 16 bytes per row
COPY_BYTES = 1 << 24  # bytes per call of rows that must be copied because they are not contiguous
MOST_GAMMA = 1e8  # float32 angles of about sqrt(gamma) / 6 turns keep too few fractional digits beyond it


class _FourierFeatures(
    ValidatedOnce,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Base class of RFF and NRFF, which differ only in the scale of the output."""

    _normalize: ClassVar[bool]
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, MOST_GAMMA, closed="right")],
        "random_state": [Interval(Integral, 0, 2**64 - 1, closed="both"), np.random.RandomState, None],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_components: int = 1024,
        *,
        gamma: float = 1.0,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Any:
        """Check X and fix the seed. Nothing is learned from the data.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        estimator_rows(self, X, reset=True)
        self.seed_ = seed_of(self.random_state)
        return self

    def transform(self, X: Any) -> Array:
        """Compute the Fourier features of rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            The features. The dtype is float32 if X is float32, otherwise float64. An all-zero row gives all-zero
            features.
        """
        check_is_fitted(self)
        self._validate_params()  # parameters may have been set after fit
        threads = check_n_jobs(self.n_jobs)
        rows = estimator_rows(self, X, reset=False, threads=threads, ensure_all_finite=False)  # the back end finds NaN
        backend = backend_for(*rows.arrays, threads=threads)
        params = FourierParams(int(self.n_components), float(self.gamma), self.seed_, self._normalize)
        Z = backend.empty((len(rows), params.n_components), rows.dtype)
        in_place = rows.contiguous
        row_bytes = 1 if in_place else rows.dtype.itemsize * rows.n_features
        for part in row_batches(len(Z), row_bytes, MOST_ROWS if in_place else COPY_BYTES):
            if backend.fourier(rows.part(part), params, TABLE_BYTES, out=Z[part]) is None:
                estimator_rows(self, X, reset=False)  # raises an error that names the value that is not finite
        features: Array = in_library_of(X, Z)
        return features

    @property
    def _n_features_out(self) -> int:
        check_is_fitted(self)
        return int(self.n_components)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class RFF(_FourierFeatures):
    r"""Map rows to random Fourier features, whose inner products estimate the RBF kernel.

    The transformer scales rows to unit l2 norm. With standard normal weights :math:`r_j` and a uniform phase
    :math:`w_j`, feature j of k is

    .. math:: \sqrt{2 / k}\,\cos\left(\sqrt{\gamma}\, \langle u, r_j \rangle + w_j\right).

    The inner product of two transformed rows is an unbiased estimate of :func:`rbf_kernel`,
    :math:`E = e^{-\gamma (1 - \rho)}`. Its variance is V / k with (Theorem 2 of the paper)

    .. math:: V = \tfrac{1}{2} + \tfrac{1}{2} \left(1 - E^2\right)^2,

    which is 1/2 even for a row with itself. :class:`NRFF` has a smaller variance at the same cost.

    Nothing is learned from the data. A weight is a function of the seed, the feature and the number j. The first 64 of
    1024 features are those of ``n_components=64``, up to the factor :math:`\sqrt{2 / k}`.

    Parameters
    ----------
    n_components : int, default=1024
        Number of features, the paper's k. The error is proportional to ``1 / sqrt(n_components)``.
    gamma : float, default=1.0
        Width parameter of :func:`rbf_kernel`, above 0 and at most 1e8. The larger it is, the faster the similarity
        falls. On rows of unit norm it is twice the gamma of scikit-learn: ``RBFSampler(gamma=gamma / 2)`` estimates the
        same kernel.
    random_state : int, RandomState instance or None, default=0
        Seed of the random weights, from 0 to 2**64 - 1. Equal seeds give equal features with every back end. None
        draws a seed at :meth:`fit`.
    n_jobs : int, default=None
        Number of threads. None means 1, -1 means all processors. The result does not depend on it.

    Attributes
    ----------
    seed_ : int
        The seed that was used.
    n_features_in_ : int
        Number of features of the training rows.
    feature_names_in_ : array of shape (n_features,)
        Names of the features. It exists only if all names of the training rows are strings.

    See Also
    --------
    NRFF : Fourier features scaled to unit norm, with a smaller variance.
    rbf_kernel : The exact kernel.
    GCWS : Features that approximate the GMM kernel.

    Notes
    -----
    An all-zero row, which has no direction, gives all-zero features. Each call generates the weights it needs, 4 bytes
    per component and feature that occurs, and does not keep them. It generates weights of more than 1 GiB block by
    block.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelsketch import RFF, rbf_kernel
    >>> X = np.random.default_rng(0).normal(size=(5, 20))
    >>> Z = RFF(n_components=4096, gamma=2.0).fit_transform(X)
    >>> bool(np.abs(Z @ Z.T - rbf_kernel(X, gamma=2.0)).max() < 4 / 4096**0.5)
    True
    """

    _normalize = False


class NRFF(_FourierFeatures):
    r"""Map rows to normalized random Fourier features, the features of :class:`RFF` scaled to unit norm.

    The inner product of two transformed rows estimates :func:`rbf_kernel`, :math:`E = e^{-\gamma (1 - \rho)}`. Its
    variance is close to :math:`V_n / k` for large k (Theorem 3 of the paper):

    .. math:: V_n = \tfrac{1}{2} + \tfrac{1}{2} \left(1 - E^2\right)^2 - \tfrac{1}{4} E^2 \left(3 - E^4\right).

    This is less than the variance of RFF, and it is 0 if the two rows are equal.

    Parameters
    ----------
    n_components : int, default=1024
        Number of features, the paper's k. The error is proportional to ``1 / sqrt(n_components)``.
    gamma : float, default=1.0
        Width parameter of :func:`rbf_kernel`, above 0 and at most 1e8. The larger it is, the faster the similarity
        falls. On rows of unit norm it is twice the gamma of scikit-learn: ``RBFSampler(gamma=gamma / 2)`` estimates the
        same kernel.
    random_state : int, RandomState instance or None, default=0
        Seed of the random weights, from 0 to 2**64 - 1. Equal seeds give equal features with every back end. None
        draws a seed at :meth:`fit`.
    n_jobs : int, default=None
        Number of threads. None means 1, -1 means all processors. The result does not depend on it.

    Attributes
    ----------
    seed_ : int
        The seed that was used.
    n_features_in_ : int
        Number of features of the training rows.
    feature_names_in_ : array of shape (n_features,)
        Names of the features. It exists only if all names of the training rows are strings.

    See Also
    --------
    RFF : Fourier features without the scaling.
    rbf_kernel : The exact kernel.
    GCWS : Features that approximate the GMM kernel.

    Notes
    -----
    An all-zero row, which has no direction, gives all-zero features. Each call generates the weights it needs, 4 bytes
    per component and feature that occurs, and does not keep them. It generates weights of more than 1 GiB block by
    block.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from kernelsketch import NRFF
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(NRFF(n_components=512, gamma=10.0), LinearSVC())
    >>> model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.93
    True
    """

    _normalize = True
