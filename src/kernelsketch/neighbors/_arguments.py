"""Checks of arguments of the index: ids, thresholds, numbers of neighbours."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .._array import Array
from .._hash_parameters import check_hash, learned_center, seed_of
from .._validation import check_positive_int
from ..backends import Rows, on_host
from ..exceptions import InputError, InputTypeError, Setting
from ..hashing import Hasher

LARGEST = 2**63 - 1


def index_hasher(index: Any, rows: Rows, n_components: int) -> Hasher:
    """Return the hasher for the parameters of an index, which scikit-learn has checked one by one.

    A center of "mean" or "median" is learned from the rows.
    """
    check_hash(index.p, None, 0)
    center = learned_center(index.center, rows)
    return Hasher(n_components, seed_of(index.random_state), p=float(index.p), center=center)


def check_ids(ids: Any, n_rows: int | None = None) -> Array:
    """Return ids as int64. They must be distinct integers, one per row if ``n_rows`` is given."""
    found = np.asarray(on_host(ids))
    if found.ndim == 1 and len(found) == 0 and not n_rows:
        return np.zeros(0, np.int64)
    if found.dtype.kind not in "iu":
        raise InputTypeError(Setting("ids"), f" must be integers of 64 bits, got dtype {found.dtype}.")
    if found.ndim != 1 or (n_rows is not None and len(found) != n_rows):
        wanted = "1-D" if n_rows is None else f"of shape ({n_rows},), one per row"
        raise InputError(Setting("ids"), f" must be {wanted}, got shape {found.shape}.")
    if found.dtype.kind == "u" and found.max() > LARGEST:
        raise InputError(Setting("ids"), f" must be at most 2**63 - 1, got {found.max()}.")
    found = found.astype(np.int64)
    rising = np.sort(found)
    repeated = rising[1:] == rising[:-1]
    if repeated.any():
        raise InputError(Setting("ids"), f" must be distinct, got {rising[np.argmax(repeated)]} more than once.")
    return found


def next_ids(ids: Array, n_rows: int) -> Array:
    """Return the ids that follow the largest one."""
    first = int(ids[-1]) + 1 if len(ids) else 0
    if first + n_rows - 1 > LARGEST:
        raise InputError(
            Setting("ids"), f" cannot continue after {first - 1}, the largest in the index: pass ids for these rows."
        )
    return np.arange(first, first + n_rows, dtype=np.int64)


def check_threshold(threshold: Any) -> float:
    """Return the similarity from which rows are neighbours, if it is one."""
    if isinstance(threshold, bool) or not isinstance(threshold, numbers.Real):
        raise InputTypeError(
            Setting("threshold"), f" must be a number, got {threshold!r} of type {type(threshold).__name__}."
        )
    if not 0 < float(threshold) <= 1:
        raise InputError(
            Setting("threshold"),
            f" must be above 0 and at most 1, got {threshold!r}: rows of similarity 0 are never neighbours.",
        )
    return float(threshold)


def check_count(n_neighbors: Any, n_rows: int, own: bool) -> int:
    """Return the number of neighbours, if the index has so many rows. ``own``: the queries are its rows."""
    k = check_positive_int(n_neighbors, "n_neighbors")
    if k > n_rows - own:
        others = " besides the query itself" if own else ""
        raise InputError(
            Setting("n_neighbors", k), f" is more than the {n_rows - own} rows of the index{others}: ask for fewer."
        )
    return k
