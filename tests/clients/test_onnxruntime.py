"""onnxruntime: ONNX graphs of predictors have equal codes there, and nearly equal decision values."""

import numpy as np
import pytest

from helpers.clients import client
from kernelsketch import GCWSClassifier, GCWSRegressor
from kernelsketch.exceptions import InputError

client("onnx")
runtime = client("onnxruntime")
D = 6


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * 10.0 ** rng.integers(-4, 5, size=(n, D))
    X[rng.random(X.shape) < 0.2] = 0
    X[::7, : D // 2] = 0  # zero in the first view
    X[3] = 0
    return X, (X[:, 1] > 0).astype(int) + (X[:, 4] > 0.3)


def run(model, X):
    session = runtime.InferenceSession(model.predictor().to_onnx(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": np.asarray(X, np.float64)}), strict=True))


def compare(model, X, codes):
    expected = model.hasher_.codes(
        X if model.fitted_.scaling is None else model.fitted_.scaling.apply(rows_of(model, X)).values
    )
    kept = ~expected.empty
    np.testing.assert_array_equal(codes[kept], expected.unpack()[kept])


def rows_of(model, X):
    from kernelsketch._rows import estimator_rows

    return estimator_rows(model, X, reset=False)


MODELS = {
    "plain": {},
    "t bits": {"bits": 3, "t_bits": 2, "p": 0.3},
    "12 bits, power": {"bits": 12, "p": 2.5},
    "center": {"center": "median"},
    "views": {"views": [2, 4]},
    "views and center": {"views": 3, "center": "mean"},
    "standard": {"scale": "standard"},
    "robust": {"scale": "robust"},
    "calibrated": {"probability": "calibrated"},
}


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_classifiers(options):
    X, y = data()
    new = data(100, 1)[0]
    model = GCWSClassifier(24, **options).fit(X, np.array(["no", "perhaps", "yes"])[y])
    found = run(model, new)
    compare(model, new, found["codes"])
    np.testing.assert_array_equal(found["decision"], model.decision_function(new))
    np.testing.assert_array_equal(found["label"], model.predict(new))


def test_two_classes_of_whole_numbers():
    X, y = data()
    model = GCWSClassifier(32).fit(X, np.where(y > 0, 7, -7))
    found = run(model, X)
    np.testing.assert_array_equal(found["label"], model.predict(X))
    np.testing.assert_array_equal(found["decision"][:, 0], model.decision_function(X))
    read = GCWSClassifier(32).fit(X, np.where(y > 0, 7.0, -7.0))  # as the command line reads labels
    np.testing.assert_array_equal(run(read, X)["label"], model.predict(X))
    assert 'model_classes[2] = {"-7", "7"}' in read.predictor().to_c()


def test_regressors():
    X, _ = data()
    model = GCWSRegressor(32).fit(X, 1e4 + np.clip(X[:, 1], -5, 5))
    np.testing.assert_array_equal(run(model, X)["prediction"], model.predict(X))


def test_values_of_the_whole_range_of_float64():
    """Codes take the exponent and 24 bits of each value, of subnormal numbers too."""
    rng = np.random.default_rng(0)
    exponents = rng.integers(-1074, 1023, size=(4000, 2))
    X = np.ldexp(rng.uniform(1, 2, size=exponents.shape), exponents)
    X[:200, 0] = np.ldexp(1.0, exponents[:200, 0])  # powers of two, where a logarithm is off by one
    X[200:400, 0] = np.nextafter(X[:200, 0], 0)
    X[:, 1] *= rng.choice([-1.0, 1.0], 4000)
    model = GCWSClassifier(8, t_bits=4).fit(X, np.arange(4000) % 2)
    compare(model, X, run(model, X)["codes"])


@pytest.mark.parametrize("options", [{}, {"scale": "standard"}, {"center": [-1e308] * D}])
def test_rows_with_nan_or_infinity_have_no_prediction(options):
    X, y = data()
    mixed = np.tile(X[1], (5, 1))
    mixed[[0, 1, 2], [1, 2, 0]] = np.nan, np.inf, -np.inf
    mixed[3] = 1.7e308 if "center" in options else np.nan  # minus the center it overflows
    model = GCWSClassifier(8, **options).fit(X, y)
    found = run(model, mixed)
    assert np.isnan(found["decision"][:4]).all()
    assert found["label"][:4].tolist() == [-(2**63)] * 4
    np.testing.assert_array_equal(found["label"][4:], model.predict(mixed[4:]))
    named = GCWSClassifier(8, **options).fit(X, np.array(["no", "perhaps", "yes"])[y])
    assert run(named, mixed)["label"].tolist()[:4] == [""] * 4
    assert np.isnan(run(GCWSRegressor(8, **options).fit(X, y), mixed)["prediction"]).tolist() == [True] * 4 + [False]


def test_labels_beyond_int64_are_text():
    X, y = data()
    model = GCWSClassifier(8).fit(X, np.array([5, 2**63 + 1], np.uint64)[(y > 0).astype(int)])
    assert run(model, X)["label"].tolist() == [str(label) for label in model.predict(X)]


def test_what_cannot_be_expressed():
    X, y = data()
    with pytest.raises(InputError, match=r"a model with gamma=1\.0 cannot be exported to ONNX"):
        GCWSClassifier(8, gamma=1.0).fit(X, y).predictor().to_onnx()
    with pytest.raises(InputError, match="scale='quantile' cannot be exported to ONNX"):
        GCWSClassifier(8, scale="quantile").fit(X, y).predictor().to_onnx()
