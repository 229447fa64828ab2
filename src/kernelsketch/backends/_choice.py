"""Which back end computes: the one where the arrays are, then the one that is forced, then the best.

NumPy arrays go to the compiled core with the best instruction set of the machine, unless ``KERNELSKETCH_BACKEND`` (or
:func:`using`) names another: ``avx512``, ``avx2``, ``baseline`` or ``reference``. Other arrays go to the back end of
the :class:`Place` that owns them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

from .. import _native
from ..exceptions import BackendError, InputTypeError
from ._interface import Backend
from ._rows import Rows
from .cpu import CpuBackend

ENVIRONMENT = "KERNELSKETCH_BACKEND"
BACKENDS = ("avx512", "avx2", "baseline", "reference")


@dataclass(frozen=True)
class Place:
    """Where arrays of another library than NumPy live.

    ``owns`` tells whether an object is one of its arrays or matrices, without importing that library. ``rows`` turns
    such an object into checked rows: it refuses what is not finite, not real or not two-dimensional, and names the
    argument in its messages. ``backend`` makes the back end for a number of threads.
    """

    name: str
    owns: Callable[[Any], bool]
    rows: Callable[[Any, str], Rows]
    backend: Callable[[int], Backend]


_places: list[Place] = []


@contextmanager
def register(place: Place) -> Iterator[Place]:
    """Within the block, arrays that ``place`` owns are computed there."""
    _places.append(place)
    try:
        yield place
    finally:
        _places.remove(place)


def place_of(X: Any) -> Place | None:
    """The place that owns an array, or None for what becomes a NumPy array."""
    for place in _places:
        if place.owns(X):
            return place
    return None


def on_host(array: Any) -> Any:
    """An array of any library as a NumPy array, for files and for results that are small."""
    place = place_of(array)
    return array if place is None else place.backend(1).to_numpy(array)


@cache
def available() -> tuple[str, ...]:
    """Names of the back ends for NumPy arrays that this machine and build have, the best first."""
    return (*_native.supported_isas(), "reference")


_forced: ContextVar[str | None] = ContextVar("kernelsketch_backend", default=None)


def backend_for(*arrays: Any, threads: int = 1) -> Backend:
    """The back end for arrays that live in the same place, all of them NumPy's or all of the same other library."""
    if _places:
        places = {place_of(array) for array in arrays if array is not None}
        if len(places) > 1:
            names = ", ".join(sorted("NumPy" if place is None else place.name for place in places))
            raise InputTypeError(f"arrays of different libraries came together ({names}): convert them to one of them.")
        place = places.pop() if places else None
        if place is not None:
            return place.backend(threads)
    name = _forced.get() or os.environ.get(ENVIRONMENT) or available()[0]
    if name not in BACKENDS:
        raise BackendError(f"{ENVIRONMENT}={name!r} is not one of {', '.join(BACKENDS)}: set one of them, or unset it.")
    if name not in available():
        raise BackendError(
            f"{ENVIRONMENT}={name!r}: this machine or build has only {', '.join(available())}. "
            "Set one of them, or unset the variable to take the best."
        )
    if name == "reference":
        from .reference import ReferenceBackend

        return ReferenceBackend(threads)
    return CpuBackend(name, threads)


@contextmanager
def using(name: str) -> Iterator[Backend]:
    """Within the block, NumPy arrays are computed by the named back end."""
    token = _forced.set(name)
    try:
        yield backend_for()
    finally:
        _forced.reset(token)
