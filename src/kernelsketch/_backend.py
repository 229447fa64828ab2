"""The only place that chooses how arithmetic is done: native code of some instruction set, or the reference.

The best instruction set that the machine runs is taken, unless the environment variable
``KERNELSKETCH_ISA`` names one: ``avx512``, ``avx2``, ``baseline`` or ``reference``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from . import _native
from .exceptions import BackendError
from .reference import gmm as reference

Array = NDArray[Any]

ENVIRONMENT = "KERNELSKETCH_ISA"
ISAS = ("avx512", "avx2", "baseline", "reference")


class CsrRows(NamedTuple):
    """Rows in CSR form: indices ascending and distinct within a row, ``indptr`` int64 from 0."""

    indptr: Array
    indices: Array
    data: Array
    n_features: int


class Backend(Protocol):
    """Arithmetic on checked arrays. ``ratio`` is one of the reference's MIN_MAX and INTERSECTION."""

    name: str

    def gmm_dense(
        self, a: Array, b: Array, out: Array, ratio: int, symmetric: bool, threads: int
    ) -> None: ...

    def gmm_bytes(
        self,
        a: Array,
        b: Array,
        a_norms: Array,
        b_norms: Array,
        out: Array,
        ratio: int,
        symmetric: bool,
        threads: int,
    ) -> None: ...

    def gmm_sparse(
        self, a: CsrRows, b: CsrRows, out: Array, ratio: int, symmetric: bool, threads: int
    ) -> None: ...


class Native:
    """The compiled core, on one instruction set."""

    def __init__(self, name: str) -> None:
        self.name = name

    def gmm_dense(self, a: Array, b: Array, out: Array, ratio: int, symmetric: bool, threads: int) -> None:
        _native.gmm_dense(self.name, a, b, out, ratio, symmetric, threads)

    def gmm_bytes(
        self,
        a: Array,
        b: Array,
        a_norms: Array,
        b_norms: Array,
        out: Array,
        ratio: int,
        symmetric: bool,
        threads: int,
    ) -> None:
        _native.gmm_bytes(self.name, a, b, a_norms, b_norms, out, ratio, symmetric, threads)

    def gmm_sparse(
        self, a: CsrRows, b: CsrRows, out: Array, ratio: int, symmetric: bool, threads: int
    ) -> None:
        index = np.result_type(a.indices, b.indices)
        _native.gmm_sparse(
            self.name,
            a.indptr,
            a.indices.astype(index, copy=False),
            a.data,
            b.indptr,
            b.indices.astype(index, copy=False),
            b.data,
            a.n_features,
            out,
            ratio,
            symmetric,
            threads,
        )


class Reference:
    """The specification in NumPy."""

    name = "reference"
    gmm_dense = staticmethod(reference.gmm_dense)
    gmm_bytes = staticmethod(reference.gmm_bytes)

    @staticmethod
    def gmm_sparse(a: CsrRows, b: CsrRows, out: Array, ratio: int, symmetric: bool, threads: int) -> None:
        # Only features that occur: a vocabulary of 2^62 is no reason for a matrix of that width.
        features = np.unique(np.concatenate([a.indices, b.indices]))
        dense = []
        for x in (a, b):
            rows = np.zeros((len(x.indptr) - 1, len(features)), x.data.dtype)
            row = np.repeat(np.arange(len(rows)), np.diff(x.indptr))
            rows[row, np.searchsorted(features, x.indices)] = x.data
            dense.append(rows)
        reference.gmm_sparse(dense[0], dense[1], out, ratio, symmetric, threads)


def supported() -> list[str]:
    """Names of the instruction sets to be had here, best first, then ``reference``."""
    return [*_native.supported_isas(), "reference"]


_forced: ContextVar[str | None] = ContextVar("kernelsketch_isa", default=None)


def backend() -> Backend:
    """The back end in force."""
    name = _forced.get() or os.environ.get(ENVIRONMENT) or supported()[0]
    if name not in ISAS:
        raise BackendError(
            f"{ENVIRONMENT}={name!r} is not one of {', '.join(ISAS)}: set one of them, or unset it."
        )
    if name not in supported():
        raise BackendError(
            f"{ENVIRONMENT}={name!r}: this machine or build has only {', '.join(supported())}. "
            "Set one of them, or unset the variable to take the best."
        )
    return Reference() if name == "reference" else Native(name)


@contextmanager
def using(name: str) -> Iterator[Backend]:
    """Within the block, calculate on the named instruction set."""
    token = _forced.set(name)
    try:
        yield backend()
    finally:
        _forced.reset(token)
