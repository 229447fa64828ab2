"""How far estimates are from their kernels: the theorems of the paper as functions of numbers and arrays.

====================== ==================================================================================
random Fourier         :func:`rff_mean`, :func:`rff_mean_without_phase`, :func:`rff_variance`,
                       :func:`nrff_variance`, :func:`nrff_bias`, :func:`nrff_variance_ratio`
hashing                :func:`gcws_variance`, :func:`relative_variance`, :func:`random_projection_variance`,
                       :func:`index_recall`
GMM and correlation    :func:`gmm_limit`, :func:`gmm_limit_variance`, :func:`rho_from_gmm`
RBF from GCWS          :func:`rbf_from_gmm`, :func:`rbf_from_gmm_variance`, :func:`nrff_gcws_variance_ratio`
====================== ==================================================================================

Arguments are broadcast against each other. If all of them are numbers, the result is a float.
``kernelsketch_paper.simulations`` checks the functions by simulation.

============== ===========================================================================================
``_fourier``   random Fourier features, plain and normalized: Theorems 2 and 3
``_gcws``      variance of GCWS, relative variances of all methods, recall of an index
``_limit``     the limit of GMM for many features, and RBF through it: Theorem 4
``_arguments`` checks of the arguments
============== ===========================================================================================
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
