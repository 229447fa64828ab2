"""benchmarks/tabarena: the model of AutoGluon, with AutoGluon's base class or, where it is absent, a stub of it."""

import importlib.util
import pickle
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FILE = Path(__file__).parents[1] / "benchmarks" / "tabarena" / "gcws_tabular" / "model.py"
pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.skipif(not FILE.is_file(), reason="an installation has none")


class Base:
    """What the model uses of AutoGluon's AbstractModel."""

    def __init__(self, problem_type, hyperparameters):
        self.problem_type, self.params = problem_type, {"random_state": 0, **hyperparameters}
        self._set_default_params()

    def _set_default_param_value(self, name, value):
        self.params.setdefault(name, value)

    def _get_model_params(self):
        return dict(self.params)

    def preprocess(self, X, **options):
        return X


@pytest.fixture
def kind(monkeypatch):
    """The class, whose base is the stub: AutoGluon itself is not among the packages of the tests."""
    names = ("autogluon", "autogluon.core", "autogluon.core.models")
    for name in names:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["autogluon.core.models"].AbstractModel = Base
    spec = importlib.util.spec_from_file_location("gcws_tabular_model", FILE)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "gcws_tabular_model", module)
    spec.loader.exec_module(module)
    return module.GCWSTabularModel


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"number": rng.normal(size=120), "kind": pd.Categorical(rng.choice(list("abc"), 120))})
    X.loc[:9, "number"] = np.nan
    return X, pd.Series(X["number"].fillna(0) + (X["kind"] == "a"), name="target")


def test_classes_and_numbers(kind, table):
    X, y = table
    for problem, target, estimator in (
        ("binary", (y > 0).astype(int), "GCWSTabularClassifier"),
        ("multiclass", pd.cut(y, 3, labels=False), "GCWSTabularClassifier"),
        ("regression", y, "GCWSTabularRegressor"),
    ):
        made = kind(problem, {"effort": "quick"})
        made._fit(X, target, X_val=X[:5], y_val=target[:5], num_cpus=1)
        assert type(made.model).__name__ == estimator
        assert made.model.score(X, target) > 0.5
        again = pickle.loads(pickle.dumps(made.model))  # AutoGluon keeps models in this way
        np.testing.assert_array_equal(again.predict(X), made.model.predict(X))


def test_what_autogluon_says_reaches_the_model(kind, table):
    X, y = table
    made = kind("regression", {"effort": "quick", "random_state": 5})
    made._fit(X, y, time_limit=1000, num_cpus=2.0)
    assert made.model.n_jobs == 2
    assert made.model.random_state == 5
    assert 890 < made.model.budget <= 900
    assert kind("regression", {}).params["effort"] == "default"


def test_validation_rows_do_not_matter(kind, table):
    X, y = table
    one, two = (kind("regression", {"effort": "quick"}) for _ in range(2))
    one._fit(X, y)
    two._fit(X, y, X_val=X[:50], y_val=-y[:50])
    np.testing.assert_array_equal(one.model.predict(X), two.model.predict(X))
