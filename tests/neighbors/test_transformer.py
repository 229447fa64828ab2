"""Neighbour graphs where scikit-learn takes them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.clusters import clusters
from kernelsketch import GCWSIndex, GCWSNeighborsTransformer, gmm_kernel
from kernelsketch.exceptions import InputError

X, y = load_digits(return_X_y=True)
EXACT = GCWSIndex(n_tables=0, n_rerank=2000, fill_missing=True)


@parametrize_with_checks([GCWSIndex(), GCWSNeighborsTransformer(2)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_graphs_are_those_of_scikit_learn(mode, kind):
    X = clusters(120, 30, share=1.0)

    def distance(a, b):
        return 1 - gmm_kernel(a, b)

    theirs = KNeighborsTransformer(mode=mode, n_neighbors=4, metric=distance, algorithm="brute").fit(X[:100])
    ours = GCWSNeighborsTransformer(4, mode=mode, index=EXACT).fit(kind(X[:100]))
    for rows in (X[:100], X[100:]):
        a, b = ours.transform(kind(rows)), theirs.transform(rows)
        assert a.shape == b.shape
        np.testing.assert_allclose(a.toarray(), b.toarray(), atol=1e-6)
        np.testing.assert_array_equal(np.diff(a.indptr), np.diff(b.indptr))


def test_a_classifier_on_the_graph():
    model = make_pipeline(GCWSNeighborsTransformer(5, n_jobs=2), KNeighborsClassifier(5, metric="precomputed"))
    score = model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:])
    exact = KNeighborsClassifier(5, metric="precomputed").fit(1 - gmm_kernel(X[:1200]), y[:1200])
    assert score > exact.score(1 - gmm_kernel(X[1200:], X[:1200]), y[1200:]) - 0.02


def test_dbscan_on_the_graph():
    X = clusters(90, 40, seed=2, share=1.0)
    graph = GCWSNeighborsTransformer(threshold=0.6, index=EXACT).fit_transform(X)
    found = DBSCAN(eps=0.4, min_samples=3, metric="precomputed").fit_predict(graph)
    exact = DBSCAN(eps=0.4, min_samples=3, metric="precomputed").fit_predict(1 - gmm_kernel(X))
    np.testing.assert_array_equal(found, exact)
    assert len(set(found)) > 5


def test_tsne_on_the_graph():
    graph = GCWSNeighborsTransformer(31).fit_transform(X[:100])
    assert TSNE(metric="precomputed", init="random", perplexity=10, max_iter=250).fit_transform(graph).shape == (100, 2)


@pytest.mark.filterwarnings("ignore:(n_jobs value|precomputed_knn):UserWarning")  # UMAP: one thread, no transform
def test_umap_on_the_answers():
    umap = pytest.importorskip("umap")
    distances, ids = GCWSIndex(fill_missing=True).fit(X[:300]).kneighbors(X[:300], 15)
    model = umap.UMAP(n_neighbors=15, precomputed_knn=(ids, distances), random_state=0)
    assert model.fit_transform(X[:300]).shape == (300, 2)
    np.testing.assert_array_equal(model._knn_indices, ids)


def test_the_given_index_stays_as_it_is():
    given = GCWSIndex(n_tables=4)
    model = GCWSNeighborsTransformer(3, index=given, n_jobs=2).fit(X[:50])
    assert not hasattr(given, "hasher_")
    assert (model.index_.n_tables, model.index_.n_jobs, given.n_jobs) == (4, 2, None)
    assert len(model.get_feature_names_out()) == 50
    with pytest.raises(InputError, match=r"n_neighbors=60 in mode 'distance' needs at least 61 training rows, got 50"):
        model.set_params(n_neighbors=60).transform(X[:2])


def test_a_data_frame_cannot_hold_a_graph():
    rows = clusters(50, 10)
    with pytest.raises(ValueError, match=r"outputs a scipy sparse matrix\. .* set_output\(transform='default'\)"):
        GCWSNeighborsTransformer(2).set_output(transform="pandas").fit_transform(rows)
    assert GCWSNeighborsTransformer(2).set_output(transform="default").fit_transform(rows).shape == (50, 50)
