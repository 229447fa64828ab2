"""``GCWSClassifier`` and ``GCWSClassifierCV``: hashing and a linear classifier on the codes in one estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._array import Array
from .._estimator import plain_labels
from .._losses import CLASSIFIER_LOSSES, WITH_PROBABILITIES, loss_named, names_losses
from ..backends import in_library_of
from ..exceptions import InputError, Setting
from ..serving import LinearModel
from ._base import LinearEstimator, whole_or_nothing
from ._blocks import BlockTargets
from ._fit import SingleC
from ._pipeline import classifier_of, pipeline_of_classifier
from ._search import ManyCs
from ._targets import Classes, RowWeights, classes_of


def _has_probabilities(model: Any) -> bool:
    if model.probability is None and not loss_named(model.loss).has_probabilities:
        raise AttributeError(
            f"predict_proba needs {WITH_PROBABILITIES} or probability='calibrated', but this model has "
            f"loss={model.loss!r} and probability=None: fit it again with one of them."
        )
    return True


def _can_stream(model: Any) -> bool:
    if model.probability is not None:
        raise AttributeError(
            f"probability={model.probability!r} needs all rows at once, but partial_fit sees a part of them: set "
            f"probability=None, and {WITH_PROBABILITIES} for probabilities."
        )
    return True


@dataclass(kw_only=True, eq=False, repr=False)
class OneVsRest(ClassifierMixin, LinearEstimator):  # type: ignore[misc]
    """Base of the classifiers: one table of weights per class, or a single table for two classes."""

    loss: str = "squared_hinge"
    probability: str | None = None
    class_weight: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "loss": [StrOptions(set(CLASSIFIER_LOSSES))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "probability": [StrOptions({"calibrated"}), None],
    }
    _has_classes: ClassVar[bool] = True

    @property
    def classes_(self) -> Array:
        """Class labels in ascending order."""
        check_is_fitted(self)
        assert self.fitted_.classes is not None
        return self.fitted_.classes

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    @property
    def intercept_(self) -> Array:
        """Intercepts, of shape (1 or n_classes,)."""
        check_is_fitted(self)
        return self.fitted_.intercepts.copy()

    def decision_function(self, X: Any) -> Array:
        """Compute the decision values of rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            Rows, or their codes under the hash of the model.

        Returns
        -------
        values : array of shape (n_samples,) or (n_samples, n_classes)
            Two classes have one decision value per row. It is above 0 for ``classes_[1]``. With
            ``probability="calibrated"`` the values are the logits of the calibration.
        """
        _, values = self._decided(X)
        found: Array = in_library_of(X, values[:, 0] if values.shape[1] == 1 else values)
        return found

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Predict the probabilities of the classes.

        With ``probability="calibrated"`` they come from the calibration. Otherwise the loss is ``"log_loss"``, and with
        more than two classes they are the one-vs-rest probabilities divided by their sum.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            Rows, or their codes under the hash of the model.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        model, values = self._decided(X)
        shares: Array = in_library_of(X, model.probabilities(values))
        return shares

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Predict the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            Rows, or their codes under the hash of the model.

        Returns
        -------
        logarithms : array of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        logarithms: Array = np.log(self.predict_proba(X))
        return logarithms

    def to_sklearn(self) -> Any:
        """Convert the fitted model to a scikit-learn pipeline of :class:`GCWS` and a linear model.

        The pipeline has the same decision values. Its linear model is LinearSVC, or SGDClassifier if the loss is
        ``"log_loss"``, because SGDClassifier computes probabilities in the same way. Its ``coef_`` is
        ``code_weights_`` in float64. A calibration cannot be converted.

        Returns
        -------
        pipeline : sklearn.pipeline.Pipeline
            The fitted pipeline.
        """
        return pipeline_of_classifier(self)

    def _serving_model(self) -> LinearModel:
        model = super()._serving_model().asked_for(self.probability)
        return model if model.loss == self.loss else replace(model, loss=self.loss)

    def _task(self, y: Any) -> Classes:
        return Classes(*(y.classes() if isinstance(y, BlockTargets) else classes_of(y)), self.class_weight)


@names_losses
@dataclass(kw_only=True, eq=False, repr=False)
class GCWSClassifier(OneVsRest, SingleC):
    r"""Classify rows with the accuracy of a kernel machine at the cost of a linear model.

    The estimator hashes each row to ``n_components`` codes with :class:`GCWS`, so that it approximates a machine with
    the GMM kernel. For each class (one-vs-rest) it learns a linear model whose features are the one-hot codes, scaled
    so that rows have unit norm:

    .. math:: \min_w \tfrac12 \|w\|^2 + C \sum_i \mathrm{loss}(y_i\, w \cdot x_i).

    The result is that of :class:`sklearn.svm.LinearSVC` on :meth:`GCWS.transform`, but the one-hot matrix is never
    made. The solver, block dual coordinate descent with shrinking, works on the codes themselves, which take one byte
    each. It stops at a duality gap, which bounds how far the objective is from its minimum.

    Columns with different units should be scaled, for example with ``scale="standard"``, because the kernel adds up
    the columns as they are. If a few columns hold nearly all the weight of the rows, :meth:`fit` warns.

    Parameters
    ----------
    n_components, bits, t_bits, p, gamma, center, views
        Parameters of the hash, as for :class:`GCWS`.
    scale : {"standard", "robust", "quantile", None}, default=None
        How the model scales the columns before it hashes rows. ``"standard"`` subtracts the mean and divides by the
        standard deviation; ``"robust"`` takes the median and the interquartile range; ``"quantile"`` maps each column
        to -1 ... 1 by its ranks. Constant columns become 0. Sparse rows are divided by the standard deviation, and
        only ``"standard"`` takes them. Rows count with their ``sample_weight``, but not with ``class_weight``. The
        scaling is part of the model and of its file; rows must be NumPy arrays, data frames or SciPy matrices, and not
        codes.
    C : float, default=1.0
        Weight of the losses relative to the norm of w. Rows have unit norm, so C means the same on every dataset. A
        larger C fits the training rows more closely and takes longer.
    loss : {classifier losses}, default="squared_hinge"
        The loss. With ``"log_loss"`` the model has :meth:`predict_proba`.
    probability : {"calibrated", None}, default=None
        With ``"calibrated"`` the model has :meth:`predict_proba` for every loss. Three more models, each trained on
        two thirds of the rows, give every row a decision value that its label has not influenced; a logistic
        regression turns these values into probabilities, and :meth:`predict` chooses the most probable class. Rows
        whose class the other two thirds lack are left out of it. ``sample_weight`` and ``class_weight`` count in it;
        repeated rows, unlike a weight, may come to different thirds.
        :meth:`partial_fit` is not available then.
    class_weight : dict, "balanced" or None, default=None
        Factor of C for each class, as in LinearSVC.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    intercept_scaling : float, default=1.0
        Value of the feature of the intercept. The intercept is penalized like the weights, as in LinearSVC.
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
        Number of threads for hashing, learning and prediction. Threads share a single problem too, so two classes
        use all of them. None means 1, and -1 means all processors. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels in ascending order.
    n_classes_ : int
        Number of classes.
    code_weights_ : array of shape (1 or n_classes, n_components * 2**(bits + t_bits))
        Weights of the one-hot features, with room for every code. They are made when you ask for them, from a table
        that has weights only for used codes. They are float32, or float64 if ``tol`` is below 1e-4.
    intercept_ : array of shape (1 or n_classes,)
        Intercepts.
    n_iter_ : int
        Number of passes of the class that took the most.
    dual_gap_, objective_ : arrays of shape (1 or n_classes,)
        Duality gap and objective of each class. The objective is at most ``dual_gap_`` above its minimum. Its costs are
        those of the solver: C times the weights in float32, so that C=0.1 is 0.100000001. They exist after :meth:`fit`
        and :meth:`fit_blocks`.
    fitted_ : kernelsketch.serving.LinearModel
        The fitted model as an immutable value: everything that predictions depend on.
    training_ : Training
        The state from which a warm start or :meth:`partial_fit` continues.
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
    GCWSClassifierCV : The same model, with C chosen by cross-validation.
    GCWSRegressor : The same for regression.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernelsketch import GCWSClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = GCWSClassifier(n_components=512).fit(X[:1000], y[:1000])
    >>> model.score(X[1000:], y[1000:]) > 0.94
    True
    """

    @available_if(_can_stream)  # type: ignore[untyped-decorator]
    @whole_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the next rows of a stream, in one pass.

        Each block of 256 rows makes a proximal step: the new weights minimize half their squared distance to the old
        weights plus C times the losses of the block. The model is a weighted average of the weights after each step.
        It comes close to :meth:`fit` after one pass over the data, and it needs no learning rate. After :meth:`fit`,
        the fitted model counts in this average as the blocks of its rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            The next rows, or their codes.
        y : array of shape (n_samples,)
            Class labels.
        classes : array of shape (n_classes,), default=None
            All classes of the stream. The first call needs them.
        sample_weight : array of shape (n_samples,), default=None
            Factor of C for each row. Whole numbers are equivalent to repeated rows, and rows of weight 0 are left out.
            Weights that sum to 1 make C too small: multiply them, or C, by the number of rows.

        Returns
        -------
        self
        """
        self._validate_params()
        first = not hasattr(self, "fitted_")
        if first and classes is None:
            raise InputError(
                Setting("classes", None), " at the first call of partial_fit: pass all labels of the stream."
            )
        if self.class_weight == "balanced":
            raise InputError(
                Setting("class_weight", "balanced"),
                " needs all rows at once, but partial_fit sees a part of them: set class_weight to a dict of weights.",
            )
        X, y = self._checked(X, y, reset=first)
        check_classification_targets(y)
        known = np.unique(plain_labels(classes)) if first else self.classes_
        if not first and classes is not None and not np.array_equal(np.unique(plain_labels(classes)), known):
            raise InputError(
                Setting("classes", np.unique(classes).tolist()),
                f" differs from that of the first call, {known}: omit it.",
            )
        if len(known) < 2:
            raise InputError(
                Setting("classes", known.tolist()), " has fewer than 2 classes: pass all labels of the stream."
            )
        unseen = np.setdiff1d(y, known)
        if len(unseen):
            raise InputError(
                f"y has labels {unseen[:5]} that are not among the classes {known}: pass all classes to the first call."
            )
        weights = RowWeights.of(sample_weight, len(y), self.C)
        labels = np.asarray(np.searchsorted(known, y), np.int32)[weights.used]
        return self._learn_next(X, Classes(known, labels, self.class_weight), weights)

    @classmethod
    def from_sklearn(cls, pipeline: Any) -> GCWSClassifier:
        """Convert a fitted pipeline of :class:`GCWS` and a linear classifier to a model that takes less memory.

        The model has the same decision values. It has weights only for codes with a coefficient other than 0, and it
        takes its parameters from the two steps, as far as they have them.

        Parameters
        ----------
        pipeline : sklearn.pipeline.Pipeline
            A fitted pipeline of GCWS and LinearSVC, SGDClassifier, or LogisticRegression with two classes. A
            multinomial LogisticRegression cannot be converted.

        Returns
        -------
        model : GCWSClassifier
            The converted model.
        """
        model: GCWSClassifier = classifier_of(cls, pipeline)
        return model


@dataclass(kw_only=True, eq=False, repr=False)
class GCWSClassifierCV(OneVsRest, ManyCs):
    """Train a :class:`GCWSClassifier` whose ``C`` is chosen by cross-validation.

    The estimator hashes the rows once for all folds and all values of C. Within a fold it solves the values in
    ascending order, each with a warm start from the one before.

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
        Folds. None means 3 stratified folds of rows in a fixed random order. The others are as in scikit-learn: a
        number means stratified folds of rows in their own order.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn, or a function ``scoring(model, codes, labels)`` of a fold's model and its held-out
        rows. None means the accuracy. Scorers that need probabilities, such as ``"neg_log_loss"``, work with every
        loss: the held-out rows of a fold are calibrated on those of the other folds, with one slope for all classes,
        unless the loss has probabilities of its own and ``probability`` is None.
    refit : bool, default=True
        Whether to train on all rows with the best C at the end. If not, the model is the mean of the models of the
        folds.
    path_tol : float, default=1e-2
        Approximate duality gap, relative to the objective, of the models that are scored. Scores hardly change below
        it. ``tol`` applies to the final model.
    probability : {"calibrated", None}, default=None
        As for :class:`GCWSClassifier`. The calibration takes the decision values of the cross-validation.
    loss, class_weight, fit_intercept, intercept_scaling, tol, max_iter, verbose, random_state, n_jobs
        As for :class:`GCWSClassifier`.

    Attributes
    ----------
    C_ : float
        The best C: the smallest of those with the highest mean score.
    Cs_ : array of shape (n_Cs,)
        Values of C in ascending order.
    scores_ : array of shape (n_folds, n_Cs)
        Score of each value of C on each fold.
    n_iters_ : array of shape (n_folds, n_Cs)
        Number of passes of the class that took the most.
    classes_, n_classes_, code_weights_, intercept_, n_iter_, dual_gap_, objective_, hasher_, used_codes_
        As for :class:`GCWSClassifier`, as ``n_features_in_`` and ``feature_names_in_``. Gap and objective exist only
        with ``refit``.

    See Also
    --------
    GCWSClassifier : The same model with a given C.
    GCWSRegressorCV : The same for regression.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernelsketch import GCWSClassifierCV
    >>> X, y = load_digits(return_X_y=True)
    >>> model = GCWSClassifierCV(n_components=128, Cs=[0.1, 1, 10]).fit(X[:600], y[:600])
    >>> model.scores_.shape
    (3, 3)
    """

    _single = GCWSClassifier
