"""ReferenceBackend: the specification in NumPy as a back end. It is slow, and tests compare other back ends with it.

This is the only module of the library that imports :mod:`kernelsketch.reference`.
"""

from __future__ import annotations

import numpy as np

from .._array import Array
from ..reference import (
    fourier,
    gcws,
    gmm,
    index,
    join,
    linear,
    measure,
    newton,
    pack,
    quantiles,
    rng,
    shingles,
)
from ..reference import growth as growth_reference
from ..reference import trees as trees_reference
from ._backend import Processor
from ._interface import ByteRows, FourierParams, GcwsParams, Ratio
from ._interface_index import Queries, SearchParams, Segment, Vectors
from ._interface_learning import LinearObjective, LinearPass, NewtonStep
from ._interface_processor import GrownTrees, Growth, GrowthRows, ReadyModel, ShingleParams, TreeArrays
from ._numpy import NumpyArrays
from ._rows import CsrRows, Rows


class ReferenceBackend(NumpyArrays, Processor):
    """Compute every operation by its specification, on one thread and without native code."""

    name = "reference"
    newton = "steps"

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads

    def is_canonical(self, indptr: Array, indices: Array, n_features: int) -> bool:
        return measure.is_canonical(indptr, indices, n_features)

    # Kernels.

    def gmm_dense(
        self, a: Array, b: Array, ratio: Ratio, *, symmetric: bool = False, out: Array | None = None
    ) -> Array:
        return _placed(gmm.gmm_dense(a, b, ratio), out)

    def gmm_bytes(
        self, a: ByteRows, b: ByteRows, ratio: Ratio, *, symmetric: bool = False, out: Array | None = None
    ) -> Array:
        return _placed(gmm.gmm_bytes(a.values, b.values, a.norms, b.norms, ratio), out)

    def gmm_sparse(
        self, a: CsrRows, b: CsrRows, ratio: Ratio, *, symmetric: bool = False, out: Array | None = None
    ) -> Array:
        # Only the features that occur become columns, because there may be up to 2^62 features.
        features = np.unique(np.concatenate([a.indices, b.indices]))
        dense = []
        for x in (a, b):
            rows = np.zeros((len(x), len(features)), x.dtype)
            row = np.repeat(np.arange(len(x)), np.diff(x.indptr))
            rows[row, np.searchsorted(features, x.indices)] = x.data
            dense.append(rows)
        return _placed(gmm.gmm_sparse(dense[0], dense[1], ratio), out)

    # Hashes.

    def gcws_codes(self, rows: Rows, params: GcwsParams, bits: int, t_bits: int) -> tuple[Array, Array]:
        slots, t, empty = self.gcws_samples(rows, params)
        return pack.encode(slots, t, bits, t_bits), empty

    def gcws_samples(self, rows: Rows, params: GcwsParams) -> tuple[Array, Array, Array]:
        slots, t = (np.empty((len(rows), params.n_components), np.int64) for _ in range(2))
        empty, hashes = np.empty(len(rows), bool), np.arange(params.n_components)
        for i in range(len(rows)):
            values, features = _row(rows, i, params.center)
            logs = gcws.log_weights(values, params.p)
            row_slots = gcws.slots_of(features, values)
            slots[i], t[i] = gcws.sample(row_slots, logs, params.seed, hashes)
            empty[i] = len(values) == 0
        return slots, t, empty

    def gcws_fingerprints(self, rows: Rows, params: GcwsParams) -> tuple[Array, Array]:
        slots, t, empty = self.gcws_samples(rows, params)
        return index.fingerprints(slots, t), empty

    def concatenate(self, slots: Array, t: Array, counts: Array) -> Array:
        return gcws.concatenate(slots, t, counts)

    def pack(self, codes: Array, width: int) -> Array:
        return pack.pack(codes, width)

    def unpack(self, packed: Array, width: int, n_components: int) -> Array:
        return pack.unpack(packed, n_components, width)

    def used_codes(self, codes: Array, width: int) -> Array:
        return pack.used_codes(codes, width)

    def renumber(self, codes: Array, number_of: Array, *, out: Array | None = None) -> tuple[Array, int]:
        numbers = _placed(number_of[codes], out)
        return numbers, int(numbers.max(initial=0))

    def match_counts(self, a: Array, a_empty: Array, b: Array, b_empty: Array) -> Array:
        equal = np.array([(row == b).sum(axis=1) for row in a], np.int32).reshape(len(a), len(b))
        return equal * ~a_empty[:, None] * ~b_empty

    # Fourier features.

    def fourier(self, rows: Rows, params: FourierParams, table_bytes: int, *, out: Array | None = None) -> Array | None:
        if not all(np.isfinite(x).all() for x in rows.arrays):
            return None
        out = self.empty((len(rows), params.n_components), rows.dtype) if out is None else out
        scale, hashes = fourier.scale_of(params.gamma), np.arange(params.n_components)
        for i in range(len(rows)):
            found = _row(rows, i)
            out[i] = fourier.features_of(*found, scale, params.seed, hashes, params.normalize)
        return out

    # Learning on codes.

    def linear_pass(self, codes: Array, empty: Array, objective: LinearObjective, state: LinearPass) -> Array:
        return linear.linear_pass(codes, empty, objective, state)

    def newton_step(self, codes: Array, empty: Array, objective: LinearObjective, state: NewtonStep) -> Array:
        return newton.newton_step(codes, empty, objective, state)

    def make_symbols(
        self, codes: Array, empty: Array, together: int, most: int, out: Array | None = None, mapped: bool = False
    ) -> tuple[Array, Array, Array] | None:
        found = newton.make_symbols(codes, empty, together, most)
        return None if found is None else (_placed(found[0], out), *found[1:])

    def linear_decide(self, codes: Array, empty: Array, scale: float, w: Array, bias: Array) -> Array:
        return linear.decide(codes, empty, scale, w, bias)

    def linear_accumulate(self, codes: Array, empty: Array, beta: Array, sums: Array) -> None:
        linear.accumulate(codes, empty, beta, sums)

    # Serving.

    def predictor(self, model: ReadyModel) -> None:
        return None  # the steps one after the other are the specification

    # Decision trees.

    def trees_decide(self, features: Array, trees: TreeArrays) -> Array:
        return trees_reference.decide(features, trees)

    def growth_rows(self, binned: Array, bins: Array) -> GrowthRows:
        return _GrowthRows(binned, bins)

    # Columns of tables.

    def quantile_levels(self, numbers: Array, tables: Array) -> Array:
        levels = np.linspace(-1, 1, tables.shape[1])
        found = [quantiles.levels_of(x, table, levels) for x, table in zip(numbers.T, tables, strict=True)]
        return np.array(found, np.float32).reshape(numbers.shape[::-1]).T

    def weighted_differences(self, x: Array, weights: Array) -> Array:
        return gmm.weighted_differences(x, weights)

    # Near neighbours.

    def index_tables(
        self, codes: Array, flags: Array, n_tables: int, hashes_per_table: int, bits: int
    ) -> tuple[Array, Array]:
        return index.tables(codes, flags, n_tables, hashes_per_table, bits)

    def index_norms(self, vectors: Vectors) -> Array:
        return index.norms(vectors)

    def index_heavy(self, vectors: Vectors, heavy_fraction: float) -> Array:
        parts = [index.heavy(vectors, i, heavy_fraction) for i in range(len(vectors.norms))]
        return np.concatenate([np.zeros(0, bool), *parts])

    def index_search(
        self, queries: Queries, segments: list[Segment], params: SearchParams
    ) -> tuple[Array, Array, Array]:
        return index.search(queries, segments, params)

    # Similarity joins.

    def join_keys(self, rows: CsrRows) -> Array:
        return join.keys(rows.indptr, rows.indices, rows.data)

    def join_count(self, rows: CsrRows, counters: Array) -> None:
        join.count(rows.indices, counters)

    def join_prefixes(self, rows: CsrRows, counters: Array, threshold: float) -> Array:
        return join.prefixes(rows.indptr, rows.indices, rows.data, counters, threshold)

    def join_similarities(self, rows: CsrRows, left: Array, right: Array) -> Array:
        return join.similarities(rows.indptr, rows.indices, rows.data, left, right)

    # Texts.

    def shingles(self, text: Array, ends: Array, params: ShingleParams) -> tuple[Array, Array, Array]:
        return shingles.shingles(text, ends, *params)

    def shingles_of_texts(self, texts: tuple[str | bytes, ...], params: ShingleParams) -> tuple[Array, Array, Array]:
        parts = [text.encode() if isinstance(text, str) else text for text in texts]
        ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
        return self.shingles(np.frombuffer(b"".join(parts), np.uint8), ends, params)


def _placed(result: Array, out: Array | None) -> Array:
    if out is None:
        return result
    out[...] = result
    return out


def _row(rows: Rows, i: int, center: Array | None = None) -> tuple[Array, Array]:
    """Return the nonzeros of a row and their features. Centered values are float64."""
    if isinstance(rows, CsrRows):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        values, features = rows.data[part], rows.indices[part]
    else:
        values, features = rows.values[i], np.arange(rows.n_features)
    if center is not None:
        values = values.astype(np.float64) - center
    used = values != 0
    return values[used], features[used]


def hash_parameters(seed: int, slots: Array, n_hashes: int) -> tuple[Array, Array, Array, Array]:
    """Return r, 1 / r, beta and A of Algorithm 1 for each slot and hash, in float32, for other runtimes."""
    return tuple(rng.parameters(seed, slots, np.arange(n_hashes)))  # type: ignore[return-value]


class _GrowthRows(GrowthRows):
    """Training rows on which trees grow."""

    def __init__(self, binned: Array, bins: Array) -> None:
        self._binned, self._bins = binned, bins

    def grow(self, gradients: Array, hessians: Array, growth: Growth) -> GrownTrees:
        return GrownTrees(*growth_reference.grow(self._binned, self._bins, gradients, hessians, growth))
