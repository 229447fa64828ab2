r"""Learned weights of columns: gradient descent on the leave-one-out error of a kernel machine.

Let :math:`K_s(u, v) = S / M`, where S is the sum of minima and M the sum of maxima of the weighted columns
:math:`s_c u_c` and :math:`s_c v_c`, positive and negative parts apart. Then

.. math:: \frac{\partial K}{\partial \log s_c} = \frac{\min_c - K \max_c}{M},
   \qquad \min_c = \tfrac12 (|u_c| + |v_c| - |u_c - v_c|), \quad \max_c = |u_c| + |v_c| - \min_c,

so that the gradient of any function of a kernel matrix with respect to all weights needs one weighted sum of
differences per column. Each step draws a few hundred rows and moves the logarithms of the weights against the gradient
of the squared leave-one-out error of ridge regression with the exact kernel on them, which has a closed form: with
:math:`A = (K + \lambda I)^{-1}` the error of row i is :math:`(A y)_i / A_{ii}`. Every step draws other rows, so the
weights cannot fit a single draw. The result is the mean over the second half of the steps.

Rows may have several views, whose kernels are averaged; then all weights are learned at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dpotri
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from .._array import Array
from ..backends import processor_for
from ..kernels import gmm_kernel

MOST_ROWS, FEWEST_ROWS = 192, 100  # that a step draws
WIDE = 200  # columns from which on a step draws fewer rows
STEP = 0.3  # change of the logarithm of the weight with the largest gradient
MEMORY = 0.9  # of the moving averages of gradients
RIDGES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
NEGLIGIBLE = 1e-3  # relative weight below which a column is dropped
GRID = 16  # weights are powers of 2**(1 / GRID), so that rounding errors of BLAS do not show in them

Progress = Callable[[float], bool]


def learn_weights(
    sample: Callable[[Array], Sequence[Array]],
    widths: Sequence[int],
    targets: Array,
    *,
    n_steps: int,
    seed: int,
    progress: Progress | None = None,
) -> list[Array]:
    """Return one weight per column of each view, relative to the largest of the view.

    ``sample(rows)`` returns the given rows of each view, dense float32 of the given ``widths``. ``targets`` has a
    column per output. ``progress`` is called after each step with the fraction done, and stops the descent by
    returning false.
    """
    rng = np.random.default_rng(seed)
    wanted = int(MOST_ROWS * min(1.0, (WIDE / max(sum(widths), 1)) ** 0.5))
    count = min(len(targets), max(FEWEST_ROWS, wanted))
    logs = [np.zeros(width) for width in widths]
    if count < 4 or not np.any(targets):
        return [np.ones(width, np.float32) for width in widths]
    mean, first, second = ([np.zeros(width) for width in widths] for _ in range(3))
    ridge, averaged = None, 0
    with threadpool_limits(limits=1, user_api="blas"):  # small matrices
        for step in range(n_steps):
            rows = rng.permutation(len(targets))[:count]
            views = [view * np.exp(log).astype(np.float32) for view, log in zip(sample(rows), logs, strict=True)]
            gradients, ridge = _gradients(views, targets[rows], ridge)
            for v, gradient in enumerate(gradients):
                first[v] = MEMORY * first[v] + (1 - MEMORY) * gradient
                second[v] = MEMORY * second[v] + (1 - MEMORY) * gradient**2
                age = 1 - MEMORY ** (step + 1)
                largest = np.sqrt(second[v].max() / age)
                if largest > 0:
                    logs[v] = logs[v] - STEP * first[v] / age / largest
                    logs[v] -= logs[v].max()
            if 2 * step >= n_steps - 1:
                averaged += 1
                mean = [old + (log - old) / averaged for old, log in zip(mean, logs, strict=True)]
            if progress is not None and not progress((step + 1) / n_steps):
                break
    return [_rounded(log) for log in (mean if averaged else logs)]


def small_seed_of(random_state: Any) -> int:
    """Return the seed of a parameter random_state: drawn from its generator as a number of 31 bits."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def targets_of(y: Array, *, is_class: bool) -> Array:
    """Return centered targets, one column per class (one for two classes) or one for numbers.

    Of classes, ``y`` has a label per row, or the probability of each class (rows, classes).
    """
    if not is_class:
        spread = float(np.std(y))
        scaled: Array = ((y - np.mean(y)) / (spread if spread > 0 else 1.0))[:, None]
        return scaled
    if y.ndim == 1:
        classes = np.unique(y)
        y = y[:, None] == classes[None, :]
    ones = (y[:, 1:] if y.shape[1] == 2 else y) * 2.0
    centered: Array = ones - ones.mean(axis=0)
    return centered


def _rounded(log: Array) -> Array:
    log = log - log.max()
    weights = np.exp2(np.round(log / np.log(2) * GRID) / GRID)
    return np.where(weights < NEGLIGIBLE, 0, weights).astype(np.float32)


def _gradients(views: list[Array], y: Array, ridge: float | None) -> tuple[list[Array], float]:
    """Return the gradient of the leave-one-out error with respect to the logarithms of all weights, and the ridge."""
    share, n = 1 / len(views), len(y)
    kernels = [gmm_kernel(view) for view in views]
    K = np.zeros((n, n))
    for kernel in kernels:
        K += kernel
    K *= share
    if ridge is None:
        ridge = _best_ridge(K, y)
    K.flat[:: n + 1] += ridge
    A = _inverse(K)
    alpha, diagonal = A @ y, np.diag(A)[:, None]
    back = A @ (alpha / diagonal**2)
    inner = (alpha**2 / diagonal**3).sum(axis=1)
    # Single precision from here on: no errors of cancellation follow.
    root = A.astype(np.float32)
    root *= np.sqrt(inner * share / n).astype(np.float32)
    left = np.concatenate([back, alpha], axis=1).astype(np.float32)
    right = np.concatenate([alpha, back], axis=1).astype(np.float32)
    by_kernel = root @ root.T
    by_kernel -= (left * np.float32(share / n / 2)) @ right.T
    return [kernel_gradient(view, kernel, by_kernel) for view, kernel in zip(views, kernels, strict=True)], ridge


def _inverse(K: Array) -> Array:
    """Return the inverse of a positive definite matrix, which is overwritten."""
    factor, failed = dpotrf(K.T, lower=1, clean=1, overwrite_a=1)
    half, unfinished = dpotri(factor, lower=1, overwrite_c=1)
    if failed or unfinished:
        raise np.linalg.LinAlgError("the kernel matrix is not positive definite")
    half.T.flat[:: len(K) + 1] /= 2
    found: Array = half + half.T
    return found


def _best_ridge(K: Array, y: Array) -> float:
    """Return the ridge with the smallest leave-one-out error."""
    values, vectors = eigh(K)
    inside, squares = vectors.T @ y, vectors**2
    errors = []
    for ridge in RIDGES:
        inverse = 1 / (np.maximum(values, 0) + ridge)
        errors.append(float((((vectors * inverse) @ inside / (squares @ inverse)[:, None]) ** 2).sum()))
    return RIDGES[int(np.argmin(errors))]


def kernel_gradient(X: Array, K: Array, G: Array) -> Array:
    """Return the gradient of the sum of G * K with respect to the logarithm of the weight of each column.

    K is the GMM kernel of the rows X, and G is symmetric.
    """
    sizes, K = np.abs(X), K.astype(np.float32, copy=False)
    norms = sizes.sum(axis=1, dtype=np.float32)
    norms[norms == 0] = 1
    H = G.astype(np.float32)  # G over the sums of maxima
    W = K + np.float32(1)
    H *= W
    H /= norms[:, None] + norms[None, :]
    W *= H
    H *= np.float32(1) - K
    X = X.astype(np.float32, copy=False)
    apart = processor_for(X, work="the learning of weights of columns").weighted_differences(X, W)
    return np.asarray(H.sum(axis=1, dtype=np.float64) @ sizes - apart)
