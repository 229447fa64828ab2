"""Regression: what ``GCWSRegressor`` and ``GCWSRegressorCV`` share."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions

from ..backends import LinearObjective, in_library_of
from ..hashing import Hasher
from ._losses import REGRESSOR_LOSSES, loss_number
from ._model import LinearOnCodes
from ._pipeline import pipeline_of_regressor
from ._problem import Solution, Targets

Array = NDArray[Any]


class Regression(RegressorMixin, LinearOnCodes):  # type: ignore[misc]
    """Base of the regressors: one table of weights, and the unit of the targets."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LinearOnCodes._parameter_constraints,
        "loss": [StrOptions(set(REGRESSOR_LOSSES))],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
    }

    _mean: float
    _spread: float

    def predict(self, X: Any) -> Array:
        """Predict the targets of rows.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            Rows, or their codes under the hash of the model.

        Returns
        -------
        targets : array of shape (n_samples,)
        """
        values = self._decision_values(X)[:, 0]  # comes first, because it refuses a model that is not fitted
        targets: Array = in_library_of(X, self._mean + self._spread * values)
        return targets

    def to_sklearn(self) -> Any:
        """Convert the fitted model to a pipeline of :class:`GCWS` and Ridge with the same predictions.

        Returns
        -------
        pipeline : sklearn.pipeline.Pipeline
            The fitted pipeline.
        """
        return pipeline_of_regressor(self)

    @property
    def coef_(self) -> Array:
        """Coefficients of the one-hot features in units of y, of shape (1, n_components * 2**(bits + t_bits))."""
        return np.asarray(super().coef_ * self._w.dtype.type(self._spread))

    def _objective(self) -> LinearObjective:
        return LinearObjective(loss_number(self.loss), self._scale(), float(np.float32(self.epsilon)))

    def _unit(self, y: Array, cost: Array) -> tuple[float, float]:
        """Return the mean (0 without an intercept) and the standard deviation of the targets."""
        exponent = int(np.frexp(np.abs(y).max())[1])  # because the squares of y itself could overflow
        unit = np.ldexp(y, -exponent)
        mean = float(np.average(unit, weights=cost)) if self.fit_intercept else 0.0
        spread = float(np.ldexp(np.sqrt(np.average((unit - mean) ** 2, weights=cost)), exponent))
        return float(np.ldexp(mean, exponent)), spread if spread > 0 else 1.0

    def _keep(self, hasher: Hasher, used_codes: Array, found: Solution, mean: float, spread: float) -> None:
        self._hasher, self.used_codes_ = hasher, used_codes
        self._w, self._bias, self._mean, self._spread = found.w, found.bias, mean, spread
        self._offset = self._scale() * found.bias
        self._set_intercept()
        self.n_iter_ = int(found.passes.max())
        self.dual_gap_, self.objective_ = float(found.gap[0]), float(found.objective[0])
        self._beta = self._state = None

    def _set_intercept(self) -> None:
        self.intercept_ = self._mean + self._spread * float(self._offset[0])


def targets_of(z: Array, cost: Array) -> Targets:
    """Return standardized targets as the solver takes them."""
    return Targets(None, z.astype(np.float32), cost, np.zeros(1, np.int32), np.ones((1, 2), np.float32))
