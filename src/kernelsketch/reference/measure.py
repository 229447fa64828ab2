"""Whether CSR arrays have the form in which all operations take sparse rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .._array import Array


def is_canonical(indptr: Array, indices: Array, n_features: int) -> bool:
    """Return whether ``indptr`` ascends from 0 to at most ``len(indices)``, and indices ascend within a row.

    The indices are distinct within a row, not negative and below ``n_features``.
    """
    if indptr[0] != 0 or indptr[-1] > len(indices) or (np.diff(indptr) < 0).any():
        return False
    rows = [indices[begin:end] for begin, end in pairwise(indptr)]
    return all((np.diff(row) > 0).all() and (row >= 0).all() and (row < n_features).all() for row in rows)
