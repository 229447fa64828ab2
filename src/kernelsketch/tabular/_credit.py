"""Which column a prediction owes its hashes and its leaves to: contributions at about the cost of a prediction.

A hash has one winner, the column of a view whose value it sampled, and adds the weight of the winner's code. The
weight, less the mean weight of the hash among background rows, is credited to the column of the table that it comes
from; a principal component shares it out by the sizes of the terms of its sum. A leaf of a tree is credited to the
splits on its path.

The credits of background rows do not have the mean 0, because a column may lose a hash to another one: what a column
has in the mean of the background rows is subtracted. The sum over columns is then what the row has more than they have.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .._array import Array
from .._validation import row_batches
from ..backends import DenseRows
from ..serving import LinearModel
from ._trees import Trees
from ._views import Views

BATCH_BYTES = 1 << 25


class HashCredit:
    """Credits of columns for the hashes of a row, less those of background rows, in the outputs of a linear model."""

    def __init__(self, model: LinearModel, views: Views, owners: Array, n_columns: int, background: Array) -> None:
        self._model, self._views, self._owners, self._n_columns = model, views, owners, n_columns
        self._columns = np.concatenate([np.flatnonzero(weights) for weights in views.weights])  # features or components
        winners, weights = self._hashes(background)
        self._centers = weights.mean(axis=1)
        self._mean = self._credits(background, winners, weights).mean(axis=0)

    def of(self, features: Array) -> Array:
        """Return the credits (rows, columns, outputs), in logits or in units of the target."""
        row_bytes = 8 * (3 * self._centers.size + 2 * len(self._columns) + 2 * self._views.directions.size)
        found = [
            self._credits(features[rows], *self._hashes(features[rows])) - self._mean
            for rows in row_batches(len(features), row_bytes, BATCH_BYTES)
        ]
        return self._outputs(np.concatenate(found))

    def _hashes(self, features: Array) -> tuple[Array, Array]:
        """Return the winning column of each hash, or one after the last, and its weights (problems, rows, hashes)."""
        model, rows = self._model, DenseRows(np.ascontiguousarray(self._views.transform(features)))
        slots, _ = model.hasher.samples(rows)
        codes = model.codes(rows).unpack()
        places = np.minimum(np.searchsorted(model.used_codes, codes), len(model.used_codes) - 1)
        known = (model.used_codes[places] == codes) & (slots >= 0)
        weights = np.where(known, model.weights[:, np.arange(codes.shape[1]), places], 0).astype(np.float64)
        winners = np.where(slots >= 0, slots // 2, len(self._columns))
        return np.minimum(winners, len(self._columns)), weights

    def _credits(self, features: Array, winners: Array, weights: Array) -> Array:
        """Return the sums of the weights above the centers by the winning column of the table, by row and problem."""
        n = len(features)
        n_features, n_components = self._views.directions.shape
        own = np.append(self._columns, n_features + n_components)[winners]  # of features, components, and nothing
        size = n_features + n_components + 1
        flat = (own + size * np.arange(n)[:, None]).ravel()
        shares = self._shares(features) if n_components else None
        out = np.zeros((n, self._n_columns, len(weights)))
        places = (self._owners + self._n_columns * np.arange(n)[:, None]).ravel()
        for problem, of_problem in enumerate(weights - self._centers[:, None]):
            found = np.bincount(flat, of_problem.ravel(), size * n).reshape(n, size)
            by_feature = found[:, :n_features]
            if shares is not None:
                by_feature = by_feature + np.einsum("nfk,nk->nf", shares, found[:, n_features : size - 1])
            out[:, :, problem] = np.bincount(places, by_feature.ravel(), n * self._n_columns).reshape(n, -1)
        return out

    def _shares(self, features: Array) -> Array:
        """Return the shares of features in the sizes of the terms of components (rows, features, components)."""
        views = self._views
        sizes = np.abs((views.scales.standard(features) - views.mean)[:, :, None] * views.directions)
        total = sizes.sum(axis=1, keepdims=True)
        return np.asarray(sizes / np.where(total > 0, total, 1))

    def _outputs(self, found: Array) -> Array:
        """Return decision values as logits, or as numbers."""
        model = self._model
        if model.classes is None:
            return model.spread * found
        if model.calibration is None:
            return found
        slopes = model.calibration.coefficients
        return np.asarray(found * slopes[0] if len(slopes) == 1 else found @ slopes)


class TreeCredit:
    """Credits of columns for the leaves of a row, less those of background rows, in the outputs of trees.

    At each split on the path of a row, the column of the split gets the mean of two numbers. One is the change of the
    mean leaf of the background rows from the node to the child. The other is the share of background rows that part
    from the row there, times the difference of the leaf and the mean of theirs. Either sums up to the leaf less the
    mean leaf.
    """

    def __init__(self, trees: Trees, owners: Array, n_columns: int, background: Array) -> None:
        self._trees, self._owners, self._n_columns = trees, owners, n_columns
        nodes, leaves = self._paths(background)
        counts, sums = np.zeros(len(trees.feature)), np.zeros(len(trees.feature))
        for before, at in zip([None, *nodes[:-1]], nodes, strict=True):
            new = np.ones(at.shape, bool) if before is None else at != before
            np.add.at(counts, at[new], 1 / len(background))
            np.add.at(sums, at[new], leaves[new] / len(background))
        self._counts, self._sums = counts, sums

    def of(self, features: Array) -> Array:
        """Return the credits (rows, columns, outputs)."""
        row_bytes = 100 * len(self._trees.roots)
        parts = row_batches(len(features), row_bytes, BATCH_BYTES)
        return np.concatenate([self._of_part(features[rows]) for rows in parts])

    def _of_part(self, features: Array) -> Array:
        trees, n, n_outputs = self._trees, len(features), self._trees.n_outputs
        nodes, leaves = self._paths(features)
        outputs = np.arange(len(trees.roots)) % n_outputs + n_outputs * self._n_columns * np.arange(n)[:, None]
        out = np.zeros(n * self._n_columns * n_outputs)
        for node, child in pairwise(nodes):
            rows, number = np.nonzero(node != child)
            node, child, leaf = node[rows, number], child[rows, number], leaves[rows, number]
            sibling = np.where(trees.left[node] == child, trees.right[node], trees.left[node])
            change = self._mean_of(child, leaf) - self._mean_of(node, leaf)
            parting = self._counts[sibling] * leaf - self._sums[sibling]
            column = self._owners[trees.feature[node]]
            out += np.bincount(outputs[rows, number] + n_outputs * column, (change + parting) / 2, len(out))
        return out.reshape(n, self._n_columns, n_outputs)

    def _mean_of(self, nodes: Array, leaf: Array) -> Array:
        """Return the mean leaf of the background rows in nodes, or where there are none, that of the row."""
        counts = self._counts[nodes]
        return np.where(counts > 0, self._sums[nodes] / np.where(counts > 0, counts, 1), leaf)

    def _paths(self, features: Array) -> tuple[list[Array], Array]:
        """Return the nodes of rows (rows, trees) by depth, and the values of the leaves."""
        trees: Any = self._trees
        at = np.repeat(trees.roots[None].astype(np.int64), len(features), axis=0)
        found = [at]
        while (trees.left[at] >= 0).any():
            inner = trees.left[at] >= 0
            x = np.take_along_axis(features, np.where(inner, trees.feature[at], 0), axis=1)
            goes_left = np.where(np.isnan(x), trees.missing_left[at] != 0, x <= trees.threshold[at])
            at = np.where(inner, np.where(goes_left, trees.left[at], trees.right[at]), at)
            found.append(at)
        return found, trees.value[at]
