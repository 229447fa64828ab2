"""Similarity joins and nearest neighbours on a cluster: LSH tables as an equi-join, verified by the exact kernel.

A row has one key in each of L LSH tables, a 64-bit mix of K full samples (i*, t*). Two rows of similarity s have equal
keys in a table with probability s**K, and in at least one table with probability 1 - (1 - s**K)**L. Such pairs are
candidates. The join on keys moves only ids and keys; features are added for the candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql.functions import arrow_udf, col, desc, explode, row_number
from pyspark.sql.types import ArrayType, DoubleType, LongType
from scipy import sparse

from .._array import Array
from .._hash_parameters import checked_hasher
from .._mix import GOLDEN64, mix64
from .._rows import canonical_rows
from .._validation import check_fraction, check_positive_int
from ..exceptions import InputError, Setting
from ..hashing import Hasher
from ._column import RowColumn, column_of, skips, type_of
from ._pairs import gmm_pairs
from ._rows import read_rows

MOST_HASHES = 256  # most hashes per row with default parameters


class _JoinPlan(NamedTuple):
    """The checked parameters of a join."""

    threshold: float
    hashes_per_table: int
    hasher: Hasher
    id_column: str
    input_column: str
    skip: bool

    def source(self, column: str) -> RowColumn:
        center = self.hasher.center
        return RowColumn(column, None if center is None else len(center), self.skip)


def approx_similarity_join(
    df_a: DataFrame,
    df_b: DataFrame | None,
    threshold: float,
    *,
    recall: float = 0.95,
    n_tables: int | None = None,
    hashes_per_table: int | None = None,
    p: float = 1.0,
    center: Any = None,
    random_state: int = 0,
    idCol: str = "id",
    inputCol: str = "features",
    handleInvalid: str = "error",
) -> DataFrame:
    r"""Find pairs of rows whose GMM kernel (generalized weighted Jaccard similarity) is at least a threshold.

    Pairs with equal keys in an LSH table are candidates. The exact kernel verifies every candidate, so all returned
    pairs are correct. The join finds a pair of similarity s with probability

    .. math:: 1 - (1 - s^K)^L,

    where K is ``hashes_per_table`` and L is ``n_tables``.

    Parameters
    ----------
    df_a, df_b : DataFrame
        The two sides of the join, each with a column of ids and a column of rows. With None for ``df_b``, ``df_a`` is
        joined with itself; the result has each pair once and no pairs of a row with itself.
    threshold : float
        Smallest similarity of returned pairs, above 0 and at most 1.
    recall : float, default=0.95
        Expected fraction of the pairs of similarity ``threshold`` that are found, above 0 and below 1. More similar
        pairs are found with a higher probability. It determines the number of tables if ``n_tables`` is None.
    n_tables : int, default=None
        Number of LSH tables, L. More tables find more pairs and take more time. None means the smallest number that
        reaches ``recall``.
    hashes_per_table : int, default=None
        Number of hashes per table, K. A larger K gives fewer candidates by chance and needs more tables. None means the
        largest number, up to 32, for which all tables together take at most 256 hashes per row.
    p, center, random_state
        Parameters of the kernel and the hash; see :class:`GCWS`.
    idCol : str, default="id"
        Column of ids, of any type that can be ordered. Ids must be unique on each side.
    inputCol : str, default="features"
        Column of rows; see :class:`GCWS`.
    handleInvalid : {"error", "skip"}, default="error"
        What to do with invalid rows; see :class:`GCWS`.

    Returns
    -------
    pairs : DataFrame
        The pairs, with the columns ``id_a``, ``id_b`` and ``similarity``, the exact kernel.

    See Also
    --------
    approx_nearest_neighbors : The most similar rows instead of all rows above a threshold.

    Notes
    -----
    All-zero rows are never part of a pair. Equal rows are candidates in every table, so drop exact duplicates first if
    there are many. Spark reads each side twice, once for the keys and once for the features. Write or cache a DataFrame
    that can differ between two reads, such as the result of ``limit`` without an order.

    Examples
    --------
    >>> from kernelsketch.spark import approx_similarity_join
    >>> rows = [(0, [1.0, -2.0, 0.0]), (1, [1.0, -2.0, 0.5]), (2, [0.0, 2.0, 1.0])]
    >>> df = spark.createDataFrame(rows, ["id", "features"])
    >>> approx_similarity_join(df, None, 0.5, recall=0.999).collect()
    [Row(id_a=0, id_b=1, similarity=0.8571428571428571)]
    """
    threshold = check_fraction(threshold, "threshold", with_one=True)
    recall = check_fraction(recall, "recall", with_one=False)
    if hashes_per_table is not None:
        check_positive_int(hashes_per_table, "hashes_per_table")
    tables, hashes = join_tables(threshold, recall, hashes_per_table)
    tables = tables if n_tables is None else check_positive_int(n_tables, "n_tables")
    if random_state is None or isinstance(random_state, np.random.RandomState):
        raise InputError(
            Setting("random_state"), f" must be a whole number, got {random_state!r}: all workers need the same seed."
        )
    center = None if center is None else np.array([float(x) for x in center])
    hasher = checked_hasher(n_components=tables * hashes, seed=random_state, p=p, center=center)
    plan = _JoinPlan(threshold, hashes, hasher, idCol, inputCol, skips(handleInvalid))
    left = _side(df_a, plan, "a")
    right = _side(df_a if df_b is None else df_b, plan, "b")
    met = _keyed(left, plan, "a").join(_keyed(right, plan, "b"), "key").select("id_a", "id_b")
    if df_b is None:
        met = met.where(col("id_a") < col("id_b"))
    pairs = met.distinct().join(left, "id_a").join(right, "id_b")

    def similarities(columns: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        return _similarities(plan, columns)

    similarity = arrow_udf(similarities, DoubleType())("x_a", "x_b")
    return pairs.select("id_a", "id_b", similarity.alias("similarity")).where(col("similarity") >= plan.threshold)


def approx_nearest_neighbors(
    df: DataFrame,
    queries: DataFrame,
    n_neighbors: int = 5,
    *,
    threshold: float = 0.5,
    recall: float = 0.95,
    n_tables: int | None = None,
    hashes_per_table: int | None = None,
    p: float = 1.0,
    center: Any = None,
    random_state: int = 0,
    idCol: str = "id",
    inputCol: str = "features",
    handleInvalid: str = "error",
) -> DataFrame:
    r"""Find the rows with the largest GMM kernel to each query among the candidates of its LSH tables.

    Rows that share a key with the query in an LSH table are candidates, and the exact kernel ranks them. A query with
    fewer than ``n_neighbors`` candidates of at least the threshold gets fewer neighbours.

    Parameters
    ----------
    df, queries : DataFrame
        The rows to search and the queries, each with a column of ids and a column of rows.
    n_neighbors : int, default=5
        Largest number of neighbours per query.
    threshold : float, default=0.5
        Smallest similarity of a neighbour, above 0 and at most 1. A lower threshold finds more neighbours and needs
        more tables.
    recall, n_tables, hashes_per_table, p, center, random_state, idCol, inputCol, handleInvalid
        See :func:`approx_similarity_join`.

    Returns
    -------
    neighbors : DataFrame
        The neighbours, with the columns ``id_query``, ``id``, ``similarity`` (the exact kernel) and ``rank``, which
        starts at 1. Rows of equal similarity are ranked by their ids.

    See Also
    --------
    approx_similarity_join : All pairs above a threshold.

    Examples
    --------
    >>> from kernelsketch.spark import approx_nearest_neighbors
    >>> df = spark.createDataFrame([(0, [1.0, -2.0, 0.0]), (1, [1.0, -2.0, 0.5])], ["id", "features"])
    >>> queries = spark.createDataFrame([(7, [1.0, -2.0, 0.4])], ["id", "features"])
    >>> approx_nearest_neighbors(df, queries, 1).collect()
    [Row(id_query=7, id=1, similarity=0.9714285714285714, rank=1)]
    """
    check_positive_int(n_neighbors, "n_neighbors")
    pairs = approx_similarity_join(
        queries,
        df,
        threshold,
        recall=recall,
        n_tables=n_tables,
        hashes_per_table=hashes_per_table,
        p=p,
        center=center,
        random_state=random_state,
        idCol=idCol,
        inputCol=inputCol,
        handleInvalid=handleInvalid,
    ).withColumnsRenamed({"id_a": "id_query", "id_b": "id"})
    by_query = Window.partitionBy("id_query").orderBy(desc("similarity"), "id")
    return pairs.withColumn("rank", row_number().over(by_query)).where(col("rank") <= n_neighbors)


def join_tables(threshold: float, recall: float, hashes_per_table: int | None = None) -> tuple[int, int]:
    """Return the numbers of tables and hashes per table that find pairs at the threshold with the given recall."""

    def tables(hashes: int) -> int:
        collision = threshold**hashes
        return 1 if collision >= 1 else max(1, math.ceil(math.log1p(-recall) / math.log1p(-collision)))

    if hashes_per_table is None:
        fitting = [hashes for hashes in range(1, 33) if hashes * tables(hashes) <= MOST_HASHES]
        hashes_per_table = max(fitting, default=1)
    return tables(hashes_per_table), hashes_per_table


def keys_of(i: Array, t: Array, hashes_per_table: int) -> Array:
    """Return 64-bit keys of shape (rows, tables) of samples of shape (rows, tables * hashes_per_table).

    A key is a mix of the number of the table and its samples.
    """
    n, hashes = i.shape
    shape = n, hashes // hashes_per_table, hashes_per_table
    slots, times = i.reshape(shape).astype(np.uint64), t.reshape(shape).astype(np.uint64)
    keys = np.broadcast_to(mix64(np.arange(shape[1], dtype=np.uint64) + np.uint64(1)), shape[:2])
    for sample in range(hashes_per_table):
        keys = mix64((keys ^ slots[:, :, sample]) * np.uint64(GOLDEN64) ^ mix64(times[:, :, sample]))
    return np.ascontiguousarray(keys).view(np.int64)


def _side(dataset: DataFrame, plan: _JoinPlan, side: str) -> DataFrame:
    plan.source(plan.input_column).check(dataset)
    type_of(dataset, plan.id_column)
    return dataset.select(col(plan.id_column).alias(f"id_{side}"), col(plan.input_column).alias(f"x_{side}"))


def _keyed(rows: DataFrame, plan: _JoinPlan, side: str) -> DataFrame:
    """Return ids and keys, one row per table."""
    compute, n_numbers = partial(_keys, plan.hasher, plan.hashes_per_table), 2 * plan.hasher.n_components
    keys = column_of(plan.source(f"x_{side}"), compute, ArrayType(LongType()), n_numbers)
    return rows.select(f"id_{side}", explode(keys).alias("key"))


def _keys(hasher: Hasher, hashes_per_table: int, X: Any) -> Any:
    if hasher.center is not None and sparse.issparse(X):
        X = X.toarray()
    i, t = hasher.samples(canonical_rows(X))
    filled = i[:, 0] >= 0
    keys = keys_of(i[filled], t[filled], hashes_per_table)
    offsets = np.concatenate([[0], np.cumsum(np.where(filled, i.shape[1] // hashes_per_table, 0))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(keys.ravel()))


def _similarities(plan: _JoinPlan, columns: Iterator[tuple[Any, Any]]) -> Iterator[Any]:
    hasher, width = plan.hasher, plan.source("").width
    for a, b in columns:
        (U, _), (V, _) = read_rows(a, width), read_rows(b, width)
        yield pa.array(gmm_pairs(U, V, hasher.p, hasher.center) if len(a) else np.empty(0))
