"""CpuBackend: the compiled core on NumPy arrays, with one instruction set and a number of threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import _native
from .._array import Array, code_dtype
from .._validation import FLOATS
from ._backend import Processor
from ._interface import ByteRows, FourierParams, GcwsParams, Measure, Ratio
from ._interface_index import Graph, Postings, Queries, SearchParams, Segment, Vectors, directory_shift
from ._interface_learning import LINEAR_STATS, NEWTON_STATS, LinearObjective, LinearPass, NewtonStep
from ._interface_processor import (
    GrownTrees,
    Growth,
    GrowthRows,
    ReadyModel,
    ReadyTable,
    RowColumn,
    ShingleParams,
    TableRows,
    TreeArrays,
)
from ._numpy import NumpyArrays, matrix_for
from ._rows import CsrRows, DenseRows, Rows

_NUMBERS = frozenset(np.dtype(code).type for code in "efdbhilqBHILQ")  # whose values are those of a float or an integer
CACHE_LINE = 64
INDICES = (np.dtype(np.int32), np.dtype(np.int64))


class CpuBackend(NumpyArrays, Processor):
    """Compute by native code with one instruction set and a number of threads. Results depend on neither."""

    newton = "steps"

    def __init__(self, name: str, threads: int = 1) -> None:
        self.name, self.threads = name, threads

    # Values.

    def measure(self, rows: Rows) -> Measure:
        if rows.dtype not in FLOATS or not rows.contiguous:
            return super().measure(rows)
        sizes = np.empty(len(rows))
        return Measure(sizes, *_native.measure(self.name, _rows(rows), sizes, self.threads))

    def to_bytes(self, values: Array, offset: int, width: int) -> ByteRows:
        if values.dtype not in FLOATS or not DenseRows(values).contiguous:
            return super().to_bytes(values, offset, width)
        found = ByteRows(np.empty((len(values), width), np.uint8), np.empty(len(values)))
        _native.to_bytes(self.name, _native.DenseRows(values), offset, *found, self.threads)
        return found

    def is_canonical(self, indptr: Array, indices: Array, n_features: int) -> bool:
        sound = indptr.dtype in INDICES and indices.dtype in INDICES and indices.flags.c_contiguous
        return sound and _native.is_canonical(_dense(indptr), indices, n_features, self.threads)

    # Kernels.

    def gmm(self, a: Any, b: Any, ratio: Ratio, *, symmetric: bool = False, out: Array | None = None) -> Array:
        compute: Any
        sides: tuple[Any, Any]
        if isinstance(a, CsrRows):
            index = np.result_type(a.indices, b.indices)
            compute, sides = _native.gmm_sparse, (_csr(a, index), _csr(b, index))
        elif isinstance(a, ByteRows):
            compute, sides = _native.gmm_bytes, (_native.ByteRows(*a), _native.ByteRows(*b))
        else:
            compute, sides = _native.gmm_dense, (_native.DenseRows(_dense(a)), _native.DenseRows(_dense(b)))
        out = matrix_for(a, b, out)
        compute(self.name, *sides, out, int(ratio), symmetric, self.threads)
        return out

    # Hashes.

    def gcws_codes(self, rows: Rows, params: GcwsParams, bits: int, t_bits: int) -> tuple[Array, Array]:
        codes = np.empty((len(rows), params.n_components), code_dtype(bits + t_bits))
        return codes, self._hash(_native.gcws_codes, rows, params, codes, bits=(bits, t_bits))

    def gcws_samples(self, rows: Rows, params: GcwsParams) -> tuple[Array, Array, Array]:
        slots, t = (np.empty((len(rows), params.n_components), np.int64) for _ in range(2))
        return slots, t, self._hash(_native.gcws_samples, rows, params, slots, t)

    def gcws_fingerprints(self, rows: Rows, params: GcwsParams) -> tuple[Array, Array]:
        codes = np.empty((len(rows), params.n_components), np.uint8)
        return codes, self._hash(_native.gcws_fingerprints, rows, params, codes)

    def _hash(
        self, function: Callable[..., None], rows: Rows, params: GcwsParams, *out: Array, bits: tuple[int, ...] = ()
    ) -> Array:
        """Write hashes to ``out``, and return the flags of empty rows."""
        empty, how = np.empty(len(rows), np.uint8), _native.GcwsParams(params.p, params.seed, *bits)
        function(self.name, _rows(rows, params.center), how, *out, empty, self.threads)
        return empty.view(bool)

    def concatenate(self, slots: Array, t: Array, counts: Array) -> Array:
        joined = np.empty((len(slots), len(counts)), np.int64)
        _native.concatenate(_dense(slots), _dense(t), counts, joined, self.threads)
        return joined

    def pack(self, codes: Array, width: int) -> Array:
        packed = np.empty((len(codes), -(-codes.shape[1] * width // 8)), np.uint8)
        _native.pack(_dense(codes), width, packed, self.threads)
        return packed

    def unpack(self, packed: Array, width: int, n_components: int) -> Array:
        codes: Array = np.empty((len(packed), n_components), code_dtype(width))
        _native.unpack(_dense(packed), width, codes, self.threads)
        return codes

    def used_codes(self, codes: Array, width: int) -> Array:
        used = np.zeros(1 << width, np.uint8)
        threads = self.threads if width <= 16 else 1  # each thread has flags of its own
        _native.mark_used(_dense(codes), used, threads)
        return used.view(bool)

    def renumber(self, codes: Array, number_of: Array, *, out: Array | None = None) -> tuple[Array, int]:
        out = self.empty(codes.shape, number_of.dtype) if out is None else out
        return out, _native.renumber(_dense(codes), number_of, out, self.threads)

    def match_counts(self, a: Array, a_empty: Array, b: Array, b_empty: Array) -> Array:
        counts = np.empty((len(a), len(b)), np.int32)
        left, right = _codes(a, a_empty), _codes(b, b_empty)
        _native.match_counts(self.name, left, right, counts, self.threads)
        return counts

    # Fourier features.

    def fourier(self, rows: Rows, params: FourierParams, table_bytes: int, *, out: Array | None = None) -> Array | None:
        out = self.empty((len(rows), params.n_components), rows.dtype) if out is None else out
        scale = math.sqrt(params.gamma) / (2 * math.pi)  # converts rows of unit norm to turns
        how = _native.FourierParams(scale, params.seed, params.normalize, table_bytes)
        return out if _native.fourier(self.name, _rows(rows), how, out, self.threads) else None

    # Learning on codes.

    def linear_pass(self, codes: Array, empty: Array, objective: LinearObjective, state: LinearPass) -> Array:
        stats = np.zeros((len(state.positive), LINEAR_STATS))
        arrays = _native.LinearPass(
            _targets(state), state.order, state.threshold, state.running, state.sweeps, state.beta, state.shrunk, stats
        )
        how = _native.LinearObjective(*objective)
        _native.linear_pass(self.name, _codes(codes, empty), how, arrays, state.w, state.bias, self.threads)
        return stats

    def newton_step(self, codes: Array, empty: Array, objective: LinearObjective, state: NewtonStep) -> Array:
        stats = np.zeros((len(state.positive), NEWTON_STATS))
        arrays = _native.NewtonStep(
            targets=_targets(state),
            symbols=_native.Symbols(*state.symbols),
            running=state.running,
            fresh=state.fresh,
            most=state.most,
            tol=state.tol,
            sample=state.sample,
            beta=state.beta,
            f=state.f,
            stats=stats,
        )
        how = _native.LinearObjective(*objective)
        _native.newton_step(self.name, _codes(codes, empty), how, arrays, state.w, state.bias, self.threads)
        return stats

    def make_symbols(
        self, codes: Array, empty: Array, together: int, most: int, out: Array | None = None, mapped: bool = False
    ) -> tuple[Array, Array, Array] | None:
        groups = -(-codes.shape[1] // together)
        out, counts = np.empty((len(codes), groups), np.uint16) if out is None else out, np.zeros(groups, np.int64)
        first = np.zeros((groups, most), np.int32)
        fits = _native.make_symbols(_codes(codes, empty), together, out, counts, first, self.threads, mapped)
        return (out, counts, first) if fits else None

    def linear_decide(self, codes: Array, empty: Array, scale: float, w: Array, bias: Array) -> Array:
        out = np.empty((len(codes), len(w)), w.dtype)
        _native.linear_decide(self.name, _codes(codes, empty), scale, w, bias, out, self.threads)
        return out

    def linear_accumulate(self, codes: Array, empty: Array, beta: Array, sums: Array) -> None:
        _native.linear_accumulate(_codes(codes, empty), beta, sums, self.threads)

    # Serving.

    def predictor(self, model: ReadyModel) -> Callable[[Rows], Array | None]:
        ready, problems, threads = self.ready(model), len(model.w), self.threads

        def decide(rows: Rows) -> Array | None:
            out = np.empty((len(rows), problems))
            return out if ready.decide(_rows(rows), out, threads) else None

        return decide

    def ready(self, model: ReadyModel) -> _native.Predictor:
        """Return a hash and a linear model as native code keeps them."""
        views = [
            _native.HashView(view.seed, view.width, view.hashes, [] if view.counts is None else view.counts.tolist())
            for view in model.views
        ]
        center = [] if model.center is None else model.center.tolist()
        hash_ = _native.PredictorHash(views, center, model.p, model.bits, model.t_bits)
        return _native.Predictor(self.name, hash_, model.number_of, np.ascontiguousarray(model.w), model.offset)

    def table_predictor(self, table: ReadyTable) -> TableRows:
        return _TableRows(self, table)

    # Decision trees.

    def trees_decide(self, features: Array, trees: TreeArrays) -> Array:
        out = np.empty((len(features), len(trees.baseline)))
        _native.trees_decide(self.name, features, _native.Trees(*trees), out, self.threads)
        return out

    def tree_shapley(
        self, features: Array, background: Array, trees: TreeArrays, owners: Array, n_columns: int
    ) -> Array:
        out = np.empty((len(features), n_columns * len(trees.baseline)))
        _native.tree_shapley(features, background, _native.Trees(*trees), owners, out, self.threads)
        return out.reshape(len(features), n_columns, len(trees.baseline))

    def growth_rows(self, binned: Array, bins: Array) -> GrowthRows:
        return _GrowthRows(_native.GrowthRows(binned, bins), self.threads)

    # Columns of tables.

    def quantile_levels(self, numbers: Array, tables: Array) -> Array:
        out = np.empty(numbers.shape[::-1], np.float32)
        levels = np.linspace(-1, 1, tables.shape[1])
        _native.quantile_levels(numbers, _dense(tables), levels, out, self.threads)
        return out.T

    def components(self, standard: Array, mean: Array, directions: Array) -> Array:
        out = np.empty((len(standard), directions.shape[1]), np.float32)
        _native.components(standard, mean, _dense(directions), out, self.threads)
        return out

    def shares(self, logits: Array) -> Array:
        out = np.empty((len(logits), max(2, logits.shape[1])))
        _native.shares(_dense(logits), out)
        return out

    def blended(self, logits: Array, trees: Array, share: float, temperature: float) -> Array:
        out = np.empty(logits.shape)
        _native.blended(_dense(logits), _dense(trees), share, temperature, out)
        return out

    def weighted_differences(self, x: Array, weights: Array) -> Array:
        sums = np.empty(x.shape[1])
        _native.weighted_differences(self.name, _dense(x), _dense(weights), sums, self.threads)
        return sums

    # Near neighbours.

    def index_tables(
        self, codes: Array, flags: Array, n_tables: int, hashes_per_table: int, bits: int
    ) -> tuple[Array, Array]:
        rows = np.empty((n_tables, int((flags == 0).sum())), np.uint32)
        starts = np.empty((n_tables, (1 << bits) + 1), np.uint32)
        _native.index_tables(codes, flags, hashes_per_table, bits, rows, starts, self.threads)
        return rows, starts

    def index_norms(self, vectors: Vectors) -> Array:
        rows = vectors.csr if vectors.dense is None else DenseRows(vectors.dense)
        norms = np.empty(len(rows))
        _native.index_norms(self.name, _rows(rows), norms, self.threads)
        return norms

    def index_heavy(self, vectors: Vectors, heavy_fraction: float) -> Array:
        rows = vectors.csr
        heavy = np.empty(len(rows.data), np.uint8)
        _native.index_heavy(_csr(rows), vectors.norms, heavy_fraction, heavy, self.threads)
        return heavy.view(bool)

    def index_search(
        self, queries: Queries, segments: list[Segment], params: SearchParams
    ) -> tuple[Array, Array, Array]:
        parts = [_native.IndexSegment(*s[:5], _vectors(s.vectors), _postings(s.postings)) for s in segments]
        return _native.index_search(
            self.name, _index_queries(queries), parts, _native.SearchParams(*params), self.threads
        )

    def graph_bytes(self, values: Array, zero: int, scale: float) -> tuple[Array, Array]:
        bytes_, norms = _aligned(values.shape), np.empty(len(values), np.float32)
        _native.graph_bytes(_dense(values), zero, scale, bytes_, norms, self.threads)
        return bytes_, norms

    def graph_build(self, bytes_: Array, norms: Array, order: Array, done: int, links: Array) -> None:
        _native.graph_build(self.name, _dense(bytes_), norms, order, done, links, self.threads)

    def graph_search(
        self, queries: Queries, segments: list[Segment], n_rerank: int, n_neighbors: int
    ) -> tuple[Array, Array, Array]:
        parts = [_native.IndexSegment(*s[:5], _vectors(s.vectors), graph=_graph(s.graph)) for s in segments]
        return _native.graph_search(self.name, _index_queries(queries), parts, n_rerank, n_neighbors, self.threads)

    # Similarity joins.

    def join_keys(self, rows: CsrRows) -> Array:
        keys = np.empty((len(rows), 2), np.uint64)
        _native.join_keys(_csr(rows), keys, self.threads)
        return keys

    def join_count(self, rows: CsrRows, counters: Array) -> None:
        _native.join_count(_csr(rows), counters)

    def join_prefixes(self, rows: CsrRows, counters: Array, threshold: float) -> Array:
        inside = np.empty(len(rows.data), np.uint8)
        _native.join_prefixes(_csr(rows), counters, threshold, inside, self.threads)
        return inside.view(bool)

    def join_similarities(self, rows: CsrRows, left: Array, right: Array) -> Array:
        found = np.empty(len(left))
        _native.join_similarities(_csr(rows), _dense(left), _dense(right), found, self.threads)
        return found

    # Texts.

    def shingles(self, text: Array, ends: Array, params: ShingleParams) -> tuple[Array, Array, Array]:
        return _native.shingles(text, ends, **params._asdict(), threads=self.threads)

    def shingles_of_texts(self, texts: tuple[str | bytes, ...], params: ShingleParams) -> tuple[Array, Array, Array]:
        return _native.shingles_of_texts(texts, **params._asdict(), threads=self.threads)


@contextmanager
def heartbeat(call: Callable[[], None]) -> Iterator[None]:
    """Within the context, native calls of this thread that take long call a function about ten times per second."""
    before = _native.set_heartbeat(call)
    try:
        yield
    finally:
        _native.set_heartbeat(before)


def _dense(x: Array) -> Array:
    """Return a contiguous, aligned array, as native code requires. A copy is made only if necessary."""
    flags = x.flags
    return x if flags.c_contiguous and flags.aligned else np.require(x, requirements=["C", "ALIGNED"])


class _TableRows(TableRows):
    """A model of tables that is ready for rows."""

    def __init__(self, backend: CpuBackend, table: ReadyTable) -> None:
        self._threads, self._problems = backend.threads, len(table.model.w)
        self._ready = _native.TableModel(
            backend.name,
            backend.ready(table.model),
            None if table.trees is None else _native.Trees(*table.trees),
            features=np.ascontiguousarray(table.features),
            starts=table.starts,
            scales=np.ascontiguousarray(table.scales),
            quantiles=np.ascontiguousarray(table.quantiles),
            levels=np.linspace(-1, 1, table.quantiles.shape[1]),
            mean=table.mean,
            directions=np.ascontiguousarray(table.directions),
            sources=table.sources,
            weights=table.weights,
            slopes=np.ascontiguousarray(table.slopes),
            intercepts=table.intercepts,
            finish=[table.center, table.spread, table.share, table.temperature],
        )

    def values(self, numbers: Array, positions: Array) -> Array | None:
        out = np.empty((len(numbers), self._problems))
        return out if self._ready.values(numbers, positions, out, self._threads) else None

    def reader(
        self, columns: list[RowColumn], read: Callable[[int, Any], Any]
    ) -> Callable[[dict[Any, Any] | list[Any]], Array | int | None]:
        made = _native.RowReader(_NUMBERS, read)
        for column in columns:
            made.add(*column)
        ready, problems = self._ready, self._problems

        def values_of(row: dict[Any, Any] | list[Any]) -> Array | int | None:
            out = np.empty((1, problems))
            lacking = ready.row(made, row, out)
            return out if lacking == -1 else lacking if lacking >= 0 else None

        return values_of


class _GrowthRows(GrowthRows):
    """Training rows on which trees grow."""

    def __init__(self, rows: _native.GrowthRows, threads: int) -> None:
        self._rows, self._threads = rows, threads

    def grow(self, gradients: Array, hessians: Array, growth: Growth) -> GrownTrees:
        shape = (len(gradients), 2 * growth.leaves - 1)
        feature, bins, left, right = (np.zeros(shape, np.int32) for _ in range(4))
        missing_left, value, values = np.zeros(shape, np.uint8), np.zeros(shape), np.empty(gradients.shape)
        trees = _native.GrownTrees(feature, bins, left, right, missing_left, value)
        sizes = self._rows.grow(gradients, hessians, _native.GrowthSettings(*growth), trees, values, self._threads)
        return GrownTrees(feature, bins, left, right, missing_left, value, np.asarray(sizes), values)


def _csr(rows: CsrRows, index: Any = None) -> _native.CsrRows:
    indices = rows.indices if index is None else rows.indices.astype(index, copy=False)
    return _native.CsrRows(_dense(rows.indptr), _dense(indices), _dense(rows.data), rows.n_features)


def _rows(rows: Rows, center: Array | None = None) -> _native.DenseRows | _native.CsrRows:
    return _csr(rows) if isinstance(rows, CsrRows) else _native.DenseRows(_dense(rows.values), center)


def _codes(codes: Array, empty: Array) -> _native.CodeRows:
    return _native.CodeRows(_dense(codes), np.ascontiguousarray(empty).view(np.uint8))


def _targets(state: LinearPass | NewtonStep) -> _native.LinearTargets:
    return _native.LinearTargets(state.labels, state.targets, state.cost, state.positive, state.factors)


def _vectors(x: Vectors | None) -> _native.IndexVectors | None:
    return None if x is None else _native.IndexVectors(*x)


def _aligned(shape: tuple[int, int]) -> Array:
    """Return bytes that begin at a cache line, so that rows of 64 bytes take one each."""
    size = shape[0] * shape[1]
    memory = np.empty(size + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size].reshape(shape)


def _index_queries(queries: Queries) -> _native.IndexQueries:
    return _native.IndexQueries(queries.codes, queries.empty, _vectors(queries.vectors), *queries[3:])


def _graph(x: Graph | None) -> _native.IndexGraph | None:
    return None if x is None else _native.IndexGraph(*x)


def _postings(x: Postings | None) -> _native.IndexPostings | None:
    if x is None:
        return None
    last = int(x.keys[-1]) if len(x.keys) else 0
    return _native.IndexPostings(directory_shift(last, len(x.keys)), *x)
