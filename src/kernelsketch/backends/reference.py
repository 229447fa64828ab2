"""ReferenceBackend: the specification in NumPy as a back end. It is slow, and tests compare other back ends with it.

This is the only module of the library that imports :mod:`kernelsketch.reference`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .._array import Array
from ..reference import fourier, gcws, graph, index, join, linear, quantiles, rng, tables, tree_shapley, trees
from ..reference import gmm as minmax
from ..reference import newton as steps
from ..reference import pack as packing
from ..reference import shingles as texts
from ..reference.arithmetic import fma
from ..reference.growth import grow
from ._backend import Processor
from ._interface import ByteRows, FourierParams, GcwsParams, Ratio
from ._interface_index import Vectors
from ._interface_processor import GrownTrees, Growth, GrowthRows, ReadyModel, ReadyTable, ShingleParams
from ._numpy import NumpyArrays
from ._rows import CsrRows, Rows


class ReferenceBackend(NumpyArrays, Processor):
    """Compute every operation by its specification, on one thread and without native code.

    Functions of the specification that take what the protocol states are its methods.
    """

    name = "reference"
    newton = "steps"

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads

    def is_canonical(self, indptr: Array, indices: Array, n_features: int) -> bool:
        if indptr[0] != 0 or indptr[-1] > len(indices) or (np.diff(indptr) < 0).any():
            return False
        rows = [indices[begin:end] for begin, end in pairwise(indptr)]
        return all((np.diff(row) > 0).all() and (row >= 0).all() and (row < n_features).all() for row in rows)

    # Kernels.

    def gmm(self, a: Any, b: Any, ratio: Ratio, *, symmetric: bool = False, out: Array | None = None) -> Array:
        if isinstance(a, ByteRows):
            found = minmax.gmm_bytes(a.values, b.values, a.norms, b.norms, ratio)
        elif isinstance(a, CsrRows):
            # Only the features that occur become columns, because there may be up to 2^62 features.
            features = np.unique(np.concatenate([a.indices, b.indices]))
            dense = []
            for x in (a, b):
                rows = np.zeros((len(x), len(features)), x.dtype)
                row = np.repeat(np.arange(len(x)), np.diff(x.indptr))
                rows[row, np.searchsorted(features, x.indices)] = x.data
                dense.append(rows)
            found = minmax.gmm_sparse(dense[0], dense[1], ratio)
        else:
            found = minmax.gmm_dense(a, b, ratio)
        return _placed(found, out)

    # Hashes.

    def gcws_codes(self, rows: Rows, params: GcwsParams, bits: int, t_bits: int) -> tuple[Array, Array]:
        slots, t, empty = self.gcws_samples(rows, params)
        return packing.encode(slots, t, bits, t_bits), empty

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

    concatenate = staticmethod(gcws.concatenate)
    pack = staticmethod(packing.pack)
    unpack = staticmethod(packing.unpack)
    used_codes = staticmethod(packing.used_codes)

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

    linear_pass = staticmethod(linear.linear_pass)
    linear_decide = staticmethod(linear.decide)
    linear_accumulate = staticmethod(linear.accumulate)
    newton_step = staticmethod(steps.newton_step)
    make_symbols = staticmethod(steps.make_symbols)

    # Serving.

    def predictor(self, model: ReadyModel) -> None:
        return None  # the steps one after the other are the specification

    def table_predictor(self, table: ReadyTable) -> None:
        return None

    # Decision trees.

    trees_decide = staticmethod(trees.decide)

    tree_shapley = staticmethod(tree_shapley.contributions)

    def growth_rows(self, binned: Array, bins: Array) -> GrowthRows:
        return _GrowthRows(binned, bins)

    # Columns of tables.

    def quantile_levels(self, numbers: Array, tables: Array) -> Array:
        levels = np.linspace(-1, 1, tables.shape[1])
        found = [quantiles.levels_of(x, table, levels) for x, table in zip(numbers.T, tables, strict=True)]
        return np.array(found, np.float32).reshape(numbers.shape[::-1]).T

    components = staticmethod(tables.components)
    shares = staticmethod(tables.shares)
    blended = staticmethod(tables.blended)
    weighted_differences = staticmethod(minmax.weighted_differences)

    # Near neighbours.

    index_tables = staticmethod(index.tables)
    index_norms = staticmethod(index.norms)
    index_search = staticmethod(index.search)

    def index_heavy(self, vectors: Vectors, heavy_fraction: float) -> Array:
        parts = [index.heavy(vectors, i, heavy_fraction) for i in range(len(vectors.norms))]
        return np.concatenate([np.zeros(0, bool), *parts])

    graph_bytes = staticmethod(graph.rounded)
    graph_build = staticmethod(graph.build)
    graph_search = staticmethod(graph.search)

    # Similarity joins.

    join_keys = staticmethod(join.keys)
    join_count = staticmethod(join.count)
    join_prefixes = staticmethod(join.prefixes)
    join_similarities = staticmethod(join.similarities)

    # Texts.

    shingles = staticmethod(texts.shingles)

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


def hash_ranks(seed: int, slots: Array, values: Array, p: float, n_hashes: int) -> Array:
    """Return a of Algorithm 1, whose least one wins, for one positive value per slot, in float32 (slots, hashes)."""
    logs, of = gcws.log_weights(values.astype(np.float64), p), rng.parameters(seed, slots, np.arange(n_hashes))
    above = np.floor(fma(logs[:, None], of.reciprocal, np.float32(1) + of.beta))
    return fma(-of.r, above, of.A)


class _GrowthRows(GrowthRows):
    """Training rows on which trees grow."""

    def __init__(self, binned: Array, bins: Array) -> None:
        self._binned, self._bins = binned, bins

    def grow(self, gradients: Array, hessians: Array, growth: Growth) -> GrownTrees:
        return GrownTrees(*grow(self._binned, self._bins, gradients, hessians, growth))
