"""``GCWSRegressor``: hashing and linear regression on the codes in one estimator."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from .._validation import check_n_jobs, check_positive_int
from ..hashing import Hasher
from ._blocks import hash_blocks
from ._code_table import CodeSource, encode
from ._disk_codes import TemporaryCodes
from ._losses import loss_named
from ._model import whole_or_nothing
from ._online import learn
from ._regression import Regression, targets_of
from ._row_weights import used_rows
from ._solver import Progress, Solver

Array = NDArray[Any]


class GCWSRegressor(Regression):
    r"""Predict numbers with the accuracy of a kernel machine at the cost of a linear model.

    The estimator hashes each row to ``n_components`` codes and learns a linear model of the one-hot codes. It
    standardizes the targets, z = (y - mean) / sd, so that ``C`` and ``epsilon`` do not depend on their unit. Then it
    solves

    .. math:: \min_w \tfrac12 \|w\|^2 + C \sum_i \mathrm{loss}(w \cdot x_i - z_i)

    with rows x of unit norm by block dual coordinate descent on the codes, until the duality gap is small. With
    ``loss="squared_error"`` this is ridge regression with ``alpha = 1 / (2 C)`` on the one-hot features.

    Parameters
    ----------
    n_components, bits, t_bits, p, gamma, center, views
        Parameters of the hash, as for :class:`GCWS`.
    scale : {"standard", "robust", "quantile", None}, default=None
        How the model scales the columns before it hashes rows, as for :class:`GCWSClassifier`.
    C : float, default=1.0
        Weight of the losses relative to the norm of w. A larger C fits the training rows more closely and takes longer.
    loss : {"squared_error", "huber"}, default="squared_error"
        The loss. ``"huber"`` grows linearly beyond ``epsilon``, so outliers count less.
    epsilon : float, default=0.5
        Residual, in standard deviations of y, from which on the Huber loss is linear. Other losses do not use it.
    fit_intercept : bool, default=True
        Whether the model has an intercept. It is the mean of y plus a correction that is penalized like the weights.
    intercept_scaling : float, default=1.0
        Value of the feature of that correction.
    tol : float, default=1e-3
        Duality gap at which the solver stops, relative to the objective. If ``tol`` is below 1e-4, weights are float64.
    max_iter : int, default=1000
        Maximum number of passes over the rows.
    warm_start : bool, default=False
        Whether :meth:`fit` starts from the solution of the previous fit, which must be on the same rows.
    verbose : int, default=0
        1 reports the progress once per second, 2 after each pass.
    random_state : int, RandomState instance or None, default=0
        Seed of the hash and of the order of rows. Results do not depend on ``n_jobs``.
    n_jobs : int, default=None
        Number of threads for hashing, learning and prediction. None means 1, and -1 means all processors. Results do
        not depend on it.

    Attributes
    ----------
    coef_ : array of shape (1, n_components * 2**(bits + t_bits))
        Coefficients of the one-hot features, in units of y. They are made when you ask for them, from a table that has
        weights only for used codes. They are float32, or float64 if ``tol`` is below 1e-4.
    intercept_ : float
        Intercept, in units of y.
    n_iter_ : int
        Number of passes over the rows.
    dual_gap_, objective_ : float
        Duality gap and objective of the problem with standardized targets. The objective is at most ``dual_gap_``
        above its minimum. Its costs, C times the weights, its targets and ``epsilon`` are those of the solver, in
        float32, so that C=0.1 is 0.100000001. They exist after :meth:`fit` and :meth:`fit_blocks`.
    hasher_ : GCWS
        The hash as a fitted transformer.
    used_codes_ : array of shape (n_used_codes,)
        Codes that occur in the training rows, in ascending order.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of shape (n_features,)
        Names of the columns, if X had names.

    See Also
    --------
    GCWS : The features alone, for other models.
    GCWSRegressorCV : The same model, with C chosen by cross-validation.
    GCWSClassifier : The same for classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kernelsketch import GCWSRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> GCWSRegressor(n_components=256, C=0.1).fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.4
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Regression._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "warm_start": ["boolean"],
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
        views: Any = None,
        scale: str | None = None,
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
        self.views = views
        self.scale = scale
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
        """Hash the rows and train the model to the duality gap ``tol``.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            Training rows, or their codes. Codes must come from the hash that the parameters describe.
        y : array of shape (n_samples,)
            Targets.
        sample_weight : array of shape (n_samples,), default=None
            Factor of C for each row. Whole numbers are equivalent to repeated rows, and rows of weight 0 are left out.
            Weights that sum to 1 make C too small: multiply them, or C, by the number of rows.

        Returns
        -------
        self
        """
        X, y = self._check_rows_and_targets(X, y, y_numeric=True)
        y = np.asarray(y, np.float64)
        weights = self._weights(sample_weight, len(y), self.C)
        hasher, table = self._hash(X, weights)
        return self._learn(hasher, table, y, weights)

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @whole_or_nothing
    def fit_blocks(
        self, blocks: Any, *, memory: int = 1 << 31, temp_dir: Any = None, progress: Any = None
    ) -> GCWSRegressor:
        """Train out-of-core, on blocks of rows that together need not fit in memory.

        The weights equal those of :meth:`fit` on the same rows in the same order, whatever the blocks and ``memory``
        are. :meth:`GCWSClassifier.fit_blocks` describes how it works.

        Parameters
        ----------
        blocks : iterable of (X, y) or (X, y, sample_weight)
            Blocks of rows, each as for :meth:`fit`. The method iterates over them once. CSR blocks may differ in
            width: the widest one determines ``n_features_in_``. With ``views`` all widths must be equal. ``center``
            must be a vector or None.
        memory : int, default=2**31
            Maximum number of bytes to use, besides the current block.
        temp_dir : str or path, default=None
            Directory of the temporary file. None means the system's directory for temporary files.
        progress : callable, default=None
            Function that is called after each pass over the codes, with the number of the pass and the duality gap,
            relative to the objective. It is called again with the same values during a pass that takes longer than
            about 5 seconds.

        Returns
        -------
        self
        """
        memory, threads = check_positive_int(memory, "memory"), check_n_jobs(self.n_jobs)
        with TemporaryCodes(temp_dir, memory, loss_named(self.loss), self._stop().real, threads) as stored:
            hasher, targets, sample_weight = hash_blocks(self, blocks, stored, y_numeric=True)
            y = np.asarray(targets.values(), np.float64)
            weights = self._weights(sample_weight, len(y), self.C)
            return self._learn(hasher, stored.table(1), y, weights, progress)

    def _learn(
        self, hasher: Hasher, table: CodeSource, y: Array, weights: Array | None, progress: Progress | None = None
    ) -> GCWSRegressor:
        """Train on the codes of the rows that have a weight above 0. Targets and weights are those of all rows."""
        n, used = len(y), used_rows(weights)
        y, cost = y[used], self._costs(self.C, weights, n)[used]
        mean, spread = self._unit(y, cost)
        start = self._previous_duals(1, n, used)
        if start is not None:
            start = loss_named(self.loss).feasible(start, y, cost, self._objective().epsilon)
        solver = Solver(
            self._objective(),
            self._stop(),
            seed=hasher.seed,
            threads=check_n_jobs(self.n_jobs),
            progress=progress or self._progress(),
        )
        found = solver.solve(table, targets_of((y - mean) / spread, cost), start)
        self._keep(hasher, table.used_codes, found, mean, spread)
        self._beta = self._duals_to_keep(found.beta, n, used)
        return self

    @whole_or_nothing
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> GCWSRegressor:
        """Learn from the next rows of a stream, in one pass.

        Each block of 256 rows makes a proximal step, as in :meth:`GCWSClassifier.partial_fit`. The first call
        determines the mean and the standard deviation by which targets are standardized.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            The next rows, or their codes.
        y : array of shape (n_samples,)
            Targets.
        sample_weight : array of shape (n_samples,), default=None
            Factor of C for each row. Whole numbers are equivalent to repeated rows, and rows of weight 0 are left out.
            Weights that sum to 1 make C too small: multiply them, or C, by the number of rows.

        Returns
        -------
        self
        """
        self._validate_params()
        first = not hasattr(self, "_hasher")
        X, y = self._check_rows_and_targets(X, y, reset=first, y_numeric=True)
        y = np.asarray(y, np.float64)
        weights = self._weights(sample_weight, len(y), self.C, stacklevel=4)
        used = used_rows(weights)
        y, cost = y[used], self._costs(self.C, weights, len(y))[used]
        hasher, codes = self._stream(X, first, weights)
        if first:
            mean, spread = self._unit(y, cost)
        else:
            mean, spread = self._mean, self._spread
        state = self._online(codes, 1)
        table, _ = encode(codes, state.used_codes)
        targets = targets_of((y - mean) / spread, cost)
        learn(state, table, targets, self._objective(), hasher.seed, check_n_jobs(self.n_jobs))
        self._mean, self._spread = mean, spread
        self._keep_state(hasher, state)
        self._set_intercept()
        return self
