"""Boosted trees of a fit: of each fold, or of the rows apart from the kernel machine, and of all rows.

In a table of many rows the kernel machine learns from a sample, and the trees from the rows apart from it. All of the
sample is then new to the trees, so that one set of trees takes the place of those of the folds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._array import Array
from ..linear import Fold
from ._bins import Bins
from ._boosting import (
    LEAVES,
    MANY_LEAVES,
    MANY_RATE,
    MOST_OUTPUTS,
    MOST_WORK,
    RATE,
    STEP,
    Blend,
    Boosting,
    grow_blend,
    mean_trees,
)
from ._effort import APART, END_SHARE, Clock, Effort
from ._features import Features
from ._goals import Goal
from ._interrupts import StoppedError
from ._scores import CrossFitted
from ._tree_losses import TreeLoss
from ._trees import Trees

PILOT_TREES, PILOT_ROWS = 2, 30_000  # whose time says whether a budget has room for more
LIKELY_TREES = 160  # that are to fit into a budget, before it takes more rows
MANY_TIMES = 5  # the sample: trees of so many rows hardly gain from those of the sample


class Apart(NamedTuple):
    """The rows of the kernel machine, in ascending order, and the others, of which a budget may take the first ones."""

    sample: Array
    others: Array
    is_time: bool = False  # whether the held-out rows of the sample come after the others, which leave out late rows


class TreeFit:
    """Grows trees on features, class numbers or numbers to predict, and weights of all rows.

    ``used`` flags the rows whose numbers make the bins, or is None for all. ``apart`` is None if each fold has trees of
    its own. The clock may lower ``n_trees`` and ``n_rows`` of ``effort``.
    """

    def __init__(
        self,
        features: Features,
        labels: Array,
        weights: Array,
        used: Array | None,
        apart: Apart | None,
        *,
        is_class: bool,
        effort: Effort,
        clock: Clock,
        threads: int,
        goal: Goal | None = None,
    ) -> None:
        self._features, self._labels, self._weights, self._used, self._apart = features, labels, weights, used, apart
        self._is_class, self.effort, self._clock, self._threads = is_class, effort, clock, threads
        self._n_classes = int(labels.max()) + 1 if is_class else 0
        self._goal = goal or Goal(is_class)

    def blended(self, folds: list[Fold], predicted: Array, crossed: CrossFitted) -> tuple[Blend, Trees | None]:
        """Return the blend of the predictions for the held-out rows of all folds with trees, and the trees.

        The trees of two classes are the mean of those that the held-out rows chose and of those of all rows, with equal
        shares: a mean varies less. Predictions of numbers gain more from all rows, and trees of many classes would take
        too long. Trees of very many rows apart stay alone.
        """
        if self._clock.interrupts.noted():
            self.effort = replace(self.effort, n_trees=0)
        features = self._features.shape[1]
        if self.effort.n_trees == 0 or not can_grow(features, self._labels, self._weights, self._is_class):
            return Blend((), 0, 0.0, predicted), None
        try:
            sizes, blend, alone = self._blend(folds, predicted, crossed)
        except StoppedError:  # before the first trees of the blend
            self.effort = replace(self.effort, n_trees=0)
            return Blend((), 0, 0.0, predicted), None
        if not blend.n_trees:
            return blend, None
        if alone:
            return blend, mean_trees(blend.boosts, [1.0], blend.n_trees)
        leaves, of_folds = blend.boosts[0].leaves, blend.boosts if self._n_classes == 2 else ()
        for boost in [boost for boosts in sizes for boost in boosts]:
            boost.finish()  # the trees of all rows need the memory
        try:
            if not self.effort.final_trees:
                raise StoppedError
            final = self._boosting(np.ones(len(self._labels), bool)).of_size(leaves)
            final.grow(blend.n_trees)
        except StoppedError:
            self.effort = replace(self.effort, final_trees=False)
            return blend, mean_trees(blend.boosts, [1 / len(blend.boosts)] * len(blend.boosts), blend.n_trees)
        shares = [0.5 / len(of_folds)] * len(of_folds) + [0.5] if of_folds else [1.0]
        return blend, mean_trees([*of_folds, final], shares, blend.n_trees)

    def _blend(
        self, folds: list[Fold], predicted: Array, crossed: CrossFitted
    ) -> tuple[list[list[Boosting]], Blend, bool]:
        """Return the boostings of all sizes, the best blend, and whether its trees stay without those of all rows."""
        held_out: list[Array | Features]
        if self._apart is None:
            held_out = [self._features.take(fold.test) for fold in folds]
            boosts = [self._boosting(fold.train) for fold in folds]
            others = LEAVES[1:] if self._n_classes <= MOST_OUTPUTS else ()
            sizes = [boosts, *([boost.of_size(leaves) for boost in boosts] for leaves in others)]
        else:
            held_out = [self._features.take(self._apart.sample[np.concatenate([fold.test for fold in folds])])]
            sizes = [[self._boosting(self._take_apart(self._apart))]]
        n_counted = int(np.count_nonzero(self._weights))
        alone = (
            self._apart is not None and not self._apart.is_time and n_counted >= MANY_TIMES * len(self._apart.sample)
        )
        blend = grow_blend(
            sizes,
            held_out,
            predicted,
            crossed.labels,
            crossed.blend_weights,
            most=self.effort.n_trees,
            is_class=self._is_class,
            may_go_on=self._may_go_on(sizes, alone),
            watch=crossed.add_trees,
            loss_of=self._goal.blend_loss,
            losses_of_rows=self._goal.loss_of_rows,
        )
        return sizes, blend, alone

    def by_fewer_rows(self, blend: Blend, folds: list[Fold]) -> Array | None:
        """Return what trees of other folds, like those of the blend, predict for held-out rows; None for rows apart.

        Ctrl-C does not end them, so that a fit with the effort of an interrupted one has the same intervals.
        """
        if self._apart is not None:
            return None
        found = []
        for fold in folds:
            boost = self._boosting(fold.train, check=lambda: None).of_size(blend.boosts[0].leaves)
            boost.grow(blend.n_trees)
            found.append(boost.predict(self._features.take(fold.test)))
        return np.concatenate(found)

    def _boosting(self, rows: Array, check: Callable[[], None] | None = None) -> Boosting:
        return Boosting(
            self._bins,
            rows,
            self._labels,
            self._weights,
            n_classes=self._n_classes if self._is_class else None,
            threads=self._threads,
            leaves=LEAVES[0] if self._apart is None else MANY_LEAVES,
            rate=RATE if self._apart is None else MANY_RATE,
            loss=TreeLoss.of(self._goal),
            check=self._clock.interrupts.check if check is None else check,
        )

    @cached_property
    def _bins(self) -> Bins:
        return Bins.of(self._features, slice(None) if self._used is None else self._used)

    def _take_apart(self, apart: Apart) -> Array:
        """Go on with the sample and as many rows apart as there is time for, and flag the latter."""
        count = len(apart.others)
        if self.effort.n_rows is not None:
            count = min(count, max(1, self.effort.n_rows - len(apart.sample)))
        if np.isfinite(self._clock.budget):
            count = min(count, self._count_in_time(apart))
            if count < len(apart.others):
                self.effort = replace(self.effort, n_rows=len(apart.sample) + count)
        others = apart.others[:count]
        flags = np.zeros(len(self._labels), bool)
        flags[others] = True
        if count < len(apart.others):
            rows = np.union1d(others, apart.sample)
            self._features, self._labels, self._weights = (
                self._features.take(rows),
                self._labels[rows],
                self._weights[rows],
            )
            self._used, flags = None if self._used is None else self._used[rows], flags[rows]
        return flags

    def _count_in_time(self, apart: Apart) -> int:
        """Return the number of rows apart on which likely numbers of trees grow in the seconds that are left.

        It is at least so large that the same effort sets rows apart again, without a clock.
        """
        start, few = self._clock.elapsed, apart.others[:PILOT_ROWS]
        pilot = TreeFit(
            self._features.take(few),
            self._labels[few],
            self._weights[few],
            None,
            apart,
            is_class=self._is_class,
            effort=self.effort,
            clock=self._clock,
            threads=self._threads,
            goal=self._goal,
        )
        boost = pilot._boosting(np.ones(len(few), bool))
        made = self._clock.elapsed
        boost.grow(PILOT_TREES)
        seconds = made - start + (self._clock.elapsed - made) / PILOT_TREES * min(LIKELY_TREES, self.effort.n_trees)
        least = max(len(few), (APART - 1) * len(apart.sample))
        return max(least, int(len(few) * self._left / max(seconds, 1e-9)))

    @property
    def _left(self) -> float:
        """Seconds that are left for trees."""
        return self._clock.left - END_SHARE * self._clock.budget

    def _may_go_on(self, sizes: list[list[Boosting]], alone: bool) -> Callable[[int], bool]:
        """Return a function that says whether trees may grow up to a number: in the budget, and before Ctrl-C."""
        in_time = self._room(sizes, alone)

        def may_go_on(size: int) -> bool:
            if self._clock.interrupts.noted():
                self.effort = replace(self.effort, n_trees=size - STEP)
                return False
            return in_time(size)

        return may_go_on

    def _room(self, sizes: list[list[Boosting]], alone: bool) -> Callable[[int], bool]:
        """Return a function that says whether the budget has room for trees up to a number, in folds and finally."""
        if np.isinf(self._clock.budget):
            return lambda size: True
        start, done = self._clock.elapsed, PILOT_TREES
        for boost in [boost for boosts in sizes for boost in boosts]:
            boost.grow(PILOT_TREES)

        def may_go_on(size: int) -> bool:
            nonlocal done
            per_tree = (self._clock.elapsed - start) / done
            needed = per_tree * (size - done) + (0 if alone else 2 * per_tree * size / len(sizes[0]))
            done = size
            fits = needed <= self._left
            if not fits:
                self.effort = replace(self.effort, n_trees=size - STEP)
            return fits

        return may_go_on


def can_grow(n_features: int, labels: Array, weights: Array, is_class: bool) -> bool:
    """Return whether trees would not take too long, and see rows that count of all classes."""
    n_classes = int(labels.max()) + 1 if is_class else 0
    if n_features * (n_classes if n_classes > 2 else 1) > MOST_WORK:
        return False
    return not is_class or bool(np.bincount(labels, weights > 0).all())
