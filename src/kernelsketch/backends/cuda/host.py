"""HostBackend: computes on a GPU, but takes and returns NumPy arrays, for ``KERNELSKETCH_BACKEND=cuda``.

Rows go to the GPU in blocks and results come back block by block, through page-locked (pinned) memory and two streams:
while the GPU works on one block, the next is copied. So the rows need not fit in the memory of the GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ..._array import code_dtype
from ..._validation import row_batches
from .._backend import Backend
from .._interface import ByteRows, FourierParams, GcwsParams, Ratio
from .._interface_learning import LinearObjective, LinearPass, LinearSolved, LinearTargets, NewtonProblem, NewtonWhole
from .._numpy import NumpyArrays, matrix_for
from .._rows import CsrRows, DenseRows, Rows
from ._device import Gpu
from ._index import CudaIndex
from .backend import CudaBackend

BLOCK_BYTES = 1 << 26  # rows or results of a block
LEAST_ROWS = 16


class HostBackend(NumpyArrays, CudaIndex, Backend, NewtonWhole):
    """Compute on a GPU with NumPy arrays in main memory."""

    name = "cuda"
    newton = "whole"

    def __init__(self, gpu: Gpu, threads: int = 1) -> None:
        self.gpu, self.threads, self._cuda = gpu, threads, CudaBackend(gpu, None, threads)

    # Kernels.

    def gmm(self, a: Any, b: Any, ratio: Ratio, *, symmetric: bool = False, out: Any = None) -> Any:
        out = matrix_for(a, b, out)
        return self._matrix(a, b, lambda left, right: self._cuda.gmm(left, right, ratio), out)

    def _matrix(self, a: Any, b: Any, compute: Callable[[Any, Any], Any], out: Any) -> Any:
        """Fill a matrix by blocks of its rows and columns."""
        for part in _parts(b, 8 * BLOCK_BYTES):
            self._stream(a, compute, out[:, part], right=self._placed(b, part))
        return out

    # Hashes.

    def gcws_codes(self, rows: Rows, params: GcwsParams, bits: int, t_bits: int) -> tuple[Any, Any]:
        shape = len(rows), params.n_components
        codes, empty = np.empty(shape, code_dtype(bits + t_bits)), np.empty(len(rows), np.bool_)
        self._stream(rows, lambda block: self._cuda.gcws_codes(block, params, bits, t_bits), codes, empty)
        return codes, empty

    def gcws_samples(self, rows: Rows, params: GcwsParams) -> tuple[Any, Any, Any]:
        slots, t = (np.empty((len(rows), params.n_components), np.int64) for _ in range(2))
        empty = np.empty(len(rows), np.bool_)
        self._stream(rows, lambda block: self._cuda.gcws_samples(block, params), slots, t, empty)
        return slots, t, empty

    def gcws_fingerprints(self, rows: Rows, params: GcwsParams) -> tuple[Any, Any]:
        codes, empty = np.empty((len(rows), params.n_components), np.uint8), np.empty(len(rows), np.bool_)
        self._stream(rows, lambda block: self._cuda.gcws_fingerprints(block, params), codes, empty)
        return codes, empty

    def concatenate(self, slots: Any, t: Any, counts: Any) -> Any:
        out, on_gpu = np.empty((len(slots), len(counts)), np.int64), self._placed(counts)
        self._stream((slots, t), lambda block: self._cuda.concatenate(block[0], block[1], on_gpu), out)
        return out

    def pack(self, codes: Any, width: int) -> Any:
        out = np.empty((len(codes), -(-codes.shape[1] * width // 8)), np.uint8)
        self._stream(codes, lambda block: self._cuda.pack(block, width), out)
        return out

    def unpack(self, packed: Any, width: int, n_components: int) -> Any:
        out = np.empty((len(packed), n_components), code_dtype(width))
        self._stream(packed, lambda block: self._cuda.unpack(block, width, n_components), out)
        return out

    def used_codes(self, codes: Any, width: int) -> Any:
        used = np.zeros(1 << width, np.bool_)
        for part in _parts(codes, BLOCK_BYTES):
            used |= self._cuda.to_numpy(self._cuda.used_codes(self._placed(codes, part), width))
        return used

    def renumber(self, codes: Any, number_of: Any, *, out: Any = None) -> tuple[Any, int]:
        out = np.empty(codes.shape, number_of.dtype) if out is None else out
        numbers, largest = self._placed(number_of), [0]

        def compute(block: Any) -> Any:
            found, most = self._cuda.renumber(block, numbers)
            largest.append(most)
            return found

        self._stream(codes, compute, out)
        return out, max(largest)

    def match_counts(self, a: Any, a_empty: Any, b: Any, b_empty: Any) -> Any:
        out = np.empty((len(a), len(b)), np.int32)
        return self._matrix((a, a_empty), (b, b_empty), lambda left, right: self._cuda.match_counts(*left, *right), out)

    # Fourier features.

    def fourier(self, rows: Rows, params: FourierParams, table_bytes: int, *, out: Any = None) -> Any:
        out = self.empty((len(rows), params.n_components), rows.dtype) if out is None else out
        finite = [True]

        def compute(block: Any) -> Any:
            found = self._cuda.fourier(block, params, table_bytes)
            finite[0] &= found is not None
            return self.gpu.xp.zeros((len(block), params.n_components), rows.dtype) if found is None else found

        self._stream(rows, compute, out)
        return out if finite[0] else None

    # Learning on codes.

    def linear_decide(self, codes: Any, empty: Any, scale: float, w: Any, bias: Any) -> Any:
        out, weights = np.empty((len(codes), len(w)), w.dtype), self._placed(w)
        self._stream(
            (codes, empty), lambda block: self._cuda.linear_decide(block[0], block[1], scale, weights, bias), out
        )
        return out

    def linear_accumulate(self, codes: Any, empty: Any, beta: Any, sums: Any) -> None:
        on_gpu = self._placed(sums)
        for part in _parts(codes, BLOCK_BYTES):
            rows, flags, duals = self._placed((codes, empty, beta), part)
            self._cuda.linear_accumulate(rows, flags, duals, on_gpu)
        sums[...] = self._cuda.to_numpy(on_gpu)

    def newton_solve(
        self,
        codes: Any,
        empty: Any,
        objective: LinearObjective,
        problem: NewtonProblem,
        report: Callable[[int, Any], None],
    ) -> LinearSolved:
        placed = self._placed
        with self._all_at_once(codes):
            targets = LinearTargets(*(None if part is None else placed(part) for part in problem.targets))  # type: ignore[arg-type]
            on_gpu = problem._replace(targets=targets, w=placed(problem.w), beta=placed(problem.beta))
            solved = self._cuda.newton_solve(placed(codes), placed(empty), objective, on_gpu, report)
        problem.w[...], problem.beta[...] = self._cuda.to_numpy(on_gpu.w), self._cuda.to_numpy(on_gpu.beta)
        return solved

    def linear_pass(self, codes: Any, empty: Any, objective: LinearObjective, state: LinearPass) -> Any:
        with self._all_at_once(codes):
            return self._cuda.linear_pass(self._placed(codes), self._placed(empty), objective, state)

    def _all_at_once(self, codes: Any) -> AbstractContextManager[None]:
        return self.gpu.all_at_once(f"the codes of {codes.shape[0]} rows with {codes.shape[1]} hashes")

    # Blocks.

    def _placed(self, x: Any, part: slice | None = None) -> Any:
        """Copy rows, an array or several arrays to the GPU, or a part of their rows."""
        if isinstance(x, CsrRows):
            rows = x if part is None else x.part(part)
            return CsrRows(*map(self._placed, rows.arrays), rows.n_features)  # type: ignore[call-arg]
        if isinstance(x, DenseRows):
            return DenseRows(self._placed(x.values, part))
        if isinstance(x, tuple):
            parts = [self._placed(each, part) for each in x]
            return ByteRows(*parts) if isinstance(x, ByteRows) else tuple(parts)
        return self.gpu.upload(x if part is None else x[part], self.threads)

    def _stream(self, x: Any, compute: Callable[..., Any], *out: Any, **more: Any) -> None:
        """Compute on blocks of the rows of x on two streams in turn, and write the results to the arrays of ``out``."""
        n = len(out[0])

        def work(block: int) -> None:
            pending: list[Callable[[], None]] = []
            for number, start in enumerate(range(0, n, block)):
                part = slice(start, min(n, start + block))
                if len(pending) == 2:
                    pending.pop(0)()
                with self.gpu.stream(number % 2):
                    found = compute(self._placed(x, part), **more)
                    found = found if isinstance(found, tuple) else (found,)
                    pending.append(self.gpu.download(found, tuple(target[part] for target in out), self.threads))
            for finish in pending:
                finish()

        row_bytes = max(_row_bytes(x), sum(target[:1].nbytes for target in out))
        most = max(LEAST_ROWS, min(n, BLOCK_BYTES // max(1, row_bytes)))
        self.gpu.in_blocks(work, most, LEAST_ROWS, "blocks")


def _row_bytes(x: Any) -> int:
    """Return the bytes per row of an array, of several, or of rows."""
    if isinstance(x, CsrRows):
        return 16 * max(1, len(x.data) // max(1, len(x)))
    arrays = x if isinstance(x, tuple) else (x.values if isinstance(x, DenseRows) else x,)
    return max(1, int(sum(array.dtype.itemsize * math.prod(array.shape[1:]) for array in arrays)))


def _parts(x: Any, size: int) -> Iterator[slice]:
    """Yield ranges of rows of at most ``size`` bytes."""
    return row_batches(len(x[0]) if isinstance(x, tuple) else len(x), _row_bytes(x), size)
