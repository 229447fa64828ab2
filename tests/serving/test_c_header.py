"""The C header of a predictor: compiled with warnings as errors, with equal codes and nearly equal decision values."""

import ctypes
import platform
import shutil
import subprocess

import numpy as np
import pytest

from kernelsketch import GCWSClassifier, GCWSRegressor
from kernelsketch.exceptions import InputError

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
FMA = ("-mfma",) if platform.machine() in ("x86_64", "AMD64") else ()  # other processors have it without a flag
WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Werror"]
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
D = 6


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * 10.0 ** rng.integers(-4, 5, size=(n, D))
    X[rng.random(X.shape) < 0.2] = 0
    X[::7, : D // 2] = 0  # zero in the first view
    X[3] = 0
    y = (X[:, 1] > 0).astype(int) + (X[:, 4] > 0.3)
    return X, y


MODELS = {
    "plain": {},
    "t bits": {"bits": 3, "t_bits": 2, "p": 0.3},
    "12 bits, power": {"bits": 12, "p": 2.5},
    "center": {"center": "median"},
    "gamma": {"gamma": 1.5},
    "views": {"views": [2, 4]},
    "views, center, gamma": {"views": 3, "center": "mean", "gamma": 0.7},
    "standard": {"scale": "standard"},
    "robust": {"scale": "robust"},
    "quantile": {"scale": "quantile"},
    "calibrated": {"probability": "calibrated"},
}


def compiled(folder, text, flags=(), compiler=COMPILER):
    """The header in a library, with its functions for ctypes."""
    (folder / "model.h").write_text(text)
    (folder / "model.c").write_text(
        '#include "model.h"\n'
        "int codes(const double* x, uint32_t* out) { return model_codes(x, out); }\n"
        "int decision(const double* x, double* out) { return model_decision(x, out); }\n"
        "double predict(const double* x) { return model_predict(x); }\n"
        "const char* label(int i) { return %s; }\n"
        % ("model_classes[i]" if "model_classes[" in text else '((void)i, "")')
    )
    target = folder / "model.so"
    parts = str(folder / "model.c"), str(folder / "model.o")
    subprocess.run(
        [compiler, "-std=c99", *WARNINGS, "-O2", *flags, "-fPIC", "-c", parts[0], "-o", parts[1]], check=True
    )
    # Without the flags: with -ffast-math a linker adds code that takes subnormal numbers for zero in the whole process.
    subprocess.run([compiler, "-shared", parts[1], "-o", str(target), "-lm"], check=True)
    library = ctypes.CDLL(str(target))
    library.predict.restype = ctypes.c_double
    library.label.restype = ctypes.c_char_p
    return library


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def answers(library, X, k, problems):
    codes, values = np.empty((len(X), k), np.uint32), np.empty((len(X), problems))
    empty, predictions = np.empty(len(X), bool), np.empty(len(X))
    for i, row in enumerate(np.ascontiguousarray(X, np.float64)):
        empty[i] = library.codes(pointer(row), pointer(codes[i]))
        library.decision(pointer(row), pointer(values[i]))
        predictions[i] = library.predict(pointer(row))
    return codes, empty, values, predictions


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_equals_the_model(options, tmp_path):
    X, y = data()
    new = data(100, 1)[0]
    model = GCWSClassifier(24, **options).fit(X, np.array(["no", 'a "b"\\?', "yes"])[y])
    library = compiled(tmp_path, model.predictor().to_c())
    codes, empty, values, predictions = answers(library, new, 24, 3)
    scaled = new if model.fitted_.scaling is None else model.fitted_.scaling.apply(model_rows(model, new)).values
    expected = model.hasher_.codes(scaled)
    np.testing.assert_array_equal(empty, expected.empty)
    np.testing.assert_array_equal(codes[~empty], expected.unpack()[~empty])
    np.testing.assert_allclose(values, model.decision_function(new), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(model.classes_[predictions.astype(int)], model.predict(new))
    assert [library.label(i).decode() for i in range(3)] == list(model.classes_)


def model_rows(model, X):
    from kernelsketch._rows import estimator_rows

    return estimator_rows(model, X, reset=False)


@pytest.mark.parametrize("flags", [(), FMA, (*FMA, "-ffp-contract=fast")], ids=["plain", "fma", "contracted"])
def test_compilers_cannot_change_codes(flags, tmp_path):
    X, y = data(200)
    model = GCWSClassifier(256, center="mean").fit(X, y > 0)
    library = compiled(tmp_path, model.predictor().to_c(), flags)
    codes, _, values, predictions = answers(library, X, 256, 1)
    np.testing.assert_array_equal(codes, model.hasher_.codes(X).unpack())
    np.testing.assert_allclose(values[:, 0], model.decision_function(X), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(predictions.astype(bool), model.predict(X))


def test_regressors_and_headers_without_tables(tmp_path, monkeypatch):
    from kernelsketch.serving import _c_header

    monkeypatch.setattr(_c_header, "TABLE_ENTRIES", 10)
    X, _ = data()
    y = 1e4 + 3 * np.clip(X[:, 1], -5, 5)
    model = GCWSRegressor(32, views=2).fit(X, y)
    library = compiled(tmp_path, model.predictor().to_c())
    codes, empty, _, predictions = answers(library, X, 32, 1)
    np.testing.assert_array_equal(codes[~empty], model.hasher_.codes(X).unpack()[~empty])
    np.testing.assert_allclose(predictions, model.predict(X), rtol=1e-6)


@pytest.mark.parametrize(
    "options",
    [{}, {"scale": "standard"}, {"scale": "quantile"}, {"center": [-1e308] * D}, {"probability": "calibrated"}],
)
@pytest.mark.parametrize("flags", [("-O2",), ("-ffast-math",), ("-ffast-math", "-O3")], ids=["plain", "fast", "faster"])
@pytest.mark.parametrize("compiler", sorted({COMPILER, shutil.which("clang") or COMPILER}, key=str))
def test_rows_with_nan_or_infinity_have_no_prediction(compiler, options, flags, tmp_path):
    X, y = data()
    bad = np.tile(X[1], (4, 1))
    bad[[0, 1, 2], [1, 2, 0]] = np.nan, np.inf, -np.inf
    bad[3] = 1.7e308 if "center" in options else np.nan  # minus the center it overflows
    (tmp_path / "classes").mkdir()
    header = GCWSClassifier(8, **options).fit(X, y).predictor().to_c()
    library = compiled(tmp_path / "classes", header, flags, compiler)
    values, codes = np.zeros(3), np.zeros(8, np.uint32)
    for row in bad:
        assert library.predict(pointer(row)) == library.codes(pointer(row), pointer(codes)) == -1
        assert library.decision(pointer(row), pointer(values)) == -1
        assert np.isnan(values).all()
    assert library.predict(pointer(X[1])) >= 0
    if "probability" in options:
        return
    library = compiled(tmp_path, GCWSRegressor(8, **options).fit(X, y).predictor().to_c(), flags, compiler)
    assert all(np.isnan(library.predict(pointer(row))) for row in bad)


@pytest.mark.parametrize("language", ["c99", "c11", "c++17", "c++20"])
def test_two_models_in_one_program(language, tmp_path):
    compiler = shutil.which("c++") if "++" in language else COMPILER
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    X, y = data()
    one = GCWSClassifier(8, gamma=0.5, scale="quantile").fit(X, np.where(y > 0, "ks_low", "ks_high"))
    two = GCWSRegressor(8, scale="robust").fit(X, X[:, 0])
    (tmp_path / "one.h").write_text(one.predictor().to_c("one"))
    (tmp_path / "two.h").write_text(two.predictor().to_c("two"))
    (tmp_path / "empty.c").write_text('#include "one.h"\n#include "two.h"\n')  # nothing is used
    (tmp_path / "main.c").write_text(
        '#include "one.h"\n#include "two.h"\n#include <stdio.h>\n'
        f"int main(void) {{ const double x[{D}] = {{{', '.join(map(str, X[1]))}}};\n"
        'printf("%s %.17g\\n", one_classes[one_predict(x)], two_predict(x)); return 0; }\n'
    )
    common = [compiler, f"-std={language}", *WARNINGS, "-O2", "-x", "c++" if "++" in language else "c"]
    subprocess.run([*common, "-c", str(tmp_path / "empty.c"), "-o", str(tmp_path / "empty.o")], check=True)
    subprocess.run([*common, str(tmp_path / "main.c"), "-o", str(tmp_path / "main"), "-lm"], check=True)
    label, value = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout.split()
    assert label == one.predict(X[1:2])[0]
    np.testing.assert_allclose(float(value), two.predict(X[1:2])[0], rtol=1e-6)


@pytest.mark.parametrize("name", ["KS_model", "ks_model", "Model"])
def test_all_names_begin_with_the_given_one(name, tmp_path):
    X, y = data()
    model = GCWSClassifier(8).fit(X, np.where(y > 0, "high", "low"))
    (tmp_path / "model.h").write_text(model.predictor().to_c(name))
    row = ", ".join(map(str, X[1]))
    (tmp_path / "main.c").write_text(
        '#include "model.h"\n#include <stdio.h>\n'
        f"int main(void) {{ const double x[{D}] = {{{row}}}; puts({name}_classes[{name}_predict(x)]); return 0; }}\n"
    )
    subprocess.run(
        [COMPILER, "-std=c99", *WARNINGS, str(tmp_path / "main.c"), "-o", tmp_path / "main", "-lm"], check=True
    )
    assert subprocess.check_output([tmp_path / "main"], text=True) == f"{model.predict(X[1:2])[0]}\n"


def test_names_and_sizes_that_cannot_be():
    X, y = data()
    predictor = GCWSClassifier(8).fit(X, y).predictor()
    assert "int fraud_predict(" in predictor.to_c("fraud")
    for name in ("", "1st", "a-b", "a b"):
        with pytest.raises(InputError, match="cannot begin names in C"):
            predictor.to_c(name)
