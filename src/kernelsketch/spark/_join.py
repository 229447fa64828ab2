"""Similar pairs and neighbours on a cluster: banded hash tables as an equi-join, verified by the exact kernel.

A row has a key in each of L tables: K full samples (i*, t*) mixed into 64 bits. Two rows of similarity s meet in a
table with probability s**K, and in one table at least with 1 - (1 - s**K)**L. Only ids and keys are joined; features
come in for the pairs that met.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql.functions import arrow_udf, col, desc, explode, row_number
from pyspark.sql.types import ArrayType, DoubleType, LongType
from scipy import sparse

from .._mix import GOLDEN64, mix64
from .._rows import canonical_rows
from .._validation import check_positive_int
from ..exceptions import InputError
from ..hashing import checked_hasher
from ._column import Source, column_of, type_of
from ._pairs import gmm_pairs
from ._rows import read_rows

Array = NDArray[Any]

MOST_HASHES = 256  # that a default plan takes


class _Plan(NamedTuple):
    """Tables and what goes into them."""

    n_tables: int
    n_samples: int
    p: float
    center: Any
    random_state: int
    id_column: str
    input_column: str
    skip: bool

    @property
    def source(self) -> Source:
        return Source(self.input_column, None if self.center is None else len(self.center), self.skip)


def approx_similarity_join(
    df_a: DataFrame,
    df_b: DataFrame | None,
    threshold: float,
    *,
    recall: float = 0.95,
    n_tables: int | None = None,
    n_samples: int | None = None,
    p: float = 1.0,
    center: Any = None,
    random_state: int = 0,
    idCol: str = "id",
    inputCol: str = "features",
    handleInvalid: str = "error",
) -> DataFrame:
    r"""Pairs of rows whose GMM kernel is at least a threshold: weighted Jaccard similarity, of signed data too.

    Pairs that meet in a hash table are verified by the exact kernel, so every pair that is returned is right. A pair of
    similarity s is found with probability

    .. math:: 1 - (1 - s^K)^L,

    K samples to a table (AND) and L tables (OR).

    Parameters
    ----------
    df_a, df_b : DataFrame
        With a column that tells rows apart and a column of rows. None for ``df_b`` joins ``df_a`` with itself, each
        pair once, and no row with itself.
    threshold : float
        Least similarity, above 0 and at most 1.
    recall : float, default=0.95
        Share of pairs at the threshold that are to be found; more similar ones are missed less. Gives the number of
        tables where ``n_tables`` is None.
    n_tables, n_samples : int, default=None
        L and K. By default K is the largest that takes 256 samples at most. A larger K lets fewer pairs meet by chance
        and needs more tables.
    p, center, random_state
        Of the kernel and the hash: see :class:`GCWS`.
    idCol : str, default="id"
        Column that tells rows apart, of any type that can be compared: no two rows of a side with the same.
    inputCol : str, default="features"
        Vectors or arrays, as in :class:`GCWS`.
    handleInvalid : {"error", "skip"}, default="error"
        As in :class:`GCWS`.

    Returns
    -------
    pairs : DataFrame
        ``id_a``, ``id_b`` and ``similarity``, the exact kernel.

    See Also
    --------
    approx_nearest_neighbors : the most similar rows instead of all above a threshold.

    Notes
    -----
    Rows without a nonzero value are similar to nothing and are in no pair. A million equal rows meet in every table:
    leave out duplicates first. Each side is read twice, for keys and for features: what is not the same each time,
    such as ``limit`` without an order, must be written or cached first.

    Examples
    --------
    >>> from kernelsketch.spark import approx_similarity_join
    >>> rows = [(0, [1.0, -2.0, 0.0]), (1, [1.0, -2.0, 0.5]), (2, [0.0, 2.0, 1.0])]
    >>> df = spark.createDataFrame(rows, ["id", "features"])
    >>> approx_similarity_join(df, None, 0.5, recall=0.999).collect()
    [Row(id_a=0, id_b=1, similarity=0.8571428571428571)]
    """
    plan = _plan(threshold, recall, n_tables, n_samples, p, center, random_state, idCol, inputCol, handleInvalid)
    pairs = _verified(df_a, df_b, plan)
    return pairs.where(col("similarity") >= threshold)


def approx_nearest_neighbors(
    df: DataFrame,
    queries: DataFrame,
    n_neighbors: int = 10,
    *,
    threshold: float = 0.5,
    recall: float = 0.95,
    n_tables: int | None = None,
    n_samples: int | None = None,
    p: float = 1.0,
    center: Any = None,
    random_state: int = 0,
    idCol: str = "id",
    inputCol: str = "features",
    handleInvalid: str = "error",
) -> DataFrame:
    r"""The rows with the largest GMM kernel to each query, as far as they meet it in a hash table.

    Rows that meet are ranked by the exact kernel. A query that meets fewer rows has fewer neighbours.

    Parameters
    ----------
    df, queries : DataFrame
        Each with a column that tells rows apart and a column of rows.
    n_neighbors : int, default=10
        Neighbours of a query, at most.
    threshold : float, default=0.5
        Tables are made so that a row of this similarity meets its query with probability ``recall``. Less similar rows
        are returned where they meet; lower it to meet more of them, at the price of more tables.
    recall, n_tables, n_samples, p, center, random_state, idCol, inputCol, handleInvalid
        As in :func:`approx_similarity_join`.

    Returns
    -------
    neighbors : DataFrame
        ``id_query``, ``id``, ``similarity`` (the exact kernel) and ``rank`` from 1. Rows of equal similarity are in the
        order of their ids.

    See Also
    --------
    approx_similarity_join : all pairs above a threshold.

    Examples
    --------
    >>> from kernelsketch.spark import approx_nearest_neighbors
    >>> df = spark.createDataFrame([(0, [1.0, -2.0, 0.0]), (1, [1.0, -2.0, 0.5])], ["id", "features"])
    >>> queries = spark.createDataFrame([(7, [1.0, -2.0, 0.4])], ["id", "features"])
    >>> approx_nearest_neighbors(df, queries, 1).collect()
    [Row(id_query=7, id=1, similarity=0.9714285714285714, rank=1)]
    """
    check_positive_int(n_neighbors, "n_neighbors")
    plan = _plan(threshold, recall, n_tables, n_samples, p, center, random_state, idCol, inputCol, handleInvalid)
    pairs = _verified(queries, df, plan).withColumnsRenamed({"id_a": "id_query", "id_b": "id"})
    by_query = Window.partitionBy("id_query").orderBy(desc("similarity"), "id")
    return pairs.withColumn("rank", row_number().over(by_query)).where(col("rank") <= n_neighbors)


def tables_for(threshold: float, recall: float, n_samples: int | None = None) -> tuple[int, int]:
    """(tables, samples a table) that find pairs at the threshold with a probability of ``recall``."""

    def tables(samples: int) -> int:
        meeting = threshold**samples
        return 1 if meeting >= 1 else max(1, math.ceil(math.log1p(-recall) / math.log1p(-meeting)))

    if n_samples is None:
        fitting = [samples for samples in range(1, 33) if samples * tables(samples) <= MOST_HASHES]
        n_samples = max(fitting, default=1)
    return tables(n_samples), n_samples


def keys_of(i: Array, t: Array, n_samples: int) -> Array:
    """64-bit keys (rows, tables) of full samples (rows, tables * n_samples): a mix of the table and its samples."""
    n, hashes = i.shape
    shape = n, hashes // n_samples, n_samples
    slots, times = i.reshape(shape).astype(np.uint64), t.reshape(shape).astype(np.uint64)
    keys = np.broadcast_to(mix64(np.arange(shape[1], dtype=np.uint64) + np.uint64(1)), shape[:2])
    for sample in range(n_samples):
        keys = mix64((keys ^ slots[:, :, sample]) * np.uint64(GOLDEN64) ^ mix64(times[:, :, sample]))
    return np.ascontiguousarray(keys).view(np.int64)


def _plan(
    threshold: float,
    recall: float,
    n_tables: int | None,
    n_samples: int | None,
    p: float,
    center: Any,
    random_state: int,
    id_column: str,
    input_column: str,
    handling: str,
) -> _Plan:
    if not 0 < threshold <= 1:
        raise InputError(f"threshold must be above 0 and at most 1, got {threshold!r}.")
    if not 0 < recall < 1:
        raise InputError(f"recall must be between 0 and 1, got {recall!r}.")
    if handling not in ("error", "skip"):
        raise InputError(f"handleInvalid must be one of 'error', 'skip', got {handling!r}.")
    if n_samples is not None:
        check_positive_int(n_samples, "n_samples")
    tables, samples = tables_for(threshold, recall, n_samples)
    tables = tables if n_tables is None else check_positive_int(n_tables, "n_tables")
    center = None if center is None else [float(x) for x in center]
    if random_state is None or isinstance(random_state, np.random.RandomState):
        raise InputError("random_state must be a whole number: all workers must draw the same.")
    checked_hasher(n_components=tables * samples, seed=random_state, p=p, center=center)
    return _Plan(tables, samples, float(p), center, int(random_state), id_column, input_column, handling == "skip")


def _verified(df_a: DataFrame, df_b: DataFrame | None, plan: _Plan) -> DataFrame:
    """Pairs that meet in a table, with their exact kernel."""
    itself = df_b is None
    left = _side(df_a, plan, "a")
    right = _side(df_a if df_b is None else df_b, plan, "b")
    met = _keyed(left, plan, "a").join(_keyed(right, plan, "b"), "key").select("id_a", "id_b")
    if itself:
        met = met.where(col("id_a") < col("id_b"))
    pairs = met.distinct().join(left, "id_a").join(right, "id_b")

    def similarities(columns: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        return _similarities(plan, columns)

    similarity = arrow_udf(similarities, DoubleType())("x_a", "x_b")
    return pairs.select("id_a", "id_b", similarity.alias("similarity"))


def _side(dataset: DataFrame, plan: _Plan, side: str) -> DataFrame:
    plan.source.check(dataset)
    type_of(dataset, plan.id_column)
    return dataset.select(col(plan.id_column).alias(f"id_{side}"), col(plan.input_column).alias(f"x_{side}"))


def _keyed(rows: DataFrame, plan: _Plan, side: str) -> DataFrame:
    """(id, key), a row for each table."""
    source = Source(f"x_{side}", plan.source.width, plan.skip)
    given: dict[str, Any] = {"n_components": plan.n_tables * plan.n_samples, "p": plan.p, "seed": plan.random_state}
    given["center"] = None if plan.center is None else np.asarray(plan.center, np.float64)
    keys: Column = column_of(
        source, partial(_keys, given, plan.n_samples), ArrayType(LongType()), 2 * plan.n_tables * plan.n_samples
    )
    return rows.select(f"id_{side}", explode(keys).alias("key"))


def _keys(given: dict[str, Any], n_samples: int, X: Any) -> Any:
    if given["center"] is not None and sparse.issparse(X):
        X = X.toarray()
    i, t = checked_hasher(**given).samples(canonical_rows(X))
    filled = i[:, 0] >= 0
    keys = keys_of(i[filled], t[filled], n_samples)
    offsets = np.concatenate([[0], np.cumsum(np.where(filled, i.shape[1] // n_samples, 0))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(keys.ravel()))


def _similarities(plan: _Plan, columns: Iterator[tuple[Any, Any]]) -> Iterator[Any]:
    for a, b in columns:
        (U, _), (V, _) = read_rows(a, plan.source.width), read_rows(b, plan.source.width)
        yield pa.array(gmm_pairs(U, V, plan.p, plan.center) if len(a) else np.empty(0))
