"""HostBackend: computes on a GPU, but takes and returns NumPy arrays, for ``KERNELSKETCH_BACKEND=cuda``.

Rows go to the GPU in blocks and results come back block by block, through page-locked (pinned) memory and two streams:
while the GPU works on one block, the next is copied. So the rows need not fit in the memory of the GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..._array import code_dtype
from .._backend import Backend
from .._interface import ByteRows, FourierParams, GcwsParams, Ratio
from .._interface_learning import LinearObjective, LinearPass, LinearSolved, LinearTargets, NewtonProblem, NewtonWhole
from .._numpy import NumpyArrays
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

    def _upload(self, array: Any) -> Any:
        return self.gpu.upload(array, self.threads)

    # Kernels.

    def gmm_dense(self, a: Any, b: Any, ratio: Ratio, *, symmetric: bool = False, out: Any = None) -> Any:
        out = np.empty((len(a), len(b)), a.dtype) if out is None else out
        cuda = self._cuda

        def columns(part: slice) -> Callable[[Any], Any]:
            right = self._upload(b[part])
            return lambda left: cuda.gmm_dense(left, right, ratio)

        return self._matrix(a, b, lambda rows: self._upload(a[rows]), columns, out)

    def gmm_bytes(self, a: ByteRows, b: ByteRows, ratio: Ratio, *, symmetric: bool = False, out: Any = None) -> Any:
        out = np.empty((len(a.values), len(b.values)), a.norms.dtype) if out is None else out

        def placed(x: ByteRows, part: slice) -> ByteRows:
            return ByteRows(self._upload(x.values[part]), self._upload(x.norms[part]))

        def columns(part: slice) -> Callable[[Any], Any]:
            right = placed(b, part)
            return lambda left: self._cuda.gmm_bytes(left, right, ratio)

        return self._matrix(a.values, b.values, lambda rows: placed(a, rows), columns, out)

    def gmm_sparse(self, a: CsrRows, b: CsrRows, ratio: Ratio, *, symmetric: bool = False, out: Any = None) -> Any:
        out = np.empty((len(a), len(b)), a.dtype) if out is None else out

        def columns(part: slice) -> Callable[[Any], Any]:
            right: Any = self._placed(b.part(part))
            return lambda left: self._cuda.gmm_sparse(left, right, ratio)

        return self._matrix(a, b, lambda rows: self._placed(a.part(rows)), columns, out)

    def _matrix(self, a: Any, b: Any, load: Callable[[slice], Any], columns: Callable[[slice], Any], out: Any) -> Any:
        """Fill a matrix by blocks of its rows and columns. ``columns`` loads columns and returns what computes rows."""
        for part in _parts(len(b), max(1, _row_bytes(b)), 8 * BLOCK_BYTES):
            compute = columns(part)
            width = (part.stop - part.start) * out.dtype.itemsize
            self._stream(len(a), max(1, width, _row_bytes(a)), load, compute, (out[:, part],))
        return out

    # Hashes.

    def gcws_codes(self, rows: Rows, params: GcwsParams, bits: int, t_bits: int) -> tuple[Any, Any]:
        shape = len(rows), params.n_components
        codes, empty = np.empty(shape, code_dtype(bits + t_bits)), np.empty(len(rows), np.bool_)
        self._hash(rows, params, lambda block: self._cuda.gcws_codes(block, params, bits, t_bits), (codes, empty))
        return codes, empty

    def gcws_samples(self, rows: Rows, params: GcwsParams) -> tuple[Any, Any, Any]:
        slots, t = (np.empty((len(rows), params.n_components), np.int64) for _ in range(2))
        empty = np.empty(len(rows), np.bool_)
        self._hash(rows, params, lambda block: self._cuda.gcws_samples(block, params), (slots, t, empty))
        return slots, t, empty

    def gcws_fingerprints(self, rows: Rows, params: GcwsParams) -> tuple[Any, Any]:
        codes, empty = np.empty((len(rows), params.n_components), np.uint8), np.empty(len(rows), np.bool_)
        self._hash(rows, params, lambda block: self._cuda.gcws_fingerprints(block, params), (codes, empty))
        return codes, empty

    def _hash(self, rows: Rows, params: GcwsParams, compute: Callable[[Any], Any], out: tuple[Any, ...]) -> None:
        row_bytes = max(_row_bytes(rows), params.n_components * sum(x.dtype.itemsize for x in out[:-1]))
        self._stream(len(rows), row_bytes, lambda part: self._placed(rows.part(part)), compute, out)

    def concatenate(self, slots: Any, t: Any, counts: Any) -> Any:
        out = np.empty((len(slots), len(counts)), np.int64)
        on_gpu, upload = self._upload(counts), self._upload
        self._stream(
            len(slots),
            16 * max(1, slots.shape[1]),
            lambda part: (upload(slots[part]), upload(t[part])),
            lambda block: self._cuda.concatenate(block[0], block[1], on_gpu),
            (out,),
        )
        return out

    def pack(self, codes: Any, width: int) -> Any:
        out = np.empty((len(codes), -(-codes.shape[1] * width // 8)), np.uint8)
        return self._by_rows(codes, lambda block: self._cuda.pack(block, width), out)

    def unpack(self, packed: Any, width: int, n_components: int) -> Any:
        out = np.empty((len(packed), n_components), code_dtype(width))
        return self._by_rows(packed, lambda block: self._cuda.unpack(block, width, n_components), out)

    def used_codes(self, codes: Any, width: int) -> Any:
        used = np.zeros(1 << width, np.bool_)
        for part in _parts(len(codes), _row_bytes(codes), BLOCK_BYTES):
            used |= self._cuda.to_numpy(self._cuda.used_codes(self._upload(codes[part]), width))
        return used

    def renumber(self, codes: Any, number_of: Any, *, out: Any = None) -> tuple[Any, int]:
        out = np.empty(codes.shape, number_of.dtype) if out is None else out
        numbers, largest = self._upload(number_of), [0]

        def compute(block: Any) -> Any:
            found, most = self._cuda.renumber(block, numbers)
            largest.append(most)
            return found

        self._by_rows(codes, compute, out)
        return out, max(largest)

    def match_counts(self, a: Any, a_empty: Any, b: Any, b_empty: Any) -> Any:
        out, upload = np.empty((len(a), len(b)), np.int32), self._upload

        def columns(part: slice) -> Callable[[Any], Any]:
            right = upload(b[part]), upload(b_empty[part])
            return lambda left: self._cuda.match_counts(left[0], left[1], *right)

        return self._matrix(a, b, lambda rows: (upload(a[rows]), upload(a_empty[rows])), columns, out)

    # Fourier features.

    def fourier(self, rows: Rows, params: FourierParams, table_bytes: int, *, out: Any = None) -> Any:
        out = self.empty((len(rows), params.n_components), rows.dtype) if out is None else out
        finite = [True]

        def compute(block: Any) -> Any:
            found = self._cuda.fourier(block, params, table_bytes)
            finite[0] &= found is not None
            return self.gpu.xp.zeros((len(block), params.n_components), rows.dtype) if found is None else found

        row_bytes = max(_row_bytes(rows), out[:1].nbytes)
        self._stream(len(rows), row_bytes, lambda part: self._placed(rows.part(part)), compute, (out,))
        return out if finite[0] else None

    # Learning on codes.

    def linear_decide(self, codes: Any, empty: Any, scale: float, w: Any, bias: Any) -> Any:
        out, weights, upload = np.empty((len(codes), len(w)), w.dtype), self._upload(w), self._upload
        self._stream(
            len(codes),
            _row_bytes(codes),
            lambda part: (upload(codes[part]), upload(empty[part])),
            lambda block: self._cuda.linear_decide(block[0], block[1], scale, weights, bias),
            (out,),
        )
        return out

    def linear_accumulate(self, codes: Any, empty: Any, beta: Any, sums: Any) -> None:
        upload, on_gpu = self._upload, self._upload(sums)
        for part in _parts(len(codes), _row_bytes(codes), BLOCK_BYTES):
            self._cuda.linear_accumulate(upload(codes[part]), upload(empty[part]), upload(beta[part]), on_gpu)
        sums[...] = self._cuda.to_numpy(on_gpu)

    def newton_solve(
        self,
        codes: Any,
        empty: Any,
        objective: LinearObjective,
        problem: NewtonProblem,
        report: Callable[[int, Any], None],
    ) -> LinearSolved:
        upload, to_numpy, w, beta = self._upload, self._cuda.to_numpy, problem.w, problem.beta
        targets = LinearTargets(*(None if part is None else upload(part) for part in problem.targets))  # type: ignore[arg-type]
        with self.gpu.all_at_once(f"the codes of {codes.shape[0]} rows with {codes.shape[1]} hashes"):
            placed = problem._replace(targets=targets, w=upload(w), beta=upload(beta))
            solved = self._cuda.newton_solve(upload(codes), upload(empty), objective, placed, report)
        w[...], beta[...] = to_numpy(placed.w), to_numpy(placed.beta)
        return solved

    def linear_pass(self, codes: Any, empty: Any, objective: LinearObjective, state: LinearPass) -> Any:
        with self.gpu.all_at_once(f"the codes of {codes.shape[0]} rows with {codes.shape[1]} hashes"):
            return self._cuda.linear_pass(self._upload(codes), self._upload(empty), objective, state)

    # Blocks.

    def _placed(self, rows: Rows) -> Rows:
        upload = self._upload
        if isinstance(rows, CsrRows):
            return CsrRows(upload(rows.indptr), upload(rows.indices), upload(rows.data), rows.n_features)
        return DenseRows(upload(rows.values))

    def _by_rows(self, x: Any, compute: Callable[[Any], Any], out: Any) -> Any:
        row_bytes = max(_row_bytes(x), out[:1].nbytes)
        self._stream(len(x), row_bytes, lambda part: self._upload(x[part]), compute, (out,))
        return out

    def _stream(
        self,
        n: int,
        row_bytes: int,
        load: Callable[[slice], Any],
        compute: Callable[[Any], Any],
        out: tuple[Any, ...],
    ) -> None:
        """Compute on blocks of rows on two streams in turn, and write the results to the arrays of ``out``."""

        def work(block: int) -> None:
            pending: list[Callable[[], None]] = []
            for number, start in enumerate(range(0, n, block)):
                part = slice(start, min(n, start + block))
                if len(pending) == 2:
                    pending.pop(0)()
                with self.gpu.stream(number % 2):
                    found = compute(load(part))
                    found = found if isinstance(found, tuple) else (found,)
                    pending.append(self.gpu.download(found, tuple(x[part] for x in out), self.threads))
            for finish in pending:
                finish()

        most = max(LEAST_ROWS, min(n, BLOCK_BYTES // max(1, row_bytes)))
        self.gpu.in_blocks(work, most, LEAST_ROWS, "blocks")


def _row_bytes(x: Any) -> int:
    """Return the bytes per row of an array or of rows."""
    if isinstance(x, CsrRows):
        return 16 * max(1, len(x.data) // max(1, len(x)))
    if isinstance(x, DenseRows):
        x = x.values
    return max(1, int(x.dtype.itemsize) * int(np.prod(x.shape[1:])))


def _parts(n: int, row_bytes: int, size: int) -> Iterator[slice]:
    step = max(1, size // row_bytes)
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))
