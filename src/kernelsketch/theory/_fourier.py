"""Random Fourier features, plain and normalized: Theorems 2 and 3 of the paper.

Everything here depends on rho and gamma through t = gamma (1 - rho) alone: with theta = sqrt(gamma) x + w, uniform
and independent of x and y, the features are cos(theta) and cos(theta + delta), delta normal with variance 2 t. The
variances are written in 1 - exp(-2 t), by expm1, so that they keep their digits where rho is close to 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arguments import Array, as_correlation, as_count, as_positive, as_result


def exponent(rho: Any, gamma: Any) -> Array:
    """t = gamma (1 - rho), checked: the RBF kernel is exp(-t)."""
    return np.asarray(as_positive(gamma, "gamma") * (1.0 - as_correlation(rho)))


def plain_variance(complement: Any) -> Any:
    """V, given 1 - E^2."""
    return 0.5 + 0.5 * complement**2


def normalized_variance(complement: Any) -> Any:
    """V_n = (1 - E^2)^2 (1 + E^2 / 4), given 1 - E^2: what the paper's difference is once factored."""
    return complement**2 * (1.25 - 0.25 * complement)


def rff_mean(rho: Any, gamma: Any) -> Any:
    r"""Mean of a random Fourier feature's product: the RBF kernel (Theorem 2).

    .. math:: \mathrm{E}\left[\sqrt2\cos(\sqrt\gamma x + w)\,\sqrt2\cos(\sqrt\gamma y + w)\right] = e^{-\gamma(1-\rho)}

    for x and y jointly normal with unit variances and correlation rho, and w uniform on (0, 2 pi).

    Parameters
    ----------
    rho : float or array
        Correlation (cosine) of the two rows, from -1 to 1. Arrays are broadcast.
    gamma : float or array
        Above 0. On unit rows it is twice the gamma of scikit-learn.

    Returns
    -------
    mean : float or array

    Examples
    --------
    >>> from kernelsketch.theory import rff_mean
    >>> round(rff_mean(0.5, 2.0), 6)  # exp(-1)
    0.367879
    """
    return as_result(np.exp(-exponent(rho, gamma)))


def rff_mean_without_phase(rho: Any, gamma: Any) -> Any:
    r"""Mean of the product of two cosines without the random phase w (Theorem 2).

    .. math::

        \mathrm{E}\left[\cos(\sqrt\gamma x)\cos(\sqrt\gamma y)\right]
        = \tfrac12 e^{-\gamma(1-\rho)} + \tfrac12 e^{-\gamma(1+\rho)}

    Twice this is not the RBF kernel, but the kernel plus :math:`e^{-\gamma(1+\rho)}`: the phase removes that term.

    Parameters
    ----------
    rho : float or array
        Correlation of the two rows, from -1 to 1.
    gamma : float or array
        Above 0.

    Returns
    -------
    mean : float or array

    Examples
    --------
    >>> from kernelsketch.theory import rff_mean, rff_mean_without_phase
    >>> round(2 * rff_mean_without_phase(0.0, 1.0) / rff_mean(0.0, 1.0), 6)  # twice too large for orthogonal rows
    2.0
    """
    t = exponent(rho, gamma)
    other = exponent(-np.asarray(rho, np.float64), gamma)
    return as_result(0.5 * np.exp(-t) + 0.5 * np.exp(-other))


def rff_variance(rho: Any, gamma: Any, k: Any = 1) -> Any:
    r"""Variance of the estimate of RBF from k random Fourier features, exact at every k (Theorem 2).

    .. math:: \frac{V_{\rho,\gamma}}{k} = \frac1k\left[\tfrac12 + \tfrac12\left(1 - e^{-2\gamma(1-\rho)}\right)^2\right]

    It never falls below 1 / (2 k): two equal rows do not give 1.

    Parameters
    ----------
    rho : float or array
        Correlation of the two rows, from -1 to 1.
    gamma : float or array
        Above 0.
    k : int or array, default=1
        Number of features. With 1 the result is the paper's V.

    Returns
    -------
    variance : float or array

    See Also
    --------
    nrff_variance : with rows of features normalized.

    Examples
    --------
    >>> from kernelsketch.theory import rff_variance
    >>> rff_variance([0.0, 0.9, 1.0], 1.0, 100).round(6)
    array([0.008738, 0.005164, 0.005   ])
    """
    return as_result(plain_variance(-np.expm1(-2 * exponent(rho, gamma))) / as_count(k))


def nrff_variance(rho: Any, gamma: Any, k: Any = 1) -> Any:
    r"""Variance of the estimate of RBF from k normalized random Fourier features, for large k (Theorem 3).

    .. math::

        \frac{V_{n,\rho,\gamma}}{k}
        = \frac1k\left[V_{\rho,\gamma} - \tfrac14 e^{-2\gamma(1-\rho)}\left(3 - e^{-4\gamma(1-\rho)}\right)\right]
        = \frac{(1 - E^2)^2\,(1 + E^2/4)}{k}, \qquad E = e^{-\gamma(1-\rho)}

    Parameters
    ----------
    rho : float or array
        Correlation of the two rows, from -1 to 1.
    gamma : float or array
        Above 0.
    k : int or array, default=1
        Number of features. With 1 the result is the paper's V_n, not the variance of a single feature.

    Returns
    -------
    variance : float or array
        The leading term: the mean squared error is larger by a factor 1 + O(1/k), about 1.02 or less at k = 128.

    See Also
    --------
    rff_variance : without normalization.
    nrff_bias : the leading term of the bias.
    nrff_variance_ratio : what normalization gains.

    Examples
    --------
    >>> from kernelsketch.theory import nrff_variance
    >>> nrff_variance([0.0, 0.9, 1.0], 1.0, 100).round(6)
    array([0.007729, 0.000396, 0.      ])
    """
    return as_result(normalized_variance(-np.expm1(-2 * exponent(rho, gamma))) / as_count(k))


def nrff_bias(rho: Any, gamma: Any, k: Any = 1) -> Any:
    r"""Bias of the estimate of RBF from k normalized random Fourier features, for large k.

    .. math:: -\frac{E\,(1 - E^4)}{8k}, \qquad E = e^{-\gamma(1-\rho)}

    Not in the paper, which calls the estimate unbiased for k above 10. It is the second-order term of the ratio
    :math:`\sum XY / \sqrt{\sum X^2 \sum Y^2}` around its mean. The estimate is too small, by 0.067 / k at most; its
    square is a share O(1/k) of the mean squared error.

    Parameters
    ----------
    rho : float or array
        Correlation of the two rows, from -1 to 1.
    gamma : float or array
        Above 0.
    k : int or array, default=1
        Number of features.

    Returns
    -------
    bias : float or array

    Examples
    --------
    >>> from kernelsketch.theory import nrff_bias
    >>> round(nrff_bias(0.5, 1.0, 16), 6)
    -0.004097
    """
    t = exponent(rho, gamma)
    return as_result(np.exp(-t) * np.expm1(-4 * t) / (8 * as_count(k)))


def nrff_variance_ratio(rho: Any, gamma: Any) -> Any:
    r"""Variance of normalized over plain random Fourier features, the paper's Figure 1.

    .. math:: \frac{V_{n,\rho,\gamma}}{V_{\rho,\gamma}}

    Below 1 for every rho and gamma; 0 at rho = 1.

    Parameters
    ----------
    rho : float or array
        Correlation of the two rows, from -1 to 1.
    gamma : float or array
        Above 0.

    Returns
    -------
    ratio : float or array

    Examples
    --------
    >>> from kernelsketch.theory import nrff_variance_ratio
    >>> round(nrff_variance_ratio(0.9, 1.0), 4)
    0.0766
    """
    complement = -np.expm1(-2 * exponent(rho, gamma))
    return as_result(normalized_variance(complement) / plain_variance(complement))
