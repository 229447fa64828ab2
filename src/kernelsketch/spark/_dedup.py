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

from functools import partial
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, types
from pyspark.sql import functions as sf
from sklearn.base import clone

from .._validation import check_fraction
from ..exceptions import InputError, InputTypeError, Setting
from ..neighbors import SHINGLE_WORDS, counters_for
from ..text import Shingles
from . import _texts
from ._column import skips, switch_off_columnar_input, type_of
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
    threshold, how
        See :class:`kernelsketch.NearDuplicates`.
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
    threshold = check_fraction(threshold, "threshold", with_one=True)
    if how not in ("single", "star"):
        raise InputError(Setting("how"), f" must be one of 'single', 'star', got {how!r}.")
    if idCol in ("cluster", "similarity", "keep"):
        raise InputError(Setting("idCol", idCol), " is the name of a column of the result: rename it in df.")
    made = Shingles(SHINGLE_WORDS) if shingles is None else shingles
    clone(made).fit([])  # checks its parameters before a job starts
    plan = _Plan(threshold, how, made, skips(handleInvalid), idCol, inputCol, keep)
    documents = _documents(df, plan)
    return until_kept(lambda: _clusters(documents, plan))


def _clusters(documents: DataFrame, plan: _Plan) -> DataFrame:
    """Return the result of :func:`dedup`."""
    if plan.shingles.weight == "idf":
        plan = plan._replace(shingles=_with_frequencies(documents, plan.shingles))
    members = kept(_members(documents, plan))
    size = _check_members(members, plan)
    heads = kept(
        members.where(sf.col("key").isNotNull())
        .groupBy("key")
        .agg(sf.min("rank").alias("node"), sf.min("norm").alias("norm"))
    )
    texts = heads.join(documents.select("id", "text"), heads["node"]["id"] == sf.col("id"))
    texts = texts.select("node", "norm", "text")
    pairs = kept(_pairs(texts, size, plan))
    links = single_linkage(pairs) if plan.how == "single" else stars(pairs)
    links = kept(_with_similarity(links, texts, plan, "node", "root"))
    found = members.join(heads.select("key", "node").join(links, "node", "left"), "key", "left")
    cluster = sf.coalesce(sf.col("root")["id"], sf.col("node")["id"], sf.col("id"))
    return kept(
        found.select(
            sf.col("id").alias(plan.id_column),
            cluster.alias("cluster"),
            sf.coalesce("similarity", sf.lit(1.0)).alias("similarity"),
            (cluster == sf.col("id")).alias("keep"),
        )
    )


def _documents(df: DataFrame, plan: _Plan) -> DataFrame:
    """Return the columns id, text and rank, and ``unranked``: whether the row has no number to be ranked by."""
    switch_off_columnar_input(df)
    type_of(df, plan.id_column)
    kind = type_of(df, plan.text_column)
    if not isinstance(kind, (types.StringType, types.BinaryType)):
        raise InputTypeError(
            f"column {plan.text_column!r} is of type {kind.simpleString()}: strings are needed. Cast it, or name "
            "another column."
        )
    level = _level(df, plan)
    name, unranked = sf.col(plan.id_column).alias("id"), sf.lit(False).alias("unranked")
    rank = [name]
    if level is not None:
        unranked = level.isNull().alias("unranked")
        rank = [unranked, sf.coalesce(level, sf.lit(0)).alias("level"), name]
    return df.select(name, sf.col(plan.text_column).alias("text"), sf.struct(*rank).alias("rank"), unranked)


def _with_frequencies(documents: DataFrame, shingles: Shingles) -> Shingles:
    """Return the shingles with the document frequencies of all texts."""
    plain = clone(shingles).set_params(weight="count")

    texts = documents.where(sf.col("text").isNotNull())
    features = texts.select("text").mapInArrow(partial(_texts.features, plain), _texts.FEATURES)
    found = features.groupBy("feature").count()
    often = kept(found.where(sf.col("count") >= 2))
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
        return -sf.coalesce(sf.length(plan.text_column), sf.lit(0))
    if plan.keep not in df.columns:
        raise InputError(
            Setting("keep"),
            f" must be 'first', 'longest' or a column of numbers, got {plan.keep!r}: the columns are "
            f"{', '.join(df.columns)}.",
        )
    kind, value = df.schema[plan.keep].dataType, sf.col(plan.keep)
    if isinstance(kind, types.BooleanType):
        return -value.cast("int")
    if isinstance(kind, types.IntegralType):
        return sf.bitwise_not(value)  # -value - 1, which exists for the smallest number too
    if not isinstance(kind, types.NumericType):
        raise InputTypeError(f"column {plan.keep!r} is of type {kind.simpleString()}: keep needs numbers. Cast it.")
    return sf.when(~sf.isnan(value), -value) if isinstance(kind, (types.FloatType, types.DoubleType)) else -value


def _members(documents: DataFrame, plan: _Plan) -> DataFrame:
    found = _texts.column_of_texts(partial(_texts.keys, plan.shingles), _texts.KEYS, "text")
    rows = documents.select("id", "rank", "unranked", sf.col("text").isNull().alias("absent"), found.alias("found"))
    return rows.select("id", "rank", "unranked", "absent", "found.key", "found.norm", "found.size")


def _check_members(members: DataFrame, plan: _Plan) -> int:
    """Refuse ids and texts that cannot be; return the number of nonzeros of all rows."""
    facts = members.agg(
        sf.count_if(sf.col("id").isNull()).alias("nameless"),
        sf.count_if(sf.col("absent")).alias("absent"),
        sf.min(sf.when(sf.col("absent"), sf.col("id"))).alias("absent_id"),
        sf.count_if(sf.col("unranked")).alias("unranked"),
        sf.min(sf.when(sf.col("unranked"), sf.col("id"))).alias("unranked_id"),
        sf.sum("size").alias("size"),
    ).collect()[0]
    if facts.nameless:
        raise InputError(f"column {plan.id_column!r} is null in {facts.nameless:,} rows: give every row an id.")
    twice = members.groupBy("id").count().agg(sf.max(sf.when(sf.col("count") > 1, sf.col("id")))).collect()[0][0]
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
    count = partial(_texts.count_features, plan.shingles, counters)
    chunks = texts.select("text").mapInArrow(count, _texts.COUNTS)
    chunks = chunks.groupBy("chunk").applyInArrow(_texts.add_counts, _texts.COUNTS)
    counts = _texts.joined_counts(chunks.collect(), counters).tobytes()
    prefixes = partial(_texts.prefixes, plan.shingles, counts, plan.threshold)
    found = _texts.column_of_texts(prefixes, types.ArrayType(types.LongType()), "text")
    entries = kept(texts.select("node", "norm", sf.explode(found).alias("feature")))
    left = entries.select("feature", sf.col("node").alias("a"), sf.col("norm").alias("norm_a"))
    right = entries.select("feature", sf.col("node").alias("b"), sf.col("norm").alias("norm_b"))
    able = sf.least("norm_a", "norm_b") >= plan.threshold * sf.greatest("norm_a", "norm_b") * (1 - 2.0**-20)
    met = left.join(right, "feature").where((sf.col("a") < sf.col("b")) & able).select("a", "b").distinct()
    return _with_similarity(met, texts, plan, "a", "b").where(sf.col("similarity") >= plan.threshold)


def _with_similarity(pairs: DataFrame, texts: DataFrame, plan: _Plan, left: str, right: str) -> DataFrame:
    """Add the exact similarity to pairs of nodes."""
    for side, name in enumerate((left, right)):
        pairs = pairs.join(texts.select(sf.col("node").alias(name), sf.col("text").alias(f"text_{side}")), name)
    similarities = partial(_texts.similarities, plan.shingles)
    similarity = _texts.column_of_texts(similarities, types.DoubleType(), "text_0", "text_1")
    return pairs.select(left, right, similarity.alias("similarity"))
