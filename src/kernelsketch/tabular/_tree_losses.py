"""What boosted trees of a regression learn: where they start, gradients, hessians, and values of leaves.

Squared errors and counts take Newton steps. The hessian of a count is that of a prediction that is larger by the factor
exp(0.7), so that a leaf of few rows does not overshoot; LightGBM does the same.

The gradient of a pinball loss has two values only, so it chooses the splits, and the value of a leaf is the quantile of
the residuals of its rows. Leaves are identified by their Newton steps: a small part of the gradients that differs from
row to row makes these different.

A median has quantiles in its leaves as well, but residuals choose its splits: signs alone would lose what sizes say
where rows have little noise. The largest tenth of them is clipped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._array import Array
from ..backends import GrownTrees
from ._goals import Goal
from ._quantiles import group_quantiles, weighted_quantile

DIFFERENT = 1e-5  # part of a gradient that differs from row to row
LARGE = 0.9  # quantile of the size of residuals from which on they are clipped, where a median is learned
GOLDEN = 0.6180339887498949
CAUTION = float(np.exp(0.7))  # factor of the hessian of a count
TINY = 1e-12  # a mean of zeros alone
BEYOND = 2  # rows of a leaf that are expected beyond its quantile


class TreeLoss(NamedTuple):
    """The loss of trees: its name, its quantile, and the fewest rows of a leaf."""

    name: str = "squared_error"
    quantile: float = 0.5
    is_median: bool = False  # whether residuals, not only their signs, choose the splits

    @classmethod
    def of(cls, goal: Goal) -> TreeLoss:
        if goal.loss == "absolute_error":
            return cls("quantile", 0.5, is_median=True)
        return cls(goal.loss, goal.quantile)

    def leaf_rows(self, least: int) -> int:
        if self.name != "quantile":
            return least
        return max(least, int(np.ceil(BEYOND / min(self.quantile, 1 - self.quantile))))

    def start(self, targets: Array, weights: Array) -> Array:
        """Return the best constant for targets (1, rows)."""
        if self.name == "quantile":
            return weighted_quantile(targets[0], weights, self.quantile)[None]
        start = np.average(targets, axis=1, weights=weights)
        return np.log(np.maximum(start, TINY)) if self.name == "poisson" else start

    def derivatives(self, raw: Array, targets: Array, weights: Array) -> tuple[Array, Array]:
        """Return the gradients and hessians, (1, rows)."""
        if self.name == "poisson":
            means = np.exp(raw)
            return weights * (means - targets), CAUTION * weights * means
        if self.is_median:
            residuals = raw - targets
            most = weighted_quantile(np.abs(residuals[0]), weights, LARGE)
            return weights * np.clip(residuals, -most, most), weights[None]
        if self.name == "quantile":
            signs = np.where(raw > targets, 1 - self.quantile, -self.quantile)
            different = 1 + DIFFERENT * (np.arange(1, len(weights) + 1) * GOLDEN % 1)
            return weights * signs * different, weights[None]
        return weights * (raw - targets), weights[None]

    def renewed(self, grown: GrownTrees, residuals: Array, weights: Array, rate: float) -> GrownTrees:
        """Return a tree whose leaves have the quantile of the residuals of their rows, times the rate."""
        if self.name != "quantile":
            return grown
        leaves = np.flatnonzero(grown.left[0, : grown.sizes[0]] < 0)
        leaves = leaves[np.argsort(grown.value[0, leaves], kind="stable")]
        place = np.searchsorted(grown.value[0, leaves], grown.values[0])
        found = rate * group_quantiles(place, residuals[0], weights, self.quantile, len(leaves))
        value = grown.value.copy()
        value[0, leaves] = found
        return grown._replace(value=value, values=found[place][None])

    def output(self, raw: Array) -> Array:
        """Return predictions from the sums of trees."""
        return np.asarray(np.exp(raw)) if self.name == "poisson" else raw
