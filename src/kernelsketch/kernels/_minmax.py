"""The GMM kernel and its relatives: equation (3) of the paper, and the kernels of its follow-ups."""

from __future__ import annotations

from typing import Any

from .._validation import check_n_jobs, check_positive, check_power
from ..backends import Ratio
from ._evaluate import evaluate, operands
from ._minmax_plan import MinMaxPlan


def plan_gmm(X: Any, Y: Any, *, p: float = 1.0, center: Any = None, n_jobs: int | None = None) -> MinMaxPlan:
    power, threads = check_power(p), check_n_jobs(n_jobs)
    return MinMaxPlan(*operands(X, Y, center=center, p=power), Ratio.MIN_MAX, threads)


def plan_egmm(
    X: Any, Y: Any, *, gamma: float = 1.0, p: float = 1.0, center: Any = None, n_jobs: int | None = None
) -> MinMaxPlan:
    rate = check_positive(gamma, "gamma")
    power, threads = check_power(p), check_n_jobs(n_jobs)
    return MinMaxPlan(*operands(X, Y, center=center, p=power), Ratio.MIN_MAX, threads, rate)


def plan_ngmm(X: Any, Y: Any, *, center: Any = None, n_jobs: int | None = None) -> MinMaxPlan:
    threads = check_n_jobs(n_jobs)
    return MinMaxPlan(*operands(X, Y, center=center, norm=1), Ratio.MIN_MAX, threads)


def plan_intersection(X: Any, Y: Any, *, center: Any = None, n_jobs: int | None = None) -> MinMaxPlan:
    threads = check_n_jobs(n_jobs)
    return MinMaxPlan(*operands(X, Y, center=center, norm=1), Ratio.INTERSECTION, threads)


def gmm_kernel(
    X: Any, Y: Any = None, *, p: float = 1.0, center: Any = None, n_jobs: int | None = None, out: Any = None
) -> Any:
    r"""Generalized min-max (GMM) kernel of any signed data, and its p-th power variant, pGMM.

    .. math::

        \mathrm{GMM}(u, v) =
        \frac{\sum_i \min(\tilde u_i, \tilde v_i)^p}{\sum_i \max(\tilde u_i, \tilde v_i)^p}

    where :math:`\tilde u` holds the positive entries of u and the sizes of its negative entries in
    separate slots (:func:`sign_split`). On nonnegative data with ``p=1`` it is the weighted Jaccard
    similarity; on 0/1 data the Jaccard similarity. It lies in [0, 1], is symmetric, does not change
    when both rows are multiplied by the same number, and is positive definite.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples_X, n_features), or a 1-D row
    Y : array or CSR matrix of shape (n_samples_Y, n_features), or a 1-D row, default=None
        ``None`` stands for X; half of the matrix is then mirrored from the other half.
        Dense and sparse sides can be mixed.
    p : float, default=1.0
        Power above 0, at most 1e6. Large values let the largest entries decide; any value is computed stably.
    center : None, "mean", "median" or vector of shape (n_features,), default=None
        Subtracted first, in float64, so that signs split around it (the paper's footnote 1).
        "mean" and "median" are taken over Y, or over X where Y is None: within
        ``SVC(kernel=...)`` that is the training set at ``fit`` and at ``predict`` alike.
        Refused for sparse data.
    n_jobs : int, default=None
        Threads: None is 1 (unless joblib's ``parallel_config`` says otherwise), -1 all processors.
        The result does not depend on it.
    out : array of shape (n_samples_X, n_samples_Y), default=None
        Where to write, for example a ``numpy.memmap``; of the result's dtype, rows in C order.

    Returns
    -------
    K : array of shape (n_samples_X, n_samples_Y), or float for two 1-D rows
        float32 if both inputs are float32, else float64.

    See Also
    --------
    egmm_kernel : its exponential, with a parameter gamma.
    ngmm_kernel : the same on rows of unit L1 norm.
    iter_kernel_blocks : for matrices that do not fit in memory.

    Notes
    -----
    A row of zeros (after centering) has similarity 0 to every row, itself included.

    float32 results are within 2e-6 of the exact value for any number of features, also where
    values span 1e-30 to 1e30. Equal rows give exactly 1.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelsketch import gmm_kernel
    >>> u, v = np.array([-5.0, 3.0]), np.array([-1.0, 4.0])
    >>> gmm_kernel(u, v)  # (1 + 3) / (5 + 4)
    0.4444444444444444
    >>> X = np.array([[1.0, 0.0, 2.0], [1.0, -1.0, 1.0], [0.0, 0.0, 0.0]])
    >>> gmm_kernel(X)
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0. ],
           [0. , 0. , 0. ]])
    """
    return evaluate(plan_gmm, X, Y, out, p=p, center=center, n_jobs=n_jobs)


def egmm_kernel(
    X: Any,
    Y: Any = None,
    *,
    gamma: float = 1.0,
    p: float = 1.0,
    center: Any = None,
    n_jobs: int | None = None,
    out: Any = None,
) -> Any:
    r"""Exponential GMM kernel (eGMM; with ``p``: epGMM).

    .. math:: \mathrm{eGMM}(u, v; \gamma) = e^{-\gamma\,(1 - \mathrm{GMM}(u, v))}

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples_X, n_features), or a 1-D row
    Y : array or CSR matrix of shape (n_samples_Y, n_features), or a 1-D row, default=None
        ``None`` stands for X.
    gamma : float, default=1.0
        Above 0. The larger, the faster similarity falls; errors of GMM grow ``gamma``-fold.
    p, center, n_jobs, out
        As in :func:`gmm_kernel`.

    Returns
    -------
    K : array of shape (n_samples_X, n_samples_Y), or float for two 1-D rows
        A row of zeros has similarity 0 to every row, itself included.

    See Also
    --------
    gmm_kernel : without the exponential.

    Examples
    --------
    >>> from kernelsketch import egmm_kernel
    >>> round(egmm_kernel([-5.0, 3.0], [-1.0, 4.0], gamma=2.0), 6)  # exp(-2 (1 - 4/9))
    0.329193
    """
    return evaluate(plan_egmm, X, Y, out, gamma=gamma, p=p, center=center, n_jobs=n_jobs)


def ngmm_kernel(X: Any, Y: Any = None, *, center: Any = None, n_jobs: int | None = None, out: Any = None) -> Any:
    r"""Normalized GMM kernel: GMM of rows scaled to unit L1 norm.

    .. math:: \mathrm{NGMM}(u, v) = \mathrm{GMM}(u / \|u\|_1,\ v / \|v\|_1)

    It forgets how large a row is and compares shapes only, as a histogram does.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples_X, n_features), or a 1-D row
    Y : array or CSR matrix of shape (n_samples_Y, n_features), or a 1-D row, default=None
        ``None`` stands for X.
    center, n_jobs, out
        As in :func:`gmm_kernel`.

    Returns
    -------
    K : array of shape (n_samples_X, n_samples_Y), or float for two 1-D rows
        A row of zeros has similarity 0 to every row, itself included.

    See Also
    --------
    intersection_kernel : the numerator of this kernel; NGMM = GInt / (2 - GInt).

    Examples
    --------
    >>> from kernelsketch import ngmm_kernel
    >>> ngmm_kernel([1.0, 1.0], [5.0, 5.0])
    1.0
    >>> round(ngmm_kernel([1.0, 1.0], [1.0, 0.0]), 6)  # 0.5 / 1.5
    0.333333
    """
    return evaluate(plan_ngmm, X, Y, out, center=center, n_jobs=n_jobs)


def intersection_kernel(
    X: Any, Y: Any = None, *, center: Any = None, n_jobs: int | None = None, out: Any = None
) -> Any:
    r"""Generalized intersection kernel (GInt): sum of minima of rows scaled to unit L1 norm.

    .. math:: \mathrm{GInt}(u, v) = \sum_i \min(\tilde u_i, \tilde v_i), \quad \|u\|_1 = \|v\|_1 = 1

    On nonnegative data it is the histogram intersection.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples_X, n_features), or a 1-D row
    Y : array or CSR matrix of shape (n_samples_Y, n_features), or a 1-D row, default=None
        ``None`` stands for X.
    center, n_jobs, out
        As in :func:`gmm_kernel`.

    Returns
    -------
    K : array of shape (n_samples_X, n_samples_Y), or float for two 1-D rows
        A row of zeros has similarity 0 to every row, itself included.

    See Also
    --------
    ngmm_kernel : divided by the sum of maxima.

    Examples
    --------
    >>> from kernelsketch import intersection_kernel
    >>> intersection_kernel([1.0, 1.0], [1.0, 0.0])
    0.5
    """
    return evaluate(plan_intersection, X, Y, out, center=center, n_jobs=n_jobs)
