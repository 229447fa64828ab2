"""LinearEstimator: the parameters and methods that all estimators on codes share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_y, check_consistent_length, check_is_fitted

from .._array import Array
from .._estimator import PlainParameters, numeric_targets, plain_labels
from .._hash_parameters import HASH_CONSTRAINTS, check_hash, hasher_for, view_widths
from .._losses import loss_named, loss_number
from .._rows import estimator_rows, estimator_rows_and_targets
from .._validation import check_n_jobs
from ..backends import HASH_VERSION, LinearObjective, Rows, backend_for, in_library_of
from ..exceptions import InputError
from ..features import GCWS
from ..hashing import Hasher, PackedCodes
from ..serving import MODEL_SCHEMA, SCALES, LinearModel, Predictor, Scaling, heavy_columns, warn_unscaled
from ..storage import save_file
from ._code_table import CodeTable, OwnCodes, table_of
from ._model_file import estimator_content, read_model
from ._problem import Solution, Stop
from ._solver import Report, Solver, reporter
from ._targets import RowWeights, Task, taken
from ._training import Training


def whole_or_nothing(method: Callable[..., Any]) -> Callable[..., Any]:
    """Make a fit that fails or is interrupted leave the estimator as it was before."""

    @wraps(method)
    def guarded(self: Any, *args: Any, **options: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **options)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return guarded


class Hashed(NamedTuple):
    """The rows of a fit that have a weight above 0, as numbered codes, and what made them."""

    scaling: Scaling | None
    hasher: Hasher
    table: CodeTable


Hashing = Callable[[], Hashed]  # called once everything else about a fit is checked


class Fitted:
    """What a fit sets: two immutable values, from which all other attributes follow."""

    fitted_: LinearModel
    training_: Training
    n_features_in_: int
    probability: Any = None  # a parameter of classifiers


@dataclass(kw_only=True, eq=False, repr=False)
class LinearEstimator(PlainParameters, Fitted, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators: parameters of the hash and of the solver, and what follows from the fitted model."""

    n_components: int = field(default=1024, kw_only=False)
    bits: int = 8
    t_bits: int = 0
    p: float = 1.0
    gamma: float | None = None
    center: Any = None
    views: Any = None
    scale: str | None = None
    loss: str = ""
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000
    verbose: int = 0
    random_state: Any = 0
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **HASH_CONSTRAINTS,
        "scale": [StrOptions(set(SCALES)), None],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
    }
    _has_classes: ClassVar[bool]

    def __init_subclass__(cls, **options: Any) -> None:
        """Let a class have the constraints of all its bases, in the one dictionary that scikit-learn reads."""
        super().__init_subclass__(**options)
        found = [vars(base).get("_parameter_constraints", {}) for base in reversed(cls.__mro__)]
        cls._parameter_constraints = {name: of for constraints in found for name, of in constraints.items()}

    @property
    def hasher_(self) -> GCWS:
        """The hash of the model as a fitted :class:`GCWS` transformer. With ``scale`` it hashes scaled rows."""
        check_is_fitted(self)
        return GCWS.from_hasher(self.fitted_.hasher, self.n_features_in_, n_jobs=self.n_jobs)

    @property
    def used_codes_(self) -> Array:
        """Codes that occur in the training rows, in ascending order."""
        check_is_fitted(self)
        return self.fitted_.used_codes

    @property
    def n_iter_(self) -> int:
        """Number of passes over the rows, of the problem that took the most."""
        check_is_fitted(self)
        return self.training_.n_iter

    @property
    def code_weights_(self) -> Array:
        """Weights of the one-hot features, of shape (problems, n_components * 2**(bits + t_bits))."""
        check_is_fitted(self)
        model = self.fitted_
        count, k = model.weights.shape[:2]
        full = backend_for(model.weights).zeros((count, k, 1 << model.hasher.width), model.weights.dtype)
        for problem, weights in zip(full, model.weights, strict=True):
            problem[:, model.used_codes] = weights[:, : len(model.used_codes)] * weights.dtype.type(np.sqrt(k))
        return full.reshape(count, -1)

    @property
    def dual_gap_(self) -> Any:
        """Duality gap of each problem, after a fit to a gap; a number for a regression."""
        return self._after_fit("gap")

    @property
    def objective_(self) -> Any:
        """Objective of each problem, after a fit to a gap; a number for a regression."""
        return self._after_fit("objective")

    def _after_fit(self, name: str) -> Any:
        check_is_fitted(self)
        found: Array | None = getattr(self.training_, name)
        if found is None:
            raise AttributeError("dual_gap_ and objective_ exist only after a fit to a duality gap: call fit.")
        return found if self._has_classes else float(found[0])

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, progress: Any = None) -> Self:
        """Hash the rows and train the model to the duality gap ``tol``.

        With cross-validation, every C is scored on every fold first, and the final model has the best C.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            Training rows, or their codes. Codes must come from the hash that the parameters describe.
        y : array of shape (n_samples,)
            Class labels of any type, or the numbers of a regression.
        sample_weight : array of shape (n_samples,), default=None
            Factor of C for each row. Whole numbers are equivalent to repeated rows, and rows of weight 0 are left out.
            Weights that sum to 1 make C too small: multiply them, or C, by the number of rows.
            In cross-validation they count in scores, unless ``scoring`` takes no weights.
        progress : callable, default=None
            Function that is called with a :class:`~kernelsketch.linear.FitProgress` after each pass over the codes,
            and about every 5 seconds during a long one.

        Returns
        -------
        self
        """
        report = reporter(progress, self)
        X, y = self._checked(X, y)
        task, threads = self._task(y), check_n_jobs(self.n_jobs)
        weights = self._weights(sample_weight, len(y))
        return self._learn(lambda: self._hashed(X, weights, threads), task, weights, threads, report)

    def predict(self, X: Any) -> Array:
        """Predict the labels of rows, or the numbers of a regression.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features), or PackedCodes
            Rows, or their codes under the hash of the model.

        Returns
        -------
        predictions : array of shape (n_samples,)
        """
        model, values = self._decided(X)
        predictions: Array = in_library_of(X, model.answers(values))
        return predictions

    def predictor(self) -> Predictor:
        """Return the fitted model as a :class:`~kernelsketch.serving.Predictor`, for predictions of a few rows.

        It predicts the same to the last bit, without checks of parameters and names, and holds the parameters of the
        hash ready. Later changes of the model do not change it.

        Returns
        -------
        predictor : Predictor
        """
        return Predictor(self._serving_model(), n_jobs=self.n_jobs)

    def save(self, path: Any) -> None:
        """Write the fitted model to a safetensors file atomically.

        The file holds what predictions need, the parameters, a summary of the training, and the state from which
        ``partial_fit`` or a warm start continues. Of a ``RandomState`` it holds the seed only. Parameters that are
        objects or functions, such as a splitter, are refused.

        Parameters
        ----------
        path : str or path
            By convention it ends in ``.safetensors``.
        """
        check_is_fitted(self)
        save_file(Path(path), MODEL_SCHEMA, *estimator_content(self))

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a model that :meth:`save` wrote. Its predictions are the same to the last bit.

        Loading runs nothing that the file contains. A damaged or hostile file raises an
        :class:`~kernelsketch.exceptions.InputError`.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        model : an estimator of this class
        """
        model: Self = read_model(Path(path), {cls.__name__: cls})
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.center is None and self.scale in (None, "standard")
        return tags

    def _serving_model(self) -> LinearModel:
        """Return the fitted model as the parameters say how it predicts."""
        check_is_fitted(self)
        return self.fitted_

    def _decided(self, X: Any) -> tuple[LinearModel, Array]:
        """Return the model and the values by which it decides about rows, where these live."""
        model = self._serving_model()
        rows = X if isinstance(X, PackedCodes) else estimator_rows(self, X, reset=False)
        return model, model.decide(rows, threads=check_n_jobs(self.n_jobs))

    def _checked(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, Array]:
        """Check rows and targets; the rows become :class:`~kernelsketch.backends.Rows`, codes stay what they are."""
        y = plain_labels(y) if self._has_classes else numeric_targets(y, type(self).__name__)
        if not isinstance(X, PackedCodes):
            X, y = estimator_rows_and_targets(self, X, y, reset=reset, y_numeric=not self._has_classes)
        else:
            if len(X) == 0:
                raise InputError(f"X is empty, it is PackedCodes of shape {X.shape}: pass at least one row.")
            if reset:
                self.n_features_in_ = X.n_features
                if hasattr(self, "feature_names_in_"):
                    del self.feature_names_in_
            if y is None:
                raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
            y = _check_y(y, multi_output=False, estimator=self, y_numeric=not self._has_classes)
            check_consistent_length(X.empty, y)
        return X, y if self._has_classes else np.asarray(y, np.float64)

    def _task(self, y: Any) -> Task:
        """Return the targets of all rows as problems of the solver."""
        raise NotImplementedError

    def _weights(self, sample_weight: Any, n: int) -> RowWeights:
        """Check weights of rows, with the C or all C of the estimator."""
        raise NotImplementedError

    def _learn(self, hashing: Hashing, task: Task, weights: RowWeights, threads: int, report: Report | None) -> Self:
        """Train on the rows that have a weight above 0. The targets are those of all rows."""
        raise NotImplementedError

    def _codes(
        self, X: Rows | PackedCodes, weights: RowWeights, threads: int, *, warns: bool = True
    ) -> tuple[Scaling | None, PackedCodes]:
        """Scale and hash the rows of a fit that have a weight above 0."""
        rows, counts = taken(X, weights.used), weights.counts
        if isinstance(rows, PackedCodes):
            if self.scale is not None:
                raise InputError(
                    f"X is PackedCodes, but scale={self.scale!r} scales rows before they are hashed: pass the rows "
                    "themselves, or set scale=None and hash rows that are scaled already.",
                    parameter="scale",
                )
            hasher_of_codes(self, rows)
            return None, rows
        scaling = None if self.scale is None else Scaling.fit(self.scale, rows, counts)
        rows = rows if scaling is None else scaling.apply(rows)
        hasher = hasher_for(self, rows, counts)
        if scaling is None and warns and len(heavy := heavy_columns(rows, hasher.center, counts)):
            warn_unscaled(heavy, rows.n_features, getattr(self, "feature_names_in_", None))
        return scaling, hasher.codes(rows, threads=threads)

    def _hashed(self, X: Rows | PackedCodes, weights: RowWeights, threads: int) -> Hashed:
        scaling, codes = self._codes(X, weights, threads)
        owned = not isinstance(X, PackedCodes) or isinstance(X, OwnCodes)
        return Hashed(scaling, codes.hasher, table_of(codes, owned=owned, threads=threads))

    def _solver(self, hasher: Hasher, threads: int, report: Report | None) -> Solver:
        """Return the solver that the parameters describe."""
        scale = float(self.intercept_scaling) if self.fit_intercept else 0.0
        parameter = float(np.float32(self._loss_parameter or 0.0))
        objective = LinearObjective(loss_number(self.loss), scale, parameter)
        return Solver(objective, Stop(float(self.tol), int(self.max_iter)), hasher.seed, threads, report)

    @property
    def _loss_parameter(self) -> float | None:
        name = loss_named(self.loss).parameter
        return None if name is None else float(getattr(self, name))

    def _model_of(self, hashed: Hashed, task: Task, w: Array, bias: Array) -> LinearModel:
        """Return a solution as a fitted model."""
        return LinearModel(
            hashed.hasher,
            self.n_features_in_,
            hashed.table.used_codes,
            w,
            (float(self.intercept_scaling) if self.fit_intercept else 0.0) * bias,
            self.loss,
            scaling=hashed.scaling,
            loss_parameter=self._loss_parameter,
            **task.outputs,
        )


def training_of(found: Solution, rows: int | None = None, duals: Array | None = None) -> Training:
    return Training(found.bias, int(found.passes.max()), found.gap, found.objective, duals, rows=rows)


def hasher_of_codes(model: Any, codes: PackedCodes) -> Hasher:
    """Return the hash of given codes. Raise an error if the parameters of the model describe another one."""
    theirs = codes.hasher
    check_hash(model.p, model.gamma, model.t_bits)
    names = ("n_components", "bits", "t_bits", "p", "gamma")
    pairs = {name: (getattr(model, name), getattr(theirs, name)) for name in names}
    pairs["views"] = (list(view_widths(model.views, codes.n_features)) or None, list(theirs.views) or None)
    if isinstance(model.random_state, Integral):
        pairs["random_state"] = model.random_state, theirs.seed
    for name, (own, value) in pairs.items():
        if own != value:
            given = f"{name}={getattr(model, name)!r}"
            raise InputError(
                f"X has codes with {name}={value}, but the model has {given}: set {name}={value}.", parameter=name
            )
    if (model.center is None) != (theirs.center is None) or (
        theirs.center is not None
        and not isinstance(model.center, str)
        and not np.array_equal(model.center, theirs.center)
    ):
        raise InputError(
            "X has codes with another center than the model: set center to that of the codes.", parameter="center"
        )
    if theirs.hash_version != HASH_VERSION:
        raise InputError(
            f"X has codes of hash version {theirs.hash_version}, but this kernelsketch has version {HASH_VERSION}: "
            "hash the rows again."
        )
    return theirs
