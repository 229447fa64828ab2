"""The theorems of the paper as closed forms, on numbers and arrays; NumPy only.

====================== ==================================================================================
random Fourier         :func:`rff_mean`, :func:`rff_mean_without_phase`, :func:`rff_variance`,
                       :func:`nrff_variance`, :func:`nrff_bias`, :func:`nrff_variance_ratio`
hashing                :func:`gcws_variance`, :func:`relative_variance`, :func:`random_projection_variance`,
                       :func:`index_recall`
GMM and correlation    :func:`gmm_limit`, :func:`gmm_limit_variance`, :func:`rho_from_gmm`
RBF from GCWS          :func:`rbf_from_gmm`, :func:`rbf_from_gmm_variance`, :func:`nrff_gcws_variance_ratio`
====================== ==================================================================================

Arguments are broadcast against each other; numbers give a float. Simulations of these are in
``kernelsketch_paper.simulations``.
"""

from ._fourier import (
    nrff_bias,
    nrff_variance,
    nrff_variance_ratio,
    rff_mean,
    rff_mean_without_phase,
    rff_variance,
)
from ._gcws import gcws_variance, index_recall, random_projection_variance, relative_variance
from ._limit import (
    gmm_limit,
    gmm_limit_variance,
    nrff_gcws_variance_ratio,
    rbf_from_gmm,
    rbf_from_gmm_variance,
    rho_from_gmm,
)

__all__ = [
    "gcws_variance",
    "gmm_limit",
    "gmm_limit_variance",
    "index_recall",
    "nrff_bias",
    "nrff_gcws_variance_ratio",
    "nrff_variance",
    "nrff_variance_ratio",
    "random_projection_variance",
    "rbf_from_gmm",
    "rbf_from_gmm_variance",
    "relative_variance",
    "rff_mean",
    "rff_mean_without_phase",
    "rff_variance",
    "rho_from_gmm",
]
