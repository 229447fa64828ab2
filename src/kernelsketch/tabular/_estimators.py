"""``GCWSTabularClassifier`` and ``GCWSTabularRegressor``: from a table of data to a tuned model."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _check_y, check_consistent_length, check_is_fitted

from .._validation import check_n_jobs, row_batches
from ..exceptions import InputError, ScaleWarning
from ..linear import GCWSClassifier, GCWSClassifierCV, GCWSRegressor, GCWSRegressorCV, whole_or_nothing
from ._columns import ColumnPlan, TablePlan
from ._effort import EFFORTS, N_FOLDS, WEIGHTS_SHARE, Clock, Effort, fitting_effort
from ._file import Persistent
from ._frame import read_table
from ._html import HtmlRepr
from ._importances import importances, plot_importances
from ._views import Views, learn_views
from ._weights import seed_of, targets_of

Array = NDArray[Any]

BATCH_BYTES = 1 << 26  # of the columns of views that a prediction holds at a time


class TabularModel(HtmlRepr, Persistent, BaseEstimator):  # type: ignore[misc]
    """Base of the tabular estimators: columns, views, and a linear model on the codes of the views."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "effort": [StrOptions(set(EFFORTS))],
        "budget": [Interval(Real, 0, None, closed="neither"), None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }
    _is_class: ClassVar[bool]

    _plan: TablePlan
    _views: Views
    model_: Any

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    @property
    def columns_(self) -> tuple[ColumnPlan, ...]:
        """What was done to each column."""
        check_is_fitted(self)
        return self._plan.columns

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        clock, threads = Clock(self.budget), check_n_jobs(self.n_jobs)
        table = read_table(X)
        y = self._targets(y)
        check_consistent_length(np.empty(table.n_rows), y)
        if table.n_rows < 2:
            raise InputError(f"X has {table.n_rows} row (n_samples = 1): pass at least 2 rows.")
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, np.empty((len(y), 0)), ensure_non_negative=True)
        seed = seed_of(self.random_state)
        effort = EFFORTS[self.effort]
        plan = TablePlan.of(table)
        features = plan.encode(table)
        self._say(f"{table.n_rows} rows, {len(plan.columns)} columns, {len(plan.features)} features")
        views = learn_views(
            features,
            np.array([feature.is_number for feature in plan.features]),
            targets_of(y, is_class=self._is_class),
            names=effort.views,
            n_steps=effort.n_steps,
            seed=seed,
            progress=lambda _: clock.within(WEIGHTS_SHARE),
        )
        self._say(
            f"weights of {sum(map(len, views.weights))} columns in {len(views.names)} views, {clock.elapsed:.1f} s"
        )
        columns = views.transform(features)
        weights = sample_weight

        def pilot(rows: int, hashes: int) -> None:
            part = _some_rows(y, rows, seed, self._is_class)
            _fit_weighted(self._pilot(hashes, views.widths, seed, threads), columns[part], y[part])

        chosen, n_rows = fitting_effort(effort, len(y), clock.left, pilot)
        part = np.arange(len(y)) if n_rows == len(y) else _some_rows(y, n_rows, seed, self._is_class)
        if _too_few(y[part], self._is_class):
            part = np.tile(part, N_FOLDS)  # so that cross-validation trains on every row
        if n_rows < len(y):
            self._say(f"the budget of {self.budget:g} s has room for {n_rows} of {len(y)} rows")
        head = self._head(chosen, views.widths, seed, threads)
        _fit_weighted(head, columns[part], y[part], None if weights is None else weights[part])
        self._say(f"trained with C={head.C_:g}, {clock.elapsed:.1f} s")
        self._plan, self._views, self.model_ = plan, views, head
        self.n_features_in_ = len(plan.columns)
        if plan.named:
            self.feature_names_in_ = np.array([column.name for column in plan.columns], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.feature_importances_ = importances(plan, views, features, self._values, seed)
        self._say(f"done, {clock.elapsed:.1f} s")
        return self

    def _say(self, text: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {text}", flush=True)

    def _targets(self, y: Any) -> Array:
        raise NotImplementedError

    def _head(self, effort: Effort, widths: list[int], seed: int, threads: int) -> Any:
        raise NotImplementedError

    def _pilot(self, hashes: int, widths: list[int], seed: int, threads: int) -> Any:
        kind = GCWSClassifier if self._is_class else GCWSRegressor
        return kind(hashes, views=widths, C=10.0, tol=1e-2, random_state=seed, n_jobs=threads)

    def _values(self, features: Array) -> Array:
        """Return what the model computes from features: decision values (rows, problems) or predictions."""
        columns = self._views.transform(features)
        found = self.model_.decision_function(columns) if self._is_class else self.model_.predict(columns)
        return np.asarray(found).reshape(len(features), -1)

    def _in_batches(self, X: Any, method: str) -> Array:
        check_is_fitted(self)
        table = read_table(X)
        features = self._plan.encode(table, type(self).__name__)
        row_bytes = 8 * sum(self._views.widths) + 8 * features.shape[1]
        parts = [
            getattr(self.model_, method)(self._views.transform(features[rows]))
            for rows in row_batches(table.n_rows, row_bytes, BATCH_BYTES)
        ]
        return np.concatenate(parts)

    def plot_importances(self, n_columns: int = 20, *, ax: Any = None) -> Any:
        """Draw the importances of the most important columns as bars. It needs Matplotlib.

        Parameters
        ----------
        n_columns : int, default=20
            Largest number of columns to show.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw into. None makes a new figure.

        Returns
        -------
        ax : matplotlib.axes.Axes
        """
        check_is_fitted(self)
        return plot_importances([c.name for c in self.columns_], self.feature_importances_, n_columns, ax)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags


class GCWSTabularClassifier(ClassifierMixin, TabularModel):  # type: ignore[misc]
    """Classify the rows of a table as it is: numbers, categories, dates and gaps, with calibrated probabilities.

    The estimator finds out what each column holds, learns how relevant each column is, hashes three views of the table
    (standardized, quantiles, principal components), chooses C by cross-validation on the codes, and calibrates the
    probabilities with the held-out decision values.

    Parameters
    ----------
    effort : {"quick", "default", "thorough"}, default="default"
        How much work the fit does. ``"quick"`` takes about a third of the time of the default, ``"thorough"`` about
        five times as long.
    budget : float or None, default=None
        Seconds that the fit may take. It then uses fewer hashes, fewer values of C, and if necessary fewer rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, as for :class:`GCWSClassifier`.
    verbose : int, default=0
        1 reports each stage.
    random_state : int, RandomState instance or None, default=0
        Seed. Results do not depend on ``n_jobs``.
    n_jobs : int, default=None
        Number of threads. None means 1, and -1 means all processors.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes in ascending order.
    columns_ : tuple of ColumnPlan
        What was done to each column: ``name``, ``kind``, ``treatment`` in words, ``n_missing``, ``categories``.
    feature_importances_ : array of shape (n_features,)
        Importance of each column: the root mean square change of the decision values when the column is permuted among
        rows, divided by the sum over the columns. With more than 300 columns it is the learned weight of the column.
    model_ : GCWSClassifierCV
        The model on the columns of the views.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of shape (n_features,)
        Names of the columns, if X had names.

    See Also
    --------
    GCWSTabularRegressor : The same for numbers.
    GCWSClassifier : The model alone, for numbers that are scaled already and for sparse data.

    Notes
    -----
    X is a data frame of pandas or polars, a pyarrow table, or an array. Columns with names may come in another order at
    prediction; further columns are ignored, and a missing one is an error. A category that training has not seen counts
    as rare, if the column had rare categories, and else as absent. Infinity is an error; numbers beyond the range of
    the training rows count as its end.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelsketch import GCWSTabularClassifier
    >>> rng = np.random.default_rng(0)
    >>> size, color = rng.normal(size=300), rng.choice(["red", "blue"], 300)
    >>> y = np.where((size > 0) == (color == "red"), "yes", "no")
    >>> X = np.column_stack([size, color]).astype(object)
    >>> model = GCWSTabularClassifier(effort="quick").fit(X[:200], y[:200])
    >>> model.score(X[200:], y[200:]) > 0.9
    True
    >>> [column.treatment for column in model.columns_]
    ['number (numbers stored as text)', '2 categories']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TabularModel._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }
    _is_class = True

    def __init__(
        self,
        effort: str = "default",
        *,
        budget: float | None = None,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.effort = effort
        self.budget = budget
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GCWSTabularClassifier:
        """Learn from a table.

        Parameters
        ----------
        X : data frame, pyarrow table or array of shape (n_samples, n_features)
            Training rows.
        y : array of shape (n_samples,)
            Class labels of any type.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def _targets(self, y: Any) -> Array:
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = np.asarray(_check_y(y, multi_output=False, estimator=self))
        if y.dtype.kind == "O":
            missing = [value is None or value != value for value in y]
            if any(missing):
                raise InputError(
                    f"y has a missing label, {y[missing][0]!r}, in row {missing.index(True)}: remove it or give it a "
                    "label."
                )
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise InputError(f"y has only one class, {classes[0]!r}: pass rows of at least 2 classes.")
        labels: Array = y
        return labels

    def _head(self, effort: Effort, widths: list[int], seed: int, threads: int) -> Any:
        return GCWSClassifierCV(
            effort.n_components,
            views=widths,
            Cs=effort.Cs,
            cv=None,
            probability="calibrated",
            class_weight=self.class_weight,
            random_state=seed,
            n_jobs=threads,
        )

    def decision_function(self, X: Any) -> Array:
        """Compute the decision values of rows.

        Parameters
        ----------
        X : data frame, pyarrow table or array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        values : array of shape (n_samples,) or (n_samples, n_classes)
            Two classes have one decision value per row. It is above 0 for ``classes_[1]``.
        """
        return self._in_batches(X, "decision_function")

    def predict(self, X: Any) -> Array:
        """Predict the class labels of rows.

        Parameters
        ----------
        X : data frame, pyarrow table or array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        return self._in_batches(X, "predict")

    def predict_proba(self, X: Any) -> Array:
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : data frame, pyarrow table or array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._in_batches(X, "predict_proba")

    def predict_log_proba(self, X: Any) -> Array:
        """Predict the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : data frame, pyarrow table or array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        logarithms : array of shape (n_samples, n_classes)
        """
        logarithms: Array = np.log(self.predict_proba(X))
        return logarithms


class GCWSTabularRegressor(RegressorMixin, TabularModel):  # type: ignore[misc]
    """Predict a number for each row of a table as it is: numbers, categories, dates and gaps.

    It prepares the table as :class:`GCWSTabularClassifier` does, and learns ridge regression on the codes.

    Parameters
    ----------
    effort, budget, verbose, random_state, n_jobs
        As for :class:`GCWSTabularClassifier`.

    Attributes
    ----------
    columns_, feature_importances_, n_features_in_, feature_names_in_
        As for :class:`GCWSTabularClassifier`.
    model_ : GCWSRegressorCV
        The model on the columns of the views.

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

    _is_class = False

    def __init__(
        self,
        effort: str = "default",
        *,
        budget: float | None = None,
        verbose: int = 0,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.effort = effort
        self.budget = budget
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GCWSTabularRegressor:
        """Learn from a table.

        Parameters
        ----------
        X : data frame, pyarrow table or array of shape (n_samples, n_features)
            Training rows.
        y : array of shape (n_samples,)
            Targets.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def _targets(self, y: Any) -> Array:
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        return np.asarray(_check_y(y, multi_output=False, y_numeric=True, estimator=self), np.float64)

    def _head(self, effort: Effort, widths: list[int], seed: int, threads: int) -> Any:
        return GCWSRegressorCV(
            effort.n_components, views=widths, Cs=effort.Cs, cv=N_FOLDS, random_state=seed, n_jobs=threads
        )

    def predict(self, X: Any) -> Array:
        """Predict the targets of rows.

        Parameters
        ----------
        X : data frame, pyarrow table or array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        targets : array of shape (n_samples,)
        """
        return self._in_batches(X, "predict")


def _too_few(y: Array, is_class: bool) -> bool:
    """Return whether a fold would train on one class only, or hold out only rows of classes that it does not know."""
    if not is_class:
        return len(y) < 2 * N_FOLDS
    counts = np.unique(y, return_counts=True)[1]
    return bool(len(y) - counts.max() < 2 or counts.max() < 2)


def _fit_weighted(model: Any, X: Array, y: Array, sample_weight: Array | None = None) -> None:
    """Fit a model on weighted columns. That a few hold nearly all the weight is meant to be so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        model.fit(X, y, sample_weight=sample_weight)


def _some_rows(y: Array, count: int, seed: int, is_class: bool) -> Array:
    """Return the numbers of some rows in ascending order, with a row or two of each class first."""
    order = np.random.default_rng(seed).permutation(len(y))
    if is_class:
        _, numbers = np.unique(y[order], return_inverse=True)
        rank = np.empty(len(y), np.int64)
        for label in range(numbers.max() + 1):
            rows = np.flatnonzero(numbers == label)
            rank[rows] = np.arange(len(rows))
        order = order[np.argsort(np.where(rank < 2, 0, 1), kind="stable")]
    return np.sort(order[:count])
