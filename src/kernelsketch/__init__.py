"""Kernel-machine accuracy at linear-model cost."""

from importlib.metadata import version as _version

from .features import GCWS, NRFF, RFF, GMMNystroem
from .hashing import PackedCodes
from .kernels import (
    correlation_kernel,
    egmm_kernel,
    gmm_kernel,
    intersection_kernel,
    iter_kernel_blocks,
    ngmm_kernel,
    rbf_kernel,
    sign_split,
)
from .linear import GCWSClassifier, GCWSClassifierCV, GCWSRegressor, load_model
from .neighbors import GCWSIndex, GCWSNeighborsTransformer

__version__ = _version("kernelsketch")

__all__ = [
    "GCWS",
    "GCWSClassifier",
    "GCWSClassifierCV",
    "GCWSIndex",
    "GCWSNeighborsTransformer",
    "GCWSRegressor",
    "GMMNystroem",
    "NRFF",
    "PackedCodes",
    "RFF",
    "correlation_kernel",
    "egmm_kernel",
    "gmm_kernel",
    "intersection_kernel",
    "iter_kernel_blocks",
    "load_model",
    "ngmm_kernel",
    "rbf_kernel",
    "sign_split",
]
