"""Similar pairs and neighbours."""

import numpy as np
import pytest

from kernelsketch import GCWS, gmm_kernel
from kernelsketch.exceptions import InputError
from kernelsketch.spark import approx_nearest_neighbors, approx_similarity_join
from kernelsketch.spark._join import join_tables, keys_of


def test_keys_tell_tables_and_samples_apart():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6))
    i, t = GCWS(24).fit(X).signatures(X)
    keys = keys_of(i, t, 3)
    assert keys.shape == (500, 8)
    same_key = keys[:, None, :] == keys[None, :, :]
    samples = np.stack([i, t], axis=2).reshape(500, 8, 6)
    same_samples = (samples[:, None] == samples[None]).all(axis=3)
    np.testing.assert_array_equal(same_key, same_samples)
    assert len(np.intersect1d(keys[:, 0], keys[:, 1])) == 0


def test_tables():
    for threshold in (0.05, 0.5, 0.9):
        tables, samples = join_tables(threshold, 0.95)
        assert tables * samples <= 256
        assert 1 - (1 - threshold**samples) ** tables >= 0.95
        assert 1 - (1 - threshold**samples) ** (tables - 1) < 0.95
    assert join_tables(1.0, 0.95) == (1, 32)
    assert join_tables(0.5, 0.95, 2) == (11, 2)


@pytest.fixture(scope="module")
def apart():
    """2000 pairs of rows, each pair with 4 features of its own: what becomes of one says nothing about another."""
    rng = np.random.default_rng(2)
    u = rng.exponential(size=(2000, 4)) * rng.choice([-1, 1], (2000, 4))
    v = u * rng.uniform(0.4, 1, (2000, 4))
    exact = np.abs(v).sum(axis=1) / np.abs(u).sum(axis=1)
    return u, v, exact


def test_as_many_pairs_are_found_as_the_formula_says(spark, apart):
    """Sums of independent trials: off by 4.5 standard deviations once in 150,000 seeds."""
    from pyspark.ml.linalg import Vectors

    u, v, exact = apart

    def frame(rows):
        def vector(i, x):
            return Vectors.sparse(8000, range(4 * i, 4 * i + 4), x.tolist())

        return spark.createDataFrame([(i, vector(i, x)) for i, x in enumerate(rows)], ["id", "features"]).cache()

    found = approx_similarity_join(frame(u), frame(v), 0.6, n_tables=3, hashes_per_table=4).collect()
    for row in found:
        assert row.id_a == row.id_b
        assert row.similarity == pytest.approx(exact[row.id_a], rel=1e-12)
    assert len({row.id_a for row in found}) == len(found)
    chance = (1 - (1 - exact**4) ** 3)[exact >= 0.6]
    assert abs(len(found) - chance.sum()) < 4.5 * np.sqrt((chance * (1 - chance)).sum())


def test_a_join_with_itself_and_neighbours(spark, digits, digit_frames):
    X, _ = digits
    train, test = digit_frames
    K = gmm_kernel(X[:300])
    pairs = {(row.id_a, row.id_b): row.similarity for row in approx_similarity_join(train, None, 0.8).collect()}
    true = {(a, b) for a, b in np.argwhere(K >= 0.8) if a < b}
    assert set(pairs) <= true
    assert len(pairs) > 0.9 * len(true)
    assert all(pairs[pair] == pytest.approx(K[pair], rel=1e-12) for pair in pairs)

    found = approx_nearest_neighbors(train, test.where("id < 305"), 3, threshold=0.3, recall=0.999)
    exact = gmm_kernel(X[300:305], X[:300])
    best = np.sort(exact, axis=1)[:, ::-1][:, :3]
    ranked = sorted((row.id_query, row.rank, row.id, row.similarity) for row in found.collect())
    assert [(query, rank) for query, rank, _, _ in ranked] == [(q, r) for q in range(300, 305) for r in (1, 2, 3)]
    for query, rank, row, similarity in ranked:
        assert similarity == pytest.approx(exact[query - 300, row], rel=1e-12)
        assert similarity == pytest.approx(best[query - 300, rank - 1], rel=1e-12)

    close = approx_nearest_neighbors(train, test.where("id < 305"), 3, threshold=0.8, recall=0.999).collect()
    assert {(row.id_query, row.id) for row in close} == {(q, i) for q, _, i, s in ranked if s >= 0.8}
    assert 0 < len(close) < len(ranked)


def test_what_cannot_be(spark):
    df = spark.createDataFrame([(0, [1.0])], "id long, features array<double>")
    with pytest.raises(InputError, match=r"threshold must be above 0 and at most 1, got 1.5"):
        approx_similarity_join(df, df, 1.5)
    with pytest.raises(InputError, match=r"recall must be above 0 and below 1, got 1"):
        approx_similarity_join(df, df, 0.5, recall=1)
    with pytest.raises(InputError, match=r"there is no column 'key': the columns are id, features"):
        approx_nearest_neighbors(df, df, idCol="key")
    with pytest.raises(InputError, match="n_neighbors must be a whole number above 0, got 0"):
        approx_nearest_neighbors(df, df, 0)
