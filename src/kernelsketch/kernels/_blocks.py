"""Kernel matrices in blocks of rows, for matrices that do not fit in memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._array import Array
from .._validation import check_positive_int, row_batches
from ..exceptions import InputError, InputTypeError, Setting
from ._plan import Plan
from ._registry import find_kernel


def iter_kernel_blocks(
    X: Any,
    Y: Any = None,
    *,
    kernel: str | Callable[..., Any] = "gmm",
    block_size: int | None = None,
    **params: Any,
) -> Iterator[tuple[slice, Array]]:
    """Compute a kernel matrix in blocks of rows, so that the whole matrix never has to fit in memory.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples_X, n_features)
    Y : array or CSR matrix of shape (n_samples_Y, n_features), default=None
        The second side of the kernel. None means X.
    kernel : str or function, default="gmm"
        The kernel: "gmm", "egmm", "ngmm", "intersection", "correlation", "rbf", or one of these functions.
    block_size : int, default=None
        Number of rows per block. None means as many as fit in scikit-learn's ``working_memory``, which is 1024 MiB
        unless :func:`sklearn.set_config` changes it.
    **params
        Parameters of the kernel, for example ``p``, ``gamma``, ``center`` and ``n_jobs`` for "egmm".

    Yields
    ------
    rows : slice
        The rows of X that the block belongs to.
    block : array of shape (number of these rows, n_samples_Y)
        These rows of the kernel matrix, as a new array. For the min-max kernels ("gmm", "egmm", "ngmm" and
        "intersection") the block equals these rows of the whole matrix bit for bit. For "correlation" and "rbf" the
        last bits may differ.

    Examples
    --------
    Find the most similar other row of each row without the whole matrix:

    >>> import numpy as np
    >>> from kernelsketch import iter_kernel_blocks
    >>> X = np.random.default_rng(0).normal(size=(500, 8))
    >>> nearest = np.empty(500, dtype=int)
    >>> for rows, block in iter_kernel_blocks(X, kernel="gmm", block_size=100):
    ...     block[np.arange(len(block)), np.arange(rows.start, rows.stop)] = -1
    ...     nearest[rows] = block.argmax(axis=1)
    >>> nearest[:3]
    array([ 44, 490, 153])
    """
    for refused in ("out", "Y"):
        if refused in params:
            raise InputError(Setting(refused), " cannot be used here: each block is a new array.")
    make_plan = find_kernel(kernel).plan
    known = [name for name in inspect.signature(make_plan).parameters if name not in ("X", "Y")]
    for name in params:
        if name not in known:
            raise InputTypeError(
                Setting("kernel", kernel), f" takes no parameter {name!r}: it takes {', '.join(known) or 'none'}."
            )
    with np.errstate(all="ignore"):
        plan = make_plan(X, Y, **params)
    row_bytes = plan.shape[1] * plan.dtype.itemsize
    if block_size is not None:
        size = check_positive_int(block_size, "block_size") * row_bytes
    else:
        from sklearn import get_config  # takes a second to import

        size = int(get_config()["working_memory"]) << 20
    return _blocks(plan, row_bytes, size)


def _blocks(plan: Plan, row_bytes: int, size: int) -> Iterator[tuple[slice, Array]]:
    for rows in row_batches(plan.shape[0], row_bytes, size):
        yield rows, plan.block(rows)
