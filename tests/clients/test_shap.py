"""shap: its plots take our explanations, and its explainers take our models."""

import numpy as np
import pytest

from helpers.clients import client, customers
from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor
from kernelsketch.tabular import TableMasker

shap = client("shap")
client("matplotlib").use("agg")
pyplot = client("matplotlib.pyplot")
X, LEAVES, PAYS = customers()
THREE = np.digitize(PAYS, [30, 50])
pytestmark = pytest.mark.filterwarnings("ignore")  # shap gives those of NumPy and Matplotlib


@pytest.fixture(scope="module")
def model():
    return GCWSTabularClassifier("quick").fit(X, LEAVES)


@pytest.mark.parametrize("kind", ["two", "three", "numbers"])
def test_plots(kind, model):
    if kind == "three":
        model = GCWSTabularClassifier("quick").fit(X, THREE)
    if kind == "numbers":
        model = GCWSTabularRegressor("quick").fit(X, PAYS)
    found = model.explain(X[:20]).to_shap()[(slice(None), slice(None), 1) if kind == "three" else slice(None)]
    for plot, part in (("waterfall", found[0]), ("bar", found), ("beeswarm", found)):
        getattr(shap.plots, plot)(part, show=False)
        pyplot.close("all")


def test_an_explanation_of_one_row(model):
    row = model.explain(X[:20])[3]
    np.testing.assert_array_equal(row.to_shap().values, row.values)


def test_explainers_on_frames_with_text(model):
    known = X[100:106]
    found = shap.Explainer(model.decision_function, TableMasker(known), algorithm="exact")(X[:2])
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, model.decision_function(X[:2]), atol=1e-9)
    assert found.feature_names == list(X.columns)
    many = [model.explain(X[:2], background=known, random_state=seed).values for seed in range(40)]
    error = np.std(many, axis=0) / np.sqrt(40)
    # 6 standard errors of 40 draws: false alarms below 1e-6
    assert (np.abs(np.mean(many, axis=0) - found.values) <= 6 * error + 1e-9).all()
    assert np.abs(found.values[:, [X.columns.get_loc(name) for name in ("calls", "plan")]]).max() > 0
    sampled = shap.Explainer(model.predict_proba, TableMasker(known))(X[:2], max_evals=50)
    total = sampled.base_values + sampled.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_proba(X[:2]), atol=1e-9)


def test_why_a_masker_is_needed(model):
    """shap subtracts the cells of frames before it calls a model. If this fails, no masker is needed any longer."""
    with pytest.raises(TypeError, match="unsupported operand"):
        shap.Explainer(model.predict_proba, X[100:110])(X[:2])
    values = shap.KernelExplainer(model.predict_proba, X[100:105]).shap_values(X[:1], nsamples=40)
    assert values.shape == (1, X.shape[1], 2)


def test_explainers_on_frames_of_numbers():
    rows = X[["months", "calls"]].fillna(1.0)
    model = GCWSTabularClassifier("quick").fit(rows, LEAVES)
    found = shap.Explainer(model.predict_proba, rows[:20])(rows[20:22])
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_proba(rows[20:22]), atol=1e-9)
