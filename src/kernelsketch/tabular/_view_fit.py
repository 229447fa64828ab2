"""Learn the views of a table from its training rows: scales, principal components, and weights of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from .._array import Array
from ._features import Features
from ._views import VIEWS, Scales, Views
from ._weights import Progress, learn_weights

MOST_QUANTILES = 256
MOST_COMPONENTS = 50
PCA_ROWS = 20_000
PCA_COLUMNS = 1000  # from which on components come from a randomized decomposition
FARTHEST = 1000.0  # distance of a number from the median, in units of the range of nine tenths of the rows
MOST_BYTES = 1 << 26  # of the columns of views that are kept, so that draws of rows need not make them


def scales_of(X: Array | Features, is_number: Array) -> Scales:
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
        return Scales(is_number, nothing, nothing, nothing, nothing, nothing, np.zeros((len(levels), 0)))
    unit, low, high, mean, spread = (np.array([scale[i] for scale in found]) for i in range(5))
    return Scales(is_number, unit, low, high, mean, spread, np.column_stack([scale[5] for scale in found]))


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
    scales = scales_of(X, is_number)
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
