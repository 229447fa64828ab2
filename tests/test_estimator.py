"""Targets: labels of several types, labels of other libraries, and numbers that no float holds."""

import numpy as np
import pytest

import kernelsketch as ks
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.tabular import GCWSTabularClassifier, GCWSTabularRegressor, RelevanceScaler

rng = np.random.default_rng(0)
X = rng.random((40, 3))
QUICK = {"effort": "quick", "random_state": 0}
FITS = {
    "GCWSClassifier": lambda y: ks.GCWSClassifier(8).fit(X, y),
    "partial_fit": lambda y: ks.GCWSClassifier(8).partial_fit(X, y, classes=["a", "b"]),
    "fit_blocks": lambda y: ks.GCWSClassifier(8).fit_blocks([(X, y)]),
    "codes": lambda y: ks.GCWSClassifier(8).fit(ks.GCWS(8).fit(X).codes(X), y),
    "GCWSClassifierCV": lambda y: ks.GCWSClassifierCV(8, cv=2).fit(X, y),
    "GCWSTabularClassifier": lambda y: GCWSTabularClassifier(**QUICK).fit(X, y),
    "RelevanceScaler": lambda y: RelevanceScaler(n_steps=2).fit(X, y),
}
fits = pytest.mark.parametrize("fit", FITS.values(), ids=FITS)


def objects(values):
    found = np.empty(len(values), object)
    found[:] = values
    return found


@fits
@pytest.mark.parametrize("made", [list, tuple, objects, lambda y: pytest.importorskip("pandas").Series(objects(y))])
@pytest.mark.parametrize("other", [1, 1.5, True, b"a"])
def test_labels_of_several_types(fit, made, other):
    with pytest.raises(InputTypeError, match=r"y has labels of several types, 'a' and .* \(row 1\) of type"):
        fit(made(["a", other] * 20))


def test_classes_of_several_types():
    with pytest.raises(InputTypeError, match="labels of several types"):
        ks.GCWSClassifier(8).partial_fit(X, ["a", "b"] * 20, classes=["a", 1])


def labels(values):
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    yield list(values)
    yield objects(values)
    yield pandas.Series(values, dtype="string")
    yield pandas.Series(values, dtype="category")
    yield polars.Series(values)
    yield polars.Series(values, dtype=polars.Categorical)
    yield pyarrow.array(values)
    yield pyarrow.array(values).dictionary_encode()
    yield pyarrow.chunked_array([values]).dictionary_encode()
    yield pytest.importorskip("narwhals").from_native(polars.Series(values), series_only=True)


@pytest.mark.parametrize("fit", [FITS["GCWSClassifier"], FITS["GCWSTabularClassifier"]])
def test_labels_of_all_libraries(fit):
    for y in labels(["a", "b"] * 20):
        assert fit(y).classes_.tolist() == ["a", "b"]
    for y in labels(["a", "b", None, "a"] * 10):
        with pytest.raises(InputError, match=r"y has a missing label, .*, in row 2"):
            fit(y)
    with pytest.raises(InputError, match="y has a missing label, nan, in row 1"):
        fit(["a", float("nan")] * 20)


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 1 has no StringDType")
@fits
def test_labels_of_variable_width(fit):
    fit(np.array(["a", "b"] * 20, np.dtypes.StringDType()))


HUGE = 10**400
PLACE = r"contains an integer of 401 digits \(row 1, column 2\), which is beyond the largest float, 1.8e308"


@pytest.mark.parametrize("made", [lambda rows: rows, lambda rows: np.array(rows, object)])
@pytest.mark.parametrize(
    "call",
    [
        ks.gmm_kernel,
        ks.sign_split,
        lambda rows: ks.gmm_kernel(X, rows),
        lambda rows: ks.GCWS(8).fit(rows),
        lambda rows: ks.GCWS(8).fit(X).transform(rows),
        lambda rows: ks.RFF(8).fit(rows),
        lambda rows: ks.GMMNystroem(n_components=2).fit(rows),
        lambda rows: ks.GCWSClassifier(8).fit(rows, [0, 1]),
        lambda rows: ks.GCWSRegressor(8).fit(rows, [0, 1]),
        lambda rows: ks.GCWSIndex(n_tables=2).fit(rows),
        lambda rows: ks.GCWSClassifier(8, scale="standard").fit(X, [0, 1] * 20).predictor().predict(rows),
    ],
)
def test_integers_that_no_float_holds(call, made):
    with pytest.raises(InputError, match=PLACE):
        call(made([[1, 2, 3], [4, 5, -HUGE]]))


@pytest.mark.parametrize("fit", [ks.GCWSRegressor(8), ks.GCWSRegressorCV(8), GCWSTabularRegressor(**QUICK)])
def test_targets_that_no_float_holds(fit):
    with pytest.raises(InputError, match=r"y contains an integer of 401 digits \(row 1\)"):
        fit.fit(X, [1, HUGE] * 20)
