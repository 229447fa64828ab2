"""Rows as bytes: what Spark stores, reads and hands to Python in one piece, where a vector goes number by number."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.types import StructType
from scipy import sparse

from .._validation import check_positive_int
from ..exceptions import InputError
from ._arrow import packed_rows
from ._column import PACKED_ROW, Source, check_new, column_of


def pack_rows(
    dataset: DataFrame,
    n_features: int,
    *,
    inputCol: str = "features",
    outputCol: str = "rows",
    handleInvalid: str = "error",
) -> DataFrame:
    """Add a column of packed rows, which all of ``kernelsketch.spark`` takes for vectors, and gets sooner.

    Made once and stored, they save most of what Spark needs to bring a vector to Python. Codes are the same.
    A row is kept without its zeros, in 12 bytes a nonzero.

    Parameters
    ----------
    dataset : DataFrame
    n_features : int
        Width that is asked of every row, below 2**31.
    inputCol : str, default="features"
        Vectors of ``pyspark.ml``, sparse and dense mixed, or arrays of numbers.
    outputCol : str, default="rows"
        Column of packed rows: a struct of the width (``size``), and of ``indices`` and ``values`` as bytes.
    handleInvalid : {"error", "skip"}, default="error"
        What to do with rows that are null, hold a null, NaN or infinity, or have another width: refuse the first, or
        leave them out.

    Returns
    -------
    packed : DataFrame

    Examples
    --------
    >>> from pyspark.ml.linalg import Vectors
    >>> from kernelsketch.spark import GCWS, pack_rows
    >>> rows = [(Vectors.sparse(9, {1: 3.0}),), (Vectors.sparse(9, {2: 1.0, 8: -1.0}),)]
    >>> df = spark.createDataFrame(rows, ["features"])
    >>> packed = pack_rows(df, 9).drop("features")
    >>> [len(row.rows.values) for row in packed.collect()]
    [8, 16]
    >>> GCWS(n_components=4, inputCol="rows", outputCol="hashed").transform(packed).count()
    2
    """
    width = check_positive_int(n_features, "n_features")
    if width >= 2**31:
        raise InputError(f"n_features must be below 2**31, as wide as a vector of Spark can be, got {width}.")
    if handleInvalid not in ("error", "skip"):
        raise InputError(f"handleInvalid must be one of 'error', 'skip', got {handleInvalid!r}.")
    source = Source(inputCol, width, handleInvalid == "skip")
    source.check(dataset)
    check_new(dataset, outputCol)
    result = dataset.withColumn(outputCol, column_of(source, pack, StructType.fromDDL(PACKED_ROW[7:-1]), 1))
    return result.where(col(outputCol).isNotNull()) if source.skip else result


def pack(X: Any) -> Any:
    X = sparse.csr_matrix(X)
    if not X.data.all():
        X = X.copy()
        X.eliminate_zeros()
    return packed_rows(X)
