"""From decision values to classes and probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from .._array import Array
from .._validation import row_batches
from ..backends import backend_for
from ._value import Value

LEAST = 1e-15  # probabilities are never below, so their logarithm is finite


def _by_rows(function: Callable[..., Any]) -> Callable[..., Array]:
    """Let a function or method see a few rows at a time, since there may be millions; a row depends on no other."""

    @wraps(function)
    def stepped(*arguments: Any) -> Any:
        *own, values = arguments
        parts = list(row_batches(len(values), 8 * values.shape[1]))
        if len(parts) <= 1:
            return function(*arguments)
        return np.concatenate([function(*own, values[rows]) for rows in parts])

    return stepped


@dataclass(frozen=True, eq=False, slots=True)
class Calibration(Value):
    """A fitted calibration, an immutable value.

    Attributes
    ----------
    coefficients
        Slopes in float64, one row or a square matrix. A row has one slope for two classes, and otherwise one per class.
        Entry (i, j) of a matrix multiplies decision value i in the logit of class j.
    intercepts
        Intercepts in float64: one for two classes, otherwise one per class.
    """

    coefficients: Array
    intercepts: Array

    @_by_rows
    def logits(self, values: Array) -> Any:
        """Return calibrated decision values for decision values of shape (rows, 1 or classes)."""
        slopes, logits = map(backend_for(values).from_numpy, (self.coefficients, self.intercepts))
        if len(slopes) == 1:
            return values * slopes[0] + logits
        for j in range(len(slopes)):  # a matrix product depends on the number of rows
            logits = logits + values[:, j : j + 1] * slopes[j]
        return logits

    def probabilities(self, values: Array) -> Array:
        """Return the probabilities of the classes for decision values of shape (rows, 1 or classes)."""
        return softmax_shares(self.logits(values))


@_by_rows
def softmax_shares(logits: Array) -> Any:
    """Return the probabilities of logits: above 0, below 1, and with the sum 1 in each row."""
    if logits.shape[1] == 1:
        logits = np.concatenate([-logits / 2, logits / 2], axis=1)
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares = np.maximum(shares / shares.sum(axis=1, keepdims=True), LEAST)
    return shares / shares.sum(axis=1, keepdims=True)


@_by_rows
def shares_of(values: Array) -> Any:
    """Return the probabilities of the logarithmic loss, whose decision values are log-odds."""
    small = np.exp(-np.abs(values))  # never overflows
    shares = np.where(values >= 0, 1 / (1 + small), small / (1 + small))
    if shares.shape[1] == 1:
        return np.concatenate([1 - shares, shares], axis=1)
    total = shares.sum(axis=1, keepdims=True)
    return np.where(total > 0, shares / np.where(total > 0, total, 1), 1 / shares.shape[1])


def decided_classes(values: Array) -> Array:
    """Return for each row which class has the largest decision value, as its number among the classes."""
    return (values[:, 0] > 0).astype(int) if values.shape[1] == 1 else values.argmax(axis=1)
