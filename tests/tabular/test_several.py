"""Several outputs: numbers in several columns, and several labels per row."""

import json
import pickle
import re
import warnings

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from typer.testing import CliRunner

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor, load_model
from kernelsketch.cli._main import app
from kernelsketch.exceptions import ColumnWarning, InputError, InputTypeError
from kernelsketch.storage import load_file, save_file
from kernelsketch.tabular import _several
from kernelsketch.tabular._file import _schema_of_several


def numbers(n=240, seed=0):
    """A table, and two numbers that depend on different columns."""
    rng = np.random.default_rng(seed)
    X = pandas.DataFrame(rng.normal(size=(n, 3)), columns=list("abc")).assign(kind=rng.choice(["x", "y"], n))
    return X, np.column_stack([2 * X["a"] + (X["kind"] == "x"), 1e6 * X["b"] ** 2])


def labels(n=240, seed=0):
    X, Y = numbers(n, seed)
    return X, (np.median(Y, axis=0) < Y).astype(np.int64)


@pytest.fixture(scope="module")
def regressor():
    return GCWSTabularRegressor("quick").fit(*numbers())


@pytest.fixture(scope="module")
def classifier():
    return GCWSTabularClassifier("quick").fit(*labels())


class TestOutputs:
    def test_each_output_has_the_model_of_its_column(self, regressor, classifier):
        X, Y = numbers()
        for i in range(2):
            one = GCWSTabularRegressor("quick").fit(X, Y[:, i])
            np.testing.assert_array_equal(regressor.predict(X)[:, i], one.predict(X))
            one = GCWSTabularClassifier("quick").fit(X, labels()[1][:, i])
            np.testing.assert_array_equal(classifier.predict_proba(X)[:, i], one.predict_proba(X)[:, 1])
            np.testing.assert_array_equal(classifier.decision_function(X)[:, i], one.decision_function(X))

    def test_scores(self, regressor, classifier):
        X, Y = numbers(seed=1)
        assert regressor.score(X, Y) == r2_score(Y, regressor.predict(X)) > 0.5
        X, Y = labels(seed=1)
        assert classifier.score(X, Y) == accuracy_score(Y, classifier.predict(X)) > 0.6
        np.testing.assert_array_equal(classifier.predict(X), classifier.predict_proba(X) > 0.5)
        np.testing.assert_array_equal(classifier.predict_log_proba(X), np.log(classifier.predict_proba(X)))
        for model in (regressor, classifier):
            assert model.held_out_score_ == np.mean([one.held_out_score_ for one in model.estimators_])
        assert (regressor.held_out_metric_, classifier.held_out_metric_) == ("R2", "accuracy")

    def test_classes(self, classifier):
        assert classifier.classes_.tolist() == [0, 1]
        assert classifier.n_classes_ == 2
        assert classifier.n_features_in_ == 4
        assert classifier.feature_names_in_.tolist() == ["a", "b", "c", "kind"]

    @pytest.mark.parametrize("form", [pandas.DataFrame, np.ndarray.tolist, sparse.csr_matrix])
    def test_forms_of_targets(self, form, regressor, classifier):
        if form is not sparse.csr_matrix:
            X, Y = numbers()
            other = GCWSTabularRegressor("quick").fit(X, form(Y))
            np.testing.assert_array_equal(other.predict(X), regressor.predict(X))
        X, Y = labels()
        other = GCWSTabularClassifier("quick").fit(X, form(Y))
        np.testing.assert_array_equal(other.predict(X), classifier.predict(X))

    def test_truth_values_stay_truth_values(self, classifier):
        X, Y = labels()
        found = GCWSTabularClassifier("quick").fit(X, Y > 0).predict(X)
        assert found.dtype == bool
        np.testing.assert_array_equal(found, classifier.predict(X) > 0)

    def test_one_column_is_one_output(self):
        X, Y = numbers()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scikit-learn, about the shape
            model = GCWSTabularRegressor("quick").fit(X, Y[:, :1])
        assert model.predict(X).shape == (240,)
        assert not hasattr(model, "estimators_")

    def test_options_reach_each_output(self):
        X, Y = numbers()
        model = GCWSTabularRegressor("quick", budget=20, random_state=3, n_jobs=2)
        model.fit(X, Y, np.arange(240) % 3, groups=np.arange(240) // 8)
        assert [one.get_params() for one in model.estimators_] == [model.get_params()] * 2
        one = GCWSTabularRegressor(model.estimators_[1].effort_, random_state=3)
        one.fit(X, Y[:, 1], np.arange(240) % 3, groups=np.arange(240) // 8)
        np.testing.assert_array_equal(one.predict(X), model.predict(X)[:, 1])

    def test_a_random_state_is_drawn_once(self):
        X, Y = numbers()
        a, b = (GCWSTabularRegressor("quick", random_state=np.random.RandomState(0)).fit(X, Y) for _ in range(2))
        np.testing.assert_array_equal(a.predict(X), b.predict(X))
        assert a.estimators_[0].random_state == a.estimators_[1].random_state

    def test_stages_name_the_output(self):
        told = []
        GCWSTabularRegressor("quick").fit(*numbers(), progress=told.append)
        assert [text for text in told if text.startswith("output")] == ["output 1 of 2", "output 2 of 2"]

    def test_a_doubt_about_a_column_is_told_once(self):
        X, Y = numbers()
        X = X.assign(day=["03/04/2021", "05/06/2021"] * 120)
        with pytest.warns(ColumnWarning, match="day") as found:
            GCWSTabularRegressor("quick").fit(X, Y)
        assert len([one for one in found if one.category is ColumnWarning]) == 1

    def test_a_fit_forgets_the_outputs_of_an_earlier_one(self):
        X, Y = numbers()
        single, several = GCWSTabularRegressor("quick").fit(X, Y[:, 0]), GCWSTabularRegressor("quick").fit(X, Y)
        both = clone(single).fit(X, Y).fit(X, Y[:, 0])
        assert vars(both).keys() == vars(single).keys()
        both.fit(X, Y)
        assert vars(both).keys() == vars(several).keys()
        with pytest.raises(InputError):
            both.fit(X, np.full((240, 2), "a"))
        np.testing.assert_array_equal(both.predict(X), several.predict(X))


def test_a_dropped_column_can_say_what_belongs_together():
    X, Y = numbers()
    X["customer"] = np.arange(len(X)) // 6
    named = GCWSTabularRegressor("quick", drop=["customer"]).fit(X, Y, groups="customer")
    given = GCWSTabularRegressor("quick", drop=["customer"]).fit(X, Y, groups=X["customer"])
    np.testing.assert_array_equal(named.predict(X), given.predict(X))


class TestOfEachOutput:
    @pytest.mark.parametrize("name", sorted(_several.OF_EACH))
    def test_attributes(self, regressor, classifier, name):
        for model in (regressor, classifier) if name != "threshold_" else (classifier,):
            with pytest.raises(AttributeError, match=rf"2 outputs, .* read model.estimators_\[i\].{name}"):
                getattr(model, name)
            getattr(model.estimators_[1], name)

    def test_what_no_model_has(self, regressor):
        with pytest.raises(AttributeError, match="has no attribute 'coef_'"):
            regressor.coef_  # noqa: B018

    def test_methods(self, regressor, classifier):
        X, _ = numbers()
        with pytest.raises(InputError, match=r"call model.estimators_\[i\].predict_interval"):
            regressor.predict_interval(X)
        with pytest.raises(InputError, match=r"call model.estimators_\[i\].predict_set"):
            classifier.predict_set(X)
        with pytest.raises(InputError, match=r"call model.estimators_\[i\].plot_importances"):
            regressor.plot_importances()
        with pytest.raises(InputError, match=r"call model.estimators_\[i\].explain"):
            classifier.explain(X)
        with pytest.raises(InputError, match=r"call model.estimators_\[i\].predictor"):
            classifier.predictor()
        assert regressor.estimators_[0].predict_interval(X).shape == (240, 2)

    def test_a_notebook_shows_the_model(self, regressor):
        assert "GCWSTabularRegressor" in regressor._repr_html_inner()


class TestFiles:
    @pytest.mark.parametrize("weight", [None, "balanced", {0: 1.0, 1: 2.0}])
    def test_a_file_holds_all_outputs(self, tmp_path, weight):
        X, Y = labels()
        model = GCWSTabularClassifier("quick", class_weight=weight).fit(X, Y)
        model.save(tmp_path / "model.safetensors")
        for again in (
            load_model(tmp_path / "model.safetensors"),
            GCWSTabularClassifier.load(tmp_path / "model.safetensors"),
            pickle.loads(pickle.dumps(model)),
        ):
            np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
            assert again.get_params() == model.get_params()
            assert vars(again).keys() == vars(model).keys()
            assert again.held_out_score_ == model.held_out_score_
            assert again.classes_.tolist() == [0, 1]

    def test_background_rows_may_stay_out_of_the_file(self, regressor, tmp_path):
        for background in (True, False):
            regressor.save(tmp_path / "model.safetensors", background=background)
            for one in load_model(tmp_path / "model.safetensors").estimators_:
                assert (one._background is not None) == background

    def test_another_class(self, regressor, tmp_path):
        regressor.save(tmp_path / "model.safetensors")
        with pytest.raises(InputError, match=r"holds a GCWSTabularRegressor: read it with kernelsketch\.load_model"):
            GCWSTabularClassifier.load(tmp_path / "model.safetensors")
        np.testing.assert_array_equal(
            load_model(tmp_path / "model.safetensors").predict(numbers()[0]), regressor.predict(numbers()[0])
        )

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda head, _: head.update(n_outputs=3), "output_2 is missing"),
            (lambda head, _: head.update(n_outputs=10**9), "n_outputs"),
            (lambda head, _: head.update(n_outputs="2"), "n_outputs"),
            (lambda head, _: head.pop("output_1"), "output_1 is missing"),
            (lambda head, _: head["output_1"].update(estimator="GCWSTabularClassifier"), "not all of one class"),
            (lambda head, _: head["output_1"].update(named=False), "different columns"),
            (lambda head, _: head["output_1"].update(temperature=0.0), "output_1.temperature"),
            (lambda head, _: head["parameters"].update(backdoor=1), "backdoor"),
            (lambda _, tensors: tensors.pop("output_0.weights"), "output_0.weights is missing"),
            (lambda _, tensors: tensors.update({"output_1.column_names": list("abcd")}), "different columns"),
        ],
    )
    def test_damaged_content_is_refused(self, regressor, tmp_path, change, message, monkeypatch):
        path, schema = tmp_path / "model.safetensors", _schema_of_several(2)
        regressor.save(path)
        head, tensors = load_file(path, schema, lambda *given: given)
        head = {name: value for name, value in head.items() if "sha256" not in name}
        change(head, tensors)
        with monkeypatch.context() as patch:
            patch.setattr(type(schema), "check", lambda *given: None)
            save_file(path, schema, head, tensors)
        with pytest.raises(InputError, match=message):
            load_model(path)


class TestErrors:
    @pytest.mark.parametrize(
        ("kind", "Y", "error", "message"),
        [
            (GCWSTabularClassifier, np.eye(3, dtype=int)[np.arange(240) % 3] * 2, InputTypeError, "2 in row 0, col"),
            (GCWSTabularClassifier, np.ones((240, 2), int), InputError, "column 0 of y has only one class, 1"),
            (GCWSTabularClassifier, np.ones((240, 2)), InputError, "pass 0 and 1 as integers or booleans"),
            (GCWSTabularClassifier, np.full((240, 2), "a"), ValueError, "y"),
            (GCWSTabularRegressor, np.full((240, 2), np.nan), ValueError, "Input y contains NaN"),
            (GCWSTabularRegressor, np.full((240, 2), "a"), InputError, "y contains 'a'"),
            (GCWSTabularRegressor, np.ones((7, 2)), ValueError, "inconsistent numbers of samples"),
        ],
    )
    def test_targets(self, kind, Y, error, message):
        with pytest.raises(error, match=message):
            kind("quick").fit(numbers()[0], Y)


def test_info_shows_each_label(regressor, tmp_path):
    """The scores and C of the outputs, which are numbered unless a command trained them on named columns."""
    regressor.save(tmp_path / "model.safetensors")
    run = CliRunner(env={"COLUMNS": "100"}).invoke
    found = json.loads(run(app, ["info", str(tmp_path / "model.safetensors"), "--json"]).stdout)
    assert found["kind"] == "model (GCWSTabularRegressor) of 2 labels"
    assert found["can"] == ["predict"]
    assert [output["label"] for output in found["outputs"]] == [0, 1]
    for output, one in zip(found["outputs"], regressor.estimators_, strict=True):
        assert (output["held_out_score"], output["C"]) == (one.held_out_score_, one.model_.C)
    upgraded = tmp_path / "new.safetensors"
    shown = run(app, ["info", str(tmp_path / "model.safetensors"), "--upgrade", str(upgraded)])
    assert shown.exit_code == 0
    score = f"R2 {regressor.estimators_[1].held_out_score_:.4f}"
    assert re.search(rf"label 1 +{re.escape(score)} ± .* on held-out rows, C=", shown.stdout)
    assert upgraded.read_bytes() == (tmp_path / "model.safetensors").read_bytes()
