"""Boosted trees of scikit-learn beside the kernel machine: how many of them, and their share in the blend.

Trees find thresholds of single columns, where a kernel compares whole rows. On a table where such rules matter, a blend
of both is better than either. The trees of all folds grow together, and they stop growing when the blend of the
held-out predictions no longer improves. If it never does, the model has no trees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from ._trees import Trees

Array = NDArray[Any]

STEP = 40  # trees per output that are added before the blend is looked at again
LEAST_GAIN = 1e-3  # relative decrease of the loss for which the trees go on growing
SHARES = np.arange(20) / 20  # of the trees in a blend; below 1, so that no probability is 0
MOST_WORK = 1500  # features times outputs; above it the trees take longer than everything else
THREAD_WORK = 200_000  # features times rows for each thread: with less, threads wait more than they work
LEAST = 1e-15


class Boosting:
    """Boosted trees on some rows, which grow by steps. ``labels`` are class numbers, or numbers to predict."""

    def __init__(
        self, features: Array, labels: Array, weights: Array, *, n_classes: int | None, threads: int, seed: int
    ) -> None:
        kind = HistGradientBoostingRegressor if n_classes is None else HistGradientBoostingClassifier
        self._model = kind(max_iter=1, early_stopping=False, warm_start=True, random_state=seed)
        used = weights > 0
        self._features, self._labels = features[used], labels[used]
        # Quantiles of weighted rows take scikit-learn longer than all the rest, so equal weights are not passed on.
        self._weights = None if np.ptp(weights[used]) == 0 else weights[used]
        self._n_classes, self._threads = n_classes, threads
        self._growing_threads = max(1, min(threads, self._features.size // THREAD_WORK))

    def grow(self, n_trees: int) -> None:
        """Add trees until each output has ``n_trees``."""
        self._model.set_params(max_iter=n_trees)
        with threadpool_limits(limits=self._growing_threads, user_api="openmp"):
            self._model.fit(self._features, self._labels, sample_weight=self._weights)

    @property
    def trees(self) -> Trees:
        return Trees.of(self._model)

    def predict(self, features: Array) -> Array:
        """Return the probabilities of all classes, also of those that no training row has, or predictions (rows, 1)."""
        found = predict_trees(self.trees, features, self._n_classes is not None, self._threads)
        if self._n_classes is None:
            return found
        every = np.zeros((len(features), self._n_classes))
        every[:, self._model.classes_] = found
        return every


def predict_trees(trees: Trees, features: Array, is_class: bool, threads: int) -> Array:
    """Return the probabilities of the classes, or predictions (rows, 1)."""
    raw = trees.decide(features, threads)
    if not is_class:
        return raw
    if raw.shape[1] > 1:
        return np.asarray(softmax(raw, axis=1))
    upper = expit(raw)
    return np.concatenate([1 - upper, upper], axis=1)


class Blend(NamedTuple):
    """The number of trees per output, their share in the blend, and what the blend predicts for held-out rows."""

    n_trees: int
    share: float
    predicted: Array


def grow_blend(
    boosts: list[Boosting],
    held_out: list[Array],
    predicted: Array,
    labels: Array,
    weights: Array,
    *,
    most: int,
    is_class: bool,
    may_go_on: Callable[[int], bool],
) -> Blend:
    """Grow the trees of all folds while the blend with the other predictions improves, and return the best blend.

    ``held_out`` has the features of the held-out rows of each fold, and ``predicted`` what the other model predicts
    for them, all folds one after the other.
    """
    loss_of = log_loss if is_class else squared_error
    best, least = Blend(0, 0.0, predicted), loss_of(predicted, labels, weights)
    for size in range(STEP, most + 1, STEP):
        if not may_go_on(size):
            break
        for boost in boosts:
            boost.grow(size)
        by_trees = np.concatenate([boost.predict(rows) for boost, rows in zip(boosts, held_out, strict=True)])
        losses = [loss_of(mixed(predicted, by_trees, share), labels, weights) for share in SHARES]
        found = int(np.argmin(losses))
        if not losses[found] < least * (1 - LEAST_GAIN):
            break
        share, least = float(SHARES[found]), losses[found]
        best = Blend(size, share, mixed(predicted, by_trees, share))
    return best


def mixed(predicted: Array, by_trees: Array, share: float) -> Array:
    """Return the blend of probabilities or predictions."""
    found: Array = (1 - share) * predicted + share * by_trees
    return found


def log_loss(P: Array, labels: Array, weights: Array) -> float:
    """Return the weighted mean logarithmic loss of probabilities."""
    return float(np.average(-np.log(np.maximum(P[np.arange(len(P)), labels], LEAST)), weights=weights))


def squared_error(predicted: Array, targets: Array, weights: Array) -> float:
    """Return the weighted mean squared error."""
    return float(np.average((predicted[:, 0] - targets) ** 2, weights=weights))
