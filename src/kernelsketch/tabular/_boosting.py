"""Boosted trees beside the kernel machine: how they are trained, how many of them, and their share in the blend.

Trees find thresholds of single columns, where a kernel compares whole rows. On a table where such rules matter, a blend
of both is better than either. The trees of all folds grow together, and they stop growing when the blend of the
held-out predictions no longer improves. If it never does, the model has no trees.

Where labels say little, small trees are better: they add up the effects of few columns. So trees of three sizes grow
beside each other, and the held-out rows choose one.

Boosting takes Newton steps on the logarithmic loss, or on that of a regression (``_tree_losses.py``). Gradients and
hessians are rounded to integers, so that the trees do not depend on the order of sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax

from .._array import Array
from .._validation import row_batches
from ..backends import GrownTrees, Growth, processor_for
from ._bins import Bins
from ._features import Features
from ._goals import LEAST, log_losses, squared_errors
from ._interrupts import StoppedError
from ._tree_losses import TreeLoss
from ._trees import NODE_TYPES, Trees

STEP = 40  # trees per output that are added before the blend is looked at again
LEAST_GAIN = 3e-3  # relative decrease of the loss for which the trees go on growing
PATIENCE = 2  # steps in a row without such a decrease, after which they stop
RACE_ROWS = 1000  # held out, from which on a size of trees that is clearly worse than another one stops
CLEARLY = 1.5  # standard errors by which one model is worse than another, so that it is given up
SHARES = np.arange(20) / 20  # of the trees in a blend; below 1, so that no probability is 0
MOST_WORK = 1500  # features times outputs; above it the trees take longer than everything else
MOST_OUTPUTS = 10  # for which trees of several sizes grow
BATCH_BYTES = 1 << 23  # per thread, of the features of rows that are predicted at a time
LEAVES = (31, 8, 3)  # of the trees of each size
LEAF_ROWS, RATE, RIDGE = 10, 0.1, 0.3
MANY_LEAVES, MANY_RATE = 63, 0.15  # of trees that learn from rows apart, of which there are many
LARGEST_BITS, SUM_BITS = 30, 39  # of the largest gradient or hessian, and of the sum of hessians
SQUARED_ERROR = TreeLoss()
LossOf = Callable[[Array, Array, Array], float]  # of predictions, labels and weights
TEMPERATURES, SHRINKAGE = 4.0, 10.0  # largest factor of logits, and the penalty of the square of its logarithm


class Boosting:
    """Boosted trees on some rows, which grow by steps. ``labels`` are class numbers, or numbers to predict."""

    def __init__(
        self,
        bins: Bins,
        rows: Array,
        labels: Array,
        weights: Array,
        *,
        n_classes: int | None,
        threads: int,
        leaves: int = LEAVES[0],
        rate: float = RATE,
        most_rows: int = 1 << 22,
        loss: TreeLoss = SQUARED_ERROR,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the bins of all rows, and grow on at most ``most_rows`` rows of a mask that have a weight above 0.

        ``check`` is called before each tree, and may raise ``StoppedError``.
        """
        used = np.flatnonzero(rows & (weights > 0))
        used = used[:: len(used) // most_rows + 1]
        self.thresholds, self._weights = bins.thresholds, weights[used]
        self._n_classes, self._threads, self.leaves, self._rate = n_classes, threads, leaves, rate
        self._loss, self._check = loss, check
        binned = np.ascontiguousarray(bins.binned[:, used])
        self._rows = processor_for(threads=threads).growth_rows(binned, bins.counts)
        self._weights /= self._weights.mean()
        if n_classes is None:
            self._targets = labels[None, used].astype(np.float64)
            start = loss.start(self._targets, self._weights)
        else:
            self._classes, numbers = np.unique(labels[used], return_inverse=True)
            ones = (numbers == np.arange(len(self._classes))[:, None]).astype(np.float64)
            prior = np.average(ones, axis=1, weights=self._weights)
            two = len(self._classes) == 2
            self._targets = ones[1:] if two else ones
            start = np.log(prior[1:] / prior[0]) if two else np.log(prior)
        self._baseline = start
        self._start()

    def _start(self) -> None:
        self._raw = np.repeat(self._baseline[:, None], len(self._weights), axis=1)
        self._grown: list[GrownTrees] = []

    def of_size(self, leaves: int) -> Boosting:
        """Return a boosting without trees on the same rows, which it shares, for trees of another size."""
        found = copy(self)
        found.leaves = leaves
        found._start()
        return found

    def grow(self, n_trees: int) -> None:
        """Add trees until each output has ``n_trees``.

        Their nodes go to arrays for many trees: small arrays, made between those of all rows, would keep the memory of
        the latter from being used again.
        """
        count, kept, no_values = n_trees - len(self._grown), list[Array](), self._raw[:, :0].copy()
        for i in range(count):
            self._check()
            gradients, hessians = self._derivatives()
            gradient_unit = _unit(np.abs(gradients).max(), LARGEST_BITS)
            hessian_unit = min(_unit(hessians.max(), LARGEST_BITS), _unit(hessians.sum(axis=1).max(), SUM_BITS))
            rate = self._rate * hessian_unit / gradient_unit
            growth = Growth(self.leaves, self._loss.leaf_rows(LEAF_ROWS), RIDGE * hessian_unit, rate)
            grown = self._rows.grow(_integers(gradients, gradient_unit), _integers(hessians, hessian_unit), growth)
            if self._n_classes is None:
                grown = self._loss.renewed(grown, self._targets - self._raw, self._weights, self._rate)
            self._raw += grown.values
            nodes = grown[:-1]
            kept = kept or [np.empty((count, *part.shape), part.dtype) for part in nodes]
            for array, part in zip(kept, nodes, strict=True):
                array[i] = part
            stored = dict(zip(GrownTrees._fields, [array[i] for array in kept], strict=False))
            self._grown.append(grown._replace(**stored, values=no_values))

    def _derivatives(self) -> tuple[Array, Array]:
        """Return the gradients and hessians of the loss, (outputs, rows)."""
        if self._n_classes is None:
            return self._loss.derivatives(self._raw, self._targets, self._weights)
        P = expit(self._raw) if len(self._raw) == 1 else softmax(self._raw, axis=0)
        return self._weights * (P - self._targets), self._weights * P * (1 - P)

    def finish(self) -> None:
        """Free what further trees would need."""
        del self._rows, self._raw, self._targets, self._weights

    @property
    def trees(self) -> Trees:
        return trees_of(self._grown, self.thresholds, self._baseline)

    def parts(self, n_trees: int, share: float) -> tuple[list[GrownTrees], Array]:
        """Return the first trees of each output and the baseline, with their values times a share."""
        grown = [part._replace(value=share * part.value) for part in self._grown[:n_trees]]
        return grown, share * self._baseline

    def predict(self, features: Array | Features) -> Array:
        """Return the probabilities of all classes, also of those that no training row has, or predictions (rows, 1)."""
        trees, is_class = self.trees, self._n_classes is not None
        batches = row_batches(len(features), 8 * features.shape[1], BATCH_BYTES * self._threads)
        if not len(features):
            return np.zeros((0, self._n_classes or 1))
        found = np.concatenate([predict_trees(trees, features[rows], is_class, self._threads) for rows in batches])
        if self._n_classes is None:
            return self._loss.output(found)
        every = np.zeros((len(features), self._n_classes))
        every[:, self._classes] = found
        return every


def trees_of(grown: list[GrownTrees], thresholds: list[Array], baseline: Array) -> Trees:
    """Return the trees of all rounds, with thresholds instead of bins."""
    sizes = np.concatenate([np.zeros(0, np.int64), *(part.sizes for part in grown)])
    starts = np.cumsum(sizes) - sizes
    exists = np.arange(max((part.value.shape[1] for part in grown), default=0)) < sizes[:, None]

    def joined(name: str) -> Array:
        parts = [getattr(part, name) for part in grown]
        return np.concatenate(parts)[exists] if parts else np.zeros(0, NODE_TYPES.get(name, np.int32))

    nodes = {name: joined(name) for name in ("feature", "bin", "left", "right", "missing_left", "value")}
    inner, shift = nodes["left"] >= 0, np.repeat(starts, sizes).astype(np.int32)
    first = np.cumsum([0, *map(len, thresholds)])
    at = first[nodes["feature"]] + nodes["bin"]
    return Trees(
        feature=nodes["feature"],
        threshold=np.where(inner, np.concatenate(thresholds)[at], 0.0),
        left=np.where(inner, nodes["left"] + shift, np.int32(-1)),
        right=np.where(inner, nodes["right"] + shift, np.int32(-1)),
        missing_left=nodes["missing_left"],
        value=nodes["value"],
        roots=starts.astype(np.int32),
        baseline=baseline,
    )


def mean_trees(boosts: Sequence[Boosting], shares: list[float], n_trees: int) -> Trees:
    """Return trees whose sums are the weighted mean of those of several, which have the same bins."""
    parts = [boost.parts(n_trees, share) for boost, share in zip(boosts, shares, strict=True)]
    grown = [one for part, _ in parts for one in part]
    return trees_of(grown, boosts[0].thresholds, np.sum([baseline for _, baseline in parts], axis=0))


def _unit(largest: float, bits: int) -> float:
    """Return the power of 2 by which the largest number may be multiplied."""
    return float(np.ldexp(1.0, bits - int(np.frexp(largest)[1]))) if largest > 0 else 1.0


def _integers(x: Array, unit: float) -> Array:
    return np.rint(x * unit).astype(np.int32)


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
    """Which boostings have the trees, their number per output, their share, and what held-out rows are predicted."""

    boosts: Sequence[Boosting]
    n_trees: int
    share: float
    predicted: Array


def grow_blend(
    sizes: Sequence[Sequence[Boosting]],
    held_out: list[Array | Features],
    predicted: Array,
    labels: Array,
    weights: Array,
    *,
    most: int,
    is_class: bool,
    may_go_on: Callable[[int], bool],
    watch: Callable[[Array], None] = lambda _: None,
    loss_of: LossOf | None = None,
    losses_of_rows: Callable[[Array, Array], Array] | None = None,
) -> Blend:
    """Grow the trees of all folds while their blend with the other predictions improves, and return the best blend.

    With enough rows, a size whose blend is clearly worse than that of another one stops earlier.

    ``sizes`` has the boostings of all folds for each size of trees. ``held_out`` has the features of the held-out rows
    of each fold, and ``predicted`` what the other model predicts for them, all folds one after the other. ``watch``
    receives what the trees predict for these rows after each step. ``loss_of`` is by default the logarithmic loss, or
    the squared error of numbers; ``losses_of_rows`` has that of each row, if it is a mean over rows.
    """
    rows_of = losses_of_rows if loss_of else log_losses if is_class else squared_errors
    loss_of = loss_of or (log_loss if is_class else squared_error)
    best, least = Blend((), 0, 0.0, predicted), loss_of(predicted, labels, weights)
    races = [Race(boosts, least, predicted) for boosts in sizes]
    for n_trees in range(STEP, most + 1, STEP):
        if not races or not may_go_on(n_trees):
            break
        try:
            for boost in [boost for race in races for boost in race.boosts]:
                boost.grow(n_trees)
        except StoppedError:
            may_go_on(n_trees)  # which says no, and that fewer trees are there
            break
        for race in races:
            pairs = zip(race.boosts, held_out, strict=True)
            by_trees = np.concatenate([boost.predict(rows) for boost, rows in pairs])
            watch(by_trees)
            losses = [loss_of(mixed(predicted, by_trees, share), labels, weights) for share in SHARES]
            found = int(np.argmin(losses))
            race.waited += 1
            if losses[found] < race.least * (1 - LEAST_GAIN):
                race.least, race.waited = losses[found], 0
                race.blended = mixed(predicted, by_trees, float(SHARES[found]))
                if losses[found] < least:
                    least = losses[found]
                    best = Blend(race.boosts, n_trees, float(SHARES[found]), race.blended)
        races = [race for race in races if race.waited < PATIENCE]
        if len(labels) >= RACE_ROWS and rows_of is not None:
            leader = rows_of(best.predicted, labels)
            behind = [clearly_worse(rows_of(race.blended, labels), leader, weights) for race in races]
            races = [race for race, late in zip(races, behind, strict=True) if not late]
    return best


@dataclass
class Race:
    """Boostings of one size of trees: the least loss of their blend so far, and the steps since then."""

    boosts: Sequence[Boosting]
    least: float
    blended: Array
    waited: int = 0


def clearly_worse(losses: Array, best: Array, weights: Array) -> bool:
    """Return whether the mean loss of rows is larger than the best one by more than chance may explain."""
    difference, share = losses - best, weights / weights.sum()
    mean = float(share @ difference)
    return mean > CLEARLY * float(np.sqrt(share**2 @ (difference - mean) ** 2))


def mixed(predicted: Array, by_trees: Array, share: float) -> Array:
    """Return the blend of probabilities or predictions."""
    found: Array = (1 - share) * predicted + share * by_trees
    return found


def log_loss(P: Array, labels: Array, weights: Array) -> float:
    """Return the weighted mean logarithmic loss of probabilities."""
    return float(np.average(log_losses(P, labels), weights=weights))


def squared_error(predicted: Array, targets: Array, weights: Array) -> float:
    """Return the weighted mean squared error."""
    return float(np.average(squared_errors(predicted, targets), weights=weights))


def tempered(P: Array, temperature: float) -> Array:
    """Return probabilities whose logarithms are divided by a temperature."""
    return np.asarray(softmax(np.log(np.maximum(P, LEAST)) / temperature, axis=1))


def best_temperature(P: Array, labels: Array, weights: Array) -> float:
    """Return the number by which logarithms of held-out probabilities are divided for the smallest log-loss.

    Held-out rows seldom say more than that it is near 1, so a penalty draws it there. It counts less the more rows
    there are.
    """
    logs, most, total = np.log(np.maximum(P, LEAST)), np.log(TEMPERATURES), float(weights.sum())

    def loss(log: float) -> float:
        found = log_softmax(logs / np.exp(log), axis=1)[np.arange(len(P)), labels]
        return float(-np.average(found, weights=weights) + SHRINKAGE / total * log**2)

    return float(np.exp(minimize_scalar(loss, bounds=(-most, most), method="bounded").x))
