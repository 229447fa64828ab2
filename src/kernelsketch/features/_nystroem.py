"""Nystroem's method on our kernels: scikit-learn's transformer with the kernel called on whole matrices."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.kernel_approximation import Nystroem
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import check_center
from ..exceptions import InputError
from ..kernels import KERNELS, find_kernel


class GMMNystroem(Nystroem):  # type: ignore[misc]
    r"""Features whose inner products approximate one of our kernels, from a sample of the rows.

    With B a random sample of ``n_components`` training rows, x becomes
    :math:`K(B, B)^{-1/2} K(B, x)`; the inner product of two rows is then the projection of the
    kernel onto the span of the sample.

    :class:`sklearn.kernel_approximation.Nystroem` calls a kernel function pair by pair; this subclass
    calls it on matrices and is otherwise the same.

    Parameters
    ----------
    kernel : str or function, default="gmm"
        "gmm", "egmm", "ngmm", "intersection", "correlation", "rbf", or one of those functions.
    p : float, default=None
        Power of the "gmm" and "egmm" kernels; None is their default, 1.
    gamma : float, default=None
        Of the "egmm" and "rbf" kernels; None is their default, 1. For "rbf" it is twice scikit-learn's.
    center : None, "mean", "median" or vector of shape (n_features,), default=None
        Subtracted first; "mean" and "median" are learned from the training rows. Not for sparse data,
        nor for "correlation" and "rbf".
    n_components : int, default=100
        Size of the sample and number of features out. The more, the smaller the error.
    random_state : int, RandomState instance or None, default=None
        Of the sample.
    n_jobs : int, default=None
        Threads of the kernel: None is 1, -1 all processors.

    Attributes
    ----------
    components_ : array or CSR matrix of shape (n_components, n_features)
        The sampled rows.
    component_indices_ : array of shape (n_components,)
        Their places in the training set.
    normalization_ : array of shape (n_components, n_components)
        :math:`K(B, B)^{-1/2}`; directions that rounding would fill with noise are left out.
    center_ : array of shape (n_features,) or None
        The center in use.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Where the training rows had string names.

    See Also
    --------
    gmm_kernel : the exact kernel.

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
        random_state: Any = None,
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
        """Sample rows of X and compute their kernel.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        self.center_ = check_center(self.center, X)
        n_components = min(self.n_components, X.shape[0])
        if n_components < self.n_components:
            warnings.warn(
                f"n_components={self.n_components} is more than the {X.shape[0]} rows of X: "
                f"all {X.shape[0]} rows are used.",
                stacklevel=2,
            )
        sample = check_random_state(self.random_state).permutation(X.shape[0])[:n_components]
        self.components_ = X[sample]
        self.component_indices_ = sample
        self._n_features_out = n_components
        # In float64: an inverse root magnifies errors. Eigenvalues that rounding in `transform` cannot tell
        # from 0 are dropped.
        values, vectors = np.linalg.eigh(self._kernel(self.components_.astype(np.float64)))
        kept = values > values[-1] * n_components * np.finfo(X.dtype).eps
        roots = np.sqrt(np.where(kept, values, np.inf))
        self.normalization_ = ((vectors / roots) @ vectors.T).astype(X.dtype)
        return self

    def transform(self, X: Any) -> Any:
        """Map rows to features.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        X_transformed : array of shape (n_samples, n_components)
            float32 for float32, else float64.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        similarity = self._kernel(X, self.components_.astype(X.dtype))
        return similarity @ self.normalization_.astype(X.dtype).T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        tags.input_tags.sparse = self.center is None
        return tags

    def _kernel(self, X: Any, Y: Any = None) -> Any:
        function = find_kernel(self.kernel).function
        known = inspect.signature(function).parameters
        params = {"p": self.p, "gamma": self.gamma, "center": self.center_}
        given: dict[str, Any] = {name: value for name, value in params.items() if value is not None}
        for name in given:
            if name not in known:
                raise InputError(f"kernel={self.kernel!r} takes no {name}: leave {name}=None.")
        if "n_jobs" in known:
            given["n_jobs"] = self.n_jobs
        return function(X, Y, **given)
