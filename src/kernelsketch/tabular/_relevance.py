"""``RelevanceScaler``: multiply each column by a weight that says how much it helps to predict y."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from .._array import Array
from .._estimator import PlainParameters, plain_labels
from .._rows import checked_data
from ..exceptions import InputError
from ._weights import learn_weights, small_seed_of, targets_of


class RelevanceScaler(PlainParameters, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Multiply each column by a learned weight, so that irrelevant columns stop to matter in a kernel.

    The min-max kernel treats all columns alike. On data with irrelevant columns it is therefore worse than trees, which
    ignore them. This transformer learns one weight per column by gradient descent on the held-out squared error of
    kernel ridge regression with the GMM kernel. Columns whose weight falls below a thousandth of the largest get the
    weight 0. The time grows linearly with the number of columns and hardly depends on the number of rows: each step
    draws at most 192 of them.

    Parameters
    ----------
    n_steps : int, default=30
        Number of steps of gradient descent.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws of rows.

    Attributes
    ----------
    weights_ : array of shape (n_features,)
        Weight of each column, relative to the largest.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of shape (n_features,)
        Names of the columns, if X had names.

    See Also
    --------
    GCWSTabularClassifier : Uses such weights for several views of a table.

    Notes
    -----
    Weights depend on the scale of the columns, so standardize first:
    ``make_pipeline(StandardScaler(), RelevanceScaler(), GCWSClassifier())``. Sparse columns stay sparse; scale them
    with ``MaxAbsScaler``.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelsketch import RelevanceScaler
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 5))
    >>> y = X[:, 1] + X[:, 3] > 0
    >>> scaler = RelevanceScaler().fit(X, y)
    >>> np.sort(np.argsort(scaler.weights_)[-2:])
    array([1, 3])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, n_steps: int = 30, *, random_state: Any = 0) -> None:
        self.n_steps = n_steps
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the weights.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Training rows.
        y : array of shape (n_samples,)
            Class labels or numbers. Floats with a fractional part are numbers.

        Returns
        -------
        self
        """
        X, y = checked_data(self, X, plain_labels(y))
        kind = type_of_target(y, input_name="y")
        if kind not in ("binary", "multiclass", "continuous"):
            raise InputError(f"Unknown label type: {kind}. Pass one class label or one number per row as y.")
        is_class = kind != "continuous"
        if is_class and len(np.unique(y)) < 2:
            raise InputError(f"y has only one class, {y.tolist()[0]!r}: pass rows of at least 2 classes.")

        def sample(rows: Array) -> list[Array]:
            part = X[rows]
            return [np.asarray(part.toarray() if sparse.issparse(part) else part, np.float32)]

        seed = small_seed_of(self.random_state)
        targets = targets_of(np.asarray(y), is_class=is_class)
        (self.weights_,) = learn_weights(sample, [X.shape[1]], targets, n_steps=self.n_steps, seed=seed)
        return self

    def transform(self, X: Any) -> Any:
        """Multiply the columns by their weights.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        X : array or CSR matrix of the same shape
            A copy, of the same dtype.
        """
        check_is_fitted(self)
        X = checked_data(self, X, reset=False)
        if sparse.issparse(X):
            return X.multiply(self.weights_[None, :].astype(X.dtype)).tocsr()
        return X * self.weights_.astype(X.dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
