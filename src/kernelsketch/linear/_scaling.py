"""Scaling of columns inside a model: fitted on the training rows, and applied to rows before they are hashed.

The kernel adds up the columns as they are, so a column of large numbers hides the others. ``unscaled_columns`` finds
such columns.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._validation import row_batches
from ..backends import CsrRows, DenseRows, Rows, place_of
from ..exceptions import InputError, InputTypeError, ScaleWarning

Array = NDArray[Any]

SCALES = ("standard", "robust", "quantile")
MOST_QUANTILES = 256
MOST_COLUMNS = 1 << 28  # of sparse rows: scaling keeps a number per column
STEP_BYTES = 1 << 24
LARGEST = 1e30  # scaled values are clipped to it, so that they are finite in float32
SAMPLE_ROWS = 4096
LEAST_COLUMNS = 5
FEW_COLUMNS, NEARLY_ALL = 1 / 5, 0.98


@dataclass(frozen=True, eq=False, slots=True)
class Scaling:
    """A fitted scaling, an immutable value.

    Attributes
    ----------
    spread
        What each column is divided by, in float64, or None if ``quantiles`` are given. A 0 makes the column 0.
    center
        What is subtracted from each column first, or None if the scaling was fitted on sparse rows.
    quantiles
        Ascending quantiles of each column, of shape (quantiles, columns), which are mapped to -1 ... 1, or None.
    """

    spread: Array | None = None
    center: Array | None = None
    quantiles: Array | None = None

    @property
    def needs_dense(self) -> bool:
        """Whether zeros do not stay zeros."""
        return self.center is not None or self.quantiles is not None

    def apply(self, rows: Rows) -> Rows:
        """Return scaled rows of the same dtype, computed in float64."""
        _check_numpy(rows)
        if isinstance(rows, CsrRows):
            if self.needs_dense:
                raise InputError(
                    "X is sparse, but the model was fitted with scale on dense rows, whose zeros do not stay zeros: "
                    "pass a dense array, or fit the model on sparse rows with scale='standard'."
                )
            return self._apply_sparse(rows)
        scaled = np.empty(rows.shape, rows.dtype)
        for part in row_batches(len(rows), 8 * rows.n_features, STEP_BYTES):
            scaled[part] = self._scaled(rows.values[part].astype(np.float64))
        return DenseRows(scaled)

    def _scaled(self, values: Array) -> Array:
        if self.quantiles is not None:
            return _ranks(values, self.quantiles)
        assert self.spread is not None
        if self.center is not None:
            values = values / 2 - self.center / 2  # in halves, which cannot overflow
            values = _divided(values, self.spread) * 2
        else:
            values = _divided(values, self.spread)
        return values

    def _apply_sparse(self, rows: CsrRows) -> CsrRows:
        assert self.spread is not None
        data = _divided(rows.data.astype(np.float64), self.spread[rows.indices]).astype(rows.dtype)
        found = CsrRows(rows.indptr, rows.indices, data, rows.n_features)
        if not data.all():
            whole = found.to_scipy().copy()
            whole.eliminate_zeros()
            found = CsrRows.of(whole)
        return found


def fit_scaling(kind: str, rows: Rows) -> Scaling:
    """Learn a scaling, ``"standard"``, ``"robust"`` or ``"quantile"``, from the columns of rows."""
    _check_numpy(rows)
    if isinstance(rows, CsrRows):
        if kind != "standard":
            raise InputError(
                f"scale={kind!r} cannot be used with sparse rows, whose zeros would not stay zeros: set "
                "scale='standard', which divides them by the standard deviation, or pass a dense array."
            )
        return Scaling(spread=_sparse_deviations(rows))
    parts = [_fit_columns(kind, rows.values[:, part]) for part in _column_parts(rows)]
    fields = {name: [getattr(part, name) for part in parts] for name in ("spread", "center", "quantiles")}
    return Scaling(**{n: None if found[0] is None else np.concatenate(found, axis=-1) for n, found in fields.items()})


def _column_parts(rows: DenseRows) -> Any:
    return row_batches(rows.n_features, 8 * len(rows), STEP_BYTES)


def _fit_columns(kind: str, columns: Array) -> Scaling:
    values = np.asfortranarray(columns, np.float64)  # sums then do not depend on the layout of X
    exponents = np.frexp(np.abs(values).max(axis=0))[1]  # in this unit, no square overflows
    unit = np.ldexp(values, -exponents)
    constant = values.min(axis=0) == values.max(axis=0)
    if kind == "quantile":
        references = np.linspace(0, 1, min(MOST_QUANTILES, len(values)))
        quantiles = np.maximum.accumulate(np.quantile(unit, references, axis=0), axis=0)
        quantiles[:, constant] = unit[0, constant]
        return Scaling(quantiles=np.ldexp(quantiles, exponents))
    center, spread = unit.mean(axis=0), unit.std(axis=0)
    if kind == "robust":
        low, center, high = np.quantile(unit, [0.25, 0.5, 0.75], axis=0)
        spread = np.where(high > low, high - low, spread)
    center, spread = np.ldexp(center, exponents), np.ldexp(np.where(constant, 0, spread), exponents)
    return Scaling(spread=spread, center=center)


def _sparse_deviations(rows: CsrRows) -> Array:
    """Return the standard deviation of each column, zeros included; 0 for constant columns."""
    n, d = rows.shape
    if d > MOST_COLUMNS:
        raise InputError(f"X has {d} columns, but scale='standard' takes at most {MOST_COLUMNS}: set scale=None.")
    largest = np.zeros(d)
    np.maximum.at(largest, rows.indices, np.abs(rows.data).astype(np.float64))
    exponents = np.frexp(largest)[1]
    unit = np.ldexp(rows.data.astype(np.float64), -exponents[rows.indices])
    counts = np.bincount(rows.indices, minlength=d)
    mean = np.bincount(rows.indices, unit, d) / n
    squares = np.bincount(rows.indices, (unit - mean[rows.indices]) ** 2, d) + (n - counts) * mean**2
    high, low = np.where(counts < n, 0.0, -np.inf), np.where(counts < n, 0.0, np.inf)
    np.maximum.at(high, rows.indices, unit)
    np.minimum.at(low, rows.indices, unit)
    return np.where(high > low, np.ldexp(np.sqrt(squares / n), exponents), 0.0)


def _divided(values: Array, spread: Array) -> Array:
    with np.errstate(over="ignore"):
        found = np.divide(values, spread, out=np.zeros_like(values), where=spread > 0)
    return np.clip(found, -LARGEST, LARGEST)


def _ranks(values: Array, quantiles: Array) -> Array:
    """Map each column to -1 ... 1 by its quantiles. A tie gets the mean of its first and its last rank."""
    references = np.linspace(-1, 1, len(quantiles))
    found = np.zeros_like(values)
    for j in range(values.shape[1]):
        column, q = values[:, j], quantiles[:, j]
        if q[0] < q[-1]:
            forward = np.interp(column, q, references)
            found[:, j] = (forward - np.interp(-column, -q[::-1], -references[::-1])) / 2
    return found


def _check_numpy(rows: Rows) -> None:
    if place_of(rows.arrays[-1]) is not None:
        raise InputTypeError(
            f"scale needs NumPy arrays or SciPy matrices, but X holds {type(rows.arrays[-1]).__name__}: convert it, or "
            "scale the columns first and set scale=None."
        )


def heavy_columns(rows: Rows, center: Array | None) -> Array:
    """Return the columns that hold nearly all the weight of dense rows, if they are few of many; otherwise none.

    At most 4096 rows are looked at, which are spread evenly.
    """
    none = np.zeros(0, np.int64)
    if isinstance(rows, CsrRows) or rows.n_features < LEAST_COLUMNS or place_of(rows.values) is not None:
        return none
    chosen = np.unique(np.linspace(0, len(rows) - 1, SAMPLE_ROWS).astype(np.int64))
    weight = np.zeros(rows.n_features)
    varied = np.zeros(rows.n_features, bool)
    largest = float(np.abs(rows.values[chosen]).max()) or 1.0
    for part in row_batches(len(chosen), 8 * rows.n_features, STEP_BYTES):
        values = rows.values[chosen[part]].astype(np.float64)
        varied |= (values != rows.values[chosen[0]]).any(axis=0)
        weight += np.abs(values / largest if center is None else values / largest - center / largest).sum(axis=0)
    order = np.argsort(-np.where(varied, weight, 0), kind="stable")
    held = np.cumsum(np.where(varied, weight, 0)[order])
    few = order[: int(np.searchsorted(held, NEARLY_ALL * held[-1], "right")) + 1]
    return few if 0 < len(few) <= FEW_COLUMNS * varied.sum() else none


def warn_if_unscaled(rows: Rows, center: Array | None, names: Array | None) -> None:
    """Warn that a few columns hold nearly all the weight of the rows."""
    found = heavy_columns(rows, center)
    if len(found) == 0:
        return
    listed = ", ".join(repr(str(names[j])) if names is not None else str(j) for j in found[:5])
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    warnings.warn(
        f"{len(found)} of {rows.n_features} columns hold over {NEARLY_ALL:.0%} of the sum of absolute values of the "
        f"rows ({listed}{more}), so the kernel hardly sees the others: pass scale='standard'.",
        ScaleWarning,
        stacklevel=6,  # the caller of fit: two of our methods and two decorators are in between
    )
