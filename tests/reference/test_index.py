"""The specification of the index: codes, buckets, similarity, the order of answers."""

import numpy as np
import pytest

from kernelsketch.backends import Queries, SearchParams, Segment, Vectors
from kernelsketch.reference import gcws
from kernelsketch.reference import index as reference
from kernelsketch.reference.gmm import gmm


def dense(X):
    X = np.asarray(X, np.float32)
    vectors = Vectors(np.zeros(0), dense=X)
    return vectors._replace(norms=reference.norms(vectors))


def test_similarity_is_gmm():
    X = np.random.default_rng(0).normal(size=(12, 37)).astype(np.float32)
    X[3] = 0
    vectors = dense(X)
    found = [[reference.similarity(vectors, i, vectors, j) for j in range(12)] for i in range(12)]
    np.testing.assert_allclose(found, gmm(X, X), rtol=1e-14)
    assert all(found[i][i] == 1 for i in range(12) if i != 3)


def test_codes_are_equal_as_often_as_the_theory_says():
    """z of c = s + (1 - s) / 256 over 40,000 hashes: false alarms at 4.5 sigma, one in 140,000."""
    rng = np.random.default_rng(1)
    u, v = rng.gamma(0.5, size=(2, 30))
    hashes = np.arange(40_000)
    slots = np.arange(0, 60, 2)
    samples = [gcws.sample(slots, gcws.log_weights(x, 1.0), 7, hashes) for x in (u, v)]
    codes = [reference.fingerprints(i[None], t[None])[0] for i, t in samples]
    s = gmm(u[None], v[None])[0, 0]
    expected = s + (1 - s) / 256
    share = (codes[0] == codes[1]).mean()
    assert abs(share - expected) < 4.5 * np.sqrt(expected * (1 - expected) / len(hashes))
    differ = (samples[0][0] != samples[1][0]) | (samples[0][1] != samples[1][1])
    chance = (codes[0] == codes[1])[differ].mean()
    assert abs(chance - 1 / 256) < 4.5 * np.sqrt(1 / 256 / differ.sum())


def test_codes_of_an_empty_row_are_zero():
    assert not reference.fingerprints(np.full((1, 5), -1), np.zeros((1, 5), np.int64)).any()


@pytest.mark.parametrize("bits", [0, 1, 5])
def test_tables_hold_every_row_once_in_its_bucket(bits):
    rng = np.random.default_rng(2)
    codes, flags = rng.integers(0, 3, (50, 12)).astype(np.uint8), (rng.random(50) < 0.2).astype(np.uint8)
    live = np.flatnonzero(flags == 0)
    rows, starts = reference.tables(codes, flags, 4, 3, bits)
    for table in range(4):
        bucket = reference.buckets(codes, 3, table, bits)
        assert bucket.max() < 1 << bits
        for b in range(1 << bits):
            inside = rows[table, starts[table, b] : starts[table, b + 1]]
            np.testing.assert_array_equal(inside, live[bucket[live] == b])


def test_answers_by_hand():
    codes = np.array([[1, 1, 2, 2], [1, 1, 3, 2], [0, 0, 2, 2], [9, 9, 9, 9]], np.uint8)
    X = np.array([[1, 0], [1, 1], [0, 1], [1, 0]])
    none = np.zeros((2, 0), np.uint32)
    segment = Segment(codes, np.zeros(4, np.uint8), np.array([5, 6, 7, 8]), none, none, dense(X))
    queries = Queries(codes[:1], np.zeros(1, np.uint8), dense(X[:1]))
    params = SearchParams(2, 2, 0, 0, 0.0, exact=True, later_only=False)
    ends, ids, similarity = reference.search(queries, [segment], params)
    assert (ends.tolist(), ids.tolist(), similarity.tolist()) == ([0, 2], [5, 6], [1.0, 0.5])  # 7 has similarity 0
    _, ids, similarity = reference.search(queries, [segment], params._replace(exact=False))
    assert ids.tolist() == [5, 6, 7]
    np.testing.assert_allclose(similarity, (np.array([4, 3, 2]) / 4 * 256 - 1) / 255)
    _, ids, _ = reference.search(queries, [segment], params._replace(n_tables=0))
    assert ids.tolist() == [5, 8, 6]  # 8 is equal to the query, by vectors
    _, ids, _ = reference.search(queries, [segment], params._replace(n_tables=0, n_rerank=2))
    assert ids.tolist() == [5, 6]  # the two with most equal codes
