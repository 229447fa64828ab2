"""Texts of a column on the workers: keys and norms of their shingles, counts, prefixes, and similarities of pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql.functions import arrow_udf
from pyspark.sql.types import DataType

from .._array import Array
from ..backends import CsrRows, processor_for
from ..neighbors import prefixes_of
from ..text import DocumentFrequencies, Shingles, Texts, texts_of

PIECE = 1 << 24  # bytes of text that become rows at a time
CHUNK = 1 << 16  # counters that travel in one row
KEYS = "struct<key:binary,norm:double,size:long>"
COUNTS = "chunk int, counts binary"
FEATURES = "feature long"


def column_of_texts(compute: Callable[..., Any], kind: DataType | str, *columns: str) -> Column:
    """Return the column that results from ``compute``, a function from Arrow columns of texts to an Arrow array."""

    def in_batches(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        return _each_batch(compute, batches)

    return arrow_udf(in_batches, kind)(*columns)


def _each_batch(compute: Callable[..., Any], batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        columns = batch if isinstance(batch, tuple) else (batch,)  # Spark passes a single column as it is
        for part in _pieces(*columns):
            yield compute(*(column[part] for column in columns))


def rows_of(shingles: Shingles, column: Any) -> CsrRows:
    """Return the rows of a column of texts."""
    column = column.cast(pa.large_binary())
    if shingles.normalize is not None:
        return CsrRows.of(shingles.transform(texts_of(column.to_pylist(), shingles.normalize)))
    ends = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    text = np.frombuffer(column.buffers()[2] or b"", np.uint8)[ends[0] : ends[-1]]
    return CsrRows.of(shingles.transform(Texts(text, ends - ends[0])))


def keys(shingles: Shingles, column: Any) -> Any:
    """Return the key, the norm and the number of features of each text; a text without a shingle has no key."""
    rows = rows_of(shingles, column.fill_null(b"" if pa.types.is_binary(column.type) else ""))
    norms = rows.norms()
    found = np.ascontiguousarray(processor_for().join_keys(rows)).view(np.uint8)
    key = pa.array([row.tobytes() for row in found], pa.binary(), mask=norms == 0)
    parts = [key, pa.array(norms), pa.array(np.diff(rows.indptr).astype(np.int64))]
    return pa.StructArray.from_arrays(parts, names=["key", "norm", "size"])


def features(shingles: Shingles, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the features of the texts of a partition, each once per text, in rows of FEATURES."""
    for batch in batches:
        for part in _pieces(batch.column(0)):
            found = rows_of(shingles, batch.column(0)[part]).indices
            yield pa.RecordBatch.from_arrays([pa.array(found.astype(np.int64, copy=False))], names=["feature"])


def frequencies(table: Any, n_documents: int) -> DocumentFrequencies:
    """Return document frequencies from a table of features and the numbers of texts that have them."""
    found, counts = (np.asarray(table.column(name), np.int64) for name in ("feature", "count"))
    order = np.argsort(found)
    return DocumentFrequencies(n_documents, found[order], counts[order])


def count_features(shingles: Shingles, size: int, batches: Iterator[Any]) -> Iterator[Any]:
    """Count the features of a partition of texts in a table of so many counters, in rows of COUNTS."""
    counters = np.zeros(size, np.uint16)
    for batch in batches:
        for part in _pieces(batch.column(0)):
            rows = rows_of(shingles, batch.column(0)[part])
            processor_for().join_count(rows, counters)
    for number, chunk in enumerate(np.split(counters, max(1, size // CHUNK))):
        if chunk.any():
            yield pa.RecordBatch.from_pydict(
                {"chunk": pa.array([number], pa.int32()), "counts": pa.array([chunk.astype("<u2").tobytes()])}
            )


def add_counts(table: Any) -> Any:
    """Add up the counters of one chunk."""
    total = np.zeros(1, np.int64)
    for counts in table.column("counts"):
        total = np.minimum(total + np.frombuffer(counts.as_buffer(), "<u2"), 2**16 - 1)
    return pa.table({"chunk": table.column("chunk")[:1], "counts": pa.array([total.astype("<u2").tobytes()])})


def joined_counts(rows: list[Any], size: int) -> Array:
    """Return the table of counters from its chunks."""
    counters = np.zeros(size, np.uint16)
    for row in rows:
        begin = row.chunk * CHUNK
        counters[begin : begin + CHUNK] = np.frombuffer(row.counts, "<u2")
    return counters


def prefixes(shingles: Shingles, counters: bytes, threshold: float, column: Any) -> Any:
    """Return the features of the prefix of each text."""
    rows = rows_of(shingles, column)
    features, owners = prefixes_of(rows, np.frombuffer(counters, np.uint16), threshold, 1)
    ends = np.searchsorted(owners, np.arange(len(rows) + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(features.astype(np.int64)))


def similarities(shingles: Shingles, left: Any, right: Any) -> Any:
    """Return the exact similarity of each pair of texts; null, if one of them is."""
    there = np.asarray(left.is_valid()) & np.asarray(right.is_valid())
    found = np.zeros(len(left))
    if there.any():
        n, mask = int(there.sum()), pa.array(there)
        rows = rows_of(shingles, pa.concat_arrays([left.filter(mask), right.filter(mask)]))
        found[there] = processor_for().join_similarities(rows, np.arange(n), np.arange(n, 2 * n))
    return pa.array(found, mask=~there)


def _pieces(*columns: Any) -> Iterator[slice]:
    """Cut columns of texts into parts of about PIECE bytes, and at least one row."""
    n = len(columns[0])
    sizes = sum((_sizes(column) for column in columns), np.zeros(n, np.int64))
    piece = np.cumsum(sizes) // PIECE
    begins = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist(), n]
    for begin, end in pairwise(begins):
        yield slice(begin, end)


def _sizes(column: Any) -> Array:
    return np.asarray(pc.fill_null(pc.binary_length(column), 0), np.int64)
