"""``GCWSClassifierCV``: classification with a C that is chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.metrics import accuracy_score
from sklearn.model_selection import check_cv

from ..exceptions import InputError
from ..hashing import PackedCodes
from ..serving import Calibration, class_numbers, shares_of
from ._calibration import fit_calibration
from ._classifier import GCWSClassifier
from ._cv import CS, CrossValidated, Paths, used_folds
from ._folds import PATH_TOL, Fold, folds_of, shuffled_folds, stratified_folds
from ._losses import loss_named
from ._model import whole_or_nothing
from ._one_vs_rest import OneVsRest, classes_of, known_rows
from ._problem import Solution
from ._row_weights import used_rows

Array = NDArray[Any]


class GCWSClassifierCV(CrossValidated, OneVsRest):
    """Train a :class:`GCWSClassifier` whose ``C`` is chosen by cross-validation.

    The estimator hashes the rows once for all folds and all values of C. Within a fold it solves the values in
    ascending order, each with a warm start from the one before.

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
        Folds. None means 3 stratified folds of rows in a fixed random order. The others are as in scikit-learn: a
        number means stratified folds of rows in their own order.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn, or a function ``scoring(model, codes, labels)`` of a fold's model and its held-out
        rows. None means the accuracy. Scorers that need probabilities, such as ``"neg_log_loss"``, work with every
        loss: the held-out rows of a fold are calibrated on those of the other folds, with one slope for all classes,
        unless the loss has probabilities of its own and ``probability`` is None.
    refit : bool, default=True
        Whether to train on all rows with the best C at the end. If not, the model is the mean of the models of the
        folds.
    path_tol : float, default=1e-2
        Approximate duality gap, relative to the objective, of the models that are scored. Scores hardly change below
        it. ``tol`` applies to the final model.
    probability : {"calibrated", None}, default=None
        As for :class:`GCWSClassifier`. The calibration takes the decision values of the cross-validation.
    loss, class_weight, fit_intercept, intercept_scaling, tol, max_iter, verbose, random_state, n_jobs
        As for :class:`GCWSClassifier`.

    Attributes
    ----------
    C_ : float
        The best C: the smallest of those with the highest mean score.
    Cs_ : array of shape (n_Cs,)
        Values of C in ascending order.
    scores_ : array of shape (n_folds, n_Cs)
        Score of each value of C on each fold.
    n_iters_ : array of shape (n_folds, n_Cs)
        Number of passes of the class that took the most.
    classes_, coef_, intercept_, n_iter_, dual_gap_, objective_, hasher_, used_codes_, n_features_in_, feature_names_in_
        As for :class:`GCWSClassifier`. Gap and objective exist only with ``refit``.

    See Also
    --------
    GCWSClassifier : The same model with a given C.
    GCWSRegressorCV : The same for regression.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernelsketch import GCWSClassifierCV
    >>> X, y = load_digits(return_X_y=True)
    >>> model = GCWSClassifierCV(n_components=128, Cs=[0.1, 1, 10]).fit(X[:600], y[:600])
    >>> model.scores_.shape
    (3, 3)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OneVsRest._parameter_constraints,
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
        loss: str = "squared_hinge",
        probability: str | None = None,
        class_weight: Any = None,
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
        self.probability = probability
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GCWSClassifierCV:
        """Hash the rows, score every C on every fold, and train the final model with the best C.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            Training rows, or their codes. Codes must come from the hash that the parameters describe.
        y : array of shape (n_samples,)
            Class labels of any type.
        sample_weight : array of shape (n_samples,), default=None
            Factor of C for each row. Whole numbers are equivalent to repeated rows, and rows of weight 0 are left out.
            Weights that sum to 1 make C too small: multiply them, or C, by the number of rows.
            They count in scores, unless ``scoring`` takes no weights.

        Returns
        -------
        self
        """
        X, y = self._check_rows_and_targets(X, y)
        classes, labels = classes_of(y)
        Cs, given = self._grid(sample_weight, len(labels))
        used = used_rows(given)
        weights = self._costs(1.0, given, len(labels))[used]
        folds = self._folds(labels, used, weights)
        labels = labels[used]
        hasher, table = self._hash(X, given)
        problem = self._problem(hasher, table, classes, labels, weights)

        def score_model(found: Solution, codes: PackedCodes, test: Array, C: float) -> float:
            names = set(GCWSClassifier._get_param_names()) & set(self.get_params()) - {"probability"}
            model = GCWSClassifier(**{name: getattr(self, name) for name in names}, C=C)
            model.classes_, model.n_features_in_ = classes, self.n_features_in_
            model._keep(hasher, table.used_codes, found)
            return float(self.scoring(model, codes, classes[labels[test]]))

        paths = self._paths(problem, folds, Cs, score_model)
        counted = weights * self._class_weights(classes, labels, weights)[labels]
        held_out = _HeldOut(paths, classes, labels, counted)
        scored_weights = None if given is None else weights
        best = self._choose(paths, lambda number, q: self._score(held_out, number, q, scored_weights))
        calibration = None if self.probability is None else held_out.calibration(best)
        found = problem.solve(np.ones(len(labels), bool), Cs[best], self._stop()) if self.refit else paths.mean(best)
        self.classes_ = classes
        self._keep(hasher, table.used_codes, found)
        self._calibration = calibration
        if not self.refit:
            del self.dual_gap_, self.objective_
        return self

    def _folds(self, labels: Array, used: Any, weights: Array) -> list[Fold]:
        """Return folds of the used rows. The labels are those of all rows, and the weights those of the used rows."""
        if self.cv is None:
            folds = shuffled_folds(labels[used])
        elif isinstance(self.cv, Integral):
            check_cv(self.cv)  # refuses a number below 2
            folds = stratified_folds(labels[used], int(self.cv))
        else:
            splits = check_cv(self.cv, labels, classifier=True).split(np.zeros((len(labels), 1)), labels)
            folds = used_folds(folds_of(splits, len(labels)), used)
        for number, fold in enumerate(folds):
            if len(np.unique(labels[used][fold.train & (weights > 0)])) < 2:
                raise InputError(f"fold {number} trains on one class only: set cv to fewer or stratified folds.")
        return folds

    def _score(self, held_out: _HeldOut, number: int, q: int, weights: Array | None) -> float:
        values, test = held_out.paths.values[number][q], held_out.paths.folds[number].test
        labels = held_out.labels[test]
        if self.scoring is None:
            weight = None if weights is None else weights[test]
            return float(accuracy_score(labels, class_numbers(values), sample_weight=weight))
        own = self.probability is None and loss_named(self.loss).has_probabilities

        def probabilities() -> Array:
            if own:
                return shares_of(values.astype(np.float64))
            return held_out.calibration(q, without=number, common_slope=True).probabilities(values.astype(np.float64))

        answers = _Answers(held_out.classes, values, probabilities)
        scored = None if weights is None else weights[test]
        return float(self._scored(answers, test, held_out.classes[labels], scored))


class _HeldOut:
    """Decision values of held-out rows, and their calibration."""

    def __init__(self, paths: Paths, classes: Array, labels: Array, weights: Array) -> None:
        self.paths, self.classes, self.labels, self._weights = paths, classes, labels, weights

    def calibration(self, q: int, *, without: int | None = None, common_slope: bool = False) -> Calibration:
        """Calibrate the values of one C, of all folds or all but one."""
        chosen = [number for number in range(len(self.paths.folds)) if number != without]
        if not chosen:
            raise InputError(
                "cv has a single fold, so no other fold can calibrate the probabilities that scoring needs: set cv to "
                "2 or more folds, or loss='log_loss' with probability=None."
            )
        rows, values = [], []
        for number in chosen:
            fold = self.paths.folds[number]
            known = np.isin(fold.test, known_rows(fold, self.labels, self._weights))
            rows.append(fold.test[known])
            values.append(self.paths.values[number][q][known])
        every = np.concatenate(rows)
        if len(every) == 0:
            raise InputError("no class has 2 rows, so that none can be calibrated: pass more rows of each class.")
        return fit_calibration(
            np.concatenate(values),
            self.labels[every],
            len(self.classes),
            self._weights[every],
            common_slope=common_slope,
        )


class _Answers(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier as scikit-learn's scorers ask it, whose decision values are known. The rows are not looked at."""

    def __init__(self, classes: Array, values: Array, probabilities: Callable[[], Array]) -> None:
        self.classes, self.values, self.probabilities = classes, values, probabilities
        self.classes_ = classes

    def decision_function(self, _X: Any) -> Array:
        return self.values[:, 0] if self.values.shape[1] == 1 else self.values

    def predict(self, _X: Any) -> Array:
        return np.asarray(self.classes_[class_numbers(self.values)])

    def predict_proba(self, _X: Any) -> Array:
        return self.probabilities()
