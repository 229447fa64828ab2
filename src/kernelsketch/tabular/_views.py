"""Views of a table: standardized features, quantiles, and principal components, each with learned weights.

The three views see different structure. Standardized features keep distances, quantiles keep order and resist outliers,
and whitened principal components see classes and functions along mixtures of columns. The kernel of the model is the
mean of the GMM kernels of the views.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from .._array import Array
from ..backends import processor_for
from ._features import Features
from ._weights import Progress, learn_weights

MOST_QUANTILES = 256
MOST_COMPONENTS = 50
PCA_ROWS = 20_000
PCA_COLUMNS = 1000  # from which on components come from a randomized decomposition
FARTHEST = 1000.0  # distance of a number from the median, in units of the range of nine tenths of the rows
LARGEST = 1e30  # number that a column may reach: sums of columns then have room in single precision
MOST_BYTES = 1 << 26  # of the columns of views that are kept, so that draws of rows need not make them
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

    @classmethod
    def of(cls, X: Array | Features, is_number: Array) -> Scales:
        """Learn the scales from float64 features, with NaN where a number is missing, one feature at a time."""
        levels = np.linspace(0, 100, min(MOST_QUANTILES, max(2, len(X))))
        is_number, found = is_number.copy(), []
        for i in np.flatnonzero(is_number):
            x = np.ascontiguousarray(X[:, i])
            if np.all((x == 0) | (x == 1)):
                is_number[i] = False
            else:
                found.append(_scale(x, levels))
        if not found:
            nothing = np.zeros(0)
            return cls(is_number, nothing, nothing, nothing, nothing, nothing, np.zeros((len(levels), 0)))
        unit, low, high, mean, spread = (np.array([scale[i] for scale in found]) for i in range(5))
        return cls(is_number, unit, low, high, mean, spread, np.column_stack([scale[5] for scale in found]))

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


def _scale(x: Array, levels: Array) -> tuple[Any, ...]:
    """Return the unit, the ends of the range, the mean, the spread and the quantiles of a number."""
    largest = np.nanmax(np.abs(x))
    unit = np.ldexp(1.0, np.minimum(np.frexp(np.where(largest > 0, largest, 1.0))[1], 1023))
    scaled = x / unit
    least, lower, middle, upper, most = np.nanpercentile(scaled, [0, 5, 50, 95, 100])
    reach = FARTHEST * (upper - lower) if upper > lower else np.inf
    low, high = np.maximum(least, middle - reach), np.minimum(most, middle + reach)
    scaled = np.clip(scaled, low, high)
    mean, spread = np.nanmean(scaled), np.nanstd(scaled)
    quantiles = np.maximum.accumulate(np.nanpercentile(scaled, levels))
    return unit, low, high, mean, spread if spread > 0 else 1.0, quantiles


def principal_components(Z: Array, seed: int) -> tuple[Array, Array]:
    """Return the mean of dense rows, and directions (columns, components) whose coordinates have variance 1."""
    rows = Z.astype(np.float64)
    mean = rows.mean(axis=0)
    rows -= mean
    with threadpool_limits(limits=1, user_api="blas"):
        if Z.shape[1] <= PCA_COLUMNS:
            values, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
            values, vectors = values[::-1], vectors[:, ::-1]
        else:
            count = min(MOST_COMPONENTS, min(rows.shape) - 1)
            _, singular, right = randomized_svd(rows, count, random_state=seed)
            values, vectors = singular**2 / len(rows), right.T
    kept = int(np.sum(values[:MOST_COMPONENTS] > 1e-9 * max(values[0], 1e-300)))
    directions = vectors[:, :kept] / np.sqrt(values[:kept])
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(kept)])
    return mean, directions * signs


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
                # Not by BLAS, whose rounding depends on the number of rows, while the codes of a row must not.
                turned = np.einsum("ij,jk->ik", np.ascontiguousarray(standard - self.mean), self.directions)
                found[name] = np.concatenate([standard, turned.astype(np.float32)], axis=1)
        return [found[name] for name in self.names]


def plain_views(
    X: Array | Features,
    is_number: Array,
    *,
    names: tuple[str, ...] = VIEWS,
    seed: int,
    rows: Array | None = None,
    n_last: int = 0,
) -> Views:
    """Learn scales and components from the features of training rows, or of some of them. All weights are 1.

    The components are those of the features without the last ``n_last``.
    """
    if rows is not None:
        X = X[rows] if isinstance(X, np.ndarray) else X.take(rows)
    scales = Scales.of(X, is_number)
    mean, directions = np.zeros(X.shape[1]), np.zeros((X.shape[1], 0))
    if "components" in names:
        some = X[np.random.default_rng(seed).permutation(len(X))[:PCA_ROWS]]
        first = X.shape[1] - n_last
        mean, directions = principal_components(np.ascontiguousarray(scales.standard(some)[:, :first]), seed)
        mean, directions = np.pad(mean, (0, n_last)), np.pad(directions, ((0, n_last), (0, 0)))
    widths = [X.shape[1] + (directions.shape[1] if name == "components" else 0) for name in names]
    return Views(names, scales, mean, directions, tuple(np.ones(width, np.float32) for width in widths))


def weighted_views(
    views: Views,
    X: Array | Features,
    targets: Array,
    *,
    n_steps: int,
    seed: int,
    progress: Progress | None = None,
    unused: Array | None = None,
) -> Views:
    """Return views with weights that are learned from the features of training rows.

    The features of which ``unused`` has the numbers get the weight 0.
    """
    dropped = np.zeros(0, np.int64) if unused is None else unused
    kept = [np.delete(np.arange(len(part)), dropped) for part in views.weights]

    def columns(rows: Any) -> list[Array]:
        found = views.columns(X[rows])
        used = found if unused is None else [part[:, mine] for part, mine in zip(found, kept, strict=True)]
        return list(map(np.ascontiguousarray, used))

    widths = [len(mine) for mine in kept]
    whole = columns(slice(None)) if 4 * len(X) * sum(widths) <= MOST_BYTES else None
    weights = learn_weights(
        columns if whole is None else lambda rows: [part[rows] for part in whole],
        widths,
        targets,
        n_steps=n_steps,
        seed=seed,
        progress=progress,
    )
    every = [np.zeros(len(part), np.float32) for part in views.weights]
    for part, mine, found in zip(every, kept, weights, strict=True):
        part[mine] = found
    return replace(views, weights=tuple(every))


def union_of_views(several: Sequence[Views]) -> Views:
    """Return all views of several side by side. They have the same scales and components, and differ in weights."""
    names = tuple(name for views in several for name in views.names)
    return replace(several[0], names=names, weights=tuple(part for views in several for part in views.weights))
