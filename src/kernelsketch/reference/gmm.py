"""The generalized min-max kernel: the formula of the paper, and the order of operations of the library.

:func:`gmm` is equation (3) as written, in float64. :func:`gmm_dense`, :func:`gmm_bytes` and :func:`gmm_sparse` are the
three algorithms of the library, operation by operation; native code gives the same results bit for bit. The error
bounds are in ``native/include/kernelsketch/gmm.h``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import Array

GROUP = 8  # number of features added as a tree, ((m0 + m1) + (m2 + m3)) + ((m4 + m5) + (m6 + m7))
CHUNK = 64  # number of features summed in the input's type before the sum goes to float64
MIN_MAX, INTERSECTION = 0, 1  # how the sums are combined; see `of_distance`


def sign_split(X: Array) -> Array:
    """Apply equation (2): positive entries go to even slots, absolute values of negative entries to odd slots."""
    split = np.zeros((X.shape[0], 2 * X.shape[1]), X.dtype)
    split[:, 0::2] = np.where(X > 0, X, 0)
    split[:, 1::2] = np.where(X < 0, -X, 0)
    return split


def gmm(X: Array, Y: Array, p: float = 1.0) -> Array:
    """Compute equation (3), the sum of minima over the sum of maxima of split rows, with entries to the power ``p``."""
    u = sign_split(np.asarray(X, np.float64))[:, None, :]
    v = sign_split(np.asarray(Y, np.float64))[None, :, :]
    size = np.maximum(u.max(axis=2), v.max(axis=2))[:, :, None]  # the largest entry of each pair
    if p == 1.0:
        size = np.where(size > 0, size, 1.0)
        u, v = u / size, v / size
    else:  # logarithms avoid overflow and underflow for every p
        with np.errstate(divide="ignore", invalid="ignore"):
            u, v = (np.nan_to_num(np.exp(p * (np.log(x) - np.log(size)))) for x in (u, v))
    above, below = np.minimum(u, v).sum(axis=2), np.maximum(u, v).sum(axis=2)
    return np.asarray(np.divide(above, below, out=np.zeros_like(above), where=below > 0))


def gmm_dense(a: Array, b: Array, ratio: int) -> Array:
    """Compute the kernel of dense rows from D = sum u + sum v - 2 sum min(u, v) of the signed values."""
    minima = _ordered_sum(lambda f: np.minimum(a[:, f, None], b[None, :, f]), a.shape[1], a.dtype)
    total = _row_sums(np.abs(a))[:, None] + _row_sums(np.abs(b))[None, :]
    distance = (_row_sums(a)[:, None] + _row_sums(b)[None, :]) - (minima + minima)
    return of_distance(total, distance, ratio) * _nonempty(a, b)


def gmm_bytes(a: Array, b: Array, a_norms: Array, b_norms: Array, ratio: int) -> Array:
    """Compute the kernel of small integers, shifted to bytes. D is the exact sum of absolute differences."""
    distance = np.zeros((len(a), len(b)), np.int64)
    for f in range(a.shape[1]):
        distance += np.abs(a[:, f, None].astype(np.int64) - b[None, :, f])
    total = a_norms[:, None] + b_norms[None, :]
    nonempty = (a_norms > 0)[:, None] & (b_norms > 0)[None, :]
    return of_distance(total, distance.astype(a_norms.dtype), ratio) * nonempty


def gmm_sparse(a: Array, b: Array, ratio: int) -> Array:
    """Compute the kernel of sparse rows, given as dense arrays here.

    The minima of values of equal sign are summed in float64, feature by feature.
    """
    u, v = sign_split(a), sign_split(b)
    minima = np.zeros((len(a), len(b)))
    u_norms, v_norms = np.zeros(len(a)), np.zeros(len(b))
    for f in range(u.shape[1]):
        minima += np.minimum(u[:, f, None], v[None, :, f])
        u_norms += u[:, f]
        v_norms += v[:, f]
    return of_minima(minima, u_norms[:, None] + v_norms[None, :], ratio).astype(a.dtype)


def weighted_differences(x: Array, weights: Array) -> Array:
    """Return the sum of ``weights[i, j] * |x[i] - x[j]|`` over all pairs i < j, for each feature.

    The terms of each i are added in float32, in ascending order of j, and the sums of all i in float64.
    """
    total = np.zeros(x.shape[1])
    for i in range(len(x) - 1):
        terms = weights[i, i + 1 :, None] * np.abs(x[i] - x[i + 1 :])
        total += np.add.accumulate(terms, axis=0, dtype=np.float32)[-1]
    return total


def of_distance(total: Array, distance: Array, ratio: int) -> Array:
    """Return (|u| + |v| - D) over (|u| + |v| + D) or over |u| + |v|, clipped to [0, 1]. Two empty rows give 0."""
    below = total + distance if ratio == MIN_MAX else total
    quotient = np.divide(total - distance, below, out=np.zeros_like(total), where=below > 0)
    return np.asarray(np.clip(quotient, 0, 1))


def of_minima(minima: Any, total: Any, ratio: int = MIN_MAX) -> Array:
    """Return M over (|u| + |v| - M) or 2 M over |u| + |v|, at most 1, of the sum M of minima; 0 for empty rows."""
    below = np.asarray(total - minima if ratio == MIN_MAX else total)
    above = minima if ratio == MIN_MAX else minima + minima
    one = below.dtype.type(1)
    return np.asarray(np.minimum(above / np.where(below > 0, below, one), one))


def _nonempty(a: Array, b: Array) -> Array:
    return np.asarray((a != 0).any(axis=1)[:, None] & (b != 0).any(axis=1)[None, :])


def _row_sums(x: Array) -> Array:
    return _ordered_sum(lambda f: x[:, f], x.shape[1], x.dtype)


def _ordered_sum(terms: Any, n_features: int, dtype: Any) -> Array:
    """Sum ``terms(f)`` over the features f in the fixed order. Terms past the last feature are 0."""
    total: Any = 0.0
    for start in range(0, n_features, CHUNK):
        chunk: Any = 0
        for f in range(start, min(start + CHUNK, n_features), GROUP):
            m = [terms(g) if g < n_features else dtype.type(0) for g in range(f, f + GROUP)]
            tree = ((m[0] + m[1]) + (m[2] + m[3])) + ((m[4] + m[5]) + (m[6] + m[7]))
            chunk = tree + chunk
        total = chunk.astype(np.float64) + total
    summed: Array = total.astype(dtype)
    return summed
