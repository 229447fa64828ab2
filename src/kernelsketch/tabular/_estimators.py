"""``GCWSTabularClassifier`` and ``GCWSTabularRegressor``: from a table of data to a tuned model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, _check_y, check_consistent_length, check_is_fitted

from .._array import Array
from .._estimator import PlainParameters, check_labels_known, numeric_targets, plain_labels
from .._losses import TABLE_LOSSES
from .._validation import check_n_jobs
from .._weighted import row_counts
from ..exceptions import InputError, ParameterError, Setting
from ..linear import whole_or_nothing
from ._choices import INFINITY, chosen, dropping
from ._columns import MOST_CATEGORIES, ColumnPlan, TablePlan
from ._effort import EFFORTS, Clock, effort_of, summary_of
from ._explain import Explains, background_of
from ._features import Features
from ._file import Persistent
from ._frame import Table
from ._free_text import TargetOrder
from ._goals import CLASS_SCORES, NUMBER_SCORES, Goal
from ._html import HtmlRepr
from ._importances import importances, plot_importances
from ._interrupts import Interrupts
from ._intervals import Intervals, check_coverage
from ._learn import Learner
from ._model import TableModel
from ._neighbors import warn_about_neighbors
from ._predictor import TablePredictor
from ._progress import check_progress
from ._read import read_table, warn_about_names
from ._root_link import RootLink
from ._several import SeveralOutputs, several_labels, several_numbers
from ._statistics import Levels
from ._teacher import SoftLabels
from ._together import Together
from ._trees import Trees
from ._views import Views
from ._weights import small_seed_of

MOST_EXPONENT = 30  # of 2: targets beyond are scaled
D2_NAMES = {  # of held-out scores: the share of the loss of the best constant that a model avoids
    "absolute_error": "D2 of the absolute error",
    "quantile": "D2 of the pinball loss",
    "poisson": "D2 of the Poisson deviance",
}


class TabularModel(
    PlainParameters,
    HtmlRepr,
    Explains,
    Persistent,
    SeveralOutputs,
    BaseEstimator,  # type: ignore[misc]
):
    """Base of the tabular estimators: columns, views, and a linear model on the codes of the views."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "effort": [StrOptions(set(EFFORTS)), dict],
        "budget": [Interval(Real, 0, None, closed="neither"), None],
        "categorical_features": ["array-like", None],
        "max_categories": [Interval(Integral, 1, None, closed="left"), None],
        "drop": ["array-like", None],
        "infinity": [StrOptions(set(INFINITY))],
        "on_interrupt": [StrOptions({"raise", "keep"})],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }
    _is_class: ClassVar[bool]

    _plan: TablePlan
    _views: Views
    _trees: Trees | None
    _temperature: float  # that divides decision values
    _link: RootLink | None  # from predictions of the linear model to counts
    threshold_: float | None
    _importances: Array
    _intervals: Intervals | None  # None in a file of an earlier version, or if the folds repeat rows
    _exponent: int  # of 2, in whose power the targets of a regression are measured
    model_: Any
    effort_: dict[str, Any]
    trees_share_: float
    held_out_score_: float
    held_out_error_: float
    held_out_scores_: dict[str, float]

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self) or self._has_several

    @property
    def columns_(self) -> tuple[ColumnPlan, ...]:
        """What was done to each column."""
        check_is_fitted(self)
        return self._plan.columns

    @property
    def held_out_metric_(self) -> str:
        """Name of ``held_out_score_``: ``scoring``, accuracy, balanced accuracy, weighted accuracy, R2 or D2."""
        check_is_fitted(self)
        if self._has_several:
            return str(self.estimators_[0].held_out_metric_)
        if self._scored is not None:
            return self._scored
        if not self._is_class:
            return D2_NAMES.get(self._loss, "R2")
        class_weight = self.model_.class_weight
        if class_weight is None:
            return "accuracy"
        return "balanced accuracy" if isinstance(class_weight, str) else "weighted accuracy"

    @property
    def feature_importances_(self) -> Array:
        """Importance of each column; the sum is 1."""
        check_is_fitted(self)
        return self._importances

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, time: Any, progress: Callable[[str], None] | None
    ) -> Self:
        say = self._reporter(progress)
        with Interrupts(keep=self.on_interrupt == "keep", say=say) as interrupts:
            return self._fit_table(X, y, sample_weight, groups, time, progress, say, interrupts)

    def _fit_table(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        time: Any,
        progress: Callable[[str], None] | None,
        say: Callable[[str], None],
        interrupts: Interrupts,
    ) -> Self:
        effort = effort_of(self.effort)
        if self.budget is not None and isinstance(self.effort, dict):
            raise ParameterError(
                Setting("budget", self.budget), " cannot shorten the effort of an earlier fit: pass budget=None."
            )
        goal = self._goal()
        clock, threads = Clock(self.budget, interrupts), check_n_jobs(self.n_jobs)
        table = chosen(read_table(X, dropping(self.drop)), self.categorical_features, self.infinity)
        soft = SoftLabels.of(y) if self._is_class else None
        y = self._targets(y) if soft is None else soft.P
        check_consistent_length(np.empty(table.n_rows), y)
        if table.n_rows < 2:
            raise InputError(f"X has {table.n_rows} row (n_samples = 1): pass at least 2 rows.")
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, np.empty((len(y), 0)), ensure_non_negative=True)
        together = Together.of(
            _only(X, [part for part in (groups, time) if isinstance(part, str)], table), groups, time
        )
        used, sample_weight = _used_rows(sample_weight)
        exponent = 0 if self._is_class else _exponent(y)
        seed = small_seed_of(self.random_state)
        targets = TargetOrder.of(y, is_class=self._is_class)
        one_of_each = None if together is None or together.is_time else together.one_of_each()
        plan, features, levels, numbers = self._planned(table, used, targets, one_of_each)
        if together is None and soft is None:
            together = Together.of_copies(features, numbers, y)
            if together is not None:
                say("many rows are copies of others: they are held out together")
                different = together.one_of_each(used)  # which say what is rare and what a word is
                plan, features, levels, numbers = self._planned(table, different, targets, None)
        n_rows = table.n_rows
        del table
        say(f"{n_rows} rows, {len(plan.columns)} columns, {len(plan.features)} features")
        learned = Learner(
            features,
            np.array([feature.is_number for feature in plan.features]),
            y if exponent == 0 else np.ldexp(y, -exponent),
            sample_weight,
            is_class=self._is_class,
            class_weight=getattr(self, "class_weight", None),
            effort=effort,
            clock=clock,
            seed=seed,
            threads=threads,
            say=say,
            progress=progress,
            levels=levels,
            numbers=numbers,
            together=together,
            goal=goal,
            soft=soft,
        ).learn()
        if together is None and soft is None and learned.errors is not None:
            warn_about_neighbors(learned.errors, is_class=self._is_class)
        if learned.statistics is not None and numbers is not None:
            plan = plan.with_statistics(learned.statistics)
            kept = np.isin(levels.columns, learned.statistics.levels.columns)
            features = features.with_numbers(learned.statistics.features(numbers[:, kept]))
        self._forget()
        self._plan, self._views, self.model_ = plan, learned.views, learned.model
        self._trees, self.trees_share_ = learned.trees, learned.trees_share
        self.held_out_score_, self.held_out_error_, others = learned.held_out
        self._scored, self._loss = goal.scoring, goal.loss
        if exponent and goal.score is not None:
            self.held_out_score_, self.held_out_error_ = (
                scaled(score, exponent * goal.score.unit) for score in (self.held_out_score_, self.held_out_error_)
            )
        self.held_out_scores_ = others if exponent == 0 else _scaled(others, exponent)
        self._temperature, self._intervals, self._link = learned.temperature, learned.intervals, learned.link
        if self._is_class:
            self.threshold_ = learned.threshold
        self.effort_ = learned.effort.settings()
        self._exponent = exponent
        self.n_features_in_ = len(plan.columns)
        if plan.named:
            self.feature_names_in_ = np.array([column.name for column in plan.columns], dtype=object)
        features = features if used is None else features.take(used)
        self._importances = importances(plan, learned.views, features, self._values, seed)
        self._background = background_of(features, seed)
        self._ended_early = interrupts.noted()
        if self.budget is not None or self._ended_early:
            say(summary_of(self.effort_, n_rows, self.budget))
        say(f"done, {clock.elapsed:.1f} s")
        return self

    def _planned(
        self, table: Table, used: Array | None, targets: TargetOrder, alone: Array | None
    ) -> tuple[TablePlan, Features, Levels, Array | None]:
        """Return what is done to the columns, and what comes out. ``alone`` flags the rows that choose words."""
        targets = targets if alone is None else targets._replace(alone=alone)
        counted, targets = (table, targets) if used is None else (table.some(used), targets.take(used))
        plan = TablePlan.of(counted, targets, max_categories=self.max_categories, infinity=self.infinity)
        levels = plan.levels(counted)
        return plan, plan.encode(table), levels, levels.numbers(table.columns) if levels.columns else None

    def _reporter(self, progress: Callable[[str], None] | None) -> Callable[[str], None]:
        """Return a function that reports the end of a stage to the user: printed, to ``progress``, or not at all."""
        check_progress(progress)

        def say(text: str) -> None:
            if self.verbose:
                print(f"[{type(self).__name__}] {text}", flush=True)
            if progress is not None:
                progress(text)

        return say

    def _goal(self) -> Goal:
        raise NotImplementedError

    def _targets(self, y: Any) -> Array:
        raise NotImplementedError

    @property
    def _model(self) -> TableModel:
        """What predictions depend on, as one value."""
        check_is_fitted(self)
        trees, share, temperature = self._trees, self.trees_share_, self._temperature
        rest = (self._exponent, self._link, getattr(self, "threshold_", None))
        return TableModel(self._plan, self._views, self.model_.fitted_, trees, share, temperature, *rest)

    def _values(self, features: Array) -> Array:
        """Return what the model computes from features: decision values (rows, problems) or predictions (rows, 1)."""
        return self._model.values(features, threads=check_n_jobs(self.n_jobs))

    def _values_of(self, X: Any) -> Array:
        """Return the values of a table, computed for a few rows at a time."""
        return np.concatenate([self._values(features) for features in self._batches(X)])

    def _batches(self, X: Any) -> Iterator[Array]:
        """Yield the features of a table, a few rows at a time."""
        model, table = self._model, read_table(X, self._plan.drops)
        warn_about_names(self._plan, table, type(self).__name__)
        features = self._plan.encode(table, type(self).__name__)
        yield from model.batches(features, threads=check_n_jobs(self.n_jobs))

    def _known_intervals(self, method: str) -> Intervals:
        """Return what held-out rows say about errors, or raise an error if there were none."""
        check_is_fitted(self)
        self._refuse_several(method)
        if self._intervals is not None:
            return self._intervals
        if np.isnan(self.held_out_error_):
            raise InputError(
                f"{method} needs held-out rows, but the model was fitted to so few rows that the folds repeat them: "
                "fit it to more rows."
            )
        raise InputError(
            f"{method} needs the errors of held-out rows, which this model lacks, because an earlier kernelsketch "
            "saved it: fit it again."
        )

    def predictor(self) -> TablePredictor:
        """Return the fitted model as a predictor, which is fast for a few rows at a time.

        Returns
        -------
        predictor : TablePredictor
            It predicts the same values to the last bit, and does not change when this model is fitted again.
        """
        check_is_fitted(self)
        self._refuse_several("predictor")
        return TablePredictor(self._model, n_jobs=self.n_jobs)

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
        self._refuse_several("plot_importances")
        return plot_importances([c.name for c in self.columns_], self.feature_importances_, n_columns, ax)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.target_tags.multi_output = True
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = True
        return tags


class GCWSTabularClassifier(ClassifierMixin, TabularModel):  # type: ignore[misc]
    """Classify the rows of a table as it is: numbers, categories, dates and gaps, with calibrated probabilities.

    The estimator finds out what each column holds, learns how relevant each column is, hashes three views of the table
    (standardized, quantiles, principal components), and learns a linear model on the codes. Folds, each with its own
    weights of columns, choose C and calibrate the probabilities. If the held-out rows gain from it, the
    probabilities are blended with those of boosted trees.

    Parameters
    ----------
    effort : {"quick", "default", "thorough"} or dict, default="default"
        How much work the fit does. ``"quick"`` takes a fraction of the time of the default, ``"thorough"`` several
        times as long. The ``effort_`` of a fitted model repeats what its budget had time for: the same rows then give
        the same model to the last bit.
    budget : float or None, default=None
        Seconds of wall time that the fit may take. If the table is too large for that, it takes fewer rows first, and
        only where few rows are left fewer hashes, values of C, steps and trees. It is no hard limit: reading the table
        is not shortened, and below a few seconds the fit may take longer.
    categorical_features : array-like of str, int or bool, default=None
        Columns that are categories whatever their values are, such as postcodes and other codes that are numbers: their
        names, their positions, or a flag for each column, as for scikit-learn's ``HistGradientBoostingClassifier``.
        Whole numbers of all types have one name, so that 1, 1.0 and "1.0" are the same category. Other columns are what
        their types and values say: text, and pandas' "category" of any values, are categories.
    max_categories : int or None, default=100
        Largest number of categories of a column that have a feature of their own, the most frequent first. The rarer
        ones share one more feature. None is no limit. More features take more time and memory, and with more than 1,500
        features times classes there are no trees.
    drop : array-like of str, int or bool, default=None
        Columns that are left out, such as identifiers and what is only known later: their names, their positions, or a
        flag for each column. They are not read, and may be missing at prediction.
    infinity : {"error", "missing"}, default="error"
        Whether an infinite number is an error or a missing value.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, as for :class:`GCWSClassifier`.
    scoring : str or None, default=None
        Score, by its name in scikit-learn, that held-out rows choose by: C, the blend with trees, and where it depends
        on the classes that are decided, the threshold of two classes: ``"accuracy"``, ``"balanced_accuracy"``,
        ``"f1"`` (of ``classes_[1]``), ``"f1_macro"``, ``"f1_weighted"``, ``"neg_log_loss"``, ``"neg_brier_score"``,
        ``"roc_auc"``, ``"roc_auc_ovr"``, ``"roc_auc_ovr_weighted"`` or ``"average_precision"``. Rows count by
        ``sample_weight``, not by ``class_weight``. Scores of decided classes vary much between rows, so the log-loss
        chooses the blend for them. None chooses C by the accuracy and the blend by the log-loss.
    threshold : "auto", float or None, default="auto"
        Probability of ``classes_[1]`` from which on :meth:`predict` returns this class, of two. ``"auto"`` lets
        held-out rows choose it for a ``scoring`` that depends on it. None, and ``"auto"`` for other scores, mean the
        most probable class.
    on_interrupt : {"raise", "keep"}, default="raise"
        What Ctrl-C does to a fit. ``"raise"`` raises KeyboardInterrupt, and the estimator stays as it was before.
        ``"keep"`` ends the fit early with what it has, as if a budget had run out: with fewer folds, values of C and
        trees. Before the first model is trained, and at a second Ctrl-C, it raises as well.
    verbose : int, default=0
        1 reports each stage.
    random_state : int, RandomState instance or None, default=0
        Seed. Results do not depend on ``n_jobs``, unless a budget leaves more work to more threads.
    n_jobs : int, default=None
        Number of threads. None means 1, and -1 means all processors.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes in ascending order. Those of each of several labels per row are 0 and 1.
    n_classes_ : int
        Number of classes.
    estimators_ : list of GCWSTabularClassifier
        A fitted model for each of several labels per row; only then. The attributes below are those of each of these
        models, apart from ``n_features_in_``, ``feature_names_in_`` and ``held_out_score_``, which is their mean.
    columns_ : tuple of ColumnPlan
        What was done to each column: ``name``, ``kind``, ``treatment`` in words, ``n_missing``, ``categories``.
    feature_importances_ : array of shape (n_features,)
        Importance of each column: the root mean square change of the decision values when the column is permuted among
        rows, divided by the sum over the columns. With more than 300 columns it is the learned weight of the column.
    effort_ : dict
        The work of the fit, with what the clock of a budget decided: the name of the ``effort``, ``n_rows`` (None for
        all), ``n_components``, ``Cs``, and the largest ``n_steps`` and ``n_trees``. In a table of at least three times
        ``n_kernel_rows`` rows the kernel machine learns from so many rows, and the trees from the others. After an
        interruption also ``n_scored_folds``, or ``final_trees`` if it left out the trees of all rows.
    threshold_ : float or None
        Probability of ``classes_[1]`` from which on :meth:`predict` returns it. None means the most probable class.
    model_ : GCWSClassifier
        The linear model on the columns of the views of all folds, with its calibration.
    trees_share_ : float
        Share of the boosted trees in the blend. 0 means that the model has no trees.
    held_out_score_ : float
        Accuracy, or the score of ``scoring``, on the training rows that the folds held out; from probabilities as
        targets, the score that is expected if labels have these probabilities. The rows of each fold are scored with
        the C, the calibration, the share of the trees and the threshold that the other folds choose. Where all classes
        but the largest have one row together, or no class has two, the folds repeat rows, and then it says nothing.
    held_out_error_ : float
        Standard error of ``held_out_score_``, with the correction of Nadeau and Bengio for folds that share training
        rows. NaN if the folds repeat rows.
    held_out_metric_ : str
        Name of ``held_out_score_``: that of ``scoring``, or ``"accuracy"``, ``"balanced accuracy"`` with
        ``class_weight="balanced"``, or ``"weighted accuracy"`` with other weights of classes.
    held_out_scores_ : dict
        Further scores of the same rows: ``"baseline_accuracy"``, the share of the largest class, ``"log_loss"``, and
        with two classes ``"auc"``, and with ``scoring`` ``"accuracy"``. Rows count by their weight and that of their
        class.
    n_features_in_ : int
        Number of columns of X, with those that are dropped.
    feature_names_in_ : array of shape (n_features,)
        Names of the columns, if X had names.

    See Also
    --------
    GCWSTabularRegressor : The same for numbers.
    GCWSClassifier : The model alone, for numbers that are scaled already and for sparse data.

    Notes
    -----
    X is a data frame of any library that narwhals reads, such as pandas, polars or pyarrow, a list of dicts, or an
    array. Lazy frames are collected. Columns with names may come in another order at prediction; further columns are
    ignored, and a missing one is an error. A warning says if only one of the training rows and the rows of a prediction
    have names: columns are then read by position. A category that training has not seen counts as rare, if the column
    had rare categories, and else as absent. A column of more than 20 categories, of which some have few rows, also has
    the mean target of each category as a feature, or with 3 to 10 classes the share of each class; each fold learns its
    own means from its training rows. Free text becomes numbers of those of its words and runs of characters that are
    correlated with the target. Numbers beyond the range of the training rows count as its end.

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
        "scoring": [StrOptions(set(CLASS_SCORES)), None],
        "threshold": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
    }
    _is_class = True

    def __init__(
        self,
        effort: str | dict[str, Any] = "default",
        *,
        budget: float | None = None,
        categorical_features: Any = None,
        max_categories: int | None = MOST_CATEGORIES,
        drop: Any = None,
        infinity: str = "error",
        class_weight: Any = None,
        scoring: str | None = None,
        threshold: str | float | None = "auto",
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
        self.class_weight = class_weight
        self.scoring = scoring
        self.threshold = threshold
        self.on_interrupt = on_interrupt
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @whole_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, time: Any = None, progress: Any = None
    ) -> GCWSTabularClassifier:
        """Learn from a table.

        Parameters
        ----------
        X : data frame, list of dicts or array of shape (n_samples, n_features)
            Training rows.
        y : array of shape (n_samples,), or matrix of shape (n_samples, n_classes) or (n_samples, n_outputs)
            Class labels of any type; or, as floats, probabilities of the classes, for example those of another model,
            whose rows sum to 1; or several labels per row as a matrix of 0 and 1, as integers or booleans. A data frame
            of probabilities names the classes by its columns; those of an array are 0, 1, and so on.
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
        labels = several_labels(y)
        if labels is not None:
            self._fit_outputs(X, labels, sample_weight, groups, time, progress)
            self.classes_ = self.estimators_[0].classes_
            return self
        self._fit(X, y, sample_weight, groups, time, progress)
        self.classes_ = self.model_.classes_
        return self

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        check_is_fitted(self)
        return len(self.classes_)

    def _goal(self) -> Goal:
        return Goal(True, self.scoring, self.threshold)

    def _targets(self, y: Any) -> Array:
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = np.asarray(_check_y(plain_labels(y), multi_output=False, estimator=self))
        check_labels_known(y)
        if type_of_target(y, input_name="y") == "continuous":
            raise InputError(
                "Unknown label type: continuous. y has one number per row, and some are no integers: pass labels, or "
                "use a regressor. For probabilities pass one column per class, so for two classes both: "
                "np.column_stack([1 - p, p])."
            )
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise InputError(f"y has only one class, {classes.tolist()[0]!r}: pass rows of at least 2 classes.")
        self._goal().check_classes(len(classes))
        labels: Array = y
        return labels

    def decision_function(self, X: Any) -> Array:
        """Compute the decision values of rows.

        Parameters
        ----------
        X : data frame, list of dicts or array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        values : array of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_outputs)
            Two classes have one decision value per row. It is above 0 where ``classes_[1]`` is the more probable class;
            a ``threshold_`` changes neither it nor the probabilities.
        """
        if self._has_several:
            return self._of_outputs("decision_function", X)
        values = self._values_of(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> Array:
        """Predict the class labels of rows.

        Parameters
        ----------
        X : data frame, list of dicts or array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : array of shape (n_samples,) or (n_samples, n_outputs)
        """
        if self._has_several:
            return self._of_outputs("predict", X)
        values = self._values_of(X)
        return np.asarray(self._model.answers(values))

    def predict_proba(self, X: Any) -> Array:
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : data frame, list of dicts or array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes) or (n_samples, n_outputs)
            In the order of ``classes_``; of several labels per row, the probability of each label.
        """
        if self._has_several:
            table = self._table_of_outputs(X)
            return np.column_stack([one.predict_proba(table)[:, 1] for one in self.estimators_])
        values = self._values_of(X)
        return self._model.probabilities(values)

    def predict_log_proba(self, X: Any) -> Array:
        """Predict the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : data frame, list of dicts or array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        logarithms : array of shape (n_samples, n_classes) or (n_samples, n_outputs)
        """
        logarithms: Array = np.log(self.predict_proba(X))
        return logarithms

    def predict_set(self, X: Any, coverage: float = 0.9) -> Array:
        """Predict sets of classes that have the true one with a given probability.

        Parameters
        ----------
        X : data frame, list of dicts or array of shape (n_samples, n_features)
            Rows.
        coverage : float, default=0.9
            Share of the rows whose class is to be in its set, between 0 and 1.

        Returns
        -------
        sets : boolean array of shape (n_samples, n_classes)
            Whether a class is in the set of a row, in the order of ``classes_``.
            ``[model.classes_[row].tolist() for row in sets]`` turns it into lists.

        Notes
        -----
        A set has all classes whose probability is above a threshold, which held-out rows choose (conformal prediction),
        and always the most probable one. No set is empty, so where ``coverage`` is below the accuracy of the model, the
        sets have one class each and cover as many rows as the accuracy says. Sets of a larger coverage contain those of
        a smaller one. Rows count as in ``held_out_score_``.
        """
        coverage, intervals = check_coverage(coverage), self._known_intervals("predict_set")
        return intervals.sets(self.predict_proba(X), coverage)


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


def _only(X: Any, names: list[str], table: Table) -> Table:
    """Return the table with the columns of these names alone, which may be among the dropped ones."""
    if not names:
        return table
    return read_table(X, lambda every, _: np.array([name not in names for name in every], bool))


def _used_rows(weights: Array | None) -> tuple[Array | None, Array | None]:
    """Return flags of the rows with a weight above 0, or None if these are all rows, and the weights.

    Weights with a mean below 1 are scaled to a mean of 1, because they are factors of values of C that are fixed.
    """
    if weights is None or not weights.any():
        return None, weights
    used = weights > 0
    counts = row_counts(weights[used])
    scaled = np.zeros(len(weights))
    scaled[used] = 1.0 if counts is None else counts
    return None if used.all() else used, scaled


def _scaled(scores: dict[str, float], exponent: int) -> dict[str, float]:
    """Return errors in units of the targets; those beyond the largest number are that number."""
    return {name: scaled(score, exponent) for name, score in scores.items()}


def scaled(score: float, exponent: int) -> float:
    """Return a score times a power of 2, or the largest number of its sign."""
    most = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        return float(np.clip(np.ldexp(score, exponent), -most, most))


def _exponent(y: Array) -> int:
    """Return 0, or for targets that single precision cannot square the exponent of the largest."""
    exponent = int(np.frexp(np.abs(y).max())[1])
    return exponent if abs(exponent) > MOST_EXPONENT else 0
