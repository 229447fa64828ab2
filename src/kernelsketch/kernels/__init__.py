"""Exact kernels: pure functions ``(X, Y=None, **params) -> matrix``.

::

    _minmax        gmm_kernel, egmm_kernel, ngmm_kernel, intersection_kernel   \\  what the user calls,
    _correlation   correlation_kernel, rbf_kernel                              /   and a plan each
    _evaluate      data in, matrix out
    _plan          what plans share
    _minmax_plan       which arithmetic (dense, bytes, sparse), which scale, which blocks
    _correlation_plan  BLAS
    _operand       one side: checked rows; centering, powers and norms block by block
    _blocks        iter_kernel_blocks
    _sign_split    equation (2)
    _registry      the list of kernels

The arithmetic itself is the back end's: ``reference/gmm.py`` in NumPy, ``native/`` in C++.
"""

from ._blocks import iter_kernel_blocks
from ._correlation import correlation_kernel, rbf_kernel
from ._minmax import egmm_kernel, gmm_kernel, intersection_kernel, ngmm_kernel
from ._registry import KERNELS, find_kernel
from ._sign_split import sign_split

__all__ = [
    "KERNELS",
    "correlation_kernel",
    "egmm_kernel",
    "find_kernel",
    "gmm_kernel",
    "intersection_kernel",
    "iter_kernel_blocks",
    "ngmm_kernel",
    "rbf_kernel",
    "sign_split",
]
