"""Ensembles of trees: native code equals the reference bit for bit, and damaged ones are refused."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelsketch.backends import TreeArrays, available
from kernelsketch.backends.cpu import CpuBackend
from kernelsketch.backends.reference import ReferenceBackend
from kernelsketch.exceptions import InputError
from kernelsketch.tabular._bins import Bins
from kernelsketch.tabular._boosting import Boosting
from kernelsketch.tabular._trees import Trees

NATIVE = [name for name in available() if name != "reference"]


def table(n=500, d=6, seed=0, missing=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 0] = np.round(X[:, 0])
    X[rng.random((n, d)) < missing] = np.nan
    known = np.nan_to_num(X)
    return X, known[:, 0] + known[:, 1] * known[:, 2]


@cache
def trees_for(n_classes):
    """Trees of 12 rounds, for numbers if there are no classes."""
    X, y = table()
    labels = y if n_classes is None else np.digitize(y, [-1, 0, 1][: n_classes - 1])
    boost = Boosting(Bins.of(X), np.ones(len(y), bool), labels, np.ones(len(y)), n_classes=n_classes, threads=1)
    boost.grow(12)
    return boost.trees


def random_trees(rng, n_trees, n_outputs, d, size):
    """Trees of random shape, some with one leaf only; nodes come after their parents."""
    left, roots = [], []
    for _ in range(n_trees):
        start = len(left)
        roots.append(start)
        left.append(-1)
        leaves = [start]
        for _ in range(int(rng.integers(0, size))):
            leaf = leaves.pop(int(rng.integers(len(leaves))))
            left[leaf] = len(left)
            leaves += [len(left), len(left) + 1]
            left += [-1, -1]
    left, count = np.array(left, np.int32), len(left)
    return TreeArrays(
        feature=rng.integers(0, max(d, 1), count).astype(np.int32),
        threshold=rng.normal(size=count).round(1),
        left=left,
        right=np.where(left < 0, -1, left + 1).astype(np.int32),
        missing_left=rng.integers(0, 2, count).astype(np.uint8),
        value=rng.normal(size=count),
        roots=np.array(roots, np.int32),
        baseline=rng.normal(size=n_outputs),
    )


@given(
    n=st.sampled_from([0, 1, 7, 8, 63, 64, 65, 200]),
    d=st.integers(1, 12),
    n_outputs=st.integers(1, 4),
    rounds=st.integers(0, 5),
    size=st.sampled_from([1, 2, 30]),
    missing=st.sampled_from([0, 0.2]),
    seed=st.integers(0, 99),
)
def test_native_equals_reference(n, d, n_outputs, rounds, size, missing, seed):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, rounds * n_outputs, n_outputs, d, size)
    X = rng.normal(size=(n, d)).round(1)
    X[rng.random((n, d)) < missing] = np.nan
    X[rng.random((n, d)) < 0.05] = np.inf
    expected = ReferenceBackend().trees_decide(X, trees)
    for name in NATIVE:
        for threads in (1, 3):
            for rows in (X, np.asfortranarray(X)):
                found = CpuBackend(name, threads).trees_decide(rows, trees)
                np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(Trees(*trees).decide(X), expected)


@given(
    n=st.sampled_from([0, 1, 7]),
    known=st.sampled_from([1, 63, 64, 65, 130]),
    d=st.integers(1, 12),
    n_columns=st.integers(1, 12),
    n_outputs=st.integers(1, 3),
    size=st.sampled_from([1, 2, 30]),
    seed=st.integers(0, 99),
)
def test_native_shapley_values_equal_the_reference(n, known, d, n_columns, n_outputs, size, seed):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, 2 * n_outputs, n_outputs, d, size)
    X = rng.normal(size=(n + known, d)).round(1)
    X[rng.random(X.shape) < 0.2] = np.nan
    owners = rng.integers(0, n_columns, d).astype(np.int32)
    expected = ReferenceBackend().tree_shapley(X[:n], X[n:], trees, owners, n_columns)
    for name in NATIVE:
        for threads in (1, 3):
            for rows in (X, np.asfortranarray(X)):
                found = CpuBackend(name, threads).tree_shapley(rows[:n], rows[n:], trees, owners, n_columns)
                np.testing.assert_array_equal(found, expected)
    assert (expected[:, np.setdiff1d(np.arange(n_columns), owners)] == 0).all()
    decided = ReferenceBackend().trees_decide(X, trees)
    wanted = decided[:n] - decided[n:].mean(axis=0)
    np.testing.assert_allclose(Trees(*trees).shapley(X[:n], X[n:], owners, n_columns).sum(axis=1), wanted, atol=1e-11)


def test_shapley_values_of_deep_trees():
    """A chain of splits by one column each, as deep as trees may be; deeper ones are refused."""
    for depth in (512, 513):
        left = np.full(2 * depth + 1, -1, np.int32)
        left[0 : 2 * depth : 2] = np.arange(1, 2 * depth, 2)
        trees = TreeArrays(
            (np.arange(2 * depth + 1) // 2).clip(max=depth - 1).astype(np.int32), np.zeros(2 * depth + 1), left,
            np.where(left < 0, -1, left + 1).astype(np.int32), np.zeros(2 * depth + 1, np.uint8),
            np.random.default_rng(0).normal(size=2 * depth + 1), np.zeros(1, np.int32), np.zeros(1),
        )  # fmt: skip
        args = np.ones((1, depth)), -np.ones((1, depth)), np.arange(depth, dtype=np.int32), depth
        if depth == 512:
            total = trees.value[-1] - trees.value[1]
            assert Trees(*trees).shapley(*args).sum() == pytest.approx(total)
        else:
            with pytest.raises(ValueError, match="too deep"):
                Trees(*trees).shapley(*args)


@pytest.mark.parametrize(("name", "value"), [("left", 0), ("right", 10**6), ("roots", -1), ("feature", 6)])
def test_native_shapley_values_check_what_they_read(name, value):
    arrays = trees_for(None).arrays
    damaged = arrays._replace(**{name: swapped(getattr(arrays, name), 0, value)})
    owners = np.zeros(6, np.int32)
    with pytest.raises(ValueError, match="out of range"):
        CpuBackend("baseline").tree_shapley(np.zeros((2, 6)), np.zeros((2, 6)), damaged, owners, 1)
    shared = arrays._replace(left=swapped(arrays.left, 1, arrays.right[1]))
    with pytest.raises(ValueError, match="two parents"):
        CpuBackend("baseline").tree_shapley(np.zeros((2, 6)), np.zeros((2, 6)), shared, owners, 1)
    for rows, others, of, message in (
        (np.zeros((2, 6)), np.zeros((0, 6)), owners, "no rows"),
        (np.zeros((2, 6)), np.zeros((2, 5)), owners, "one per feature"),
        (np.zeros((2, 6)), np.zeros((2, 6)), owners + 1, "owners: out of range"),
    ):
        with pytest.raises(ValueError, match=message):
            CpuBackend("baseline").tree_shapley(rows, others, arrays, of, 1)


def test_one_leaf_needs_no_features():
    trees = random_trees(np.random.default_rng(0), 2, 1, 0, 1)
    expected = np.full((3, 1), trees.baseline[0] + trees.value[0] + trees.value[1])
    np.testing.assert_array_equal(Trees(*trees).decide(np.empty((3, 0))), expected)
    np.testing.assert_array_equal(Trees(*trees).decide(np.full((3, 1), np.nan)), expected)


def test_rows_lack_a_feature():
    with pytest.raises(InputError, match="but the rows have 2 features: pass the features of the training rows"):
        trees_for(None).decide(np.zeros((3, 2)))


def swapped(array, at, value):
    array = array.copy()
    array[at] = value
    return array


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("left", lambda x: swapped(x, 0, 0), "does not come after its parent"),
        ("left", lambda x: swapped(x, 0, 5), "the child of one node"),
        ("right", lambda x: swapped(x, 0, 10**6), "the child of one node"),
        ("right", lambda x: swapped(x, 0, -1), "does not come after its parent"),
        ("roots", lambda x: swapped(x, 0, -1), "the child of one node"),
        ("feature", lambda x: swapped(x, 0, -1), "feature is below 0"),
        ("threshold", lambda x: swapped(x, 0, np.nan), "threshold is NaN"),
        ("value", lambda x: x[:-1], "different lengths"),
        ("threshold", lambda x: x.astype(np.float32), "vector of float64"),
        ("baseline", lambda x: x[:0], "do not make 0 outputs"),
    ],
)
def test_damaged_trees_are_refused(name, change, message):
    trees = trees_for(4)
    with pytest.raises(InputError, match=message):
        replace(trees, **{name: change(getattr(trees, name))})


@pytest.mark.parametrize(
    ("name", "value"), [("left", 0), ("right", 10**6), ("roots", -1), ("feature", 6), ("threshold", np.nan)]
)
def test_native_code_checks_what_it_reads(name, value):
    trees = trees_for(None)
    arrays = TreeArrays(*(getattr(trees, field) for field in TreeArrays._fields))
    damaged = arrays._replace(**{name: swapped(getattr(arrays, name), 0, value)})
    with pytest.raises(ValueError, match=r"out of range|NaN"):
        CpuBackend("baseline").trees_decide(np.zeros((2, 6)), damaged)
