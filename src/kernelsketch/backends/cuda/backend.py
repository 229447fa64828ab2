"""CudaBackend: the operations of a back end on arrays of a GPU."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .._backend import Backend
from .._interface import ByteRows, FourierParams, GcwsParams, Ratio
from .._interface_learning import LinearObjective, LinearPass, LinearSolved, NewtonProblem, NewtonWhole
from .._numpy import PlainValues
from .._rows import CsrRows, Rows
from . import _codes, _descent, _fourier, _gcws, _gmm, _linear, _newton
from ._device import Gpu
from ._index import CudaIndex
from ._rows import cupy_of, is_cupy, is_torch


class CudaBackend(PlainValues, CudaIndex, Backend, NewtonWhole):
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

    def gmm_dense(self, a: Any, b: Any, ratio: Ratio, *, symmetric: bool = False, out: Any = None) -> Any:
        return _gmm.gmm_dense(self.gpu, a, b, ratio, symmetric, out)

    def gmm_bytes(self, a: ByteRows, b: ByteRows, ratio: Ratio, *, symmetric: bool = False, out: Any = None) -> Any:
        return _gmm.gmm_bytes(self.gpu, a, b, ratio, symmetric, out)

    def gmm_sparse(self, a: CsrRows, b: CsrRows, ratio: Ratio, *, symmetric: bool = False, out: Any = None) -> Any:
        return _gmm.gmm_sparse(self.gpu, a, b, ratio, out)

    # Hashes.

    def gcws_codes(self, rows: Rows, params: GcwsParams, bits: int, t_bits: int) -> tuple[Any, Any]:
        return _gcws.gcws_codes(self.gpu, rows, params, bits, t_bits)

    def gcws_samples(self, rows: Rows, params: GcwsParams) -> tuple[Any, Any, Any]:
        return _gcws.gcws_samples(self.gpu, rows, params)

    def gcws_fingerprints(self, rows: Rows, params: GcwsParams) -> tuple[Any, Any]:
        return _gcws.gcws_fingerprints(self.gpu, rows, params)

    def concatenate(self, slots: Any, t: Any, counts: Any) -> Any:
        return _gcws.concatenate(self.gpu, slots, t, counts)

    def pack(self, codes: Any, width: int) -> Any:
        return _codes.pack(self.gpu, codes, width)

    def unpack(self, packed: Any, width: int, n_components: int) -> Any:
        return _codes.unpack(self.gpu, packed, width, n_components)

    def used_codes(self, codes: Any, width: int) -> Any:
        return _codes.used_codes(self.gpu, codes, width)

    def renumber(self, codes: Any, number_of: Any, *, out: Any = None) -> tuple[Any, int]:
        return _codes.renumber(self.gpu, codes, number_of, out)

    def match_counts(self, a: Any, a_empty: Any, b: Any, b_empty: Any) -> Any:
        return _codes.match_counts(self.gpu, a, a_empty, b, b_empty)

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
