"""The values of rows as the kernels of weighted sampling take them, and what is wanted of their samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._interface import GcwsParams
from .._rows import CsrRows, Rows
from ._device import REALS, Gpu

CODES = {1: 0, 2: 1, 4: 2}  # of gcws.cu and gcws_bounds.cu, by the bytes of a code
SAMPLES, FINGERPRINTS = 3, 4
DIRECT_SLOTS = 1 << 24  # up to this number of slots keys are slots; above it the slots that occur are numbered


class Wanted(NamedTuple):
    """Where the results of a block of rows go, and what they are."""

    seed: int
    bits: int
    t_bits: int
    what: int
    out: Any
    t: Any = None

    def of_rows(self, part: slice) -> Wanted:
        return self._replace(out=self.out[part], t=None if self.t is None else self.t[part])


class DenseValues(NamedTuple):
    """Dense rows, whose features are next to each other."""

    x: Any
    center: Any
    p: float

    @property
    def n(self) -> int:
        return int(self.x.shape[0])

    @property
    def d(self) -> int:
        return int(self.x.shape[1])

    @property
    def values_per_row(self) -> float:
        return self.d

    @property
    def name(self) -> str:
        return REALS[np.dtype(self.x.dtype)]

    @property
    def arguments(self) -> tuple[Any, ...]:
        return (self.x, self.n, self.d, self.x.strides[0] // self.x.dtype.itemsize, self.center, self.p)


class SparseValues(NamedTuple):
    """The values of sparse rows that are not 0. Keys ascend with slots, which ``slot_of`` has unless they are equal."""

    starts: Any
    keys: Any
    data: Any
    slot_of: Any
    size: int  # above all keys
    n_features: int
    p: float

    @property
    def n(self) -> int:
        return len(self.starts) - 1

    @property
    def values_per_row(self) -> float:
        return len(self.data) / self.n

    @property
    def name(self) -> str:
        return REALS[np.dtype(self.data.dtype)]

    @property
    def arguments(self) -> tuple[Any, ...]:
        return (self.starts, self.keys, self.data, self.n, self.p)


Values = DenseValues | SparseValues


def values_of(gpu: Gpu, rows: Rows, params: GcwsParams) -> Values:
    xp, p = gpu.xp, float(params.p)
    if isinstance(rows, CsrRows):
        return _sparse(xp, rows, p)
    x, dtype = rows.values, np.dtype(rows.dtype)
    if not (x.shape[1] == 1 or x.strides[1] == dtype.itemsize) or x.strides[0] % dtype.itemsize or x.strides[0] < 0:
        x = xp.ascontiguousarray(x)
    center = None if params.center is None else xp.ascontiguousarray(xp.asarray(params.center, np.float64))
    return DenseValues(x, center, p)


def _sparse(xp: Any, rows: CsrRows, p: float) -> SparseValues:
    starts, indices, data = rows.indptr, rows.indices, xp.ascontiguousarray(rows.data)
    if not bool((data != 0).all()):
        kept = data != 0
        before = xp.zeros(len(data) + 1, np.int64)
        before[1:] = xp.cumsum(kept)
        starts, indices, data = before[starts], indices[kept], data[kept]
    starts = xp.ascontiguousarray(starts)
    slots = 2 * indices.astype(np.int64) + (data < 0)
    if 2 * rows.n_features <= DIRECT_SLOTS:
        return SparseValues(starts, slots.astype(np.int32), data, None, 2 * rows.n_features, rows.n_features, p)
    slot_of, numbers = xp.unique(slots, return_inverse=True)
    keys = numbers.reshape(-1).astype(np.int32)
    return SparseValues(starts, keys, data, slot_of, max(1, len(slot_of)), rows.n_features, p)
