"""Held-out values for estimators that make their own folds: those of models that are trained on the fold alone."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

from kernelsketch import GCWSClassifier, GCWSRegressor
from kernelsketch.linear import (
    Fold,
    _search,
    counted_rows,
    fit_calibration,
    hash_in_parts,
    held_out_values,
    shuffled_folds,
)

CS = (0.3, 3.0)


def test_values_are_those_of_models_trained_on_the_fold():
    X, y = load_iris(return_X_y=True)
    fold = shuffled_folds(y)[0]
    found = list(held_out_values(GCWSClassifier(128), X, y, fold, CS))
    for C, values in zip(CS, found, strict=True):
        model = GCWSClassifier(128, C=C).fit(X[fold.train], y[fold.train])
        expected = model.decision_function(X[fold.test])
        assert values.shape == expected.shape
        np.testing.assert_allclose(values, expected, atol=0.1)  # to a gap of 1e-2, and 1e-3
        assert (values.argmax(axis=1) == expected.argmax(axis=1)).mean() > 0.95


def test_held_out_targets_have_no_effect():
    X, y = load_iris(return_X_y=True)
    fold = shuffled_folds(y)[1]
    shuffled = y.copy()
    shuffled[fold.test] = np.roll(y[fold.test], 1)
    for one, other in zip(*(held_out_values(GCWSClassifier(64), X, t, fold, CS) for t in (y, shuffled)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_predictions_of_a_regressor():
    X, y = load_diabetes(return_X_y=True)
    rows = np.arange(len(y))
    fold = Fold(rows % 3 > 0, np.flatnonzero(rows % 3 == 0))
    (found,) = held_out_values(GCWSRegressor(256), X, y, fold, [1.0])
    expected = GCWSRegressor(256, C=1.0).fit(X[fold.train], y[fold.train]).predict(X[fold.test])
    np.testing.assert_allclose(found[:, 0], expected, atol=0.15 * y.std())


def test_values_come_in_the_order_of_ascending_costs():
    X, y = load_iris(return_X_y=True)
    fold = shuffled_folds(y)[0]
    up, down = (list(held_out_values(GCWSClassifier(64), X, y, fold, Cs)) for Cs in (CS, CS[::-1]))
    np.testing.assert_array_equal(up, down)


@pytest.mark.parametrize(
    ("class_weight", "factors"),
    [(None, [1, 1, 1, 1]), ("balanced", [4 / 9, 4 / 9, 4 / 3, 0]), ({0: 2, 1: 1, 2: 5}, [2, 2, 1, 5])],
)
def test_weights_of_rows(class_weight, factors):
    y, given = np.array([0, 0, 1, 2]), np.array([1.0, 2.0, 1.0, 0.0])
    found = counted_rows(y, given, class_weight, has_classes=True)
    np.testing.assert_allclose(found, given * factors, rtol=1e-6)
    np.testing.assert_array_equal(counted_rows(y, given, has_classes=False), given)


def test_a_known_calibration_is_kept():
    X, y = load_iris(return_X_y=True)
    fold = shuffled_folds(y)[0]
    (values,) = held_out_values(GCWSClassifier(64), X, y, fold, [1.0])
    calibration = fit_calibration(values, y[fold.test], 3)
    plain = GCWSClassifier(64).fit(X, y)
    model = GCWSClassifier(64, probability="calibrated").fit(X, y)
    model.fitted_ = replace(model.fitted_, calibration=calibration)
    np.testing.assert_array_equal(model.predict_proba(X), calibration.probabilities(plain.decision_function(X)))


@pytest.mark.parametrize("views", [None, [3, 5]])
def test_rows_that_are_hashed_in_parts(views, monkeypatch):
    """The fit is that of all rows at once, and the codes, which it may overwrite, need no copy."""
    monkeypatch.setattr(_search, "PART_BYTES", 1000)
    X = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    sizes = []

    def rows_of(part):
        sizes.append(part.stop - part.start)
        return X[part]

    model = GCWSClassifier(32, views=views, random_state=3)
    codes = hash_in_parts(model, rows_of, 200, 8, 100)
    assert sizes == [10] * 20
    packed = codes.packed
    found = clone(model).fit(codes, y)
    expected = clone(model).fit(X, y)
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
    assert found.n_features_in_ == 8
    if len(found.used_codes_) < 256:
        assert packed.max() < len(found.used_codes_)  # numbered in place
