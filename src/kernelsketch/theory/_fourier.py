"""Random Fourier features, plain and normalized: Theorems 2 and 3 of the paper.

All formulas depend on rho and gamma only through t = gamma (1 - rho). The angle theta = sqrt(gamma) x + w is uniform
and independent of x and y, so the features are cos(theta) and cos(theta + delta), where delta is normal with variance
2 t. The variances use 1 - exp(-2 t), computed by expm1, so that they keep their precision where rho is close to 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arguments import Array, as_correlation, as_count, as_positive, as_result


def exponent(rho: Any, gamma: Any) -> Array:
    """Check rho and gamma, and return t = gamma (1 - rho); the RBF kernel is exp(-t)."""
    return np.asarray(as_positive(gamma, "gamma") * (1.0 - as_correlation(rho)))


def plain_variance(complement: Any) -> Any:
    """Return V, given 1 - E^2."""
    return 0.5 + 0.5 * complement**2


def normalized_variance(complement: Any) -> Any:
    """Return V_n = (1 - E^2)^2 (1 + E^2 / 4), given 1 - E^2: the paper's difference, factored."""
    return complement**2 * (1.25 - 0.25 * complement)


def rff_mean(rho: Any, gamma: Any) -> Any:
    r"""Return the mean of the product of two random Fourier features, which is the RBF kernel (Theorem 2).

    .. math:: \mathrm{E}\left[\sqrt2\cos(\sqrt\gamma x + w)\,\sqrt2\cos(\sqrt\gamma y + w)\right] = e^{-\gamma(1-\rho)}

    Here x and y are jointly normal with unit variances and correlation rho, and w is uniform on (0, 2 pi).

    Parameters
    ----------
    rho : float or array
        Correlation (cosine) of the two rows, from -1 to 1. Arrays are broadcast.
    gamma : float or array
        Must be positive. On unit rows it is twice the gamma of scikit-learn.

    Examples
    --------
    >>> from kernelsketch.theory import rff_mean
    >>> round(rff_mean(0.5, 2.0), 6)  # exp(-1)
    0.367879
    """
    return as_result(np.exp(-exponent(rho, gamma)))


def rff_mean_without_phase(rho: Any, gamma: Any) -> Any:
    r"""Return the mean of the product of two cosines without the random phase w (Theorem 2).

    .. math::

        \mathrm{E}\left[\cos(\sqrt\gamma x)\cos(\sqrt\gamma y)\right]
        = \tfrac12 e^{-\gamma(1-\rho)} + \tfrac12 e^{-\gamma(1+\rho)}

    Twice this mean is the RBF kernel plus :math:`e^{-\gamma(1+\rho)}`. The random phase removes that term.

    Parameters
    ----------
    rho, gamma : float or array
        Correlation of the two rows, from -1 to 1, and the positive parameter of the kernel.

    Examples
    --------
    >>> from kernelsketch.theory import rff_mean, rff_mean_without_phase
    >>> round(2 * rff_mean_without_phase(0.0, 1.0) / rff_mean(0.0, 1.0), 6)  # two times too large for orthogonal rows
    2.0
    """
    t = exponent(rho, gamma)
    other = exponent(-np.asarray(rho, np.float64), gamma)
    return as_result(0.5 * np.exp(-t) + 0.5 * np.exp(-other))


def rff_variance(rho: Any, gamma: Any, k: Any = 1) -> Any:
    r"""Return the variance of an RBF estimate from k random Fourier features (Theorem 2).

    .. math:: \frac{V_{\rho,\gamma}}{k} = \frac1k\left[\tfrac12 + \tfrac12\left(1 - e^{-2\gamma(1-\rho)}\right)^2\right]

    The formula is exact for every k. The variance is at least 1 / (2 k), even for two equal rows.

    Parameters
    ----------
    rho, gamma : float or array
        Correlation of the two rows, from -1 to 1, and the positive parameter of the kernel.
    k : int or array, default=1
        Number of features. With k = 1 the result is the paper's V.

    See Also
    --------
    nrff_variance : The same with normalized rows of features.

    Examples
    --------
    >>> from kernelsketch.theory import rff_variance
    >>> rff_variance([0.0, 0.9, 1.0], 1.0, 100).round(6)
    array([0.008738, 0.005164, 0.005   ])
    """
    return as_result(plain_variance(-np.expm1(-2 * exponent(rho, gamma))) / as_count(k))


def nrff_variance(rho: Any, gamma: Any, k: Any = 1) -> Any:
    r"""Return the variance of an RBF estimate from k normalized random Fourier features (Theorem 3).

    .. math::

        \frac{V_{n,\rho,\gamma}}{k}
        = \frac1k\left[V_{\rho,\gamma} - \tfrac14 e^{-2\gamma(1-\rho)}\left(3 - e^{-4\gamma(1-\rho)}\right)\right]
        = \frac{(1 - E^2)^2\,(1 + E^2/4)}{k}, \qquad E = e^{-\gamma(1-\rho)}

    Parameters
    ----------
    rho, gamma : float or array
        Correlation of the two rows, from -1 to 1, and the positive parameter of the kernel.
    k : int or array, default=1
        Number of features. With k = 1 the result is the paper's V_n, not the variance of a single feature.

    Returns
    -------
    variance : float or array
        The leading term for large k. The mean squared error is larger by a factor 1 + O(1/k), at most about 1.02 at
        k = 128.

    See Also
    --------
    rff_variance : The variance without normalization.
    nrff_bias : The leading term of the bias.
    nrff_variance_ratio : The gain of normalization.

    Examples
    --------
    >>> from kernelsketch.theory import nrff_variance
    >>> nrff_variance([0.0, 0.9, 1.0], 1.0, 100).round(6)
    array([0.007729, 0.000396, 0.      ])
    """
    return as_result(normalized_variance(-np.expm1(-2 * exponent(rho, gamma))) / as_count(k))


def nrff_bias(rho: Any, gamma: Any, k: Any = 1) -> Any:
    r"""Return the bias of an RBF estimate from k normalized random Fourier features, for large k.

    .. math:: -\frac{E\,(1 - E^4)}{8k}, \qquad E = e^{-\gamma(1-\rho)}

    This result is not in the paper, which calls the estimate unbiased for k above 10. It is the second-order term of
    the ratio :math:`\sum XY / \sqrt{\sum X^2 \sum Y^2}` around its mean. The estimate is too small by at most 0.067 /
    k. The squared bias is a fraction O(1/k) of the mean squared error.

    Parameters
    ----------
    rho, gamma : float or array
        Correlation of the two rows, from -1 to 1, and the positive parameter of the kernel.
    k : int or array, default=1
        Number of features.

    Examples
    --------
    >>> from kernelsketch.theory import nrff_bias
    >>> round(nrff_bias(0.5, 1.0, 16), 6)
    -0.004097
    """
    t = exponent(rho, gamma)
    return as_result(np.exp(-t) * np.expm1(-4 * t) / (8 * as_count(k)))


def nrff_variance_ratio(rho: Any, gamma: Any) -> Any:
    r"""Return the variance of normalized divided by that of plain random Fourier features (the paper's Figure 1).

    .. math:: \frac{V_{n,\rho,\gamma}}{V_{\rho,\gamma}}

    The ratio is below 1 for every rho and gamma, and 0 at rho = 1.

    Parameters
    ----------
    rho, gamma : float or array
        Correlation of the two rows, from -1 to 1, and the positive parameter of the kernel.

    Examples
    --------
    >>> from kernelsketch.theory import nrff_variance_ratio
    >>> round(nrff_variance_ratio(0.9, 1.0), 4)
    0.0766
    """
    complement = -np.expm1(-2 * exponent(rho, gamma))
    return as_result(normalized_variance(complement) / plain_variance(complement))
