"""Held-out scores with standard errors, from predictions that owe nothing to the rows they are compared with.

The held-out rows of all folds choose C, the calibration, the share of the trees and the temperature of a model. A score
of the same rows would be optimistic. So the rows of each fold are scored with what the other folds choose: the models
are there already, and only the choices are made again.

C. Nadeau, Y. Bengio. *Inference for the generalization error.* Machine Learning 52, 2003.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.metrics import roc_auc_score

from .._array import Array
from ._boosting import LEAST, LEAST_GAIN, SHARES, best_temperature, mixed, row_losses


class HeldOut(NamedTuple):
    """The score of held-out rows, its standard error, and other scores of the same rows by name."""

    score: float
    error: float
    others: dict[str, float]


class CrossFitted:
    """What held-out rows are predicted by choices that have not seen their folds.

    ``predicted`` are probabilities of classes or numbers (rows, 1), without trees, and ``folds`` the number of the fold
    of each row.
    """

    def __init__(self, predicted: Array, labels: Array, weights: Array, folds: Array, *, is_class: bool) -> None:
        self.labels, self.weights, self.folds, self._is_class = labels, weights, folds, is_class
        self._plain, self.predicted = predicted, predicted.copy()
        self._least = self._loss_of_others(predicted)

    def _loss_of_others(self, predicted: Array) -> Array:
        """Return for each fold the sum of the losses of the rows of the other folds."""
        own = np.bincount(self.folds, self.weights * row_losses(predicted, self.labels, self._is_class))
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
        return self._class_scores() if self._is_class else self._number_scores()

    def _class_scores(self) -> HeldOut:
        P, labels, weights = self.probabilities, self.labels, self.weights
        right = (self.predicted.argmax(axis=1) == labels).astype(np.float64)
        accuracy = float(np.average(right, weights=weights))
        # one right and one wrong row more, so that a few right rows are not certain
        smoothed, mean = np.append(right, [0.0, 1.0]), weights.mean()
        error = self._error(smoothed - accuracy, np.append(weights, [mean, mean]))
        others = {
            "baseline_accuracy": float(np.bincount(labels, weights).max() / weights.sum()),
            "log_loss": float(np.average(row_losses(P, labels, True), weights=weights)),
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
            found[mine] = softmax(np.log(np.maximum(self.predicted[mine], LEAST)) / temperature, axis=1)
        return found

    def _number_scores(self) -> HeldOut:
        weights = self.weights
        losses = row_losses(self.predicted, self.labels, False)
        deviations = (self.labels - np.average(self.labels, weights=weights)) ** 2
        loss, variance = (float(np.average(of_rows, weights=weights)) for of_rows in (losses, deviations))
        others = {"baseline_rmse": float(np.sqrt(variance)), "rmse": float(np.sqrt(loss))}
        if variance == 0:
            return HeldOut(0.0, 0.0, others)
        error = self._error(losses - loss / variance * deviations, weights) / variance
        return HeldOut(1 - loss / variance, error, others)

    def _error(self, differences: Array, weights: Array) -> float:
        """Return the standard error of a mean over rows from their differences to it.

        Models of different folds share rows, so their scores depend on one another. The factor is the correction of
        Nadeau and Bengio.
        """
        n_folds = len(np.unique(self.folds))
        overlap = n_folds / max(1, n_folds - 1)
        share = weights / weights.sum()
        return float(np.sqrt((1 + overlap) * (share**2 @ differences**2)))


def others_of(folds: Array, fold: int) -> Array:
    """Return the rows of the other folds, or all rows if there are no others."""
    others = folds != fold
    return np.asarray(others if others.any() else ~others)
