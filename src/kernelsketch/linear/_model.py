"""The base class of the estimators: from rows to codes, to decision values, and from tables to coefficients."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import wraps
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_y, check_consistent_length, check_is_fitted

from .._estimator import PlainParameters, numeric_targets, plain_labels
from .._hash_parameters import HASH_CONSTRAINTS, check_hash, hasher_for, view_widths
from .._rows import estimator_rows, estimator_rows_and_targets
from .._validation import check_n_jobs, row_batches
from .._weighted import row_counts
from ..backends import HASH_VERSION, Backend, Rows, backend_for, on_host, place_of
from ..exceptions import InputError
from ..features import GCWS
from ..hashing import Hasher, PackedCodes
from ..serving import ModelParts, Predictor, Scaling, stride_of
from ._code_table import CodeTable, OwnCodes, check_code_count, compact, encode, find_used_codes, widen
from ._online import OnlineState
from ._persistence import Persistent
from ._problem import Stop
from ._row_weights import checked_weights, taken, used_rows, warn_if_faint
from ._scaling import SCALES, fit_scaling, warn_if_unscaled
from ._solver import Progress

Array = NDArray[Any]

STEP_BYTES = 1 << 22  # of codes that a prediction holds at a time, per thread
LEAST_COST, MOST_COST = 1e-30, 1e30  # no step overflows in float32 between them; smaller costs count as 0


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


class LinearOnCodes(PlainParameters, Persistent, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators: a hash, and tables of weights for its used codes."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **HASH_CONSTRAINTS,
        "scale": [StrOptions(set(SCALES)), None],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
    }

    _hasher: Hasher
    used_codes_: Array
    _w: Array
    _bias: Array
    _offset: Array  # scale times bias at the time of the fit; set_params does not change it
    _beta: Array | None
    _state: OnlineState | None
    _scaling: Scaling | None = None
    _label_column: str | int | None = None  # of the file of the training rows, if there was one

    @property
    def hasher_(self) -> GCWS:
        """The hash of the model as a fitted :class:`GCWS` transformer. With ``scale`` it hashes scaled rows."""
        check_is_fitted(self)
        return GCWS.from_hasher(self._hasher, self.n_features_in_, n_jobs=self.n_jobs)

    def predictor(self) -> Predictor:
        """Return the fitted model as a :class:`~kernelsketch.serving.Predictor`, for predictions of a few rows.

        It predicts the same to the last bit, without checks of parameters and names, and holds the parameters of the
        hash ready. Later changes of the model do not change it.

        Returns
        -------
        predictor : Predictor
        """
        check_is_fitted(self)
        calibration = getattr(self, "_calibration", None)
        parts = ModelParts(
            estimator=type(self).__name__,
            hasher=self._hasher,
            n_features=self.n_features_in_,
            used_codes=self.used_codes_,
            w=on_host(self._w),
            offset=self._offset,
            scaling=self._scaling,
            classes=getattr(self, "classes_", None),
            calibration=calibration,
            loss=self.loss,
            probability=getattr(self, "probability", None),
            mean=getattr(self, "_mean", 0.0),
            spread=getattr(self, "_spread", 1.0),
        )
        return Predictor(parts, n_jobs=self.n_jobs)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_w")

    def _decision_values(self, X: Any) -> Array:
        """Return decision values (rows, problems) in float64 where the rows live, computed for a few rows at a time."""
        check_is_fitted(self)
        threads = check_n_jobs(self.n_jobs)
        n, batches = self._batches(X, threads)
        values: Any = np.empty((n, len(self._w))) if n == 0 else None
        for part, codes in batches:
            table, unknown = encode(codes, self.used_codes_, owned=not isinstance(X, PackedCodes), threads=threads)
            backend = table.backend(threads)
            w = self._w
            if unknown and len(self.used_codes_) == w.shape[2]:
                w = np.pad(w, ((0, 0), (0, 0), (0, 1)))  # codes that training has not seen get a weight of 0
            found = backend.linear_decide(table.codes, table.empty, 1.0, self._placed(w, backend), self._offset)
            if values is None:
                values = backend.empty((n, found.shape[1]), np.float64)
            values[part] = found
        decided: Array = values
        return decided

    @staticmethod
    def _placed(w: Array, backend: Backend) -> Array:
        """Return the weights where the codes are, because rows may live elsewhere than those of the fit."""
        return w if place_of(w) is backend.place else backend.from_numpy(backend_for(w).to_numpy(w))

    def _batches(self, X: Any, threads: int) -> tuple[int, Iterator[tuple[slice, PackedCodes]]]:
        """Return the number of rows, and the codes of a few of them at a time."""
        step = STEP_BYTES * threads
        if isinstance(X, PackedCodes):
            self._check_codes(X)
            return len(X), ((part, X[part]) for part in row_batches(len(X), 2 * X.n_components, step))
        rows, hasher = estimator_rows(self, X, reset=False), self._hasher
        return len(rows), (
            (part, hasher.codes(self._scaled(rows.part(part)), threads=threads))
            for part in row_batches(len(rows), 2 * hasher.n_components, step)
        )

    def _scaled(self, rows: Rows) -> Rows:
        return rows if self._scaling is None else self._scaling.apply(rows)

    def _scaled_first(self, rows: Rows, counts: Array | None) -> Rows:
        """Learn the scaling from rows, and scale them."""
        self._scaling = None if self.scale is None else fit_scaling(self.scale, rows, counts)
        return self._scaled(rows)

    def _check_codes(self, codes: PackedCodes) -> None:
        """Refuse codes of another hash than the model's, and codes of rows that the model has not scaled."""
        if self._scaling is not None:
            raise codes_error(self.scale)
        if len(codes) == 0:
            raise InputError(f"X is empty, it is PackedCodes of shape {codes.shape}: pass at least one row.")
        difference = self._hasher.difference(codes.hasher)
        if difference is not None:
            raise InputError(
                f"X has codes of another hash than the model ({difference}): hash rows with model.hasher_."
            )

    def _hash(self, X: Rows | PackedCodes, weights: Array | None = None) -> tuple[Hasher, CodeTable]:
        """Return the hash of this fit, and the numbered codes of the checked rows that have a weight above 0."""
        used = used_rows(weights)
        X, counts = taken(X, used), row_counts(None if weights is None else weights[used])
        if isinstance(X, PackedCodes):
            self._scaling = None
            if self.scale is not None:
                raise codes_error(self.scale)
            owned = isinstance(X, OwnCodes)
            return hasher_of_codes(self, X), compact(X, owned=owned, threads=check_n_jobs(self.n_jobs))
        X = self._scaled_first(X, counts)
        hasher = hasher_for(self, X, counts)
        if self.scale is None:
            warn_if_unscaled(X, hasher.center, getattr(self, "feature_names_in_", None), counts)
        threads = check_n_jobs(self.n_jobs)
        return hasher, compact(hasher.codes(X, threads=threads), owned=True, threads=threads)

    def _check_rows_and_targets(self, X: Any, y: Any, *, reset: bool = True, **options: Any) -> tuple[Any, Any]:
        """Check rows and targets, and return the rows as :class:`~kernelsketch.backends.Rows` or codes."""
        y = numeric_targets(y, type(self).__name__) if options.get("y_numeric") else plain_labels(y)
        if not isinstance(X, PackedCodes):
            return estimator_rows_and_targets(self, X, y, reset=reset, **options)
        if len(X) == 0:
            raise InputError(f"X is empty, it is PackedCodes of shape {X.shape}: pass at least one row.")
        if reset:
            self.n_features_in_ = X.n_features
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = _check_y(y, multi_output=False, estimator=self, **options)
        check_consistent_length(X.empty, y)
        return X, y

    def _weights(self, sample_weight: Any, n: int, C: float | None = None, *, stacklevel: int = 5) -> Array | None:
        """Return checked weights in float64, or None, before rows are hashed. Warn if they make C next to nothing."""
        weights = None if sample_weight is None else checked_weights(sample_weight, n)
        if C is not None:
            self._costs(C, weights, n)  # refuses costs out of range
            warn_if_faint(C, weights, stacklevel + 1)
        return weights

    def _costs(self, C: float, sample_weight: Array | None, n: int) -> Array:
        """Return C times the weight of each row, in float32."""
        weights = np.ones(1) if sample_weight is None else sample_weight
        largest = C * weights.max()
        if not LEAST_COST <= largest <= MOST_COST:
            raise InputError(
                f"the largest C times sample_weight is {largest:g}: it must be from {LEAST_COST:g} to {MOST_COST:g}."
            )
        cost = C * np.where(C * weights >= LEAST_COST, weights, 0)
        return np.broadcast_to(cost, n).astype(np.float32)

    def _scale(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _stop(self) -> Stop:
        return Stop(float(self.tol), int(self.max_iter))

    def _previous_duals(self, problems: int, n: int, used: Any) -> Array | None:
        """Return the duals of the previous fit, for a warm start on the used ones of n rows, if there are any."""
        beta = getattr(self, "_beta", None) if self.warm_start else None
        if beta is None or beta.shape != (problems, n):
            return None
        return beta if isinstance(used, slice) else np.take(beta, backend_for(beta).from_numpy(used), axis=1)

    def _duals_to_keep(self, beta: Array, n: int, used: Any) -> Array | None:
        """Return the duals of all n rows, for a warm start of the next fit, or None if there will be none."""
        if not self.warm_start or isinstance(used, slice):
            return beta if self.warm_start else None
        backend = backend_for(beta)
        every: Array = backend.zeros((len(beta), n), beta.dtype)
        every[:, backend.from_numpy(used)] = beta
        return every

    def _progress(self) -> Progress | None:
        if not self.verbose:
            return None
        shown = time.monotonic()

        def show(number: int, gaps: Array) -> None:
            nonlocal shown
            now = time.monotonic()
            if self.verbose > 1 or now - shown > 1:
                shown = now
                open_ = int((gaps > self.tol).sum())
                print(
                    f"[{type(self).__name__}] pass {number}: duality gap {float(np.max(gaps)):.1e} of the objective, "
                    f"{open_} of {len(gaps)} problems above tol",
                    flush=True,
                )

        return show

    @property
    def coef_(self) -> Array:
        """Coefficients of the one-hot features, of shape (problems, n_components * 2**(bits + t_bits))."""
        check_is_fitted(self)
        count, k = self._w.shape[:2]
        backend = backend_for(self._w)
        full = backend.zeros((count, k, 1 << self._hasher.width), self._w.dtype)
        for problem, weights in zip(full, self._w, strict=True):
            problem[:, self.used_codes_] = weights[:, : len(self.used_codes_)] * weights.dtype.type(np.sqrt(k))
        return full.reshape(count, -1)

    def _stream(self, X: Rows | PackedCodes, first: bool, weights: Array | None = None) -> tuple[Hasher, PackedCodes]:
        """Return the hash of a stream, which its first rows determine, and the codes of rows with a weight above 0."""
        used = used_rows(weights)
        X, counts = taken(X, used), row_counts(None if weights is None else weights[used])
        if isinstance(X, PackedCodes):
            if first and self.scale is not None:
                raise codes_error(self.scale)
            if first:
                return hasher_of_codes(self, X), X
            self._check_codes(X)
            return self._hasher, X
        X = self._scaled_first(X, counts) if first else self._scaled(X)
        hasher = hasher_for(self, X, counts) if first else self._hasher
        return hasher, hasher.codes(X, threads=check_n_jobs(self.n_jobs))

    def _keep_state(self, hasher: Hasher, state: OnlineState) -> None:
        self._hasher, self.used_codes_, self._state = hasher, state.used_codes, state
        self._w, self._bias, self._beta, self.n_iter_ = state.mean_w, state.mean_bias, None, 1
        self._offset = self._scale() * self._bias
        for name in ("dual_gap_", "objective_"):  # left by a previous fit
            if hasattr(self, name):
                delattr(self, name)

    def _online(self, codes: PackedCodes, problems: int) -> OnlineState:
        """Return a copy of the state from which partial_fit continues, with room for the codes of the next rows.

        It is the state of the previous partial_fit, the fitted model, or zeros.
        """
        state = getattr(self, "_state", None)
        found = find_used_codes(codes)
        if state is None:
            fitted = hasattr(self, "_w")
            used_codes = self.used_codes_ if fitted else found
            shape = (problems, codes.n_components, stride_of(len(used_codes)))
            w = self._w.astype(np.float32) if fitted else np.zeros(shape, np.float32)
            bias = self._bias.copy() if fitted else np.zeros(problems)
            state = OnlineState(used_codes, w, bias, w.copy(), bias.copy(), 0)
        used_codes = np.union1d(state.used_codes, found)
        check_code_count(used_codes, codes)
        if len(used_codes) > len(state.used_codes):
            w, mean = widen(state.w, state.used_codes, used_codes), widen(state.mean_w, state.used_codes, used_codes)
        else:
            w, mean = state.w.copy(), state.mean_w.copy()
        return OnlineState(used_codes, w, state.bias.copy(), mean, state.mean_bias.copy(), state.blocks)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.center is None and self.scale in (None, "standard")
        return tags


def remember_label(model: LinearOnCodes, column: str | int | None) -> None:
    """Keep the name or the number of the label column of the training rows, so that files of other rows may have it."""
    model._label_column = column


def remembered_label(model: LinearOnCodes) -> str | int | None:
    """Return the name or the number of the label column of the training rows, or None if it is not known."""
    return model._label_column


def scales_rows(model: LinearOnCodes) -> bool:
    """Return whether a fitted model scales rows before it hashes them, so that it takes no codes."""
    return model._scaling is not None


def needs_dense(model: LinearOnCodes) -> bool:
    """Return whether a fitted model cannot predict sparse rows, because their zeros would not stay zeros."""
    return model._hasher.center is not None or (model._scaling is not None and model._scaling.needs_dense)


def codes_error(scale: str) -> InputError:
    return InputError(
        f"X is PackedCodes, but scale={scale!r} scales rows before they are hashed: pass the rows themselves, or set "
        "scale=None and hash rows that are scaled already."
    )


def hasher_of_codes(model: Any, codes: PackedCodes) -> Hasher:
    """Return the hash of given codes. Raise an error if the parameters of the model describe another one."""
    theirs = codes.hasher
    check_hash(model.p, model.gamma, model.t_bits)
    for name in ("n_components", "bits", "t_bits", "p", "gamma"):
        if getattr(model, name) != getattr(theirs, name):
            given, needed = f"{name}={getattr(model, name)}", f"{name}={getattr(theirs, name)}"
            raise InputError(f"X has codes with {needed}, but the model has {given}: set {needed}.")
    if view_widths(model.views, codes.n_features) != theirs.views:
        needed = f"views={list(theirs.views) or None}"
        raise InputError(f"X has codes with {needed}, but the model has views={model.views!r}: set {needed}.")
    if isinstance(model.random_state, Integral) and int(model.random_state) != theirs.seed:
        raise InputError(
            f"X has codes with seed {theirs.seed}, but the model has random_state={model.random_state}: "
            f"set random_state={theirs.seed}."
        )
    if (model.center is None) != (theirs.center is None) or (
        theirs.center is not None
        and not isinstance(model.center, str)
        and not np.array_equal(model.center, theirs.center)
    ):
        raise InputError("X has codes with another center than the model: set center to that of the codes.")
    if theirs.hash_version != HASH_VERSION:
        raise InputError(
            f"X has codes of hash version {theirs.hash_version}, but this kernelsketch has version {HASH_VERSION}: "
            "hash the rows again."
        )
    return theirs
