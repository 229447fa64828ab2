"""Calibration: from decision values of any loss to probabilities of the classes.

The model is a logistic regression of the labels on decision values that were computed out-of-fold. Two classes have a
slope and an intercept (Platt scaling). More classes have a common slope, an intercept per class, and a matrix of mixed
slopes that is shrunk to zero.

J. Platt. *Probabilistic outputs for support vector machines.* Advances in Large Margin Classifiers, 1999.
M. Kull et al. *Beyond temperature scaling: obtaining well-calibrated multiclass probabilities with Dirichlet
calibration.* NeurIPS 2019.

On Letter, Vowel, Satimage, USPS, Car and CTG, with 500 to 4000 rows and as few as 19 rows per class, the matrix with a
penalty of one row had a lower log-loss on other rows than a common slope, or the same (Letter 0.282 against 0.299,
Satimage 0.242 against 0.267, Car 0.034 against 0.041, with 500 rows of Letter 1.025 against 1.033), while a tenth of
that penalty was worse than a common slope on Letter. On Sector, with 105 classes, the gain was small (0.662 against
0.670) and took longer than training, so with more than 50 classes the slope is common.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from threadpoolctl import threadpool_limits

from .._array import Array
from .._weighted import mean_of, row_counts
from ..serving import Calibration

SLOPE = 2.0  # of decision values with mean square 1, to which the fit is drawn if the rows say nothing
LEAST_SLOPE = 0.01  # above 0, so that a larger decision value is never a smaller probability
MATRIX_PENALTY = 1.0  # in rows, as the next one
WEAK_PENALTY = 1e-3
MATRIX_CLASSES = 50  # with more classes, the matrix takes longer to fit than the model
MATRIX_GRADIENT = 1e-4  # at which the solver stops; the log-loss then has five correct digits
GRADIENT = 1e-9


def fit_calibration(
    values: Array, labels: Array, n_classes: int, sample_weight: Array | None = None, *, common_slope: bool = False
) -> Calibration:
    """Fit the probabilities of classes to decision values of rows that the model has not been trained on.

    Parameters
    ----------
    values
        Decision values of shape (rows, 1) for two classes, and otherwise (rows, classes).
    labels
        Class numbers.
    n_classes
        Number of classes. A class may have no rows.
    sample_weight
        Weights of the rows. Whole numbers count as so many rows. Of weights with a mean below 1, only the ratios count.
    common_slope
        Whether to leave the matrix out, which is fast and enough to compare models.
    """
    values = np.asarray(values, np.float64)
    weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    used = weights > 0
    values, labels, weights = values[used], np.asarray(labels)[used], weights[used]
    counts = row_counts(weights)
    weights = np.ones(len(labels)) if counts is None else counts
    if n_classes == 2:
        values = np.concatenate([-values, values], axis=1) / 2
    squares = values**2 if counts is None else mean_of(values**2, counts)
    unit = float(np.sqrt(np.mean(squares))) or 1.0
    has_matrix = not common_slope and 2 < n_classes <= MATRIX_CLASSES
    fit = _Fit(values / unit, _smoothed(labels, n_classes, weights), weights, has_matrix)
    slope, intercepts, matrix = fit.parts(fit.solve())
    if slope < LEAST_SLOPE:  # the values say nothing, or by chance the opposite: the probabilities are those of y
        shares = np.average(_smoothed(labels, n_classes, weights), axis=0, weights=weights)
        slope, intercepts, matrix = LEAST_SLOPE, np.log(shares), None
    if n_classes == 2:
        return Calibration(np.array([[slope / unit]]), intercepts[1:] - intercepts[:1])
    if matrix is None:
        return Calibration(np.full((1, n_classes), slope / unit), intercepts)
    return Calibration((slope * np.eye(n_classes) + matrix) / unit, intercepts)


def _smoothed(labels: Array, n_classes: int, weights: Array) -> Array:
    """Return target probabilities as if each class had two more rows, of which one has another label.

    They are Platt's targets for two classes. They keep the fit finite if the classes are separable.
    """
    counts = np.bincount(labels, weights, n_classes)
    other = 1 / (counts + 2)
    targets = np.repeat((other / (n_classes - 1))[labels][:, None], n_classes, axis=1)
    targets[np.arange(len(labels)), labels] = 1 - other[labels]
    return targets


class _Fit:
    """The penalized mean log-loss as a function of the parameters: slope, intercepts and, if wanted, the matrix."""

    def __init__(self, values: Array, targets: Array, weights: Array, has_matrix: bool) -> None:
        n_rows = float(weights.sum())
        self._values, self._targets, self._shares = values, targets, (weights / n_rows)[:, None]
        size = values.shape[1]
        self._start = np.concatenate([[SLOPE], np.zeros(size + (size * size if has_matrix else 0))])
        self._penalty = np.full(len(self._start), WEAK_PENALTY / n_rows)
        self._penalty[1 + size :] = MATRIX_PENALTY / n_rows
        self._at, self._chances = self._start, self._softmax(self._start)

    def parts(self, parameters: Array) -> tuple[float, Array, Array | None]:
        size = self._values.shape[1]
        matrix = parameters[1 + size :].reshape(size, size) if len(parameters) > 1 + size else None
        return float(parameters[0]), parameters[1 : 1 + size], matrix

    def solve(self) -> Array:
        """Return the minimum, which is unique because the penalty is strictly convex."""
        has_matrix = len(self._start) > 1 + self._values.shape[1]
        options = {"gtol": MATRIX_GRADIENT if has_matrix else GRADIENT, "maxiter": 500}
        with threadpool_limits(limits=1, user_api="blas"):  # small matrices, and sums in one order on every machine
            found = minimize(
                self.value, self._start, jac=self.gradient, hessp=self.curvature, method="trust-ncg", options=options
            )
        return np.asarray(found.x)

    def value(self, parameters: Array) -> float:
        losses = -(self._targets * log_softmax(self._logits(parameters), axis=1))
        return float((self._shares * losses).sum() + (self._penalty * (parameters - self._start) ** 2).sum() / 2)

    def gradient(self, parameters: Array) -> Array:
        residuals = self._chances_at(parameters) - self._targets
        return np.asarray(self._sums(self._shares * residuals) + self._penalty * (parameters - self._start))

    def curvature(self, parameters: Array, direction: Array) -> Array:
        """Return the second derivative times a direction."""
        chances = self._chances_at(parameters)
        moved = chances * self._logits(direction)
        moved -= chances * moved.sum(axis=1, keepdims=True)
        return np.asarray(self._sums(self._shares * moved) + self._penalty * direction)

    def _chances_at(self, parameters: Array) -> Array:
        if not np.array_equal(parameters, self._at):  # the solver asks for many directions at one place
            self._at, self._chances = parameters.copy(), self._softmax(parameters)
        return self._chances

    def _softmax(self, parameters: Array) -> Array:
        return np.asarray(softmax(self._logits(parameters), axis=1))

    def _logits(self, parameters: Array) -> Array:
        slope, intercepts, matrix = self.parts(parameters)
        logits = slope * self._values + intercepts
        return logits if matrix is None else logits + self._values @ matrix

    def _sums(self, residuals: Array) -> Array:
        """Return the transpose of ``_logits``, applied to a residual per row and class."""
        parts = [np.array([np.vdot(residuals, self._values)]), residuals.sum(axis=0)]
        if len(self._start) > 1 + self._values.shape[1]:
            parts.append((self._values.T @ residuals).ravel())
        return np.concatenate(parts)
