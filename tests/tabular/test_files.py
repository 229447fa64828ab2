"""Files of tabular models: the same predictions, and an InputError for whatever a damaged file holds."""

from dataclasses import replace

import numpy as np
import pandas
import pytest

from helpers.damage import assert_refused, set_field, set_tensor
from kernelsketch import GCWSClassifier, GCWSTabularClassifier, GCWSTabularRegressor, load_model
from kernelsketch.exceptions import InputError
from kernelsketch.storage import load_file, save_file
from kernelsketch.tabular import _columns
from kernelsketch.tabular._file import TABULAR_SCHEMA
from kernelsketch.tabular._trees import Trees


def table(n=120):
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "a": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "b": pandas.Series(rng.choice(["ä", "x"], n)).where(rng.random(n) > 0.1),
            "c": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(rng.integers(0, 400, n), "D"),
        }
    )
    return frame, (frame.a > 0) ^ (frame.b == "x")


@pytest.fixture(scope="module")
def model():
    X, y = table()
    fitted = GCWSTabularClassifier("quick", class_weight={False: 1, True: 2}, random_state=3).fit(X, y)
    fitted._trees, fitted.trees_share_ = STUMP, 0.5
    return fitted


STUMP = Trees(
    feature=np.zeros(3, np.int32),
    threshold=np.zeros(3),
    left=np.array([1, -1, -1], np.int32),
    right=np.array([2, -1, -1], np.int32),
    missing_left=np.array([1, 0, 0], np.uint8),
    value=np.array([0.0, -1.0, 1.0]),
    roots=np.zeros(1, np.int32),
    baseline=np.array([0.1]),
)


@pytest.fixture(scope="module")
def content(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model.safetensors"
    model.save(path)
    return load_file(path, TABULAR_SCHEMA, lambda header, tensors: (header, tensors))


@pytest.mark.parametrize("read", [load_model, GCWSTabularClassifier.load])
def test_a_model_comes_back_to_the_last_bit(model, tmp_path, read):
    X, _ = table()
    model.save(tmp_path / "a.safetensors")
    again = read(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.columns_ == model.columns_
    assert again.get_params() == model.get_params()
    names = ("held_out_score_", "held_out_error_", "held_out_metric_", "held_out_scores_")
    assert [getattr(again, name) for name in names] == [getattr(model, name) for name in names]
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
    np.testing.assert_array_equal(again.feature_names_in_, model.feature_names_in_)
    assert again.classes_.tolist() == [False, True]


def test_a_regressor_without_categories_and_names(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = GCWSTabularRegressor("quick").fit(X, X[:, 0])
    model.save(tmp_path / "a.safetensors")
    again = load_model(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert not hasattr(again, "feature_names_in_")


def test_files_of_version_1(content, model, tmp_path):
    """They have no temperature, no error of the score, and no effort; those of the name of the effort hold then."""
    header, tensors = content
    new = {
        "temperature",
        "held_out_error",
        "held_out_scores",
        "effort",
        "format",
        "format_version",
        "sha256",
        "header_sha256",
    }
    path = tmp_path / "old.safetensors"
    save_file(path, replace(TABULAR_SCHEMA, version=1), {key: header[key] for key in header.keys() - new}, tensors)
    again = load_model(path)
    assert again._temperature == 1
    assert again.held_out_score_ == model.held_out_score_
    assert np.isnan(again.held_out_error_)
    assert again.held_out_metric_ == "weighted accuracy"
    assert again.held_out_scores_ == {}
    again.save(path)
    assert np.isnan(load_model(path).held_out_error_)
    assert again.effort_ == model.effort_
    X, _ = table()
    np.testing.assert_allclose(again.decision_function(X), model._temperature * model.decision_function(X))


def test_files_of_version_2(tmp_path, monkeypatch):
    """Their dates have four parts and no cycles, which stays so."""
    X, y = table()
    with monkeypatch.context() as patch:
        patch.setattr(_columns, "DATE_PARTS", _columns.PLAIN_PARTS)
        old = GCWSTabularClassifier("quick").fit(X, y)
    path = tmp_path / "old.safetensors"
    old.save(path)
    header, tensors = load_file(path, TABULAR_SCHEMA, lambda header, tensors: (header, tensors))
    header = {key: header[key] for key in header.keys() - {"format", "format_version", "sha256", "header_sha256"}}
    save_file(
        path, replace(TABULAR_SCHEMA, version=2), header, tensors | {"column_parts": tensors["column_parts"][:, :4]}
    )
    again = load_model(path)
    assert again.columns_ == old.columns_
    assert again.columns_[2].parts == ("day", "month", "weekday")
    np.testing.assert_array_equal(again.predict_proba(X), old.predict_proba(X))
    again.save(path)
    np.testing.assert_array_equal(load_model(path).predict_proba(X), old.predict_proba(X))


def test_files_of_version_2_have_no_mean_targets(content, model, tmp_path):
    header, tensors = content
    kept = {key: header[key] for key in header.keys() - {"format", "format_version", "sha256", "header_sha256"}}
    assert not any(name.startswith("means.") for name in tensors)
    save_file(tmp_path / "old.safetensors", replace(TABULAR_SCHEMA, version=2), kept, tensors)
    X, _ = table()
    again = load_model(tmp_path / "old.safetensors")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


MEANS = {
    "another column": set_tensor("means.columns", lambda numbers: numbers - 1),
    "a column that is not there": set_tensor("means.columns", lambda numbers: numbers + 5),
    "a negative column": set_tensor("means.columns", lambda numbers: numbers - 5),
    "a column twice": set_tensor("means.columns", lambda numbers: np.repeat(numbers, 2)),
    "no column": set_tensor("means.columns", None),
    "other counts": set_tensor("means.counts", lambda counts: counts - 1),
    "negative counts": set_tensor("means.counts", lambda counts: -counts),
    "fewer names": set_tensor("means.names", lambda names: names[1:]),
    "no values": set_tensor("means.values", None),
    "fewer values": set_tensor("means.values", lambda values: values[1:]),
    "fewer folds": set_tensor("means.values", lambda values: values[:, 1:]),
    "no folds": set_tensor("means.values", lambda values: values[:, :0]),
    "more outputs": set_tensor("means.values", lambda values: np.repeat(values, 2, axis=2)),
    "a mean that is infinite": set_tensor("means.values", lambda values: values * np.inf),
}


@pytest.fixture(scope="module")
def content_with_means(tmp_path_factory):
    rng = np.random.default_rng(0)
    level = rng.integers(0, 30, 300)
    frame = pandas.DataFrame({"a": rng.normal(size=300), "b": [f"k{i}" for i in level]})
    path = tmp_path_factory.mktemp("means") / "model.safetensors"
    GCWSTabularRegressor("quick").fit(frame, level % 7 + frame.a).save(path)
    return load_file(path, TABULAR_SCHEMA, lambda header, tensors: (header, tensors))


@pytest.mark.parametrize("name", MEANS)
def test_damaged_means_are_refused(content_with_means, tmp_path, name, monkeypatch):
    assert_refused(*content_with_means, MEANS[name], tmp_path, monkeypatch)


def test_another_kind_of_file(model, tmp_path):
    path = tmp_path / "a.safetensors"
    model.save(path)
    with pytest.raises(
        InputError,
        match="does not hold a model on codes: it holds a tabular model: load it with",
    ):
        GCWSClassifier.load(path)
    with pytest.raises(InputError, match="holds a GCWSTabularClassifier"):
        GCWSTabularRegressor.load(path)
    GCWSClassifier(16).fit(np.eye(4), [0, 1, 0, 1]).save(path)
    with pytest.raises(InputError, match="does not hold a tabular model"):
        GCWSTabularClassifier.load(path)


CHANGES = {
    "a negative error": set_field("held_out_error", -0.1),
    "a score that is text": set_field("held_out_scores.auc", "high"),
    "a score that is infinite": set_field("held_out_scores.auc", 10**400),
    "another estimator": set_field("estimator", "SVC"),
    "an unknown parameter": set_field("parameters.backdoor", 1),
    "an effort": set_field("parameters.effort", "huge"),
    "an effort of an earlier fit": set_field("parameters.effort", {"effort": "quick"}),
    "no fitted effort": set_field("effort", {}),
    "another fitted effort": set_field("effort.n_steps", -1),
    "an unknown fitted effort": set_field("effort.effort", "huge"),
    "no model": set_field("model", KeyError),
    "a model of another hash": set_field("model.hash.n_components", 7),
    "unknown views": set_field("views", "standard,secret"),
    "fewer views": set_field("views", "standard"),
    "a view twice": set_field("views", "standard,standard"),
    "kinds": set_tensor("column_kinds", lambda kinds: kinds + 3),
    "kinds of other columns": set_tensor("column_kinds", lambda kinds: kinds[::-1]),
    "more parts of dates": set_tensor("column_parts", lambda parts: np.hstack([parts, parts])),
    "counts of categories": set_tensor("category_counts", lambda counts: counts + 1),
    "negative counts": set_tensor("category_counts", lambda counts: -counts),
    "other flags": set_tensor("column_flags", lambda flags: 1 - flags),
    "weights": set_tensor("weights", lambda weights: weights[:-1]),
    "weights that are 0": set_tensor("weights", lambda weights: 0 * weights),
    "a scale": set_tensor("scale.mean", lambda mean: mean * np.nan),
    "no spread": set_tensor("scale.spread", lambda spread: 0 * spread),
    "a spread too small": set_tensor("scale.spread", lambda spread: spread / 1e300),
    "a mean far away": set_tensor("scale.mean", lambda mean: mean + 1e300),
    "no unit": set_tensor("scale.unit", lambda unit: 0 * unit),
    "ends in the wrong order": set_tensor("scale.low", lambda low: low + 1e30),
    "quantiles in the wrong order": set_tensor("scale.quantiles", lambda quantiles: quantiles[::-1]),
    "other numbers": set_tensor("scale.is_number", lambda flags: 0 * flags),
    "a mean of components": set_tensor("component_mean", lambda mean: mean + 1e300),
    "weights below 0": set_tensor("weights", lambda weights: -weights),
    "weights above 1": set_tensor("weights", lambda weights: weights * np.float32(1e30)),
    "an intercept": set_tensor("model.offset", lambda offset: offset + 1e300),
    "one quantile": set_tensor("scale.quantiles", lambda quantiles: quantiles[:1]),
    "no quantiles": set_tensor("scale.quantiles", None),
    "importances": set_tensor("importances", lambda values: values[:1]),
    "no weights of the model": set_tensor("model.weight_values", None),
    "no probabilities": set_field("model.parameters.probability", None),
    "a share without trees": set_field("trees_share", 0.0),
    "nothing but trees": set_field("trees_share", 1.0),
    "a temperature": set_field("temperature", 0.0),
    "an exponent": set_field("exponent", 5000),
    "a leaf": set_tensor("trees.value", lambda values: values * np.nan),
    "a threshold": set_tensor("trees.threshold", lambda values: values * np.nan),
    "a feature": set_tensor("trees.feature", lambda numbers: numbers + 100),
    "a circle": set_tensor("trees.left", lambda numbers: numbers - 1),
    "outputs": set_tensor("trees.baseline", lambda values: np.repeat(values, 2)),
    "no roots": set_tensor("trees.roots", None),
}


@pytest.mark.parametrize("name", CHANGES)
def test_damaged_content_is_refused(content, tmp_path, name, monkeypatch):
    assert_refused(*content, CHANGES[name], tmp_path, monkeypatch)
