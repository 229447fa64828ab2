"""The min-max kernels: GMM, equation (3) of the paper, and the kernels of the follow-up papers."""

from __future__ import annotations

from typing import Any

from .._validation import check_n_jobs, check_positive, check_power
from ..backends import Ratio
from ._evaluate import evaluate, operands
from ._minmax_plan import MinMaxPlan


def plan_gmm(X: Any, Y: Any, *, p: float = 1.0, center: Any = None, n_jobs: int | None = None) -> MinMaxPlan:
    power, threads = check_power(p), check_n_jobs(n_jobs)
    return MinMaxPlan(*operands(X, Y, center=center, p=power, threads=threads), Ratio.MIN_MAX, threads)


def plan_egmm(
    X: Any, Y: Any, *, gamma: float = 1.0, p: float = 1.0, center: Any = None, n_jobs: int | None = None
) -> MinMaxPlan:
    rate = check_positive(gamma, "gamma")
    power, threads = check_power(p), check_n_jobs(n_jobs)
    return MinMaxPlan(*operands(X, Y, center=center, p=power, threads=threads), Ratio.MIN_MAX, threads, rate)


def plan_ngmm(X: Any, Y: Any, *, center: Any = None, n_jobs: int | None = None) -> MinMaxPlan:
    threads = check_n_jobs(n_jobs)
    return MinMaxPlan(*operands(X, Y, center=center, norm=1, threads=threads), Ratio.MIN_MAX, threads)


def plan_intersection(X: Any, Y: Any, *, center: Any = None, n_jobs: int | None = None) -> MinMaxPlan:
    threads = check_n_jobs(n_jobs)
    return MinMaxPlan(*operands(X, Y, center=center, norm=1, threads=threads), Ratio.INTERSECTION, threads)


def gmm_kernel(
    X: Any, Y: Any = None, *, p: float = 1.0, center: Any = None, n_jobs: int | None = None, out: Any = None
) -> Any:
    r"""Compute the generalized min-max (GMM) kernel of signed data, or with a power ``p`` the pGMM kernel.

    .. math::

        \mathrm{GMM}(u, v) =
        \frac{\sum_i \min(\tilde u_i, \tilde v_i)^p}{\sum_i \max(\tilde u_i, \tilde v_i)^p}

    where :math:`\tilde u` holds the positive entries of u and the absolute values of its negative entries in separate
    features (:func:`sign_split`). On nonnegative data with ``p=1`` the kernel is the weighted Jaccard similarity, and
    on 0/1 data it is the Jaccard similarity. It is symmetric and positive definite, it lies in [0, 1], and it does not
    change if both rows are multiplied by the same number.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples_X, n_features), or a 1-D row
    Y : array or CSR matrix of shape (n_samples_Y, n_features), or a 1-D row, default=None
        The second side of the kernel. None means X; then only one half of the symmetric matrix is computed. One side
        may be dense and the other sparse.
    p : float, default=1.0
        Power above 0 and at most 1e6. With a large power the largest entries decide. The computation is stable for
        every power.
    center : None, "mean", "median" or vector of shape (n_features,), default=None
        Vector that is subtracted from the rows first, in float64, so that signs split around it (footnote 1 of the
        paper). "mean" and "median" are computed from Y, or from X if Y is None. With ``SVC(kernel=...)`` this is the
        training set both at ``fit`` and at ``predict``. Sparse data allow only None.
    n_jobs : int, default=None
        Number of threads. None means 1, unless joblib's ``parallel_config`` sets another number; -1 means all
        processors. The result does not depend on it.
    out : array of shape (n_samples_X, n_samples_Y), default=None
        Array that the result is written to, for example a ``numpy.memmap``. It must have the result's dtype and C
        order. None makes a new array.

    Returns
    -------
    K : array of shape (n_samples_X, n_samples_Y), or float for two 1-D rows
        Similarities in [0, 1]. The dtype is float32 if both inputs are float32, otherwise float64. A similarity is a
        function of its two rows: other rows of X and Y do not change a bit of it.

    See Also
    --------
    egmm_kernel : The exponential of this kernel, with a parameter gamma.
    ngmm_kernel : The GMM kernel on rows of unit L1 norm.
    iter_kernel_blocks : Kernel matrices that do not fit in memory.
    GCWS : Hash rows so that a linear model approximates a machine with this kernel.

    Notes
    -----
    A row that is all zero after centering has similarity 0 to every row, including itself.

    float32 results are within 2e-6 of the exact value for any number of features, even if the values span 1e-30 to
    1e30. The similarity of two equal rows is exactly 1.

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
    r"""Compute the exponential GMM (eGMM) kernel, or with a power ``p`` the epGMM kernel.

    .. math:: \mathrm{eGMM}(u, v; \gamma) = e^{-\gamma\,(1 - \mathrm{GMM}(u, v))}

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples_X, n_features), or a 1-D row
    Y : array or CSR matrix of shape (n_samples_Y, n_features), or a 1-D row, default=None
        The second side of the kernel. None means X.
    gamma : float, default=1.0
        Width parameter, above 0. The larger it is, the faster the similarity falls. Rounding errors of GMM grow
        ``gamma``-fold.
    p, center, n_jobs, out
        See :func:`gmm_kernel`.

    Returns
    -------
    K : array of shape (n_samples_X, n_samples_Y), or float for two 1-D rows
        Similarities in [0, 1]. An all-zero row has similarity 0 to every row, including itself.

    See Also
    --------
    gmm_kernel : The kernel without the exponential.

    Examples
    --------
    >>> from kernelsketch import egmm_kernel
    >>> round(egmm_kernel([-5.0, 3.0], [-1.0, 4.0], gamma=2.0), 6)  # exp(-2 (1 - 4/9))
    0.329193
    """
    return evaluate(plan_egmm, X, Y, out, gamma=gamma, p=p, center=center, n_jobs=n_jobs)


def ngmm_kernel(X: Any, Y: Any = None, *, center: Any = None, n_jobs: int | None = None, out: Any = None) -> Any:
    r"""Compute the normalized GMM (NGMM) kernel, the GMM kernel of rows scaled to unit L1 norm.

    .. math:: \mathrm{NGMM}(u, v) = \mathrm{GMM}(u / \|u\|_1,\ v / \|v\|_1)

    The kernel does not depend on the scale of each row and compares only the proportions, as for histograms.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples_X, n_features), or a 1-D row
    Y : array or CSR matrix of shape (n_samples_Y, n_features), or a 1-D row, default=None
        The second side of the kernel. None means X.
    center, n_jobs, out
        See :func:`gmm_kernel`.

    Returns
    -------
    K : array of shape (n_samples_X, n_samples_Y), or float for two 1-D rows
        Similarities in [0, 1]. An all-zero row has similarity 0 to every row, including itself.

    See Also
    --------
    intersection_kernel : The numerator GInt of this kernel; NGMM = GInt / (2 - GInt).

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
    r"""Compute the generalized intersection (GInt) kernel, the sum of minima of rows scaled to unit L1 norm.

    .. math:: \mathrm{GInt}(u, v) = \sum_i \min(\tilde u_i, \tilde v_i), \quad \|u\|_1 = \|v\|_1 = 1

    On nonnegative data the kernel is the histogram intersection.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples_X, n_features), or a 1-D row
    Y : array or CSR matrix of shape (n_samples_Y, n_features), or a 1-D row, default=None
        The second side of the kernel. None means X.
    center, n_jobs, out
        See :func:`gmm_kernel`.

    Returns
    -------
    K : array of shape (n_samples_X, n_samples_Y), or float for two 1-D rows
        Similarities in [0, 1]. An all-zero row has similarity 0 to every row, including itself.

    See Also
    --------
    ngmm_kernel : The sum of minima divided by the sum of maxima.

    Examples
    --------
    >>> from kernelsketch import intersection_kernel
    >>> intersection_kernel([1.0, 1.0], [1.0, 0.0])
    0.5
    """
    return evaluate(plan_intersection, X, Y, out, center=center, n_jobs=n_jobs)
