"""Predictors of models of tables: equal to their model to the last bit, row by row, without scikit-learn."""

import datetime
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import cache

import numpy as np
import pandas
import polars
import pytest

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor, load_model
from kernelsketch.backends import available, use_backend
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.serving import Predictor
from kernelsketch.tabular import TablePredictor

N = 260
STAFF = ["Junior", "Senior", "Chief"]


def frame(n=N, seed=0):
    """Numbers, flags, gaps, categories, many categories, dates, numbers as text and free text."""
    rng = np.random.default_rng(seed)
    size = rng.lognormal(size=n)
    rank = rng.choice(3, n)
    return pandas.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, size),
            "flag": rng.random(n) < 0.3,
            "whole": rng.poisson(4, n),
            "color": rng.choice(np.array(["red", "blue", "green", None], object), n),
            "code": rng.choice(np.array(["1", "2", "0.5", "007", "x"], object), n),
            "town": np.array([f"town {i}" for i in range(40)], object)[rng.integers(0, 40, n) % rng.integers(1, 41, n)],
            "when": pandas.Timestamp("2019-12-30 13:00") + pandas.to_timedelta(rng.integers(0, 10**9, n), "s"),
            "price": [f"{value:,.2f} €".replace(",", "_").replace(".", ",").replace("_", ".") for value in 900 * size],
            "title": [f"{STAFF[r]} baker {rng.integers(10**6)} of {rng.choice(['Rome', 'Oslo'])}" for r in rank],
            "constant": "same",
        }
    )


def target(X):
    return np.log(np.nan_to_num(X["size"], nan=1.0)) + (X["color"] == "red") + X["title"].str.startswith("Chief")


@cache
def fitted(kind):
    X = frame()
    y = target(X)
    if kind == "number":
        return GCWSTabularRegressor("quick").fit(X, 1e3 * y)
    labels = np.digitize(y, [0.5] if kind == "two" else [0, 1])
    return GCWSTabularClassifier("quick").fit(X, np.array(["a", "b", "c"])[labels])


KINDS = ["two", "three", "number"]


def same(predictor, model, rows, given=None):
    given = rows if given is None else given
    np.testing.assert_array_equal(predictor.predict(given), model.predict(rows))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(predictor.predict_proba(given), model.predict_proba(rows))
        np.testing.assert_array_equal(predictor.decision_function(given), model.decision_function(rows))


@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_model(kind, tmp_path):
    model, X = fitted(kind), frame(40, 1)
    model.save(tmp_path / "m.safetensors")
    for predictor in (model.predictor(), Predictor.load(tmp_path / "m.safetensors")):
        assert isinstance(predictor, TablePredictor)
        same(predictor, model, X)
        same(predictor, model, polars.from_pandas(X))
        same(predictor, model, X.to_dict("records"))
        same(predictor, model, X[:1])
        for record in X.to_dict("records"):
            one = predictor.predict(record)
            assert np.ndim(one) == 0
            np.testing.assert_array_equal(one, model.predict([record])[0])
            np.testing.assert_array_equal(predictor.predict([record]), [one])
            if kind != "number":
                np.testing.assert_array_equal(predictor.predict_proba(record), model.predict_proba([record])[0])
                np.testing.assert_array_equal(predictor.decision_function(record), model.decision_function([record])[0])


@pytest.mark.parametrize("with_trees", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_back_end_with_and_without_trees(kind, with_trees):
    rng = np.random.default_rng(3)
    X = np.where(rng.random((400, 4)) < 0.1, np.nan, rng.normal(size=(400, 4)))
    y = np.nan_to_num(X[:, 0]) + (X[:, 1] > 0.3)
    if kind == "number":
        model = GCWSTabularRegressor("quick").fit(X, y)
    else:
        model = GCWSTabularClassifier("quick").fit(X, np.digitize(y, [0.5] if kind == "two" else [0, 1]))
    if with_trees == (model._trees is None):
        model._trees, model.trees_share_ = (boosted(kind), 0.35) if with_trees else (None, 0.0)
    expected = model._values_of(X[:30])
    for name in available():
        with use_backend(name):
            predictor = model.predictor()
            np.testing.assert_array_equal(model._values_of(X[:30]), expected)
            np.testing.assert_array_equal(predictor._values(X[:30]), expected)
            np.testing.assert_array_equal([predictor._values(row)[0] for row in X[:5]], expected[:5])


def boosted(kind):
    """Trees with one split per output."""
    from kernelsketch.tabular._trees import Trees

    outputs = 3 if kind == "three" else 1
    i4 = np.array([[0, -1, -1]] * outputs, np.int32).ravel()
    at = 3 * np.repeat(np.arange(outputs, dtype=np.int32), 3)
    left, right = (np.where(i4 >= 0, at + step, -1).astype(np.int32) for step in (1, 2))
    return Trees(
        np.maximum(i4, 0), np.where(i4 >= 0, 0.1, 0.0), left, right, (i4 >= 0).astype(np.uint8),
        np.arange(3.0 * outputs) / 4 - 0.5, 3 * np.arange(outputs, dtype=np.int32), np.full(outputs, 0.1),
    )  # fmt: skip


VALUES = {
    "size": [1, True, np.float32(0.3), np.int64(3), None, float("nan"), "2.5", " 7 ", "NA", "", Decimal("1.5"), 10**30],
    "flag": [0, 1.0, "1", None, np.True_, 7],
    "color": [
        "red",
        "RED",
        "",
        None,
        "NA",
        float("nan"),
        "pink",
        3,
        b"red",
        np.str_("blue"),
        datetime.date(2020, 1, 1),
    ],
    "code": [1, 1.0, 0.5, True, "1", "007", 7, "x", 2.5, np.int8(2), np.float32(0.5), Decimal(2), "1.0", -0.0, 10**25],
    "town": ["town 3", "town 39", "nowhere", None, 5, ""],
    "when": [
        *("2020-02-29", "2021-12-31 23:59:59.999", "1969-07-20T20:17:40Z", "NA", "", None),
        *(
            datetime.date(2024, 12, 31),
            datetime.datetime(1899, 3, 1, 5),
            pandas.Timestamp("2022-05-05 05:05:05.123456"),
        ),
        *(pandas.NaT, datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=5)))),
        *("2000-01-01 00:00", "0001-01-01", "9999-12-31"),
    ],
    "price": ["1.234,56 €", "12,5", "7", "n/a", None, 30.25, "5 €", float("nan")],
    "title": ["Chief baker of Rome", "", None, "Senior", "ünïcode", 17, "a\0b"],
    "constant": ["other", None, 3],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("column", VALUES)
def test_values_of_all_types(kind, column):
    model, predictor, row = fitted(kind), fitted(kind).predictor(), frame(1, 2).to_dict("records")[0]
    for value in VALUES[column]:
        given = {**row, column: value}
        np.testing.assert_array_equal(predictor._values(given), model._values_of([given]), str(value))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(
            ("size", bad)
            for bad in ("many", float("inf"), "1e999", "2020-01-01", 10**400, [1], np.datetime64("2020-01-01"))
        ),
        *(("when", bad) for bad in ("soon", 3.5, "30.2.2020", True)),
        *(("price", bad) for bad in ("1.5 $", "cheap", "12 %")),
        *(("color", bad) for bad in (float("inf"), "1e999", [1], {"a": 1})),
    ],
)
def test_wrong_values_are_the_errors_of_the_model_and_name_the_column(column, value):
    model, row = fitted("two"), frame(1, 2).to_dict("records")[0]
    given = {**row, column: value}
    with pytest.raises((InputError, InputTypeError)) as expected:
        model.predict([given])
    for rows in (given, [given]):
        with pytest.raises(type(expected.value)) as found:
            model.predictor().predict(rows)
        assert str(found.value) == str(expected.value)


def test_keys():
    model, row = fitted("two"), frame(1, 2).to_dict("records")[0]
    predictor = model.predictor()
    shuffled = {**dict(reversed(row.items())), "more": object()}
    assert predictor.predict(shuffled) == predictor.predict(row)
    lacking = {name: value for name, value in row.items() if name != "town"}
    for rows in (lacking, [lacking], [lacking, lacking]):
        with pytest.raises(InputError, match="X lacks the column 'town', on which the model was trained: add it"):
            predictor.predict(rows)
    with pytest.raises(InputError, match="X lacks the column 'constant'"):  # not used, but part of a row all the same
        predictor.predict({name: value for name, value in row.items() if name != "constant"})


def test_arrays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).round(1)
    X[::7, 1] = np.nan
    y = X[:, 0] > 0
    model = GCWSTabularClassifier("quick").fit(X, y)
    predictor = model.predictor()
    for dtype in (np.float64, np.float32, np.float16, np.int64, np.longdouble, object, str):
        rows = np.nan_to_num(X[:9]).astype(dtype)
        for row in rows:
            np.testing.assert_array_equal(predictor.predict_proba(row), model.predict_proba(row[None])[0])
            np.testing.assert_array_equal(predictor.predict_proba(row[None]), model.predict_proba(row[None]))
        np.testing.assert_array_equal(predictor.predict_proba(rows), model.predict_proba(rows))
    assert predictor.predict(X[0].tolist()) == model.predict(X[:1])[0]
    for wrong in (X[:, :2], X[0, :2], X[None], 3.0, X[:0]):
        with pytest.raises(InputError, match=r"X has|must be 2-D|no rows"):
            predictor.predict(wrong)
    with pytest.raises(InputError, match="infinity"):
        predictor.predict(np.array([1.0, np.inf, 2.0]))


def test_dates_have_the_parts_of_the_specification():
    """Native code and NumPy agree on every part of dates."""
    from kernelsketch.tabular._columns import DATE_PARTS

    rng = np.random.default_rng(0)
    days = np.concatenate([np.arange(-800, 1600), rng.integers(-3_650_000, 3_650_000, 600)])
    stamps = np.sort(days * 86_400_000_000 + rng.integers(0, 86_400_000_000, len(days)) * (rng.random(len(days)) < 0.7))
    dates = stamps.astype("datetime64[us]")
    X = pandas.DataFrame({"when": dates.astype("datetime64[s]")[::50]})
    model = GCWSTabularRegressor("quick").fit(X, np.arange(len(X)) % 7)
    assert model.columns_[0].parts == DATE_PARTS
    predictor = model.predictor()
    for stamp in stamps[::3].astype("datetime64[us]").tolist():
        if isinstance(stamp, datetime.datetime):  # others lie beyond the years 1 to 9999
            row = [{"when": stamp}]
            np.testing.assert_array_equal(predictor._values(row), model._values_of(row))


def test_threads_and_copies():
    model, X = fitted("three"), frame(60, 4)
    predictor, records = model.predictor(), X.to_dict("records")
    expected = model.predict_proba(X)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: [predictor.predict_proba(row) for row in records], range(8)):
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(TablePredictor(model._model, n_jobs=3).predict_proba(X), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(predictor)).predict_proba(X), expected)
    assert repr(predictor).startswith("TablePredictor(3 classes, 10 columns, ")


def test_does_not_follow_the_model():
    X = frame(80, 5)
    y = X["size"].fillna(0) > 1
    model = GCWSTabularClassifier("quick").fit(X, y)
    predictor, before = model.predictor(), model.predict_proba(X)
    model.fit(X, ~y)
    np.testing.assert_array_equal(predictor.predict_proba(X), before)


def test_needs_neither_scikit_learn_nor_scipy_nor_pandas(tmp_path):
    model = fitted("two")
    model.save(tmp_path / "m.safetensors")
    row = frame(1, 2).astype({"when": str}).to_dict("records")[0]
    program = f"""
import sys
from kernelsketch.serving import Predictor
predictor = Predictor.load({str(tmp_path / "m.safetensors")!r})
row = {row!r}
print(repr(predictor.predict_proba(row).tolist()), repr(predictor.predict_proba([row, row])[1].tolist()))
print(sorted({{"sklearn", "scipy", "pandas", "narwhals", "joblib", "threadpoolctl"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    expected = repr(model.predict_proba([row])[0].tolist())
    assert done.stdout.splitlines() == [f"{expected} {expected}", "[]"]


def test_methods_of_classifiers():
    predictor, row = fitted("number").predictor(), frame(1, 2).to_dict("records")[0]
    for method in ("predict_proba", "decision_function"):
        with pytest.raises(InputError, match=f"{method} needs a classifier, but the model is a GCWSTabularRegressor"):
            getattr(predictor, method)(row)


def test_large_targets_and_damaged_files(tmp_path):
    X = frame(60, 6)[["size", "whole"]]
    model = GCWSTabularRegressor("quick").fit(X, 1e250 * (1 + X["whole"]))
    np.testing.assert_array_equal([model.predictor().predict(row) for row in X.to_dict("records")], model.predict(X))
    path = tmp_path / "m.safetensors"
    model.save(path)
    assert load_model(path).predictor().predict({"size": 1, "whole": 2}) == model.predict([{"size": 1, "whole": 2}])[0]
    content = bytearray(path.read_bytes())
    content[-100] ^= 255
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        Predictor.load(path)


class TestChoices:
    """What the user decided about columns and goals holds for predictors as it does for models."""

    def table(self, n=400):
        rng = np.random.default_rng(0)
        frame = pandas.DataFrame({"a": rng.normal(size=n), "code": rng.integers(0, 5, n), "id": np.arange(n)})
        return frame, rng.poisson(np.exp(frame["a"] / 2 + frame["code"] % 2))

    @pytest.mark.parametrize(
        "model",
        [
            GCWSTabularRegressor("quick", loss="poisson", drop=["id"]),
            GCWSTabularRegressor("quick", loss="quantile", quantile=0.9),
            GCWSTabularRegressor("quick", categorical_features=["code"], infinity="missing"),
            GCWSTabularClassifier("quick", scoring="f1"),
            GCWSTabularClassifier("quick", threshold=0.2, drop=["id"], categorical_features=["code"]),
        ],
        ids=repr,
    )
    def test_predictors_follow_them(self, model, tmp_path):
        X, y = self.table()
        is_class = isinstance(model, GCWSTabularClassifier)
        model.fit(X[:300], y[:300] > 2 if is_class else y[:300])
        model.save(tmp_path / "m.safetensors")
        new = X[300:]
        if model.infinity == "missing":
            new = new.assign(a=np.where(np.arange(100) < 10, np.inf, new["a"]))
        for predictor in (model.predictor(), Predictor.load(tmp_path / "m.safetensors")):
            np.testing.assert_array_equal(predictor.predict(new), model.predict(new))
            for i, row in enumerate(new.to_dict("records")[:20]):
                assert predictor.predict(row) == model.predict(new[i : i + 1])[0]
                if model.drop:
                    row.pop("id")
                    assert predictor.predict(row) == model.predict(new[i : i + 1])[0]
        if is_class:
            assert set(model.predict(new)) == {False, True}
            np.testing.assert_array_equal(model.predict(new), model.predict_proba(new)[:, 1] >= model.threshold_)

    def test_infinity_is_an_error_that_names_the_column(self):
        X, y = self.table()
        predictor = GCWSTabularRegressor("quick").fit(X, y).predictor()
        with pytest.raises(InputError, match=r"column 'a' contains infinity \(row 0\)"):
            predictor.predict({"a": np.inf, "code": 1, "id": 0})
