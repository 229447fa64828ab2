"""Clusters of similar pairs on a cluster of machines: connected components and stars, by rounds of joins.

Pairs never come to the driver: it only learns after each round whether another one is needed. The result of each round
is kept apart from how it came about, so that plans stay small.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.functions import bit_xor, col, count, least, lit, xxhash64
from pyspark.sql.functions import min as smallest

from .._warnings import warn_user
from ..exceptions import InputError, Setting

MOST_ROUNDS = 100
MOST_TRIES = 3
CHECKPOINTS = "spark.checkpoint.dir"
LOST = "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"  # Spark's name of the error about rows that were kept on lost workers
ADVICE = "spark.sparkContext.setCheckpointDir(folder) keeps rows in a folder, where they outlast workers."


def kept(frame: DataFrame) -> DataFrame:
    """Compute a frame now and keep its rows.

    They are stored in the checkpoint folder of the session, if it has one. Otherwise they are on two workers each, so
    that one may be lost, unless it is the only one at that time. A worker that was the only one takes up to a minute to
    notice that there is another. :func:`until_kept` begins again if all copies of a row are lost.
    """
    if _has_checkpoints(frame):
        return frame.checkpoint(eager=True)
    return frame.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK_2)


def until_kept(work: Callable[[], DataFrame]) -> DataFrame:
    """Return the result of ``work``, which keeps rows. It begins again if workers are lost with all copies of them."""
    tries = 1
    while True:
        try:
            return work()
        except Exception as error:
            if LOST not in str(error):
                raise
            if tries == MOST_TRIES:
                error.add_note(f"Workers were lost with rows that were kept nowhere else, {tries} times. {ADVICE}")
                raise
        warn_user(
            f"a worker was lost with rows that were kept nowhere else: the work begins again. {ADVICE}",
            RuntimeWarning,
        )
        tries += 1


def _has_checkpoints(frame: DataFrame) -> bool:
    session = frame.sparkSession
    if session.conf.get(CHECKPOINTS, None):
        return True
    try:
        return session.sparkContext.getCheckpointDir() is not None
    except PySparkException:  # Spark Connect has no context
        return False


def single_linkage(pairs: DataFrame) -> DataFrame:
    r"""Return the connected components of pairs (a, b), in rows (node, root): the root is the smallest node.

    Roots themselves are left out. The rounds alternate two steps until nothing changes. In the *large* step each node
    links its larger neighbours to its smallest neighbour, in the *small* step each node links its smaller neighbours
    and itself to the smallest of them. Both keep what is connected, and chains become shorter by a factor each time.
    """
    edges, before = pairs.select("a", "b"), None
    for _ in range(MOST_ROUNDS):
        edges = kept(_small_step(_large_step(edges)))
        now = edges.agg(count(lit(1)), bit_xor(xxhash64("a", "b"))).first()
        if now == before:
            return edges.select(col("a").alias("node"), col("b").alias("root"))
        before = now
    raise InputError(
        f"the clusters are not complete after {MOST_ROUNDS} rounds: raise the threshold, or split the data."
    )


def _large_step(edges: DataFrame) -> DataFrame:
    """Return edges (a, b) of the large step, of nodes a that are larger than b."""
    both = edges.union(edges.select(col("b").alias("a"), col("a").alias("b")))
    roots = both.groupBy("a").agg(least(smallest("b"), col("a")).alias("root"))
    linked = both.where(col("b") > col("a")).join(roots, "a")
    return linked.select(col("b").alias("a"), col("root").alias("b")).distinct()


def _small_step(edges: DataFrame) -> DataFrame:
    """Return edges (a, b) of the small step, of nodes a that are larger than b; so must be the edges given."""
    roots = edges.groupBy("a").agg(smallest("b").alias("root"))
    linked = edges.join(roots, "a").where(col("b") != col("root")).select(col("b").alias("a"), col("root").alias("b"))
    return linked.union(roots.select("a", col("root").alias("b"))).distinct()


def stars(pairs: DataFrame) -> DataFrame:
    """Return rows (node, root) of stars of pairs (a, b), where a comes before b in the order of nodes.

    Nodes are visited in their order. One that has not been taken is a root, and takes all its neighbours that have not
    been taken. Roots themselves are left out. In each round, nodes that no remaining pair puts behind another are
    roots; what they take leaves with all its pairs.
    """
    edges = kept(pairs.select("a", "b"))
    rest, taken = edges, edges.select(col("b").alias("node")).limit(0)
    for _ in range(MOST_ROUNDS):
        if rest.isEmpty():
            roots = edges.join(taken, edges["a"] == taken["node"], "left_anti")
            return roots.groupBy(col("b").alias("node")).agg(smallest("a").alias("root"))
        behind = rest.select(col("b").alias("behind")).distinct()
        free = rest.join(behind, rest["a"] == behind["behind"], "left_anti")
        now = kept(free.select(col("b").alias("node")).distinct())
        taken = kept(taken.union(now))
        for side in ("a", "b"):
            rest = rest.join(now, rest[side] == now["node"], "left_anti")
        rest = kept(rest)
    raise InputError(
        Setting("how", "star"),
        f" needs more than {MOST_ROUNDS} rounds for chains of near-duplicates as long as these: pass "
        "how='single', or raise the threshold.",
    )
