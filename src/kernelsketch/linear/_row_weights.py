"""Weights of rows: rows of weight 0 are left out, and weights that sum to 1 give rise to a warning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from .._warnings import warn_user
from .._weighted import row_counts
from ..backends import CsrRows, DenseRows, Rows, backend_for, place_of, rows_on_host
from ..exceptions import InputError, Setting
from ..hashing import PackedCodes

Array = NDArray[Any]

LEAST_SUM = 0.1  # of a part of rows whose weights sum to 1; smaller weights are meant to be negligible
LEAST_COST, MOST_COST = 1e-30, 1e30  # no step overflows in float32 between them; smaller costs count as 0
FAINT = 0.1  # mean cost of a row below which weights that sum to 1 are taken for normalized ones


def checked_weights(sample_weight: Any, n: int) -> Array:
    """Return the weights of n rows in float64, and refuse negative ones and those that are all 0."""
    rows = np.empty((n, 0))
    weights = np.asarray(_check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True))
    if not weights.any():  # newer versions of scikit-learn have refused them before
        raise InputError(Setting("sample_weight"), " is 0 for every row: give at least one row a weight above 0.")
    return weights


@dataclass(frozen=True, eq=False)
class RowWeights:
    """The weights of n rows, or None, and the numbers of the rows that have a weight above 0, or a slice for all."""

    n: int
    given: Array | None
    used: Any
    parameter: str = "C"  # that errors about costs name

    @classmethod
    def of(cls, sample_weight: Any, n: int, *Cs: float, parameter: str = "C") -> RowWeights:
        """Check weights before rows are hashed, for ascending values of C. Warn if they make C next to nothing."""
        given = None if sample_weight is None else checked_weights(sample_weight, n)
        used = slice(None) if given is None or (given > 0).all() else np.flatnonzero(given > 0)
        weights = cls(n, given, used, parameter)
        for C in Cs:
            weights.costs(C)  # refuses those out of range
        if Cs and given is not None:
            _warn_if_faint(Cs[-1], given)
        return weights

    @property
    def counts(self) -> Array | None:
        """How many rows each used row counts for, or None."""
        return row_counts(None if self.given is None else self.given[self.used])

    def costs(self, C: float) -> Array:
        """Return C times the weight of each used row, in float32."""
        return np.asarray(self.costs_of_all(C)[self.used])

    def costs_of_all(self, C: float) -> Array:
        weights = np.ones(1) if self.given is None else self.given
        largest = C * weights.max()
        if not LEAST_COST <= largest <= MOST_COST:
            raise InputError(
                f"the largest C times sample_weight is {largest:g}: it must be from {LEAST_COST:g} to {MOST_COST:g}.",
                parameter=self.parameter if self.given is None else "sample_weight",
            )
        cost = C * np.where(C * weights >= LEAST_COST, weights, 0)
        return np.broadcast_to(cost, self.n).astype(np.float32)


def taken(X: Any, used: Any) -> Any:
    """Return the used rows, or their codes, where X lives."""
    if isinstance(used, slice):
        return X
    if isinstance(X, PackedCodes):
        return X[backend_for(X.packed).from_numpy(used)]
    if isinstance(X, DenseRows):
        return X.take(backend_for(X.values).from_numpy(used))
    return _taken_sparse(X, used)


def _taken_sparse(rows: Rows, used: Array) -> Rows:
    place, host = place_of(rows.arrays[-1]), rows_on_host(rows).take(used)
    if place is None:
        return host
    return CsrRows(*map(place.backend(1).from_numpy, host.arrays), host.n_features)  # type: ignore[arg-type,call-arg]


def _warn_if_faint(C: float, weights: Array) -> None:
    """Warn that weights which sum to 1 make C so small that the model can hardly depend on the rows."""
    n, total = int((weights > 0).sum()), float(weights.sum())
    if LEAST_SUM <= total <= 1 + 1e-6 and C * total < FAINT * n:
        warn_user(
            f"sample_weight sums to {total:.3g} over {n} rows. Weights are factors of C={C:g}, so the model is trained "
            f"as if C were {C * total / n:.2g}: multiply the weights by {n / total:.3g}, so that their mean is 1, or "
            f"raise C to {C * n / total:.3g}."
        )
