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
)

from .._rows import estimator_rows, estimator_rows_and_targets
from .._validation import check_n_jobs, row_batches
from ..backends import HASH_VERSION, Backend, Rows, backend_for, place_of
from ..exceptions import InputError
from ..features import GCWS
from ..hashing import HASH_CONSTRAINTS, Hasher, PackedCodes, check_hash, hasher_for
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
        **HASH_CONSTRAINTS,
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
    }

    _hasher: Hasher
    alphabet_: Array
    _w: Array
    _bias: Array
    _offset: Array  # scale times bias as they were fitted, whatever is set later
    _beta: Array | None
    _state: OnlineState | None

    @property
    def hasher_(self) -> GCWS:
        """The hash of the model as a fitted transformer."""
        check_is_fitted(self)
        return GCWS.from_hasher(self._hasher, self.n_features_in_, n_jobs=self.n_jobs)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_w")

    def _decision_values(self, X: Any) -> Array:
        """(rows, problems) float64, where the rows live: hashed and evaluated a few rows at a time."""
        check_is_fitted(self)
        self._validate_params()
        threads = check_n_jobs(self.n_jobs)
        parts = []
        for codes in self._batches(X, threads):
            table, unknown = encode(codes, self.alphabet_)
            backend = table.backend(threads)
            w = self._w
            if unknown and len(self.alphabet_) == w.shape[2]:
                w = np.pad(w, ((0, 0), (0, 0), (0, 1)))  # a weight of 0 for codes that training did not meet
            parts.append(backend.linear_decide(table.codes, table.empty, 1.0, self._placed(w, backend), self._offset))
        values = np.concatenate(parts) if len(parts) > 1 else parts[0]
        return values.astype(np.float64)

    @staticmethod
    def _placed(w: Array, backend: Backend) -> Array:
        """The weights where the codes are: rows may come from another place than those of the fit."""
        return w if place_of(w) is backend.place else backend.from_numpy(backend_for(w).to_numpy(w))

    def _batches(self, X: Any, threads: int) -> Iterator[PackedCodes]:
        k = self._hasher.n_components
        if isinstance(X, PackedCodes):
            self._check_codes(X)
            for part in row_batches(len(X), 2 * k, STEP_BYTES):
                yield X[part]
            return
        rows = estimator_rows(self, X, reset=False)
        for part in row_batches(len(rows), 2 * k, STEP_BYTES):
            yield self._hasher.codes(rows.part(part), threads=threads)

    def _check_codes(self, codes: PackedCodes) -> None:
        """Refuse codes of another hash than the model's."""
        if len(codes) == 0:
            raise InputError(f"X is empty: PackedCodes of shape {codes.shape}, at least one row is needed.")
        difference = self._hasher.difference(codes.hasher)
        if difference is not None:
            raise InputError(f"X are codes of another hash than the model's ({difference}): hash the rows alike.")

    def _hash(self, X: Rows | PackedCodes) -> tuple[Hasher, CodeTable]:
        """The hash of this fit, and the codes of checked rows."""
        if isinstance(X, PackedCodes):
            return hasher_of_codes(self, X), compact(X)
        hasher = hasher_for(self, X)
        return hasher, compact(hasher.codes(X, threads=check_n_jobs(self.n_jobs)), owned=True)

    def _check_rows_and_targets(self, X: Any, y: Any, *, reset: bool = True, **options: Any) -> tuple[Any, Any]:
        """Rows and targets, checked once: what comes back is :class:`Rows` or codes."""
        if not isinstance(X, PackedCodes):
            return estimator_rows_and_targets(self, X, y, reset=reset, **options)
        if len(X) == 0:
            raise InputError(f"X is empty: PackedCodes of shape {X.shape}, at least one row is needed.")
        if reset:
            self.n_features_in_ = X.n_features
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
        backend = backend_for(self._w)
        full = backend.zeros((count, k, 1 << self._hasher.width), self._w.dtype)
        full[:, :, self.alphabet_] = self._w[:, :, : len(self.alphabet_)] * self._w.dtype.type(np.sqrt(k))
        return full.reshape(count, -1)

    def _stream(self, X: Rows | PackedCodes, first: bool) -> tuple[Hasher, PackedCodes]:
        """The hash of a stream, settled by its first rows, and the codes of some rows."""
        if isinstance(X, PackedCodes):
            if first:
                return hasher_of_codes(self, X), X
            self._check_codes(X)
            return self._hasher, X
        hasher = hasher_for(self, X) if first else self._hasher
        return hasher, hasher.codes(X, threads=check_n_jobs(self.n_jobs))

    def _keep_state(self, hasher: Hasher, state: OnlineState) -> None:
        self._hasher, self.alphabet_, self._state = hasher, state.alphabet, state
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


def hasher_of_codes(model: Any, codes: PackedCodes) -> Hasher:
    """The hash of given codes, refused where the model's parameters describe another one."""
    theirs = codes.hasher
    check_hash(model.p, model.gamma, model.t_bits)
    for name in ("n_components", "bits", "t_bits", "p", "gamma"):
        if getattr(model, name) != getattr(theirs, name):
            given, needed = getattr(model, name), getattr(theirs, name)
            raise InputError(f"X are codes with {name}={needed}, the model has {name}={given}: set {name}={needed}.")
    if isinstance(model.random_state, Integral) and int(model.random_state) != theirs.seed:
        raise InputError(
            f"X are codes with seed {theirs.seed}, the model has random_state={model.random_state}: "
            f"set random_state={theirs.seed}."
        )
    if (model.center is None) != (theirs.center is None) or (
        theirs.center is not None
        and not isinstance(model.center, str)
        and not np.array_equal(model.center, theirs.center)
    ):
        raise InputError("X are codes with another center than the model's: give the model the center of the codes.")
    if theirs.hash_version != HASH_VERSION:
        raise InputError(
            f"X are codes of hash version {theirs.hash_version}, this kernelsketch has version {HASH_VERSION}: "
            "hash again."
        )
    return theirs
