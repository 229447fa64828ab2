"""Which column a prediction owes its hashes to: contributions to a linear model at about the cost of a prediction.

A hash has one winner, the column of a view whose value it sampled, and adds the weight of the winner's code. The
weight, less the mean weight of the hash among background rows, is credited to the column of the table that it comes
from; a principal component shares it out by the sizes of the terms of its sum.

The credits of background rows do not have the mean 0, because a column may lose a hash to another one: what a column
has in the mean of the background rows is subtracted. The sum over columns is then what the row has more than they have.
"""

from __future__ import annotations

import numpy as np

from .._array import Array
from .._validation import row_batches
from ..backends import DenseRows
from ..serving import LinearModel
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
