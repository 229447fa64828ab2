"""Models of tables as ONNX graphs: in onnxruntime, with the bits of Python up to exponentials and logarithms."""

from copy import copy
from functools import cache

import numpy as np
import pandas
import pytest

from helpers.clients import client
from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor
from kernelsketch.exceptions import InputError
from kernelsketch.tabular._trees import Trees
from serving.test_table_predictor import boosted, frame, target

onnx, runtime = client("onnx"), client("onnxruntime")
TOLERANCE = 1e-12  # relative, of probabilities and counts: some units in the last place, for each of a few functions
EPOCH = pandas.Timestamp("1970-01-01")
TIMES = {
    "day": [0, 1, 86399, 86400, -1, -86400],
    "year": [pandas.Timestamp(f"{year}-{day}").timestamp() for year in (1600, 1900, 1999, 2000, 2024, 2100)
             for day in ("01-01", "02-28", "03-01", "12-31 23:59:59.999999")],
}  # fmt: skip


def table(n=300, seed=0):
    """Numbers, flags, gaps, categories, many categories, dates, numbers as text and a column that is not used."""
    return frame(n, seed).drop(columns=["title", "price"])


def fed(session, X):
    """The inputs of a graph from a data frame, as docs/how-to/serving.rst has it."""
    inputs = {}
    for wanted in session.get_inputs():
        column = X[[wanted.name]]
        if wanted.type == "tensor(string)":
            column = column.astype(object).where(column.notna(), "")
        elif column.dtypes.iloc[0].kind == "M":
            column = (column - EPOCH) / pandas.Timedelta(seconds=1)
        inputs[wanted.name] = column.to_numpy(object if wanted.type == "tensor(string)" else np.float64)
    return inputs


def run(model, X):
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(model.predictor().to_onnx(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, fed(session, X)), strict=True))


@cache
def learned(kind):
    X, y = table(), target(frame(300))
    if kind == "number":
        return GCWSTabularRegressor("quick").fit(X, 1e40 * y)
    labels = np.digitize(y, [0.5] if kind == "two" else [0, 1])
    return GCWSTabularClassifier("quick").fit(X, np.array(["no", "maybe", "yes"])[labels])


def fitted(kind, with_trees):
    model = copy(learned(kind))
    model._trees, model.trees_share_ = (boosted(kind), 0.35) if with_trees else (None, 0.0)
    return model


def new_rows():
    X = table(400, 1)
    X.loc[3, "town"], X.loc[4, "color"], X.loc[5, "code"] = "nowhere", "pink", ""
    X.loc[6:9, "size"] = [1e300, -1e300, 5e-324, -0.0]
    X["whole"] = X["whole"].astype(float)
    X.loc[10:12, "whole"] = [2.5, np.nan, -7]
    X["flag"] = X["flag"].astype(float)
    X.loc[13:16, "flag"] = [0.5, -1, 2, np.nan]
    X.loc[17, "when"] = pandas.NaT
    return X


def compare(model, X):
    """Labels and numbers are equal; probabilities differ by rounding."""
    found = run(model, X)
    if "prediction" in found:
        np.testing.assert_array_equal(found["prediction"], model.predict(X))
        return
    np.testing.assert_array_equal(found["label"].astype(str), model.predict(X).astype(str))
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), rtol=TOLERANCE)


@pytest.mark.parametrize("with_trees", [False, True])
@pytest.mark.parametrize("kind", ["two", "three", "number"])
def test_equals_the_model(kind, with_trees):
    compare(fitted(kind, with_trees), new_rows())


@pytest.mark.parametrize("kind", ["number", "three"])
def test_many_rows_of_a_model_with_trees(kind):
    """Trees that the recipe itself has grown: thresholds between values that occur, and gaps on either side."""
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.normal(size=(400, 2)).round(2), columns=["a", "b"]).assign(
        kind=rng.choice(list("xyz"), 400)
    )
    X.loc[::11, "a"] = np.nan
    y = np.floor(3 * X["a"].fillna(1)) * (X["kind"] == "x") + np.floor(5 * X["b"]) % 2 * 5
    if kind == "number":
        model = GCWSTabularRegressor(budget=2).fit(X, y)
    else:
        model = GCWSTabularClassifier(budget=2).fit(X, np.digitize(y, [1, 4]))
    assert model.trees_share_ > 0
    new = X.sample(5000, replace=True, random_state=0, ignore_index=True)
    new["b"] += rng.normal(size=len(new)) * (np.arange(len(new)) % 2)
    compare(model, new)


def test_trees_without_a_split():
    """A tree may be a single leaf, and there may be no tree at all."""
    model = fitted("number", False)
    for count in (0, 1, 3):
        flags, numbers = np.zeros(count, np.uint8), np.zeros(count)
        leaf = np.full(count, -1, np.int32)
        trees = Trees(leaf + 1, numbers, leaf, leaf, flags, numbers + 0.3, np.arange(count, dtype=np.int32), np.ones(1))
        model._trees, model.trees_share_ = trees, 0.5
        compare(model, new_rows()[:20])


def test_dates():
    """Days, hours, months, and the cycles of a day, a week and a year, before and after 1970."""
    days = pandas.date_range("1890-01-01", "2110-12-31", periods=400).round("us")
    model = GCWSTabularRegressor("quick").fit(pandas.DataFrame({"when": days}), np.arange(400) % 7)
    assert len(model.columns_[0].parts) == 10
    stamps = np.concatenate([TIMES["day"], TIMES["year"], np.random.default_rng(0).uniform(-3e9, 5e9, 2000).round(6)])
    X = pandas.DataFrame({"when": (stamps * 1e6).round().astype("datetime64[us]")})
    compare(model, X)


@pytest.mark.parametrize("loss", ["poisson", "quantile"])
def test_losses(loss):
    X = table()
    counts = np.random.default_rng(0).poisson(np.exp(np.clip(target(frame(300)), -2, 3)))
    model = GCWSTabularRegressor("quick", loss=loss).fit(X, counts)
    found, expected = run(model, new_rows())["prediction"], model.predict(new_rows())
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE if loss == "poisson" else 0)


def test_choices_of_the_user():
    """A threshold, infinity as a gap, numbers as categories, and columns that are left out."""
    X, y = table(), target(frame(300)) > 1
    X.loc[::9, "size"] = np.inf
    options = {"threshold": 0.2, "infinity": "missing", "categorical_features": ["whole"], "drop": ["town", "when"]}
    model = GCWSTabularClassifier("quick", **options).fit(X, y)
    new = table(200, 1).assign(size=np.where(np.arange(200) % 5, table(200, 1)["size"], -np.inf))
    found = run(model, new.assign(whole=new["whole"].astype(str)))
    np.testing.assert_array_equal(found["label"] == "True", model.predict(new))
    assert set(found["label"]) == {"False", "True"}
    assert (found["label"] == "True").sum() > (found["probabilities"][:, 1] > 0.5).sum()


def test_rows_with_infinity_have_no_prediction():
    X = new_rows()[:9].copy()
    X.loc[2, "size"] = np.inf
    found = run(fitted("three", True), X)
    assert found["label"].tolist().index("") == 2
    assert np.isnan(found["probabilities"]).all(axis=1).tolist() == [i == 2 for i in range(9)]
    assert np.isnan(run(fitted("number", True), X)["prediction"]).tolist() == [i == 2 for i in range(9)]


def test_truth_values_are_categories_in_any_spelling():
    X = pandas.DataFrame({"a": ["True", "False", "unknown"] * 40, "b": np.arange(120.0)})
    model = GCWSTabularClassifier("quick").fit(X, X["a"] == "True")
    new = pandas.DataFrame({"a": ["True", "true", "TRUE", "1", "0", "False", "FALSE", "tRue", ""], "b": 7.0})
    found, predictor = run(model, new), model.predictor()
    expected = [predictor.predict_proba(row) for row in new.to_dict("records")]
    same = [i for i, text in enumerate(new["a"]) if text != "tRue"]  # spellings that nobody has
    np.testing.assert_allclose(found["probabilities"][same], np.array(expected)[same], rtol=TOLERANCE)


@pytest.mark.parametrize("columns", [["color"], ["size"], ["color", "code", "town"], ["flag"]])
def test_tables_of_one_kind_of_columns(columns):
    X, y = table()[columns], target(frame(300)) > 0.5
    compare(GCWSTabularClassifier("quick").fit(X, y), new_rows()[columns])


def test_names_and_types():
    """Inputs have the names of columns, in their order; an output whose name a column has gets an underscore."""
    X = table(90).rename(columns={"size": "label", "whole": "kernelsketch/1", "color": "probabilities"})
    y = np.arange(90) % 3
    model = GCWSTabularClassifier("quick").fit(X, y)
    session = runtime.InferenceSession(model.predictor().to_onnx(), providers=["CPUExecutionProvider"])
    used = [column.name for column in model.columns_ if not column.treatment.startswith("not used")]
    assert [put.name for put in session.get_inputs()] == used
    assert [put.shape for put in session.get_inputs()] == len(used) * [["rows", 1]]
    assert [(out.name, out.type) for out in session.get_outputs()] == [
        ("label_", "tensor(int64)"), ("probabilities_", "tensor(double)")
    ]  # fmt: skip
    np.testing.assert_array_equal(session.run(["label_"], fed(session, X))[0], model.predict(X))


def test_refuses_by_name():
    X = frame()
    model = GCWSTabularClassifier("quick").fit(X, target(X) > 1)
    with pytest.raises(InputError, match=r"column 'title' is free text, .* ONNX: fit a model without this column"):
        model.predictor().to_onnx()
    nameless = GCWSTabularClassifier("quick").fit(X[["size"]].rename(columns={"size": ""}), target(X) > 1)
    with pytest.raises(InputError, match="a column has the name ''"):
        nameless.predictor().to_onnx()


def test_is_valid_for_the_checker():
    onnx.checker.check_model(onnx.load_from_string(fitted("two", True).predictor().to_onnx()), full_check=True)


def test_numbers_stored_as_text_are_numbers():
    X = frame()[["price", "size"]]
    model = GCWSTabularRegressor("quick").fit(X, X["size"].fillna(1))
    value = [float(text.removesuffix(" €").replace(".", "").replace(",", ".")) for text in X["price"]]
    found = run(model, X.assign(price=value))
    np.testing.assert_array_equal(found["prediction"], model.predict(X))
