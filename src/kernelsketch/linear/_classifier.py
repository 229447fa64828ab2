"""GCWSClassifier: the hash and a linear classifier on its codes as one estimator."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets

from .._validation import check_n_jobs, check_positive_int
from ..exceptions import InputError
from ..hashing import Hasher
from ._alphabet import Rows, encode
from ._blocks import hash_blocks
from ._dual import Progress, solve
from ._model import whole_or_nothing
from ._one_vs_rest import OneVsRest, classes_of
from ._online import OnlineState, learn
from ._pipeline import classifier_of
from ._spilled import Spill

Array = NDArray[Any]


class GCWSClassifier(OneVsRest):
    r"""Linear classifier on the codes of :class:`GCWS`: kernel accuracy at linear cost.

    Rows are hashed to ``n_components`` codes, and for each class (one against the rest) a linear model is learned whose
    features are the one-hot codes, scaled to rows of unit norm:

    .. math:: \min_w \tfrac12 \|w\|^2 + C \sum_i \mathrm{loss}(y_i\, w \cdot x_i).

    That is :class:`sklearn.svm.LinearSVC` on :meth:`GCWS.transform`, but the one-hot matrix is never made: the solver
    works on the codes themselves, one byte each, and stops at a duality gap that proves how far the objective is
    from its minimum.

    Parameters
    ----------
    n_components, bits, t_bits, p, gamma, center
        Of the hash: see :class:`GCWS`.
    C : float, default=1.0
        Weight of the losses against the norm; refers to rows of unit norm. A larger C fits closer and takes longer.
    loss : {"squared_hinge", "hinge", "log_loss"}, default="squared_hinge"
        ``log_loss`` gives :meth:`predict_proba`.
    class_weight : dict, "balanced" or None, default=None
        Factors of C for each class, as in LinearSVC.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1.0
        Value of the intercept's feature; the intercept is penalized with the weights, as in LinearSVC.
    tol : float, default=1e-3
        Duality gap at which a problem is solved, relative to its objective. Below 1e-4 weights are float64.
    max_iter : int, default=1000
        Passes over the rows, at most.
    warm_start : bool, default=False
        Whether :meth:`fit` starts from the solution of the last fit, on the same rows.
    verbose : int, default=0
        1 reports once a second, 2 after each pass.
    random_state : int, RandomState instance or None, default=0
        Seed of the hash and of the order of rows. Results do not depend on ``n_jobs``.
    n_jobs : int, default=None
        Threads: for hashing, for classes, and for prediction. None is 1, -1 all processors.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1 or n_classes, n_components * 2**(bits + t_bits))
        Made on demand from the table of weights, which has room only for codes that occur; float32, or float64 with
        ``tol`` below 1e-4.
    intercept_ : array of shape (1 or n_classes,)
    n_iter_ : int
        Passes of the slowest class.
    dual_gap_, objective_ : arrays of shape (1 or n_classes,)
        Of each class: the objective is at most ``dual_gap_`` above its minimum. After :meth:`fit` only.
    hasher_ : GCWS
    alphabet_ : array
        Codes that occur.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)

    See Also
    --------
    GCWS : the features alone, for other models.
    GCWSClassifierCV : C by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kernelsketch import GCWSClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = GCWSClassifier(n_components=512).fit(X[:1000], y[:1000])
    >>> model.score(X[1000:], y[1000:]) > 0.94
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OneVsRest._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "warm_start": ["boolean"],
        "loss": [StrOptions({"squared_hinge", "hinge", "log_loss"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
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
        loss: str = "squared_hinge",
        class_weight: Any = None,
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
        self.class_weight = class_weight
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GCWSClassifier:
        """Hash the rows and learn.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            Codes must come from the hash that the parameters describe.
        y : array of shape (n_samples,)
            Class labels of any type.
        sample_weight : array of shape (n_samples,), default=None
            Factors of C.

        Returns
        -------
        self
        """
        X, y = self._check_rows_and_targets(X, y)
        classes, labels = classes_of(y)
        hasher, table = self._hash(X)
        return self._learn(hasher, table, classes, labels, sample_weight)

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @whole_or_nothing
    def fit_blocks(
        self, blocks: Any, *, memory: int = 1 << 31, folder: Any = None, progress: Any = None
    ) -> GCWSClassifier:
        """Learn from rows that come in blocks and need not fit in memory: the same model as :meth:`fit` on all of them.

        Blocks are hashed as they come and their codes written to a temporary file; the solver then reads it in
        pieces, or as a whole where it fits. Weights equal those of :meth:`fit` on the same rows in the same order to
        the last bit, whatever the blocks and the memory.

        Parameters
        ----------
        blocks : iterable of (X, y) or (X, y, sample_weight)
            Each as for :meth:`fit`; gone over once. CSR blocks may differ in width: the widest counts.
            ``center`` must be a vector or None.
        memory : int, default=2**31
            Bytes to use at most, besides the block at hand. Weights, and for each row its label, cost and one dual
            variable a class, stay in memory: a bound that has no room for them is refused.
        folder : str or path, default=None
            Where the temporary file is made; None is the system's folder for such files. Nothing is left in it.
        progress : callable, default=None
            Called after each pass over the codes with its number and the duality gap of each class, relative to the
            objective.

        Returns
        -------
        self
        """
        memory, threads = check_positive_int(memory, "memory"), check_n_jobs(self.n_jobs)
        with Spill(folder, memory, np.dtype(self._stop().real).itemsize, threads) as spill:
            hasher, y, sample_weight = hash_blocks(self, blocks, spill)
            classes, labels = classes_of(y)
            problems = len(classes) if len(classes) > 2 else 1
            table = spill.table(problems)
            return self._learn(hasher, table, classes, labels, sample_weight, progress)

    def _learn(
        self,
        hasher: Hasher,
        table: Rows,
        classes: Array,
        labels: Array,
        sample_weight: Any,
        progress: Progress | None = None,
    ) -> GCWSClassifier:
        targets = self._targets(classes, labels, self._costs(self.C, sample_weight, len(labels)))
        start = getattr(self, "_beta", None) if self.warm_start else None
        if start is not None and start.shape != (len(targets.positive), len(labels)):
            start = None
        found = solve(
            table,
            targets,
            self._objective(),
            self._stop(),
            seed=hasher.seed,
            threads=check_n_jobs(self.n_jobs),
            start=None if start is None else self._feasible(start, targets),
            progress=progress or self._progress(),
        )
        self.classes_ = classes
        self._keep(hasher, table.alphabet, found)
        self._beta = found.beta if self.warm_start else None
        return self

    @whole_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> GCWSClassifier:
        """Learn from some rows of a stream, each visited once.

        Every block of 256 rows moves the weights to the nearest ones that fit it, as ``C`` weighs; the model is
        their average. It comes close to :meth:`fit` after one pass over the data, and needs no learning rate.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
        y : array of shape (n_samples,)
        classes : array of shape (n_classes,), default=None
            All classes that may come; needed at the first call.
        sample_weight : array of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        self._validate_params()
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise InputError("classes must be given at the first call of partial_fit: all labels that may come.")
        if self.class_weight == "balanced":
            raise InputError(
                "class_weight='balanced' needs all rows at once: pass the weights as a dict to partial_fit."
            )
        X, y = self._check_rows_and_targets(X, y, reset=first)
        check_classification_targets(y)
        known = np.unique(classes) if first else self.classes_
        if not first and classes is not None and not np.array_equal(np.unique(classes), known):
            raise InputError(f"classes={np.unique(classes)} differ from those of the first call, {known}.")
        if len(known) < 2:
            raise InputError(f"classes={known}: at least 2 classes are needed.")
        unseen = np.setdiff1d(y, known)
        if len(unseen):
            raise InputError(
                f"y has labels {unseen[:5]} that are not among the classes {known}: name all at the first call."
            )
        labels = np.searchsorted(known, y).astype(np.int32)
        hasher, codes = self._stream(X, first)
        targets = self._targets(known, labels, self._costs(self.C, sample_weight, len(labels)))
        state = self._online(codes, len(targets.positive))
        table, _ = encode(codes, state.alphabet)
        learn(state, table, targets, self._objective(), hasher.seed, check_n_jobs(self.n_jobs))
        self.classes_ = known
        self._keep_state(hasher, state)
        self.intercept_ = self._offset.copy()
        return self

    @classmethod
    def from_sklearn(cls, pipeline: Any) -> GCWSClassifier:
        """A model that decides as a fitted pipeline of :class:`GCWS` and a linear classifier, in less memory.

        Weights are kept for codes that have one; the parameters are those of the two steps, as far as they have
        them.

        Parameters
        ----------
        pipeline : sklearn.pipeline.Pipeline
            Of GCWS and LinearSVC, SGDClassifier, or LogisticRegression with two classes; a multinomial
            LogisticRegression is refused.

        Returns
        -------
        model : GCWSClassifier
        """
        model: GCWSClassifier = classifier_of(cls, pipeline)
        return model


def resume(
    local: GCWSClassifier, hasher: Hasher, n_features: int, classes: Array, state: OnlineState
) -> GCWSClassifier:
    """A classifier with the parameters of another that goes on from a state of one-pass learning."""
    model = GCWSClassifier(**local.get_params())
    model.classes_, model.n_features_in_ = classes, n_features
    model._keep_state(hasher, state)
    model.intercept_ = model._offset.copy()
    return model


def stream_state(model: GCWSClassifier) -> OnlineState | None:
    """The state of one-pass learning, None for a model that was not fitted by ``partial_fit``."""
    return model._state
