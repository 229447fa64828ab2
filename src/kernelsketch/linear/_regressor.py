"""``GCWSRegressor`` and ``GCWSRegressorCV``: hashing and linear regression on the codes in one estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._array import Array
from .._losses import REGRESSOR_LOSSES, names_losses
from ._base import LinearEstimator, whole_or_nothing
from ._blocks import BlockTargets
from ._fit import SingleC
from ._pipeline import pipeline_of_regressor
from ._search import ManyCs
from ._targets import Numbers, RowWeights


@dataclass(kw_only=True, eq=False, repr=False)
class Regression(RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """Base of the regressors: one table of weights, and the unit of the targets."""

    loss: str = "squared_error"
    epsilon: float = 0.5
    quantile: float = 0.5

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "loss": [StrOptions(set(REGRESSOR_LOSSES))],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
    }
    _has_classes: ClassVar[bool] = False

    @property
    def intercept_(self) -> float:
        """Intercept, in units of y."""
        check_is_fitted(self)
        return self.fitted_.mean + self.fitted_.spread * float(self.fitted_.intercepts[0])

    @property
    def code_weights_(self) -> Array:
        """Weights of the one-hot features in units of y, of shape (1, n_components * 2**(bits + t_bits))."""
        weights = super().code_weights_
        return np.asarray(weights * weights.dtype.type(self.fitted_.spread))

    def to_sklearn(self) -> Any:
        """Convert the fitted model to a pipeline of :class:`GCWS` and Ridge with the same predictions.

        Returns
        -------
        pipeline : sklearn.pipeline.Pipeline
            The fitted pipeline.
        """
        return pipeline_of_regressor(self)

    def _task(self, y: Any) -> Numbers:
        return Numbers(y.values() if isinstance(y, BlockTargets) else y, self.fit_intercept)


@names_losses
@dataclass(kw_only=True, eq=False, repr=False)
class GCWSRegressor(Regression, SingleC):
    r"""Predict numbers with the accuracy of a kernel machine at the cost of a linear model.

    The estimator hashes each row to ``n_components`` codes and learns a linear model of the one-hot codes. It
    standardizes the targets, z = (y - mean) / sd, so that ``C`` and ``epsilon`` do not depend on their unit. Then it
    solves

    .. math:: \min_w \tfrac12 \|w\|^2 + C \sum_i \mathrm{loss}(w \cdot x_i - z_i)

    with rows x of unit norm by block dual coordinate descent on the codes, until the duality gap is small. With
    ``loss="squared_error"`` this is ridge regression with ``alpha = 1 / (2 C)`` on the one-hot features.

    Parameters
    ----------
    n_components, bits, t_bits, p, gamma, center, views
        Parameters of the hash, as for :class:`GCWS`.
    scale : {"standard", "robust", "quantile", None}, default=None
        How the model scales the columns before it hashes rows, as for :class:`GCWSClassifier`.
    C : float, default=1.0
        Weight of the losses relative to the norm of w. A larger C fits the training rows more closely and takes longer.
    loss : {regressor losses}, default="squared_error"
        The loss. ``"huber"`` grows linearly beyond ``epsilon``, so outliers count less. ``"quantile"`` is the pinball
        loss: about the share ``quantile`` of the targets is below the predictions.
    epsilon : float, default=0.5
        Residual, in standard deviations of y, from which on the Huber loss is linear. Other losses do not use it.
    quantile : float, default=0.5
        The quantile that the quantile loss predicts, between 0 and 1; 0.5 is the median. Other losses do not use it.
        ``score`` is R^2 for every loss: to compare models of a quantile, use ``mean_pinball_loss`` of scikit-learn.
    fit_intercept : bool, default=True
        Whether the model has an intercept. It is the mean of y plus a correction that is penalized like the weights.
    intercept_scaling : float, default=1.0
        Value of the feature of that correction.
    tol : float, default=1e-3
        Duality gap at which the solver stops, relative to the objective. If ``tol`` is below 1e-4, weights are float64.
    max_iter : int, default=1000
        Maximum number of passes over the rows.
    warm_start : bool, default=False
        Whether :meth:`fit` starts from the solution of the previous fit, which must be on the same rows.
    verbose : int, default=0
        1 reports the progress once per second, 2 after each pass.
    random_state : int, RandomState instance or None, default=0
        Seed of the hash and of the order of rows. Results do not depend on ``n_jobs``.
    n_jobs : int, default=None
        Number of threads for hashing, learning and prediction. None means 1, and -1 means all processors. Results do
        not depend on it.

    Attributes
    ----------
    code_weights_ : array of shape (1, n_components * 2**(bits + t_bits))
        Weights of the one-hot features, in units of y. They are made when you ask for them, from a table that has
        weights only for used codes. They are float32, or float64 if ``tol`` is below 1e-4.
    intercept_ : float
        Intercept, in units of y.
    n_iter_ : int
        Number of passes over the rows.
    dual_gap_, objective_ : float
        Duality gap and objective of the problem with standardized targets. The objective is at most ``dual_gap_``
        above its minimum. Its costs, C times the weights, its targets and the parameter of its loss are those of the
        solver, in float32, so that C=0.1 is 0.100000001. They exist after :meth:`fit` and :meth:`fit_blocks`.
    hasher_ : GCWS
        The hash as a fitted transformer.
    used_codes_ : array of shape (n_used_codes,)
        Codes that occur in the training rows, in ascending order.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of shape (n_features,)
        Names of the columns, if X had names.

    See Also
    --------
    GCWS : The features alone, for other models.
    GCWSRegressorCV : The same model, with C chosen by cross-validation.
    GCWSClassifier : The same for classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kernelsketch import GCWSRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> GCWSRegressor(n_components=256, C=0.1).fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.4
    True
    """

    @whole_or_nothing
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the next rows of a stream, in one pass.

        Each block of 256 rows makes a proximal step, as in :meth:`GCWSClassifier.partial_fit`. The first call
        determines the mean and the standard deviation by which targets are standardized.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            The next rows, or their codes.
        y : array of shape (n_samples,)
            Targets.
        sample_weight : array of shape (n_samples,), default=None
            Factor of C for each row. Whole numbers are equivalent to repeated rows, and rows of weight 0 are left out.
            Weights that sum to 1 make C too small: multiply them, or C, by the number of rows.

        Returns
        -------
        self
        """
        self._validate_params()
        first = not hasattr(self, "fitted_")
        X, y = self._checked(X, y, reset=first)
        weights = RowWeights.of(sample_weight, len(y), self.C)
        task = self._task(y).used(weights.used, weights.costs(self.C))
        if not first:
            task = replace(task, mean=self.fitted_.mean, spread=self.fitted_.spread)
        return self._learn_next(X, task, weights)


@dataclass(kw_only=True, eq=False, repr=False)
class GCWSRegressorCV(Regression, ManyCs):
    """Train a :class:`GCWSRegressor` whose ``C`` is chosen by cross-validation.

    The estimator hashes the rows once for all folds and all values of C, and standardizes the targets once, by the
    mean and the standard deviation of all rows. Within a fold it solves the values in ascending order, each with a warm
    start from the one before.

    Parameters
    ----------
    n_components, bits, t_bits, p, gamma, center, views
        Parameters of the hash, as for :class:`GCWS`.
    scale : {"standard", "robust", "quantile", None}, default=None
        How the model scales the columns before it hashes rows, as for :class:`GCWSClassifier`. It is fitted on all
        rows, those that a fold holds out included.
    Cs : int or array of floats, default=(0.1, 1, 10, 100)
        Values of C, or their number. A number means values from 10**-2 to 10**2.5 with equal ratios.
    cv : int, splitter or iterable, default=None
        Folds. None means 3 folds of rows in a fixed random order. The others are as in scikit-learn: a number means
        folds of successive rows.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn, or a function ``scoring(model, codes, targets)`` of a fold's model and its held-out
        rows. None means the coefficient of determination, R^2, and for the quantile loss minus that loss.
    refit : bool, default=True
        Whether to train on all rows with the best C at the end. If not, the model is the mean of the models of the
        folds.
    path_tol : float, default=1e-2
        Approximate duality gap, relative to the objective, of the models that are scored. ``tol`` applies to the final
        model.
    loss, epsilon, quantile, fit_intercept, intercept_scaling, tol, max_iter, verbose, random_state, n_jobs
        As for :class:`GCWSRegressor`.

    Attributes
    ----------
    C_ : float
        The best C: the smallest of those with the highest mean score.
    Cs_ : array of shape (n_Cs,)
        Values of C in ascending order.
    scores_ : array of shape (n_folds, n_Cs)
        Score of each value of C on each fold.
    n_iters_ : array of shape (n_folds, n_Cs)
        Number of passes over the rows.
    code_weights_, intercept_, n_iter_, dual_gap_, objective_, hasher_, used_codes_, n_features_in_, feature_names_in_
        As for :class:`GCWSRegressor`. Gap and objective exist only with ``refit``.

    See Also
    --------
    GCWSRegressor : The same model with a given C.
    GCWSClassifierCV : The same for classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kernelsketch import GCWSRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GCWSRegressorCV(n_components=256, Cs=[0.01, 0.1, 1]).fit(X[:300], y[:300])
    >>> model.score(X[300:], y[300:]) > 0.4
    True
    """

    _single = GCWSRegressor
