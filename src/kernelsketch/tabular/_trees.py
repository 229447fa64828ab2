"""``Trees``: an ensemble of boosted decision trees as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._array import Array
from ..backends import TreeArrays, processor_for
from ..exceptions import InputError

NODE_TYPES = {
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "missing_left": np.uint8,
    "value": np.float64,
}


@dataclass(frozen=True, eq=False)
class Trees:
    """An ensemble of decision trees; :class:`~kernelsketch.backends.TreeArrays` explains the arrays.

    The arrays are checked when the object is made, so that damaged ones are refused here.
    """

    feature: Array
    threshold: Array
    left: Array
    right: Array
    missing_left: Array
    value: Array
    roots: Array
    baseline: Array

    def __post_init__(self) -> None:
        for name, dtype in {**NODE_TYPES, "roots": np.int32, "baseline": np.float64}.items():
            array = getattr(self, name)
            if array.dtype != dtype or array.ndim != 1:
                raise InputError(f"trees: {name} is {array.dtype} {array.shape}, not a vector of {np.dtype(dtype)}.")
            object.__setattr__(self, name, np.ascontiguousarray(array))
        count = len(self.feature)
        if any(len(getattr(self, name)) != count for name in NODE_TYPES):
            raise InputError("trees: the arrays of nodes have different lengths.")
        if len(self.baseline) == 0 or len(self.roots) % len(self.baseline):
            raise InputError(f"trees: {len(self.roots)} trees do not make {len(self.baseline)} outputs.")
        inner = np.flatnonzero((self.left >= 0) | (self.right >= 0))
        left, right = self.left[inner], self.right[inner]
        if not ((left > inner) & (right > inner)).all():
            raise InputError("trees: a child does not come after its parent.")
        reached = np.sort(np.concatenate([self.roots, left, right]))
        if not np.array_equal(reached, np.arange(count)):
            raise InputError("trees: a node is not the root of one tree or the child of one node.")
        if (self.feature[inner] < 0).any():
            raise InputError("trees: a feature is below 0.")
        if np.isnan(self.threshold[inner]).any():
            raise InputError("trees: a threshold is NaN.")

    @property
    def n_outputs(self) -> int:
        return len(self.baseline)

    @cached_property
    def n_features(self) -> int:
        """Number of features that rows must have at least."""
        inner = self.left >= 0
        return int(self.feature[inner].max()) + 1 if inner.any() else 0

    def decide(self, features: Array, threads: int = 1) -> Array:
        """Return the sums of the values of the trees, float64 (rows, outputs).

        ``features`` are float64 in C or Fortran order, with NaN for missing values.
        """
        if features.shape[1] < self.n_features:
            raise InputError(
                f"the trees split feature {self.n_features - 1}, but the rows have {features.shape[1]} features: pass "
                "the features of the training rows."
            )
        return processor_for(threads=threads).trees_decide(features, self.arrays)

    def shapley(self, features: Array, background: Array, owners: Array, n_columns: int, threads: int = 1) -> Array:
        """Return exact Shapley values of the sums against background rows, float64 (rows, columns, outputs).

        ``owners`` has the column of each feature. Features of a column change together.
        """
        made = processor_for(threads=threads)
        return made.tree_shapley(features, background, self.arrays, owners.astype(np.int32), n_columns)

    @property
    def arrays(self) -> TreeArrays:
        """The trees as back ends take them."""
        return TreeArrays(*(getattr(self, name) for name in TreeArrays._fields))
