"""Fitting of the scaling of columns inside a model; :class:`~kernelsketch.serving.Scaling` applies it.

The kernel adds up the columns as they are, so a column of large numbers hides the others. ``heavy_columns`` finds such
columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import row_batches
from .._warnings import warn_user
from .._weighted import deviation_of, mean_of, quantiles_of
from ..backends import CsrRows, DenseRows, Rows, place_of, rows_on_host
from ..exceptions import InputError, ScaleWarning, Setting
from ..serving import Scaling

Array = NDArray[Any]

SCALES = ("standard", "robust", "quantile")
MOST_QUANTILES = 256
MOST_COLUMNS = 1 << 28  # of sparse rows: scaling keeps a number per column
STEP_BYTES = 1 << 24
SAMPLE_ROWS = 4096
LEAST_COLUMNS = 5
FEW_COLUMNS, NEARLY_ALL = 1 / 5, 0.98


def fit_scaling(kind: str, rows: Rows, counts: Array | None = None) -> Scaling:
    """Learn a scaling, ``"standard"``, ``"robust"`` or ``"quantile"``, from the columns of rows.

    Each row counts for ``counts`` rows, or for one. The scaling is learned in main memory, wherever the rows are, so
    that it does not depend on where that is.
    """
    rows = rows_on_host(rows)
    if isinstance(rows, CsrRows):
        if kind != "standard":
            raise InputError(
                Setting("scale", kind),
                " cannot be used with sparse rows, whose zeros would not stay zeros: set "
                "scale='standard', which divides them by the standard deviation, or pass a dense array.",
            )
        return Scaling(spread=_sparse_deviations(rows, counts))
    parts = [_fit_columns(kind, rows.values[:, part], counts) for part in _column_parts(rows)]
    fields = {name: [getattr(part, name) for part in parts] for name in ("spread", "center", "quantiles")}
    return Scaling(**{n: None if found[0] is None else np.concatenate(found, axis=-1) for n, found in fields.items()})


def _column_parts(rows: DenseRows) -> Any:
    return row_batches(rows.n_features, 8 * len(rows), STEP_BYTES)


def _fit_columns(kind: str, columns: Array, counts: Array | None) -> Scaling:
    values = np.asfortranarray(columns, np.float64)  # sums then do not depend on the layout of X
    exponents = np.frexp(np.abs(values).max(axis=0))[1]  # in this unit, no square overflows
    unit = np.ldexp(values, -exponents)
    constant = values.min(axis=0) == values.max(axis=0)
    if kind == "quantile":
        n = len(values) if counts is None else round(float(counts.sum()))
        references = np.linspace(0, 1, min(MOST_QUANTILES, n))
        quantiles = np.maximum.accumulate(quantiles_of(unit, counts, references), axis=0)
        quantiles[:, constant] = unit[0, constant]
        return Scaling(quantiles=np.ldexp(quantiles, exponents))
    center, spread = mean_of(unit, counts), deviation_of(unit, counts)
    if kind == "robust":
        low, center, high = quantiles_of(unit, counts, np.array([0.25, 0.5, 0.75]))
        spread = np.where(high > low, high - low, spread)
    center, spread = np.ldexp(center, exponents), np.ldexp(np.where(constant, 0, spread), exponents)
    return Scaling(spread=spread, center=center)


def _sparse_deviations(rows: CsrRows, counts: Array | None) -> Array:
    """Return the standard deviation of each column, zeros included; 0 for constant columns."""
    n, d = rows.shape
    if d > MOST_COLUMNS:
        raise InputError(f"X has {d} columns, but scale='standard' takes at most {MOST_COLUMNS}: set scale=None.")
    largest = np.zeros(d)
    np.maximum.at(largest, rows.indices, np.abs(rows.data).astype(np.float64))
    exponents = np.frexp(largest)[1]
    unit = np.ldexp(rows.data.astype(np.float64), -exponents[rows.indices])
    stored = np.bincount(rows.indices, minlength=d)
    has_zeros = stored < n
    total = float(n)
    factors = None if counts is None else np.repeat(counts, np.diff(rows.indptr))
    if counts is not None:
        total, stored = float(counts.sum()), np.bincount(rows.indices, factors, d)

    def sums(values: Array) -> Array:
        return np.bincount(rows.indices, values if factors is None else values * factors, d)

    mean = sums(unit) / total
    squares = sums((unit - mean[rows.indices]) ** 2) + np.maximum(total - stored, 0) * mean**2
    high, low = np.where(has_zeros, 0.0, -np.inf), np.where(has_zeros, 0.0, np.inf)
    np.maximum.at(high, rows.indices, unit)
    np.minimum.at(low, rows.indices, unit)
    return np.where(high > low, np.ldexp(np.sqrt(squares / total), exponents), 0.0)


def heavy_columns(rows: Rows, center: Array | None, counts: Array | None = None) -> Array:
    """Return the columns that hold nearly all the weight of dense rows, if they are few of many; otherwise none.

    At most 4096 rows are looked at, which are spread evenly.
    """
    none = np.zeros(0, np.int64)
    if isinstance(rows, CsrRows) or rows.n_features < LEAST_COLUMNS or place_of(rows.values) is not None:
        return none
    chosen = np.unique(np.linspace(0, len(rows) - 1, SAMPLE_ROWS).astype(np.int64))
    weight = np.zeros(rows.n_features)
    varied = np.zeros(rows.n_features, bool)
    largest = (
        max(float(np.abs(rows.values[chosen]).max()), 0.0 if center is None else float(np.abs(center).max())) or 1.0
    )
    for part in row_batches(len(chosen), 8 * rows.n_features, STEP_BYTES):
        values = rows.values[chosen[part]].astype(np.float64)
        varied |= (values != rows.values[chosen[0]]).any(axis=0)
        sizes = np.abs(values / largest if center is None else values / largest - center / largest)
        weight += (sizes if counts is None else sizes * counts[chosen[part], None]).sum(axis=0)
    order = np.argsort(-np.where(varied, weight, 0), kind="stable")
    held = np.cumsum(np.where(varied, weight, 0)[order])
    few = order[: int(np.searchsorted(held, NEARLY_ALL * held[-1], "right")) + 1]
    return few if 0 < len(few) <= FEW_COLUMNS * varied.sum() else none


def warn_if_unscaled(rows: Rows, center: Array | None, names: Array | None, counts: Array | None = None) -> None:
    """Warn that a few columns hold nearly all the weight of the rows."""
    found = heavy_columns(rows, center, counts)
    if len(found) == 0:
        return
    listed = ", ".join(repr(str(names[j])) if names is not None else str(j) for j in found[:5])
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    warn_user(
        f"{len(found)} of {rows.n_features} columns hold over {NEARLY_ALL:.0%} of the sum of absolute values of the "
        f"rows ({listed}{more}), so the kernel hardly sees the others: pass scale='standard'.",
        ScaleWarning,
    )
