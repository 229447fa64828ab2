"""The largest powers that the hash computes accurately.

The hash takes L = p log2|value| as float32. For |L| up to 2^14 it is rounded by at most 2^-11, so a weight is off by a
factor of at most 2^(2^-11), 3.4e-4 relative, and the collision probability by less than 1e-3. The error grows with |L|:
beyond 2^24 different weights collide as if they were equal. Values that are small against the largest one of their row
do not matter, because they win no hash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._array import Array
from .._validation import row_batches
from ..backends import DenseRows, Rows, backend_for
from ..exceptions import InputError
from ._views import views_of

if TYPE_CHECKING:
    from ._hasher import Hasher

MOST_LOG = 2.0**14
FLOAT_LOG = 1075  # |log2| of every float64, also of the difference of two, is less than this


def check_powers(hasher: Hasher, rows: Rows) -> None:
    """Refuse rows whose largest value to the power p is too large or too small. An ordinary p needs no look at them."""
    if hasher.p * FLOAT_LOG <= MOST_LOG:
        return
    for view in views_of(hasher, rows.n_features):
        sizes = _sizes(rows.columns(view.columns) if hasher.views else rows, view.hasher.center)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(sizes > 0, hasher.p * np.log2(sizes), 0.0)
        over = ~(np.abs(logs) <= MOST_LOG) & np.isfinite(sizes)
        if over.any():
            row, minus = int(np.argmax(over)), "" if hasher.center is None else " minus center"
            raise InputError(
                f"X has a row whose largest value{minus} is {sizes[row]:g} in size. With p={hasher.p:g}, "
                f"|p log2(value)| is {abs(logs[row]):.6g}, and the hash is accurate up to {MOST_LOG:g}. Scale X, for "
                "example so that its largest value is 1, or use a smaller p."
            )


def _sizes(rows: Rows, center: Array | None) -> Array:
    """Return the largest absolute value of each row minus the center."""
    backend = backend_for(*rows.arrays)
    if center is None or not isinstance(rows, DenseRows):
        return np.asarray(backend.to_numpy(backend.measure(rows).sizes))
    sizes = np.empty(len(rows))
    for part in row_batches(len(rows), rows.row_bytes):
        values = backend.to_numpy(rows.values[part]).astype(np.float64)
        sizes[part] = np.abs(values - backend.to_numpy(center)).max(axis=1)
    return sizes
