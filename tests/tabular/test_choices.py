"""What the user decides about columns: categories by choice, columns left out, and infinity."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from helpers.damage import set_field, set_tensor
from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor, load_model
from kernelsketch.exceptions import InputError, ParameterError
from kernelsketch.storage import load_file, save_file
from kernelsketch.tabular import read_table, text_table
from kernelsketch.tabular._choices import chosen, dropping, flags_of
from kernelsketch.tabular._file import TABULAR_SCHEMA

NAMES = ["code", "size", "id"]


def frame(n=240, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.choice([3, 17, 101, 404], n)
    X = pd.DataFrame({"code": codes, "size": rng.normal(size=n), "id": [f"r{i}" for i in range(n)]})
    return X, np.isin(codes, [17, 404]) ^ (rng.random(n) < 0.05)


def quick(**parameters):
    return GCWSTabularClassifier("quick", **parameters)


def names_of(values, choice=("a",)):
    table = chosen(read_table(pd.DataFrame({"a": values})), list(choice), "error")
    return table.columns[0].values.tolist()


class TestFlags:
    @pytest.mark.parametrize(
        "which",
        [
            *(["code", "id"], ("id", "code"), [0, 2], np.array([2, 0]), [True, False, True]),
            *(np.array([True, False, True]), pd.Index(["code", "id"]), ["code", 2], {"code", "id"}),
        ],
    )
    def test_names_positions_and_flags(self, which):
        assert flags_of("drop", which, NAMES, True).tolist() == [True, False, True]

    def test_nothing(self):
        assert not flags_of("drop", None, NAMES, True).any()
        assert not flags_of("drop", [], NAMES, True).any()

    @pytest.mark.parametrize(
        ("which", "named", "message"),
        [
            (["Cde"], True, r"drop=\.\.\. has 'Cde', which is no column of X\. Did you mean 'code'\?"),
            (["SIZE"], True, r"Did you mean 'size'\?"),
            (["zzzz"], True, r"X has the columns 'code', 'size', 'id'\."),
            (["x0"], False, "has the name 'x0', but X has no names of columns: pass positions"),
            ([3], True, r"has the position 3, but X has the columns 0 to 2"),
            ([-1], True, r"has the position -1"),
            ([True, False], True, r"has 2 flags, but X has 3 columns"),
            ([1.5], True, r"has 1\.5: pass names"),
            ([None], True, "has None: pass names"),
        ],
    )
    def test_faults_name_the_parameter_and_the_next_step(self, which, named, message):
        with pytest.raises(ParameterError, match=message) as caught:
            flags_of("drop", which, NAMES, named)
        assert caught.value.parameter == "drop"


class TestCategories:
    @pytest.mark.parametrize(
        "values",
        [
            np.array([1, 2, 1]),
            np.array([1.0, 2.0, 1.0]),
            [1, 2.0, "1"],
            ["1.0", "2", "1"],
            pd.array([1, 2, 1], dtype="Int64"),
            pd.Categorical([1, 2, 1]),
            [True, 2, 1],
        ],
    )
    def test_whole_numbers_of_all_types_have_one_name(self, values):
        assert names_of(values) == ["1", "2", "1"]

    def test_other_names_stay(self):
        assert names_of(["01", "1", "1.50", "x"]) == ["01", "1", "1.50", "x"]
        assert names_of([0.5, np.nan, np.inf]) == ["0.5", None, "inf"]
        assert names_of(["7", "NA", None]) == ["7", None, None]
        big = [2**53, 2**53 + 1]
        assert names_of(big) == list(map(str, big))
        dates = pd.to_datetime(["2020-01-01", None])
        assert names_of(dates)[1] is None
        assert names_of(dates)[0].startswith("2020-01-01")

    def test_numbers_become_categories(self):
        X, y = frame()
        as_numbers, as_names = quick(drop=["id"]).fit(X, y), quick(drop=["id"], categorical_features=["code"]).fit(X, y)
        assert as_numbers.columns_[0].kind == "number"
        plan = as_names.columns_[0]
        assert (plan.kind, plan.choice, set(plan.categories)) == ("category", "category", {"3", "17", "101", "404"})
        assert plan.treatment == "4 categories (numbers read as categories)"

    def test_rows_of_all_types_are_predicted_alike(self):
        X, y = frame()
        model = quick(drop=["id"], categorical_features=["code"]).fit(X, y)
        expected = model.decision_function(X)
        texts = np.array([X.code.map(str), X["size"].map(repr)], object).T
        for same in (
            X.astype({"code": float}),
            X.assign(code=X.code.astype(str)),
            X.assign(code=X.code.astype(float).astype(str)),
            X.assign(code=X.code.astype("category")),
            pl.from_pandas(X),
            X.to_dict("records"),
            text_table(texts, ["code", "size"]),
        ):
            np.testing.assert_array_equal(model.decision_function(same), expected)
        np.testing.assert_array_equal(
            np.concatenate([model.decision_function(X[i : i + 1]) for i in range(9)]), expected[:9]
        )

    def test_a_category_of_integers_in_pandas_needs_no_choice(self):
        X, y = frame()
        typed, told = X.assign(code=X.code.astype("category")), {"categorical_features": ["code"], "drop": ["id"]}
        by_type, by_choice = quick(drop=["id"]).fit(typed, y), quick(**told).fit(X, y)
        np.testing.assert_array_equal(by_type.predict_proba(X), by_choice.predict_proba(X))

    def test_marks_of_missing_text_in_single_rows(self):
        X = pd.DataFrame({"a": np.tile(["1", "2", "NA"], 40), "b": np.arange(120.0)})
        model = quick(categorical_features=["a"]).fit(X, X.a == "2")
        together = model.decision_function(X[:6])
        np.testing.assert_array_equal(together, [model.decision_function(X[i : i + 1])[0] for i in range(6)])
        assert model.columns_[0].n_missing == 40

    def test_text_by_choice_is_no_free_text(self):
        rng = np.random.default_rng(0)
        words = ["good house near the park", "small flat in the city", "old garden with a river view"]
        texts = [f"{rng.choice(words)} {rng.integers(40)}" for _ in range(300)]
        X = pd.DataFrame({"text": texts, "x": rng.normal(size=300)})
        y = np.char.find(np.array(texts, str), "park") > 0
        assert quick().fit(X, y).columns_[0].text is not None
        plan = quick(categorical_features=["text"]).fit(X, y).columns_[0]
        assert plan.text is None
        assert plan.categories

    @pytest.mark.parametrize(("most", "count"), [(1, 1), (100, 100), (150, 150), (None, 160)])
    def test_max_categories(self, most, count):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"a": np.tile(np.arange(160), 3), "b": rng.normal(size=480)})
        model = quick(categorical_features=[0], max_categories=most).fit(X, X.b > 0)
        assert len(model.columns_[0].categories) == count
        assert model.columns_[0].has_other == (count < 160)


class TestDropped:
    def test_dropped_columns_change_nothing_and_may_be_absent(self):
        X, y = frame()
        model, bare = quick(drop=["id"]).fit(X, y), quick().fit(X.drop(columns="id"), y)
        for rows in (X, X.drop(columns="id"), X.assign(id=7), X.to_dict("records")):
            np.testing.assert_array_equal(model.predict_proba(rows), bare.predict_proba(X))
        assert model.columns_[2].treatment == "not used: dropped"
        assert model.n_features_in_ == 3
        assert model.feature_names_in_.tolist() == NAMES
        assert len(model.feature_importances_) == 3
        assert model.feature_importances_[2] == 0

    def test_arrays(self):
        X, y = frame()
        values = X[["size", "code", "size"]].to_numpy()
        model = quick(drop=[0]).fit(values, y)
        np.testing.assert_array_equal(model.predict(values), model.predict(values[:, 1:]))
        with pytest.raises(InputError, match="X has 1 features, but GCWSTabularClassifier is expecting 3 features"):
            model.predict(values[:, :1])

    def test_what_is_dropped_is_not_read(self):
        X, y = frame()
        X = X.assign(bad=[[i] for i in range(len(X))], endless=np.inf, twice=2.0**60)
        model = quick(drop=["bad", "endless", "id"]).fit(X, y)
        assert model.predict(X).shape == y.shape
        with pytest.raises(TypeError, match="of type list"):
            quick(drop=["endless"]).fit(X, y)

    def test_dropping_everything_names_a_column(self):
        X, y = frame()
        with pytest.raises(InputError, match="column 'code' is not used: dropped"):
            quick(drop=NAMES).fit(X, y)

    def test_a_text_is_no_list(self):
        X, y = frame()
        for name in ("drop", "categorical_features"):
            with pytest.raises(ValueError, match=name):
                quick(**{name: "code"}).fit(X, y)


class TestInfinity:
    def test_an_error_by_default_that_says_what_to_pass(self):
        X, y = frame()
        X.loc[5, "size"] = -np.inf
        message = r"column 'size' contains infinity \(row 5\).*pass infinity='missing'"
        with pytest.raises(InputError, match=message):
            quick().fit(X, y)
        model = quick().fit(X.drop(index=5), np.delete(y, 5))
        with pytest.raises(InputError, match=message):
            model.predict(X)

    def test_or_a_missing_value(self):
        X, y = frame()
        X.loc[::7, "size"] = np.inf
        gaps = X.assign(size=X["size"].where(np.isfinite(X["size"])))
        model = quick(infinity="missing").fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), quick().fit(gaps, y).predict_proba(gaps))
        assert model.columns_[1].n_missing == len(X[::7])
        words = text_table(np.array([["3", "inf", "x"]], object), NAMES)
        np.testing.assert_array_equal(model.predict_proba(words), model.predict_proba(X[:1].assign(code=3)))

    def test_a_column_that_is_not_used_may_be_infinite_at_prediction(self):
        X, y = frame()
        model = quick().fit(X.assign(same=1.0), y)
        assert model.predict(X.assign(same=np.inf, further=np.inf)).shape == y.shape


@pytest.mark.parametrize("kind", [GCWSTabularClassifier, GCWSTabularRegressor])
def test_files_repeat_the_choices(kind, tmp_path):
    X, y = frame()
    X.loc[::9, "size"] = np.inf
    choices = {
        "categorical_features": np.array(["code"]),
        "drop": np.array([False, False, True]),
        "infinity": "missing",
    }
    model = kind("quick", max_categories=None, **choices).fit(X, y * 1.0 if kind is GCWSTabularRegressor else y)
    model.save(tmp_path / "a.safetensors")
    again = load_model(tmp_path / "a.safetensors")
    rows = X.drop(columns="id")
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    assert again.columns_ == model.columns_
    assert again.categorical_features == ["code"]
    assert again.drop == [False, False, True]
    assert again.max_categories is None
    np.testing.assert_array_equal(clone(again).fit(X, y).predict(rows), model.predict(rows))


DAMAGE = {
    "an unknown choice": set_tensor("column_choices", lambda choices: choices + 9),
    "a dropped column with features": set_tensor("column_choices", lambda choices: choices * 0 + 2),
    "a number that is a category by choice": set_tensor("column_choices", lambda choices: choices * 0 + 1),
    "an unknown infinity": set_field("infinity", "maybe"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_choices(damage, tmp_path):
    X, y = frame()
    quick(categorical_features=["code"], drop=["id"]).fit(X, y).save(tmp_path / "a.safetensors")
    header, tensors = load_file(tmp_path / "a.safetensors", TABULAR_SCHEMA, lambda header, tensors: (header, tensors))
    kept = {key: header[key] for key in header.keys() - {"format", "format_version", "sha256", "header_sha256"}}
    damage(kept, tensors)
    save_file(tmp_path / "b.safetensors", TABULAR_SCHEMA, kept, tensors)
    with pytest.raises(InputError):
        load_model(tmp_path / "b.safetensors")


def test_a_table_that_is_read_already_is_as_a_frame():
    X, y = frame()
    table = read_table(X)
    model = quick(drop=["id"], categorical_features=["code"]).fit(table, y)
    np.testing.assert_array_equal(model.predict(table), model.predict(X))
    assert read_table(table, dropping(["id"])).columns[2].choice == "dropped"
    assert table.columns[2].choice == ""
