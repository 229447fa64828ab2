"""Specification of the sums of decision trees, as gradient boosting makes them.

A row goes to the left child of a node if x[feature] <= threshold, and a missing value (NaN) if the node says so;
otherwise it goes to the right child. The values of the leaves that the row reaches are added to the baseline,
in float64 and in the order of the trees. Tree t adds to output t modulo the number of outputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._array import Array

if TYPE_CHECKING:
    from ..backends import TreeArrays


def decide(features: Array, trees: TreeArrays) -> Array:
    """Return the sums of the baseline and the values of all trees, (rows, outputs)."""
    out = np.tile(trees.baseline, (len(features), 1))
    for number, root in enumerate(trees.roots):
        out[:, number % len(trees.baseline)] += trees.value[leaves(features, trees, root)]
    return out


def leaves(features: Array, trees: TreeArrays, root: int) -> Array:
    """Return the number of the leaf that each row reaches from a root."""
    at = np.full(len(features), root)
    while len(inner := np.flatnonzero(trees.left[at] >= 0)):
        node = at[inner]
        x = features[inner, trees.feature[node]]
        goes_left = np.where(np.isnan(x), trees.missing_left[node] != 0, x <= trees.threshold[node])
        at[inner] = np.where(goes_left, trees.left[node], trees.right[node])
    return at
