r"""``Intervals``: how far targets are from predictions, learned from held-out rows (conformal prediction).

The error of each held-out row is divided by a spread that is learned from the errors of the rows of other folds. A new
row gets an interval between two order statistics of these scores, times its own spread:

.. math:: [f(x) + s(x) q_{\lfloor (n+1) a/2 \rfloor}, \; f(x) + s(x) q_{\lceil (n+1)(1-a/2) \rceil}], \qquad
   a = 1 - \text{coverage}.

If the rows are exchangeable and the model of a held-out row were that of new rows, a new target would be inside with at
least the probability ``coverage``. The models of folds are weaker than the final one, so the scores are multiplied by
an estimate of what the final model gains (:class:`Curve`).

Classes have one score, one minus the probability of the true class. A set has all classes whose score is at most the
order statistic :math:`\lceil (n+1) \, \text{coverage} \rceil`.

H. Papadopoulos, K. Proedrou, V. Vovk, A. Gammerman. *Inductive confidence machines for regression.* ECML 2002.
M. Sadinle, J. Lei, L. Wasserman. *Least ambiguous set-valued classifiers with bounded error levels.* JASA 114, 2019.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._array import Array
from ..exceptions import InputError, Setting
from ._bins import Bins
from ._boosting import Boosting, mean_trees
from ._features import Features
from ._trees import Trees

MOST_SCORES = 4000  # that a model keeps
SPREAD_TREES, SPREAD_LEAVES = 40, 3
FLOOR = 0.1  # of the mean error, which is added to each, so that no logarithm is of 0
POWERS = np.arange(6) / 4  # of the spread; the best one is 0 where it says nothing
LEAST_GAIN = 0.5
MOST_LOG = 700.0  # of a spread that is finite
ROUNDING = 1e-9  # of a rank, so that 0.9 * 10 is 9


@dataclass(frozen=True, eq=False)
class Intervals:
    """Scores of held-out rows in ascending order, and trees that give the logarithm of the spread, or None."""

    scores: Array
    spread: Trees | None = None

    @classmethod
    def of_numbers(
        cls, features: Features, errors: Array, weights: Array, folds: Array, curve: Curve | None
    ) -> Intervals:
        """Learn from the errors (target minus prediction) of held-out rows, of which ``folds`` are the numbers.

        Without a curve the scores are those of the models of folds.
        """

        def gain(units: Array) -> float:
            return 1.0 if curve is None else curve.gain(units, weights)

        size = float(np.average(np.abs(errors), weights=weights))
        if not size > 0 or len(np.unique(folds)) < 2:
            return cls(equally_weighted(gain(np.ones(len(errors))) * errors, weights))
        logs, bins = np.log(np.abs(errors) / size + FLOOR), Bins.of(features)
        crossed, boosts = np.empty(len(errors)), []
        for fold in np.unique(folds):
            mine, boost = np.flatnonzero(folds == fold), _boosting(bins, folds != fold, logs, weights)
            crossed[mine] = boost.predict(features.take(mine))[:, 0]
            boosts.append(boost)
        power = _best_power(np.abs(errors), crossed, weights)
        units = np.exp(-power * crossed)
        scores = equally_weighted(gain(units) * errors * units, weights)
        if power == 0:
            return cls(scores)
        return cls(scores, mean_trees(boosts, [power / len(boosts)] * len(boosts), SPREAD_TREES))

    @classmethod
    def of_classes(cls, P: Array, labels: Array, weights: Array) -> Intervals:
        """Learn from the probabilities of held-out rows."""
        return cls(equally_weighted(1 - P[np.arange(len(P)), labels], weights))

    def bounds(self, predicted: Array, features: Array, coverage: float, threads: int) -> Array:
        """Return lower and upper ends (rows, 2) for predictions (rows,)."""
        n, tail = len(self.scores), (1 - coverage) / 2
        upper = ceil((n + 1) * (1 - tail) - ROUNDING)
        if upper > n:
            least = ceil(2 / (1 - coverage) - 1 - ROUNDING)
            raise InputError(
                Setting("coverage", coverage),
                f" needs {least} held-out rows, but the model was fitted with {n}: pass a coverage of at most "
                f"{np.floor(1e4 * (n - 1) / (n + 1)) / 1e4:g}, or fit more rows.",
            )
        ends = self.scores[[n - upper, upper - 1]]
        logs = np.zeros((len(predicted), 1)) if self.spread is None else self.spread.decide(features, threads)
        with np.errstate(over="ignore"):  # in a hostile file
            return np.asarray(predicted[:, None] + np.exp(np.clip(logs, -MOST_LOG, MOST_LOG)) * ends)

    def sets(self, P: Array, coverage: float) -> Array:
        """Return flags (rows, classes) of the classes that may be the true one, at least the most probable."""
        n = len(self.scores)
        rank = ceil((n + 1) * coverage - ROUNDING)
        found = np.ones(P.shape, bool) if rank > n else self.scores[rank - 1] >= 1 - P
        found[np.arange(len(P)), P.argmax(axis=1)] = True
        return found


def check_coverage(coverage: Any) -> float:
    """Return a coverage as a float; refuse what is not between 0 and 1."""
    if not isinstance(coverage, Real) or isinstance(coverage, bool) or not 0 < float(coverage) < 1:
        raise InputError(
            Setting("coverage", coverage), " must be a number above 0 and below 1: pass 0.9 for intervals of 90 %."
        )
    return float(coverage)


def equally_weighted(scores: Array, weights: Array) -> Array:
    """Return order statistics of weighted scores that stand for them: as many as the effective number of rows.

    Without weights these are all scores, if they are not too many. A new row counts as a row of the mean weight.
    """
    order = np.argsort(scores, kind="stable")
    shares = weights[order] / weights.mean()
    count = max(1, min(MOST_SCORES, int(shares.sum() ** 2 / (shares @ shares) + ROUNDING)))
    below = np.cumsum(shares)
    levels = np.arange(1, count + 1) / (count + 1) * (len(scores) + 1)
    at = np.searchsorted(below, levels * (1 - ROUNDING))
    return np.asarray(scores[order][np.minimum(at, len(scores) - 1)])


class Curve(NamedTuple):
    """Errors of held-out rows by models of three sizes, which say what the final model gains over those of folds.

    ``own`` are those of the models of ``n_folds`` folds, which have one part of the hashes each and learn from all
    folds but one. Models with two parts of the hashes make the errors ``wide``, and ``few`` if they learn from one fold
    less. The rows are the first ones of all held-out rows.
    """

    own: Array
    wide: Array
    few: Array
    n_folds: int

    def gain(self, units: Array, weights: Array) -> float:
        """Return the factor of scores between models of folds and the final model, 1 if that is no better.

        Scores are errors times the ``units`` of held-out rows. The variance that hashes add to a prediction is
        inversely proportional to their number, so two numbers give the squared score with all hashes. A power of the
        number of training rows is fitted to two scores.
        """
        units, weights, n = units[: len(self.own)], weights[: len(self.own)], self.n_folds
        own, wide, few = (float(np.average(np.abs(part) * units, weights=weights)) for part in self[:3])
        if not min(own, wide, few) > 0:
            return 1.0
        by_hashes = 1 - (1 - (wide / own) ** 2) * (1 - 1 / n) / (1 - 1 / 2)
        by_rows = (wide / few) ** float(np.log(n / (n - 1)) / np.log((n - 1) / (n - 2)))
        return float(np.clip(np.sqrt(max(by_hashes, 0.0)) * by_rows, LEAST_GAIN, 1.0))


def _boosting(bins: Bins, rows: Array, targets: Array, weights: Array) -> Boosting:
    boost = Boosting(bins, rows, targets, weights, n_classes=None, threads=1, leaves=SPREAD_LEAVES)
    boost.grow(SPREAD_TREES)
    return boost


def _best_power(sizes: Array, logs: Array, weights: Array) -> float:
    """Return the power of the spread with which the sizes of errors are most likely, if they are exponential."""
    losses = [
        np.log(np.average(sizes * np.exp(-power * logs), weights=weights)) + power * np.average(logs, weights=weights)
        for power in POWERS
    ]
    return float(POWERS[int(np.argmin(losses))])
