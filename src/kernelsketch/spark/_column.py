"""A function of rows as a function of a column: checked on the driver, computed on the workers in Arrow batches.

A worker gets the function, which is found by its name where kernelsketch is installed, and its parameters.
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

from ..exceptions import InputError, InputTypeError
from ._rows import FAULTS, read_rows

PIECE = 1 << 24  # numbers that come out at a time, at most: bounds memory, and offsets of Arrow, which are 32 bits

PACKED_ROW = "struct<size:int,indices:binary,values:binary>"  # what pack_rows makes

COLUMNAR = "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled"


@dataclass(frozen=True)
class Source:
    """A column of rows: its name, the width that is asked of every row (None: any), and whether faults are skipped."""

    column: str
    width: int | None
    skip: bool

    def check(self, dataset: DataFrame) -> None:
        """Refuse what cannot be rows, before a job starts; and have Spark hand rows to Python by rows.

        Since 4.3 it hands over whole columns where they come from Parquet, and then knows no vectors.
        """
        if dataset.sparkSession.conf.get(COLUMNAR, "true") == "true":
            dataset.sparkSession.conf.set(COLUMNAR, "false")
        kind = type_of(dataset, self.column)
        if isinstance(kind, VectorUDT) or kind.simpleString() == PACKED_ROW:
            return
        if isinstance(kind, ArrayType) and isinstance(kind.elementType, (FloatType, DoubleType, IntegralType)):
            return
        advice = "pyspark.ml.feature.VectorAssembler makes vectors of columns"
        if type(kind).__module__.startswith("pyspark.mllib"):
            advice = "pyspark.mllib.util.MLUtils.convertVectorColumnsToML makes them of these"
        raise InputTypeError(
            f"column {self.column!r} is of type {kind.simpleString()}: vectors of pyspark.ml or arrays of numbers are "
            f"needed; {advice}."
        )


def type_of(dataset: DataFrame, column: str) -> DataType:
    if column not in dataset.columns:
        raise InputError(f"there is no column {column!r}: there are {', '.join(dataset.columns)}.")
    kind: DataType = dataset.schema[column].dataType
    return kind


def check_new(dataset: DataFrame, *columns: str) -> None:
    for column in columns:
        if column in dataset.columns:
            raise InputError(f"there is a column {column!r} already: name another for the result, or drop it.")


def column_of(source: Source, compute: Callable[[Any], Any], kind: DataType, numbers_a_row: int) -> Column:
    """The column that ``compute`` makes of rows: a function of a matrix that gives an array of Arrow.

    Rows with a fault are refused, or null in the result where the source skips them.
    """
    rows = max(1, PIECE // max(1, numbers_a_row))

    def in_batches(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        return _each_batch(source, compute, rows, columns)

    return arrow_udf(in_batches, kind)(source.column)


def fault_column(source: Source) -> Column:
    """What is wrong with each row, in words; null where nothing is."""

    def faults(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        return _each_fault(source, columns)

    return arrow_udf(faults, StringType())(source.column)


def _each_batch(
    source: Source, compute: Callable[[Any], Any], rows: int, columns: Iterator[pa.Array]
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
            computed = compute(X if X.shape[0] else np.zeros((1, X.shape[1])))  # a row for the type, where none is good
            yield _scattered(computed, faults) if faults.any() else computed


def _each_fault(source: Source, columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
    words = np.array([fault.format(width=source.width) for fault in FAULTS], object)
    for column in columns:
        _, faults = read_rows(column, source.width)
        yield pa.array(words[faults], pa.string(), mask=faults == 0)


def _scattered(computed: Any, faults: Any) -> Any:
    """Results of good rows at their places, null elsewhere."""
    good = faults == 0
    return computed.take(pa.array(np.cumsum(good) - 1, mask=~good))


def _sentence(source: Source, row: int, fault: int) -> str:
    task = TaskContext.get()
    where = "" if task is None else f" of partition {task.partitionId()}"
    return (
        f"column {source.column!r}, row {row}{where} (counted from 0), {FAULTS[fault].format(width=source.width)}. "
        "invalid_rows(dataset) shows all such rows; handleInvalid='skip' leaves them out."
    )
