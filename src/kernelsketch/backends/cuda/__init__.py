"""The CUDA back end: the same codes and kernels, on an NVIDIA GPU.

::

    arithmetic.h   arithmetic of the reference, bit for bit, for NVRTC and for a C++ compiler
    device.h       what kernels need of the card besides
    tiles.h        tiles of pairs of rows, for matrices and for the index
    *.cu           the kernels, one file per concept: gmm, gcws, fourier, codes, linear, descent, index
    _source        the sources as NVRTC gets them
    _device        Card: CuPy, compiled kernels, copies, and errors of machines without a usable GPU
    _gmm, ...      the Python that launches the kernels of a concept
    _newton        learns linear models, by steps that _preconditioner makes cheaper
    _descent       learns from streams and with the hinge loss
    _index         searches an index, of which _placed is the copy on the card
    backend        CudaBackend, on arrays of CuPy
    host           HostBackend, on NumPy arrays, which go through the card block by block

Importing this package imports neither CuPy nor a driver.
"""

from __future__ import annotations

from typing import Any

from ._rows import cupy_rows, is_cupy, is_torch, torch_of, torch_rows

__all__ = ["card_backend", "cupy_rows", "host_backend", "is_cupy", "is_torch", "torch_of", "torch_rows"]


def host_backend(threads: int) -> Any:
    """Return the back end for NumPy arrays on the current GPU."""
    from ._device import the_card
    from .host import HostBackend

    return HostBackend(the_card(), threads)


def card_backend(place: Any, threads: int) -> Any:
    """Return the back end for arrays of CuPy on the current GPU."""
    from ._device import the_card
    from .backend import CudaBackend

    return CudaBackend(the_card(), place, threads)
