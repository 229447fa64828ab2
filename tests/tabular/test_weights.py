"""Learned weights of columns: their gradient, and what they find."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_classification
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelsketch import GCWSClassifier, RelevanceScaler, gmm_kernel
from kernelsketch.exceptions import InputError
from kernelsketch.tabular._weights import _gradients, kernel_gradient, learn_weights, targets_of


@parametrize_with_checks([RelevanceScaler(n_steps=3)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def data(n=40, d=5, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[:, -1] = X[:, -1] > 0  # two values
    return X


class TestGradient:
    def test_of_a_kernel_is_that_of_differences(self):
        X, rng = data(), np.random.default_rng(1)
        G = rng.normal(size=(40, 40))
        G += G.T
        found = kernel_gradient(X, gmm_kernel(X), G)
        for c in range(X.shape[1]):
            scale = np.ones(X.shape[1])
            sides = []
            for step in (1e-5, -1e-5):
                scale[c] = np.exp(step)
                sides.append((G * gmm_kernel(X * scale)).sum())
            assert found[c] == pytest.approx((sides[0] - sides[1]) / 2e-5, rel=1e-4, abs=1e-4)

    def test_of_the_leave_one_out_error_is_that_of_differences(self):
        """The error by leaving out each row in turn, without the closed form."""
        views, ridge = [data(12), data(12) ** 2], 0.1
        y = targets_of(np.arange(12) % 3, is_class=True)

        def error(logs):
            K = sum(gmm_kernel(view * np.exp(log)) for view, log in zip(views, logs, strict=True)) / 2
            total = 0.0
            for i in range(12):
                rest = np.arange(12) != i
                alpha = np.linalg.solve(K[np.ix_(rest, rest)] + ridge * np.eye(11), y[rest])
                total += ((K[i, rest] @ alpha - y[i]) ** 2).sum()
            return total / 24

        found, _ = _gradients(views, y, ridge)
        for v in range(2):
            for c in range(5):
                logs = [np.zeros(5), np.zeros(5)]
                logs[v][c] = 1e-5
                above = error(logs)
                logs[v][c] = -1e-5
                assert found[v][c] == pytest.approx((above - error(logs)) / 2e-5, rel=1e-4, abs=1e-6)


class TestWeights:
    def test_irrelevant_columns_get_small_weights(self):
        """Two of twelve columns decide. The other ten are noise: none of them comes near in ten draws of the data."""
        for seed in range(10):
            X = np.random.default_rng(seed).normal(size=(500, 12)).astype(np.float32)
            y = targets_of((X[:, 3] * X[:, 7] > 0).astype(int), is_class=True)
            (weights,) = learn_weights(lambda rows, X=X: [X[rows]], [12], y, n_steps=30, seed=seed)
            assert set(np.argsort(weights)[-2:]) == {3, 7}
            assert np.delete(weights, [3, 7]).max() < 0.6 * weights[[3, 7]].min()

    def test_it_helps(self):
        X, y = make_classification(800, 60, n_informative=4, n_redundant=0, class_sep=1.5, random_state=0)
        plain = GCWSClassifier(256, C=10).fit(X[:400], y[:400]).score(X[400:], y[400:])
        weighted = make_pipeline(RelevanceScaler(), GCWSClassifier(256, C=10)).fit(X[:400], y[:400])
        assert weighted.score(X[400:], y[400:]) > plain + 0.03

    def test_they_do_not_depend_on_the_threads_of_blas(self):
        from threadpoolctl import threadpool_limits

        X, y = load_iris(return_X_y=True)
        with threadpool_limits(1):
            one = RelevanceScaler().fit(X, y).weights_
        np.testing.assert_array_equal(RelevanceScaler().fit(X, y).weights_, one)

    def test_two_few_rows_or_no_target_give_ones(self):
        for y in (np.zeros((40, 1)), targets_of(np.arange(3.0), is_class=False)):
            X = data(len(y)).astype(np.float32)
            (weights,) = learn_weights(lambda rows, X=X: [X[rows]], [5], y, n_steps=5, seed=0)
            np.testing.assert_array_equal(weights, np.ones(5))

    def test_progress_stops_the_descent(self):
        X, seen = data(200).astype(np.float32), []

        def progress(done):
            seen.append(done)
            return len(seen) < 3

        y = targets_of(X[:, 0], is_class=False)
        learn_weights(lambda rows: [X[rows]], [5], y, n_steps=10, seed=0, progress=progress)
        np.testing.assert_allclose(seen, [0.1, 0.2, 0.3])


class TestRelevanceScaler:
    def test_sparse_rows_have_the_weights_of_dense_ones(self):
        X = np.maximum(data(300), 0)
        y = X[:, 0] > X[:, 1]
        dense = RelevanceScaler().fit(X, y)
        scaler = RelevanceScaler().fit(sparse.csr_matrix(X), y)
        np.testing.assert_array_equal(dense.weights_, scaler.weights_)
        found = scaler.transform(sparse.csr_matrix(X))
        assert sparse.issparse(found)
        np.testing.assert_array_equal(found.toarray(), dense.transform(X))

    def test_numbers_as_targets(self):
        X = data(300)
        weights = RelevanceScaler().fit(X, X[:, 2] ** 2 + 0.1).weights_
        assert weights.argmax() == 2

    def test_many_columns(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 2000))
        weights = RelevanceScaler(n_steps=5).fit(X, X[:, 17] > 0).weights_
        assert weights.argmax() == 17

    def test_one_class(self):
        with pytest.raises(InputError, match="only one class"):
            RelevanceScaler().fit(data(), np.ones(40, int))

    def test_several_targets(self):
        with pytest.raises(ValueError, match="1d array"):
            RelevanceScaler().fit(data(), np.ones((40, 2)))
