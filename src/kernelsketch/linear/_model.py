"""What the estimators share: rows to codes, codes to decision values, tables to coefficients."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import wraps
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from .._backend import backend
from .._validation import check_n_jobs, row_batches
from ..codes import PackedCodes
from ..exceptions import InputError
from ..features import GCWS
from ._alphabet import CodeTable, check_alphabet, compact, encode, stride_of, used_codes, widen
from ._dual import Progress, Stop
from ._online import OnlineState
from ._persistence import Persistent

Array = NDArray[Any]

STEP_BYTES = 1 << 24  # of codes at a time
LEAST_COST, MOST_COST = 1e-30, 1e30  # where no step overflows in float32; rows below it count as 0


def whole_or_nothing(method: Callable[..., Any]) -> Callable[..., Any]:
    """A fit that fails or is interrupted leaves the estimator as it was before."""

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


class LinearOnCodes(Persistent, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators: a hash, and tables of weights for its codes."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{
            name: GCWS._parameter_constraints[name]
            for name in ("n_components", "bits", "t_bits", "p", "gamma", "center", "random_state", "n_jobs")
        },
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
    }

    hasher_: GCWS
    alphabet_: Array
    _w: Array
    _bias: Array
    _offset: Array  # scale times bias as they were fitted, whatever is set later
    _beta: Array | None
    _state: OnlineState | None

    def _decision_values(self, X: Any) -> Array:
        """(rows, problems) float64: hashed and evaluated a few rows at a time."""
        check_is_fitted(self)
        self._validate_params()
        threads = check_n_jobs(self.n_jobs)
        parts = []
        for codes in self._batches(X):
            table, unknown = encode(codes, self.alphabet_)
            w = self._w
            if unknown and len(self.alphabet_) == w.shape[2]:
                w = np.pad(w, ((0, 0), (0, 0), (0, 1)))  # a weight of 0 for codes that training did not meet
            out = np.empty((len(codes), len(w)), w.dtype)
            backend().linear_decide(table.codes, table.empty, 1.0, w, self._offset, out, threads)
            parts.append(out)
        return np.concatenate(parts).astype(np.float64)

    def _batches(self, X: Any) -> Iterator[PackedCodes]:
        k = self.hasher_.n_components
        if isinstance(X, PackedCodes):
            self._check_codes(X)
            for part in row_batches(len(X), 2 * k, STEP_BYTES):
                yield X[part]
            return
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        rows = self.hasher_._check_rows(X)
        for part in row_batches(rows.shape[0], 2 * k, STEP_BYTES):
            yield self.hasher_._codes(rows[part])

    def _check_codes(self, codes: PackedCodes) -> None:
        """Refuse codes of another hash than the model's."""
        hasher = self.hasher_
        if len(codes) == 0:
            raise InputError(f"X is empty: PackedCodes of shape {codes.shape}, at least one row is needed.")
        mine = hasher._info()
        difference = mine.difference(codes.info)
        for name in ("n_components", "bits", "t_bits"):
            if difference is None and getattr(hasher, name) != getattr(codes, name):
                difference = f"{name} {getattr(hasher, name)} against {getattr(codes, name)}"
        if difference is not None:
            raise InputError(f"X are codes of another hash than the model's ({difference}): hash the rows alike.")

    def _new_hasher(self) -> GCWS:
        names = ("n_components", "bits", "t_bits", "p", "gamma", "center", "random_state", "n_jobs")
        return GCWS(**{name: getattr(self, name) for name in names})

    def _hash(self, X: Any) -> tuple[GCWS, CodeTable]:
        """The hash of this fit, and the rows' codes; X has been validated."""
        hasher = self._new_hasher()
        if isinstance(X, PackedCodes):
            adopt(hasher, X)
            return hasher, compact(X)
        hasher.fit(X)
        return hasher, compact(hasher._codes(hasher._check_rows(X)), owned=True)

    def _check_rows_and_targets(self, X: Any, y: Any, *, reset: bool = True, **options: Any) -> tuple[Any, Any]:
        if not isinstance(X, PackedCodes):
            return validate_data(  # type: ignore[no-any-return]
                self, X, y, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], **options
            )
        if len(X) == 0:
            raise InputError(f"X is empty: PackedCodes of shape {X.shape}, at least one row is needed.")
        if reset:
            self.n_features_in_ = X.info.n_features
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        y = _check_y(y, multi_output=False, estimator=self, **options)
        check_consistent_length(X.empty, y)
        return X, y

    def _costs(self, C: float, sample_weight: Any, n: int) -> Array:
        """C times the weight of each row, float32."""
        weights = (
            np.ones(1)
            if sample_weight is None
            else np.asarray(
                _check_sample_weight(sample_weight, np.empty((n, 0)), dtype=np.float64, ensure_non_negative=True)
            )
        )
        if not weights.any():
            raise InputError("sample_weight is 0 for every row: at least one must count.")
        largest = C * weights.max()
        if not LEAST_COST <= largest <= MOST_COST:
            raise InputError(
                f"C times sample_weight is at most {largest:g}: it must be from {LEAST_COST:g} to {MOST_COST:g}."
            )
        cost = C * np.where(C * weights >= LEAST_COST, weights, 0)
        return np.broadcast_to(cost, n).astype(np.float32)

    def _scale(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _stop(self) -> Stop:
        return Stop(float(self.tol), int(self.max_iter))

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
        """Coefficients of the one-hot features of unit norm: (problems, n_components * 2**(bits + t_bits))."""
        check_is_fitted(self)
        count, k = self._w.shape[:2]
        width = int(self.hasher_.bits) + int(self.hasher_.t_bits)
        full = np.zeros((count, k, 1 << width), self._w.dtype)
        full[:, :, self.alphabet_] = self._w[:, :, : len(self.alphabet_)] * self._w.dtype.type(np.sqrt(k))
        return full.reshape(count, -1)

    def _stream(self, X: Any, first: bool) -> tuple[GCWS, PackedCodes]:
        """The hash of a stream, settled by its first rows, and the codes of some rows."""
        if not first:
            hasher = self.hasher_
            if isinstance(X, PackedCodes):
                self._check_codes(X)
                return hasher, X
        else:
            hasher = self._new_hasher()
            if isinstance(X, PackedCodes):
                adopt(hasher, X)
                return hasher, X
            hasher.fit(X)
        return hasher, hasher._codes(hasher._check_rows(X))

    def _keep_state(self, hasher: GCWS, state: OnlineState) -> None:
        self.hasher_, self.alphabet_, self._state = hasher, state.alphabet, state
        self._w, self._bias, self._beta, self.n_iter_ = state.mean_w, state.mean_bias, None, 1
        self._offset = self._scale() * self._bias
        for name in ("dual_gap_", "objective_"):  # of a fit before
            if hasattr(self, name):
                delattr(self, name)

    def _online(self, codes: PackedCodes, problems: int) -> OnlineState:
        """The state to go on from: that of partial_fit, the fitted model, or zeros; wide enough for the codes."""
        state = getattr(self, "_state", None)
        met = used_codes(codes)
        if state is None:
            fitted = hasattr(self, "_w")
            alphabet = self.alphabet_ if fitted else met
            shape = (problems, codes.n_components, stride_of(len(alphabet)))
            w = self._w.astype(np.float32) if fitted else np.zeros(shape, np.float32)
            bias = self._bias.copy() if fitted else np.zeros(problems)
            state = OnlineState(alphabet, w, bias, w.copy(), bias.copy(), 0)
        alphabet = np.union1d(state.alphabet, met)
        check_alphabet(alphabet, codes)
        if len(alphabet) > len(state.alphabet):
            w, mean = widen(state.w, state.alphabet, alphabet), widen(state.mean_w, state.alphabet, alphabet)
        else:
            w, mean = state.w.copy(), state.mean_w.copy()
        return OnlineState(alphabet, w, state.bias.copy(), mean, state.mean_bias.copy(), state.blocks)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.center is None
        return tags


def adopt(hasher: GCWS, codes: PackedCodes) -> None:
    """Make the hash that of given codes, where the parameters agree with it."""
    info = codes.info
    wanted = {
        "n_components": codes.n_components,
        "bits": codes.bits,
        "t_bits": codes.t_bits,
        "p": info.p,
        "gamma": info.gamma,
    }
    for name, theirs in wanted.items():
        mine = getattr(hasher, name)
        if mine != theirs:
            raise InputError(f"X are codes with {name}={theirs}, the model has {name}={mine}: set {name}={theirs}.")
    if isinstance(hasher.random_state, Integral) and int(hasher.random_state) != info.seed:
        raise InputError(
            f"X are codes with seed {info.seed}, the model has random_state={hasher.random_state}: "
            f"set random_state={info.seed}."
        )
    if (hasher.center is None) != (info.center is None) or (
        info.center is not None
        and not isinstance(hasher.center, str)
        and not np.array_equal(hasher.center, info.center)
    ):
        raise InputError("X are codes with another center than the model's: give the model the center of the codes.")
    hasher.seed_, hasher.center_, hasher.n_features_in_ = info.seed, info.center, info.n_features
    mine, theirs = hasher._info().hash_version, info.hash_version
    if mine != theirs:
        raise InputError(f"X are codes of hash version {theirs}, this kernelsketch has version {mine}: hash again.")
