"""Counts from their square roots, which is what a kernel machine predicts of them.

The kernel machine has no loss for counts. Where the variance of counts is their mean, their square roots have nearly
the same variance everywhere, so that squared errors suit them. Held-out rows say how to go back: a mean is a power of
the predicted root times a factor, both of least Poisson deviance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._array import Array

LEAST_SHARE = 0.05  # of the mean count: roots of smaller ones count as its root
TINY = 1e-12  # a mean of zeros alone
POWERS = (0.0, 6.0)  # smallest and largest


class RootLink(NamedTuple):
    """The mean of a count is exp(log_factor) times a power of the predicted root, which is at least ``floor``."""

    log_factor: float
    power: float
    floor: float

    @classmethod
    def of(cls, roots: Array, counts: Array, weights: Array) -> RootLink:
        """Return the link of least deviance for held-out rows; some count is above 0."""
        from scipy.optimize import minimize  # not for predictions

        mean = max(TINY, float(np.average(counts, weights=weights)))
        floor, share = float(np.sqrt(LEAST_SHARE * mean)), weights / weights.sum()
        logs = np.log(np.maximum(roots, floor)) - np.log(mean) / 2

        def deviance(at: Array) -> tuple[float, Array]:
            exponents = at[0] + at[1] * logs
            means = np.exp(exponents)
            errors = share * (means - counts / mean)
            return float(share @ (means - counts / mean * exponents)), np.array([errors.sum(), errors @ logs])

        found = minimize(deviance, [0.0, 2.0], jac=True, method="L-BFGS-B", bounds=[(-20.0, 20.0), POWERS]).x
        return cls(float(np.log(mean) + found[0] - found[1] * np.log(mean) / 2), float(found[1]), floor)

    def means(self, roots: Array) -> Array:
        """Return the means of counts for predicted roots."""
        return np.asarray(np.exp(self.log_factor + self.power * np.log(np.maximum(roots, self.floor))))
