"""Apply a function of rows to a column: checks on the driver, computation on the workers in Arrow batches.

Spark sends a worker only the name of the function, which must be importable there, and its parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import arrow_udf
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, IntegralType, StringType

from ..exceptions import InputError, InputTypeError, Setting
from ._rows import FAULTS, read_rows

PIECE = 1 << 24  # most numbers per output batch; bounds the memory and the 32-bit offsets of Arrow

PACKED_ROW = "struct<size:int,indices:binary,values:binary>"  # the type of the column that pack_rows adds

COLUMNAR = "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled"


@dataclass(frozen=True)
class RowColumn:
    """The input column: its name, the required width of every row, and whether rows with a fault are skipped.

    A width of None allows any width.
    """

    column: str
    width: int | None
    skip: bool

    def check(self, dataset: DataFrame) -> None:
        """Refuse columns of a wrong type before a job starts, and switch off columnar input of Python functions."""
        switch_off_columnar_input(dataset)
        kind = type_of(dataset, self.column)
        if isinstance(kind, VectorUDT) or kind.simpleString() == PACKED_ROW:
            return
        if isinstance(kind, ArrayType) and isinstance(kind.elementType, (FloatType, DoubleType, IntegralType)):
            return
        advice = "pyspark.ml.feature.VectorAssembler makes vectors from columns"
        if type(kind).__module__.startswith("pyspark.mllib"):
            advice = "pyspark.mllib.util.MLUtils.convertVectorColumnsToML converts this type"
        raise InputTypeError(
            f"column {self.column!r} is of type {kind.simpleString()}: vectors of pyspark.ml or arrays of numbers are "
            f"needed. {advice}."
        )


def switch_off_columnar_input(dataset: DataFrame) -> None:
    """Since version 4.3 Spark can hand whole Parquet columns to Python, but this mode does not support vectors."""
    if dataset.sparkSession.conf.get(COLUMNAR, "true") == "true":
        dataset.sparkSession.conf.set(COLUMNAR, "false")


def skips(handling: str) -> bool:
    """Check ``handleInvalid``; return whether rows with a fault are skipped."""
    if handling not in ("error", "skip"):
        raise InputError(Setting("handleInvalid"), f" must be one of 'error', 'skip', got {handling!r}.")
    return handling == "skip"


def type_of(dataset: DataFrame, column: str) -> DataType:
    if column not in dataset.columns:
        raise InputError(f"there is no column {column!r}: the columns are {', '.join(dataset.columns)}.")
    kind: DataType = dataset.schema[column].dataType
    return kind


def check_new(dataset: DataFrame, *columns: str) -> None:
    for column in columns:
        if column in dataset.columns:
            raise InputError(f"there is a column {column!r} already: rename the result, or drop the column.")


def column_of(source: RowColumn, compute: Callable[[Any], Any], kind: DataType, numbers_per_row: int) -> Column:
    """Return the column that results from ``compute``, a function from a matrix of rows to an Arrow array.

    A row with a fault raises an error, or is null in the result if the source skips such rows.
    """
    rows = max(1, PIECE // max(1, numbers_per_row))

    def in_batches(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        return _each_batch(source, compute, rows, columns)

    return arrow_udf(in_batches, kind)(source.column)


def fault_column(source: RowColumn) -> Column:
    """Return a column that describes the fault of each row, and is null for rows without a fault."""

    def faults(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        return _each_fault(source, columns)

    return arrow_udf(faults, StringType())(source.column)


def _each_batch(
    source: RowColumn, compute: Callable[[Any], Any], rows: int, columns: Iterator[pa.Array]
) -> Iterator[pa.Array]:
    done = 0
    for column in columns:
        for start in range(0, len(column), rows):
            part = column.slice(start, rows)
            X, faults = read_rows(part, source.width)
            if faults.any() and not source.skip:
                first = int(np.argmax(faults != 0))
                raise InputError(_sentence(source, done + first, int(faults[first])))
            done += len(part)
            computed = compute(X if X.shape[0] else np.zeros((1, X.shape[1])))  # one row for the type if none is valid
            yield _scattered(computed, faults) if faults.any() else computed


def _each_fault(source: RowColumn, columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
    words = np.array([fault.format(width=source.width) for fault in FAULTS], object)
    for column in columns:
        _, faults = read_rows(column, source.width)
        yield pa.array(words[faults], pa.string(), mask=faults == 0)


def _scattered(computed: Any, faults: Any) -> Any:
    """Return the results of valid rows at their positions, and null elsewhere."""
    good = faults == 0
    return computed.take(pa.array(np.cumsum(good) - 1, mask=~good))


def _sentence(source: RowColumn, row: int, fault: int) -> str:
    task = TaskContext.get()
    where = "" if task is None else f" of partition {task.partitionId()}"
    return (
        f"column {source.column!r}, row {row}{where} (counted from 0), {FAULTS[fault].format(width=source.width)}. "
        "invalid_rows(dataset) returns all such rows; handleInvalid='skip' skips them."
    )
