"""MAPIE: conformal sets and intervals around our estimators."""

import numpy as np
import pytest

from helpers.clients import client, customers
from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor

classification, regression = client("mapie.classification"), client("mapie.regression")
X, LEAVES, PAYS = customers(600)
TRAIN, HELD, TEST = slice(0, 300), slice(300, 450), slice(450, 600)
LEVEL = 0.9
names = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # MAPIE tries an array of zeros
LEAST = 0.8  # a share of 150 new rows, of which each is covered with probability 0.9, is below it once in 10,000 times


@names
def test_intervals_of_a_fitted_regressor():
    model = GCWSTabularRegressor("quick").fit(X[TRAIN], PAYS[TRAIN])
    conformal = regression.SplitConformalRegressor(model, confidence_level=LEVEL, prefit=True)
    conformal.conformalize(X[HELD], PAYS[HELD])
    points, intervals = conformal.predict_interval(X[TEST])
    np.testing.assert_array_equal(points, model.predict(X[TEST]))
    low, high = intervals[:, 0, 0], intervals[:, 1, 0]
    assert np.mean((low <= PAYS[TEST]) & (PAYS[TEST] <= high)) >= LEAST
    assert (low < high).all()


def test_intervals_of_folds():
    conformal = regression.CrossConformalRegressor(GCWSTabularRegressor("quick"), confidence_level=LEVEL, cv=3)
    conformal.fit_conformalize(X[:450], PAYS[:450])
    _, intervals = conformal.predict_interval(X[TEST])
    assert np.mean((intervals[:, 0, 0] <= PAYS[TEST]) & (PAYS[TEST] <= intervals[:, 1, 0])) >= LEAST


@names
def test_sets_of_a_fitted_classifier():
    model = GCWSTabularClassifier("quick").fit(X[TRAIN], LEAVES[TRAIN])
    conformal = classification.SplitConformalClassifier(model, confidence_level=LEVEL, prefit=True)
    conformal.conformalize(X[HELD], LEAVES[HELD])
    labels, sets = conformal.predict_set(X[TEST])
    np.testing.assert_array_equal(labels, model.predict(X[TEST]))
    covered = sets[np.arange(150), np.searchsorted(model.classes_, LEAVES[TEST]), 0]
    assert covered.mean() >= LEAST


def test_sets_of_folds():
    conformal = classification.CrossConformalClassifier(GCWSTabularClassifier("quick"), confidence_level=LEVEL, cv=3)
    conformal.fit_conformalize(X[:450], LEAVES[:450])
    _, sets = conformal.predict_set(X[TEST])
    covered = sets[np.arange(150), (LEAVES[TEST] == "stays").astype(int), 0]
    assert covered.mean() >= LEAST
