"""The specification of Shapley values of trees: those of all subsets of the columns."""

import itertools
import math

import numpy as np
import pytest

from kernelsketch.backends import TreeArrays
from kernelsketch.reference.tree_shapley import contributions, weights
from kernelsketch.reference.trees import decide

# x0 <= 0 ? (x1 <= 0 ? 1 : (x0 <= -1 ? 20 : 3)) : (x2 <= 0 ? 40 : 5), and a leaf. Missing values go left at x1 only.
TREES = TreeArrays(
    feature=np.array([0, 1, 2, 0, 0, 0, 0, 0, 0, 0], np.int32),
    threshold=np.array([0, 0, 0, 0, -1.0, 0, 0, 0, 0, 0]),
    left=np.array([1, 3, 5, -1, 7, -1, -1, -1, -1, -1], np.int32),
    right=np.array([2, 4, 6, -1, 8, -1, -1, -1, -1, -1], np.int32),
    missing_left=np.array([0, 1, 0, 0, 0, 0, 0, 0, 0, 0], np.uint8),
    value=np.array([0, 0, 0, 1.0, 0, 40.0, 5.0, 20.0, 3.0, 7.0]),
    roots=np.array([0, 9], np.int32),
    baseline=np.array([0.5]),
)


def by_subsets(features, background, trees, owners, n_columns):
    """Shapley values by their definition."""
    found = np.zeros((len(features), n_columns, len(trees.baseline)))

    def value(row, chosen):
        mixed = np.where(np.isin(owners, list(chosen)), row, background)
        return decide(mixed, trees).mean(axis=0)

    for i, row in enumerate(features):
        for column in range(n_columns):
            others = [other for other in range(n_columns) if other != column]
            for size in range(n_columns):
                weight = math.factorial(size) * math.factorial(n_columns - size - 1) / math.factorial(n_columns)
                for chosen in itertools.combinations(others, size):
                    found[i, column] += weight * (value(row, {*chosen, column}) - value(row, chosen))
    return found


@pytest.mark.parametrize("owners", [[0, 1, 2], [0, 1, 0], [1, 1, 0], [0, 0, 0]])
def test_shapley_values_are_those_of_all_subsets(owners):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    args = rows[:15], rows[15:], TREES, np.array(owners, np.int32), 3
    np.testing.assert_allclose(contributions(*args), by_subsets(*args), atol=1e-12)


def test_weights():
    found = weights(6)
    for a in range(1, 7):
        for b in range(7):
            expected = math.factorial(a - 1) * math.factorial(b) / math.factorial(a + b)
            assert found[a, b] == pytest.approx(expected, rel=1e-14)


def test_trees_take_turns_at_outputs():
    rows = np.random.default_rng(0).normal(size=(9, 3))
    args = rows[:4], rows[4:], TREES._replace(baseline=np.zeros(2)), np.arange(3, dtype=np.int32), 3
    found = contributions(*args)
    assert np.abs(found[:, :, 0]).max() > 0
    assert (found[:, :, 1] == 0).all()
