"""Properties of estimators before ``fit``: scikit-learn's NotFittedError, which is an AttributeError as well."""

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

import kernelsketch
from kernelsketch import text

PROPERTIES = [
    (kind, name)
    for kind in (*(getattr(kernelsketch, name) for name in kernelsketch.__all__), text.Shingles)
    if inspect.isclass(kind) and issubclass(kind, BaseEstimator)
    for name in dir(kind)
    if name[0] != "_" and isinstance(inspect.getattr_static(kind, name), property)
]


def test_properties_are_found():
    assert {"feature_importances_", "coef_", "ids_", "n_samples_fit_"} <= {name for _, name in PROPERTIES}


@pytest.mark.parametrize(("kind", "name"), PROPERTIES)
def test_properties_before_fit(kind, name):
    with pytest.raises(NotFittedError, match=f"{kind.__name__} instance is not fitted yet"):
        getattr(kind(), name)
    assert not hasattr(kind(), name)
