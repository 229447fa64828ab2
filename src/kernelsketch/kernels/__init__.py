"""Exact kernels: pure functions ``(X, Y=None, **params) -> matrix``.

A public function checks its data, makes a plan and asks the plan for the whole matrix. A plan is made once for X, Y
and the parameters and can compute any range of rows, so a whole matrix and its blocks agree::

    gmm_kernel, rbf_kernel, ...  ->  _evaluate  ->  plan  ->  back end (min-max kernels) or BLAS (correlation, RBF)
    iter_kernel_blocks           ->  _registry  ->  plan  ->  the same, block by block

::

    _minmax            gmm_kernel, egmm_kernel, ngmm_kernel, intersection_kernel, and the function that makes each plan
    _correlation       correlation_kernel, rbf_kernel, and the function that makes each plan
    _evaluate          from the user's data to a plan, and from a plan to a matrix
    _plan              Plan, the base class of plans
    _minmax_plan       MinMaxPlan, which chooses the arithmetic (dense, bytes, sparse), the scale and the blocks
    _correlation_plan  CorrelationPlan, inner products by BLAS
    _operand           Operand, one side of a kernel: centering, powers and norms, block by block
    _blocks            iter_kernel_blocks
    _sign_split        sign_split, equation (2) of the paper
    _registry          KERNELS, the table of kernels by name

The arithmetic of the min-max kernels belongs to the back ends: ``reference/gmm.py`` in NumPy, ``native/`` in C++. To
add a kernel, see "How to add a kernel" in CONTRIBUTING.md.
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
