"""Scaling: columns as a model scales them before it hashes rows, and the warning about columns that need it.

The kernel adds up the columns as they are, so a column of large numbers hides the others. ``heavy_columns`` finds such
columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import Array
from .._validation import row_batches
from .._warnings import warn_user
from .._weighted import deviation_of, mean_of, quantiles_of
from ..backends import CsrRows, DenseRows, Rows, backend_for, place_of, rows_on_host
from ..exceptions import InputError, ScaleWarning, Setting
from ._value import Value

SCALES = ("standard", "robust", "quantile")
MOST_QUANTILES = 256
MOST_COLUMNS = 1 << 28  # of sparse rows: scaling keeps a number per column
SAMPLE_ROWS = 4096
LEAST_COLUMNS = 5
FEW_COLUMNS, NEARLY_ALL = 1 / 5, 0.98
STEP_BYTES = 1 << 24
LARGEST = 1e30  # scaled values are clipped to it, so that they are finite in float32


@dataclass(frozen=True, eq=False, slots=True)
class Scaling(Value):
    """A fitted scaling, an immutable value.

    Attributes
    ----------
    kind
        ``"standard"``, ``"robust"`` or ``"quantile"``.
    spread
        What each column is divided by, in float64, or None if ``quantiles`` are given. A 0 makes the column 0.
    center
        What is subtracted from each column first, or None if the scaling was fitted on sparse rows.
    quantiles
        Ascending quantiles of each column, of shape (quantiles, columns), which are mapped to -1 ... 1, or None.
    """

    kind: str
    spread: Array | None = None
    center: Array | None = None
    quantiles: Array | None = None

    @classmethod
    def fit(cls, kind: str, rows: Rows, counts: Array | None = None) -> Scaling:
        """Learn a scaling, ``"standard"``, ``"robust"`` or ``"quantile"``, from the columns of rows.

        Each row counts for ``counts`` rows, or for one. The scaling is learned in main memory, wherever the rows are,
        so that it does not depend on where that is.
        """
        rows = rows_on_host(rows)
        if isinstance(rows, CsrRows):
            if kind != "standard":
                raise InputError(
                    Setting("scale", kind),
                    " cannot be used with sparse rows, whose zeros would not stay zeros: set "
                    "scale='standard', which divides them by the standard deviation, or pass a dense array.",
                )
            return cls(kind, spread=_sparse_deviations(rows, counts))
        columns = row_batches(rows.n_features, 8 * len(rows), STEP_BYTES)
        parts = [_fit_columns(kind, rows.values[:, part], counts) for part in columns]
        joined = [None if found[0] is None else np.concatenate(found, axis=-1) for found in zip(*parts, strict=True)]
        return cls(kind, *joined)

    @property
    def needs_dense(self) -> bool:
        """Whether zeros do not stay zeros."""
        return self.center is not None or self.quantiles is not None

    def apply(self, rows: Rows) -> Rows:
        """Return scaled rows of the same dtype where the rows live, computed in float64.

        Sparse rows and quantiles of another library go through main memory.
        """
        place = place_of(rows.arrays[-1])
        if place is not None and (rows.sparse or self.quantiles is not None):
            backend, host = place.backend(1), self.apply(rows_on_host(rows))
            if isinstance(host, CsrRows):
                return CsrRows(*map(backend.from_numpy, host.arrays), host.n_features)  # type: ignore[arg-type,call-arg]
            return DenseRows(backend.from_numpy(host.values))
        if isinstance(rows, CsrRows):
            if self.needs_dense:
                raise InputError(
                    "X is sparse, but the model was fitted with scale on dense rows, whose zeros do not stay zeros: "
                    "pass a dense array, or fit the model on sparse rows with scale='standard'."
                )
            return self._apply_sparse(rows)
        backend = backend_for(*rows.arrays)
        spread, center = (None if x is None else backend.from_numpy(x) for x in (self.spread, self.center))
        scaled = backend.empty(rows.shape, rows.dtype)
        for part in row_batches(len(rows), 8 * rows.n_features, STEP_BYTES):
            values = rows.values[part].astype(np.float64)
            scaled[part] = _linear(values, spread, center) if self.quantiles is None else _ranks(values, self.quantiles)
        return DenseRows(scaled)

    def _apply_sparse(self, rows: CsrRows) -> CsrRows:
        assert self.spread is not None
        data = _divided(rows.data.astype(np.float64), self.spread[rows.indices]).astype(rows.dtype)
        found = CsrRows(rows.indptr, rows.indices, data, rows.n_features)
        if not data.all():
            whole = found.to_scipy().copy()
            whole.eliminate_zeros()
            found = CsrRows.of(whole)
        return found


def _linear(values: Array, spread: Any, center: Array | None) -> Array:
    if center is None:
        return _divided(values, spread)
    return _divided(values / 2 - center / 2, spread) * 2  # in halves, which cannot overflow


def _divided(values: Array, spread: Array) -> Array:
    with np.errstate(over="ignore"):
        found = values / np.where(spread > 0, spread, 1.0) * (spread > 0)
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


def _fit_columns(kind: str, columns: Array, counts: Array | None) -> tuple[Any, Any, Any]:
    """Return spread, center and quantiles, as far as the kind of scaling has them."""
    values = np.asfortranarray(columns, np.float64)  # sums then do not depend on the layout of X
    exponents = np.frexp(np.abs(values).max(axis=0))[1]  # in this unit, no square overflows
    unit = np.ldexp(values, -exponents)
    constant = values.min(axis=0) == values.max(axis=0)
    if kind == "quantile":
        n = len(values) if counts is None else round(float(counts.sum()))
        references = np.linspace(0, 1, min(MOST_QUANTILES, n))
        quantiles = np.maximum.accumulate(quantiles_of(unit, counts, references), axis=0)
        quantiles[:, constant] = unit[0, constant]
        return None, None, np.ldexp(quantiles, exponents)
    center, spread = mean_of(unit, counts), deviation_of(unit, counts)
    if kind == "robust":
        low, center, high = quantiles_of(unit, counts, np.array([0.25, 0.5, 0.75]))
        spread = np.where(high > low, high - low, spread)
    return np.ldexp(np.where(constant, 0, spread), exponents), np.ldexp(center, exponents), None


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


def warn_unscaled(heavy: Array, n_features: int, names: Array | None) -> None:
    """Warn that a few columns hold nearly all the weight of the rows."""
    listed = ", ".join(repr(str(names[j])) if names is not None else str(j) for j in heavy[:5])
    more = f" and {len(heavy) - 5} more" if len(heavy) > 5 else ""
    warn_user(
        f"{len(heavy)} of {n_features} columns hold over {NEARLY_ALL:.0%} of the sum of absolute values of the "
        f"rows ({listed}{more}), so the kernel hardly sees the others: pass scale='standard'.",
        ScaleWarning,
    )
