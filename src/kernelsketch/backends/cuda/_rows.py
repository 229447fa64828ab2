"""Arrays of CuPy and PyTorch on a GPU, checked and turned into rows without a copy."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Any

import numpy as np

from ..._validation import FLOATS, check_finite
from ...exceptions import InputError, InputTypeError
from .._rows import CsrRows, DenseRows, Rows
from ._device import cupy


def is_cupy(X: Any) -> bool:
    """Return whether an object is an array or a sparse matrix of CuPy. CuPy is not imported."""
    return type(X).__module__.partition(".")[0] in ("cupy", "cupyx") and hasattr(X, "dtype")


def is_torch(X: Any) -> bool:
    """Return whether an object is a PyTorch tensor on a GPU. PyTorch is not imported."""
    return type(X).__module__.partition(".")[0] == "torch" and bool(getattr(X, "is_cuda", False))


def cupy_of(X: Any) -> Any:
    """Return a PyTorch tensor as a CuPy array of the same memory."""
    return cupy().from_dlpack(X.detach())


def gpu_to_host(array: Any) -> Any:
    """Return an array of the GPU as a NumPy array."""
    return array.get() if is_cupy(array) else np.array(array)


def torch_of(X: Any) -> Any:
    """Return a CuPy array or CSR matrix as a PyTorch tensor of the same memory; anything else as it is."""
    if isinstance(X, tuple):
        return tuple(torch_of(part) for part in X)
    if not is_cupy(X):
        return X
    torch = sys.modules["torch"]  # X was one of its tensors
    if hasattr(X, "indptr"):
        parts = [torch.from_dlpack(part) for part in (X.indptr, X.indices, X.data)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch says that it does not check the parts
            return torch.sparse_csr_tensor(*parts, size=X.shape, check_invariants=False)
    return torch.from_dlpack(X)


def torch_rows(X: Any, name: str) -> Rows:
    if str(X.layout) == "torch.sparse_csr":
        sparse = import_module("cupyx.scipy.sparse")
        parts = [cupy_of(part) for part in (X.values(), X.col_indices(), X.crow_indices())]
        return cupy_rows(sparse.csr_matrix(tuple(parts), shape=tuple(X.shape)), name)
    if str(X.dtype) == "torch.bfloat16":
        raise InputTypeError(f"{name} is a tensor of bfloat16: convert it with {name}.float().")
    return cupy_rows(cupy_of(X), name)


def cupy_rows(X: Any, name: str) -> Rows:
    """Check an array or a sparse matrix and return rows of float32 or float64."""
    xp = cupy()
    sparse = hasattr(X, "tocsr")
    if X.ndim != 2:
        raise InputError(f"{name} must be 2-D, got shape {X.shape}: reshape a single row with {name}.reshape(1, -1).")
    if X.dtype.kind not in "biuf":
        raise InputTypeError(f"{name} must hold real numbers, got dtype {X.dtype}.")
    if 0 in X.shape:
        raise InputError(f"{name} is empty, it has shape {X.shape}: pass at least one row and one feature.")
    values = X.data if sparse else X
    if values.device.id != xp.cuda.Device().id:
        raise InputError(
            f"{name} is on GPU {values.device.id}, but the current GPU is {xp.cuda.Device().id}: copy {name} to it, or "
            f"call within  with cupy.cuda.Device({values.device.id}):"
        )
    if values.dtype not in FLOATS:
        X = X.astype(np.float64)
    if sparse:
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    rows: Rows = CsrRows.of(X) if sparse else DenseRows(X)
    check_finite(rows.arrays[-1], name, lambda k: _locate(xp, rows, k))
    return rows


def _locate(xp: Any, rows: Rows, number: int) -> tuple[int, int]:
    """Return the row and the column of a value."""
    if isinstance(rows, CsrRows):
        after = int(xp.searchsorted(rows.indptr, xp.asarray([number]), side="right")[0])
        return after - 1, int(rows.indices[number])
    return divmod(number, rows.n_features)
