"""GMMNystroem: scikit-learn's Nystroem transformer with the kernels of this library, computed on whole matrices."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._array import Array
from .._estimator import PlainParameters
from .._interruptible import interruptible
from .._rows import checked_data
from .._validation import check_center, row_batches
from .._warnings import warn_user
from ..exceptions import InputError, Setting
from ..kernels import KERNELS

MOST_PRODUCTS = 1 << 30  # that BLAS computes at a time: Ctrl-C waits for its end


class GMMNystroem(PlainParameters, Nystroem):  # type: ignore[misc]
    r"""Map rows to features that approximate a kernel by Nystroem's method, from a sample of the training rows.

    With a random sample B of ``n_components`` training rows, a row x becomes :math:`K(B, B)^{-1/2} K(B, x)`. The inner
    product of two transformed rows is then the kernel projected onto the span of the sample.

    This class extends :class:`sklearn.kernel_approximation.Nystroem`, which calls a kernel function once per pair of
    rows. This class calls the kernels of this library and those of :mod:`sklearn.metrics.pairwise` on whole matrices.

    Parameters
    ----------
    kernel : str or function, default="gmm"
        The kernel: "gmm", "egmm", "ngmm", "intersection", "correlation", "rbf", or a function. A function of your own
        takes two rows, 1-D arrays (CSR matrices of one row if X is sparse), and returns a number, as for scikit-learn's
        Nystroem. It is called once per pair, so it takes much longer than the kernels above.
    p : float, default=None
        Power of the "gmm" and "egmm" kernels. None means their default, 1.
    gamma : float, default=None
        Width parameter of the "egmm" and "rbf" kernels. None means their default, 1. For "rbf" it is twice the gamma of
        scikit-learn.
    center : None, "mean", "median" or vector of shape (n_features,), default=None
        Vector that is subtracted from the rows first. :meth:`fit` computes "mean" and "median" from the training rows.
        Sparse data and the kernels "correlation" and "rbf" allow only None.
    n_components : int, default=100
        Number of sampled rows, which is the number of features of the result. A larger sample gives a smaller error.
    random_state : int, RandomState instance or None, default=0
        Seed of the random sample. None draws a different sample at each fit.
    n_jobs : int, default=None
        Number of threads. None means 1, -1 means all processors. The result does not depend on it.

    Attributes
    ----------
    components_ : array or CSR matrix of shape (n_components, n_features)
        The sampled rows.
    component_indices_ : array of shape (n_components,)
        Row numbers of the sampled rows in the training set.
    normalization_ : array of shape (n_components, n_components)
        The matrix :math:`K(B, B)^{-1/2}` without the directions that rounding errors dominate.
    center_ : array of shape (n_features,) or None
        The center that was used.
    n_features_in_ : int
        Number of features of the training rows.
    feature_names_in_ : array of shape (n_features,)
        Names of the features. It exists only if all names of the training rows are strings.

    See Also
    --------
    gmm_kernel : The exact kernel.
    GCWS : Features of the GMM kernel from hashes, without a sample of the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from kernelsketch import GMMNystroem
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(GMMNystroem(n_components=300, random_state=0), LinearSVC())
    >>> model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.94
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions(set(KERNELS)), callable],
        "p": [Interval(Real, 0, None, closed="neither"), None],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "center": [StrOptions({"mean", "median"}), "array-like", None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "gmm",
        *,
        p: float | None = None,
        gamma: float | None = None,
        center: Any = None,
        n_components: int = 100,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.p = p
        self.gamma = gamma
        self.center = center
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> GMMNystroem:
        """Sample rows of X and compute their kernel matrix.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        X = checked_data(self, X)
        self.center_ = check_center(self.center, X)
        n_components = min(self.n_components, X.shape[0])
        if n_components < self.n_components:
            warn_user(
                f"n_components={self.n_components} is more than the {X.shape[0]} rows of X: "
                f"all {X.shape[0]} rows are used."
            )
        sample = check_random_state(self.random_state).permutation(X.shape[0])[:n_components]
        self.components_ = X[sample]
        self.component_indices_ = sample
        self._n_features_out = n_components
        # The computation is in float64 because an inverse root magnifies errors. Eigenvalues that rounding errors in
        # `transform` make indistinguishable from 0 are dropped.
        values, vectors = interruptible(np.linalg.eigh, self._kernel(self.components_.astype(np.float64)))
        kept = values > values[-1] * n_components * np.finfo(X.dtype).eps
        roots = np.sqrt(np.where(kept, values, np.inf))
        self.normalization_ = _product(vectors / roots, vectors.T).astype(X.dtype)
        return self

    def transform(self, X: Any) -> Any:
        """Map rows to features.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        X_transformed : array of shape (n_samples, n_components)
            The features. The dtype is float32 if X is float32, otherwise float64.
        """
        check_is_fitted(self)
        X = checked_data(self, X, reset=False)
        similarity = self._kernel(X, self.components_.astype(X.dtype))
        return _product(similarity, self.normalization_.astype(X.dtype).T)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags

    def _kernel(self, X: Any, Y: Any = None) -> Any:
        function = KERNELS[self.kernel].function if isinstance(self.kernel, str) else self.kernel
        known = _parameters(function)
        params = {"p": self.p, "gamma": self.gamma, "center": self.center_}
        given: dict[str, Any] = {name: value for name, value in params.items() if value is not None}
        for name in given:
            if name not in known:
                raise InputError(Setting("kernel", self.kernel), f" takes no {name}: leave {name}=None.")
        if function in [row.function for row in KERNELS.values()] or function in PAIRWISE_KERNEL_FUNCTIONS.values():
            threads = {"n_jobs": self.n_jobs} if "n_jobs" in known else {}
            return function(X, Y, **given, **threads)
        return pairwise_kernels(X, Y, metric=function, n_jobs=self.n_jobs, **given)


def _parameters(function: Callable[..., Any]) -> Collection[str]:
    """Return the names of the parameters of a function; none if it is native code that does not state them."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()


def _product(A: Array, B: Array) -> Array:
    """Return A @ B, some rows at a time."""
    out = np.empty((A.shape[0], B.shape[1]), A.dtype)
    for rows in row_batches(len(A), B.size, MOST_PRODUCTS):
        np.matmul(A[rows], B, out=out[rows])
    return out
