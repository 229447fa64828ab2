"""The kernels where scikit-learn takes kernels."""

import pickle
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, LinearSVC

from kernelsketch import GMMNystroem, gmm_kernel
from kernelsketch.kernels import KERNELS

X, y = load_digits(return_X_y=True)
X_train, y_train, X_test, y_test = X[:300], y[:300], X[300:400], y[300:400]


def test_svc_with_a_function_equals_precomputed():
    by_function = SVC(kernel=gmm_kernel, C=10).fit(X_train, y_train)
    precomputed = SVC(kernel="precomputed", C=10).fit(gmm_kernel(X_train), y_train)
    K_test = gmm_kernel(X_test, X_train)
    np.testing.assert_allclose(by_function.decision_function(X_test), precomputed.decision_function(K_test))
    assert by_function.score(X_test, y_test) > 0.93
    on_sparse = SVC(kernel=gmm_kernel, C=10).fit(sparse.csr_matrix(X_train), y_train)
    np.testing.assert_array_equal(on_sparse.predict(sparse.csr_matrix(X_test)), by_function.predict(X_test))


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_trains(name):
    assert SVC(kernel=KERNELS[name].function, C=10).fit(X_train, y_train).score(X_test, y_test) > 0.85


def test_the_mean_is_that_of_the_training_set():
    """SVC passes the training rows as Y at prediction too, so center="mean" does not leak."""
    center = X_train.mean(axis=0)
    learned = SVC(kernel=partial(gmm_kernel, center="mean")).fit(X_train, y_train)
    given = SVC(kernel=partial(gmm_kernel, center=center)).fit(X_train, y_train)
    np.testing.assert_allclose(learned.decision_function(X_test), given.decision_function(X_test))


def test_pairwise_kernels_pair_by_pair():
    np.testing.assert_allclose(pairwise_kernels(X[:9], X[:7], metric=gmm_kernel), gmm_kernel(X[:9], X[:7]))
    np.testing.assert_allclose(pairwise_kernels(X[:9], metric=gmm_kernel, p=2.0), gmm_kernel(X[:9], p=2.0))


def test_kernel_ridge():
    model = KernelRidge(kernel=gmm_kernel, kernel_params={"p": 2.0}, alpha=0.1).fit(X[:60], y[:60])
    weights = np.linalg.solve(gmm_kernel(X[:60], p=2.0) + 0.1 * np.eye(60), y[:60])
    np.testing.assert_allclose(model.predict(X[60:70]), gmm_kernel(X[60:70], X[:60], p=2.0) @ weights)


def test_svr():
    assert SVR(kernel=gmm_kernel, C=100).fit(X_train, y_train).score(X_test, y_test) > 0.6


def test_scikit_learns_nystroem_agrees_with_ours():
    theirs = Nystroem(kernel=gmm_kernel, n_components=20, random_state=0).fit(X[:80])
    ours = GMMNystroem(n_components=20, random_state=0).fit(X[:80])
    np.testing.assert_array_equal(theirs.component_indices_, ours.component_indices_)
    np.testing.assert_allclose(theirs.transform(X[80:99]), ours.transform(X[80:99]), atol=1e-9)


def test_grid_search_over_p():
    model = make_pipeline(GMMNystroem(n_components=60, random_state=0), LinearSVC(random_state=0))
    search = GridSearchCV(model, {"gmmnystroem__p": [0.5, 1.0, 2.0]}, cv=3, n_jobs=2).fit(X_train, y_train)
    assert search.score(X_test, y_test) > 0.85
    kernels = [partial(gmm_kernel, p=p) for p in (0.5, 1.0, 2.0)]
    search = GridSearchCV(SVC(C=10), {"kernel": kernels}, cv=3).fit(X_train, y_train)
    assert search.score(X_test, y_test) > 0.93


def test_a_model_with_our_kernel_is_cloned_and_pickled():
    model = SVC(kernel=gmm_kernel).fit(X_train, y_train)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X_test), model.predict(X_test))
    assert clone(model).kernel is gmm_kernel
