"""Views of a table: standardized features, quantiles, and principal components, each with learned weights.

The three views see different structure. Standardized features keep distances, quantiles keep order and resist outliers,
and whitened principal components see classes and functions along mixtures of columns. The kernel of the model is the
mean of the GMM kernels of the views. ``_view_fit.py`` learns the views; this file applies them to rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import Array
from ..backends import processor_for

LARGEST = 1e30  # number that a column may reach: sums of columns then have room in single precision
VIEWS = ("standard", "quantile", "components")


@dataclass(frozen=True)
class Scales:
    """Affine and quantile scales of features, learned from the training rows.

    A number x becomes (x / unit - mean) / spread, and 0 where it is missing. ``unit`` is a power of two, so that
    squares do not overflow. Before, x / unit is moved into the range from ``low`` to ``high`` of the training rows,
    without numbers so far out that they would hide the others. A 0/1 feature stays as it is, so that its zeros cost
    nothing, and so does a number that is 0 or 1 in all training rows.
    """

    is_number: Array
    unit: Array
    low: Array
    high: Array
    mean: Array
    spread: Array
    quantiles: Array  # of x / unit, (levels, numbers)

    def standard(self, X: Array) -> Array:
        """Return standardized features, float32."""
        out, z = self._flags(X), (self._scaled(X) - self.mean) / self.spread
        out[:, self.is_number] = np.where(np.isnan(z), 0, z)
        return out

    def quantile(self, X: Array) -> Array:
        """Return the quantiles of numbers, from -1 to 1, float32. Equal numbers get the middle of their quantiles."""
        out = self._flags(X)
        if self.is_number.any():
            numbers = self._scaled(X)
            out[:, self.is_number] = processor_for().quantile_levels(numbers, self.quantiles.T)
        return out

    def _flags(self, X: Array) -> Array:
        """Return float32 features, of which only the 0/1 ones are filled in: other numbers count as the nearer end."""
        out = np.zeros(X.shape, np.float32, order="F")
        out[:, ~self.is_number] = np.clip(np.nan_to_num(X[:, ~self.is_number]), 0, 1)
        return out

    def _scaled(self, X: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.clip(X[:, self.is_number] / self.unit, self.low, self.high)


@dataclass(frozen=True)
class Views:
    """From features to the columns that are hashed: scales, components, and the weights of each view.

    Columns with the weight 0 are left out. ``weights`` holds the weights of the columns of each view, ``names`` the
    views, among which a name may come several times, with other weights each time.
    """

    names: tuple[str, ...]
    scales: Scales
    mean: Array  # of standardized features
    directions: Array  # (features, components)
    weights: tuple[Array, ...]

    @property
    def widths(self) -> list[int]:
        """Number of columns of each view that have a weight."""
        return [int(np.count_nonzero(weights)) for weights in self.weights]

    def transform(self, X: Array) -> Array:
        """Return the weighted columns of all views side by side, float32."""
        out = np.empty((len(X), sum(self.widths)), np.float32)
        start = 0
        for columns, weights in zip(self.columns(X), self.weights, strict=True):
            kept = np.flatnonzero(weights)
            part = columns if len(kept) == len(weights) else columns[:, kept]
            np.multiply(part, weights[kept], out=out[:, start : start + len(kept)])
            start += len(kept)
        return out

    def is_bounded(self) -> bool:
        """Return whether scales make sense and no row can have a column beyond LARGEST. Files are checked with this."""
        s = self.scales
        if not ((s.unit > 0).all() and (s.spread > 0).all() and (s.low <= s.high).all()):
            return False
        weights = np.concatenate(self.weights)
        if not (np.diff(s.quantiles, axis=0) >= 0).all() or not ((weights >= 0) & (weights <= 1)).all():
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            most = np.ones(len(s.is_number))
            most[s.is_number] = np.maximum(np.abs(s.low - s.mean), np.abs(s.high - s.mean)) / s.spread
            turned = (most + np.abs(self.mean)) @ np.abs(self.directions)
            return bool((most < LARGEST).all() and (turned < LARGEST).all() and (np.abs(self.mean) < LARGEST).all())

    def columns(self, X: Array) -> list[Array]:
        """Return the unweighted columns of each view. Views of one name share them."""
        standard = self.scales.standard(X) if set(self.names) & {"standard", "components"} else None
        found: dict[str, Any] = {}
        for name in dict.fromkeys(self.names):
            if name == "standard":
                found[name] = standard
            elif name == "quantile":
                found[name] = self.scales.quantile(X)
            else:
                assert standard is not None
                turned = processor_for().components(standard, self.mean, self.directions)
                found[name] = np.concatenate([standard, turned], axis=1)
        return [found[name] for name in self.names]
