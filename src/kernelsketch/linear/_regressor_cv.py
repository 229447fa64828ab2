"""``GCWSRegressorCV``: regression with a C that is chosen by cross-validation."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.metrics import r2_score
from sklearn.model_selection import check_cv

from .._validation import check_n_jobs
from ..exceptions import InputError
from ..hashing import PackedCodes
from ._cv import CS, CrossValidated, used_folds
from ._folds import N_FOLDS, PATH_TOL, Fold, Problem, folds_of, shuffled_folds
from ._model import whole_or_nothing
from ._problem import Solution, Targets
from ._regression import Regression, targets_of
from ._regressor import GCWSRegressor
from ._row_weights import used_rows

Array = NDArray[Any]


class GCWSRegressorCV(CrossValidated, Regression):
    """Train a :class:`GCWSRegressor` whose ``C`` is chosen by cross-validation.

    The estimator hashes the rows once for all folds and all values of C, and standardizes the targets once, by the
    mean and the standard deviation of all rows. Within a fold it solves the values in ascending order, each with a warm
    start from the one before.

    Parameters
    ----------
    n_components, bits, t_bits, p, gamma, center, views
        Parameters of the hash, as for :class:`GCWS`.
    scale : {"standard", "robust", "quantile", None}, default=None
        How the model scales the columns before it hashes rows, as for :class:`GCWSClassifier`. It is fitted on all
        rows, those that a fold holds out included.
    Cs : int or array of floats, default=(0.1, 1, 10, 100)
        Values of C, or their number. A number means values from 10**-2 to 10**2.5 with equal ratios.
    cv : int, splitter or iterable, default=None
        Folds. None means 3 folds of rows in a fixed random order. The others are as in scikit-learn: a number means
        folds of successive rows.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn, or a function ``scoring(model, codes, targets)`` of a fold's model and its held-out
        rows. None means the coefficient of determination, R^2.
    refit : bool, default=True
        Whether to train on all rows with the best C at the end. If not, the model is the mean of the models of the
        folds.
    path_tol : float, default=1e-2
        Approximate duality gap, relative to the objective, of the models that are scored. ``tol`` applies to the final
        model.
    loss, epsilon, fit_intercept, intercept_scaling, tol, max_iter, verbose, random_state, n_jobs
        As for :class:`GCWSRegressor`.

    Attributes
    ----------
    C_ : float
        The best C: the smallest of those with the highest mean score.
    Cs_ : array of shape (n_Cs,)
        Values of C in ascending order.
    scores_ : array of shape (n_folds, n_Cs)
        Score of each value of C on each fold.
    n_iters_ : array of shape (n_folds, n_Cs)
        Number of passes over the rows.
    coef_, intercept_, n_iter_, dual_gap_, objective_, hasher_, used_codes_, n_features_in_, feature_names_in_
        As for :class:`GCWSRegressor`. Gap and objective exist only with ``refit``.

    See Also
    --------
    GCWSRegressor : The same model with a given C.
    GCWSClassifierCV : The same for classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from kernelsketch import GCWSRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GCWSRegressorCV(n_components=256, Cs=[0.01, 0.1, 1]).fit(X[:300], y[:300])
    >>> model.score(X[300:], y[300:]) > 0.4
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Regression._parameter_constraints,
        **CrossValidated._cv_constraints,
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
        Cs: Any = CS,
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        path_tol: float = PATH_TOL,
        loss: str = "squared_error",
        epsilon: float = 0.5,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
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
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.path_tol = path_tol
        self.loss = loss
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GCWSRegressorCV:
        """Hash the rows, score every C on every fold, and train the final model with the best C.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            Training rows, or their codes. Codes must come from the hash that the parameters describe.
        y : array of shape (n_samples,)
            Targets.
        sample_weight : array of shape (n_samples,), default=None
            Factor of C for each row. Whole numbers are equivalent to repeated rows, and rows of weight 0 are left out.
            Weights that sum to 1 make C too small: multiply them, or C, by the number of rows.
            They count in scores, unless ``scoring`` takes no weights.

        Returns
        -------
        self
        """
        X, y = self._check_rows_and_targets(X, y, y_numeric=True)
        y = np.asarray(y, np.float64)
        Cs, given = self._grid(sample_weight, len(y))
        used = used_rows(given)
        weights = self._costs(1.0, given, len(y))[used]
        folds = self._folds(y, used)
        y = y[used]
        for number, fold in enumerate(folds):
            if not (weights[fold.train] > 0).any():
                raise InputError(f"fold {number} trains on no row with a weight above 0: set cv to other folds.")
        hasher, table = self._hash(X, given)
        mean, spread = self._unit(y, weights)
        z = (y - mean) / spread

        def targets(cost: Array) -> Targets:
            return targets_of(z, cost)

        def score_model(found: Solution, codes: PackedCodes, test: Array, C: float) -> float:
            names = set(GCWSRegressor._get_param_names()) & set(self.get_params())
            model = GCWSRegressor(**{name: getattr(self, name) for name in names}, C=C)
            model.n_features_in_ = self.n_features_in_
            model._keep(hasher, table.used_codes, found, mean, spread)
            return float(self.scoring(model, codes, y[test]))

        problem = Problem(table, targets, weights, self._objective(), hasher, check_n_jobs(self.n_jobs))
        paths = self._paths(problem, folds, Cs, score_model)

        def score(number: int, q: int) -> float:
            predicted, test = mean + spread * paths.values[number][q][:, 0].astype(np.float64), folds[number].test
            scored = None if given is None else weights[test]
            if self.scoring is None:
                return float(r2_score(y[test], predicted, sample_weight=scored))
            return float(self._scored(_Answers(predicted), test, y[test], scored))

        best = self._choose(paths, score)
        found = problem.solve(np.ones(len(y), bool), Cs[best], self._stop()) if self.refit else paths.mean(best)
        self._keep(hasher, table.used_codes, found, mean, spread)
        if not self.refit:
            del self.dual_gap_, self.objective_
        return self

    def _folds(self, y: Array, used: Any) -> list[Fold]:
        """Return folds of the used rows. The targets are those of all rows."""
        n = len(y[used])
        if self.cv is None and n >= N_FOLDS:
            return shuffled_folds(np.zeros(n, np.int64))
        splitter = check_cv(N_FOLDS if self.cv is None else self.cv)  # refuses fewer rows than folds
        if self.cv is None or isinstance(self.cv, Integral):
            return folds_of(splitter.split(np.zeros((n, 1)), y[used]), n)
        return used_folds(folds_of(splitter.split(np.zeros((len(y), 1)), y), len(y)), used)


class _Answers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor as scikit-learn's scorers ask it, whose predictions are known. The rows are not looked at."""

    def __init__(self, predicted: Array) -> None:
        self.predicted = predicted

    def predict(self, _X: Any) -> Array:
        return self.predicted
