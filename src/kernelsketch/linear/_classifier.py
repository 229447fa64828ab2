"""``GCWSClassifier``: hashing and a linear classifier on the codes in one estimator."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from .._estimator import plain_labels
from .._validation import check_n_jobs, check_positive_int
from ..exceptions import InputError
from ..hashing import Hasher
from ._blocks import hash_blocks
from ._code_table import CodeSource, encode
from ._disk_codes import TemporaryCodes
from ._losses import loss_named
from ._model import whole_or_nothing
from ._one_vs_rest import OneVsRest, classes_of
from ._online import OnlineState, learn
from ._pipeline import classifier_of
from ._row_weights import used_rows
from ._solver import Progress, Solver

Array = NDArray[Any]


def _can_stream(model: Any) -> bool:
    if model.probability is not None:
        raise AttributeError(
            f"probability={model.probability!r} needs all rows at once, but partial_fit sees a part of them: set "
            "probability=None, and loss='log_loss' for probabilities."
        )
    return True


class GCWSClassifier(OneVsRest):
    r"""Classify rows with the accuracy of a kernel machine at the cost of a linear model.

    The estimator hashes each row to ``n_components`` codes with :class:`GCWS`, so that it approximates a machine with
    the GMM kernel. For each class (one-vs-rest) it learns a linear model whose features are the one-hot codes, scaled
    so that rows have unit norm:

    .. math:: \min_w \tfrac12 \|w\|^2 + C \sum_i \mathrm{loss}(y_i\, w \cdot x_i).

    The result is that of :class:`sklearn.svm.LinearSVC` on :meth:`GCWS.transform`, but the one-hot matrix is never
    made. The solver, block dual coordinate descent with shrinking, works on the codes themselves, which take one byte
    each. It stops at a duality gap, which bounds how far the objective is from its minimum.

    Columns with different units should be scaled, for example with ``scale="standard"``, because the kernel adds up
    the columns as they are. If a few columns hold nearly all the weight of the rows, :meth:`fit` warns.

    Parameters
    ----------
    n_components, bits, t_bits, p, gamma, center, views
        Parameters of the hash, as for :class:`GCWS`.
    scale : {"standard", "robust", "quantile", None}, default=None
        How the model scales the columns before it hashes rows. ``"standard"`` subtracts the mean and divides by the
        standard deviation; ``"robust"`` takes the median and the interquartile range; ``"quantile"`` maps each column
        to -1 ... 1 by its ranks. Constant columns become 0. Sparse rows are divided by the standard deviation, and
        only ``"standard"`` takes them. Rows count with their ``sample_weight``, but not with ``class_weight``. The
        scaling is part of the model and of its file; rows must be NumPy arrays, data frames or SciPy matrices, and not
        codes.
    C : float, default=1.0
        Weight of the losses relative to the norm of w. Rows have unit norm, so C means the same on every dataset. A
        larger C fits the training rows more closely and takes longer.
    loss : {"squared_hinge", "hinge", "log_loss"}, default="squared_hinge"
        The loss. With ``"log_loss"`` the model has :meth:`predict_proba`.
    probability : {"calibrated", None}, default=None
        With ``"calibrated"`` the model has :meth:`predict_proba` for every loss. Three more models, each trained on
        two thirds of the rows, give every row a decision value that its label has not influenced; a logistic
        regression turns these values into probabilities, and :meth:`predict` chooses the most probable class. Rows
        whose class the other two thirds lack are left out of it. ``sample_weight`` and ``class_weight`` count in it;
        repeated rows, unlike a weight, may come to different thirds.
        :meth:`partial_fit` is not available then.
    class_weight : dict, "balanced" or None, default=None
        Factor of C for each class, as in LinearSVC.
    fit_intercept : bool, default=True
        Whether the model has an intercept.
    intercept_scaling : float, default=1.0
        Value of the feature of the intercept. The intercept is penalized like the weights, as in LinearSVC.
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
        Number of threads for hashing, learning and prediction. Threads share a single problem too, so two classes
        use all of them. None means 1, and -1 means all processors. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels in ascending order.
    coef_ : array of shape (1 or n_classes, n_components * 2**(bits + t_bits))
        Coefficients of the one-hot features. They are made when you ask for them, from a table that has weights only
        for used codes. They are float32, or float64 if ``tol`` is below 1e-4.
    intercept_ : array of shape (1 or n_classes,)
        Intercepts.
    n_iter_ : int
        Number of passes of the class that took the most.
    dual_gap_, objective_ : arrays of shape (1 or n_classes,)
        Duality gap and objective of each class. The objective is at most ``dual_gap_`` above its minimum. Its costs are
        those of the solver: C times the weights in float32, so that C=0.1 is 0.100000001. They exist after :meth:`fit`
        and :meth:`fit_blocks`.
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
    GCWSClassifierCV : The same model, with C chosen by cross-validation.
    GCWSRegressor : The same for regression.

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
        loss: str = "squared_hinge",
        probability: str | None = None,
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
        self.views = views
        self.scale = scale
        self.C = C
        self.loss = loss
        self.probability = probability
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
        """Hash the rows and train the model to the duality gap ``tol``.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            Training rows, or their codes. Codes must come from the hash that the parameters describe.
        y : array of shape (n_samples,)
            Class labels of any type.
        sample_weight : array of shape (n_samples,), default=None
            Factor of C for each row. Whole numbers are equivalent to repeated rows, and rows of weight 0 are left out.
            Weights that sum to 1 make C too small: multiply them, or C, by the number of rows.

        Returns
        -------
        self
        """
        X, y = self._check_rows_and_targets(X, y)
        classes, labels = classes_of(y)
        weights = self._weights(sample_weight, len(labels), self.C)
        hasher, table = self._hash(X, weights)
        return self._learn(hasher, table, classes, labels, weights)

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @whole_or_nothing
    def fit_blocks(
        self, blocks: Any, *, memory: int = 1 << 31, temp_dir: Any = None, progress: Any = None
    ) -> GCWSClassifier:
        """Train out-of-core, on blocks of rows that together need not fit in memory.

        The method hashes each block as it comes and writes the codes to a temporary file. The solver then reads the
        file as a whole if it fits into ``memory``, and a few rows at a time otherwise. The weights equal those of
        :meth:`fit` on the same rows in the same order, to the last bit, whatever the blocks and ``memory`` are. On a
        GPU this holds if the codes fit into ``memory``.

        Parameters
        ----------
        blocks : iterable of (X, y) or (X, y, sample_weight)
            Blocks of rows, each as for :meth:`fit`. The method iterates over them once. CSR blocks may differ in
            width: the widest one determines ``n_features_in_``. With ``views`` all widths must be equal. ``center``
            must be a vector or None.
        memory : int, default=2**31
            Maximum number of bytes to use, besides the current block. The weights stay in memory, and for each row
            its label, its cost and one dual variable per class. A limit that has no room for them raises an error.
        temp_dir : str or path, default=None
            Directory of the temporary file. None means the system's directory for temporary files. The method leaves
            no file behind.
        progress : callable, default=None
            Function that is called after each pass over the codes, with the number of the pass and the duality gap of
            each class, relative to the objective. It is called again with the same values during a pass that takes
            longer than about 5 seconds.

        Returns
        -------
        self
        """
        memory, threads = check_positive_int(memory, "memory"), check_n_jobs(self.n_jobs)
        with TemporaryCodes(temp_dir, memory, loss_named(self.loss), self._stop().real, threads) as stored:
            hasher, targets, sample_weight = hash_blocks(self, blocks, stored)
            classes, labels = targets.classes()
            weights = self._weights(sample_weight, len(labels), self.C)
            problems = len(classes) if len(classes) > 2 else 1
            table = stored.table(problems if self.probability is None else 2 * problems)  # room for values of rows
            return self._learn(hasher, table, classes, labels, weights, progress)

    def _learn(
        self,
        hasher: Hasher,
        table: CodeSource,
        classes: Array,
        labels: Array,
        weights: Array | None,
        progress: Progress | None = None,
    ) -> GCWSClassifier:
        """Train on the codes of the rows that have a weight above 0. Labels and weights are those of all rows."""
        n, used = len(labels), used_rows(weights)
        cost = self._costs(self.C, weights, n)[used]
        labels = labels[used]
        targets = self._targets(classes, labels, cost)
        calibration = None
        if self.probability is not None:
            calibration = self._calibrated(
                hasher, table, classes, labels, float(self.C), self._costs(1.0, weights, n)[used]
            )
        start = self._previous_duals(len(targets.positive), n, used)
        solver = Solver(
            self._objective(),
            self._stop(),
            seed=hasher.seed,
            threads=check_n_jobs(self.n_jobs),
            progress=progress or self._progress(),
        )
        found = solver.solve(table, targets, None if start is None else self._feasible_start(start, targets))
        self.classes_ = classes
        self._keep(hasher, table.used_codes, found)
        self._beta = self._duals_to_keep(found.beta, n, used)
        self._calibration = calibration
        return self

    @available_if(_can_stream)  # type: ignore[untyped-decorator]
    @whole_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> GCWSClassifier:
        """Learn from the next rows of a stream, in one pass.

        Each block of 256 rows makes a proximal step: the new weights minimize half their squared distance to the old
        weights plus C times the losses of the block. The model is a weighted average of the weights after each step.
        It comes close to :meth:`fit` after one pass over the data, and it needs no learning rate.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            The next rows, or their codes.
        y : array of shape (n_samples,)
            Class labels.
        classes : array of shape (n_classes,), default=None
            All classes of the stream. The first call needs them.
        sample_weight : array of shape (n_samples,), default=None
            Factor of C for each row. Whole numbers are equivalent to repeated rows, and rows of weight 0 are left out.
            Weights that sum to 1 make C too small: multiply them, or C, by the number of rows.

        Returns
        -------
        self
        """
        self._validate_params()
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise InputError("classes=None at the first call of partial_fit: pass all labels of the stream.")
        if self.class_weight == "balanced":
            raise InputError(
                "class_weight='balanced' needs all rows at once, but partial_fit sees a part of them: set class_weight "
                "to a dict of weights."
            )
        classes = plain_labels(classes)
        X, y = self._check_rows_and_targets(X, y, reset=first)
        check_classification_targets(y)
        known = np.unique(classes) if first else self.classes_
        if not first and classes is not None and not np.array_equal(np.unique(classes), known):
            raise InputError(f"classes={np.unique(classes)} differs from that of the first call, {known}: omit it.")
        if len(known) < 2:
            raise InputError(f"classes={known} has fewer than 2 classes: pass all labels of the stream.")
        unseen = np.setdiff1d(y, known)
        if len(unseen):
            raise InputError(
                f"y has labels {unseen[:5]} that are not among the classes {known}: pass all classes to the first call."
            )
        labels = np.searchsorted(known, y).astype(np.int32)
        weights = self._weights(sample_weight, len(labels), self.C, stacklevel=4)
        hasher, codes = self._stream(X, first, weights)
        used = used_rows(weights)
        targets = self._targets(known, labels[used], self._costs(self.C, weights, len(labels))[used])
        state = self._online(codes, len(targets.positive))
        table, _ = encode(codes, state.used_codes)
        learn(state, table, targets, self._objective(), hasher.seed, check_n_jobs(self.n_jobs))
        self.classes_ = known
        self._keep_state(hasher, state)
        self.intercept_ = self._offset.copy()
        return self

    @classmethod
    def from_sklearn(cls, pipeline: Any) -> GCWSClassifier:
        """Convert a fitted pipeline of :class:`GCWS` and a linear classifier to a model that takes less memory.

        The model has the same decision values. It has weights only for codes with a coefficient other than 0, and it
        takes its parameters from the two steps, as far as they have them.

        Parameters
        ----------
        pipeline : sklearn.pipeline.Pipeline
            A fitted pipeline of GCWS and LinearSVC, SGDClassifier, or LogisticRegression with two classes. A
            multinomial LogisticRegression cannot be converted.

        Returns
        -------
        model : GCWSClassifier
            The converted model.
        """
        model: GCWSClassifier = classifier_of(cls, pipeline)
        return model


def resume(
    local: GCWSClassifier, hasher: Hasher, n_features: int, classes: Array, state: OnlineState
) -> GCWSClassifier:
    """Return a classifier with the parameters of ``local`` that continues from a state of one-pass learning."""
    model = GCWSClassifier(**local.get_params())
    model.classes_, model.n_features_in_ = classes, n_features
    model._keep_state(hasher, state)
    model.intercept_ = model._offset.copy()
    return model


def stream_state(model: GCWSClassifier) -> OnlineState | None:
    """Return the state of one-pass learning, or None if ``partial_fit`` has not fitted the model."""
    return model._state
