"""The copy of an index on a GPU: the rows that can be neighbours, in the order of their ids.

The GPU keeps the copy of the index that was searched last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np

from .._interface_index import Postings, Segment, Vectors
from ._device import Gpu

TILE_ROWS = 128
PLANES, CODES, STAGE_WORDS = 8, 32, 2  # of a word, and words per stage of copies


class SparseRows(NamedTuple):
    """Sparse rows as ``index.cu`` reads them."""

    starts: Any
    ends: Any
    keys: Any
    sizes: Any
    norms: Any

    def part(self, rows: slice) -> SparseRows:
        return SparseRows(self.starts[rows], self.ends[rows], self.keys, self.sizes, self.norms[rows])


class DenseVectors(NamedTuple):
    """Dense rows for exact comparisons. Bytes are padded with zeros to a multiple of eight features."""

    values: Any
    norms: Any
    n_features: int

    def part(self, rows: slice) -> DenseVectors:
        return DenseVectors(self.values[rows], self.norms[rows], self.n_features)


class Planes(NamedTuple):
    """Codes as bit planes, and where they are: see ``index.cu``."""

    planes: Any
    words: int
    tables: int
    hashes: int
    padding: int

    def part(self, rows: slice) -> Any:
        return self.planes[rows.start // TILE_ROWS :]


class PlacedIndex:
    """The rows of an index that can be neighbours, in the order of their ids, on the GPU.

    What a search needs of them is placed when it is first needed. The segments are passed each time, because whoever
    keeps this copy must not keep them alive.
    """

    def __init__(self, gpu: Gpu, segments: list[Segment]) -> None:
        self.gpu = gpu
        self.live = [np.flatnonzero(s.flags == 0) for s in segments]
        ids = np.concatenate([s.ids[rows] for s, rows in zip(segments, self.live, strict=True)])
        rising = len(ids) < 2 or bool((ids[1:] > ids[:-1]).all())
        self.order = None if rising else np.argsort(ids)
        self.ids = ids if self.order is None else ids[self.order]
        self._made: dict[str, Any] = {}

    def planes(self, segments: list[Segment], hashes: int) -> Planes:
        tables = len(segments[0].rows)
        codes = [s.codes for s in segments]
        return self._once("planes", lambda: planes_of(self.gpu, self._joined(codes), tables, hashes))  # type: ignore[no-any-return]

    def dense(self, segments: list[Segment]) -> DenseVectors:
        vectors = [s.vectors for s in segments]
        same = all(x.bytes is not None for x in vectors)  # type: ignore[union-attr]

        def make() -> DenseVectors:
            values = [x.bytes if same else floats_of(x) for x in vectors]  # type: ignore[arg-type,union-attr]
            norms = self._joined([x.norms for x in vectors])  # type: ignore[union-attr]
            return dense_vectors(self.gpu, self._joined(values), norms)

        return self._once("dense", make)  # type: ignore[no-any-return]

    def sparse(self, segments: list[Segment]) -> SparseRows:
        return self._once("sparse", lambda: self._join_sparse([keyed(self.gpu, s.vectors) for s in segments]))  # type: ignore[no-any-return,arg-type]

    def heavy(self, segments: list[Segment]) -> SparseRows:
        return self._once(  # type: ignore[no-any-return]
            "heavy",
            lambda: self._join_sparse([by_row(self.gpu, s.postings, s.vectors) for s in segments]),  # type: ignore[arg-type]
        )

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def _joined(self, parts: list[Any]) -> Any:
        """Place the rows of arrays, one per segment."""
        xp, upload, taken = self.gpu.xp, self.gpu.upload, []
        for part, rows in zip(parts, self.live, strict=True):
            placed = upload(part)
            taken.append(placed if len(rows) == len(part) else placed[xp.asarray(rows)])
        joined = taken[0] if len(taken) == 1 else xp.concatenate(taken)
        return joined if self.order is None else joined[xp.asarray(self.order)]

    def _join_sparse(self, parts: list[SparseRows]) -> SparseRows:
        """Join rows of segments. Their values stay where they are: only the starts and ends are reordered."""
        xp = self.gpu.xp
        sizes = np.cumsum([0, *(len(part.keys) for part in parts)])
        rows = [
            [x[xp.asarray(rows)] for x in (part.starts + before, part.ends + before, part.norms)]
            for part, rows, before in zip(parts, self.live, sizes.tolist(), strict=False)
        ]
        starts, ends, norms = (xp.concatenate([row[i] for row in rows]) for i in range(3))
        if self.order is not None:
            order = xp.asarray(self.order)
            starts, ends, norms = starts[order], ends[order], norms[order]
        keys, values = (xp.concatenate([part[i] for part in parts]) for i in (2, 3))
        return SparseRows(starts, ends, keys, values, norms)


_kept: WeakKeyDictionary[Gpu, tuple[list[Any], PlacedIndex]] = WeakKeyDictionary()


def placed_index(gpu: Gpu, segments: list[Segment]) -> PlacedIndex:
    """Return the copy of an index on the GPU. That of the last index is kept as long as its arrays live."""
    own = [array for s in segments for array in (s.codes, s.flags)]
    kept = _kept.get(gpu)
    if kept is not None and len(kept[0]) == len(own) and all(r() is x for r, x in zip(kept[0], own, strict=True)):
        return kept[1]
    _kept.pop(gpu, None)
    found = PlacedIndex(gpu, segments)
    _kept[gpu] = [ref(array, lambda _: _kept.pop(gpu, None)) for array in own], found
    return found


def planes_of(gpu: Gpu, codes: Any, tables: int, hashes: int) -> Planes:
    """Slice codes into planes. ``tables`` bands of ``hashes`` codes come first."""
    n, k = codes.shape
    hashes = hashes if tables else 1
    banded = -(-tables // CODES) * hashes
    left = hashes * (banded // hashes * CODES - tables)
    words = banded + max(0, -(-(k - tables * hashes - left) // CODES))
    words = -(-max(1, words) // STAGE_WORDS) * STAGE_WORDS
    blocks = max(1, -(-n // TILE_ROWS))
    planes = gpu.xp.empty((blocks, words * PLANES // 4, TILE_ROWS, 4), np.uint32)
    gpu.over(blocks * TILE_ROWS * words, "index", "index_planes", codes, n, k, words, tables, hashes, planes)
    return Planes(planes, words, tables, hashes, words * CODES - k)


def floats_of(x: Vectors) -> Any:
    found = x.dense if x.dense is not None else x.bytes
    assert found is not None
    return found.astype(np.float32, copy=False)


def dense_vectors(gpu: Gpu, values: Any, norms: Any) -> DenseVectors:
    (n, d), xp = values.shape, gpu.xp
    if values.dtype == np.uint8 and d % 8:
        padded = xp.zeros((n, -(-d // 8) * 8), np.uint8)
        padded[:, :d] = values
        values = padded
    return DenseVectors(values, norms, d)


def keyed(gpu: Gpu, x: Vectors) -> SparseRows:
    """Place sparse rows. Those of a damaged file are refused, since they would lead out of their arrays."""
    rows, xp = x.csr, gpu.xp
    if (np.diff(rows.indptr) < 0).any() or rows.indptr[0] < 0 or rows.indptr[-1] > len(rows.data):
        raise RuntimeError("the index is damaged: its vectors are out of order")
    indptr, indices, data, norms = map(gpu.upload, (*rows.arrays, x.norms))
    keys = 2 * indices.astype(np.int64) + (data < 0)
    return SparseRows(indptr[:-1], indptr[1:], keys, xp.abs(data), norms)


def by_row(gpu: Gpu, postings: Postings, x: Vectors) -> SparseRows:
    """Place the heavy parts of rows: inverted lists, turned back into rows."""
    n, count, xp = len(x.norms), len(postings.entries), gpu.xp
    starts = postings.starts
    damaged = (
        (np.diff(starts) < 0).any() or starts[0] != 0 or starts[-1] != count or len(starts) != len(postings.keys) + 1
    )
    if damaged or (count and int(postings.entries[:, 0].max()) >= n):
        raise RuntimeError("the index is damaged: its inverted lists are out of order")
    entries, keys, from_key, norms = (gpu.upload(part) for part in (postings.entries, postings.keys, starts, x.norms))
    both = xp.sort((entries[:, 0].astype(np.uint64) << np.uint64(32)) | xp.arange(count, dtype=np.uint64))
    rows, place = (both >> np.uint64(32)).astype(np.int64), (both & np.uint64(0xFFFFFFFF)).astype(np.int64)
    key = keys[xp.searchsorted(from_key, place, side="right") - 1] if count else keys
    sizes = xp.ascontiguousarray(entries[:, 1][place]).view(np.float32)
    ends = xp.searchsorted(rows, xp.arange(n + 1))
    return SparseRows(ends[:-1], ends[1:], key, sizes, norms)
