"""The specification of growing trees: by hand, and by trying every split."""

from itertools import pairwise

import numpy as np
import pytest

from kernelsketch.backends import Growth
from kernelsketch.reference.growth import grow


def one_tree(binned, bins, g, h, growth):
    found = grow(np.array(binned, np.uint8), np.array(bins, np.int32), np.array([g]), np.array([h]), growth)
    *nodes, sizes, values = found
    return [array[0, : sizes[0]] for array in nodes], values[0]


def test_by_hand():
    """Two features; the second one separates the gradients, and each half is pure."""
    binned = [[0, 1, 0, 1], [0, 0, 2, 2]]
    (feature, bins, left, right, missing_left, value), values = one_tree(
        binned, [2, 3], [-4, -4, 6, 6], [1, 1, 1, 1], Growth(31, 1, 1.0, 0.5)
    )
    assert (feature[0], bins[0], left[0], right[0]) == (1, 0, 1, 2)
    assert missing_left[0] == 0  # both sides have as many rows
    np.testing.assert_array_equal(left[1:], -1)
    np.testing.assert_array_equal(right[1:], -1)
    np.testing.assert_array_equal(value, [0, 0.5 * 8 / 3, -0.5 * 12 / 3])
    np.testing.assert_array_equal(values, [value[1], value[1], value[2], value[2]])


def test_missing_values_go_where_they_fit():
    binned = [[0, 0, 1, 1, 2, 2]]  # 2 is missing
    for sign, side in ((-1, 1), (1, 0)):
        g = [-5, -5, 5, 5, 5 * sign, 5 * sign]
        (_, bins, _, _, missing_left, _), values = one_tree(binned, [2], g, [1] * 6, Growth(2, 1, 0.0, 1.0))
        assert (bins[0], missing_left[0]) == (0, side)
        np.testing.assert_array_equal(values, -np.array(g, float))


def test_missing_against_known():
    """The split after the last bin separates known values from missing ones."""
    (_, bins, _, _, missing_left, _), values = one_tree(
        [[0, 1, 2, 2]], [2], [3, 3, -3, -3], [1, 1, 1, 1], Growth(2, 1, 0.0, 1.0)
    )
    assert (bins[0], missing_left[0]) == (1, 0)
    np.testing.assert_array_equal(values, [-3, -3, 3, 3])


@pytest.mark.parametrize("leaf_rows", [1, 5])
def test_the_first_split_is_the_best_of_all(leaf_rows):
    rng = np.random.default_rng(0)
    binned, bins = rng.integers(0, 7, (4, 60)).astype(np.uint8), np.full(4, 7, np.int32)
    g, h = rng.integers(-99, 99, 60), rng.integers(1, 99, 60)
    (feature, at, *_), _ = one_tree(binned, bins, g, h, Growth(2, leaf_rows, 3.0, 1.0))

    def worth(rows):
        return g[rows].sum() ** 2 / (h[rows].sum() + 3.0)

    tried = {
        (f, b): worth(binned[f] <= b) + worth(binned[f] > b)
        for f in range(4)
        for b in range(6)
        if leaf_rows <= (binned[f] <= b).sum() <= 60 - leaf_rows
    }
    assert (feature[0], at[0]) == max(tried, key=tried.get)


def test_the_leaf_that_gains_most_is_split_next():
    rng = np.random.default_rng(1)
    binned, bins = rng.integers(0, 30, (3, 200)).astype(np.uint8), np.full(3, 30, np.int32)
    g, h = rng.integers(-99, 99, 200), np.ones(200, int)

    def loss(leaves):
        _, values = one_tree(binned, bins, g, h, Growth(leaves, 5, 0.0, 1.0))
        return float((g * values + h * values**2 / 2).sum())

    losses = [loss(leaves) for leaves in range(1, 12)]
    assert all(later < earlier for earlier, later in pairwise(losses))


def test_limits():
    binned, bins = np.arange(10, dtype=np.uint8)[None] % 5, [5]
    g, h = np.arange(10) - 4, np.ones(10, int)
    nodes, values = one_tree(binned, bins, g, h, Growth(1, 1, 0.0, 1.0))
    assert len(nodes[0]) == 1
    np.testing.assert_array_equal(values, np.full(10, -0.5))
    nodes, _ = one_tree(binned, bins, g, h, Growth(31, 6, 0.0, 1.0))
    assert len(nodes[0]) == 1  # no half has six rows
    nodes, values = one_tree(binned, bins, g, 0 * h, Growth(31, 1, 0.0, 1.0))
    assert len(nodes[0]) == 1
    np.testing.assert_array_equal(values, 0)  # no curvature, no step
