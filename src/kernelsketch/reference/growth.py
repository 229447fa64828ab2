"""Specification of the growth of decision trees on gradients, as gradient boosting needs it.

A node is split at the feature and the bin for which the sum over both children of

    (sum of gradients)**2 / (sum of hessians + ridge)

is largest, in float64. Gradients and hessians are integers, so that their sums are exact. Ties go to the first feature,
the first bin, and missing values on the right. The leaf whose split gains most is split next, and of equal ones the
first in the list of leaves, in which the left child takes the place of its parent and the right child comes last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._array import Array

if TYPE_CHECKING:
    from ..backends import Growth


class Split(NamedTuple):
    """The best split of a leaf. A gain of 0 means that there is none."""

    gain: float
    feature: int = 0
    bin: int = 0
    missing_left: bool = False


def grow(binned: Array, bins: Array, gradients: Array, hessians: Array, growth: Growth) -> list[Array]:
    """Return the arrays of :class:`~kernelsketch.backends.GrownTrees`, one tree per output."""
    outputs, nodes = len(gradients), 2 * growth.leaves - 1
    kinds = (np.int32, np.int32, np.int32, np.int32, np.uint8, np.float64)
    arrays = [np.zeros((outputs, nodes), kind) for kind in kinds]
    sizes, values = np.zeros(outputs, np.int64), np.zeros(gradients.shape)
    for o in range(outputs):
        tree = Tree(binned, bins, gradients[o].astype(np.int64), hessians[o].astype(np.int64), growth)
        sizes[o] = tree.grow([array[o] for array in arrays], values[o])
    return [*arrays, sizes, values]


class Tree:
    """A tree that grows on rows given as bins (features, rows)."""

    def __init__(self, binned: Array, bins: Array, g: Array, h: Array, growth: Growth) -> None:
        self._binned, self._bins, self._g, self._h, self._growth = binned, bins, g, h, growth

    def grow(self, nodes: list[Array], values: Array) -> int:
        """Fill in the nodes, and the value of each row, and return the number of nodes."""
        feature, bins, left, right, missing_left, value = nodes
        every = np.arange(len(self._g))
        leaves, size = [(0, every, self._best_split(every))], 1
        while len(leaves) < self._growth.leaves:
            best = int(np.argmax([split.gain for _, _, split in leaves]))
            node, rows, split = leaves[best]
            if not split.gain > 0:
                break
            feature[node], bins[node], missing_left[node] = split.feature, split.bin, split.missing_left
            left[node], right[node] = size, size + 1
            at = self._binned[split.feature, rows]
            goes_left = np.where(at == self._bins[split.feature], split.missing_left, at <= split.bin)
            parts = rows[goes_left], rows[~goes_left]
            children = [(size + i, part, self._best_split(part)) for i, part in enumerate(parts)]
            leaves[best] = children[0]
            leaves.append(children[1])
            size += 2
        for node, rows, _ in leaves:
            below = float(self._h[rows].sum()) + self._growth.ridge
            left[node] = right[node] = -1
            value[node] = -self._growth.rate * float(self._g[rows].sum()) / below if below > 0 else 0.0
            values[rows] = value[node]
        return size

    def _best_split(self, rows: Array) -> Split:
        best, g, h, growth = Split(0.0), self._g[rows], self._h[rows], self._growth
        G, H, count = int(g.sum()), int(h.sum()), len(rows)
        if count < 2 * growth.leaf_rows or growth.leaves == 1:
            return best
        before = _worth(G, H, growth.ridge)
        for f, n_bins in enumerate(self._bins):
            at = self._binned[f, rows]
            sums = np.zeros((3, n_bins + 1), np.int64)
            for total, part in zip(sums, (g, h, np.ones(count, np.int64)), strict=True):
                np.add.at(total, at, part)
            missing, has_missing = sums[:, -1], bool(sums[2, -1] > 0)
            left = np.zeros(3, np.int64)
            for b in np.flatnonzero(sums[2, :-1]):
                left = left + sums[:, b]
                for missing_left in (False, True) if has_missing else (False,):
                    GL, HL, nL = (left + missing if missing_left else left).tolist()
                    GR, HR, nR = G - GL, H - HL, count - nL
                    if min(nL, nR) < growth.leaf_rows or not min(HL, HR) + growth.ridge > 0:
                        continue
                    gain = _worth(GL, HL, growth.ridge) + _worth(GR, HR, growth.ridge) - before
                    if gain > best.gain:  # without missing values here, later ones go where most rows go
                        best = Split(gain, f, int(b), missing_left if has_missing else nL > nR)
        return best


def _worth(gradient: int, hessian: int, ridge: float) -> float:
    below = float(hessian) + ridge
    return float(gradient) * float(gradient) / below if below > 0 else float("nan")
