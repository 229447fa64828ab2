"""GCWSClassifierCV: C by cross-validation, with one hashing and warm starts along the path."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.metrics import accuracy_score, get_scorer, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions

from .._validation import check_n_jobs
from ..exceptions import InputError
from ..hashing import PackedCodes
from ._alphabet import CodeTable
from ._classifier import GCWSClassifier
from ._dual import Solution, Stop, Targets, solve, squared_norm
from ._model import whole_or_nothing
from ._one_vs_rest import OneVsRest, classes_of

Array = NDArray[Any]


class GCWSClassifierCV(OneVsRest):
    """:class:`GCWSClassifier` whose ``C`` is chosen by cross-validation.

    Rows are hashed once for all folds and all values of C. Within a fold the values are solved in ascending order, each
    starting from the solution before it.

    Parameters
    ----------
    n_components, bits, t_bits, p, gamma, center
        Of the hash: see :class:`GCWS`.
    Cs : int or array of floats, default=10
        Values of C, or how many: evenly spaced in the logarithm from 10**-2 to 10**2.5.
    cv : int, splitter or iterable, default=None
        As in scikit-learn; None is 5 folds, stratified.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn; None is the accuracy.
    refit : bool, default=True
        Whether to learn on all rows with the best C. If not, the model is the mean of those of the folds.
    path_tol : float, default=1e-2
        Duality gap of the models that are scored, relative to the objective, about. Scores hardly change below it;
        ``tol`` is that of the model learned in the end.
    loss, class_weight, fit_intercept, intercept_scaling, tol, max_iter, verbose, random_state, n_jobs
        As for :class:`GCWSClassifier`.

    Attributes
    ----------
    C_ : float
        The best C: the smallest of those with the highest mean score.
    Cs_ : array of shape (n_Cs,)
    scores_ : array of shape (n_folds, n_Cs)
    n_iters_ : array of shape (n_folds, n_Cs)
        Passes of the slowest class.
    classes_, coef_, intercept_, n_iter_, dual_gap_, objective_, hasher_, alphabet_, n_features_in_, feature_names_in_
        As for :class:`GCWSClassifier`; gap and objective only with ``refit``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernelsketch import GCWSClassifierCV
    >>> X, y = load_digits(return_X_y=True)
    >>> model = GCWSClassifierCV(n_components=128, Cs=[0.1, 1, 10], cv=3).fit(X[:600], y[:600])
    >>> model.scores_.shape
    (3, 3)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OneVsRest._parameter_constraints,
        "loss": GCWSClassifier._parameter_constraints["loss"],
        "class_weight": GCWSClassifier._parameter_constraints["class_weight"],
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "refit": ["boolean"],
        "path_tol": [Interval(Real, 0, None, closed="neither")],
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
        Cs: Any = 10,
        cv: Any = None,
        scoring: Any = None,
        refit: bool = True,
        path_tol: float = 1e-2,
        loss: str = "squared_hinge",
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
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.path_tol = path_tol
        self.loss = loss
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
        """Hash the rows, score every C on every fold, and learn with the best.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        X, y = self._check_rows_and_targets(X, y)
        classes, labels = classes_of(y)
        values = self._grid()
        folds = list(check_cv(self.cv, labels, classifier=True).split(np.zeros((len(labels), 1)), labels))
        weights = self._costs(1.0, sample_weight, len(labels))
        for C in values[[0, -1]]:
            self._costs(C, sample_weight, len(labels))  # refuses a C out of range before any work
        hasher, table = self._hash(X)
        path = self._stop()._replace(tol=float(self.path_tol), exact=False)
        scores, passes = np.empty((len(folds), len(values))), np.zeros((len(folds), len(values)), np.int64)
        chosen: list[Solution] = []
        sums: list[tuple[Array, Array]] = []  # of tables and biases over folds, for each C
        for number, fold in enumerate(folds):
            train, test = (np.arange(len(labels))[part] for part in fold)  # of masks too
            inside = np.zeros(len(labels), bool)
            inside[train] = True
            if len(np.unique(labels[inside & (weights > 0)])) < 2:
                raise InputError(f"fold {number} trains on one class only: use fewer or stratified folds.")
            start = None
            for q, C in enumerate(values):
                found = self._solve(table, classes, labels, np.where(inside, C * weights, 0), hasher.seed, start, path)
                start, passes[number, q] = found, int(found.passes.max())
                scores[number, q] = self._score(
                    table, hasher, classes, labels, test, found, None if sample_weight is None else weights, C
                )
                if not self.refit:
                    if number == 0:
                        sums.append((found.w.copy(), found.bias.copy()))
                    else:
                        sums[q][0][...] += found.w
                        sums[q][1][...] += found.bias
                if self.verbose:
                    print(
                        f"[{type(self).__name__}] fold {number + 1}/{len(folds)}, C={C:g}: {scores[number, q]:.4f}",
                        flush=True,
                    )
        best = int(np.argmax(scores.mean(axis=0)))
        if self.refit:
            cost = np.asarray(values[best] * weights, np.float32)
            chosen = [self._solve(table, classes, labels, cost, hasher.seed, None, self._stop())]
        self.classes_, self.Cs_, self.C_ = classes, values, float(values[best])
        self.scores_, self.n_iters_ = scores, passes
        if chosen:
            self._keep(hasher, table.alphabet, chosen[0])
        else:
            w, bias = sums[best][0] / np.float32(len(folds)), sums[best][1] / len(folds)
            nothing = np.full(len(w), np.nan)
            mean = Solution(w, bias, w[:, 0], nothing, nothing, passes[:, best])
            self._keep(hasher, table.alphabet, mean)
            del self.dual_gap_, self.objective_
        return self

    def _grid(self) -> Array:
        if isinstance(self.Cs, Integral):
            return np.logspace(-2, 2.5, int(self.Cs))
        values = np.asarray(self.Cs, dtype=object)
        right = values.ndim == 1 and len(values) and all(isinstance(C, Real) and 0 < float(C) < np.inf for C in values)
        if not right:
            raise InputError(f"Cs must be a number of values, or a list of numbers above 0, got {self.Cs!r}.")
        return np.sort(values.astype(np.float64))

    def _solve(
        self,
        table: CodeTable,
        classes: Array,
        labels: Array,
        cost: Array,
        seed: int,
        start: Solution | None,
        stop: Stop,
    ) -> Solution:
        targets = self._targets(classes, labels, cost.astype(np.float32))
        return solve(
            table,
            targets,
            self._objective(),
            stop,
            seed=seed,
            threads=check_n_jobs(self.n_jobs),
            start=None if start is None else self._scaled(start, targets),
        )

    def _scaled(self, found: Solution, targets: Targets) -> Solution:
        """The solution of a smaller C, whose bounds hold here too; times what makes the dual objective largest.

        Only for the squared hinge loss, whose duals have no upper bound.
        """
        if self.loss == "squared_hinge":
            k = found.w.shape[1]
            for p in range(len(found.beta)):
                y, cost = targets.of(p, slice(None))
                b, used = found.beta[p].astype(np.float64), cost > 0
                norm = squared_norm(found.w[p], found.bias[p], k) + float((b[used] ** 2 / (2 * cost[used])).sum())
                factor = np.float32(float(y @ b) / norm if norm > 0 else 1.0)
                for part in (found.w[p], found.bias[p : p + 1], found.beta[p]):
                    part *= factor
        return found

    def _score(
        self,
        table: CodeTable,
        hasher: Any,
        classes: Array,
        labels: Array,
        test: Array,
        found: Solution,
        sample_weight: Any,
        C: float,
    ) -> float:
        rows = table.codes[test], table.empty[test]
        backend = table.backend(check_n_jobs(self.n_jobs))
        if self.scoring is None:
            out = backend.to_numpy(backend.linear_decide(*rows, self._scale(), found.w, found.bias))
            best = out[:, 0] > 0 if out.shape[1] == 1 else out.argmax(axis=1)
            weight = None if sample_weight is None else sample_weight[test]
            return float(accuracy_score(labels[test], best, sample_weight=weight))
        names = set(GCWSClassifier._get_param_names()) & set(self.get_params())
        model = GCWSClassifier(**{name: getattr(self, name) for name in names}, C=float(C))
        model.classes_ = classes
        model._keep(hasher, table.alphabet, found)
        codes = backend.from_numpy(table.alphabet.astype(np.uint32))[rows[0]]
        held_out = PackedCodes(backend.pack(codes, hasher.width), rows[1].astype(bool), hasher, self.n_features_in_)
        scorer = get_scorer(self.scoring)
        return float(scorer(model, held_out, classes[labels[test]]))
