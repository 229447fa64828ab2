"""shap: its plots take our explanations, and its explainers take our models."""

import numpy as np
import pytest

from helpers.clients import client, customers
from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor

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
    known = X[100:110].to_numpy(object)

    def masker(mask, row):
        return (client("pandas").DataFrame(np.where(mask, row, known), columns=X.columns),)

    found = shap.Explainer(model.predict_proba, masker, algorithm="permutation")(X[:2])
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_proba(X[:2]), atol=1e-9)


def test_explainers_on_frames_of_numbers():
    rows = X[["months", "calls"]].fillna(1.0)
    model = GCWSTabularClassifier("quick").fit(rows, LEAVES)
    found = shap.Explainer(model.predict_proba, rows[:20])(rows[20:22])
    total = found.base_values + found.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_proba(rows[20:22]), atol=1e-9)
