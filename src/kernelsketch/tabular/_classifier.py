"""``GCWSTabularClassifier``: from a table of data to a tuned and calibrated classifier."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_y, check_is_fitted

from .._array import Array
from .._estimator import check_labels_known, plain_labels
from ..exceptions import InputError
from ..linear import whole_or_nothing
from ._base import TabularModel
from ._columns import MOST_CATEGORIES
from ._goals import CLASS_SCORES, Goal
from ._intervals import check_coverage
from ._several import several_labels


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
