"""One-vs-rest classification: what ``GCWSClassifier`` and ``GCWSClassifierCV`` share."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from .._estimator import check_labels_known
from .._validation import check_n_jobs, row_batches
from ..backends import LinearObjective, backend_for, in_library_of, place_of
from ..exceptions import InputError
from ..serving import Calibration, class_numbers, shares_of, softmax_shares
from ._calibration import fit_calibration
from ._code_table import CodeSource
from ._folds import PATH_TOL, Fold, Problem, shuffled_folds
from ._losses import CLASSIFIER_LOSSES, LOSS_TABLE, loss_named, loss_number
from ._model import LinearOnCodes
from ._pipeline import pipeline_of_classifier
from ._problem import Solution, Targets

Array = NDArray[Any]

STEP_ROWS = 1 << 20  # whose labels are numbered at a time


def _has_probabilities(model: Any) -> bool:
    if model.probability is None and not loss_named(model.loss).has_probabilities:
        names = " or ".join(f"loss={loss.name!r}" for loss in LOSS_TABLE if loss.has_probabilities)
        raise AttributeError(
            f"predict_proba needs {names} or probability='calibrated', but this model has loss={model.loss!r} and "
            "probability=None: fit it again with one of them."
        )
    return True


class OneVsRest(ClassifierMixin, LinearOnCodes):  # type: ignore[misc]
    """Base of the classifiers: one table of weights per class, or a single table for two classes."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LinearOnCodes._parameter_constraints,
        "loss": [StrOptions(set(CLASSIFIER_LOSSES))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "probability": [StrOptions({"calibrated"}), None],
    }

    classes_: Array
    _calibration: Calibration | None = None

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
        values = self._calibrated_values(X)
        found: Array = in_library_of(X, values[:, 0] if values.shape[1] == 1 else values)
        return found

    def predict(self, X: Any) -> Array:
        """Predict the class labels of rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            Rows, or their codes under the hash of the model.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        labels: Array = in_library_of(X, self._labels(class_numbers(self._calibrated_values(X))))
        return labels

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
        shares: Array = in_library_of(X, probabilities_of(self, self._calibrated_values(X)))
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
        ``"log_loss"``, because SGDClassifier computes probabilities in the same way. Its coefficients are float64 and
        have the shape of ``coef_``, with room for every code. A calibration cannot be converted.

        Returns
        -------
        pipeline : sklearn.pipeline.Pipeline
            The fitted pipeline.
        """
        return pipeline_of_classifier(self)

    def _calibrated_values(self, X: Any) -> Array:
        """Return the values by which the model decides, of shape (rows, problems)."""
        values = self._decision_values(X)
        if self.probability is None:
            return values
        if self._calibration is None:
            raise InputError(
                f"the model has probability={self.probability!r}, but was fitted without it: fit it again, or set "
                "probability=None."
            )
        return self._calibration.logits(values)

    def _labels(self, numbers: Array) -> Array:
        """Return class labels where the rows live if their array library can hold them, else as a NumPy array."""
        if place_of(numbers) is None:
            return np.asarray(self.classes_[numbers])
        backend = backend_for(numbers)
        if self.classes_.dtype.kind in "biuf":
            labels: Array = backend.from_numpy(self.classes_)[numbers]
            return labels
        return np.asarray(self.classes_[backend.to_numpy(numbers)])

    def _objective(self) -> LinearObjective:
        return LinearObjective(loss_number(self.loss), self._scale())

    def _targets(self, classes: Array, labels: Array, cost: Array) -> Targets:
        weights = self._class_weights(classes, labels, cost)
        if len(classes) == 2:
            return Targets(labels, None, cost, np.array([1], np.int32), weights[None, :])
        # As in LIBLINEAR, the class of a problem has its own weight and the rest has weight 1.
        factors = np.stack([np.ones_like(weights), weights], axis=1)
        return Targets(labels, None, cost, np.arange(len(classes), dtype=np.int32), factors)

    def _class_weights(self, classes: Array, labels: Array, cost: Array) -> Array:
        """Return the factor of C for each class, in float32."""
        if self.class_weight is None:
            return np.ones(len(classes), np.float32)
        if self.class_weight == "balanced":  # the rows count with their weights, as in LinearSVC
            counts = np.bincount(labels, cost.astype(np.float64), len(classes))
            balanced: Array = counts.sum() / (len(classes) * np.where(counts > 0, counts, 1))
            return balanced.astype(np.float32)
        return np.asarray(compute_class_weight(self.class_weight, classes=classes, y=classes)).astype(np.float32)

    def _feasible_start(self, beta: Array, targets: Targets) -> Array:
        """Return the duals of a fit with another C or other weights, moved into the bounds of this one."""
        loss, epsilon, start = loss_named(self.loss), self._objective().epsilon, np.zeros_like(beta)
        for p in range(len(beta)):
            start[p] = loss.feasible(beta[p], *targets.of(p, slice(None)), epsilon)
        return start

    def _keep(self, hasher: Any, used_codes: Array, found: Solution) -> None:
        self._hasher, self.used_codes_, self._w, self._bias = hasher, used_codes, found.w, found.bias
        self._offset = self._scale() * found.bias
        self.intercept_ = self._offset.copy()
        self.n_iter_ = int(found.passes.max())
        self.dual_gap_, self.objective_ = found.gap, found.objective
        self._beta = self._state = self._calibration = None

    def _calibrated(
        self, hasher: Any, table: CodeSource, classes: Array, labels: Array, C: float, weights: Array
    ) -> Calibration:
        """Calibrate the decision values of the rows of each fold, by models of the other folds."""
        problem = self._problem(hasher, table, classes, labels, weights)
        stop = self._stop()._replace(tol=max(float(self.tol), PATH_TOL), warn=False, exact=False)
        tests, values = [], []
        for fold in shuffled_folds(labels):
            test = known_rows(fold, labels, weights)
            if len(test):
                found = next(problem.path(fold, np.array([C]), stop))
                tests.append(test)
                values.append(problem.decide(test, found))
        if not tests:
            raise InputError(
                "probability='calibrated' needs 2 classes with at least 2 rows each, of a weight above 0: pass more "
                "rows, or set probability=None."
            )
        rows = np.concatenate(tests)
        counted = weights * self._class_weights(classes, labels, weights)[labels]
        return fit_calibration(np.concatenate(values), labels[rows], len(classes), counted[rows])

    def _problem(self, hasher: Any, table: CodeSource, classes: Array, labels: Array, weights: Array) -> Problem:
        def targets(cost: Array) -> Targets:
            return self._targets(classes, labels, cost)

        return Problem(table, targets, weights, self._objective(), hasher, check_n_jobs(self.n_jobs))


def known_rows(fold: Fold, labels: Array, weights: Array) -> Array:
    """Return the held-out rows whose class is among the training rows; none if these are all of one class."""
    known = np.unique(labels[fold.train & (weights > 0)])
    return fold.test[np.isin(labels[fold.test], known)] if len(known) > 1 else fold.test[:0]


def classes_of(y: Any) -> tuple[Array, Array]:
    """Return the classes in ascending order and the class number of each row."""
    try:
        classes, labels = _numbered_texts(y) if y.dtype.kind in "OUT" else _numbered_numbers(y)
    except TypeError:  # labels of several types, or of none that can be compared
        check_labels_known(y)
        check_classification_targets(y)
        raise
    # What scikit-learn says depends on the distinct labels alone, except for a warning about many of them.
    check_classification_targets(y if len(classes) > len(y) // 2 else np.tile(classes, 2))
    check_classes(classes)
    return classes, labels


def _numbered_texts(y: Array) -> tuple[Array, Array]:
    """Return the distinct labels in ascending order and the number of each label, without a sort of all labels."""
    known: dict[Any, int] = {}
    numbers = np.empty(len(y), np.int32)
    for rows in row_batches(len(y), 1, STEP_ROWS):
        numbers[rows] = [known.setdefault(label, len(known)) for label in y[rows].tolist()]
    classes, place = np.unique(np.array(list(known), y.dtype), return_inverse=True)
    return classes, place.astype(np.int32)[numbers]


def _numbered_numbers(y: Array) -> tuple[Array, Array]:
    """Return the same for numbers, from sorts of a few of them."""
    parts = [np.unique(y[rows]) for rows in row_batches(len(y), 1, STEP_ROWS)]
    classes = np.unique(np.concatenate(parts))
    labels = np.empty(len(y), np.int32)
    for rows in row_batches(len(y), 1, STEP_ROWS):
        labels[rows] = np.searchsorted(classes, y[rows])
    return classes, labels


def check_classes(classes: Array) -> None:
    """Refuse a single class."""
    if len(classes) < 2:
        raise InputError(f"y has only one class, {classes.tolist()[0]!r}: pass rows of at least 2 classes.")


def probabilities_of(model: Any, values: Array) -> Array:
    """Return the probabilities of the classes for the values of a classifier's decision function, as columns."""
    return shares_of(values) if model.probability is None else softmax_shares(values)
