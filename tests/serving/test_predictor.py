"""Predictors: equal to their model to the last bit, without scikit-learn, from files, in threads."""

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from helpers.memory import extra_memory
from kernelsketch import GCWSClassifier, GCWSClassifierCV, GCWSRegressor
from kernelsketch.backends import available, use_backend
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.serving import Predictor

D = 6


def data(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * rng.lognormal(size=D)
    X[rng.random(X.shape) < 0.2] = 0
    X[::9, : D // 2] = 0  # zero in the first view
    X[5] = 0
    y = np.array(["a", "b", "c"])[(X[:, 1] > 0).astype(int) + (X[:, 4] > 0.3)]
    return X, y


MODELS = {
    "plain": {},
    "two bits of t, 3 bits": {"bits": 3, "t_bits": 2},
    "12 bits": {"bits": 12},
    "16 + 8 bits": {"bits": 16, "t_bits": 8},
    "power": {"p": 0.3},
    "center": {"center": "median"},
    "gamma": {"gamma": 1.5},
    "views": {"views": [2, 4]},
    "views and center and gamma": {"views": 3, "center": "mean", "gamma": 0.7},
    "standard": {"scale": "standard"},
    "robust": {"scale": "robust"},
    "quantile": {"scale": "quantile"},
    "log_loss": {"loss": "log_loss"},
    "calibrated": {"probability": "calibrated"},
    "hinge": {"loss": "hinge"},
}


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equals_the_model(options, dtype, tmp_path):
    X, y = data()
    new = data(25, 1)[0].astype(dtype)
    model = GCWSClassifier(20, **options).fit(X, y)
    model.save(tmp_path / "m.safetensors")
    for name in available():
        with use_backend(name):
            for predictor in (model.predictor(), Predictor.load(tmp_path / "m.safetensors")):
                np.testing.assert_array_equal(predictor.decision_function(new), model.decision_function(new))
                np.testing.assert_array_equal(predictor.predict(new), model.predict(new))
                one = [predictor.predict(row) for row in new]
                np.testing.assert_array_equal(one, model.predict(new))
                if hasattr(model, "predict_proba"):
                    np.testing.assert_array_equal(predictor.predict_proba(new), model.predict_proba(new))
                    np.testing.assert_array_equal(predictor.predict_proba(new[0]), model.predict_proba(new)[0])


@pytest.mark.parametrize("options", [{}, {"loss": "huber"}, {"scale": "standard"}])
def test_regressors_and_two_classes(options):
    X, _ = data()
    y = 1e3 + 5 * X[:, 1]
    model = GCWSRegressor(64, **options).fit(X, y)
    np.testing.assert_array_equal(model.predictor().predict(X), model.predict(X))
    two = GCWSClassifierCV(32, Cs=[1.0, 10.0], cv=2).fit(X, y > 1e3)
    predictor = two.predictor()
    np.testing.assert_array_equal(predictor.decision_function(X), two.decision_function(X))
    assert predictor.decision_function(X[0]).shape == ()
    with pytest.raises(InputError, match="needs a classifier, but the model is a GCWSRegressor"):
        model.predictor().predict_proba(X)
    with pytest.raises(InputError, match="loss='log_loss'"):
        predictor.predict_proba(X)


def test_sparse_rows_and_many_features():
    """With 2^40 features there is no table of parameters, and sparse rows have no dense form."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((60, 3000), density=0.01, rng=rng, format="csr")
    y = np.arange(60) % 2
    model = GCWSClassifier(40).fit(X, y)
    np.testing.assert_array_equal(model.predictor().decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(model.predictor().decision_function(X.toarray()), model.decision_function(X))
    wide = sparse.csr_array((X.data, X.indices.astype(np.int64) * 2**20, X.indptr), shape=(60, 2**40))
    model = GCWSClassifier(40).fit(wide, y)
    np.testing.assert_array_equal(model.predictor().decision_function(wide), model.decision_function(wide))
    broken = sparse.csr_array((X.data, X.indices[::-1].copy(), X.indptr), shape=X.shape)
    with pytest.raises(InputError, match="do not ascend"):
        GCWSClassifier(40).fit(X, y).predictor().predict(broken)
    with pytest.raises(InputError, match="pass a dense array"):
        GCWSClassifier(40, views=2).fit(X, y).predictor().predict(X)


def test_threads_share_a_predictor():
    X, y = data(200)
    model = GCWSClassifier(128, gamma=1.0).fit(X, y)
    predictor, expected = model.predictor(), model.decision_function(X)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: predictor.decision_function(X), range(40)):
            np.testing.assert_array_equal(found, expected)
    with_threads = model.set_params(n_jobs=3).predictor()
    np.testing.assert_array_equal(with_threads.decision_function(np.repeat(X, 20, axis=0)), np.repeat(expected, 20, 0))


def test_does_not_follow_the_model():
    X, y = data()
    model = GCWSClassifier(32).fit(X, y)
    predictor, before = model.predictor(), model.decision_function(X)
    model.set_params(C=1e-3).fit(X, y)
    np.testing.assert_array_equal(predictor.decision_function(X), before)
    again = pickle.loads(pickle.dumps(predictor))
    np.testing.assert_array_equal(again.decision_function(X), before)
    assert repr(again) == "Predictor(3 classes, 6 features, 32 hashes)"


def test_integers_and_lists():
    X, y = data()
    model = GCWSClassifier(32).fit(X, y)
    whole = np.round(X).astype(np.int32)
    np.testing.assert_array_equal(model.predictor().predict(whole), model.predict(whole))
    assert model.predictor().predict(whole[0].tolist()) == model.predict(whole)[0]


def test_refuses_what_it_cannot_take(tmp_path):
    X, y = data()
    predictor = GCWSClassifier(32, center=np.full(D, -1e308)).fit(X, y).predictor()
    for value in (np.nan, np.inf, 1e308):  # the last overflows when the center is subtracted
        bad = X[:2].copy()
        bad[1, 3] = value
        with pytest.raises(InputError, match="NaN or infinity, or values that overflow"):
            predictor.predict(bad)
    for wrong in (X[:, :5], X[0, :5], X[None], X[:0], 3.0):
        with pytest.raises(InputError, match=r"takes rows of 6 features: pass one row of shape \(6,\)"):
            predictor.predict(wrong)
    with pytest.raises(InputTypeError, match="must hold real numbers"):
        predictor.predict(np.array(["a"] * D))
    with pytest.raises(FileNotFoundError, match=r"no such file. Check the name; relative names start at .*none"):
        Predictor.load(tmp_path / "none.safetensors")


def test_a_process_that_predicts_imports_neither_scikit_learn_nor_scipy(tmp_path):
    X, y = data()
    model = GCWSClassifier(32, scale="quantile", views=2, probability="calibrated").fit(X, y)
    model.save(tmp_path / "m.safetensors")
    code = """
import sys
from kernelsketch.serving import Predictor
predictor = Predictor.load(sys.argv[1])
row = [0.5, -1.0, 0.0, 2.0, 0.1, 3.0]
predictor.predict(row), predictor.predict_proba([row, row])
print(*sorted({name.split(".")[0] for name in sys.modules} & {"sklearn", "scipy", "joblib", "pandas", "threadpoolctl"}))
"""
    command = [sys.executable, "-c", code, str(tmp_path / "m.safetensors")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "\n"


def test_many_samples_per_hash_are_made_for_few_rows_at_a_time():
    """With gamma a row has about gamma times as many samples as hashes; a batch never holds those of all its rows."""
    X, y = data(40)
    model = GCWSClassifier(16, gamma=200.0).fit(X, y)
    many = np.repeat(X, 60, axis=0)
    np.testing.assert_array_equal(model.predictor().decision_function(many), model.decision_function(many))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_many_samples():
    make = "rng.normal(size=(2000, 4))"
    imports = "from kernelsketch import GCWSClassifier"
    model = "GCWSClassifier(8, gamma=2000.0, tol=0.5).fit(X[:20], np.arange(20) % 2).predictor()"
    warm_up = f"predictor = {model}; predictor.predict(X[:2])"
    assert extra_memory(make, warm_up, "predictor.decision_function(X)", imports) < 200
