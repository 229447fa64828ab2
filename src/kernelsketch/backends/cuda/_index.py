"""Near neighbours on a GPU: scores of all pairs, the best rows of each query, and their exact similarities.

The index itself lives in main memory, in segments, and the GPU has a copy (``_placed``). Queries and results are NumPy
arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._interface import ByteRows, Ratio
from .._interface_index import CODE_CHANCE, Index, Queries, SearchParams, Segment, Vectors
from . import _gmm
from ._device import THREADS, Gpu
from ._placed import (
    TILE_ROWS,
    DenseVectors,
    PlacedIndex,
    SparseRows,
    dense_vectors,
    floats_of,
    keyed,
    placed_index,
    planes_of,
)
from ._rows import gpu_to_host

SELECT_THREADS, TILE_COLUMNS, TILE_THREADS = 512, 32, 128
LANES, LEVELS = 8, 4096
WHOLE = 2.0**40  # as in reference/index.py
PART_ROWS = 1 << 20  # indexed rows whose scores are in memory at a time; a multiple of TILE_ROWS
SCORE_BYTES = 1 << 32  # of these scores, at most
MOST_QUERIES, LEAST_QUERIES = 2048, 1  # of a block
MARGIN = 1  # levels; approximate similarities differ by a small part of one


class CudaIndex(Index):
    """Search an index that is in main memory, with queries and results in NumPy arrays."""

    gpu: Gpu

    def index_search(self, queries: Queries, segments: list[Segment], params: SearchParams) -> tuple[Any, Any, Any]:
        n = len(queries.empty)
        with self.gpu.all_at_once(f"an index of {sum(len(s.ids) for s in segments)} rows"):
            index = placed_index(self.gpu, segments)
            own = None
            if queries.segment >= 0:
                ids = segments[queries.segment].ids[queries.first : queries.first + n]
                own = np.searchsorted(index.ids, ids).astype(np.int64)
            return _Search(self.gpu, index, segments, queries, params, own).run()

    def index_tables(self, codes: Any, flags: Any, n_tables: int, hashes_per_table: int, bits: int) -> tuple[Any, Any]:
        gpu, xp, (n, k) = self.gpu, self.gpu.xp, codes.shape
        live = int((flags == 0).sum())
        rows = np.empty((n_tables, live), np.uint32)
        starts = np.empty((n_tables, (1 << bits) + 1), np.uint32)
        on_gpu, marks, keys = gpu.upload(codes), gpu.upload(flags), xp.empty(n, np.uint64)
        for table in range(n_tables if n else 0):
            gpu.over(n, "index", "index_buckets", on_gpu, marks, n, k, table, hashes_per_table, bits, keys)
            found = xp.sort(keys)[:live]
            buckets = (found >> np.uint64(32)).astype(np.int64)
            rows[table] = gpu_to_host((found & np.uint64(0xFFFFFFFF)).astype(np.uint32))
            starts[table] = gpu_to_host(xp.searchsorted(buckets, xp.arange((1 << bits) + 1)).astype(np.uint32))
        if n == 0:
            starts[...] = 0
        return rows, starts

    def index_norms(self, vectors: Vectors) -> Any:
        gpu = self.gpu
        if vectors.indptr is None:
            starts, values = None, gpu.upload(vectors.dense)
            n, d = values.shape
        else:
            rows = vectors.csr
            starts, values, n, d = gpu.upload(rows.indptr), gpu.upload(rows.data), len(rows), 0
        norms = gpu.xp.empty(n, np.float64)
        if n:
            gpu.over(n * LANES, "index", "index_norms", starts, values, n, d, norms)
        return gpu_to_host(norms)

    def index_heavy(self, vectors: Vectors, heavy_fraction: float) -> Any:
        return _heavy(self.gpu, vectors, heavy_fraction)


@dataclass
class _Search:
    """The search for some queries. Scores of a block of queries and a part of the rows are in memory at a time."""

    gpu: Gpu
    index: PlacedIndex
    segments: list[Segment]
    queries: Queries
    params: SearchParams
    own: Any  # the places of the queries in the index, if they are rows of it

    def __post_init__(self) -> None:
        self.n, self.m = len(self.queries.empty), len(self.index.ids)

    def run(self) -> tuple[Any, Any, Any]:
        params, part_rows = self.params, min(PART_ROWS, max(1, self.m))
        by_codes = not params.heavy_fraction
        self.exact_scan = by_codes and params.exact and params.n_tables == 0 and not 0 < params.n_rerank < self.m
        room = min(SCORE_BYTES, self.gpu.free_bytes() // 4)
        pair_bytes = 6 if self.exact_scan else 2  # a score, and an approximate similarity
        block = max(LEAST_QUERIES, min(MOST_QUERIES, room // (pair_bytes * part_rows)))
        if block > TILE_ROWS:
            block = block // TILE_ROWS * TILE_ROWS

        def work(size: int) -> list[Any]:
            return [self._block(slice(i, min(self.n, i + size))) for i in range(0, self.n, size) if self.m]

        found = self.gpu.in_blocks(work, block, LEAST_QUERIES, "scores of queries")
        counts, rows, values = ([part[i] for part in found] for i in range(3))
        ends = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *counts]))]).astype(np.int64)
        if not found:
            ends = np.zeros(self.n + 1, np.int64)
        ids = self.index.ids[np.concatenate([np.zeros(0, np.int64), *rows]).astype(np.int64)]
        return ends, ids, np.concatenate([np.zeros(0), *values])

    def _block(self, part: slice) -> tuple[Any, Any, Any]:
        """Return the number of neighbours of each query of a block, their rows and their similarities, NumPy."""
        xp, params, n = self.gpu.xp, self.params, part.stop - part.start
        scorer = self._scorer(part)
        found = [
            self._candidates(part, slice(i, min(self.m, i + PART_ROWS)), scorer) for i in range(0, self.m, PART_ROWS)
        ]
        of, rows, scores = (xp.concatenate([x[i] for x in found]) for i in range(3))
        if len(found) > 1 and params.n_rerank and not self.exact_scan:
            of, rows, scores = self._best(n, params.n_rerank, of, rows, -scores.astype(np.float64), scores)
        if params.exact:
            values = self._compare(part, of, rows)
        elif params.heavy_fraction:
            values = (scores - 1) / LEVELS
        else:
            values = xp.maximum(((scores - 1) / self.queries.codes.shape[1] - CODE_CHANCE) / (1 - CODE_CHANCE), 0.0)
        kept = xp.flatnonzero((values > 0) & (values >= params.threshold))
        of, rows, values = of[kept], rows[kept], values[kept]
        of, rows, values = self._best(n, params.n_neighbors, of, rows, -values, values)
        counts = xp.searchsorted(of, xp.arange(n), side="right") - xp.searchsorted(of, xp.arange(n))
        return gpu_to_host(counts), gpu_to_host(rows), gpu_to_host(values)

    def _best(self, n: int, most: int, of: Any, rows: Any, by: Any, values: Any) -> tuple[Any, Any, Any]:
        """Order pairs by query, number and row, and keep the first ``most`` of each query, or all (0)."""
        xp = self.gpu.xp
        if len(of) == 0:
            return of, rows, values
        order = xp.lexsort(xp.stack([rows.astype(np.float64), by, of.astype(np.float64)]))
        of, rows, values = of[order], rows[order], values[order]
        if most:
            starts = xp.searchsorted(of, xp.arange(n))
            kept = xp.flatnonzero(xp.arange(len(of)) - starts[of] < most)
            of, rows, values = of[kept], rows[kept], values[kept]
        return of, rows, values

    def _scorer(self, part: slice) -> Any:
        """Return what writes the scores of a block of queries and a part of the rows."""
        gpu, index, params, xp = self.gpu, self.index, self.params, self.gpu.xp
        n = part.stop - part.start
        if params.heavy_fraction or (self.exact_scan and self.queries.vectors.indptr is not None):  # type: ignore[union-attr]
            asked = self._sparse_queries(part, params.heavy_fraction)
            rows, name = (
                (index.heavy(self.segments), "f32") if params.heavy_fraction else (index.sparse(self.segments), "f64")
            )

            def share(columns: slice, scores: Any) -> None:
                m = columns.stop - columns.start
                grid, stride = (-(-m // THREADS), n), scores.shape[1]
                arguments = (*asked, *rows.part(columns), m, scores, stride)
                gpu.launch("index", f"index_share_{name}", grid, (THREADS,), *arguments)

            return share
        if self.exact_scan:
            dense = index.dense(self.segments)
            values, norms = self._dense_queries(part, dense)

            def similar(columns: slice, scores: Any) -> None:
                right, m = dense.part(columns), columns.stop - columns.start
                out = xp.empty((n, m), np.float32)
                left: Any = values
                if values.dtype == np.uint8:
                    left = ByteRows(values, norms.astype(np.float32))
                    other: Any = ByteRows(right.values, right.norms.astype(np.float32))
                else:
                    other = right.values[:, : right.n_features].astype(np.float32, copy=False)
                _gmm.gmm(gpu, left, other, Ratio.MIN_MAX, False, out)
                grid = (-(-m // THREADS), n)
                gpu.launch("index", "index_levels", grid, (THREADS,), out, n, m, scores, scores.shape[1])

            return similar
        planes = index.planes(self.segments, params.hashes_per_table)
        codes = planes_of(gpu, self.gpu.upload(self.queries.codes[part]), planes.tables, planes.hashes)

        def count(columns: slice, scores: Any) -> None:
            m = columns.stop - columns.start
            gpu.launch(
                "index",
                "index_count",
                (-(-m // TILE_COLUMNS), -(-n // TILE_ROWS)),
                (TILE_THREADS,),
                *(codes.planes, n, planes.part(columns), m, planes.words),
                *(params.n_tables, planes.hashes, planes.padding, scores, scores.shape[1]),
            )

        return count

    def _candidates(self, part: slice, columns: slice, scorer: Any) -> tuple[Any, Any, Any]:
        """Return the candidates of a block of queries in a part of the rows: query, row and score, in this order."""
        gpu, params, xp = self.gpu, self.params, self.gpu.xp
        n, m = part.stop - part.start, columns.stop - columns.start
        scores = xp.empty((n, -(-m // 8) * 8), np.uint16)
        scorer(columns, scores)
        own = None if self.own is None else self.gpu.upload(self.own[part] - columns.start)
        want, margin, least = params.n_rerank, 0, 1
        if self.exact_scan:
            want, margin = params.n_neighbors, MARGIN
            least = max(1, int(params.threshold * LEVELS) + 1 - MARGIN)
        thresholds = xp.empty((n, 3), np.int64)
        of = (scores, scores.shape[1], m)
        empty = self.gpu.upload(np.asarray(self.queries.empty[part]).astype(np.uint8))
        gpu.launch(
            "index",
            "index_thresholds",
            (n,),
            (SELECT_THREADS,),
            *(*of, empty, own, int(params.later_only), want, margin, least, thresholds),
        )
        ends = xp.cumsum(thresholds[:, 2])
        total = int(ends[-1])
        found = tuple(xp.empty(total, np.int32) for _ in range(3))
        if total:
            offsets = ends - thresholds[:, 2]
            arguments = (*of, own, int(params.later_only), thresholds, offsets, *found, columns.start)
            gpu.launch("index", "index_collect", (n,), (SELECT_THREADS,), *arguments)
        return found

    def _compare(self, part: slice, of: Any, rows: Any) -> Any:
        """Return the exact similarities of pairs."""
        gpu, count = self.gpu, len(of)
        values = gpu.xp.empty(count, np.float64)
        if count == 0:
            return values
        if self.queries.vectors.indptr is not None:  # type: ignore[union-attr]
            sides = (*self._sparse_queries(part, 0.0), *self.index.sparse(self.segments))
            gpu.over(count * LANES, "index", "index_compare_sparse", of, rows, count, *sides, values)
            return values
        dense = self.index.dense(self.segments)
        asked, norms = self._dense_queries(part, dense)
        name = "_".join("u8" if x.dtype == np.uint8 else "f32" for x in (asked, dense.values))
        indexed = (dense.values, dense.norms, dense.values.shape[1], dense.n_features)
        arguments = (of, rows, count, asked, norms, asked.shape[1], *indexed, values)
        gpu.over(count * LANES, "index", f"index_compare_{name}", *arguments)
        return values

    def _dense_queries(self, part: slice, index: DenseVectors) -> tuple[Any, Any]:
        """Return the queries as bytes, if they and the index are, or as floats, and their norms."""
        x = self.queries.vectors
        assert x is not None
        small = x.bytes is not None and index.values.dtype == np.uint8
        values = x.bytes[part] if small else floats_of(x)[part]  # type: ignore[index]
        found = dense_vectors(self.gpu, self.gpu.upload(values), self.gpu.upload(x.norms[part]))
        return found.values, found.norms

    def _sparse_queries(self, part: slice, heavy_fraction: float) -> SparseRows:
        x = self.queries.vectors
        assert x is not None
        rows = x.csr.part(part)
        own = x._replace(norms=x.norms[part], indptr=rows.indptr, indices=rows.indices, data=rows.data)
        found = keyed(self.gpu, own)
        if not heavy_fraction:
            return found
        xp = self.gpu.xp
        heavy = xp.asarray(_heavy(self.gpu, own, heavy_fraction))
        before = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(heavy, dtype=np.int64)])
        kept = xp.flatnonzero(heavy)
        return SparseRows(before[found.starts], before[found.ends], found.keys[kept], found.sizes[kept], found.norms)


def _heavy(gpu: Gpu, vectors: Vectors, heavy_fraction: float) -> Any:
    """Return which values of sparse rows belong to the heavy part of their row, NumPy."""
    rows, heavy = vectors.csr, gpu.xp.zeros(len(vectors.csr.data), np.uint8)
    if n := len(rows):
        placed = map(gpu.upload, (rows.indptr, rows.data, vectors.norms))
        gpu.over(32 * n, "index", "index_heavy", *placed, n, int(heavy_fraction * WHOLE), heavy)
    return gpu_to_host(heavy).view(np.bool_)
