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
from .reference import fourier as reference_fourier
from .reference import gcws as reference_gcws
from .reference import gmm as reference
from .reference import index as reference_index
from .reference import linear as reference_linear
from .reference import pack as reference_pack

Array = NDArray[Any]

ENVIRONMENT = "KERNELSKETCH_ISA"
ISAS = ("avx512", "avx2", "baseline", "reference")


class CsrRows(NamedTuple):
    """Rows in CSR form: indices ascending and distinct within a row, ``indptr`` int64 from 0."""

    indptr: Array
    indices: Array
    data: Array
    n_features: int


class Hashing(NamedTuple):
    """What a sample depends on besides the row: ``center`` (float64, dense rows only), the power and the seed."""

    center: Array | None
    p: float
    seed: int


class Projecting(NamedTuple):
    """What Fourier features depend on besides the row: the paper's gamma, the seed, whether rows get unit norm."""

    gamma: float
    seed: int
    normalize: bool


class Backend(Protocol):
    """Arithmetic on checked arrays. ``ratio`` is one of the reference's MIN_MAX and INTERSECTION."""

    name: str

    def gmm_dense(self, a: Array, b: Array, out: Array, ratio: int, symmetric: bool, threads: int) -> None: ...

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

    def gmm_sparse(self, a: CsrRows, b: CsrRows, out: Array, ratio: int, symmetric: bool, threads: int) -> None: ...

    def gcws_codes(
        self,
        x: Array | CsrRows,
        how: Hashing,
        bits: int,
        t_bits: int,
        codes: Array,
        empty: Array,
        threads: int,
    ) -> None:
        """Codes of each row to ``codes`` (rows, hashes); ``empty`` gets 1 for a row without a nonzero."""
        ...

    def gcws_samples(
        self, x: Array | CsrRows, how: Hashing, slots: Array, t: Array, empty: Array, threads: int
    ) -> None:
        """Full samples (i*, t*) of each row, int64."""
        ...

    def gcws_mixes(self, x: Array | CsrRows, how: Hashing, codes: Array, empty: Array, threads: int) -> None:
        """A byte mixed from each full sample, to ``codes`` (rows, hashes)."""
        ...

    def concatenate(self, slots: Array, t: Array, counts: Array, out: Array, threads: int) -> None: ...

    def pack(self, codes: Array, width: int, packed: Array, threads: int) -> None: ...

    def unpack(self, packed: Array, width: int, codes: Array, threads: int) -> None: ...

    def match_counts(self, a: Array, a_empty: Array, b: Array, b_empty: Array, counts: Array, threads: int) -> None: ...

    def linear_visit(
        self,
        codes: Array,
        empty: Array,
        task: reference_linear.Task,
        visit: reference_linear.Visit,
        w: Array,
        bias: Array,
        threads: int,
    ) -> None:
        """One pass of block dual coordinate descent for each problem."""
        ...

    def linear_decide(
        self, codes: Array, empty: Array, scale: float, w: Array, bias: Array, out: Array, threads: int
    ) -> None:
        """Decision values (rows, problems)."""
        ...

    def linear_accumulate(self, codes: Array, empty: Array, beta: Array, sums: Array, threads: int) -> None: ...

    def fourier(self, x: Array | CsrRows, how: Projecting, out: Array, table_bytes: int, threads: int) -> bool:
        """Fourier features of rows to ``out`` (rows, hashes); more weights than ``table_bytes`` are made in blocks.

        False if a value is NaN or infinite: norms of rows tell, so nobody needs to look before.
        """
        ...

    def index_tables(
        self, codes: Array, flags: Array, band: int, bits: int, rows: Array, starts: Array, threads: int
    ) -> None:
        """Fill the tables of a segment of an index."""
        ...

    def index_norms(self, rows: reference_index.Vectors, threads: int) -> Array:
        """L1 norms of dense or sparse float32 rows."""
        ...

    def index_heavy(self, rows: reference_index.Vectors, mass: float, threads: int) -> Array:
        """Which values of sparse rows are in their heavy part."""
        ...

    def index_search(
        self,
        queries: reference_index.Queries,
        segments: list[reference_index.Segment],
        task: reference_index.Task,
        threads: int,
    ) -> tuple[Array, Array, Array]:
        """Neighbours of queries: (where those of each query begin, ids, similarities)."""
        ...


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

    def gmm_sparse(self, a: CsrRows, b: CsrRows, out: Array, ratio: int, symmetric: bool, threads: int) -> None:
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

    def gcws_codes(
        self,
        x: Array | CsrRows,
        how: Hashing,
        bits: int,
        t_bits: int,
        codes: Array,
        empty: Array,
        threads: int,
    ) -> None:
        rows: list[Any] = [*x, how.p] if isinstance(x, CsrRows) else [x, how.center, how.p]
        hash_rows: Any = _native.gcws_codes
        hash_rows(self.name, *rows, how.seed, bits, t_bits, codes, empty, threads)

    def gcws_samples(
        self, x: Array | CsrRows, how: Hashing, slots: Array, t: Array, empty: Array, threads: int
    ) -> None:
        rows: list[Any] = [*x, how.p] if isinstance(x, CsrRows) else [x, how.center, how.p]
        hash_rows: Any = _native.gcws_samples
        hash_rows(self.name, *rows, how.seed, slots, t, empty, threads)

    def gcws_mixes(self, x: Array | CsrRows, how: Hashing, codes: Array, empty: Array, threads: int) -> None:
        rows: list[Any] = [*x, how.p] if isinstance(x, CsrRows) else [x, how.center, how.p]
        hash_rows: Any = _native.gcws_mixes
        hash_rows(self.name, *rows, how.seed, codes, empty, threads)

    def concatenate(self, slots: Array, t: Array, counts: Array, out: Array, threads: int) -> None:
        _native.concatenate(slots, t, counts, out, threads)

    def pack(self, codes: Array, width: int, packed: Array, threads: int) -> None:
        _native.pack(codes, width, packed, threads)

    def unpack(self, packed: Array, width: int, codes: Array, threads: int) -> None:
        _native.unpack(packed, width, codes, threads)

    def match_counts(self, a: Array, a_empty: Array, b: Array, b_empty: Array, counts: Array, threads: int) -> None:
        _native.match_counts(self.name, a, a_empty, b, b_empty, counts, threads)

    def linear_visit(
        self,
        codes: Array,
        empty: Array,
        task: reference_linear.Task,
        visit: reference_linear.Visit,
        w: Array,
        bias: Array,
        threads: int,
    ) -> None:
        *given, beta, rests, stats = visit
        go: Any = _native.linear_visit
        go(self.name, codes, empty, *task, *given, w, bias, beta, rests, stats, threads)

    def linear_decide(
        self, codes: Array, empty: Array, scale: float, w: Array, bias: Array, out: Array, threads: int
    ) -> None:
        _native.linear_decide(self.name, codes, empty, scale, w, bias, out, threads)

    def linear_accumulate(self, codes: Array, empty: Array, beta: Array, sums: Array, threads: int) -> None:
        _native.linear_accumulate(codes, empty, beta, sums, threads)

    def fourier(self, x: Array | CsrRows, how: Projecting, out: Array, table_bytes: int, threads: int) -> bool:
        rows: list[Any] = [*x] if isinstance(x, CsrRows) else [x]
        project: Any = _native.fourier
        scale = reference_fourier.scale_of(how.gamma)
        return bool(project(self.name, *rows, scale, how.seed, how.normalize, table_bytes, out, threads))

    def index_tables(
        self, codes: Array, flags: Array, band: int, bits: int, rows: Array, starts: Array, threads: int
    ) -> None:
        _native.index_tables(codes, flags, band, bits, rows, starts, threads)

    def index_norms(self, rows: reference_index.Vectors, threads: int) -> Array:
        norms_of: Any = _native.index_norms
        if rows.dense is not None:
            norms = np.empty((len(rows.dense), 1))
            norms_of(self.name, rows.dense, norms, threads)
        else:
            assert rows.indptr is not None
            norms = np.empty((len(rows.indptr) - 1, 1))
            norms_of(self.name, rows.indptr, rows.data, norms, threads)
        return norms[:, 0]

    def index_heavy(self, rows: reference_index.Vectors, mass: float, threads: int) -> Array:
        assert rows.indptr is not None
        assert rows.data is not None
        heavy = np.empty((len(rows.data), 1), np.uint8)
        _native.index_heavy(rows.indptr, rows.data, rows.norms, mass, heavy, threads)
        return heavy[:, 0].astype(bool)

    def index_search(
        self,
        queries: reference_index.Queries,
        segments: list[reference_index.Segment],
        task: reference_index.Task,
        threads: int,
    ) -> tuple[Array, Array, Array]:
        parts = [_native.IndexSegment(*s[:5], _vectors(s.vectors), _postings(s.postings)) for s in segments]
        find: Any = _native.index_search
        codes, empty, vectors, segment, first = queries
        found = find(self.name, codes, empty, _vectors(vectors), segment, first, parts, *task, threads)
        return found[0], found[1], found[2]


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

    def gcws_codes(
        self,
        x: Array | CsrRows,
        how: Hashing,
        bits: int,
        t_bits: int,
        codes: Array,
        empty: Array,
        threads: int,
    ) -> None:
        slots, t = np.empty(codes.shape, np.int64), np.empty(codes.shape, np.int64)
        self.gcws_samples(x, how, slots, t, empty, threads)
        codes[...] = reference_pack.encode(slots, t, bits, t_bits)

    @staticmethod
    def gcws_samples(x: Array | CsrRows, how: Hashing, slots: Array, t: Array, empty: Array, threads: int) -> None:
        for i in range(len(slots)):
            if isinstance(x, CsrRows):
                part = slice(x.indptr[i], x.indptr[i + 1])
                features, values = x.indices[part], x.data[part].astype(np.float64)
            else:
                values = x[i].astype(np.float64) - (0 if how.center is None else how.center)
                features = np.arange(len(values))
            used = values != 0
            features, values = features[used], values[used]
            logs = reference_gcws.log_weights(values, how.p)
            hashes = np.arange(slots.shape[1])
            row_slots = reference_gcws.slots_of(features, values)
            slots[i], t[i] = reference_gcws.sample(row_slots, logs, how.seed, hashes)
            empty[i] = len(values) == 0

    def gcws_mixes(self, x: Array | CsrRows, how: Hashing, codes: Array, empty: Array, threads: int) -> None:
        slots, t = np.empty(codes.shape, np.int64), np.empty(codes.shape, np.int64)
        self.gcws_samples(x, how, slots, t, empty, threads)
        codes[...] = reference_index.mixes(slots, t)

    @staticmethod
    def concatenate(slots: Array, t: Array, counts: Array, out: Array, threads: int) -> None:
        out[...] = reference_gcws.concatenate(slots, t, counts)

    @staticmethod
    def pack(codes: Array, width: int, packed: Array, threads: int) -> None:
        packed[...] = reference_pack.pack(codes, width)

    @staticmethod
    def unpack(packed: Array, width: int, codes: Array, threads: int) -> None:
        codes[...] = reference_pack.unpack(packed, codes.shape[1], width)

    @staticmethod
    def match_counts(a: Array, a_empty: Array, b: Array, b_empty: Array, counts: Array, threads: int) -> None:
        for i in range(len(a)):
            counts[i] = (a[i] == b).sum(axis=1) * (b_empty == 0) * (a_empty[i] == 0)

    @staticmethod
    def linear_visit(
        codes: Array,
        empty: Array,
        task: reference_linear.Task,
        visit: reference_linear.Visit,
        w: Array,
        bias: Array,
        threads: int,
    ) -> None:
        reference_linear.visit(codes, empty, task, visit, w, bias)

    @staticmethod
    def linear_decide(
        codes: Array, empty: Array, scale: float, w: Array, bias: Array, out: Array, threads: int
    ) -> None:
        out[...] = reference_linear.decide(codes, empty, scale, w, bias)

    @staticmethod
    def linear_accumulate(codes: Array, empty: Array, beta: Array, sums: Array, threads: int) -> None:
        reference_linear.accumulate(codes, empty, beta, sums)

    @staticmethod
    def fourier(x: Array | CsrRows, how: Projecting, out: Array, table_bytes: int, threads: int) -> bool:
        scale, hashes = reference_fourier.scale_of(how.gamma), np.arange(out.shape[1])
        if not np.isfinite(x.data if isinstance(x, CsrRows) else x).all():
            return False
        for i in range(len(out)):
            values, features = _row(x, i)
            out[i] = reference_fourier.features_of(values, features, scale, how.seed, hashes, how.normalize)
        return True

    @staticmethod
    def index_tables(
        codes: Array, flags: Array, band: int, bits: int, rows: Array, starts: Array, threads: int
    ) -> None:
        reference_index.fill_tables(codes, flags, band, bits, rows, starts)

    @staticmethod
    def index_norms(rows: reference_index.Vectors, threads: int) -> Array:
        return reference_index.norms(rows)

    @staticmethod
    def index_heavy(rows: reference_index.Vectors, mass: float, threads: int) -> Array:
        parts = [reference_index.heavy(rows, i, mass) for i in range(len(rows.norms))]
        return np.concatenate([np.zeros(0, bool), *parts])

    @staticmethod
    def index_search(
        queries: reference_index.Queries,
        segments: list[reference_index.Segment],
        task: reference_index.Task,
        threads: int,
    ) -> tuple[Array, Array, Array]:
        return reference_index.search(queries, segments, task)


def _vectors(x: reference_index.Vectors | None) -> tuple[Any, ...]:
    """Vectors as native code takes them."""
    if x is None:
        return ()
    if x.indptr is not None:
        return (x.norms, x.indptr, x.indices, x.data, x.n_features)
    return (x.norms, *(part for part in (x.bytes, x.dense) if part is not None))


def _postings(x: reference_index.Postings | None) -> tuple[Any, ...]:
    """Postings as native code takes them."""
    if x is None:
        return ()
    last = int(x.keys[-1]) if len(x.keys) else 0
    return (reference_index.directory_shift(last, len(x.keys)), *x)


def _row(x: Array | CsrRows, i: int) -> tuple[Array, Array]:
    """The nonzeros of a row and their features."""
    if isinstance(x, CsrRows):
        part = slice(x.indptr[i], x.indptr[i + 1])
        values, features = x.data[part], x.indices[part]
    else:
        values, features = x[i], np.arange(x.shape[1])
    used = values != 0
    return values[used], features[used]


def supported() -> list[str]:
    """Names of the instruction sets to be had here, best first, then ``reference``."""
    return [*_native.supported_isas(), "reference"]


_forced: ContextVar[str | None] = ContextVar("kernelsketch_isa", default=None)


def backend() -> Backend:
    """The back end in force."""
    name = _forced.get() or os.environ.get(ENVIRONMENT) or supported()[0]
    if name not in ISAS:
        raise BackendError(f"{ENVIRONMENT}={name!r} is not one of {', '.join(ISAS)}: set one of them, or unset it.")
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
