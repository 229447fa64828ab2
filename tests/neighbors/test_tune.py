"""What `tune` promises is what the index then does."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from helpers.clusters import clusters
from kernelsketch import GCWSIndex, gmm_kernel
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.neighbors import _tune, layout_for
from kernelsketch.theory import index_recall


@pytest.fixture
def without_exact(monkeypatch):
    """Small data, on which only hashing is considered, as on large data."""
    monkeypatch.setattr(_tune, "_exact", lambda *given: None)


@pytest.mark.parametrize(("share", "store_vectors"), [(0.1, True), (1.0, True), (0.1, False)])
def test_the_recall_is_reached(without_exact, share, store_vectors):
    X = clusters(2000, 60, seed=1, share=share)
    index = GCWSIndex(store_vectors=store_vectors).tune(X, recall=0.9, n_neighbors=3)
    expected = index.tuning_
    assert expected["recall"] >= 0.9
    assert index.n_neighbors == 3
    ids = index.fit(X).kneighbors(return_distance=False)
    kernel = gmm_kernel(X)
    np.fill_diagonal(kernel, -1)
    near = np.argsort(-kernel, axis=1)[:, :3]
    each = np.array([np.isin(a, b).mean() for a, b in zip(near, ids, strict=True)])
    error = np.hypot(each.std() / np.sqrt(len(each)), expected["standard_error"])
    # The first choice that reaches the target on the sample is taken, which favours lucky ones a little.
    assert each.mean() > expected["recall"] - 4.5 * error - 0.01
    np.testing.assert_allclose(index.bytes_per_row_, expected["bytes_per_row"], rtol=0.1)
    found = sum(map(len, index.neighbors_above(X[:50], threshold=1e-9)[1])) / 50
    if store_vectors and index.n_tables:
        assert found - 1 == pytest.approx(expected["candidates"], rel=0.3)


@pytest.mark.parametrize("kind", ["floats", "bytes"])
def test_few_dense_rows_are_all_compared(kind):
    X = clusters(400, 20, seed=5)
    X = np.minimum(np.rint(X * 40), 255) if kind == "bytes" else X
    index = GCWSIndex(3).tune(X, recall=0.9)
    assert (index.n_tables, index.n_rerank) == (0, None)
    assert (index.tuning_["recall"], index.tuning_["standard_error"], index.tuning_["candidates"]) == (1, 0, 400)
    distances = index.fit(X).kneighbors()[0]
    assert index.bytes_per_row_ == index.tuning_["bytes_per_row"]
    assert index.n_components == 128  # for estimates
    kernel = gmm_kernel(X)
    np.fill_diagonal(kernel, -1)
    np.testing.assert_allclose(1 - distances, -np.sort(-kernel, axis=1)[:, :3], atol=2e-7)


def test_a_sample_of_many_rows():
    """All rows are not compared if there will be many of them."""
    rng = np.random.default_rng(2)
    X = rng.gamma(0.3, size=(100, 30))
    X = np.concatenate([X, X * rng.uniform(0.97, 1.03, X.shape)])
    assert GCWSIndex(1).tune(X, recall=0.9).n_rerank is None
    index = GCWSIndex(1).tune(X, recall=0.9, n_rows=10**7)
    assert index.n_rerank is not None
    assert index.tuning_["candidates"] > 200
    for n_rows, message in (
        (-5, "n_rows must be a whole number above 0, got -5"),
        (5, "n_rows=5 must be from 200, the number of rows of X"),
        (10**400, "must be from 200"),
    ):
        with pytest.raises(InputError, match=message):
            GCWSIndex().tune(X, n_rows=n_rows)


def test_rows_of_very_many_columns_are_not_all_compared():
    X = clusters(60, 20, seed=5) @ np.ones((20, 1))
    X = np.repeat(X, _tune.MOST_COMPARED + 1, axis=1)
    assert GCWSIndex(3).tune(X, recall=0.5).n_rerank is not None


def test_near_duplicates_need_few_tables(without_exact):
    rng = np.random.default_rng(2)
    X = rng.gamma(0.3, size=(1500, 80))
    X = np.concatenate([X, X * rng.uniform(0.97, 1.03, X.shape)])
    index = GCWSIndex(1).tune(X, recall=0.95)
    assert index.n_tables * index.hashes_per_table <= 64
    assert index.n_tables > 0
    assert index.tuning_["candidates"] < 50
    assert index.tuning_["similarity"] > 0.9


def test_rows_that_are_equal(without_exact):
    """Of equal rows any is as good as another."""
    index = GCWSIndex().tune(np.ones((3000, 4)), recall=0.9)
    assert index.n_rerank == 5
    X = clusters(1000, 30, seed=3)
    X = np.concatenate([X, np.repeat(X[:1], 2000, axis=0)])
    assert GCWSIndex().tune(X, recall=0.9).n_rerank < 200


@pytest.mark.parametrize("seed", [0, np.random.RandomState(0)], ids=["integer", "generator"])
def test_an_index_that_is_tuned_stays_as_it_is(seed):
    """`tune` returns another index: it writes no parameter, also not the state of a generator."""
    X = clusters(200, 20)
    index = GCWSIndex(3, random_state=seed)
    before = pickle.dumps(clone(index).get_params())
    tuned = index.tune(X, recall=0.9, n_neighbors=2)
    assert pickle.dumps(clone(index).get_params()) == before
    assert not hasattr(index, "tuning_")
    assert (tuned.n_tables, tuned.n_rerank, tuned.n_neighbors) == (0, None, 2)
    assert clone(tuned).get_params().keys() == index.get_params().keys()
    with pytest.raises(NotFittedError):
        tuned.kneighbors(X)


def test_a_built_index_stays_as_it_is():
    X = clusters(200, 20)
    index = GCWSIndex().fit(X)
    before = index.kneighbors(X)[1]
    index.tune(np.abs(X[:, :7]))
    with pytest.raises(InputError, match="nothing to find"):
        index.tune(np.zeros((50, 7)))
    np.testing.assert_array_equal(index.kneighbors(X)[1], before)


@pytest.mark.parametrize("kinds", [(np.asarray, sparse.csr_array), (sparse.csr_array, np.asarray)])
def test_queries_of_another_kind(kinds):
    X = clusters(300, 20)
    index = GCWSIndex().tune(kinds[0](X[50:]), recall=0.9, queries=kinds[1](X[:50]))
    assert index.tuning_["recall"] >= 0.9


def test_what_is_refused():
    X = clusters(50, 10)
    for target, kind, message in (
        (1.0, InputError, "below 1, got 1.0"),
        ("all", InputTypeError, "a number, got 'all'"),
    ):
        with pytest.raises(kind, match=message):
            GCWSIndex().tune(X, recall=target)
    with pytest.raises(InputError, match="nothing to find"):
        GCWSIndex().tune(np.eye(20), recall=0.9)
    with pytest.raises(InputError, match="49 rows of the index besides"):
        GCWSIndex().tune(X, n_neighbors=50)


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.8, 0.95, 1.0])
@pytest.mark.parametrize("recall", [0.5, 0.9, 0.99])
def test_layout_for_a_threshold(threshold, recall):
    n_tables, hashes_per_table, *_ = layout_for(threshold, recall)
    assert index_recall(threshold, hashes_per_table, n_tables) >= recall
    assert n_tables == 1 or index_recall(threshold, hashes_per_table, n_tables - 1) < recall
    assert n_tables <= 64


class TestGraph:
    """Dense rows that are neither few nor many: a graph of all of them is one of the choices."""

    X = np.abs(np.random.default_rng(0).normal(size=(2500, 30)) + np.repeat(np.eye(30) * 4, 2500 // 25, axis=0)[:2500])

    @pytest.fixture
    def of_few_rows(self, monkeypatch):
        monkeypatch.setattr(_tune, "LEAST_GRAPH_ROWS", 2000)
        monkeypatch.setattr(_tune, "PER_COMPARED_ROW", 1.0)  # no other way is as fast

    @pytest.mark.parametrize("given", [None, 300])
    def test_the_recall_is_reached(self, of_few_rows, given):
        queries = None if given is None else self.X[:given] * 1.1
        index = GCWSIndex().tune(self.X, recall=0.9, queries=queries)
        assert index.graph_degree == 32
        asked = self.X if queries is None else queries
        kernel = gmm_kernel(asked, self.X)
        if queries is None:
            np.fill_diagonal(kernel, 0)
        least = -np.sort(-kernel, axis=1)[:, 4:5]
        index.fit(self.X)
        distances = index.kneighbors(queries)[0]
        assert (1 - distances >= least - 1e-6).mean() > index.tuning_["recall"] - 0.03 > 0.85
        assert index.tuning_["candidates"] == index.n_rerank
        assert index.bytes_per_row_ == pytest.approx(index.tuning_["bytes_per_row"])

    def test_only_of_the_rows_that_the_index_will_hold(self, of_few_rows, monkeypatch):
        assert GCWSIndex().tune(self.X, n_rows=10**6).graph_degree is None
        assert GCWSIndex(store_vectors=False).tune(self.X, recall=0.5).graph_degree is None
        monkeypatch.setattr(_tune, "MOST_GRAPH_ROWS", 2400)
        assert GCWSIndex().tune(self.X).graph_degree is None

    def test_other_ways_are_chosen_where_they_are_faster(self, of_few_rows, monkeypatch):
        monkeypatch.setattr(_tune, "PER_COMPARED_ROW", 1e6)
        assert GCWSIndex().tune(self.X).graph_degree is None
