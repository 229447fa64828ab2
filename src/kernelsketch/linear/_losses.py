"""Losses as the gap needs them: values and conjugates in float64. Steps are the back end's (reference/linear.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

LOSSES = ("squared_hinge", "hinge", "log_loss", "squared_error", "huber")


def loss_number(name: str) -> int:
    return LOSSES.index(name)


def value(loss: int, f: Any, y: Any, c: Any, epsilon: float = 0.0) -> Any:
    """Loss of decision values, in float64."""
    f, y, c = (x.astype(np.float64, copy=False) for x in (f, y, c))
    name = LOSSES[loss]
    if name == "squared_hinge":
        return c * np.maximum(0, 1 - y * f) ** 2
    if name == "hinge":
        return c * np.maximum(0, 1 - y * f)
    if name == "log_loss":
        return c * np.logaddexp(0, -y * f)
    r = np.abs(f - y)
    if name == "squared_error":
        return c * r**2
    return c * np.where(r <= epsilon, r**2, epsilon * (2 * r - epsilon))


def conjugate(loss: int, beta: Any, y: Any, c: Any) -> Any:
    """Of the loss, at -beta, in float64; beta within its bounds."""
    beta, y, c = (x.astype(np.float64, copy=False) for x in (beta, y, c))
    name = LOSSES[loss]
    if name == "hinge":
        return -y * beta
    if name == "log_loss":
        a = np.clip(y * beta, 0, c)
        parts = [np.where(x > 0, x * np.log(np.where(x > 0, x, 1) / c), 0) for x in (a, c - a)]
        return parts[0] + parts[1]
    return beta**2 / (4 * c) - y * beta
