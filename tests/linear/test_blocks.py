"""Training on blocks: the model of fit, bit for bit, whatever the blocks and the memory."""

import sys
import textwrap
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from helpers.memory import extra_memory
from kernelsketch import GCWS, GCWSClassifier, GCWSRegressor
from kernelsketch._losses import REGRESSOR_LOSSES
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.linear import _blocks, _disk_codes

rng = np.random.default_rng(0)
X = rng.normal(size=(17_000, 6))  # more than a segment
y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
weight = rng.random(len(X))


def blocks_of(*arrays, sizes=(700,)):
    start, number = 0, 0
    while start < arrays[1].shape[0]:
        stop = start + sizes[number % len(sizes)]
        yield tuple(array[start:stop] for array in arrays)
        start, number = stop, number + 1


@pytest.fixture(params=["in memory", "on disk"])
def way(request, monkeypatch):
    """Whether the codes fit in the bound."""
    made = []
    if request.param == "on disk":
        monkeypatch.setattr(_disk_codes, "solver_bytes", lambda *_: 1 << 31)
        inner = _disk_codes.DiskCodeTable.__init__
        monkeypatch.setattr(_disk_codes.DiskCodeTable, "__init__", lambda *a: (made.append(1), inner(*a))[1])
    yield
    assert bool(made) == (request.param == "on disk")


def assert_same(a, b):
    for name in ("weights", "intercepts"):
        np.testing.assert_array_equal(getattr(a.fitted_, name), getattr(b.fitted_, name), name)
    np.testing.assert_array_equal(a.training_.bias, b.training_.bias)
    for name in ("dual_gap_", "objective_", "used_codes_", "n_iter_", "n_features_in_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), name)
    np.testing.assert_array_equal(a.predict(X[:50]), b.predict(X[:50]))


PARAMS = {
    "plain": {},
    "hinge": {"loss": "hinge", "bits": 4, "t_bits": 2, "class_weight": "balanced", "n_jobs": 2},
    "log_loss": {"loss": "log_loss", "bits": 12, "gamma": 1.0, "tol": 1e-5, "center": [0.5, 0, 0, 1, 0, 0]},
}


@cache
def fitted(kind):
    return GCWSClassifier(8, **PARAMS[kind]).fit(X, y)


@pytest.mark.parametrize("kind", PARAMS)
@pytest.mark.parametrize("sizes", [(17_000,), (1, 3000, 17, 512), pytest.param((64,), marks=pytest.mark.slow)])
def test_classifiers(way, kind, sizes):
    model, expected = GCWSClassifier(8, **PARAMS[kind]), fitted(kind)
    assert_same(model.fit_blocks(blocks_of(X, y, sizes=sizes)), expected)
    np.testing.assert_array_equal(model.classes_, expected.classes_)


@pytest.mark.parametrize("loss", REGRESSOR_LOSSES)
def test_regressors_and_weights(way, loss):
    target = X[:, 0] * 1e3 + 5
    expected = GCWSRegressor(24, loss=loss).fit(X, target, weight)
    model = GCWSRegressor(24, loss=loss).fit_blocks(blocks_of(X, target, weight))
    assert_same(model, expected)
    assert model.intercept_ == expected.intercept_


def test_repeated_rows(way):
    """With 8 hashes most rows have the codes of others, so that they are merged."""
    target = X[:, 0] * 1e3 + 5
    expected = GCWSRegressor(8, tol=1e-6).fit(X, target)
    assert_same(GCWSRegressor(8, tol=1e-6).fit_blocks(blocks_of(X, target)), expected)


def test_kinds_of_rows_and_labels(way):
    names = np.array(["no", "yes", "a longer name"])[y]
    expected = GCWSClassifier(8).fit(X, names)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = GCWSClassifier(8).fit_blocks((part, list(labels)) for part, labels in blocks_of(frame, names))
    np.testing.assert_array_equal(model.code_weights_, expected.code_weights_)
    assert list(model.feature_names_in_) == list("abcdef")
    assert list(model.classes_) == list(expected.classes_)
    for rows in (sparse.csr_matrix(X), GCWS(8).fit(X).codes(X)):
        assert_same(GCWSClassifier(8).fit_blocks(blocks_of(rows, names)), expected)


def test_one_array_that_is_filled_again(way):
    def reused():
        room, labels = np.empty((500, 6)), np.empty(500, int)
        for start in range(0, len(X), 500):
            room[...], labels[...] = X[start : start + 500], y[start : start + 500]
            yield room, labels

    assert_same(GCWSClassifier(8).fit_blocks(reused()), fitted("plain"))


def test_steps_of_hashing_do_not_matter(monkeypatch):
    monkeypatch.setattr(_blocks, "STEP_BYTES", 2 * 8 * 33)
    model = GCWSClassifier(8).fit_blocks(blocks_of(X[:900], y[:900]))
    np.testing.assert_array_equal(model.code_weights_, GCWSClassifier(8).fit(X[:900], y[:900]).code_weights_)


def test_warm_starts(way):
    model, expected = (GCWSClassifier(8, warm_start=True, tol=1e-2).fit(X, y) for _ in range(2))
    assert_same(model.set_params(C=2.0).fit_blocks(blocks_of(X, y)), expected.set_params(C=2.0).fit(X, y))


def test_sparse_blocks_of_different_widths():
    """As LIBSVM text gives them: the widest counts, and columns that are not there are zeros."""
    wide = X * (np.arange(X.shape[1]) < np.where(np.arange(len(X)) < 600, X.shape[1] - 2, X.shape[1])[:, None])
    parts = [(sparse.csr_array(wide[:600, :-2]), y[:600]), (sparse.csr_array(wide[600:]), y[600:])]
    expected = GCWSClassifier(8).fit(wide, y)
    narrow_last = [*parts, (parts[0][0][:0:-1], y[599:0:-1])]
    assert_same(GCWSClassifier(8).fit_blocks(parts), expected)
    model = GCWSClassifier(8).fit_blocks(narrow_last)
    assert model.n_features_in_ == model.hasher_.n_features_in_ == X.shape[1]
    by_codes = [(GCWS(8).fit(part).codes(part), labels) for part, labels in parts]
    assert_same(GCWSClassifier(8).fit_blocks(by_codes), expected)


def test_progress():
    seen = []
    model = GCWSClassifier(8).fit_blocks([(X, y)], progress=lambda event: seen.append((event.passes, event.gaps.max())))
    assert [number for number, _ in seen] == list(range(1, model.n_iter_ + 1))
    assert seen[-1][1] <= model.tol


class TestBadBlocks:
    @pytest.mark.parametrize(
        ("blocks", "error", "message"),
        [
            ([], InputError, "blocks is empty"),
            (3, InputTypeError, "iterable of pairs"),
            ([X], InputTypeError, "block 0 must be a pair"),
            ([(X, y), (X,)], InputTypeError, "block 1 must be a pair.* of 1"),
            ([(X, y), (X[:, :3], y)], ValueError, "3 features"),
            ([(X, y), (X[:5], y)], ValueError, "inconsistent numbers"),
            ([(X[:2], ["a", "b"]), (X[:2], [0, 1])], InputError, "in one block and"),
            ([(X, y, weight), (X, y)], InputError, "block 1 lacks sample_weight"),
            ([(X, y), (X, y, weight)], InputError, "block 1 has sample_weight"),
            ([(X, y, weight[:7])], InputError, r"sample_weight of shape \(7,\)"),
            ([(X, y, -weight)], ValueError, "sample_weight"),
            ([(X, X[:, 0])], ValueError, "Unknown label type"),
            ([(X[:5], y[:5] * 0), (X[:5], y[:5] * 0)], InputError, "only one class"),
            ([(X * np.nan, y)], ValueError, "NaN"),
            ([(X[:0], y[:0])], ValueError, "0 sample"),
        ],
    )
    def test_they_are_named(self, blocks, error, message):
        model = GCWSClassifier(8).fit(X[:100], y[:100])
        before = dict(vars(model))
        with pytest.raises(error, match=message):
            model.fit_blocks(blocks)
        assert vars(model) == before

    def test_parameters(self):
        for memory in (0, -5):
            with pytest.raises(InputError, match="memory"):
                GCWSClassifier(8).fit_blocks([(X, y)], memory=memory)
        with pytest.raises(InputTypeError, match="memory"):
            GCWSClassifier(8).fit_blocks([(X, y)], memory=1e9)
        with pytest.raises(InputError, match="memory=1000 is too small"):
            GCWSClassifier(8).fit_blocks([(X, y)], memory=1000)
        with pytest.raises(InputError, match="center='mean' needs all rows"):
            GCWSClassifier(8, center="mean").fit_blocks([(X, y)])
        with pytest.raises(ValueError, match="'C' parameter"):
            GCWSClassifier(8, C=-1).fit_blocks([(X, y)])

    def test_codes_of_two_hashes(self):
        codes = [GCWS(8, random_state=seed).fit(X).codes(X) for seed in (0, 1)]
        with pytest.raises(InputError, match="codes of another hash"):
            GCWSClassifier(8, random_state=None).fit_blocks([(codes[0], y), (codes[1], y)])


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory():
    """160 MB of codes are learned on in less memory than they take."""
    imports = """\
    from kernelsketch import GCWSClassifier

    def blocks():
        for number in range(20):
            rows = np.random.default_rng(number).normal(size=(8000, 4)).astype(np.float32)
            yield rows, (rows[:, 0] > 0).astype(int)

    def learn(bits, memory):
        return GCWSClassifier(1000, bits=bits, max_iter=3, tol=0.5).fit_blocks(blocks(), memory=memory)
    """
    later = "learn(8, 150 << 20).code_weights_[:0]"
    used = extra_memory("None", "learn(1, 150 << 20)", later, textwrap.dedent(imports))
    assert used < 150


@pytest.mark.parametrize("dtype", [np.str_, object])
def test_text_labels_are_kept_as_numbers(dtype):
    """In an array of all labels each would take as much as the longest."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = np.where(X[:, 0] > 0, "yes", "no").astype(object)
    y[X[:, 1] > 1] = "perhaps" * 100
    model = GCWSClassifier(n_components=32)
    whole = clone(model).fit(X, y.astype(dtype))
    blocks = [(X[rows], y[rows].astype(dtype)) for rows in (slice(0, 7), slice(7, 300), slice(300, 600))]
    found = clone(model).fit_blocks(blocks)
    assert found.classes_.tolist() == whole.classes_.tolist()
    assert found.classes_.dtype == whole.classes_.dtype
    np.testing.assert_array_equal(found.code_weights_, whole.code_weights_)
    targets = _blocks.BlockTargets(are_classes=True)
    for _, labels in blocks:
        targets.add(labels)
    assert [part.dtype for part in targets._parts] == [np.int32] * 3


def test_many_classes_are_refused_before_all_rows_are_read():
    read = []

    def blocks():
        for block in range(100):
            read.append(block)
            X = np.full((1000, 3), 1.0 + block)
            yield X, np.array([f"class {1000 * block + row}" for row in range(1000)])

    with pytest.raises(InputError, match="is too small"):
        GCWSClassifier(n_components=64).fit_blocks(blocks(), memory=1 << 27)
    assert len(read) < 100
