"""The parameters of a hash in scikit-learn estimators, and the functions that make a Hasher from them."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

from .._validation import check_center, check_power
from ..backends import CsrRows, Rows, backend_for
from ..exceptions import InputError
from ._hasher import Hasher

Array = NDArray[Any]

HASH_CONSTRAINTS: dict[str, Any] = {
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "bits": [Interval(Integral, 1, 16, closed="both")],
    "t_bits": [Interval(Integral, 0, 8, closed="both")],
    "p": [Interval(Real, 0, None, closed="neither")],
    "gamma": [Interval(Real, 0, 1e4, closed="right"), None],
    "center": [StrOptions({"mean", "median"}), "array-like", None],
    "random_state": [Interval(Integral, 0, 2**64 - 1, closed="both"), np.random.RandomState, None],
    "n_jobs": [Integral, None],
}


def check_hash(p: Any, gamma: Any, t_bits: int) -> None:
    """Refuse combinations of parameters that cannot be used. scikit-learn checks each parameter by itself."""
    check_power(p)
    if gamma is not None and t_bits > 0:
        raise InputError(
            f"t_bits={t_bits} cannot be used with gamma={gamma}: a hash of eGMM joins several samples and has no t* "
            "of its own. Use t_bits=0."
        )


def hasher_for(estimator: Any, rows: Rows) -> Hasher:
    """Make the hasher of an estimator's parameters. A center of "mean" or "median" is computed from the rows."""
    center = learned_center(estimator.center, rows)
    return hasher_with(estimator, seed_of(estimator.random_state), center)


def learned_center(center: Any, rows: Rows) -> Array | None:
    """Return the center as a NumPy vector. "mean" and "median" are computed from the rows, which must be dense."""
    if center is None:
        return None
    if isinstance(rows, CsrRows):
        return check_center(center, rows.to_scipy())
    values = backend_for(rows.values).to_numpy(rows.values) if isinstance(center, str) else rows.values
    return check_center(center, values)


def hasher_with(estimator: Any, seed: int, center: Array | None) -> Hasher:
    """Make the hasher of an estimator's parameters with a known seed and center."""
    check_hash(estimator.p, estimator.gamma, estimator.t_bits)
    return Hasher(
        int(estimator.n_components),
        seed,
        int(estimator.bits),
        int(estimator.t_bits),
        float(estimator.p),
        None if estimator.gamma is None else float(estimator.gamma),
        center,
    )


def checked_hasher(
    *, n_components: Any, seed: Any, bits: Any = 8, t_bits: Any = 0, p: Any = 1.0, gamma: Any = None, center: Any = None
) -> Hasher:
    """Make a hasher and check each value. Use it for values that no estimator has checked, such as those of a file."""
    given = {"n_components": n_components, "bits": bits, "t_bits": t_bits, "p": p, "gamma": gamma, "random_state": seed}
    validate_parameter_constraints(HASH_CONSTRAINTS, given, "Hasher")
    check_hash(p, gamma, t_bits)
    if center is not None and not np.isfinite(center).all():
        raise InputError("center is not finite: every value must be a number.")
    return Hasher(n_components, seed_of(seed), bits, t_bits, float(p), None if gamma is None else float(gamma), center)


def seed_of(random_state: Any) -> int:
    """Return the seed: ``random_state`` itself if it is an integer, otherwise a number drawn from it."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(0, 2**63, dtype=np.int64))
