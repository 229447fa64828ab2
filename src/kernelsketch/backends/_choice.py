"""The choice of a back end: first by the memory of the arrays, then by a forced name, then the best one.

The docstring of the package has the rules.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from .. import _native
from ..exceptions import BackendError, InputTypeError
from . import cuda
from ._backend import Backend, Processor
from ._rows import CsrRows, DenseRows, Rows
from .cpu import CpuBackend

ENVIRONMENT = "KERNELSKETCH_BACKEND"
BACKENDS = ("avx512", "avx2", "baseline", "reference", "cuda")


@dataclass(frozen=True)
class Place:
    """The memory of an array library other than NumPy, such as a GPU, and the back end that computes there.

    ``owns`` returns whether an object is an array or a matrix of this library. It must not import the library. ``rows``
    checks such an object and returns it as rows: it refuses values that are not finite or not real and shapes that are
    not two-dimensional, and its messages name the argument. ``backend`` returns the back end for a number of threads.
    ``give`` turns results into arrays of the library, if the back end computes with those of another one.
    """

    name: str
    owns: Callable[[Any], bool]
    rows: Callable[[Any, str], Rows]
    backend: Callable[[int], Backend]
    give: Callable[[Any], Any] | None = None


CUPY: Place = Place("CuPy", cuda.is_cupy, cuda.cupy_rows, lambda threads: cuda.gpu_backend(CUPY, threads))
TORCH = Place("PyTorch", cuda.is_torch, cuda.torch_rows, CUPY.backend, cuda.torch_of)
_places = [CUPY, TORCH]


def place_of(X: Any) -> Place | None:
    """Return the place that owns an array, or None for everything that becomes a NumPy array."""
    return None if isinstance(X, np.ndarray) else next((place for place in _places if place.owns(X)), None)


def in_library_of(X: Any, result: Any) -> Any:
    """Return a result as an array of the library of the user's X."""
    place = place_of(X)
    return result if place is None or place.give is None else place.give(result)


def on_host(array: Any) -> Any:
    """Return an array of any library as a NumPy array, for files and small results."""
    place = place_of(array)
    return array if place is None else place.backend(1).to_numpy(array)


def rows_on_host(rows: Rows) -> Rows:
    """Return rows of any library as rows in main memory."""
    if place_of(rows.arrays[-1]) is None:
        return rows
    if isinstance(rows, CsrRows):
        return CsrRows(on_host(rows.indptr), on_host(rows.indices), on_host(rows.data), rows.n_features)
    return DenseRows(on_host(rows.values))


@cache
def available() -> tuple[str, ...]:
    """Return the names of the back ends for NumPy arrays on this machine and in this build, the best first."""
    return (*_native.supported_isas(), "reference")


_forced: ContextVar[str | None] = ContextVar("kernelsketch_backend", default=None)


def backend_for(*arrays: Any, threads: int = 1) -> Backend:
    """Return the back end for some arrays, which must all belong to the same library."""
    place = _place_of_all(arrays)
    if place is not None:
        return place.backend(threads)
    name = _forced.get() or os.environ.get(ENVIRONMENT)
    # The current GPU can change, so its back end is not kept.
    return cuda.host_backend(threads) if name == "cuda" else _processor(name, threads)


def processor_for(*arrays: Any, work: str = "this operation", threads: int = 1) -> Processor:
    """Return the back end that computes on the processor, for what no GPU does. It takes NumPy arrays only.

    ``work`` says what is refused to other arrays, in the words of an error message.
    """
    place = _place_of_all(arrays)
    if place is not None:
        raise BackendError(
            f"{work} runs on the processor only, and takes NumPy arrays and SciPy matrices: copy the {place.name} "
            "arrays to main memory, for example by array.get() in CuPy or tensor.cpu().numpy() in PyTorch."
        )
    name = _forced.get() or os.environ.get(ENVIRONMENT)
    return _processor(None if name == "cuda" else name, threads)


def _place_of_all(arrays: tuple[Any, ...]) -> Place | None:
    places = {place_of(array) for array in arrays if array is not None}
    if len(places) > 1:
        names = ", ".join(sorted("NumPy" if place is None else place.name for place in places))
        raise InputTypeError(f"the arrays belong to different libraries ({names}): convert them to one library.")
    return places.pop() if places else None


@cache
def _processor(name: str | None, threads: int) -> Processor:
    """Return the processor's back end of a name; None is the best one. It has no state, so each is made once."""
    name = name or available()[0]
    if name not in BACKENDS:
        raise BackendError(
            f"{_chosen_by(name)} is not one of {', '.join(BACKENDS)}: choose one of them, or none to use the best one."
        )
    if name not in available():
        raise BackendError(
            f"{_chosen_by(name)}: this machine or build has only {', '.join(available())}. Choose one of these, or "
            "none to use the best one."
        )
    if name == "reference":
        from .reference import ReferenceBackend

        return ReferenceBackend(threads)
    return CpuBackend(name, threads)


def _chosen_by(name: str) -> str:
    """Return what the user wrote to choose a back end."""
    return f"{ENVIRONMENT}={name!r}" if _forced.get() is None else f"use_backend({name!r})"


@contextmanager
def use_backend(name: str) -> Iterator[Backend]:
    """Choose the back end for NumPy arrays within a ``with`` block.

    The choice changes no code and no kernel value. Arrays of CuPy and tensors of PyTorch on a GPU are always computed
    there. Other threads and processes, such as those of a pool, do not follow the choice of a ``with`` block. The
    environment variable ``KERNELSKETCH_BACKEND`` makes the same choice for a whole process and those that it starts.

    Parameters
    ----------
    name : {"cuda", "avx512", "avx2", "baseline", "reference"}
        ``"cuda"`` is an NVIDIA GPU; rows go through its memory block by block. It needs CuPy, as
        ``pip install 'kernelsketch[gpu]'`` installs it. The next three are instruction sets of the processor, of which
        the best is the default. ``"reference"`` is the specification in NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelsketch import gmm_kernel, use_backend
    >>> X = np.array([[1.0, 2.0], [3.0, 1.0]])
    >>> with use_backend("baseline"):
    ...     print(gmm_kernel(X))
    [[1.  0.4]
     [0.4 1. ]]
    """
    token = _forced.set(name)
    try:
        yield backend_for()
    finally:
        _forced.reset(token)
