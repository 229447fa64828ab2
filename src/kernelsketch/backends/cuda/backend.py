"""CudaBackend: the operations of a back end on arrays of a GPU."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .._backend import Backend
from .._interface import FourierParams, Ratio
from .._interface_learning import LinearObjective, LinearPass, LinearSolved, NewtonProblem, NewtonWhole
from .._numpy import PlainValues
from .._rows import Rows
from . import _descent, _fourier, _gmm, _linear, _newton
from ._codes import CudaCodes
from ._device import Gpu
from ._gcws import CudaGcws
from ._index import CudaIndex
from ._rows import cupy_of, is_cupy, is_torch


class CudaBackend(PlainValues, CudaGcws, CudaCodes, CudaIndex, Backend, NewtonWhole):
    """Compute on a GPU. Arrays are those of the GPU's library, CuPy."""

    name = "cuda"
    newton = "whole"
    step_values = 1 << 24  # each step waits for its results

    def __init__(self, gpu: Gpu, place: Any = None, threads: int = 1) -> None:
        self.gpu, self.place, self.threads = gpu, place, threads

    # Arrays.

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.gpu.xp.empty(shape, dtype)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.gpu.xp.zeros(shape, dtype)

    def from_numpy(self, array: Any) -> Any:
        return self.gpu.xp.asarray(array)

    def to_numpy(self, array: Any) -> Any:
        if is_torch(array):
            array = cupy_of(array)
        return array.get() if is_cupy(array) else np.asarray(array)

    def csr_matrix(self, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
        sparse = import_module("cupyx.scipy.sparse")
        matrix = sparse.csr_matrix((data, indices, indptr), shape=shape)
        matrix.has_canonical_format = True
        return matrix

    # Values.

    def row_maxima(self, indptr: Any, values: Any) -> Any:
        return _gmm.row_maxima(self.gpu, indptr, values)

    # Kernels.

    def gmm(self, a: Any, b: Any, ratio: Ratio, *, symmetric: bool = False, out: Any = None) -> Any:
        return _gmm.gmm(self.gpu, a, b, ratio, symmetric, out)

    # Fourier features.

    def fourier(self, rows: Rows, params: FourierParams, table_bytes: int, *, out: Any = None) -> Any:
        return _fourier.fourier(self.gpu, rows, params, out)

    # Learning on codes.

    def linear_decide(self, codes: Any, empty: Any, scale: float, w: Any, bias: Any) -> Any:
        return _linear.linear_decide(self.gpu, codes, empty, scale, w, bias)

    def linear_accumulate(self, codes: Any, empty: Any, beta: Any, sums: Any) -> None:
        _linear.linear_accumulate(self.gpu, codes, empty, beta, sums)

    def newton_solve(
        self,
        codes: Any,
        empty: Any,
        objective: LinearObjective,
        problem: NewtonProblem,
        report: Callable[[int, Any], None],
    ) -> LinearSolved:
        return _newton.newton_solve(self.gpu, codes, empty, objective, problem, report)

    def linear_pass(self, codes: Any, empty: Any, objective: LinearObjective, state: LinearPass) -> Any:
        return _descent.linear_pass(self.gpu, codes, empty, objective, state)
