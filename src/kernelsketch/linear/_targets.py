"""Targets and weights of rows, as problems of the solver: classes, one against the rest, or standardized numbers.

Rows of weight 0 are left out, and weights that sum to 1 give rise to a warning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from .._array import Array
from .._estimator import check_labels_known
from .._validation import row_batches
from .._warnings import warn_user
from .._weighted import row_counts
from ..backends import CsrRows, DenseRows, backend_for, place_of, rows_on_host
from ..exceptions import InputError, Setting
from ..hashing import PackedCodes
from ._problem import Targets

LEAST_SUM = 0.1  # of a part of rows whose weights sum to 1; smaller weights are meant to be negligible
LEAST_COST, MOST_COST = 1e-30, 1e30  # no step overflows in float32 between them; smaller costs count as 0
FAINT = 0.1  # mean cost of a row below which weights that sum to 1 are taken for normalized ones


@dataclass(frozen=True, eq=False)
class RowWeights:
    """The weights of n rows, or None, and the numbers of the rows that have a weight above 0, or a slice for all.

    Each used row counts for ``counts`` rows, or for one.
    """

    n: int
    given: Array | None
    used: Any
    counts: Array | None
    parameter: str = "C"  # that errors about costs name

    @classmethod
    def of(cls, sample_weight: Any, n: int, *Cs: float, parameter: str = "C") -> RowWeights:
        """Check weights before rows are hashed, for ascending values of C. Warn if they make C next to nothing."""
        given, counts = None, None
        used: Any = slice(None)
        if sample_weight is not None:
            rows = np.empty((n, 0))
            given = np.asarray(_check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True))
            if not given.any():  # newer versions of scikit-learn have refused them before
                raise InputError(
                    Setting("sample_weight"), " is 0 for every row: give at least one row a weight above 0."
                )
            used = slice(None) if (given > 0).all() else np.flatnonzero(given > 0)
            counts = row_counts(given[used])
        weights = cls(n, given, used, counts, parameter)
        for C in Cs:
            weights.costs(C)  # refuses those out of range
        if Cs and given is not None:
            _warn_if_faint(Cs[-1], given)
        return weights

    def costs(self, C: float, *, of_all: bool = False) -> Array:
        """Return C times the weight of each used row, or of each row, in float32."""
        weights = np.ones(1) if self.given is None else self.given
        largest = C * weights.max()
        if not LEAST_COST <= largest <= MOST_COST:
            raise InputError(
                f"the largest C times sample_weight is {largest:g}: it must be from {LEAST_COST:g} to {MOST_COST:g}.",
                parameter=self.parameter if self.given is None else "sample_weight",
            )
        cost = np.broadcast_to(C * np.where(C * weights >= LEAST_COST, weights, 0), self.n).astype(np.float32)
        return cost if of_all else np.asarray(cost[self.used])


def taken(X: Any, used: Any) -> Any:
    """Return the used rows, or their codes, where X lives."""
    if isinstance(used, slice):
        return X
    if isinstance(X, PackedCodes):
        return X[backend_for(X.packed).from_numpy(used)]
    if isinstance(X, DenseRows):
        return X.take(backend_for(X.values).from_numpy(used))
    place, host = place_of(X.arrays[-1]), rows_on_host(X).take(used)
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


@dataclass(frozen=True, eq=False)
class Classes:
    """Class labels: their classes in ascending order, the class number of each row, and the weights of classes."""

    classes: Array
    labels: Array
    class_weight: Any = None

    def __post_init__(self) -> None:
        if len(self.classes) < 2:
            raise InputError(f"y has only one class, {self.classes.tolist()[0]!r}: pass rows of at least 2 classes.")
        if isinstance(self.class_weight, dict):
            try:  # before rows are hashed
                compute_class_weight(self.class_weight, classes=self.classes, y=self.classes)
            except ValueError as error:
                raise InputError(f"{error}: pass weights of classes of y only.", parameter="class_weight") from None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_problems(self) -> int:
        return 1 if len(self.classes) == 2 else len(self.classes)

    @property
    def outputs(self) -> dict[str, Any]:
        """What a fitted model has to know to predict such targets."""
        return {"classes": self.classes}

    def used(self, rows: Any, weights: Array) -> Classes:
        """Return the targets of some rows, which have these weights."""
        return replace(self, labels=self.labels[rows])

    def targets(self, cost: Array) -> Targets:
        weights = self._class_weights(cost)
        if len(self.classes) == 2:
            return Targets(self.labels, None, cost, np.array([1], np.int32), weights[None, :])
        # As in LIBLINEAR, the class of a problem has its own weight and the rest has weight 1.
        factors = np.stack([np.ones_like(weights), weights], axis=1)
        return Targets(self.labels, None, cost, np.arange(len(self.classes), dtype=np.int32), factors)

    def counted(self, weights: Array) -> Array:
        """Return how much each row counts: its weight times the weight of its class."""
        return np.asarray(weights * self._class_weights(weights)[self.labels])

    def _class_weights(self, cost: Array) -> Array:
        """Return the factor of C for each class, in float32."""
        if self.class_weight is None:
            return np.ones(len(self.classes), np.float32)
        if self.class_weight == "balanced":  # the rows count with their weights, as in LinearSVC
            counts = np.bincount(self.labels, cost.astype(np.float64), len(self.classes))
            balanced: Array = counts.sum() / (len(self.classes) * np.where(counts > 0, counts, 1))
            return balanced.astype(np.float32)
        weights = compute_class_weight(self.class_weight, classes=self.classes, y=self.classes)
        return np.asarray(weights).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Targets of a regression, and the mean (0 without an intercept) and standard deviation that standardize them."""

    y: Array
    has_mean: bool = True
    mean: float = 0.0
    spread: float = 1.0
    n_problems = 1

    def __len__(self) -> int:
        return len(self.y)

    @property
    def outputs(self) -> dict[str, Any]:
        return {"mean": self.mean, "spread": self.spread}

    def used(self, rows: Any, weights: Array) -> Numbers:
        """Return the targets of some rows, standardized by these weights."""
        y = self.y[rows]
        exponent = int(np.frexp(np.abs(y).max())[1])  # because the squares of y itself could overflow
        unit = np.ldexp(y, -exponent)
        mean = float(np.average(unit, weights=weights)) if self.has_mean else 0.0
        spread = float(np.ldexp(np.sqrt(np.average((unit - mean) ** 2, weights=weights)), exponent))
        return replace(self, y=y, mean=float(np.ldexp(mean, exponent)), spread=spread if spread > 0 else 1.0)

    @cached_property
    def _z(self) -> Array:
        return ((self.y - self.mean) / self.spread).astype(np.float32)

    def targets(self, cost: Array) -> Targets:
        return Targets(None, self._z, cost, np.zeros(1, np.int32), np.ones((1, 2), np.float32))

    def counted(self, weights: Array) -> Array:
        return weights


Task = Classes | Numbers


def classes_of(y: Any, step_rows: int = 1 << 20) -> tuple[Array, Array]:
    """Return the classes in ascending order and the class number of each row, without a sort of all labels."""
    parts = list(row_batches(len(y), 1, step_rows))
    labels = np.empty(len(y), np.int32)
    try:
        if y.dtype.kind in "OUT":
            known: dict[Any, int] = {}
            for rows in parts:
                labels[rows] = [known.setdefault(label, len(known)) for label in y[rows].tolist()]
            classes, place = np.unique(np.array(list(known), y.dtype), return_inverse=True)
            labels = place.astype(np.int32)[labels]
        else:
            classes = np.unique(np.concatenate([np.unique(y[rows]) for rows in parts]))
            for rows in parts:
                labels[rows] = np.searchsorted(classes, y[rows])
    except TypeError:  # labels of several types, or of none that can be compared
        check_labels_known(y)
        check_classification_targets(y)
        raise
    # What scikit-learn says depends on the distinct labels alone, except for a warning about many of them.
    check_classification_targets(y if len(classes) > len(y) // 2 else np.tile(classes, 2))
    return classes, labels
