"""The parameters of a hash in scikit-learn estimators, and the functions that make a Hasher from them."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ._array import Array
from ._estimator import check_constraints
from ._rows import learned_center
from ._validation import check_power
from .backends import Rows
from .exceptions import InputError, Setting
from .hashing import Hasher

HASH_CONSTRAINTS: dict[str, Any] = {
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "bits": [Interval(Integral, 1, 16, closed="both")],
    "t_bits": [Interval(Integral, 0, 8, closed="both")],
    "p": [Interval(Real, 0, None, closed="neither")],
    "gamma": [Interval(Real, 0, 1e4, closed="right"), None],
    "center": [StrOptions({"mean", "median"}), "array-like", None],
    "views": [Interval(Integral, 1, None, closed="left"), "array-like", None],
    "random_state": [Interval(Integral, 0, 2**64 - 1, closed="both"), np.random.RandomState, None],
    "n_jobs": [Integral, None],
}


def check_hash(p: Any, gamma: Any, t_bits: int) -> None:
    """Refuse combinations of parameters that cannot be used. scikit-learn checks each parameter by itself."""
    check_power(p)
    if gamma is not None and t_bits > 0:
        raise InputError(
            Setting("t_bits", t_bits),
            " cannot be used with ",
            Setting("gamma", gamma),
            ": a hash of eGMM joins several samples and has no t* of its own. Use ",
            Setting("t_bits", 0),
            ".",
        )


def hasher_for(estimator: Any, rows: Rows, counts: Array | None = None) -> Hasher:
    """Make the hasher of an estimator's parameters. A center of "mean" or "median" is computed from the rows."""
    center = learned_center(estimator.center, rows, counts)
    return hasher_with(estimator, seed_of(estimator.random_state), center, rows.n_features)


def view_widths(views: Any, n_features: int | None) -> tuple[int, ...]:
    """Return the widths of the groups of columns that the parameter ``views`` describes; () means the plain hash.

    A single group is the plain hash. ``n_features`` is None if the number of columns is not known.
    """
    if views is None:
        return ()
    if isinstance(views, Integral):
        if n_features is None:
            raise InputError(
                Setting("views", views), " needs the number of columns: set n_features, or views to their widths."
            )
        if n_features % int(views) or n_features < int(views):
            raise InputError(
                Setting("views", views),
                f" cannot divide {n_features} features into groups of equal width: pass a list of widths, "
                f"whose sum is {n_features}.",
            )
        widths = [n_features // int(views)] * int(views)
    else:
        widths = list(views)
        if not widths or not all(isinstance(width, Integral) and width > 0 for width in widths):
            raise InputError(
                Setting("views", views),
                " must be None, the number of groups of columns, or a list of their widths, which are "
                "whole numbers above 0.",
            )
        if n_features is not None and sum(widths) != n_features:
            raise InputError(
                Setting("views", [int(width) for width in widths]),
                f" has widths of {sum(widths)} columns in all, but X has "
                f"{n_features} features: the sum must be {n_features}.",
            )
    return tuple(int(width) for width in widths) if len(widths) > 1 else ()


def hasher_with(estimator: Any, seed: int, center: Array | None, n_features: int | None) -> Hasher:
    """Make the hasher of an estimator's parameters with a known seed and center, for rows of ``n_features`` columns."""
    check_hash(estimator.p, estimator.gamma, estimator.t_bits)
    return Hasher(
        int(estimator.n_components),
        seed,
        int(estimator.bits),
        int(estimator.t_bits),
        float(estimator.p),
        None if estimator.gamma is None else float(estimator.gamma),
        center,
        views=view_widths(estimator.views, n_features),
    )


def checked_hasher(
    *,
    n_components: Any,
    seed: Any,
    bits: Any = 8,
    t_bits: Any = 0,
    p: Any = 1.0,
    gamma: Any = None,
    center: Any = None,
    views: tuple[int, ...] = (),
) -> Hasher:
    """Make a hasher and check each value. Use it for values that no estimator has checked, such as those of a file."""
    given = {"n_components": n_components, "bits": bits, "t_bits": t_bits, "p": p, "gamma": gamma, "random_state": seed}
    check_constraints(HASH_CONSTRAINTS, given, "Hasher")
    check_hash(p, gamma, t_bits)
    if center is not None and not np.isfinite(center).all():
        raise InputError(Setting("center"), " is not finite: every value must be a number.")
    gamma = None if gamma is None else float(gamma)
    return Hasher(n_components, seed_of(seed), bits, t_bits, float(p), gamma, center, views=views)


def seed_of(random_state: Any) -> int:
    """Return the seed: ``random_state`` itself if it is an integer, otherwise a number drawn from it."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(0, 2**63, dtype=np.int64))
