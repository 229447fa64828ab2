"""Folds: those of scikit-learn, also where scikit-learn refuses or warns."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from kernelsketch.linear._folds import folds_of, shuffled_folds, stratified_folds


@pytest.mark.parametrize("n_folds", [2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_they_are_those_of_scikit_learn(n_folds, seed):
    labels = np.random.default_rng(seed).integers(0, 4, 100)
    expected = StratifiedKFold(n_folds).split(labels, labels)
    for fold, (train, test) in zip(stratified_folds(labels, n_folds), expected, strict=True):
        np.testing.assert_array_equal(np.flatnonzero(fold.train), train)
        np.testing.assert_array_equal(fold.test, test)


def test_rows_are_shuffled():
    labels = np.repeat(np.arange(4), 30)
    folds = shuffled_folds(labels)
    for fold in folds:
        np.testing.assert_array_equal(np.bincount(labels[fold.test]), 10)
        assert len(set(fold.test // 10)) > 9  # successive rows are in different folds
        np.testing.assert_array_equal(np.flatnonzero(~fold.train), fold.test)
    again = shuffled_folds(labels)
    assert all((a.test == b.test).all() for a, b in zip(folds, again, strict=True))


@pytest.mark.parametrize("folds_of_labels", [shuffled_folds, lambda labels: stratified_folds(labels, 3)])
def test_small_classes(folds_of_labels):
    labels = np.array([0, 0, 0, 0, 0, 1, 1, 2])
    folds = folds_of_labels(labels)
    np.testing.assert_array_equal(np.sort(np.concatenate([fold.test for fold in folds])), np.arange(8))
    assert [len(fold.test) for fold in folds] == [3, 3, 2]
    assert sum(2 not in labels[fold.train] for fold in folds) == 1
    assert all(1 in labels[fold.train] for fold in folds)
    assert not any(fold.train[fold.test].any() for fold in folds)


def test_numbers_and_masks():
    train, test = np.array([0, 2]), np.array([3, 1])
    (by_number,) = folds_of([(train, test)], 4)
    (by_mask,) = folds_of([(np.array([True, False, True, False]), np.array([False, True, False, True]))], 4)
    np.testing.assert_array_equal(by_number.train, [True, False, True, False])
    np.testing.assert_array_equal(by_number.train, by_mask.train)
    np.testing.assert_array_equal(by_number.test, [3, 1])
    np.testing.assert_array_equal(by_mask.test, [1, 3])
