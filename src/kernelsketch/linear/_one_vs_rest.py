"""Classes one against the rest: what the classifiers share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from ..backends import LinearObjective, backend_for, place_of
from ..exceptions import InputError
from ._dual import Solution, Targets
from ._losses import loss_number
from ._model import LinearOnCodes
from ._pipeline import pipeline_of_classifier

Array = NDArray[Any]


def _has_probabilities(model: Any) -> bool:
    if model.loss != "log_loss":
        raise AttributeError(f"predict_proba needs loss='log_loss', this model has loss={model.loss!r}.")
    return True


class OneVsRest(ClassifierMixin, LinearOnCodes):  # type: ignore[misc]
    """Decisions, predictions and probabilities from a table of weights a class; two classes have one table."""

    classes_: Array

    def decision_function(self, X: Any) -> Array:
        """Decision values: (n_samples,) for two classes, else (n_samples, n_classes).

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes of the model's hash
        """
        values = self._decision_values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> Array:
        """Class labels of rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes of the model's hash
        """
        values = self._decision_values(X)
        best = (values[:, 0] > 0).astype(int) if values.shape[1] == 1 else values.argmax(axis=1)
        return self._labels(best)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, (n_samples, n_classes); with more than two, one against the rest, normalized.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes of the model's hash
        """
        return probabilities_of(self._decision_values(X))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes of the model's hash
        """
        logarithms: Array = np.log(self.predict_proba(X))
        return logarithms

    def to_sklearn(self) -> Any:
        """The fitted model as a pipeline of :class:`GCWS` and a linear model of scikit-learn with the same decisions.

        The linear model is LinearSVC, or with ``log_loss`` SGDClassifier, whose probabilities are computed alike. Its
        coefficients have room for every code: float64 of the shape of ``coef_``.

        Returns
        -------
        pipeline : sklearn.pipeline.Pipeline
        """
        return pipeline_of_classifier(self)

    def _labels(self, numbers: Array) -> Array:
        """Class labels where the rows live, if their array library can hold them; otherwise as a NumPy array."""
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
        weights = np.ones(len(classes), np.float32)
        if self.class_weight == "balanced":  # of the rows as they are weighted, as in LinearSVC
            counts = np.bincount(labels, cost.astype(np.float64), len(classes))
            weights = (counts.sum() / (len(classes) * np.where(counts > 0, counts, 1))).astype(np.float32)
        elif self.class_weight is not None:
            weights = compute_class_weight(self.class_weight, classes=classes, y=classes).astype(np.float32)
        if len(classes) == 2:
            return Targets(labels, None, cost, np.array([1], np.int32), weights[None, :])
        # As in LIBLINEAR: a class against the rest has its own weight, the rest has 1.
        factors = np.stack([np.ones_like(weights), weights], axis=1)
        return Targets(labels, None, cost, np.arange(len(classes), dtype=np.int32), factors)

    def _feasible(self, beta: Array, targets: Targets) -> Array:
        """Duals of another C or other weights, within the bounds of these."""
        fitting = np.zeros_like(beta)
        for p in range(len(beta)):
            y, cost = targets.of(p, slice(None))
            most = cost if self.loss != "squared_hinge" else np.where(cost > 0, np.inf, 0)
            fitting[p] = y * np.clip(y * beta[p], 0, most)
        return fitting

    def _keep(self, hasher: Any, alphabet: Array, found: Solution) -> None:
        self._hasher, self.alphabet_, self._w, self._bias = hasher, alphabet, found.w, found.bias
        self._offset = self._scale() * found.bias
        self.intercept_ = self._offset.copy()
        self.n_iter_ = int(found.passes.max())
        self.dual_gap_, self.objective_ = found.gap, found.objective
        self._beta = self._state = None


def classes_of(y: Any) -> tuple[Array, Array]:
    check_classification_targets(y)
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"y has only one class, {classes[0]!r}: at least 2 classes are needed.")
    return classes, labels.astype(np.int32)


def probabilities_of(values: Array) -> Array:
    """From decision values of the logarithmic loss, (rows, problems), to probabilities of the classes."""
    shares = np.exp(-np.logaddexp(0, -values)) if place_of(values) is not None else expit(values)
    if shares.shape[1] == 1:
        return np.concatenate([1 - shares, shares], axis=1)
    total = shares.sum(axis=1, keepdims=True)
    found: Array = np.where(total > 0, shares / np.where(total > 0, total, 1), 1 / shares.shape[1])
    return found
