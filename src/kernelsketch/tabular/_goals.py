"""What a fit optimises: losses of rows, and scores by scikit-learn's names.

A ``Goal`` says by which loss held-out rows choose C and the blend with trees, by which score the decision threshold of
two classes, and what ``held_out_score_`` is. Scores of labels, such as F1, are steps in the probabilities and vary much
between rows. So the log-loss chooses the blend for them, and the score only C and the threshold.

The threshold maximizes the score with a mean of labels and calibrated probabilities in place of labels. The
probabilities say what labels of other rows would be, so this varies less than the best threshold of the labels alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy
from sklearn.metrics import f1_score

from .._array import Array
from ..exceptions import ParameterError, Setting
from ._quantiles import weighted_quantile

LEAST = 1e-15
GROUPS = 100  # of rows, which a jackknife leaves out in turn

# of predictions, classes that are decided, labels and weights
Value = Callable[[Array, Array, Array, Array], float]
# of the weights of rows that are decided as positive and are, of all decided as positive, of all positive, and of all
Confusion = Callable[[Any, Any, Any, Any], Any]


class Score(NamedTuple):
    """A score, of which more is better. ``unit`` is the power of the unit of the targets in it."""

    value: Value
    row_losses: Callable[[Array, Array], Array] | None = None  # if the score is minus their mean, or its root
    confusion: Confusion | None = None  # of two classes, if it depends on the classes that are decided
    unit: int = 0
    classes: str = "any"  # or "two"


def log_losses(P: Array, labels: Array) -> Array:
    return np.asarray(-np.log(np.maximum(P[np.arange(len(P)), labels], LEAST)))


def brier_losses(P: Array, labels: Array) -> Array:
    """Return the squared distance to the label, halved for two classes, as scikit-learn scales it."""
    ones = labels[:, None] == np.arange(P.shape[1])
    found: Array = ((P - ones) ** 2).sum(axis=1)
    return found / 2 if P.shape[1] == 2 else found


def squared_errors(predicted: Array, targets: Array) -> Array:
    return np.asarray((predicted[:, 0] - targets) ** 2)


def absolute_errors(predicted: Array, targets: Array) -> Array:
    return np.asarray(np.abs(predicted[:, 0] - targets))


def pinball_losses(quantile: float) -> Callable[[Array, Array], Array]:
    def losses(predicted: Array, targets: Array) -> Array:
        residuals = targets - predicted[:, 0]
        return np.asarray(np.maximum(quantile * residuals, (quantile - 1) * residuals))

    return losses


def poisson_deviances(predicted: Array, targets: Array) -> Array:
    means = np.maximum(predicted[:, 0], LEAST)
    return np.asarray(2 * (xlogy(targets, targets / means) - targets + means))


def _mean(row_losses: Callable[[Array, Array], Array], *, root: bool = False) -> Value:
    def value(predicted: Array, decided: Array, labels: Array, weights: Array) -> float:
        mean = float(np.average(row_losses(predicted, labels), weights=weights))
        return -(mean**0.5) if root else -mean

    return value


def _r2(predicted: Array, decided: Array, labels: Array, weights: Array) -> float:
    mean = np.average(labels, weights=weights)
    variance = float(np.average((labels - mean) ** 2, weights=weights))
    return 1 - float(np.average(squared_errors(predicted, labels), weights=weights)) / variance if variance else 0.0


def auc(values: Array, positive: Array, weights: Array) -> float:
    """Return the area under the ROC curve, or NaN if all rows are of one class."""
    _, places = np.unique(values, return_inverse=True)
    upper, lower = (np.bincount(places, weights * flags) for flags in (positive, ~positive))
    pairs = upper.sum() * lower.sum()
    return float(upper @ (np.cumsum(lower) - lower / 2) / pairs) if pairs else np.nan


def average_precision(values: Array, positive: Array, weights: Array) -> float:
    """Return the mean precision over the positive rows, or NaN if there are none."""
    _, places = np.unique(-values, return_inverse=True)
    upper, every = np.bincount(places, weights * positive), np.bincount(places, weights)
    if not upper.sum():
        return np.nan
    return float(upper @ (np.cumsum(upper) / np.maximum(np.cumsum(every), LEAST)) / upper.sum())


def _ranked(rank: Callable[[Array, Array, Array], float], *, prevalence: bool = False) -> Value:
    """Return the score of the ranking of one class, or the mean over all classes against the others."""

    def value(P: Array, decided: Array, labels: Array, weights: Array) -> float:
        if P.shape[1] == 2:
            return rank(P[:, 1], labels == 1, weights)
        found = np.array([rank(P[:, c], labels == c, weights) for c in range(P.shape[1])])
        shares = np.bincount(labels, weights, P.shape[1]) if prevalence else np.ones(len(found))
        there = ~np.isnan(found)  # a class may have no row in some of the folds
        return float(np.average(found[there], weights=shares[there])) if there.any() else np.nan

    return value


def _accuracy(P: Array, decided: Array, labels: Array, weights: Array) -> float:
    return float(np.average(decided == labels, weights=weights))


def _balanced(P: Array, decided: Array, labels: Array, weights: Array) -> float:
    sizes = np.bincount(labels, weights)
    right = np.bincount(labels, weights * (decided == labels))
    return float(np.mean(right[sizes > 0] / sizes[sizes > 0]))


def _f1(average: str) -> Value:
    def value(P: Array, decided: Array, labels: Array, weights: Array) -> float:
        how = {"average": average, "sample_weight": weights, "zero_division": 0.0}
        return float(f1_score(labels, decided, labels=None if average == "binary" else np.unique(labels), **how))

    return value


def _ratio(upper: Any, lower: Any) -> Any:
    upper, lower = np.broadcast_arrays(np.asarray(upper, np.float64), np.asarray(lower, np.float64))
    return np.divide(upper, lower, out=np.zeros(upper.shape), where=lower > 0)


def _f1_of(right: Any, positive: Any, are: Any, every: Any) -> Any:
    return _ratio(2 * right, positive + are)


def _f1_of_others(right: Any, positive: Any, are: Any, every: Any) -> Any:
    return _f1_of(every - are - positive + right, every - positive, every - are, every)


CLASS_SCORES = {
    "accuracy": Score(_accuracy, None, lambda r, p, a, n: _ratio(n - a - p + 2 * r, n)),
    "balanced_accuracy": Score(_balanced, None, lambda r, p, a, n: _ratio(r, a) + _ratio(n - a - p + r, n - a)),
    "f1": Score(_f1("binary"), None, _f1_of, classes="two"),
    "f1_macro": Score(_f1("macro"), None, lambda *of: _f1_of(*of) + _f1_of_others(*of)),
    "f1_weighted": Score(
        _f1("weighted"), None, lambda r, p, a, n: a * _f1_of(r, p, a, n) + (n - a) * _f1_of_others(r, p, a, n)
    ),
    "neg_log_loss": Score(_mean(log_losses), log_losses),
    "neg_brier_score": Score(_mean(brier_losses), brier_losses),
    "roc_auc": Score(_ranked(auc), classes="two"),
    "roc_auc_ovr": Score(_ranked(auc)),
    "roc_auc_ovr_weighted": Score(_ranked(auc, prevalence=True)),
    "average_precision": Score(_ranked(average_precision)),
}
NUMBER_SCORES = {
    "r2": Score(_r2, squared_errors),
    "neg_mean_squared_error": Score(_mean(squared_errors), squared_errors, unit=2),
    "neg_root_mean_squared_error": Score(_mean(squared_errors, root=True), squared_errors, unit=1),
    "neg_mean_absolute_error": Score(_mean(absolute_errors), absolute_errors, unit=1),
    "neg_mean_poisson_deviance": Score(_mean(poisson_deviances), poisson_deviances, unit=1),
}


@dataclass(frozen=True)
class Goal:
    """What a fit optimises. ``threshold`` is "auto", a probability, or None for the most probable class."""

    is_class: bool
    scoring: str | None = None
    threshold: str | float | None = None
    loss: str = "squared_error"
    quantile: float = 0.5
    score: Score | None = field(init=False)

    def __post_init__(self) -> None:
        known = CLASS_SCORES if self.is_class else NUMBER_SCORES
        if self.scoring is not None and self.scoring not in known:
            raise ParameterError(
                Setting("scoring", self.scoring), f" is not known here: pass None or one of {', '.join(known)}."
            )
        object.__setattr__(self, "score", None if self.scoring is None else known[self.scoring])

    def check_classes(self, count: int) -> None:
        """Refuse scores and thresholds that need two classes if there are more."""
        if count > 2 and self.score is not None and self.score.classes == "two":
            other = "roc_auc_ovr" if self.scoring == "roc_auc" else "f1_macro"
            raise ParameterError(
                Setting("scoring", self.scoring),
                f" needs two classes, but y has {count}: pass ",
                Setting("scoring", other),
            )
        if count > 2 and isinstance(self.threshold, (int, float)):
            raise ParameterError(
                Setting("threshold", self.threshold), f" needs two classes, but y has {count}: pass ",
                Setting("threshold", None), ".",
            )  # fmt: skip

    @property
    def loss_of_rows(self) -> Callable[[Array, Array], Array] | None:
        """The loss of each row whose mean chooses the blend, or None if the score itself does."""
        if self.blends_by_score and self.score is not None:
            return self.score.row_losses
        return log_losses if self.is_class else self.own_losses

    @property
    def own_losses(self) -> Callable[[Array, Array], Array]:
        """The loss of each number that a regression learns."""
        if self.loss == "quantile":
            return pinball_losses(self.quantile)
        return {"absolute_error": absolute_errors, "poisson": poisson_deviances}.get(self.loss, squared_errors)

    @property
    def is_usual_loss(self) -> bool:
        """Whether a regression learns by squared errors."""
        return not self.is_class and self.own_losses is squared_errors

    @property
    def blends_by_score(self) -> bool:
        """Whether the score chooses the blend, and not the log-loss or the loss that a regression learns."""
        return self.score is not None and self.score.confusion is None

    @property
    def share(self) -> float | None:
        """The share of rows below the predictions of a quantile."""
        return {"absolute_error": 0.5, "quantile": self.quantile}.get(self.loss)

    def best_constant(self, targets: Array, weights: Array) -> float:
        """Return the number of which the loss of all targets is least."""
        if self.share is None:
            return float(np.average(targets, weights=weights))
        return float(weighted_quantile(targets, weights, self.share))

    def blend_loss(self, predicted: Array, labels: Array, weights: Array) -> float:
        """Return the loss of predictions that chooses the blend."""
        if self.loss_of_rows is not None:
            return float(np.average(self.loss_of_rows(predicted, labels), weights=weights))
        assert self.score is not None
        return 1 - self.score.value(predicted, labels, labels, weights)

    def value(self, predicted: Array, labels: Array, weights: Array, threshold: float | None) -> float:
        """Return the score of predictions."""
        assert self.score is not None
        return self.score.value(predicted, decided(predicted, threshold, self.is_class), labels, weights)

    @property
    def chooses_threshold(self) -> bool:
        """Whether held-out rows choose a threshold for two classes."""
        return self.threshold == "auto" and self.score is not None and self.score.confusion is not None

    def threshold_of(self, P: Array, labels: Array, weights: Array, chances: Array | None = None) -> float | None:
        """Return the threshold of probabilities of two classes, None for more classes or where it is not wanted.

        ``chances`` are the probabilities among rows with these weights, if ``P`` are others.
        """
        if P.shape[1] != 2 or not self.is_class:
            return None
        if self.chooses_threshold:
            assert self.score is not None
            assert self.score.confusion is not None
            chances = P if chances is None else chances
            return best_threshold(self.score.confusion, P[:, 1], labels, weights, chances[:, 1])
        return float(self.threshold) if isinstance(self.threshold, (int, float)) else None


def decided(P: Array, threshold: float | None, is_class: bool = True) -> Array:
    """Return the classes that probabilities decide, or numbers as they are."""
    if not is_class:
        return P
    return np.asarray(P.argmax(axis=1) if threshold is None else (P[:, 1] >= threshold).astype(np.int64))


def best_threshold(score: Confusion, p: Array, labels: Array, weights: Array, chances: Array) -> float:
    """Return the probability from which on rows are positive, in the middle between two rows."""
    order = np.argsort(-p, kind="stable")
    p, weights, positive = p[order], weights[order], weights[order] * (labels[order] + chances[order]) / 2
    last = np.append(p[1:] != p[:-1], True)  # of equal probabilities
    right, every, p = np.cumsum(positive)[last], np.cumsum(weights)[last], p[last]
    best = int(np.argmax(score(right, every, positive.sum(), weights.sum())))
    return float((p[best] + p[min(best + 1, len(p) - 1)]) / 2)


def jackknife_error(value: Callable[[Array], float], labels: Array) -> float:
    """Return the standard error of a score, a function of the rows that are kept: groups are left out in turn.

    The rows of each label are dealt to all groups evenly. NaN says that a score without some rows does not exist.
    """
    n_groups = min(GROUPS, len(labels))
    groups = np.empty(len(labels), np.int64)
    groups[np.argsort(labels, kind="stable")] = np.arange(len(labels)) % n_groups
    found = np.array([value(groups != group) for group in range(n_groups)])
    return float(np.sqrt((n_groups - 1) / n_groups * ((found - found.mean()) ** 2).sum()))
