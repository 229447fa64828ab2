"""sign_split, equation (2) of the paper: signed data as nonnegative data with twice as many features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._validation import FLOATS, as_row, check_center, check_rows, is_row, row_batches
from ..backends import CsrRows, DenseRows
from ..exceptions import InputError, Setting
from ._operand import STEP_BYTES, Operand


def sign_split(X: Any, center: Any = None) -> Any:
    r"""Split each feature into two nonnegative features, one for positive and one for negative values.

    .. math::

        \tilde u_{2i} = \max(u_i - c_i, 0), \qquad \tilde u_{2i+1} = \max(c_i - u_i, 0)

    This is equation (2) of the paper, with features counted from 0. GMM is the min-max (weighted Jaccard) similarity of
    split rows. The kernels of this package split signs themselves; use this function to prepare data for other
    libraries.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features), or a 1-D row
    center : None, "mean", "median" or vector of shape (n_features,), default=None
        The vector c in the formula. "mean" and "median" are computed from X. None means 0. Sparse data allow only None.

    Returns
    -------
    X_split : array or CSR matrix of shape (n_samples, 2 * n_features)
        The split rows, dense if X is dense and CSR if X is sparse. The dtype is float32 if X is float32, otherwise
        float64.

    Examples
    --------
    >>> from kernelsketch import sign_split
    >>> sign_split([-5.0, 3.0])  # the paper's example
    array([0., 5., 3., 0.])
    """
    if is_row(X):
        if isinstance(center, str):
            raise InputError(Setting("center", center), " cannot be learned from one row: pass the vector itself.")
        return sign_split(as_row(X, "X"), center)[0]
    rows = check_rows(X, "X")
    dtype = rows.dtype.newbyteorder("=") if rows.dtype.newbyteorder("=") in FLOATS else np.dtype(np.float64)
    Operand(CsrRows.of(rows) if sparse.issparse(rows) else DenseRows(rows), "X", dtype)  # refuses NaN and infinity
    vector = check_center(center, rows)
    if not sparse.issparse(rows):
        split = np.empty((rows.shape[0], 2 * rows.shape[1]), dtype)
        for part in row_batches(rows.shape[0], 8 * rows.shape[1], STEP_BYTES):
            with np.errstate(over="ignore"):
                shifted = (rows[part] if vector is None else rows[part].astype(np.float64) - vector).astype(dtype)
            if not np.isfinite(shifted).all():
                raise InputError(f"X minus center exceeds the largest {dtype}: scale X and center down first.")
            split[part, 0::2] = np.where(shifted > 0, shifted, 0)
            split[part, 1::2] = np.where(shifted < 0, -shifted, 0)
        return split
    if rows.shape[1] > np.iinfo(np.int64).max // 2:
        raise InputError(f"X has {rows.shape[1]} features: twice as many do not fit in 64-bit indices.")
    index = np.int64 if 2 * rows.shape[1] > np.iinfo(np.int32).max else rows.indices.dtype
    size = int(rows.indptr[-1])
    data, indices = rows.data[:size].astype(dtype), rows.indices[:size].astype(index)
    indices *= 2
    indices += data < 0
    split = type(rows)((np.abs(data, out=data), indices, rows.indptr.copy()), shape=(rows.shape[0], 2 * rows.shape[1]))
    split.eliminate_zeros()
    return split
