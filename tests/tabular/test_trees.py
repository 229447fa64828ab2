"""Trees read from scikit-learn give its raw predictions; native code equals the reference bit for bit."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from kernelsketch.backends import TreeArrays, available
from kernelsketch.backends.cpu import CpuBackend
from kernelsketch.backends.reference import ReferenceBackend
from kernelsketch.exceptions import InputError
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
def model(name):
    X, y = table()
    options = {"max_iter": 12, "early_stopping": False, "min_samples_leaf": 5}
    if name == "numbers":
        return HistGradientBoostingRegressor(**options).fit(X, y)
    if name == "counts":
        return HistGradientBoostingRegressor(loss="poisson", **options).fit(X, np.exp(y / 4))
    labels = y > 0.5 if name == "two classes" else np.digitize(y, [-1, 0, 1])
    return HistGradientBoostingClassifier(**options).fit(X, labels)


@pytest.mark.parametrize("name", ["numbers", "counts", "two classes", "four classes"])
@pytest.mark.parametrize("missing", [0, 0.3])
def test_sums_are_the_raw_predictions_of_scikit_learn(name, missing):
    X, _ = table(n=333, seed=1, missing=missing)
    expected = model(name)._raw_predict(X)
    for rows in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        np.testing.assert_allclose(Trees.of(model(name)).decide(rows), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["numbers", "four classes"])
def test_the_first_iterations(name):
    X, _ = table(n=50, seed=2)
    for count, staged in enumerate(model(name)._staged_raw_predict(X), start=1):
        np.testing.assert_allclose(Trees.of(model(name), count).decide(X), staged, rtol=0, atol=1e-12)
    nothing = Trees.of(model(name), 0)
    np.testing.assert_array_equal(nothing.decide(X), np.tile(nothing.baseline, (50, 1)))


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


def test_one_leaf_needs_no_features():
    trees = random_trees(np.random.default_rng(0), 2, 1, 0, 1)
    expected = np.full((3, 1), trees.baseline[0] + trees.value[0] + trees.value[1])
    np.testing.assert_array_equal(Trees(*trees).decide(np.empty((3, 0))), expected)
    np.testing.assert_array_equal(Trees(*trees).decide(np.full((3, 1), np.nan)), expected)


def test_rows_lack_a_feature():
    with pytest.raises(InputError, match="but the rows have 2 features: pass the features of the training rows"):
        Trees.of(model("numbers")).decide(np.zeros((3, 2)))


def test_categories_are_refused():
    X, y = table(missing=0)
    X[:, 0] = np.abs(X[:, 0])
    boosted = HistGradientBoostingRegressor(max_iter=5, categorical_features=[0]).fit(X, y)
    with pytest.raises(InputError, match="0/1 features"):
        Trees.of(boosted)


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
    trees = Trees.of(model("four classes"))
    with pytest.raises(InputError, match=message):
        replace(trees, **{name: change(getattr(trees, name))})


@pytest.mark.parametrize(
    ("name", "value"), [("left", 0), ("right", 10**6), ("roots", -1), ("feature", 6), ("threshold", np.nan)]
)
def test_native_code_checks_what_it_reads(name, value):
    trees = Trees.of(model("numbers"))
    arrays = TreeArrays(*(getattr(trees, field) for field in TreeArrays._fields))
    damaged = arrays._replace(**{name: swapped(getattr(arrays, name), 0, value)})
    with pytest.raises(ValueError, match=r"out of range|NaN"):
        CpuBackend("baseline").trees_decide(np.zeros((2, 6)), damaged)
