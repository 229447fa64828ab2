"""Importances of columns by permutation, and their plot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array import Array
from .._validation import row_batches
from ..exceptions import MissingExtraError
from ._columns import TablePlan
from ._features import Features
from ._views import Views

MOST_ROWS, FEWEST_ROWS = 100, 25
MOST_CHANGED = 3000  # rows with a permuted column
BATCH_BYTES = 1 << 22  # of features whose values are computed at a time
MOST_COLUMNS = 300  # that are permuted, each in a prediction of its own


def importances(
    plan: TablePlan, views: Views, features: Features, values: Callable[[Array], Array], seed: int
) -> Array:
    """Return the importances of columns, whose sum is 1.

    The importance is the root mean square change of the values when the column is permuted. Wide tables, for which this
    would take longer than training, get the learned weights of the column instead, summed over its features.
    """
    rng, d = np.random.default_rng(seed), len(plan.columns)
    count = min(len(features), max(FEWEST_ROWS, min(MOST_ROWS, MOST_CHANGED // d)))
    rows = features[rng.permutation(len(features))[:count]]
    owners = np.array([feature.column for feature in plan.features])
    if d > MOST_COLUMNS:
        weights = sum(part[: len(owners)] for part in views.weights)
        return _shares(np.bincount(owners, weights, d))
    before, found = values(rows), np.zeros(d)
    used = np.unique(owners)
    for part in row_batches(len(used), rows.nbytes, BATCH_BYTES):  # several columns per prediction
        changed = np.repeat(rows[None], len(used[part]), axis=0)
        for copy, column in zip(changed, used[part], strict=True):
            mine = owners == column
            copy[:, mine] = np.roll(rows[:, mine], 1 + int(rng.integers(max(1, count - 1))), axis=0)
        after = values(changed.reshape(-1, rows.shape[1])).reshape(len(changed), *before.shape)
        found[used[part]] = np.sqrt(((after - before) ** 2).mean(axis=(1, 2)))
    return _shares(found)


def _shares(found: Array) -> Array:
    total = found.sum()
    return found / total if total > 0 else found


def plot_importances(names: list[str], values: Array, n_columns: int, ax: Any) -> Any:
    """Draw horizontal bars of the largest importances."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtraError("plot", "Matplotlib") from None
    order = np.argsort(-values, kind="stable")[:n_columns][::-1]
    if ax is None:
        _, ax = pyplot.subplots(figsize=(6, 0.8 + 0.28 * len(order)), layout="constrained")
    ax.barh(range(len(order)), 100 * values[order], color="#3b6ea5", height=0.7)
    ax.set_yticks(range(len(order)), [names[i] for i in order])
    ax.set_xlabel("importance (%)")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
