"""Gpu: CuPy, the kernels that NVRTC compiles, and the errors of a machine without a usable GPU.

CuPy is imported when a GPU is first asked for. NVRTC compiles the kernels of a concept when the first of them is
launched; CuPy keeps the result in memory and in its cache on disk, so this happens once per machine and version.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ..._threads import on_threads
from ...exceptions import BackendError, MissingExtraError
from ._source import options_for, source_of

LEAST_CAPABILITY = (7, 5)
LARGEST_COPY = 1 << 26  # bytes of page-locked memory of one copy
COPY_BYTES = 1 << 22  # bytes of a part of a copy in main memory, one thread each
SMALL_COPY = 1 << 16  # bytes below which page-locked memory does not pay
SMALL_SHARED = 48 * 1024  # bytes of shared memory that a kernel can have without asking
THREADS = 256  # of a block, unless a kernel needs another number
REALS = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}  # in the names of kernels
ELSEWHERE = "use NumPy arrays without the back end 'cuda'"


class Gpu:
    """The current device of CuPy. ``xp`` is CuPy; :meth:`launch` starts a kernel on CuPy's current stream."""

    shared_bytes: int  # shared memory that a block can have
    processors: int

    def __init__(self) -> None:
        self.xp = cupy()
        device = _checked_device(self.xp)
        self.shared_bytes = int(device.attributes["MaxSharedMemoryPerBlockOptin"])
        self.processors = int(device.attributes["MultiProcessorCount"])
        self._streams: list[Any] = []
        self._kept: list[tuple[Any, Any]] = []

    def launch(self, concept: str, name: str, grid: Any, block: Any, *args: Any, shared: int = 0) -> None:
        """Start a kernel. Arguments are arrays, None for a null pointer, integers and floats."""
        self.check_shared(name, shared)
        most_shared = self.shared_bytes if shared > SMALL_SHARED else 0
        kernel = _kernel(self.xp.cuda.Device().id, self.shared_kib, concept, name, most_shared)
        kernel(grid, block, tuple(0 if arg is None else arg for arg in args), shared_mem=shared)

    def over(self, count: int, concept: str, name: str, *args: Any) -> None:
        """Start a kernel with one thread for each of ``count`` numbers, or so many of them."""
        self.launch(concept, name, (-(-count // THREADS),), (THREADS,), *args)

    @property
    def shared_kib(self) -> int:
        """Kibibytes of shared memory that a block can have. Kernels are compiled for them."""
        return self.shared_bytes // 1024

    def check_shared(self, name: str, shared: int) -> None:
        """Refuse a launch with more shared memory than this GPU has."""
        if shared > self.shared_bytes:
            raise BackendError(
                f"the kernel {name} needs {shared} bytes of shared memory per block, but this GPU has "
                f"{self.shared_bytes}: choose another GPU with cupy.cuda.Device, or {ELSEWHERE}."
            )

    def upload(self, array: Any, threads: int = 1) -> Any:
        """Copy a NumPy array to the device on the current stream, through page-locked memory."""
        array = np.ascontiguousarray(array)
        if array.nbytes < SMALL_COPY:
            return self.xp.asarray(array)
        placed = self.xp.empty(array.shape, array.dtype)
        source, target = array.reshape(-1), placed.reshape(-1)
        step = LARGEST_COPY // array.dtype.itemsize
        for start in range(0, source.size, step):
            part = source[start : start + step]
            pinned = self._pinned(part.shape, part.dtype)
            _copy(pinned, part, threads)
            target[start : start + step].set(pinned)
            self._keep(pinned)
        return placed

    def constant(self, array: Any) -> Any:
        """Copy a small NumPy array to the device, for the use of all streams."""
        placed = self.xp.asarray(array)
        self.xp.cuda.get_current_stream().synchronize()
        return placed

    def download(self, arrays: tuple[Any, ...], out: tuple[Any, ...], threads: int = 1) -> Callable[[], None]:
        """Start to copy arrays of the device to NumPy arrays on the current stream; return what completes the copy."""
        stream = self.xp.cuda.get_current_stream()
        pinned = [self._pinned(x.shape, x.dtype) for x in arrays]
        for x, host in zip(arrays, pinned, strict=True):
            self.xp.ascontiguousarray(x).get(out=host, blocking=False)
        event = stream.record()

        def finish() -> None:
            event.synchronize()
            for host, target in zip(pinned, out, strict=True):
                _copy(target, host, threads)

        return finish

    def stream(self, number: int) -> Any:
        """Return one of two streams as a context."""
        if not self._streams:
            self._streams = [self.xp.cuda.Stream(non_blocking=False) for _ in range(2)]
        return self._streams[number]

    def _pinned(self, shape: tuple[int, ...], dtype: Any) -> Any:
        count = math.prod(shape)
        memory = self.xp.cuda.alloc_pinned_memory(max(1, count * np.dtype(dtype).itemsize))
        return np.frombuffer(memory, dtype, count).reshape(shape)

    def _keep(self, pinned: Any) -> None:
        """Keep page-locked memory until the copy from it is complete."""
        self._kept = [(event, kept) for event, kept in self._kept if not event.done]
        self._kept.append((self.xp.cuda.get_current_stream().record(), pinned))

    def free_bytes(self) -> int:
        """Return the memory that new arrays can take: that of the device and that of CuPy's pool."""
        pool = self.xp.get_default_memory_pool()
        return int(self.xp.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())

    def inverse(self, matrix: Any) -> Any:
        """Return the inverse of a positive definite matrix."""
        lapack = import_module("cupyx.lapack")
        return lapack.posv(matrix, self.xp.eye(len(matrix), dtype=matrix.dtype))

    def is_out_of_memory(self, error: Exception) -> bool:
        return isinstance(error, self.xp.cuda.memory.OutOfMemoryError)

    def drop_cached_memory(self) -> None:
        """Give the memory that CuPy keeps for later back to the device."""
        self.xp.get_default_memory_pool().free_all_blocks()

    @contextmanager
    def all_at_once(self, what: str) -> Iterator[None]:
        """Say what needs the memory, and what to do, if there is not enough for work that cannot be done in blocks."""
        try:
            yield
        except Exception as error:
            if not self.is_out_of_memory(error):
                raise
            self.drop_cached_memory()
            raise BackendError(
                f"the memory of the GPU is exhausted by {what} ({error}): free arrays on the GPU, pass fewer rows, "
                f"lower n_components, or {ELSEWHERE}."
            ) from error

    def in_blocks(self, work: Callable[[int], Any], block: int, least: int, what: str) -> Any:
        """Return ``work(block)``; if the memory is exhausted, try again with half the block, down to ``least``."""
        while True:
            try:
                return work(block)
            except Exception as error:
                if not self.is_out_of_memory(error):
                    raise
                if block <= least:
                    raise BackendError(
                        f"the memory of the GPU is exhausted, even for {what} of {block} rows at a time ({error}): "
                        f"free arrays on the GPU, pass fewer rows at a time, or {ELSEWHERE}."
                    ) from error
            self.drop_cached_memory()
            block = max(least, block // 2)


def written_to(out: Any, found: Any) -> Any:
    """Return a result in ``out``, or as it is if ``out`` is None."""
    if out is None or found is out:
        return found
    out[...] = found
    return out


def _copy(target: Any, source: Any, threads: int) -> None:
    """Copy an array. New memory takes several times as long as memory that was used before, unless threads share it."""
    step = max(1, min(len(source), COPY_BYTES * len(source) // max(1, source.nbytes)))
    parts = [slice(start, start + step) for start in range(0, len(source), step)]
    for _ in on_threads(lambda part: np.copyto(target[part], source[part]), parts, threads):
        pass


@cache
def cupy() -> Any:
    """Return CuPy, or raise an error that says how to install it."""
    try:
        import cupy as found
    except ImportError as error:
        raise MissingExtraError("gpu", "CuPy") from error
    return found


def current_gpu() -> Gpu:
    """Return the current device."""
    xp = cupy()
    try:
        number = int(xp.cuda.Device().id)
    except xp.cuda.runtime.CUDARuntimeError:
        number = -1  # the check of the device says what is wrong
    return _gpu(number)


@cache
def _gpu(_number: int) -> Gpu:
    return Gpu()


def _checked_device(xp: Any) -> Any:
    runtime = xp.cuda.runtime
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        raise BackendError(
            f"CUDA finds no usable GPU ({error}): install an NVIDIA driver that fits CuPy, or {ELSEWHERE}."
        ) from error
    if count == 0:
        raise BackendError(f"this machine has no NVIDIA GPU that CUDA can use: {ELSEWHERE}.")
    device = xp.cuda.Device()
    capability = tuple(int(digit) for digit in (device.compute_capability[:-1], device.compute_capability[-1]))
    if capability < LEAST_CAPABILITY:
        raise BackendError(
            f"the GPU {device.id} has compute capability {capability[0]}.{capability[1]}, but kernelsketch needs "
            f"{LEAST_CAPABILITY[0]}.{LEAST_CAPABILITY[1]} or above: choose another GPU with cupy.cuda.Device, or "
            f"{ELSEWHERE}."
        )
    return device


@cache
def _module(device: int, shared_kib: int, concept: str) -> Any:
    return cupy().RawModule(code=source_of(concept), options=options_for(shared_kib), backend="nvrtc")


@cache
def _kernel(device: int, shared_kib: int, concept: str, name: str, most_shared: int) -> Any:
    kernel = _module(device, shared_kib, concept).get_function(name)
    if most_shared:  # of all launches, whose sizes differ; the limit belongs to the kernel, not to a launch
        kernel.max_dynamic_shared_size_bytes = most_shared - kernel.shared_size_bytes
    return kernel
