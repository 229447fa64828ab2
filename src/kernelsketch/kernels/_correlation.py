"""The linear and RBF kernels as the paper defines them, on rows of unit l2 norm."""

from __future__ import annotations

from typing import Any

from .._validation import check_positive
from ._correlation_plan import CorrelationPlan
from ._evaluate import evaluate, operands


def plan_correlation(X: Any, Y: Any) -> CorrelationPlan:
    return CorrelationPlan(*operands(X, Y, norm=2))


def plan_rbf(X: Any, Y: Any, *, gamma: float = 1.0) -> CorrelationPlan:
    rate = check_positive(gamma, "gamma")
    return CorrelationPlan(*operands(X, Y, norm=2), rate)


def correlation_kernel(X: Any, Y: Any = None, *, out: Any = None) -> Any:
    r"""Compute the cosine similarity of rows, which the paper calls the correlation kernel.

    .. math:: \rho(u, v) = \frac{\sum_i u_i v_i}{\sqrt{\sum_i u_i^2}\,\sqrt{\sum_i v_i^2}}

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples_X, n_features), or a 1-D row
    Y : array or CSR matrix of shape (n_samples_Y, n_features), or a 1-D row, default=None
        The second side of the kernel. None means X. One side may be dense and the other sparse.
    out : array of shape (n_samples_X, n_samples_Y), default=None
        Array that the result is written to. It must have the result's dtype and C order. None makes a new array.

    Returns
    -------
    K : array of shape (n_samples_X, n_samples_Y), or float for two 1-D rows
        Similarities in [-1, 1]. The dtype is float32 if both inputs are float32, otherwise float64. An all-zero row has
        similarity 0 to every row, including itself.

    See Also
    --------
    rbf_kernel : The RBF kernel, which is a function of the correlation.

    Notes
    -----
    BLAS computes the product. ``threadpoolctl.threadpool_limits`` sets its number of threads.

    Examples
    --------
    >>> from kernelsketch import correlation_kernel
    >>> correlation_kernel([[3.0, 4.0]], [[1.0, 0.0], [-3.0, -4.0]])
    array([[ 0.6, -1. ]])
    """
    return evaluate(plan_correlation, X, Y, out)


def rbf_kernel(X: Any, Y: Any = None, *, gamma: float = 1.0, out: Any = None) -> Any:
    r"""Compute the RBF kernel in the paper's form, on rows of unit l2 norm.

    .. math:: \mathrm{RBF}(u, v; \gamma) = e^{-\gamma\,(1 - \rho(u, v))}

    The function scales rows to unit l2 norm, so that :math:`\|u - v\|^2 = 2 (1 - \rho)`. This ``gamma`` is therefore
    twice that of :func:`sklearn.metrics.pairwise.rbf_kernel` on rows of unit norm.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples_X, n_features), or a 1-D row
    Y : array or CSR matrix of shape (n_samples_Y, n_features), or a 1-D row, default=None
        The second side of the kernel. None means X. One side may be dense and the other sparse.
    gamma : float, default=1.0
        Width parameter, above 0; twice the gamma of scikit-learn. The larger it is, the faster the similarity falls.
    out : array of shape (n_samples_X, n_samples_Y), default=None
        Array that the result is written to. It must have the result's dtype and C order. None makes a new array.

    Returns
    -------
    K : array of shape (n_samples_X, n_samples_Y), or float for two 1-D rows
        Similarities in [0, 1]. An all-zero row has similarity 0 to every row, including itself.

    See Also
    --------
    correlation_kernel : The correlation :math:`\rho` in this formula.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics import pairwise
    >>> from sklearn.preprocessing import normalize
    >>> from kernelsketch import rbf_kernel
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> np.allclose(rbf_kernel(X, gamma=2.0), pairwise.rbf_kernel(normalize(X), gamma=1.0))
    True
    """
    return evaluate(plan_rbf, X, Y, out, gamma=gamma)
