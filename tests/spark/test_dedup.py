"""Near-duplicate texts: the clusters of one machine, skew, lost workers, and what cannot be."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import kernelsketch
from kernelsketch import NearDuplicates
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.spark import _components, _dedup, dedup
from kernelsketch.text import Shingles

WORDS = [f"word{number}" for number in range(300)]


def made_texts(seed, n=120):
    """Texts of 30 words, and edited copies of earlier ones: chains, equal texts, capitals, and texts without words."""
    rng = np.random.default_rng(seed)
    texts = []
    for number in range(n):
        if number < 10 or rng.random() < 0.4:
            words = rng.choice(WORDS, 30).tolist()
        else:
            words = texts[rng.integers(len(texts))].split() or ["new"]
            for _ in range(rng.integers(0, 4)):
                words[rng.integers(len(words))] = str(rng.choice(WORDS))
            words = words[: len(words) - rng.integers(0, 2)] if len(words) > 5 else words
        texts.append(" ".join(words))
    texts[7], texts[11] = "", " ... "
    return [text.upper() if number % 9 == 0 else text for number, text in enumerate(texts)]


def frame_of(spark, texts, ids=None, **columns):
    ids = range(len(texts)) if ids is None else ids
    rows = list(zip(ids, texts, *columns.values(), strict=True))
    return spark.createDataFrame(rows, ["id", "body", *columns]).repartition(3)


def found_by_spark(spark, texts, **options):
    """The row that stays for each text and the similarity to it, from a frame in another order."""
    columns = {name: options.pop(name) for name in ("score",) if name in options}
    found = {row.id: row for row in dedup(frame_of(spark, texts, **columns), "body", **options).collect()}
    assert sorted(found) == list(range(len(texts)))
    rows = [found[number] for number in range(len(texts))]
    assert all(row.keep == (row.cluster == row.id) for row in rows)
    return [row.cluster for row in rows], [row.similarity for row in rows]


def found_here(texts, *, shingles=None, threshold=0.8, how="single", priority=None):
    X = (shingles or Shingles(5)).transform(texts)
    model = NearDuplicates(threshold, how=how).fit(X, priority=priority)
    return model.representatives_.tolist(), model.similarities_.tolist()


@pytest.mark.parametrize("how", ["single", "star"])
def test_the_clusters_are_those_of_one_machine(spark, how):
    texts = made_texts(0)
    expected = found_here(texts, shingles=Shingles(2), threshold=0.5, how=how)
    assert len(set(expected[0])) < 0.7 * len(texts)
    assert 0 < min(expected[1]) < 0.6
    assert found_by_spark(spark, texts, shingles=Shingles(2), threshold=0.5, how=how) == expected


def test_options_are_those_of_one_machine(spark):
    texts = made_texts(1, 60)
    texts[20] = texts[19].replace("a", "\uff41")  # full-width letters
    score = np.random.default_rng(1).integers(-3, 3, len(texts))
    shingles = Shingles((3, 4), analyzer="char", weight="log", normalize="NFKC")
    expected = found_here(texts, shingles=shingles, threshold=0.6, priority=score)
    found = found_by_spark(spark, texts, shingles=shingles, threshold=0.6, keep="score", score=score.tolist())
    assert found == expected
    assert found[0] != found_here(texts, shingles=shingles, threshold=0.6)[0]
    longest, _ = found_by_spark(spark, texts, threshold=0.4, keep="longest")
    assert longest == kernelsketch.dedup(texts, threshold=0.4, keep="longest")[0].tolist()


def test_document_frequencies_are_those_of_one_machine(spark, monkeypatch):
    """Every text ends with the same words, which weigh less by their frequency: other pairs reach the threshold."""
    texts = [f"{text} all rights reserved by the authors of this text" if text else text for text in made_texts(3, 80)]
    weighted = Shingles(2, weight="idf")
    expected = found_here(texts, shingles=clone(weighted).fit(texts), threshold=0.65)
    assert found_by_spark(spark, texts, shingles=weighted, threshold=0.65) == expected
    assert expected[0] != found_here(texts, shingles=Shingles(2), threshold=0.65)[0]
    assert not hasattr(weighted, "frequencies_")
    monkeypatch.setattr(_dedup, "MOST_FREQUENCIES", 10)
    with pytest.raises(
        InputError, match=r"weight='idf' needs the frequencies of [\d,]+ shingles .*: use weight 'count'"
    ):
        dedup(frame_of(spark, texts), "body", shingles=weighted)


def test_ten_thousand_equal_texts(spark):
    """Their pairs would be 50 million."""
    df = spark.range(10_000).selectExpr("id", "'the same ten words again and again and again and' as text")
    other = spark.createDataFrame([(10_000, "the same ten words again and again and again or"), (10_001, "else")])
    found = dedup(df.union(other), threshold=0.5).groupBy("cluster", "keep", "similarity").count().collect()
    same = [(row.cluster, row.keep, row["count"]) for row in found if row.similarity == 1]
    assert sorted(same) == [(0, False, 9_999), (0, True, 1), (10_001, True, 1)]
    (near,) = [row for row in found if row.similarity < 1]
    assert (near.cluster, near["count"]) == (0, 1)


def test_long_chains_are_one_cluster(spark):
    """A path of 200 nodes in a random order, and a cycle of 3: the numbers of nodes are the smallest roots."""
    order = np.random.default_rng(0).permutation(200)
    path = [(min(a, b), max(a, b)) for a, b in zip(order[:-1].tolist(), order[1:].tolist(), strict=True)]
    pairs = spark.createDataFrame([*path, (300, 301), (301, 302), (300, 302)], ["a", "b"])
    found = {row.node: row.root for row in _components.single_linkage(pairs).collect()}
    assert found == dict.fromkeys(range(1, 200), 0) | {301: 300, 302: 300}


def test_rounds_are_bounded(spark, monkeypatch):
    monkeypatch.setattr(_components, "MOST_ROUNDS", 2)
    pairs = spark.createDataFrame([(number, number + 1) for number in range(20)], ["a", "b"])
    with pytest.raises(InputError, match="not complete after 2 rounds: raise the threshold"):
        _components.single_linkage(pairs)
    with pytest.raises(InputError, match="needs more than 2 rounds"):
        _components.stars(pairs)


def test_a_worker_is_killed_while_texts_are_hashed(spark, tmp_path):
    texts = made_texts(2, 60)
    mark = str(tmp_path / "killed")

    def kill_once(batches):
        for batch in batches:
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                with open(f"/proc/{os.getppid()}/stat") as file:  # of the daemon that made this worker
                    os.kill(int(file.read().rsplit(")", 1)[1].split()[1]), signal.SIGKILL)
            yield batch

    df = frame_of(spark, texts)
    df = df.mapInArrow(kill_once, df.schema)
    found = {row.id: row.cluster for row in dedup(df, "body", threshold=0.5).collect()}
    assert Path(mark).exists()
    assert [found[number] for number in range(60)] == found_here(texts, threshold=0.5)[0]


def test_a_worker_is_lost_between_rounds(spark, monkeypatch, tmp_path):
    """What earlier rounds have kept is in the checkpoint folder.

    Without a folder it is on two workers, but only if there are two at that time.
    """
    spark.sparkContext.setCheckpointDir(str(tmp_path))
    texts, killed = made_texts(3, 60), []
    step = _components._large_step

    def killing_step(edges):
        if not killed:
            (number,) = edges.sparkSession.sparkContext.parallelize([0], 1).map(lambda _: executor_id()).collect()
            os.kill(number, signal.SIGKILL)
            killed.append(number)
        return step(edges)

    def executor_id():
        with open(f"/proc/{os.getppid()}/stat") as file:
            return int(file.read().rsplit(")", 1)[1].split()[1])

    monkeypatch.setattr(_components, "_large_step", killing_step)
    found, _ = found_by_spark(spark, texts, threshold=0.5)
    assert killed
    assert found == found_here(texts, threshold=0.5)[0]


def test_rows_without_a_text_or_a_number(spark):
    rows = [("b", "one two three", 1.0), ("a", None, 2.0), ("c", "One, two, three!", None), ("d", None, float("nan"))]
    df = spark.createDataFrame(rows, "doc string, body string, score double")
    with pytest.raises(InputError, match=r"column 'body' is null in 2 rows, for example that of id 'a'\. Fix them"):
        dedup(df, "body", idCol="doc")
    with pytest.raises(InputError, match=r"column 'score' is null or NaN in 1 rows, for example that of id 'c'"):
        dedup(df.where("body is not null"), "body", idCol="doc", keep="score")
    found = dedup(df, "body", idCol="doc", keep="score", handleInvalid="skip").orderBy("doc").collect()
    assert [(row.doc, row.cluster) for row in found] == [("a", "a"), ("b", "b"), ("c", "b"), ("d", "d")]


def test_an_empty_frame(spark):
    assert dedup(spark.createDataFrame([], "id long, text string")).collect() == []


def test_what_cannot_be(spark):
    df = spark.createDataFrame([(0, "a b", "x"), (0, "c", "y"), (None, "c", "z")], "id long, text string, name string")
    with pytest.raises(InputError, match=r"column 'id' is null in 1 rows: give every row an id"):
        dedup(df)
    with pytest.raises(InputError, match=r"has an id more than once, for example 0"):
        dedup(df.where("id = 0"))
    with pytest.raises(InputError, match=r"there is no column 'body': the columns are id, text, name"):
        dedup(df, "body")
    with pytest.raises(InputTypeError, match=r"column 'id' is of type bigint: strings are needed"):
        dedup(df, "id")
    with pytest.raises(InputError, match=r"keep must be 'first', 'longest' or a column of numbers, got 'newest'"):
        dedup(df, keep="newest")
    with pytest.raises(InputTypeError, match=r"column 'name' is of type string: keep needs numbers"):
        dedup(df, keep="name")
    with pytest.raises(InputError, match=r"threshold must be above 0 and at most 1, got 0"):
        dedup(df, threshold=0)
    with pytest.raises(InputError, match=r"how must be one of 'single', 'star', got 'chain'"):
        dedup(df, how="chain")
    with pytest.raises(InputError, match=r"handleInvalid must be one of 'error', 'skip', got 'keep'"):
        dedup(df, handleInvalid="keep")
    with pytest.raises(InputError, match=r"idCol='keep' is the name of a column of the result"):
        dedup(df, idCol="keep")
