"""GMM of data with many features as a function of their correlation, and RBF estimated through it (Theorem 4).

All formulas are written in s = sqrt((1 - rho) / 2), for which g = (1 - s) / (1 + s) and (1 - g) / (1 + g) = s. This
avoids differences of nearly equal numbers where rho is close to 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._arguments import Array, as_correlation, as_count, as_positive, as_result, as_similarity
from ._fourier import exponent


def half_distance(rho: Any) -> Array:
    """Return s = sqrt((1 - rho) / 2), which is half the distance of two unit rows."""
    return np.asarray(np.sqrt((1.0 - as_correlation(rho)) / 2))


def gmm_limit(rho: Any) -> Any:
    r"""Return the GMM kernel of two rows of correlation rho in the limit of many features.

    .. math:: g(\rho) = \frac{1 - \sqrt{(1-\rho)/2}}{1 + \sqrt{(1-\rho)/2}}

    The limit holds almost surely when the pairs of entries (u_i, v_i) are independent draws from an elliptical
    distribution around 0 with equal scales and a finite mean, such as a normal distribution or a t distribution with
    more than one degree of freedom. Other data have other limits: independent random signs have correlation 0 and a
    limit of 1/3, while g(0) = 0.17.

    Parameters
    ----------
    rho : float or array
        Correlation of the data, from -1 to 1.

    Returns
    -------
    g : float or array
        From 0 to 1, increasing with rho.

    See Also
    --------
    rho_from_gmm : The inverse function.
    gmm_limit_variance : The variance of the kernel of rows of finite length around this limit.

    Examples
    --------
    >>> from kernelsketch.theory import gmm_limit
    >>> gmm_limit([-1.0, 0.5, 1.0]).round(6)
    array([0.      , 0.333333, 1.      ])
    """
    s = half_distance(rho)
    return as_result((1 - s) / (1 + s))


def gmm_limit_variance(rho: Any, n_features: Any, *, df: float = math.inf) -> Any:
    r"""Return the variance of the GMM kernel of two random rows around its limit, for many features.

    .. math::

        \mathrm{Var}\left[\mathrm{GMM}\right] \approx
        \frac{\mathrm{E}\left(|x-y| - s\,(|x|+|y|)\right)^2}{D}\,\frac{4}{(1+s)^4\,(\mathrm{E}|x|+\mathrm{E}|y|)^2},
        \qquad s = \sqrt{\tfrac{1-\rho}{2}}

    The pairs (x, y) come from a bivariate normal distribution, or from a bivariate t distribution with ``df`` degrees
    of freedom. The formula follows from the delta method, because GMM = (1 - a) / (1 + a) with a = \|u -
    v\|\ :sub:`1` / (\|u\|\ :sub:`1` + \|v\|\ :sub:`1`). It is not in the paper.

    Parameters
    ----------
    rho : float or array
        Correlation of the data (for t: of its scale matrix), from -1 to 1.
    n_features : int or array
        Number of features D.
    df : float, default=infinity
        Degrees of freedom, above 1. Infinity stands for the normal distribution. For values up to 2 the variance is
        infinite.

    Examples
    --------
    >>> from kernelsketch.theory import gmm_limit_variance
    >>> round(gmm_limit_variance(0.5, 1000) ** 0.5, 4)
    0.0115
    """
    freedom = math.inf if df == math.inf else float(as_positive(df, "df"))
    s, rho, n = half_distance(rho), as_correlation(rho), as_count(n_features, "n_features")
    # In units of E|x||y| of independent entries, 2 / pi: E x^2 is pi/2, and E|x||y| at correlation r is
    # sqrt(1 - r^2) + r asin r. The distance x - y has scale 2 s, and correlation s with x.
    same = math.pi / 2
    distance = 4 * s**2 * same
    norms = 2 * same + 2 * _absolute_moment(rho)
    mixed = 2 * 2 * s * _absolute_moment(s)
    spread = np.maximum(distance - 2 * s * mixed + s**2 * norms, 0)
    variance = spread * 4 / (1 + s) ** 4 / 4 / n
    return as_result(variance * _scale_spread(freedom))


def rho_from_gmm(g: Any) -> Any:
    r"""Return the correlation of data whose GMM kernel tends to g: the inverse of :func:`.gmm_limit`.

    .. math:: \rho = 1 - 2\left(\frac{1-g}{1+g}\right)^2

    Parameters
    ----------
    g : float or array
        GMM kernel, or an estimate of it such as the share of equal hashes, from 0 to 1.

    Examples
    --------
    >>> from kernelsketch.theory import gmm_limit, rho_from_gmm
    >>> round(rho_from_gmm(gmm_limit(0.25)), 12)
    0.25
    """
    g = as_similarity(g, "g")
    return as_result(1 - 2 * ((1 - g) / (1 + g)) ** 2)


def rbf_from_gmm(g: Any, gamma: Any) -> Any:
    r"""Return the RBF kernel as a function of the GMM kernel, for data that follow :func:`.gmm_limit`.

    .. math:: e^{-\gamma(1-\rho)} = e^{-2\gamma\left(\frac{1-g}{1+g}\right)^2}

    With the share of equal hashes of two rows in place of g, this function estimates RBF from GCWS.

    Parameters
    ----------
    g : float or array
        GMM kernel or its estimate, from 0 to 1.
    gamma : float or array
        Must be positive.

    See Also
    --------
    rbf_from_gmm_variance : The variance of this estimate.

    Examples
    --------
    >>> from kernelsketch.theory import gmm_limit, rbf_from_gmm, rff_mean
    >>> round(rbf_from_gmm(gmm_limit(0.25), 2.0) / rff_mean(0.25, 2.0), 12)
    1.0
    """
    g = as_similarity(g, "g")
    return as_result(np.exp(-2 * as_positive(gamma, "gamma") * ((1 - g) / (1 + g)) ** 2))


def rbf_from_gmm_variance(rho: Any, gamma: Any, k: Any = 1) -> Any:
    r"""Return the variance of an RBF estimate from k GCWS hashes, for large k (Theorem 4).

    .. math::

        \frac{V_{g,\gamma}}{k}
        = \frac{64\gamma^2}{k}\,\frac{g\,(1-g)^3}{(1+g)^6}\,e^{-2\gamma(1-\rho)}
        = \frac{8\gamma^2}{k}\,s^3\,(1-s)(1+s)^2\,e^{-4\gamma s^2}, \qquad s = \sqrt{\tfrac{1-\rho}{2}}

    The paper assumes that the GMM kernel of the rows is exactly :math:`g(\rho)`.

    Parameters
    ----------
    rho, gamma : float or array
        Correlation of the data, from -1 to 1, and the positive parameter of the kernel.
    k : int or array, default=1
        Number of hashes. With k = 1 the result is the paper's V_g.

    Returns
    -------
    variance : float or array
        The leading term. It is 0 at rho = 1 and at rho = -1.

    Examples
    --------
    >>> from kernelsketch.theory import nrff_variance, rbf_from_gmm_variance
    >>> round(nrff_variance(0.0, 1.0) / rbf_from_gmm_variance(0.0, 1.0), 2)  # NRFF needs 2.4 times as many samples
    2.37
    """
    s, gamma = half_distance(rho), as_positive(gamma, "gamma")
    variance = 8 * gamma**2 * s**3 * (1 - s) * (1 + s) ** 2 * np.exp(-4 * gamma * s**2)
    return as_result(variance / as_count(k))


def nrff_gcws_variance_ratio(rho: Any, gamma: Any) -> Any:
    r"""Return the variance of NRFF divided by that of GCWS, both estimating RBF (the paper's Figure 4).

    .. math::

        \frac{V_{n,\rho,\gamma}}{V_{g,\gamma}}
        = \left(\frac{\sinh t}{t}\right)^2 \frac{2s\,(1 + e^{-2t}/4)}{(1-s)(1+s)^2},
        \qquad t = \gamma(1-\rho),\ s = \sqrt{\tfrac{1-\rho}{2}}

    Both methods use the same number of samples. The ratio is above 1 where GCWS is better: for rho below 0.52 with
    any gamma, below 0.75 for gamma = 5, and below 0.85 for gamma = 10. It decreases with rho, from infinity at rho =
    -1, where V_g is 0, to 0 at rho = 1.

    Parameters
    ----------
    rho, gamma : float or array
        Correlation of the data, from -1 to 1, and the positive parameter of the kernel.

    Examples
    --------
    >>> from kernelsketch.theory import nrff_gcws_variance_ratio
    >>> nrff_gcws_variance_ratio([0.0, 0.5, 0.9], 1.0).round(2)
    array([2.37, 1.05, 0.47])
    """
    s = half_distance(rho)
    t = exponent(rho, gamma)
    with np.errstate(divide="ignore", over="ignore"):
        growth = np.divide(np.sinh(t), t, out=np.ones_like(t), where=t > 0)
        ratio = growth**2 * 2 * s * (1 + 0.25 * np.exp(-2 * t)) / ((1 - s) * (1 + s) ** 2)
    return as_result(ratio)


def _absolute_moment(r: Array) -> Array:
    """Return E|x||y| of normal variables with correlation r, in units of 2 / pi."""
    return np.asarray(np.sqrt((1 - r) * (1 + r)) + r * np.arcsin(r))


def _scale_spread(df: float) -> float:
    """Return E S^2 / (E S)^2 of the factor S that turns normal pairs into t pairs; given S, the spread has mean 0."""
    if df == math.inf:
        return 1.0
    if df <= 2:
        return math.inf
    log_mean = 0.5 * math.log(df / 2) + math.lgamma((df - 1) / 2) - math.lgamma(df / 2)
    return df / (df - 2) * math.exp(-2 * log_mean)
