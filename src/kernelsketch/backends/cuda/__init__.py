"""The CUDA back end: the same codes and kernels, on an NVIDIA GPU.

::

    device.h       what kernels need besides the arithmetic of native/core
    tiles.h        tiles of pairs of rows, for matrices and for the index
    *.cu           the kernels, one file per concept: gmm, gcws, fourier, codes, linear, descent, index
    _source        the sources as NVRTC gets them
    _device        Gpu: CuPy, compiled kernels, copies, and errors of machines without a usable GPU
    _gmm, ...      the Python that launches the kernels of a concept
    _newton        learns linear models, by steps that _preconditioner makes cheaper
    _descent       learns from streams and with the hinge loss
    _index         searches an index, of which _placed is the copy on the GPU
    backend        CudaBackend, on arrays of CuPy
    host           HostBackend, on NumPy arrays, which go through the GPU block by block

Importing this package imports neither CuPy nor a driver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._rows import cupy_rows, is_cupy, is_torch, torch_of, torch_rows

if TYPE_CHECKING:
    from .._backend import Backend

__all__ = ["cupy_rows", "gpu_backend", "host_backend", "is_cupy", "is_torch", "torch_of", "torch_rows"]


def host_backend(threads: int) -> Backend:
    """Return the back end for NumPy arrays on the current GPU."""
    from ._device import current_gpu
    from .host import HostBackend

    return HostBackend(current_gpu(), threads)


def gpu_backend(place: Any, threads: int) -> Backend:
    """Return the back end for arrays of CuPy on the current GPU."""
    from ._device import current_gpu
    from .backend import CudaBackend

    return CudaBackend(current_gpu(), place, threads)
