"""Data frames of every library give functions and estimators the bits that the same NumPy array gives."""

import functools
import warnings

import numpy as np
import pytest

import kernelsketch as ks
from helpers.frames import MAKERS
from kernelsketch._frames import frame_of
from kernelsketch.exceptions import InputError, ScaleWarning
from kernelsketch.tabular import GCWSTabularClassifier, GCWSTabularRegressor, RelevanceScaler

rng = np.random.default_rng(0)
COLUMNS = {
    "a": rng.normal(size=40),
    "b": rng.integers(-3, 4, 40),
    "c": rng.random(40) > 0.4,
    "d": rng.gamma(2.0, size=40).astype(np.float32),
}
NAMES = list(COLUMNS)
X = np.column_stack([values.astype(np.float64) for values in COLUMNS.values()])
y = (COLUMNS["a"] > 0).astype(int)
QUICK = {"effort": "quick", "random_state": 0}


def frame(library, columns=COLUMNS):
    return MAKERS[library](columns)


def make_fit(made, method):
    """A function that fits an estimator and calls a method of it. X is made anew for each call: streams end."""

    def call(make):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScaleWarning)
            model = made().fit(make(), y)
        found = getattr(model, method)(make())
        return found if isinstance(found, tuple) else (found,)

    call.__name__ = f"{made.__name__ if hasattr(made, '__name__') else made.func.__name__}.{method}"
    return call


def make_function(function):
    def call(make):
        return (function(make()),)

    call.__name__ = function.__name__
    return call


def index():
    return ks.GCWSIndex(n_tables=4, hashes_per_table=2, n_neighbors=2)


def index_add(make):
    made = index().fit(make())
    made.add(make(), ids=np.arange(100, 140))
    return made.kneighbors(make())


def stream(make):
    model = ks.GCWSClassifier(8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        model.partial_fit(make(), y, classes=[0, 1])
    return (model.decision_function(make()),)


def blocks(make):
    return (ks.GCWSClassifier(8).fit_blocks([(make(), y), (make(), y)]).decision_function(make()),)


def predictor(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        model = ks.GCWSClassifier(8).fit(X, y)
    return (model.predictor().decision_function(make()),)


def both_sides(make):
    return ks.gmm_kernel(make(), make()), ks.gmm_kernel(X, make())


def tune(make):
    found = ks.GCWSIndex().tune(make(), recall=0.9, n_neighbors=2).tuning_
    return tuple(np.array(value) for value in found.values())


CALLS = [
    *map(make_function, [ks.gmm_kernel, ks.ngmm_kernel, ks.rbf_kernel, ks.intersection_kernel, ks.sign_split]),
    both_sides,
    lambda make: (np.concatenate([block for _, block in ks.iter_kernel_blocks(make(), block_size=9)]),),
    make_fit(functools.partial(ks.GCWS, 8), "transform"),
    make_fit(functools.partial(ks.RFF, 8), "transform"),
    make_fit(functools.partial(ks.NRFF, 8), "transform"),
    make_fit(functools.partial(ks.GMMNystroem, n_components=8, random_state=0), "transform"),
    make_fit(functools.partial(ks.GCWSClassifier, 8), "decision_function"),
    make_fit(functools.partial(ks.GCWSClassifierCV, 8, cv=2), "decision_function"),
    make_fit(functools.partial(ks.GCWSRegressor, 8), "predict"),
    make_fit(functools.partial(ks.GCWSRegressorCV, 8, cv=2), "predict"),
    make_fit(functools.partial(ks.GCWSClassifier, 8, scale="quantile"), "predict"),
    make_fit(index, "kneighbors"),
    make_fit(functools.partial(ks.GCWSNeighborsTransformer, 2, index=index()), "transform"),
    lambda make: (ks.NearDuplicates(0.9).fit(make()).representatives_,),
    lambda make: ks.dedup(make(), threshold=0.9),
    make_fit(functools.partial(RelevanceScaler, n_steps=3), "transform"),
    make_fit(functools.partial(GCWSTabularClassifier, **QUICK), "predict_proba"),
    make_fit(functools.partial(GCWSTabularRegressor, **QUICK), "predict"),
    index_add,
    stream,
    blocks,
    predictor,
    tune,
]
IDS = [f"{number}-{call.__name__}" for number, call in enumerate(CALLS)]


def dense(found):
    return found.toarray() if hasattr(found, "toarray") else np.asarray(found)


@functools.cache
def expected(number):
    return [dense(found) for found in CALLS[number](lambda: X)]


@pytest.mark.parametrize("number", range(len(CALLS)), ids=IDS)
@pytest.mark.parametrize("library", MAKERS)
def test_frames_give_the_bits_of_arrays(library, number):
    wanted = expected(number)
    frame(library)  # skips where the library is absent
    found = CALLS[number](lambda: frame(library))
    assert len(found) == len(wanted)
    for left, right in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(dense(left), right)


ESTIMATORS = [
    functools.partial(ks.GCWS, 8),
    functools.partial(ks.RFF, 8),
    functools.partial(ks.GMMNystroem, n_components=8),
    functools.partial(ks.GCWSClassifier, 8, scale="standard"),
    index,
    functools.partial(ks.GCWSNeighborsTransformer, 2, index=index()),
    functools.partial(GCWSTabularClassifier, **QUICK),
]


@functools.cache
def fitted(made, *, named):
    """A model that was fitted to a frame or to an array; it does not change."""
    return made().fit(frame("narwhals pandas") if named else X, y)


def ask(model, rows):
    name = next(name for name in ("predict", "transform", "kneighbors") if hasattr(model, name))
    return getattr(model, name)(rows)


@pytest.mark.parametrize("made", ESTIMATORS, ids=lambda made: getattr(made, "func", made).__name__)
@pytest.mark.parametrize("library", MAKERS)
class TestNames:
    def test_they_are_stored(self, made, library):
        model = made().fit(frame(library), y)
        assert model.feature_names_in_.tolist() == NAMES
        assert model.n_features_in_ == 4

    def test_arrays_after_frames_and_frames_after_arrays_warn(self, made, library):
        model, other = fitted(made, named=True), fitted(made, named=False)
        owner = type(model).__name__
        with pytest.warns(UserWarning, match=f"X does not have valid feature names, but {owner} was fitted with feat"):
            ask(model, X)
        assert not hasattr(other, "feature_names_in_")
        with pytest.warns(UserWarning, match=f"X has feature names, but {owner} was fitted without feature names"):
            ask(other, frame(library))

    def test_another_order(self, made, library):
        model = fitted(made, named=True)
        other = frame(library, {name: COLUMNS[name] for name in reversed(NAMES)})
        if isinstance(model, GCWSTabularClassifier):
            np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(frame(library)))
        else:
            with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
                ask(model, other)

    def test_a_column_too_few_or_too_many(self, made, library):
        model = fitted(made, named=True)
        with pytest.raises(ValueError, match=r"lacks the column 'd'|Feature names seen at fit time, yet now missing"):
            ask(model, frame(library, {name: COLUMNS[name] for name in NAMES[:3]}))
        more = frame(library, {"more": X[:, 0], **COLUMNS})
        if isinstance(model, GCWSTabularClassifier):
            np.testing.assert_array_equal(model.predict_proba(more), model.predict_proba(frame(library)))
        else:
            with pytest.raises(ValueError, match="Feature names unseen at fit time"):
                ask(model, more)


def test_columns_that_pandas_has_numbered_are_positions():
    pandas = pytest.importorskip("pandas")
    model = GCWSTabularClassifier(**QUICK).fit(pandas.DataFrame(X), y)
    found = model.predict_proba(X)  # without a warning
    np.testing.assert_array_equal(found, model.predict_proba(pandas.DataFrame(X)[[3, 0, 2, 1]]))
    GCWSTabularClassifier(**QUICK).fit(X, y).predict(pandas.DataFrame(X))


@pytest.mark.parametrize("call", [ks.gmm_kernel, lambda rows: ks.GCWS(8).fit(rows), lambda rows: ks.RFF(8).fit(rows)])
@pytest.mark.parametrize("library", ["pandas", "pyarrow", "pyarrow batch"])
def test_equal_names(call, library):
    pyarrow = pytest.importorskip("pyarrow")
    rows = pyarrow.record_batch([[1.0, 2], [3.0, 4]], ["a", "a"])
    if library == "pandas":
        rows = pytest.importorskip("pandas").DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    elif library == "pyarrow":
        rows = pyarrow.Table.from_batches([rows])
    with pytest.raises(InputError, match="two columns of X have the name 'a': rename one of them"):
        call(rows)


@pytest.mark.parametrize("library", [name for name in MAKERS if "pandas" not in name and "dask" not in name])
@pytest.mark.parametrize("call", [ks.gmm_kernel, ks.sign_split, lambda rows: ks.GCWS(8).fit(rows)])
def test_text_and_gaps_in_columns_of_numbers(library, call):
    with pytest.raises(InputError, match=r"X\['b'\] holds values of type .*: real numbers are needed"):
        call(frame(library, {"a": [1.0, 2.0], "b": ["x", "y"]}))
    with pytest.raises(ValueError, match="NaN"):
        call(frame(library, {"a": [1.0, 2.0], "b": [1, None]}))
    with pytest.raises(ValueError, match="NaN"):
        call(frame(library, {"a": [1.0, 2.0], "b": [True, None]}))


@pytest.mark.parametrize("library", [name for name in MAKERS if name != "pandas nullable"])  # whole floats: integers
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_floats_keep_their_type(library, kind):
    rows = frame(library, {name: values.astype(kind) for name, values in COLUMNS.items()})
    assert ks.gmm_kernel(rows).dtype == kind


def test_columns_are_no_frames():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    for column in (polars.Series([1.0]), pyarrow.array([1.0]), pyarrow.chunked_array([[1.0]])):
        assert frame_of(column) is None
        with pytest.raises(InputError, match="must be 2-D"):
            ks.gmm_kernel(column)
