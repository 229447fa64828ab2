"""Properties of estimators before ``fit``: scikit-learn's NotFittedError, which is an AttributeError as well."""

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

import kernelsketch
from kernelsketch import text
from kernelsketch.linear import LINEAR_MODELS

PROPERTIES = [
    (kind, name)
    for kind in (*(getattr(kernelsketch, name) for name in kernelsketch.__all__), text.Shingles)
    if inspect.isclass(kind) and issubclass(kind, BaseEstimator)
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


@pytest.mark.parametrize("kind", LINEAR_MODELS.values())
def test_methods_of_models_before_fit(kind, tmp_path):
    X, y, path = [[1.0], [2.0]], [0, 1], tmp_path / "m.safetensors"
    is_classifier = hasattr(kind, "decision_function")
    model = kind(loss="log_loss") if is_classifier else kind()  # with predict_proba
    values = ("decision_function", "predict_proba", "predict_log_proba") if is_classifier else ()
    calls = {"predict": (X,), "score": (X, y), "save": (path,), "predictor": (), "to_sklearn": ()}
    for name, given in {**calls, **dict.fromkeys(values, (X,))}.items():
        with pytest.raises(NotFittedError, match=f"{kind.__name__} instance is not fitted yet"):
            getattr(model, name)(*given)
    assert not path.exists()
