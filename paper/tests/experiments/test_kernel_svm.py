"""Predictions from coefficients against scikit-learn's own, and folds."""

import numpy as np
import pytest
from sklearn.svm import SVC

from kernelsketch import gmm_kernel
from kernelsketch_paper.experiments._kernel_svm import cross_validate, evaluate, fit, folds_of


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_votes_are_those_of_libsvm(classes, C):
    rng = np.random.default_rng(classes)
    X, y = rng.normal(size=(400, 5)).astype(np.float32), rng.integers(classes, size=400)
    X[np.arange(400), y % 5] += 1.5
    K = gmm_kernel(X[:200]).astype(np.float64)
    K_test = gmm_kernel(X[200:], X[:200]).astype(np.float64)
    theirs = SVC(C=C, kernel="precomputed").fit(K, y[:200]).predict(K_test)
    ours = fit(K, y[:200], C).votes(K_test.astype(np.float32))
    assert np.mean(ours == theirs) >= 0.995  # float32 sums turn a decision within 1e-6 of zero
    (outcome,) = evaluate(gmm_kernel, X[:200], y[:200], X[200:], y[200:], [C])
    assert outcome.accuracy == pytest.approx(100 * np.mean(ours == y[200:]))


def test_cross_validation_is_that_of_fits_on_the_parts():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 4)).astype(np.float32), np.repeat([0, 1, 2], 50)
    X[np.arange(150), y] += 2
    right = 0
    for train, test in folds_of(y, 3, 5):
        model = SVC(C=1.0, kernel="precomputed").fit(gmm_kernel(X[train]).astype(float), y[train])
        right += int((model.predict(gmm_kernel(X[test], X[train]).astype(float)) == y[test]).sum())
    assert cross_validate(gmm_kernel, X, y, [1.0], 3, 5)[1.0] == pytest.approx(100 * right / 150, abs=0.7)


def test_folds_take_each_row_once_and_stand_rare_classes():
    y = np.array([0] * 50 + [1] * 40 + [2, 3, 3])
    folds = folds_of(y, 3, 0)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(len(y)))
    assert all(set(train) & set(test) == set() for train, test in folds)
