"""Held-out scores with standard errors, from predictions that owe nothing to the rows they are compared with.

The held-out rows of all folds choose C, the calibration, the share of the trees, the temperature, the shift of a
quantile and the decision threshold of a model. A score of the same rows would be optimistic. So the rows of each fold
are scored with what the other folds choose: the models are there already, and only the choices are made again.

C. Nadeau, Y. Bengio. *Inference for the generalization error.* Machine Learning 52, 2003.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from .._array import Array
from ._boosting import LEAST_GAIN, SHARES, best_temperature, mixed, tempered
from ._goals import LEAST, Goal, decided, jackknife_error, log_losses, squared_errors
from ._quantiles import weighted_quantile

NAMES = {  # of losses in further scores
    "absolute_error": "mean_absolute_error",
    "quantile": "mean_pinball_loss",
    "poisson": "mean_poisson_deviance",
}


class HeldOut(NamedTuple):
    """The score of held-out rows, its standard error, and other scores of the same rows by name."""

    score: float
    error: float
    others: dict[str, float]


class CrossFitted:
    """What held-out rows are predicted by choices that have not seen their folds.

    ``predicted`` are probabilities of classes or numbers (rows, 1), without trees, and ``folds`` the number of the fold
    of each row. ``counts`` are the weights of rows without those of classes, which count in scores that the user wants.
    Rows that are copies of one row have its number in ``copied``.
    """

    def __init__(
        self,
        predicted: Array,
        labels: Array,
        weights: Array,
        folds: Array,
        *,
        is_class: bool,
        goal: Goal | None = None,
        counts: Array | None = None,
        copied: Array | None = None,
    ) -> None:
        self._copied = copied
        self.labels, self.weights, self.folds, self._is_class = labels, weights, folds, is_class
        self._goal, self._counts = goal or Goal(is_class), weights if counts is None else counts
        self.blend_weights = self._counts if self._goal.blends_by_score else weights
        self._plain, self.predicted = predicted, predicted.copy()
        self._least = self._loss_of_others(predicted)

    def _loss_of_others(self, predicted: Array) -> Array:
        """Return for each fold the sum of the losses of the rows of the other folds, or their loss."""
        if self._goal.loss_of_rows is None:
            rows = [others_of(self.folds, fold) for fold in range(int(self.folds.max()) + 1)]
            parts = ((predicted[part], self.labels[part], self.blend_weights[part]) for part in rows)
            return np.array([self._goal.blend_loss(*part) for part in parts])
        own = np.bincount(self.folds, self.blend_weights * self._goal.loss_of_rows(predicted, self.labels))
        return np.asarray(own.sum() - own)

    def add_trees(self, by_trees: Array) -> None:
        """Blend with the predictions of trees where the other folds gain from it."""
        losses = np.array([self._loss_of_others(mixed(self._plain, by_trees, share)) for share in SHARES])
        for fold, best in enumerate(losses.argmin(axis=0)):
            if losses[best, fold] < self._least[fold] * (1 - LEAST_GAIN):
                self._least[fold], mine = losses[best, fold], self.folds == fold
                self.predicted[mine] = mixed(self._plain[mine], by_trees[mine], float(SHARES[best]))

    def held_out(self) -> HeldOut:
        """Return the scores of the predictions."""
        found = self.probabilities if self._is_class else self.shifted
        classes = self._decided(found) if self._is_class else found
        usual = self._class_scores(found, classes) if self._is_class else self._number_scores(found)
        score = self._goal.score
        if score is None:
            return usual
        wanted = score.value(found, classes, self.labels, self._counts)
        error = self._error_of(found, classes)
        return HeldOut(wanted, error, ({"accuracy": usual.score} if self._is_class else {}) | usual.others)

    def _error_of(self, P: Array, classes: Array) -> float:
        """Return the standard error of the score that the user wants, as :meth:`_error` does."""
        score, labels, counts = self._goal.score, self.labels, self._counts
        assert score is not None
        if self._is_class and score.row_losses is None:
            # one right and one wrong row more of each class, so that a few right rows are not certain
            extremes = [rows for column in P.T for rows in (column.argmax(), column.argmin())]
            own = np.repeat(np.arange(P.shape[1]), 2)
            worst = np.where(np.arange(len(own)) % 2, (own + 1) % P.shape[1], own)
            P, classes = np.concatenate([P, P[extremes]]), np.append(classes, worst)
            labels, counts = np.append(labels, own), np.append(counts, np.full(len(own), counts.mean()))

        def value(rows: Array) -> float:
            return score.value(P[rows], classes[rows], labels[rows], counts[rows])

        return self._overlap * jackknife_error(value, labels)

    def _decided(self, P: Array) -> Array:
        """Return the classes that are decided with the thresholds that the other folds choose."""
        if P.shape[1] != 2 or self._goal.threshold_of(P[:1], self.labels[:1], self._counts[:1]) is None:
            return np.asarray(self.predicted.argmax(axis=1))
        classes, chances = np.empty(len(P), np.int64), chances_of(P, self.labels, self.weights, self._counts)
        for fold in np.unique(self.folds):
            mine, others = self.folds == fold, others_of(self.folds, fold)
            given = (P[others], self.labels[others], self._counts[others], chances[others])
            classes[mine] = decided(P[mine], self._goal.threshold_of(*given))
        return classes

    @cached_property
    def shifted(self) -> Array:
        """Predictions of numbers after the last trees, of a quantile with the shift that the other folds choose."""
        found = self.predicted.copy()
        for fold in np.unique(self.folds):
            mine, others = self.folds == fold, others_of(self.folds, fold)
            given = (self.predicted[others], self.labels[others], self.weights[others])
            found[mine] += best_shift(self._goal, *given)
        return found

    def _class_scores(self, P: Array, classes: Array) -> HeldOut:
        labels, weights = self.labels, self.weights
        right = (classes == labels).astype(np.float64)
        accuracy = float(np.average(right, weights=weights))
        # one right and one wrong row more, so that a few right rows are not certain
        smoothed, mean = np.append(right, [0.0, 1.0]), weights.mean()
        copied = self._copied
        if copied is not None:
            copied = np.append(copied, copied.max() + np.array([1, 2]))
        error = self._error(smoothed - accuracy, np.append(weights, [mean, mean]), copied)
        others = {
            "baseline_accuracy": float(np.bincount(labels, weights).max() / weights.sum()),
            "log_loss": float(np.average(log_losses(P, labels), weights=weights)),
        }
        if P.shape[1] == 2 and np.unique(labels[weights > 0]).size == 2:
            others["auc"] = float(roc_auc_score(labels, P[:, 1], sample_weight=weights))
        return HeldOut(accuracy, error, others)

    @cached_property
    def probabilities(self) -> Array:
        """Probabilities of classes with the temperature that the other folds choose, after the last trees."""
        found = np.empty_like(self.predicted)
        for fold in np.unique(self.folds):
            mine, others = self.folds == fold, others_of(self.folds, fold)
            temperature = best_temperature(self.predicted[others], self.labels[others], self.weights[others])
            found[mine] = tempered(self.predicted[mine], temperature)
        return found

    @property
    def errors(self) -> Array:
        """Errors of the predictions, with their sign, or what the probability of the true class lacks."""
        if self._is_class:
            return np.asarray(1 - self.probabilities[np.arange(len(self.labels)), self.labels])
        return np.asarray(self.labels - self.shifted[:, 0])

    def _number_scores(self, predicted: Array) -> HeldOut:
        """Return one minus the loss over that of the best constant: R^2 for squared errors, and otherwise D^2."""
        weights = self.weights
        losses = squared_errors(predicted, self.labels)
        deviations = (self.labels - np.average(self.labels, weights=weights)) ** 2
        loss, variance = (float(np.average(of_rows, weights=weights)) for of_rows in (losses, deviations))
        others = {"baseline_rmse": float(np.sqrt(variance)), "rmse": float(np.sqrt(loss))}
        if self._goal.loss in NAMES:
            constant = np.broadcast_to(self._goal.best_constant(self.labels, weights), (len(losses), 1))
            losses, deviations = (self._goal.own_losses(of, self.labels) for of in (predicted, constant))
            loss, variance = (float(np.average(of_rows, weights=weights)) for of_rows in (losses, deviations))
            name = NAMES[self._goal.loss]
            others |= {f"baseline_{name}": variance, name: loss}
        if variance == 0:
            return HeldOut(0.0, 0.0, others)
        error = self._error(losses - loss / variance * deviations, weights) / variance
        return HeldOut(1 - loss / variance, error, others)

    def _error(self, differences: Array, weights: Array, copied: Array | None = None) -> float:
        """Return the standard error of a mean over rows from their differences to it.

        Models of different folds share rows, so their scores depend on one another. The factor is the correction of
        Nadeau and Bengio. The differences of copies of one row are added up.
        """
        share = weights / weights.sum()
        if copied is not None:
            of_rows = np.bincount(np.unique(copied, return_inverse=True)[1], share * differences)
            return float(np.sqrt((1 + self._ratio) * (of_rows @ of_rows)))
        return float(np.sqrt((1 + self._ratio) * (share**2 @ differences**2)))

    @property
    def _ratio(self) -> float:
        n_folds = len(np.unique(self.folds))
        return n_folds / max(1, n_folds - 1)

    @property
    def _overlap(self) -> float:
        return float(np.sqrt(1 + self._ratio))


def chances_of(P: Array, labels: Array, weights: Array, counts: Array) -> Array:
    """Return probabilities of classes among rows that count without the weights of classes."""
    heavy, plain = (np.bincount(labels, of_rows, P.shape[1]) for of_rows in (weights, counts))
    if np.array_equal(heavy, plain):
        return P
    found: Array = P * np.divide(plain, heavy, out=np.zeros(len(plain)), where=heavy > 0)
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), LEAST))


def best_shift(goal: Goal, predicted: Array, labels: Array, weights: Array) -> float:
    """Return what predictions of a quantile lack so that the right share of rows is below; 0 for other losses."""
    if goal.share is None:
        return 0.0
    return float(weighted_quantile(labels - predicted[:, 0], weights, goal.share))


def others_of(folds: Array, fold: int) -> Array:
    """Return the rows of the other folds, or all rows if there are no others."""
    others = folds != fold
    return np.asarray(others if others.any() else ~others)
