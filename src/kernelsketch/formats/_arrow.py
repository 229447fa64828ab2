"""Parquet and Arrow by pyarrow: one column per feature, or two columns of lists, ``indices`` and ``values``."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from .._array import Array
from .._frames import first_repeated
from .._validation import check_rows
from ..exceptions import InputError, MissingExtraError, Setting
from ._bounded import bounded_memory
from ._columns import columns_of
from ._labels import MOST_LENGTH, numbered_texts
from ._source import Source
from ._stream import (
    NotNumbersError,
    Opened,
    Options,
    RowBlock,
    Writer,
    check_block,
    check_labels,
    float_dtype,
    wrong_width,
)

LABEL, INDICES, VALUES = "label", "indices", "values"
_WIDTH = b"kernelsketch.n_features"
_MOST_BATCH = 1 << 16  # rows that Parquet gives at a time
_BUFFERS, _LEAST_BUFFER = 1 << 24, 1 << 12  # bytes of Parquet that are read at a time: of all columns, and of each


def open_parquet(source: Source, options: Options) -> Opened:
    file = parquet_file(source, options.batch_bytes)
    width = (file.metadata.metadata or {}).get(_WIDTH)
    table = _columns_of(file.schema_arrow, options)(source, file.schema_arrow, options, width)
    rows = rows_of_bytes(file.metadata, options.block_bytes, min(_MOST_BATCH, table.rows_a_block))
    batches = file.iter_batches(batch_size=rows, columns=table.used, use_threads=False)
    return table.opened(batches, file.metadata.num_rows)


def parquet_file(source: Source, batch_bytes: int | None) -> Any:
    """Open a Parquet file, which reads a column as it goes, and not all of it at once."""
    parquet, where = pyarrow_module("pyarrow.parquet"), source.seekable("parquet")
    with _reading(source, batch_bytes):
        metadata = parquet.ParquetFile(where).metadata
        buffer_bytes = max(_LEAST_BUFFER, _BUFFERS // max(1, metadata.num_columns))
        file = parquet.ParquetFile(where, metadata=metadata, pre_buffer=False, buffer_size=buffer_bytes)
        _ = file.schema_arrow.names  # which may not be UTF-8
    return file


def rows_of_bytes(metadata: Any, most_bytes: int, most_rows: int) -> int:
    """Return how many rows of a Parquet file take about so many bytes, by the sizes of its row groups."""
    nested = [j for j in range(metadata.num_columns) if metadata.schema.column(j).max_repetition_level > 0]
    row_bytes = 1.0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        size = max(group.total_byte_size, 16 * sum(group.column(j).num_values for j in nested))
        row_bytes = max(row_bytes, size / max(1, group.num_rows))
    return max(1, min(most_rows, int(most_bytes / row_bytes)))


def open_arrow(source: Source, options: Options) -> Opened:
    schema, batches = read_arrow(source)
    return _columns_of(schema, options)(source, schema, options).opened(batches, None)


def read_arrow(source: Source) -> tuple[Any, Iterator[Any]]:
    """Return the schema and the record batches of a file or a stream of Arrow."""
    pa, ipc = pyarrow_module("pyarrow"), pyarrow_module("pyarrow.ipc")
    with _reading(source):
        if source.head.startswith(b"ARROW1"):
            where = source.seekable("arrow")
            reader = ipc.open_file(pa.OSFile(str(where)) if where is source.path else where)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        else:
            reader = ipc.open_stream(pa.PythonFile(source.file, "r"))
            batches = iter(reader)
        _ = reader.schema.names  # which may not be UTF-8
    return reader.schema, batches


def next_batch(source: Source, batches: Iterator[Any], batch_bytes: int | None) -> Any:
    """Return the next record batch, or None at the end.

    Its offsets, indices and texts are checked, because pyarrow would read whatever memory they point to. A batch that
    takes more than ``batch_bytes`` of memory is refused.
    """
    with _reading(source, batch_bytes):
        batch = next(batches, None)
        if batch is not None:
            batch.validate(full=True)
    return batch


@contextmanager
def _reading(source: Source, batch_bytes: int | None = None) -> Iterator[None]:
    """Turn errors of pyarrow into ours, and refuse what takes more than ``batch_bytes`` of memory."""
    try:
        with bounded_memory(batch_bytes):
            yield
    except MemoryError:
        if batch_bytes is None:
            raise
        raise InputError(
            f"{source.name}: a batch of its rows takes more than {batch_bytes} bytes of memory. Raise ",
            Setting("batch_bytes"),
            ", or write the file with smaller row groups, pages or record batches.",
        ) from None
    except (pyarrow_module("pyarrow").ArrowException, OSError, UnicodeError) as error:
        source.check_size()
        reason = str(error).rstrip(". ")
        raise InputError(
            f"{source.name} cannot be read: {reason}. It is damaged or of another format: get it again."
        ) from None


def text_lengths(column: Any) -> Array:
    """Return the bytes of each text of a column of texts, which may have a dictionary; 0 where there is none."""
    pa, compute = pyarrow_module("pyarrow"), pyarrow_module("pyarrow.compute")
    if pa.types.is_dictionary(column.type):
        lengths, places = text_lengths(column.dictionary), column.indices.fill_null(0).to_numpy()
        return lengths[places] if len(lengths) else np.zeros(len(places), np.int64)
    if str(column.type) in ("string_view", "binary_view"):
        column = column.cast(pa.large_binary() if str(column.type) == "binary_view" else pa.large_string())
    lengths = compute.binary_length(column).fill_null(0)
    return np.asarray(lengths.to_numpy(zero_copy_only=False), np.int64)


class _ArrowColumns:
    """The columns of a file: which are features, which is the label."""

    is_table = False

    def __init__(self, source: Source, schema: Any, options: Options, width: bytes | None = None) -> None:
        self._pa, self._source = pyarrow_module("pyarrow"), source
        names, name = tuple(schema.names), source.name
        columns, self._ignore_labels = columns_of(options, names, len(names), name), options.ignore_labels
        label = None if columns.label is None else names[columns.label]
        if label is None and LABEL in names and _is_sparse(names):
            label = LABEL
        self._label, self._schema = label, schema
        self._features = [feature for place in columns.features if (feature := names[place]) != label]
        if len(set(names)) < len(names):
            raise InputError(f"{name} has several columns of the same name: rename them.")
        if not self._features:
            raise InputError(f"{name} has no column besides the label: a row needs at least one feature.")
        self.sparse = _is_sparse(names)
        self._carried = {column: names[place] for column, place in columns.carried.items()}
        others = [other for other in (label, *self._carried.values()) if other is not None]
        self.used = list(dict.fromkeys([*((INDICES, VALUES) if self.sparse else self._features), *others]))
        if self.sparse:
            value_type = schema.field(VALUES).type
            if not all(self._pa.types.is_list(schema.field(part).type) for part in (INDICES, VALUES)):
                raise InputError(f"{name}: columns {INDICES!r} and {VALUES!r} must be lists.")
            stored = self._numeric(value_type.value_type, VALUES)
            self._numeric(schema.field(INDICES).type.value_type, INDICES)
            self.width = options.n_features or (None if width is None else int(width))
        else:
            stored = np.result_type(*[self._numeric(schema.field(feature).type, feature) for feature in self._features])
            self.width = len(self._features)
            if options.n_features not in (None, self.width):
                raise wrong_width(name, f"{self.width} columns of features", options)
        self._dtype = np.dtype(float_dtype(stored, options.dtype))
        self._block_bytes, self._batch_bytes = options.block_bytes, options.batch_bytes
        self.rows_a_block = options.rows_a_block(1 if self.sparse else len(self._features), self._dtype.itemsize)

    def _numeric(self, kind: Any, column: str) -> Any:
        types = self._pa.types
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            place = f"{self._source.name}: column {column!r}"
            raise NotNumbersError(
                f"{place} holds {kind}, not numbers. Encode it, for example with sklearn.preprocessing.OneHotEncoder, "
                "leave it out with ",
                Setting("drop", column),
                ", or name it with ",
                Setting("label", ...),
                " if it has the labels.",
            )
        return np.dtype(kind.to_pandas_dtype())

    def opened(self, batches: Iterator[Any], n_rows: int | None) -> Opened:
        names = None if self.sparse else tuple(self._features)
        label_name = None if names is None else self._label
        columns, dtype = tuple(self._schema.names), None if self.is_table else self._dtype
        blocks = self._blocks(batches)
        return Opened(blocks, self.width, n_rows, names, self.is_table, label_name, columns, None, dtype, self._schema)

    def _blocks(self, batches: Iterator[Any]) -> Iterator[RowBlock]:
        done = 0
        while True:
            self._source.check_size()
            batch = next_batch(self._source, batches, self._batch_bytes)
            if batch is None:
                return
            start = 0
            while start < batch.num_rows:
                rows = self._rows_from(batch, start)
                part = batch.slice(start, rows)
                X = self._sparse_rows(part, done) if self.sparse else self._dense_rows(part, done)
                has_labels = self._label is not None and not self._ignore_labels
                y = self._labels(part.column(self._label), done) if has_labels else None
                self._check(X, done, y)
                carried = {column: part.column(one) for column, one in self._carried.items()}
                yield RowBlock(X, y, None, carried)
                start, done = start + rows, done + rows

    def _rows_from(self, batch: Any, start: int) -> int:
        """Return how many rows fit in a block."""
        if not self.sparse:
            return min(self.rows_a_block, int(batch.num_rows) - start)
        ends = batch.column(VALUES).offsets.to_numpy()
        room = self._block_bytes // (self._dtype.itemsize + 16)
        fits = int(np.searchsorted(ends, ends[start] + room, side="right")) - 1 - start
        return int(max(1, min(fits, room, batch.num_rows - start)))

    def _column(self, column: Any, name: str, done: int) -> Any:
        if column.null_count:
            raise self._missing(name, done + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False))))
        return column

    def _missing(self, name: str, row: int) -> InputError:
        return NotNumbersError(
            f"{self._source.name}, row {row}, column {name!r}: the value is missing. Impute it first, for example "
            "with sklearn.impute.SimpleImputer, or leave the column out with ",
            Setting("drop", name),
            ".",
        )

    def _check(self, X: Any, done: int, y: Array | None) -> None:
        check_block(X, done, self._source.name, y)

    def _dense_rows(self, batch: Any, done: int) -> Any:
        X = np.empty((batch.num_rows, len(self._features)), self._dtype)
        with np.errstate(over="ignore"):
            for j, name in enumerate(self._features):
                X[:, j] = self._column(batch.column(name), name, done).to_numpy(zero_copy_only=False)
        return X

    def _sparse_rows(self, batch: Any, done: int) -> Any:
        lists = [self._column(batch.column(name), name, done) for name in (INDICES, VALUES)]
        ends = [column.offsets.to_numpy().astype(np.int64) for column in lists]
        ends = [end - end[0] for end in ends]
        if not np.array_equal(*ends):
            raise InputError(
                f"{self._source.name}: {INDICES!r} and {VALUES!r} have lists of different lengths: write it again."
            )
        flat = [self._column(column.flatten(), "in a list", done).to_numpy(zero_copy_only=False) for column in lists]
        ids = flat[0].astype(np.int64)
        largest = int(ids.max(initial=-1))
        width = self.width if self.width is not None else max(1, largest + 1)
        if len(ids) and (ids.min() < 0 or largest >= width):
            raise InputError(
                f"{self._source.name}: {INDICES!r} must be from 0 to {width - 1}, got {largest} or a negative one."
            )
        with np.errstate(over="ignore"):
            X = sparse.csr_array((flat[1].astype(self._dtype), ids, ends[0]), shape=(batch.num_rows, width))
        return check_rows(X, self._source.name)

    def _labels(self, column: Any, done: int) -> Array:
        values, types = self._column(column, str(self._label), done), self._pa.types
        kind = values.type.value_type if types.is_dictionary(values.type) else values.type
        if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
            values = values.dictionary_decode() if types.is_dictionary(values.type) else values
            return np.array(values.to_numpy(zero_copy_only=False))
        if types.is_string_view(values.type):
            values = values.cast(self._pa.large_string())
        encoded = values if types.is_dictionary(values.type) else values.dictionary_encode()
        numbers = encoded.indices.to_numpy()
        is_used = np.bincount(numbers, minlength=len(encoded.dictionary)) > 0  # the others are of other rows
        names = encoded.dictionary.take(self._pa.array(np.flatnonzero(is_used)))
        numbers = (np.cumsum(is_used) - 1)[numbers]
        lengths = pyarrow_module("pyarrow.compute").utf8_length(names).to_numpy(zero_copy_only=False)
        for number in np.flatnonzero(~(lengths <= MOST_LENGTH)).tolist():  # NaN for a missing one
            row = done + int(np.argmax(numbers == number))
            if np.isnan(lengths[number]):
                raise self._missing(str(self._label), row)
            raise InputError(
                f"{self._source.name}, row {row}: the label has {int(lengths[number])} characters: the limit is "
                f"{MOST_LENGTH}. Use shorter names."
            )
        return numbered_texts(names.to_pylist(), numbers, self._block_bytes)


class _ArrowTable(_ArrowColumns):
    """Columns of any type as they are, with gaps: X of a block is a pyarrow table."""

    is_table = True

    def _numeric(self, kind: Any, column: str) -> Any:
        return np.dtype(np.float64)

    def _dense_rows(self, batch: Any, done: int) -> Any:
        return self._pa.Table.from_batches([batch]).select(self._features)

    def _check(self, X: Any, done: int, y: Array | None) -> None:
        check_labels(y, done, self._source.name)


def _columns_of(schema: Any, options: Options) -> type[_ArrowColumns]:
    return _ArrowTable if options.as_table and not _is_sparse(tuple(schema.names)) else _ArrowColumns


class ParquetWriter(Writer):
    """Writes dense rows as named columns, and sparse rows as a list of ids and a list of values."""

    def __post_init__(self) -> None:
        self._writer: Any = None
        self._schema: Any = None
        self._rows = self._width = 0

    def write(self, rows: RowBlock, name: str) -> None:
        pa, parquet = pyarrow_module("pyarrow"), pyarrow_module("pyarrow.parquet")
        X = check_rows(rows.X, name)
        check_block(X, self._rows, name)
        self._rows, self._width = self._rows + X.shape[0], max(self._width, X.shape[1])
        columns = self._sparse_columns(X) if sparse.issparse(X) else self._dense_columns(X)
        if rows.y is not None:
            if LABEL in columns:
                raise InputError(f"{name}: a feature has the name {LABEL!r}, which the labels need. Rename it.")
            columns[LABEL] = pa.array(np.asarray(rows.y))
        batch = pa.record_batch(list(columns.values()), list(columns))
        if self._writer is None:
            self._schema = batch.schema
            self._writer = parquet.ParquetWriter(pa.PythonFile(self.file, "w"), self._schema)
        if not batch.schema.equals(self._schema):
            raise InputError(f"{name} has other columns or types than the blocks before it: convert them to one dtype.")
        self._writer.write_batch(batch.cast(self._schema))

    def _dense_columns(self, X: Array) -> dict[str, Any]:
        names = self.names or tuple(f"x{j}" for j in range(X.shape[1]))
        twice = first_repeated(names)
        if twice is not None or _is_sparse(names):
            twice = twice or f"{INDICES} and {VALUES}"
            raise InputError(f"columns cannot be named {twice!r} in Parquet: rename them, and use no name twice.")
        return {feature: pyarrow_module("pyarrow").array(X[:, j]) for j, feature in enumerate(names)}

    def _sparse_columns(self, X: Any) -> dict[str, Any]:
        pa = pyarrow_module("pyarrow")
        ends = pa.array(X.indptr.astype(np.int32))
        parts = {INDICES: X.indices.astype(np.int64), VALUES: X.data}
        return {part: pa.ListArray.from_arrays(ends, pa.array(values)) for part, values in parts.items()}

    def close(self) -> None:
        if self._writer is not None:
            if INDICES in self._schema.names:
                self._writer.add_key_value_metadata({_WIDTH.decode(): str(self._width)})
            self._writer.close()

    def abandon(self) -> None:
        if self._writer is not None:
            self._writer.close()  # otherwise it would close itself later, when the file is gone


def _is_sparse(names: tuple[str, ...]) -> bool:
    return {INDICES, VALUES} <= set(names)


def pyarrow_module(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError("data", "pyarrow") from None
