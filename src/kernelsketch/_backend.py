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
from .reference import libsvm as reference_libsvm
from .reference import linear as reference_linear
from .reference import pack as reference_pack
from .reference import text as reference_text

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


class CsvTaken(NamedTuple):
    """How far native code read a text of CSV; lines are rows and blank lines."""

    rows: int
    lines: int
    bytes: int


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

    def libsvm(self, text: Array, base: int, dtype: Any, threads: int) -> reference_libsvm.Parsed:
        """Rows of LIBSVM text: bytes (uint8) of whole lines."""
        ...

    def csv(self, text: Array, delimiter: str, label: int | None, X: Array, y: Array | None, threads: int) -> CsvTaken:
        """Rows of CSV to ``X`` and ``y``, at most as many as they have, up to the first line that is not ordinary.

        ``text`` is bytes (uint8) of whole lines; ``y`` gets float64 numbers or, if it has two columns, places of texts.
        """
        ...

    def distinct_texts(self, text: Array, at: Array) -> tuple[Array, Array]:
        """Of texts from ``at[i, 0]`` to ``at[i, 1]``: places of those that differ, and which of them the i-th is."""
        ...

    def text_numbers(self, values: Array) -> reference_text.Texts:
        """Numbers as text: float32, float64, int64 or uint64."""
        ...

    def text_lines(self, heads: reference_text.Texts, qid: Array | None, mark: str, rows: CsrRows, base: int) -> Array:
        """Bytes (uint8) of a line a row; indices are int64, data as for ``text_numbers``."""
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
        left, right = _native.DenseRows(a), _native.DenseRows(b)
        _native.gmm_dense(self.name, left, right, out, ratio, symmetric, threads)

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
        left, right = _native.ByteRows(a, a_norms), _native.ByteRows(b, b_norms)
        _native.gmm_bytes(self.name, left, right, out, ratio, symmetric, threads)

    def gmm_sparse(self, a: CsrRows, b: CsrRows, out: Array, ratio: int, symmetric: bool, threads: int) -> None:
        index = np.result_type(a.indices, b.indices)
        left, right = (
            _native.CsrRows(x.indptr, x.indices.astype(index, copy=False), x.data, x.n_features) for x in (a, b)
        )
        _native.gmm_sparse(self.name, left, right, out, ratio, symmetric, threads)

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
        params = _native.GcwsParams(how.p, how.seed, bits, t_bits)
        _native.gcws_codes(self.name, _rows(x, how.center), params, codes, empty, threads)

    def gcws_samples(
        self, x: Array | CsrRows, how: Hashing, slots: Array, t: Array, empty: Array, threads: int
    ) -> None:
        params = _native.GcwsParams(how.p, how.seed)
        _native.gcws_samples(self.name, _rows(x, how.center), params, slots, t, empty, threads)

    def gcws_mixes(self, x: Array | CsrRows, how: Hashing, codes: Array, empty: Array, threads: int) -> None:
        params = _native.GcwsParams(how.p, how.seed)
        _native.gcws_fingerprints(self.name, _rows(x, how.center), params, codes, empty, threads)

    def concatenate(self, slots: Array, t: Array, counts: Array, out: Array, threads: int) -> None:
        _native.concatenate(slots, t, counts, out, threads)

    def pack(self, codes: Array, width: int, packed: Array, threads: int) -> None:
        _native.pack(codes, width, packed, threads)

    def unpack(self, packed: Array, width: int, codes: Array, threads: int) -> None:
        _native.unpack(packed, width, codes, threads)

    def match_counts(self, a: Array, a_empty: Array, b: Array, b_empty: Array, counts: Array, threads: int) -> None:
        left, right = _native.CodeRows(a, a_empty), _native.CodeRows(b, b_empty)
        _native.match_counts(self.name, left, right, counts, threads)

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
        arrays = _native.LinearPass(
            order=visit.order,
            labels=visit.labels,
            targets=visit.targets,
            cost=visit.cost,
            positive=visit.positive,
            factors=visit.factors,
            threshold=visit.threshold,
            running=visit.running,
            beta=visit.beta,
            shrunk=visit.rests,
            stats=visit.stats,
        )
        objective = _native.LinearObjective(task.loss, task.scale, task.epsilon)
        _native.linear_pass(self.name, _native.CodeRows(codes, empty), objective, arrays, w, bias, threads)

    def linear_decide(
        self, codes: Array, empty: Array, scale: float, w: Array, bias: Array, out: Array, threads: int
    ) -> None:
        _native.linear_decide(self.name, _native.CodeRows(codes, empty), scale, w, bias, out, threads)

    def linear_accumulate(self, codes: Array, empty: Array, beta: Array, sums: Array, threads: int) -> None:
        _native.linear_accumulate(_native.CodeRows(codes, empty), beta, sums, threads)

    def fourier(self, x: Array | CsrRows, how: Projecting, out: Array, table_bytes: int, threads: int) -> bool:
        scale = reference_fourier.scale_of(how.gamma)
        params = _native.FourierParams(scale, how.seed, how.normalize, table_bytes)
        return _native.fourier(self.name, _rows(x), params, out, threads)

    def libsvm(self, text: Array, base: int, dtype: Any, threads: int) -> reference_libsvm.Parsed:
        lines, colons = _native.libsvm_size(text)
        labels, label_at, qid = np.empty(lines), np.empty((lines, 2), np.int64), np.empty(lines, np.int64)
        indptr, ids, values = np.empty(lines + 1, np.int64), np.empty(colons, np.int64), np.empty(colons, dtype)
        parse: Any = _native.libsvm_parse
        rows, pairs, largest, first_text, any_qid, error, at, length = parse(
            text, base, labels, label_at, qid, indptr, ids, values, threads
        )
        return reference_libsvm.Parsed(
            labels[:rows],
            label_at[:rows],
            qid[:rows] if any_qid else None,
            indptr[: rows + 1],
            ids[:pairs],
            values[:pairs],
            first_text,
            largest,
            reference_libsvm.Fault(reference_libsvm.ERRORS[error], at, length) if error else None,
        )

    def csv(self, text: Array, delimiter: str, label: int | None, X: Array, y: Array | None, threads: int) -> CsvTaken:
        if not (delimiter.isascii() and _native.csv_delimiter(delimiter)):
            return CsvTaken(0, 0, 0)
        labels = [None, None] if y is None else [y, None] if y.ndim == 1 else [None, y]
        parse: Any = _native.csv_parse
        return CsvTaken(*parse(text, delimiter, -1 if label is None else label, X, *labels, threads))

    def distinct_texts(self, text: Array, at: Array) -> tuple[Array, Array]:
        numbers, first = np.empty(len(at), np.int64), np.empty(len(at), np.int64)
        count = _native.distinct_texts(text, at, numbers, first)
        return at[first[:count]], numbers

    def text_numbers(self, values: Array) -> reference_text.Texts:
        out, ends = np.empty(len(values) * _native.DECIMAL_SIZE, np.uint8), np.empty(len(values) + 1, np.int64)
        write: Any = _native.text_numbers
        write(values, out, ends)
        return reference_text.Texts(out[: ends[-1]], ends)

    def text_lines(self, heads: reference_text.Texts, qid: Array | None, mark: str, rows: CsrRows, base: int) -> Array:
        bound = _native.text_bound(len(rows.indptr) - 1, len(rows.data), len(heads.text), len(mark))
        out = np.empty(bound, np.uint8)
        write: Any = _native.text_lines
        size = write(*heads, qid, mark, *rows[:3], base, out)
        return out[:size]

    def index_tables(
        self, codes: Array, flags: Array, band: int, bits: int, rows: Array, starts: Array, threads: int
    ) -> None:
        _native.index_tables(codes, flags, band, bits, rows, starts, threads)

    def index_norms(self, rows: reference_index.Vectors, threads: int) -> Array:
        if rows.dense is not None:
            norms = np.empty(len(rows.dense))
            _native.index_norms(self.name, _native.DenseRows(rows.dense), norms, threads)
        else:
            assert rows.indptr is not None
            norms = np.empty(len(rows.indptr) - 1)
            _native.index_norms(self.name, _index_csr(rows), norms, threads)
        return norms

    def index_heavy(self, rows: reference_index.Vectors, mass: float, threads: int) -> Array:
        assert rows.data is not None
        heavy = np.empty(len(rows.data), np.uint8)
        _native.index_heavy(_index_csr(rows), rows.norms, mass, heavy, threads)
        return heavy.astype(bool)

    def index_search(
        self,
        queries: reference_index.Queries,
        segments: list[reference_index.Segment],
        task: reference_index.Task,
        threads: int,
    ) -> tuple[Array, Array, Array]:
        parts = [_native.IndexSegment(*s[:5], _vectors(s.vectors), _postings(s.postings)) for s in segments]
        codes, empty, vectors, segment, first = queries
        asked = _native.IndexQueries(codes, empty, _vectors(vectors), segment, first)
        params = _native.SearchParams(
            hashes_per_table=task.band,
            n_tables=task.tables,
            n_rerank=task.depth,
            n_neighbors=task.most,
            min_similarity=task.least,
            exact=task.exact,
            later_only=task.later,
            heavy_fraction=task.mass,
        )
        return _native.index_search(self.name, asked, parts, params, threads)


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
    def libsvm(text: Array, base: int, dtype: Any, threads: int) -> reference_libsvm.Parsed:
        return reference_libsvm.parse(text.tobytes(), base, dtype)

    @staticmethod
    def csv(text: Array, delimiter: str, label: int | None, X: Array, y: Array | None, threads: int) -> CsvTaken:
        return CsvTaken(0, 0, 0)  # no line is ordinary: formats/_cells.py reads them all

    @staticmethod
    def distinct_texts(text: Array, at: Array) -> tuple[Array, Array]:
        known: dict[bytes, int] = {}
        numbers = [known.setdefault(text[begin:end].tobytes(), len(known)) for begin, end in at.tolist()]
        return at[np.unique(numbers, return_index=True)[1]], np.array(numbers, np.int64)

    @staticmethod
    def text_numbers(values: Array) -> reference_text.Texts:
        return reference_text.Texts.of(reference_text.numbers(values))

    @staticmethod
    def text_lines(heads: reference_text.Texts, qid: Array | None, mark: str, rows: CsrRows, base: int) -> Array:
        return reference_text.lines(heads, qid, mark, *rows[:3], base)

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


def _rows(x: Array | CsrRows, center: Array | None = None) -> _native.Rows:
    """Rows as native code takes them."""
    return _native.CsrRows(*x) if isinstance(x, CsrRows) else _native.DenseRows(x, center)


def _index_csr(x: reference_index.Vectors) -> _native.CsrRows:
    """Sparse vectors of an index as rows."""
    assert x.indptr is not None
    assert x.indices is not None
    assert x.data is not None
    return _native.CsrRows(x.indptr, x.indices, x.data, x.n_features)


def _vectors(x: reference_index.Vectors | None) -> _native.IndexVectors | None:
    """Vectors as native code takes them."""
    if x is None:
        return None
    return _native.IndexVectors(x.norms, x.bytes, x.dense, x.indptr, x.indices, x.data, x.n_features)


def _postings(x: reference_index.Postings | None) -> _native.IndexPostings | None:
    """Postings as native code takes them."""
    if x is None:
        return None
    last = int(x.keys[-1]) if len(x.keys) else 0
    return _native.IndexPostings(reference_index.directory_shift(last, len(x.keys)), *x)


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
