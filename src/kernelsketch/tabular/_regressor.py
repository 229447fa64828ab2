"""``GCWSTabularRegressor``: from a table of data to a tuned regression."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_y

from .._array import Array
from .._estimator import numeric_targets
from .._losses import TABLE_LOSSES
from .._validation import check_n_jobs
from ..exceptions import InputError, Setting
from ..linear import whole_or_nothing
from ._base import TabularModel
from ._columns import MOST_CATEGORIES
from ._goals import NUMBER_SCORES, Goal
from ._intervals import check_coverage
from ._several import several_numbers


class GCWSTabularRegressor(RegressorMixin, TabularModel):  # type: ignore[misc]
    """Predict a number for each row of a table as it is: numbers, categories, dates and gaps.

    It prepares the table as :class:`GCWSTabularClassifier` does, and learns ridge regression on the codes, or a
    quantile, or counts.

    Parameters
    ----------
    effort, budget, categorical_features, max_categories, drop, infinity
        As for :class:`GCWSTabularClassifier`.
    loss : {"squared_error", "absolute_error", "quantile", "poisson"}, default="squared_error"
        What is learned: the mean, the median, the quantile ``quantile``, or the mean of counts, which are numbers from
        0 on whose spread grows with their mean: predictions are above 0, and the Poisson deviance chooses the blend.
        Of a quantile, about the share ``quantile`` of new rows is below the predictions.
    quantile : float, default=0.5
        The quantile that ``loss="quantile"`` predicts, between 0 and 1. Other losses do not use it.
    scoring : str or None, default=None
        Score, by its name in scikit-learn, by which held-out rows choose C and the blend with trees: ``"r2"``,
        ``"neg_mean_squared_error"``, ``"neg_root_mean_squared_error"``, ``"neg_mean_absolute_error"`` or
        ``"neg_mean_poisson_deviance"``. None is that of the loss.
    on_interrupt, verbose, random_state, n_jobs
        As for :class:`GCWSTabularClassifier`.

    Attributes
    ----------
    columns_, feature_importances_, effort_, n_features_in_, feature_names_in_
        As for :class:`GCWSTabularClassifier`.
    estimators_ : list of GCWSTabularRegressor
        A fitted model for each of several outputs; only then. The other attributes are then as for
        :class:`GCWSTabularClassifier`.
    model_ : GCWSRegressor
        The linear model on the columns of the views.
    trees_share_ : float
        Share of the boosted trees in the blend. 0 means that the model has no trees.
    held_out_score_, held_out_error_ : float
        Coefficient of determination on the training rows that the folds held out, and its standard error: 1 minus the
        loss over that of the best constant. Other losses than squared errors have their own, D2; with ``scoring`` it is
        that score.
        Below 10 rows the folds repeat rows: then the score says nothing, and the error is NaN.
    held_out_metric_ : str
        ``"R2"``, ``"D2 of the absolute error"``, ``"D2 of the pinball loss"``, ``"D2 of the Poisson deviance"``, or the
        name of ``scoring``.
    held_out_scores_ : dict
        Further scores of the same rows: ``"rmse"``, the root mean square error, and ``"baseline_rmse"``, that of
        predicting the mean; with other losses also theirs, such as ``"mean_absolute_error"``.

    See Also
    --------
    GCWSTabularClassifier : The same for classes, with the rules for columns.
    GCWSRegressor : The model alone.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kernelsketch import GCWSTabularRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> GCWSTabularRegressor(effort="quick").fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.4
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TabularModel._parameter_constraints,
        "loss": [StrOptions(set(TABLE_LOSSES))],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "scoring": [StrOptions(set(NUMBER_SCORES)), None],
    }
    _is_class = False

    def __init__(
        self,
        effort: str | dict[str, Any] = "default",
        *,
        budget: float | None = None,
        categorical_features: Any = None,
        max_categories: int | None = MOST_CATEGORIES,
        drop: Any = None,
        infinity: str = "error",
        loss: str = "squared_error",
        quantile: float = 0.5,
        scoring: str | None = None,
        on_interrupt: str = "raise",
        verbose: int = 0,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.effort = effort
        self.budget = budget
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.drop = drop
        self.infinity = infinity
        self.loss = loss
        self.quantile = quantile
        self.scoring = scoring
        self.on_interrupt = on_interrupt
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @whole_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, time: Any = None, progress: Any = None
    ) -> GCWSTabularRegressor:
        """Learn from a table.

        Parameters
        ----------
        X : data frame, list of dicts or array of shape (n_samples, n_features)
            Training rows.
        y : array of shape (n_samples,) or (n_samples, n_outputs)
            Targets. Several columns are several outputs.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, in the losses and in held-out scores. Rows of weight 0 are left out. Weights with a mean
            below 1 are scaled to a mean of 1. Scales and relevance of columns count each row once.
        groups : array of shape (n_samples,) or str, default=None
            What each row belongs to, for example a customer, or the name of a column of X. Rows of one group are held
            out together, so that the choices and ``held_out_score_`` are those of rows of new groups. A column stays
            a feature unless ``drop`` names it as well.
        time : array of shape (n_samples,) or str, default=None
            Dates or numbers that order the rows, or the name of a column of X. Each fold then holds out rows that are
            later than all of its training rows, in the second half of the rows, so that the choices and
            ``held_out_score_`` are those of later rows. The final model learns from all rows.
        progress : callable, default=None
            Function that is called with a text when a stage ends, and with one after each pass of the solver.

        Returns
        -------
        self
        """
        numbers = several_numbers(y, type(self).__name__)
        if numbers is None:
            return self._fit(X, y, sample_weight, groups, time, progress)
        self._fit_outputs(X, numbers, sample_weight, groups, time, progress)
        return self

    def _goal(self) -> Goal:
        return Goal(False, self.scoring, None, self.loss, self.quantile)

    def _targets(self, y: Any) -> Array:
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = numeric_targets(y, type(self).__name__)
        targets: Array = np.asarray(_check_y(y, multi_output=False, y_numeric=True, estimator=self), np.float64)
        self._check_counts(targets)
        return targets

    def _check_counts(self, y: Array) -> None:
        """Refuse targets that are no counts where counts are learned or scored."""
        deviance = "neg_mean_poisson_deviance"
        if "poisson" in self.loss or self.scoring == deviance:
            setting = Setting("loss", self.loss) if self.loss == "poisson" else Setting("scoring", deviance)
            if (y < 0).any():
                row = int(np.argmax(y < 0))
                raise InputError(setting, f" needs counts, but y has {y[row]:g} in row {row}: pass numbers from 0 on.")
            if not y.any():
                raise InputError(setting, " needs counts, but all of y is 0: pass rows with some counts above 0.")

    def predict(self, X: Any) -> Array:
        """Predict the targets of rows.

        Parameters
        ----------
        X : data frame, list of dicts or array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        targets : array of shape (n_samples,) or (n_samples, n_outputs)
        """
        if self._has_several:
            return self._of_outputs("predict", X)
        return np.asarray(self._model.answers(self._values_of(X)))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Predict intervals that have the target with a given probability.

        Parameters
        ----------
        X : data frame, list of dicts or array of shape (n_samples, n_features)
            Rows.
        coverage : float, default=0.9
            Share of the rows whose target is to be in its interval, between 0 and 1. The largest one that n held-out
            rows allow is ``1 - 2 / (n + 1)``.

        Returns
        -------
        intervals : array of shape (n_samples, 2)
            Lower and upper ends. The lower end is never above the upper one, and intervals of a larger coverage contain
            those of a smaller one.

        Notes
        -----
        The errors of held-out rows, relative to a spread that small trees learn from them, give the ends (conformal
        prediction). So intervals are wide where errors are large. On either side as many targets are to be outside; the
        prediction itself may be outside an interval of small coverage. Rows count with their ``sample_weight``.
        """
        coverage, intervals = check_coverage(coverage), self._known_intervals("predict_interval")
        threads, found = check_n_jobs(self.n_jobs), []
        for features in self._batches(X):
            found.append(intervals.bounds(self._values(features)[:, 0], features, coverage, threads))
        ends = np.concatenate(found)
        return self._model.unscaled(ends if self._link is None else np.maximum(ends, 0))  # counts are not below 0
