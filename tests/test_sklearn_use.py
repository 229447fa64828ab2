"""The kernels where scikit-learn takes kernels, and the models where it takes models."""

import pickle
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_wine
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.feature_selection import RFE, SelectFromModel, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.utils import shuffle

from kernelsketch import (
    GCWSClassifier,
    GCWSRegressor,
    GCWSTabularClassifier,
    GCWSTabularRegressor,
    GMMNystroem,
    gmm_kernel,
)
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


W, kinds = shuffle(*load_wine(return_X_y=True), random_state=0)
MODELS = [
    GCWSClassifier(64, scale="standard"),
    GCWSRegressor(64, scale="standard"),
    GCWSTabularClassifier("quick"),
    GCWSTabularRegressor("quick"),
]
TABLES = [model for model in MODELS if hasattr(type(model), "feature_importances_")]


@pytest.mark.parametrize("model", MODELS)
def test_importances_of_columns_by_calls_of_the_model(model):
    """What calls ``predict`` or ``score`` needs no weight per column: this is also what SHAP does."""
    fitted = clone(model).fit(W[:, 6:], kinds)
    found = permutation_importance(fitted, W[:, 6:], kinds, n_repeats=2, random_state=0).importances_mean
    assert found.max() > 0.05
    selected = SelectFromModel(fitted, prefit=True, importance_getter=lambda _: found).transform(W[:, 6:])
    assert 0 < selected.shape[1] < 7
    forward = SequentialFeatureSelector(model, n_features_to_select=1, cv=2).fit(W[:, 6:9], kinds)
    assert forward.get_support().tolist() == [True, False, False]  # flavanoids


@pytest.mark.parametrize("model", TABLES)
@pytest.mark.parametrize("select", [SelectFromModel, partial(RFE, n_features_to_select=4)])
def test_importances_of_columns_of_tables(model, select):
    selected = select(model).fit(W, kinds)
    assert selected.get_support()[6]  # flavanoids
    assert selected.transform(W).shape[1] < 13


@pytest.mark.parametrize("model", [model for model in MODELS if hasattr(model, "decision_function")])
@pytest.mark.parametrize("around", [AdaBoostClassifier, BaggingClassifier, CalibratedClassifierCV])
@pytest.mark.filterwarnings("ignore:sample_weight sums to 1 over 178 rows")  # of AdaBoost, whose weights are shares
def test_classifiers_inside_other_estimators(model, around):
    options = {"cv": 2} if around is CalibratedClassifierCV else {"n_estimators": 2, "random_state": 0}
    assert around(model, **options).fit(W, kinds).score(W, kinds) > 0.9
    if around is CalibratedClassifierCV:
        assert around(FrozenEstimator(clone(model).fit(W, kinds))).fit(W, kinds).score(W, kinds) > 0.9
