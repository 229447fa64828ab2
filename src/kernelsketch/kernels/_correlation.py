"""The linear and RBF kernels as the paper defines them: on rows of unit l2 norm."""

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
    r"""Normalized linear kernel, which the paper calls the correlation: the cosine of two rows.

    .. math:: \rho(u, v) = \frac{\sum_i u_i v_i}{\sqrt{\sum_i u_i^2}\,\sqrt{\sum_i v_i^2}}

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples_X, n_features), or a 1-D row
    Y : array or CSR matrix of shape (n_samples_Y, n_features), or a 1-D row, default=None
        ``None`` stands for X. Dense and sparse sides can be mixed.
    out : array of shape (n_samples_X, n_samples_Y), default=None
        Where to write; of the result's dtype, rows in C order.

    Returns
    -------
    K : array of shape (n_samples_X, n_samples_Y), or float for two 1-D rows
        In [-1, 1]; float32 if both inputs are float32, else float64. A row of zeros has similarity 0
        to every row, itself included.

    See Also
    --------
    rbf_kernel : a function of it.

    Notes
    -----
    The product is BLAS: ``threadpoolctl.threadpool_limits`` sets its threads.

    Examples
    --------
    >>> from kernelsketch import correlation_kernel
    >>> correlation_kernel([[3.0, 4.0]], [[1.0, 0.0], [-3.0, -4.0]])
    array([[ 0.6, -1. ]])
    """
    return evaluate(plan_correlation, X, Y, out)


def rbf_kernel(X: Any, Y: Any = None, *, gamma: float = 1.0, out: Any = None) -> Any:
    r"""RBF kernel in the paper's form, on rows of unit norm.

    .. math:: \mathrm{RBF}(u, v; \gamma) = e^{-\gamma\,(1 - \rho(u, v))}

    Rows are scaled to unit l2 norm inside, so :math:`\|u - v\|^2 = 2 (1 - \rho)`: this ``gamma`` is twice
    that of :func:`sklearn.metrics.pairwise.rbf_kernel` on rows of unit norm.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples_X, n_features), or a 1-D row
    Y : array or CSR matrix of shape (n_samples_Y, n_features), or a 1-D row, default=None
        ``None`` stands for X. Dense and sparse sides can be mixed.
    gamma : float, default=1.0
        Above 0; twice scikit-learn's.
    out : array of shape (n_samples_X, n_samples_Y), default=None
        Where to write; of the result's dtype, rows in C order.

    Returns
    -------
    K : array of shape (n_samples_X, n_samples_Y), or float for two 1-D rows
        A row of zeros has similarity 0 to every row, itself included.

    See Also
    --------
    correlation_kernel : the rho in it.

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
