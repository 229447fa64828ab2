"""Properties and methods of estimators before ``fit``: scikit-learn's NotFittedError, also an AttributeError."""

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

import kernelsketch
from kernelsketch import text

KINDS = [
    kind
    for kind in (*(getattr(kernelsketch, name) for name in kernelsketch.__all__), text.Shingles)
    if inspect.isclass(kind) and issubclass(kind, BaseEstimator)
]
PROPERTIES = [
    (kind, name)
    for kind in KINDS
    for name in dir(kind)
    if name[0] != "_" and isinstance(inspect.getattr_static(kind, name), property)
]


def test_properties_are_found():
    expected = {"feature_importances_", "code_weights_", "n_classes_", "n_iter_", "ids_", "n_samples_fit_"}
    assert expected <= {name for _, name in PROPERTIES}


@pytest.mark.parametrize(("kind", "name"), PROPERTIES)
def test_properties_before_fit(kind, name):
    with pytest.raises(NotFittedError, match=f"{kind.__name__} instance is not fitted yet"):
        getattr(kind(), name)
    assert not hasattr(kind(), name)


X, PAIRS = [[1.0], [2.0]], [[0, 1]]
NEEDED = {"X": X, "y": [0, 1], "pairs": PAIRS, "threshold": 0.5, "ids": [0], "n_features": 3, "path": "m.safetensors"}
FREE = {  # what needs no fit
    *("fit", "fit_transform", "fit_predict", "fit_blocks", "partial_fit", "load", "from_sklearn", "from_hasher"),
    *("get_params", "set_params", "set_output", "get_metadata_routing"),
}
FREE_OF = {("GCWSIndex", "tune"), ("NearDuplicates", "pairs")}  # these fit an index of their own
METHODS = [
    (kind, name)
    for kind in KINDS
    for name in dir(kind)
    if not (name[0] == "_" or name in FREE or (kind.__name__, name) in FREE_OF or name.endswith("_request"))
    if callable(getattr(kind, name))
]


def test_methods_are_found():
    expected = {
        "predict",
        "predict_proba",
        "transform",
        "score",
        "kneighbors",
        "save",
        "get_feature_names_out",
        "codes",
    }
    assert expected <= {name for _, name in METHODS}
    assert len({kind for kind, _ in METHODS}) >= 13


@pytest.mark.parametrize(("kind", "name"), METHODS)
def test_methods_before_fit(kind, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = kind()
    if "loss" in model.get_params() and hasattr(kind, "decision_function"):
        model.set_params(loss="log_loss")  # with predict_proba
    if kind is text.Shingles:
        model.set_params(weight="idf")  # the other weights need no fit
    parameters = inspect.signature(getattr(model, name)).parameters.values()
    given = {p.name: NEEDED[p.name] for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD}
    with pytest.raises(NotFittedError, match=f"{kind.__name__} instance is not fitted yet"):
        getattr(model, name)(**given)
    assert list(tmp_path.iterdir()) == []
