"""Sampled Shapley values of a whole model of tables.

The columns of a background row are replaced by those of the row, one after the other, in a random order and in the
reverse one, and a column is credited with the changes that it makes. The changes of an order add up to the difference
of the two outputs, so the mean over the background rows is exact in the sum, whatever the orders are.

E. Strumbelj, I. Kononenko. *Explaining prediction models and individual predictions with feature contributions.*
Knowledge and Information Systems 41, 2014.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array import Array
from .._validation import check_n_jobs, row_batches
from ._columns import TablePlan
from ._features import Features

BATCH_BYTES = 1 << 22  # per thread, of rows whose outputs are computed at a time


def owners_of(plan: TablePlan) -> Array:
    """Return the column of each feature."""
    return np.array([feature.column for feature in plan.features])


def outputs_of(model: Any, n_rows: int, n_features: int, part: Callable[[Array], Array]) -> Array:
    """Return the outputs of rows of which ``part`` returns the features, computed for a few rows at a time."""
    row_bytes = 8 * (sum(model._views.widths) + 2 * n_features)
    batches = row_batches(n_rows, row_bytes, BATCH_BYTES * check_n_jobs(model.n_jobs))
    return np.concatenate([model._explained(part(np.arange(rows.start, rows.stop))) for rows in batches])


def by_shapley(
    model: Any, features: Features, background: Features, seed: int, done: Callable[[int], None]
) -> tuple[Array, Array | None, Array, Array]:
    """Return contributions (rows, columns, outputs), their errors, the base (outputs) and the outputs of rows."""
    owners = owners_of(model._plan)
    n_columns, known, used = len(model._plan.columns), background[:], np.unique(owners)
    rng = np.random.default_rng(seed)
    orders = np.array([rng.permutation(used) for _ in range(len(known))])
    before = outputs_of(model, len(known), known.shape[1], lambda rows: known[rows])
    after = outputs_of(model, len(features), known.shape[1], lambda rows: features[rows])
    n_outputs = before.shape[1]
    values = np.empty((len(features), n_columns, n_outputs))
    errors = np.empty_like(values)
    for i in range(len(features)):
        x = features[i : i + 1]
        found = _changes(model, x[0], after[i], known, before, orders, owners, n_columns)
        values[i] = found.mean(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            errors[i] = found.std(axis=0) / np.sqrt(len(known) - 1) if len(known) > 1 else np.nan
        done(i + 1)
    return values, errors, before.mean(axis=0), after


def _changes(
    model: Any, x: Array, after: Array, known: Array, before: Array, orders: Array, owners: Array, n_columns: int
) -> Array:
    """Return the changes by each column (background rows, columns, outputs), means of an order and the reverse one.

    A column that the row and the background row have in common changes nothing, and is passed over.
    """
    unequal = (known != x) & ~(np.isnan(known) & np.isnan(x))
    differs = np.zeros((len(known), n_columns), bool)
    for feature, column in enumerate(owners):
        differs[:, column] |= unequal[:, feature]
    sources, columns, replaced = [], [], []
    for number, order in enumerate(orders):
        mine = order[differs[number, order]]
        for way in (mine, mine[::-1]):
            sources.append(np.full(len(way), number))
            columns.append(way)
            place = np.full(n_columns, n_columns)
            place[way] = np.arange(len(way))
            replaced.append(place <= np.arange(len(way))[:, None])
    source, column, mask = np.concatenate(sources), np.concatenate(columns), np.concatenate(replaced)
    n_outputs, lengths = before.shape[1], np.array([len(part) for part in columns])
    found = np.zeros((len(known), n_columns, n_outputs))
    if len(source) == 0:
        return found
    ends = np.cumsum(lengths)[lengths > 0] - 1
    values = np.empty((len(source), n_outputs))
    inner = np.ones(len(source), bool)
    inner[ends] = False
    values[ends] = after  # where all columns are replaced, the row is x
    at = np.flatnonzero(inner)
    if len(at):

        def hybrids(rows: Array) -> Array:
            return np.where(mask[at[rows]][:, owners], x, known[source[at[rows]]])

        values[at] = outputs_of(model, len(at), len(x), hybrids)
    starts = np.append(0, ends[:-1] + 1)
    previous = np.empty_like(values)
    previous[1:] = values[:-1]
    previous[starts] = before[source[starts]]
    np.add.at(found, (source, column), (values - previous) / 2)
    return found
