"""Parquet and Arrow by pyarrow: one column per feature, or two columns of lists, ``indices`` and ``values``."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from scipy import sparse

from .._validation import Array, check_rows
from ..exceptions import InputError, MissingExtraError
from ._source import Source
from ._stream import Opened, Options, RowBlock, check_block, check_labels, float_dtype, label_column

LABEL, INDICES, VALUES = "label", "indices", "values"
_WIDTH = b"kernelsketch.n_features"
_MOST_BATCH = 1 << 16  # rows that Parquet gives at a time


def open_parquet(source: Source, options: Options) -> Opened:
    pa, parquet = pyarrow_module("pyarrow"), pyarrow_module("pyarrow.parquet")
    try:
        file = parquet.ParquetFile(source.seekable("parquet"))
        _ = file.schema_arrow.names  # which may not be UTF-8
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise damage(source, error) from None
    width = (file.metadata.metadata or {}).get(_WIDTH)
    table = _columns_of(file.schema_arrow, options)(source, file.schema_arrow, options, width)
    rows = min(_MOST_BATCH, table.rows_a_block)
    batches = file.iter_batches(batch_size=rows, columns=table.used, use_threads=False)
    return table.opened(batches, file.metadata.num_rows)


def open_arrow(source: Source, options: Options) -> Opened:
    schema, batches = read_arrow(source)
    return _columns_of(schema, options)(source, schema, options).opened(batches, None)


def read_arrow(source: Source) -> tuple[Any, Iterator[Any]]:
    """Return the schema and the record batches of a file or a stream of Arrow."""
    pa, ipc = pyarrow_module("pyarrow"), pyarrow_module("pyarrow.ipc")
    try:
        if source.head.startswith(b"ARROW1"):
            where = source.seekable("arrow")
            reader = ipc.open_file(pa.OSFile(str(where)) if where is source.path else where)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        else:
            reader = ipc.open_stream(pa.PythonFile(source.file, "r"))
            batches = iter(reader)
        _ = reader.schema.names  # which may not be UTF-8
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise damage(source, error) from None
    return reader.schema, batches


def next_batch(source: Source, batches: Iterator[Any]) -> Any:
    """Return the next record batch, or None at the end.

    Its offsets, indices and texts are checked, because pyarrow would read whatever memory they point to.
    """
    try:
        batch = next(batches, None)
        if batch is not None:
            batch.validate(full=True)
    except (pyarrow_module("pyarrow").ArrowException, OSError, UnicodeError) as error:
        source.check_size()
        raise damage(source, error) from None
    return batch


class _ArrowColumns:
    """The columns of a file: which are features, which is the label."""

    is_table = False

    def __init__(self, source: Source, schema: Any, options: Options, width: bytes | None = None) -> None:
        self._pa, self._source = pyarrow_module("pyarrow"), source
        names, name = tuple(schema.names), source.name
        label, self._ignore_labels = None, options.ignore_labels
        number = label_column(options, names, len(names), name)
        if number is not None:
            label = names[number]
        elif LABEL in names and _is_sparse(names):
            label = LABEL
        self._label = label
        self._features = [feature for feature in names if feature != label]
        if len(set(names)) < len(names):
            raise InputError(f"{name} has several columns of the same name: rename them.")
        if not self._features:
            raise InputError(f"{name} has no column of features.")
        self.sparse = _is_sparse(names)
        self.used = [INDICES, VALUES, *([label] if label else [])] if self.sparse else list(names)
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
                raise InputError(f"{name} has {self.width} columns of features, but n_features={options.n_features}.")
        self._dtype = np.dtype(float_dtype(stored, options.dtype))
        self._block_bytes = options.block_bytes
        self.rows_a_block = options.rows_a_block(1 if self.sparse else len(self._features), self._dtype.itemsize)

    def _numeric(self, kind: Any, column: str) -> Any:
        types = self._pa.types
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise InputError(
                f"{self._source.name}: column {column!r} holds {kind}, not numbers. Encode or drop it, or name it "
                "with label= if it is the label."
            )
        return np.dtype(kind.to_pandas_dtype())

    def opened(self, batches: Iterator[Any], n_rows: int | None) -> Opened:
        names = None if self.sparse else tuple(self._features)
        label_name = None if names is None else self._label
        return Opened(self._blocks(batches), self.width, n_rows, names, self.is_table, label_name)

    def _blocks(self, batches: Iterator[Any]) -> Iterator[RowBlock]:
        done = 0
        while True:
            self._source.check_size()
            batch = next_batch(self._source, batches)
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
                yield RowBlock(X, y)
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
            row = done + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise InputError(
                f"{self._source.name}, row {row}, column {name!r}: the value is missing. Impute it first, for example "
                "with sklearn.impute.SimpleImputer."
            )
        return column

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
            raise InputError(f"{self._source.name}: {INDICES!r} and {VALUES!r} have lists of different lengths.")
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
        values = self._column(column, str(self._label), done)
        if self._pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        found = np.array(values.to_numpy(zero_copy_only=False))
        return found.astype(np.str_) if found.dtype == object and isinstance(found[0], str) else found


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


class ParquetWriter:
    """Writes dense rows as named columns, and sparse rows as a list of ids and a list of values."""

    def __init__(self, file: IO[bytes], zero_based: bool, names: tuple[str, ...] | None) -> None:
        self._file, self._names = file, names
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
            self._writer = parquet.ParquetWriter(pa.PythonFile(self._file, "w"), self._schema)
        if not batch.schema.equals(self._schema):
            raise InputError(f"{name} has other columns or types than the blocks before it: convert them to one dtype.")
        self._writer.write_batch(batch.cast(self._schema))

    def _dense_columns(self, X: Array) -> dict[str, Any]:
        names = self._names or tuple(f"x{j}" for j in range(X.shape[1]))
        if len(set(names)) < len(names) or _is_sparse(names):
            twice = next((name for name in names if names.count(name) > 1), f"{INDICES} and {VALUES}")
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


def damage(source: Source, error: Exception) -> InputError:
    return InputError(f"{source.name} cannot be read: {error}. It is damaged or of another format: get it again.")
