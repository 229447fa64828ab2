"""``TabularModel``: what the tabular classifier and regressor share, from reading a table to the fitted model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted

from .._array import Array
from .._estimator import PlainParameters
from .._validation import check_n_jobs
from .._weighted import row_counts
from ..exceptions import InputError, ParameterError, Setting
from ._choices import INFINITY, chosen, dropping
from ._columns import ColumnPlan, TablePlan
from ._effort import EFFORTS, Clock, effort_of, summary_of
from ._explain import Explains, background_of
from ._features import Features
from ._file import Persistent
from ._frame import Table
from ._free_text import TargetOrder
from ._goals import Goal
from ._html import HtmlRepr
from ._importances import importances, plot_importances
from ._interrupts import Interrupts
from ._intervals import Intervals
from ._learn import Learner
from ._model import TableModel
from ._neighbors import warn_about_neighbors
from ._predictor import TablePredictor
from ._progress import check_progress
from ._read import read_table, warn_about_names
from ._root_link import RootLink
from ._several import SeveralOutputs
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
