"""Models in files: what a round trip restores, what saving refuses, and golden files of every version."""

import copy
import errno
import json
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

from helpers.models import decision_values
from kernelsketch import GCWS, GCWSClassifier, GCWSClassifierCV, GCWSRegressor, load_model
from kernelsketch._losses import REGRESSOR_LOSSES
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.serving import _model_file
from kernelsketch.storage import _atomic

GOLDEN = Path(__file__).parents[1] / "golden"
X = ((np.arange(60 * 5).reshape(60, 5) * 7919) % 101 - 50) / 10.0  # whole numbers: the same everywhere
y = np.arange(60) % 3
LABELS = {
    "int8": np.array([-3, 0, 5], np.int8),
    "uint64": np.array([1, 7, 2**63], np.uint64),
    "int32, big-endian": np.array([1, 7, 9], ">i4"),
    "float32": np.array([-1.0, 0.0, 2.0], np.float32),
    "float64": np.array([-1.0, 0.0, 2.0]),
    "str": np.array(["", "ä 日本", "zebra with a long name"]),
    "object": np.array(["one", "three", "two"], dtype=object),
}


def through(model, tmp_path, kind=None):
    path = tmp_path / "model.safetensors"
    model.save(path)
    found = load_model(path) if kind is None else kind.load(path)
    assert type(found) is type(model)
    return found


def assert_same(a, b, rows=X):
    np.testing.assert_array_equal(a.predict(rows), b.predict(rows))
    np.testing.assert_array_equal(decision_values(a, rows), decision_values(b, rows))
    np.testing.assert_array_equal(a.code_weights_, b.code_weights_)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)
    assert (a.n_iter_, a.n_features_in_) == (b.n_iter_, b.n_features_in_)
    assert hasattr(a, "dual_gap_") == hasattr(b, "dual_gap_")
    if hasattr(a, "dual_gap_"):
        assert type(a.dual_gap_) is type(b.dual_gap_)
        np.testing.assert_array_equal([a.dual_gap_, a.objective_], [b.dual_gap_, b.objective_])


class TestRoundTrip:
    @pytest.mark.parametrize("labels", LABELS)
    def test_labels(self, tmp_path, labels):
        model = GCWSClassifier(16).fit(X, LABELS[labels][y])
        found = through(model, tmp_path, GCWSClassifier)
        assert_same(found, model)
        np.testing.assert_array_equal(found.classes_, model.classes_)
        assert found.classes_.dtype.kind == model.classes_.dtype.kind
        assert found.classes_.dtype.kind == "U" or found.classes_.dtype == model.classes_.dtype.newbyteorder("=")

    def test_booleans_and_pandas_strings(self, tmp_path):
        found = through(GCWSClassifier(16).fit(X, y > 1), tmp_path)
        assert found.classes_.dtype == bool
        model = GCWSClassifier(16).fit(X, pd.Series(["a", "b", "c"] * 20, dtype="string"))
        assert_same(through(model, tmp_path), model)

    @settings(max_examples=25)
    @given(
        hashing=st.fixed_dictionaries(
            {
                "n_components": st.integers(1, 20),
                "bits": st.integers(1, 12),
                "p": st.floats(0.1, 4),
                "gamma": st.none() | st.floats(0.1, 3),
                "center": st.sampled_from([None, "mean", "median", [0.5, 0, -1, 2, 3]]),
                "random_state": st.integers(0, 2**64 - 1) | st.just(None),
                "n_jobs": st.sampled_from([None, 1, 2]),
            }
        ),
        training=st.fixed_dictionaries(
            {
                "C": st.floats(0.01, 10),
                "loss": st.sampled_from(["squared_hinge", "hinge", "log_loss"]),
                "fit_intercept": st.booleans(),
                "intercept_scaling": st.floats(0.5, 2),
                "tol": st.sampled_from([1e-2, 1e-3, 1e-5]),
                "warm_start": st.booleans(),
                "class_weight": st.sampled_from([None, "balanced", {0: 2.0, 1: 1, 2: np.float32(0.5)}]),
            }
        ),
        stream=st.booleans(),
        count=st.sampled_from([2, 3]),
    )
    def test_classifiers(self, tmp_path_factory, hashing, training, stream, count):
        model = GCWSClassifier(**hashing, **training).set_params(max_iter=200)
        if stream and model.class_weight != "balanced":
            model.set_params(class_weight=None)
            for part in (slice(0, 30), slice(30, 60)):
                model.partial_fit(X[part], y[part] % count, classes=np.arange(count))
        else:
            if count == 2 and isinstance(model.class_weight, dict):
                model.set_params(class_weight=None)
            model.fit(X, y % count)
        found = through(model, tmp_path_factory.mktemp("models"))
        assert_same(found, model)
        for name, value in model.get_params().items():
            np.testing.assert_array_equal(getattr(found, name), value)
        if model.loss == "log_loss":
            np.testing.assert_array_equal(found.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(found.predict(found.hasher_.codes(X)), model.predict(X))

    @pytest.mark.parametrize("loss", REGRESSOR_LOSSES)
    @pytest.mark.parametrize("tol", [1e-3, 1e-6])
    def test_regressors(self, tmp_path, loss, tol):
        model = GCWSRegressor(24, loss=loss, tol=tol, random_state=np.random.RandomState(3)).fit(X, X[:, 0] * 1e6 + 7)
        found = through(model, tmp_path, GCWSRegressor)
        assert_same(found, model)
        assert found.fitted_.weights.dtype == model.fitted_.weights.dtype
        assert found.random_state == model.hasher_.seed_  # what is kept of a RandomState

    @pytest.mark.parametrize("refit", [True, False])
    @pytest.mark.parametrize("Cs", [3, [0.1, 1.0], np.array([1, 10])])
    def test_cross_validation(self, tmp_path, refit, Cs):
        model = GCWSClassifierCV(16, Cs=Cs, cv=3, refit=refit, scoring="f1_macro").fit(X, y)
        found = through(model, tmp_path, GCWSClassifierCV)
        assert_same(found, model)
        assert (found.C_, found.cv, found.scoring, found.refit) == (model.C_, 3, "f1_macro", refit)
        for name in ("Cs_", "scores_", "n_iters_"):
            np.testing.assert_array_equal(getattr(found, name), getattr(model, name))

    def test_names_of_features(self, tmp_path):
        frame = pd.DataFrame(X, columns=["a", "b", "ü", "", "a long name"])
        model = GCWSClassifier(16).fit(frame, y)
        found = through(model, tmp_path)
        np.testing.assert_array_equal(found.feature_names_in_, model.feature_names_in_)
        np.testing.assert_array_equal(found.predict(frame), model.predict(frame))
        with pytest.raises(ValueError, match="feature names"):
            found.predict(frame.rename(columns={"a": "z"}))

    def test_codes_that_training_did_not_meet(self, tmp_path):
        model = GCWSClassifier(16, bits=16).fit(np.abs(X[:, :2]), y)
        assert_same(through(model, tmp_path), model, -X[:, :2])

    def test_an_empty_row_alone_has_a_used_code(self, tmp_path):
        model = GCWSClassifier(4).fit(np.zeros((4, 3)), [0, 1, 0, 1])
        assert_same(through(model, tmp_path), model, np.zeros((2, 3)))

    def test_parameters_that_were_set_after_fit(self, tmp_path):
        model = GCWSClassifier(16).fit(X, y).set_params(n_components=99, C=3.0)
        found = through(model, tmp_path)
        assert (found.n_components, found.C, found.hasher_.n_components) == (99, 3.0, 16)
        assert_same(found, model)

    def test_copies_as_before(self, tmp_path):
        model = through(GCWSClassifier(16, center="mean").fit(X, y), tmp_path)
        for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), through(model, tmp_path)):
            assert_same(other, model)
        assert not hasattr(clone(model), "classes_")


class TestGoingOn:
    @pytest.mark.parametrize("kind", [GCWSClassifier, GCWSRegressor])
    @pytest.mark.parametrize("begun", ["fit", "stream"])
    def test_streams(self, tmp_path, kind, begun):
        model = kind(16, tol=1e-5)
        if begun == "fit":
            model.fit(X[:30, :3], y[:30])
        else:
            first = (np.unique(y),) if kind is GCWSClassifier else ()
            model.partial_fit(X[:30, :3], y[:30], *first)
        found = through(model, tmp_path)
        for one in (model, found):
            one.partial_fit(-X[30:, :3], y[30:])
        assert_same(found, model, X[:, :3])

    def test_warm_starts(self, tmp_path):
        model = GCWSClassifier(32, warm_start=True, C=10).fit(X, y)
        found = through(model, tmp_path)
        for one in (model, found):
            one.set_params(C=11.0).fit(X, y)
        assert_same(found, model)
        assert model.n_iter_ < GCWSClassifier(32, C=11.0).fit(X, y).n_iter_


class TestRefusals:
    def test_unfitted(self, tmp_path):
        with pytest.raises(NotFittedError):
            GCWSClassifier().save(tmp_path / "file")

    def test_objects(self, tmp_path):
        model = GCWSClassifierCV(8, Cs=2, cv=KFold(2, shuffle=True, random_state=0)).fit(X, y)
        with pytest.raises(InputTypeError, match=r"cv=KFold.*set_params\(cv=None\)"):
            model.save(tmp_path / "file")
        assert_same(through(model.set_params(cv=None), tmp_path), model)
        with pytest.raises(InputTypeError, match="scoring=<function"):
            model.set_params(scoring=lambda *_: 1.0).save(tmp_path / "file")

    def test_labels(self, tmp_path):
        model = GCWSClassifier(8).fit(X, y)
        for labels in (np.arange(3).astype(np.longdouble), np.array([1, 2, "x"], dtype=object), np.arange(3) * 1j):
            model.fitted_ = replace(model.fitted_, classes=labels)
            with pytest.raises(InputTypeError, match="labels of dtype"):
                model.save(tmp_path / "file")

    def test_labels_that_would_not_fit(self, tmp_path, monkeypatch):
        monkeypatch.setattr(_model_file, "MAX_LABEL_BYTES", 40)
        model = GCWSClassifier(8).fit(X, LABELS["str"][y])
        with pytest.raises(InputError, match="shorter labels"):
            model.save(tmp_path / "file")

    def test_a_model_of_another_class(self, tmp_path):
        GCWSRegressor(8).fit(X, y).save(tmp_path / "file")
        with pytest.raises(InputError, match=r"holds a GCWSRegressor: read it with GCWSRegressor\.load or"):
            GCWSClassifier.load(tmp_path / "file")
        GCWS(8).fit(X).codes(X).save(tmp_path / "file")
        with pytest.raises(InputError, match=r"does not hold a model .*it holds packed codes: load it with Packed"):
            load_model(tmp_path / "file")

    def test_no_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            load_model(tmp_path / "none")
        with pytest.raises(FileNotFoundError, match="was not written"):
            GCWSClassifier(8).fit(X, y).save(tmp_path / "none" / "file")


def test_a_full_disk_leaves_the_old_model(tmp_path, monkeypatch):
    model = GCWSClassifier(16).fit(X, y)
    path = tmp_path / "model"
    model.save(path)

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_atomic.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        GCWSRegressor(16).fit(X, y).save(path)
    monkeypatch.undo()
    assert_same(GCWSClassifier.load(path), model)
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


@pytest.mark.slow
def test_two_processes_that_save_to_one_path(tmp_path):
    path = tmp_path / "model"
    models = [GCWSClassifier(k).fit(X, y) for k in (16, 32)]
    for model, name in zip(models, "ab", strict=True):
        model.save(tmp_path / name)
    program = "import sys, kernelsketch as ks\nfor _ in range(100): ks.load_model(sys.argv[1]).save(sys.argv[2])"
    arguments = [[sys.executable, "-c", program, str(tmp_path / name), str(path)] for name in "ab"]
    processes = [subprocess.Popen(command) for command in arguments]
    while any(process.poll() is None for process in processes):
        if path.exists():
            found = load_model(path)
            assert_same(found, models[found.n_components == 32])
    assert [process.returncode for process in processes] == [0, 0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b", "model"]


def golden_models():
    frame = pd.DataFrame(X, columns=list("abcde"))
    yield "classifier", GCWSClassifier(16, bits=6, t_bits=2, center="mean").fit(frame, LABELS["str"][y])
    yield "warm", GCWSClassifier(8, loss="hinge", tol=1e-5, warm_start=True, class_weight={0: 2.0}).fit(X, y > 1)
    yield "stream", GCWSRegressor(8, loss="huber", p=0.5).partial_fit(X, X[:, 0])
    yield "sparse", GCWSClassifier(48, gamma=0.7).fit(X, y)
    yield "cv", GCWSClassifierCV(8, Cs=[0.1, 1.0], cv=3, gamma=1.0, class_weight="balanced").fit(X, y)


@pytest.mark.parametrize("name", ["classifier", "warm", "stream", "sparse", "cv"])
def test_files_of_version_1(request, name):
    """``pytest --overwrite-golden`` renews the files until version 1 is released; after that they load for ever."""
    path, expected = GOLDEN / f"model-v1-{name}.safetensors", GOLDEN / "model-v1.json"
    rows = pd.DataFrame(X[:6], columns=list("abcde")) if name == "classifier" else X[:6]
    if request.config.getoption("--overwrite-golden"):
        model = dict(golden_models())[name]
        model.save(path)
        known = json.loads(expected.read_text()) if expected.exists() else {}
        known[name] = [[float(v).hex() for v in row] for row in decision_values(model, rows)]
        expected.write_text(json.dumps(known, indent=1) + "\n")
    model = load_model(path)
    values = [[float.fromhex(v) for v in row] for row in json.loads(expected.read_text())[name]]
    np.testing.assert_array_equal(decision_values(model, rows), values)
    assert model.n_iter_ > 0
    if name == "classifier":
        assert list(model.classes_) == sorted(LABELS["str"])
        assert list(model.feature_names_in_) == list("abcde")
    if name == "warm":
        assert model.training_.duals.shape == (1, 60)
        assert model.class_weight == {0: 2.0}
    if name == "stream":
        model.partial_fit(X, X[:, 0])
    if name == "cv":
        assert (model.C_ in (0.1, 1.0), model.scores_.shape) == (True, (3, 2))
