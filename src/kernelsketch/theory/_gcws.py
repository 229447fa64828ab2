"""The variance of GCWS (equation 6 of the paper), relative variances of the methods, and random projections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..exceptions import InputError, Setting
from ._arguments import as_correlation, as_count, as_result, as_similarity
from ._fourier import normalized_variance, plain_variance

# The variance of one sample, given the kernel E that the method estimates.
_VARIANCES: dict[str, Callable[[Any], Any]] = {
    "gcws": lambda e: e * (1 - e),
    "rff": lambda e: plain_variance((1 - e) * (1 + e)),
    "nrff": lambda e: normalized_variance((1 - e) * (1 + e)),
}


def gcws_variance(similarity: Any, k: Any) -> Any:
    r"""Return the variance of a GMM estimate from k hashes.

    .. math:: \frac{\mathrm{GMM}\,(1 - \mathrm{GMM})}{k}

    This is the variance of a binomial proportion, and it is exact for every k. It holds for full samples (i*, t*).
    Without t*, or with few bits of i*, the collision probability is larger than the kernel, and the variance is the
    same expression of that probability.

    Parameters
    ----------
    similarity : float or array
        The GMM kernel of the two rows, from 0 to 1. Arrays are broadcast.
    k : int or array
        Number of hashes.

    Examples
    --------
    >>> from kernelsketch.theory import gcws_variance
    >>> gcws_variance(0.5, 100)
    0.0025
    """
    e = as_similarity(similarity)
    return as_result(_VARIANCES["gcws"](e) / as_count(k))


def relative_variance(method: str, similarity: Any) -> Any:
    r"""Return the variance of one sample divided by the squared kernel (the paper's Figure 3).

    .. math::

        \text{GCWS: } \frac{1-E}{E}, \qquad
        \text{RFF: } \frac{\frac12 + \frac12(1-E^2)^2}{E^2}, \qquad
        \text{NRFF: } \frac{(1-E^2)^2(1 + E^2/4)}{E^2}

    Divided by k this is the squared relative error of k samples (for NRFF: for large k). E is the kernel that the
    method estimates: GMM for GCWS, and RBF for the others.

    Parameters
    ----------
    method : {"gcws", "rff", "nrff"}
        The method of estimation.
    similarity : float or array
        The kernel E, from 0 to 1. At 0 the result is infinite.

    Examples
    --------
    >>> from kernelsketch.theory import relative_variance
    >>> [round(relative_variance(method, 0.2), 2) for method in ("gcws", "rff", "nrff")]
    [4.0, 24.02, 23.27]
    """
    if method not in _VARIANCES:
        raise InputError(Setting("method"), f" must be one of {', '.join(map(repr, _VARIANCES))}, got {method!r}.")
    e = as_similarity(similarity)
    with np.errstate(divide="ignore", over="ignore"):
        # (1 - E) / E rather than E (1 - E) / E^2, which is 0 / 0 at E = 0.
        ratio = (1 - e) / e if method == "gcws" else _VARIANCES[method](e) / e / e
    return as_result(ratio)


def index_recall(similarity: Any, hashes_per_table: Any, n_tables: Any, *, bits: int | None = 8) -> Any:
    r"""Return the probability that a row is a candidate in :class:`~kernelsketch.GCWSIndex`.

    .. math:: 1 - (1 - c^K)^L, \qquad c = s + (1 - s) / 2^{b}

    A row is a candidate if all K codes of one of the L tables are equal. Codes of b bits of different samples are
    equal with probability 2\ :sup:`-b`. For whole samples c is s, and this is the usual curve of locality-sensitive
    hashing (LSH).

    Parameters
    ----------
    similarity : float or array
        The GMM kernel of the two rows, s, from 0 to 1. Arrays are broadcast.
    hashes_per_table : int or array
        Number of codes per table that must be equal, K.
    n_tables : int or array
        Number of LSH tables, L.
    bits : int or None, default=8
        Number of bits per code, b; None for whole samples.

    Examples
    --------
    >>> from kernelsketch.theory import index_recall
    >>> [round(index_recall(s, hashes_per_table=4, n_tables=32), 3) for s in (0.2, 0.5, 0.8)]
    [0.053, 0.877, 1.0]
    """
    s, n = as_similarity(similarity), as_count(n_tables, "n_tables")
    k = as_count(hashes_per_table, "hashes_per_table")
    c = s if bits is None else s + (1 - s) / 2.0 ** float(as_count(bits, "bits"))
    with np.errstate(divide="ignore"):
        return as_result(-np.expm1(n * np.log1p(-(c**k))))


def random_projection_variance(rho: Any, k: Any) -> Any:
    r"""Return the variance of a correlation estimate from k random projections.

    .. math:: \mathrm{Var}\left[\frac1k\sum_{j=1}^k x_j y_j\right] = \frac{1+\rho^2}{k}

    Here x and y are the projections of two unit rows on the same standard normal directions. The formula is exact for
    every k. Like the variance of RFF, and unlike that of GCWS, it does not vanish for equal rows.

    Parameters
    ----------
    rho : float or array
        Correlation of the two rows, from -1 to 1.
    k : int or array
        Number of projections.

    Examples
    --------
    >>> from kernelsketch.theory import random_projection_variance
    >>> random_projection_variance(1.0, 100)
    0.02
    """
    return as_result((1 + as_correlation(rho) ** 2) / as_count(k))
