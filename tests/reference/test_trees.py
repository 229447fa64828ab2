"""The specification of trees, by hand."""

import numpy as np

from kernelsketch.backends import TreeArrays
from kernelsketch.reference.trees import decide, leaves

# Tree 0: x0 <= 1 ? (x1 <= 0 ? 10 : 20) : 30, missing x0 to the right, missing x1 to the left. Tree 1: a leaf, 5.
TREES = TreeArrays(
    feature=np.array([0, 1, 0, 0, 0, 0], np.int32),
    threshold=np.array([1.0, 0.0, 0, 0, 0, 0]),
    left=np.array([1, 3, -1, -1, -1, -1], np.int32),
    right=np.array([2, 4, -1, -1, -1, -1], np.int32),
    missing_left=np.array([0, 1, 0, 0, 0, 0], np.uint8),
    value=np.array([0, 0, 30.0, 10.0, 20.0, 5.0]),
    roots=np.array([0, 5], np.int32),
    baseline=np.array([0.5]),
)
ROWS = np.array([[1.0, 0.0], [1.0, 0.1], [1.1, 0.0], [np.nan, 0.0], [0.0, np.nan], [np.inf, 0.0]])


def test_leaves():
    np.testing.assert_array_equal(leaves(ROWS, TREES, 0), [3, 4, 2, 2, 3, 2])


def test_sums():
    np.testing.assert_array_equal(decide(ROWS, TREES)[:, 0], [15.5, 25.5, 35.5, 35.5, 15.5, 35.5])


def test_trees_take_turns_at_outputs():
    found = decide(ROWS, TREES._replace(baseline=np.array([0.5, -1.0])))
    np.testing.assert_array_equal(found, [[10.5, 4], [20.5, 4], [30.5, 4], [30.5, 4], [10.5, 4], [30.5, 4]])


def test_no_trees():
    nothing = TREES._replace(roots=np.zeros(0, np.int32))
    np.testing.assert_array_equal(decide(ROWS, nothing), np.full((6, 1), 0.5))
