"""GCWSRegressor: the hash and a linear regression on its codes as one estimator."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from .._validation import check_n_jobs, check_positive_int
from ..backends import LinearObjective
from ..hashing import Hasher
from ._alphabet import Rows, encode
from ._blocks import hash_blocks
from ._dual import Progress, Targets, solve
from ._losses import loss_number
from ._model import LinearOnCodes, whole_or_nothing
from ._online import learn
from ._pipeline import pipeline_of_regressor
from ._spilled import Spill

Array = NDArray[Any]


class GCWSRegressor(RegressorMixin, LinearOnCodes):  # type: ignore[misc]
    r"""Linear regression on the codes of :class:`GCWS`.

    The targets are standardized, z = (y - mean) / sd, so that ``C`` and ``epsilon`` do not depend on their unit; then

    .. math:: \min_w \tfrac12 \|w\|^2 + C \sum_i \mathrm{loss}(w \cdot x_i - z_i)

    with rows x of unit norm, solved on the codes to a duality gap. With ``loss="squared_error"`` that is ridge
    regression with ``alpha = 1 / (2 C)`` on the one-hot features.

    Parameters
    ----------
    n_components, bits, t_bits, p, gamma, center
        Of the hash: see :class:`GCWS`.
    C : float, default=1.0
        Weight of the losses against the norm.
    loss : {"squared_error", "huber"}, default="squared_error"
        ``huber`` grows linearly beyond ``epsilon``: outliers count less.
    epsilon : float, default=0.5
        Residual, in standard deviations of y, where the Huber loss becomes linear.
    fit_intercept : bool, default=True
        The intercept is the mean of y plus a correction that is penalized with the weights.
    intercept_scaling : float, default=1.0
        Value of the feature of that correction.
    tol : float, default=1e-3
        Duality gap at which the problem is solved, relative to its objective. Below 1e-4 weights are float64.
    max_iter : int, default=1000
        Passes over the rows, at most.
    warm_start : bool, default=False
        Whether :meth:`fit` starts from the solution of the last fit, on the same rows.
    verbose : int, default=0
        1 reports once a second, 2 after each pass.
    random_state : int, RandomState instance or None, default=0
        Seed of the hash and of the order of rows.
    n_jobs : int, default=None
        Threads for hashing and prediction. None is 1, -1 all processors.

    Attributes
    ----------
    coef_ : array of shape (1, n_components * 2**(bits + t_bits))
        float32, or float64 with ``tol`` below 1e-4.
    intercept_ : float
    n_iter_ : int
    dual_gap_, objective_ : float
        Of the standardized problem. After :meth:`fit` only.
    hasher_ : GCWS
    alphabet_ : array
        Codes that occur.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)

    See Also
    --------
    GCWSClassifier : the same for classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kernelsketch import GCWSRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> GCWSRegressor(n_components=256, C=0.1).fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.4
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LinearOnCodes._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "warm_start": ["boolean"],
        "loss": [StrOptions({"squared_error", "huber"})],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int = 1024,
        *,
        bits: int = 8,
        t_bits: int = 0,
        p: float = 1.0,
        gamma: float | None = None,
        center: Any = None,
        C: float = 1.0,
        loss: str = "squared_error",
        epsilon: float = 0.5,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.bits = bits
        self.t_bits = t_bits
        self.p = p
        self.gamma = gamma
        self.center = center
        self.C = C
        self.loss = loss
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GCWSRegressor:
        """Hash the rows and learn.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            Codes must come from the hash that the parameters describe.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None
            Factors of C.

        Returns
        -------
        self
        """
        X, y = self._check_rows_and_targets(X, y, y_numeric=True)
        y = np.asarray(y, np.float64)
        self._costs(self.C, sample_weight, len(y))  # refuses them before any work
        hasher, table = self._hash(X)
        return self._learn(hasher, table, y, sample_weight)

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @whole_or_nothing
    def fit_blocks(
        self, blocks: Any, *, memory: int = 1 << 31, folder: Any = None, progress: Any = None
    ) -> GCWSRegressor:
        """Learn from rows that come in blocks and need not fit in memory; see :meth:`GCWSClassifier.fit_blocks`.

        Parameters
        ----------
        blocks : iterable of (X, y) or (X, y, sample_weight)
            Each as for :meth:`fit`; gone over once. CSR blocks may differ in width: the widest counts.
            ``center`` must be a vector or None.
        memory : int, default=2**31
            Bytes to use at most, besides the block at hand.
        folder : str or path, default=None
            Where the temporary file is made; None is the system's folder for such files.
        progress : callable, default=None
            Called after each pass over the codes with its number and the duality gap, relative to the objective.

        Returns
        -------
        self
        """
        memory, threads = check_positive_int(memory, "memory"), check_n_jobs(self.n_jobs)
        with Spill(folder, memory, np.dtype(self._stop().real).itemsize, threads) as spill:
            hasher, y, sample_weight = hash_blocks(self, blocks, spill, y_numeric=True)
            table = spill.table(1)
            return self._learn(hasher, table, np.asarray(y, np.float64), sample_weight, progress)

    def _learn(
        self, hasher: Hasher, table: Rows, y: Array, sample_weight: Any, progress: Progress | None = None
    ) -> GCWSRegressor:
        cost = self._costs(self.C, sample_weight, len(y))
        mean, spread = self._unit(y, cost)
        start = getattr(self, "_beta", None) if self.warm_start else None
        if start is not None and start.shape != (1, len(y)):
            start = None
        if start is not None:
            within = 2 * cost.astype(np.float64) * self._objective().epsilon
            most = within if self.loss == "huber" else np.where(cost > 0, np.inf, 0)
            start = np.clip(start, -most, most)
        found = solve(
            table,
            _targets((y - mean) / spread, cost),
            self._objective(),
            self._stop(),
            seed=hasher.seed,
            threads=check_n_jobs(self.n_jobs),
            start=start,
            progress=progress or self._progress(),
        )
        self._hasher, self.alphabet_ = hasher, table.alphabet
        self._w, self._bias, self._mean, self._spread = found.w, found.bias, mean, spread
        self._offset = self._scale() * found.bias
        self._set_intercept()
        self.n_iter_ = int(found.passes[0])
        self.dual_gap_, self.objective_ = float(found.gap[0]), float(found.objective[0])
        self._beta = found.beta if self.warm_start else None
        self._state = None
        return self

    @whole_or_nothing
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> GCWSRegressor:
        """Learn from some rows of a stream, each visited once; see :meth:`GCWSClassifier.partial_fit`.

        Mean and standard deviation of y are those of the first call.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        self._validate_params()
        first = not hasattr(self, "_hasher")
        X, y = self._check_rows_and_targets(X, y, reset=first, y_numeric=True)
        y = np.asarray(y, np.float64)
        cost = self._costs(self.C, sample_weight, len(y))
        hasher, codes = self._stream(X, first)
        if first:
            mean, spread = self._unit(y, cost)
        else:
            mean, spread = self._mean, self._spread
        state = self._online(codes, 1)
        table, _ = encode(codes, state.alphabet)
        targets = _targets((y - mean) / spread, cost)
        learn(state, table, targets, self._objective(), hasher.seed, check_n_jobs(self.n_jobs))
        self._mean, self._spread = mean, spread
        self._keep_state(hasher, state)
        self._set_intercept()
        return self

    def predict(self, X: Any) -> Array:
        """Predicted targets, (n_samples,).

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes of the model's hash
        """
        values = self._decision_values(X)[:, 0]  # first: it refuses a model that is not fitted
        return self._mean + self._spread * values

    def to_sklearn(self) -> Any:
        """The fitted model as a pipeline of :class:`GCWS` and Ridge of scikit-learn with the same predictions.

        Returns
        -------
        pipeline : sklearn.pipeline.Pipeline
        """
        return pipeline_of_regressor(self)

    @property
    def coef_(self) -> Array:
        """Coefficients of the one-hot features of unit norm, in units of y: (1, n_components * 2**(bits + t_bits))."""
        return np.asarray(super().coef_ * self._w.dtype.type(self._spread))

    def _objective(self) -> LinearObjective:
        return LinearObjective(loss_number(self.loss), self._scale(), float(np.float32(self.epsilon)))

    def _unit(self, y: Array, cost: Array) -> tuple[float, float]:
        """Mean (0 without an intercept) and standard deviation of the targets."""
        exponent = int(np.frexp(np.abs(y).max())[1])  # squares of y itself could pass the range of floats
        unit = np.ldexp(y, -exponent)
        mean = float(np.average(unit, weights=cost)) if self.fit_intercept else 0.0
        spread = float(np.ldexp(np.sqrt(np.average((unit - mean) ** 2, weights=cost)), exponent))
        return float(np.ldexp(mean, exponent)), spread if spread > 0 else 1.0

    def _set_intercept(self) -> None:
        self.intercept_ = self._mean + self._spread * float(self._offset[0])


def _targets(z: Array, cost: Array) -> Targets:
    return Targets(None, z.astype(np.float32), cost, np.zeros(1, np.int32), np.ones((1, 2), np.float32))
