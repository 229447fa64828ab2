"""Near-duplicate texts of a DataFrame: the exact join of one machine, as joins of Spark.

::

    members     (id, rank, key, norm) of every text; equal texts have equal keys
    heads       (node, norm) of every key: node is the rank of the member that may stay, and holds its id
    prefixes    (feature, node, norm): the rarest features of a head, by a table of counts that all workers share
    pairs       heads that share a feature, whose exact similarity reaches the threshold
    links       (node, root, similarity), by single linkage or stars

A rank is a struct that ends with the id; of two members the one of smaller rank stays. Texts travel only to be
compared: once per head for each side of the pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import (
    bitwise_not,
    coalesce,
    col,
    count_if,
    explode,
    greatest,
    isnan,
    least,
    length,
    lit,
    struct,
    when,
)
from pyspark.sql.functions import max as largest
from pyspark.sql.functions import min as smallest
from pyspark.sql.functions import sum as total
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DoubleType,
    FloatType,
    IntegralType,
    LongType,
    NumericType,
    StringType,
)
from sklearn.base import clone

from ..exceptions import InputError, InputTypeError, Setting
from ..neighbors import SHINGLE_WORDS, counters_for
from ..text import Shingles
from . import _texts
from ._column import COLUMNAR, type_of
from ._components import kept, single_linkage, stars, until_kept

MOST_COUNTERS = 1 << 25  # bytes of the table of counts that every worker gets
MOST_FREQUENCIES = 1 << 24  # shingles with a document frequency, which every worker gets


class _Plan(NamedTuple):
    """The checked parameters."""

    threshold: float
    how: str
    shingles: Shingles
    skip: bool
    id_column: str
    text_column: str
    keep: str


def dedup(
    df: DataFrame,
    inputCol: str = "text",
    *,
    threshold: float = 0.8,
    how: str = "single",
    keep: str = "first",
    shingles: Shingles | None = None,
    idCol: str = "id",
    handleInvalid: str = "error",
) -> DataFrame:
    """Find near-duplicates among the texts of a DataFrame, and say which of them to keep.

    The clusters are those that :func:`kernelsketch.dedup` finds on one machine among the same texts in the order of
    their ids. Equal texts are found first, by a hash of their shingles, so that any number of them costs little. Other
    texts are compared if they share one of their rarest shingles, and the exact weighted Jaccard similarity decides; no
    pair is missed.

    Parameters
    ----------
    df : DataFrame
        The texts, one per row.
    inputCol : str, default="text"
        Column of texts, strings or binary in UTF-8.
    threshold : float, default=0.8
        Smallest similarity of near-duplicates, above 0 and at most 1.
    how : {"single", "star"}, default="single"
        Whether clusters are chains of near-duplicates (single linkage), or every member is a near-duplicate of the one
        that stays; see :class:`kernelsketch.NearDuplicates`.
    keep : {"first", "longest"} or str, default="first"
        Which member of a cluster stays: the one of the smallest id, the longest text, or the one of the largest number
        in the column of this name. Among equals the smallest id decides.
    shingles : Shingles, default=None
        How texts become rows. None is ``Shingles(5)``, runs of five words. With ``weight="idf"`` the document
        frequencies are those of the texts of the DataFrame.
    idCol : str, default="id"
        Column of ids, of any type that can be ordered. Ids must be unique.
    handleInvalid : {"error", "skip"}, default="error"
        What to do if a text is null, or a number of the column ``keep`` is null or NaN. With ``"skip"`` a row without a
        text is not compared and stays, and a row without a number stays only if no other of its cluster has one.

    Returns
    -------
    clusters : DataFrame
        For every row its id, under the name of the id column; ``cluster``, the id of the row that stays;
        ``similarity`` to that row, 1 for those that stay; and ``keep``, whether the row stays. Rows are in no order.

    See Also
    --------
    kernelsketch.dedup : The same for a list of texts on one machine.

    Notes
    -----
    The work is done at once, when the function is called. Connected components take a few rounds of joins, each of
    which is kept: in the checkpoint folder of the session, if it has one, and otherwise on two workers. If both are
    lost, the work begins again; if they are lost after the function has returned, the result is lost as well. Pairs
    never come to the driver, which only gets a table of counts of at most 32 MB, and with ``weight="idf"`` the
    frequencies of the shingles that occur in at least two texts, 16 bytes each.

    Spark reads ``df`` several times. Write or cache a DataFrame that can differ between two reads, or that takes long
    to compute. Join the result with it by the id to get the texts that stay.

    On one machine LSH tables take over where more candidates share a shingle than could be compared in good time; here
    all of them are compared.

    Examples
    --------
    >>> from kernelsketch.spark import dedup
    >>> texts = ["The quick brown fox jumps over the lazy dog in the park.", "Something else.",
    ...          "The quick brown fox jumps over the lazy dog in the garden!", "something  ELSE"]
    >>> df = spark.createDataFrame(list(enumerate(texts)), ["id", "text"])
    >>> found = dedup(df, threshold=0.7).orderBy("id").collect()
    >>> [(row.cluster, row.keep) for row in found]
    [(0, True), (1, True), (0, False), (1, False)]
    """
    plan = _plan(threshold, how, keep, shingles, idCol, inputCol, handleInvalid)
    documents = _documents(df, plan)
    return until_kept(lambda: _clusters(documents, plan))


def _clusters(documents: DataFrame, plan: _Plan) -> DataFrame:
    """Return the result of :func:`dedup`."""
    if plan.shingles.weight == "idf":
        plan = plan._replace(shingles=_with_frequencies(documents, plan.shingles))
    members = kept(_members(documents, plan))
    size = _check_members(members, plan)
    heads = kept(
        members.where(col("key").isNotNull())
        .groupBy("key")
        .agg(smallest("rank").alias("node"), smallest("norm").alias("norm"))
    )
    texts = heads.join(documents.select("id", "text"), heads["node"]["id"] == col("id")).select("node", "norm", "text")
    pairs = kept(_pairs(texts, size, plan))
    links = single_linkage(pairs) if plan.how == "single" else stars(pairs)
    links = kept(_with_similarity(links, texts, plan, "node", "root"))
    found = members.join(heads.select("key", "node").join(links, "node", "left"), "key", "left")
    cluster = coalesce(col("root")["id"], col("node")["id"], col("id"))
    return kept(
        found.select(
            col("id").alias(plan.id_column),
            cluster.alias("cluster"),
            coalesce("similarity", lit(1.0)).alias("similarity"),
            (cluster == col("id")).alias("keep"),
        )
    )


def _plan(
    threshold: float,
    how: str,
    keep: str,
    shingles: Shingles | None,
    id_column: str,
    text_column: str,
    handling: str,
) -> _Plan:
    if not 0 < threshold <= 1:
        raise InputError(Setting("threshold"), f" must be above 0 and at most 1, got {threshold!r}.")
    if how not in ("single", "star"):
        raise InputError(Setting("how"), f" must be one of 'single', 'star', got {how!r}.")
    if handling not in ("error", "skip"):
        raise InputError(Setting("handleInvalid"), f" must be one of 'error', 'skip', got {handling!r}.")
    if id_column in ("cluster", "similarity", "keep"):
        raise InputError(Setting("idCol", id_column), " is the name of a column of the result: rename it in df.")
    made = Shingles(SHINGLE_WORDS) if shingles is None else shingles
    clone(made).fit([])  # checks its parameters before a job starts
    return _Plan(float(threshold), how, made, handling == "skip", id_column, text_column, keep)


def _documents(df: DataFrame, plan: _Plan) -> DataFrame:
    """Return the columns id, text and rank, and ``unranked``: whether the row has no number to be ranked by."""
    if df.sparkSession.conf.get(COLUMNAR, "true") == "true":
        df.sparkSession.conf.set(COLUMNAR, "false")
    type_of(df, plan.id_column)
    kind = type_of(df, plan.text_column)
    if not isinstance(kind, (StringType, BinaryType)):
        raise InputTypeError(
            f"column {plan.text_column!r} is of type {kind.simpleString()}: strings are needed. Cast it, or name "
            "another column."
        )
    level = _level(df, plan)
    parts = [level.isNull().alias("unranked"), coalesce(level, lit(0)).alias("level")] if level is not None else []
    name = col(plan.id_column).alias("id")
    unranked = lit(False) if level is None else level.isNull()
    return df.select(
        name, col(plan.text_column).alias("text"), struct(*parts, name).alias("rank"), unranked.alias("unranked")
    )


def _with_frequencies(documents: DataFrame, shingles: Shingles) -> Shingles:
    """Return the shingles with the document frequencies of all texts."""
    plain = clone(shingles).set_params(weight="count")

    def features(batches: Iterator[Any]) -> Iterator[Any]:
        return _texts.features(plain, batches)

    texts = documents.where(col("text").isNotNull())
    found = texts.select("text").mapInArrow(features, _texts.FEATURES).groupBy("feature").count()
    often = kept(found.where(col("count") >= 2))
    size = often.count()
    if size > MOST_FREQUENCIES:
        raise InputError(
            f"shingles: weight='idf' needs the frequencies of {size:,} shingles on every worker, and at most "
            f"{MOST_FREQUENCIES:,} are supported: use weight 'count', 'log' or 'binary', or fewer words per shingle.",
            parameter="shingles",
        )
    made = clone(shingles)
    made.frequencies_ = _texts.frequencies(often.toArrow(), texts.count())
    return made


def _level(df: DataFrame, plan: _Plan) -> Column | None:
    """Return a number that is smallest for the row that stays, or None if ids alone decide."""
    if plan.keep == "first":
        return None
    if plan.keep == "longest":
        return -coalesce(length(plan.text_column), lit(0))
    if plan.keep not in df.columns:
        raise InputError(
            Setting("keep"),
            f" must be 'first', 'longest' or a column of numbers, got {plan.keep!r}: the columns are "
            f"{', '.join(df.columns)}.",
        )
    kind, value = df.schema[plan.keep].dataType, col(plan.keep)
    if isinstance(kind, BooleanType):
        return -value.cast("int")
    if isinstance(kind, IntegralType):
        return bitwise_not(value)  # -value - 1, which exists for the smallest number too
    if not isinstance(kind, NumericType):
        raise InputTypeError(f"column {plan.keep!r} is of type {kind.simpleString()}: keep needs numbers. Cast it.")
    return when(~isnan(value), -value) if isinstance(kind, (FloatType, DoubleType)) else -value


def _members(documents: DataFrame, plan: _Plan) -> DataFrame:
    def keys(column: Any) -> Any:
        return _texts.keys(plan.shingles, column)

    found = _texts.column_of_texts(keys, _texts.KEYS, "text")
    rows = documents.select("id", "rank", "unranked", col("text").isNull().alias("absent"), found.alias("found"))
    return rows.select("id", "rank", "unranked", "absent", "found.key", "found.norm", "found.size")


def _check_members(members: DataFrame, plan: _Plan) -> int:
    """Refuse ids and texts that cannot be; return the number of nonzeros of all rows."""
    facts = members.agg(
        count_if(col("id").isNull()).alias("nameless"),
        count_if(col("absent")).alias("absent"),
        smallest(when(col("absent"), col("id"))).alias("absent_id"),
        count_if(col("unranked")).alias("unranked"),
        smallest(when(col("unranked"), col("id"))).alias("unranked_id"),
        total("size").alias("size"),
    ).collect()[0]
    if facts.nameless:
        raise InputError(f"column {plan.id_column!r} is null in {facts.nameless:,} rows: give every row an id.")
    twice = members.groupBy("id").count().agg(largest(when(col("count") > 1, col("id")))).collect()[0][0]
    if twice is not None:
        raise InputError(f"column {plan.id_column!r} has an id more than once, for example {twice!r}: make ids unique.")
    advice = "Fix them, or pass handleInvalid='skip'."
    if facts.absent and not plan.skip:
        raise InputError(
            f"column {plan.text_column!r} is null in {facts.absent:,} rows, for example that of id "
            f"{facts.absent_id!r}. {advice}"
        )
    if facts.unranked and not plan.skip:
        raise InputError(
            f"column {plan.keep!r} is null or NaN in {facts.unranked:,} rows, for example that of id "
            f"{facts.unranked_id!r}. {advice}"
        )
    return int(facts.size or 0)


def _pairs(texts: DataFrame, size: int, plan: _Plan) -> DataFrame:
    """Return the pairs (a, b) of heads of at least the threshold, a before b."""
    counters = len(counters_for(size, MOST_COUNTERS))

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        return _texts.count_features(plan.shingles, counters, batches)

    chunks = texts.select("text").mapInArrow(count, _texts.COUNTS)
    chunks = chunks.groupBy("chunk").applyInArrow(_texts.add_counts, _texts.COUNTS)
    counts = _texts.joined_counts(chunks.collect(), counters).tobytes()

    def prefixes(column: Any) -> Any:
        return _texts.prefixes(plan.shingles, counts, plan.threshold, column)

    found = _texts.column_of_texts(prefixes, ArrayType(LongType()), "text")
    entries = kept(texts.select("node", "norm", explode(found).alias("feature")))
    left = entries.select("feature", col("node").alias("a"), col("norm").alias("norm_a"))
    right = entries.select("feature", col("node").alias("b"), col("norm").alias("norm_b"))
    able = least("norm_a", "norm_b") >= plan.threshold * greatest("norm_a", "norm_b") * (1 - 2.0**-20)
    met = left.join(right, "feature").where((col("a") < col("b")) & able).select("a", "b").distinct()
    return _with_similarity(met, texts, plan, "a", "b").where(col("similarity") >= plan.threshold)


def _with_similarity(pairs: DataFrame, texts: DataFrame, plan: _Plan, left: str, right: str) -> DataFrame:
    """Add the exact similarity to pairs of nodes."""
    for side, name in enumerate((left, right)):
        pairs = pairs.join(texts.select(col("node").alias(name), col("text").alias(f"text_{side}")), name)

    def similarities(one: Any, two: Any) -> Any:
        return _texts.similarities(plan.shingles, one, two)

    similarity = _texts.column_of_pairs(similarities, DoubleType(), "text_0", "text_1")
    return pairs.select(left, right, similarity.alias("similarity"))
