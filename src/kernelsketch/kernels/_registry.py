"""The table of kernels by name. See "How to add a kernel" in CONTRIBUTING.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..exceptions import InputError, Setting
from . import _correlation as correlation
from . import _minmax as minmax
from ._plan import Plan


class Kernel(NamedTuple):
    """A public kernel function and the function that makes its plan."""

    function: Callable[..., Any]
    plan: Callable[..., Plan]


KERNELS = {
    "gmm": Kernel(minmax.gmm_kernel, minmax.plan_gmm),
    "egmm": Kernel(minmax.egmm_kernel, minmax.plan_egmm),
    "ngmm": Kernel(minmax.ngmm_kernel, minmax.plan_ngmm),
    "intersection": Kernel(minmax.intersection_kernel, minmax.plan_intersection),
    "correlation": Kernel(correlation.correlation_kernel, correlation.plan_correlation),
    "rbf": Kernel(correlation.rbf_kernel, correlation.plan_rbf),
}


def find_kernel(kernel: Any) -> Kernel:
    """Return the entry of a kernel, given its name or its public function."""
    if isinstance(kernel, str) and kernel in KERNELS:
        return KERNELS[kernel]
    for row in KERNELS.values():
        if kernel is row.function:
            return row
    raise InputError(
        Setting("kernel"), f" must be one of {', '.join(map(repr, KERNELS))} or one of those functions, got {kernel!r}."
    )
