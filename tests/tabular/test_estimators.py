"""The tabular estimators: tables in, tuned and calibrated models out."""

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor
from kernelsketch.exceptions import InputError, ParameterError, ScaleWarning
from kernelsketch.tabular import _view_fit
from kernelsketch.tabular._effort import EFFORTS, Clock, effort_of, fitting_effort
from kernelsketch.tabular._read import read_table

KINDS = ("dense", "sparse")
ORDER = "rows with a weight are not drawn as repeated rows are"


@parametrize_with_checks(
    [GCWSTabularClassifier("quick"), GCWSTabularRegressor("quick")],
    expected_failed_checks=lambda _: {f"check_sample_weight_equivalence_on_{kind}_data": ORDER for kind in KINDS},
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def mixed(n=400, seed=0):
    """A table with everything in it, and labels that depend on a number, a category and their product."""
    rng = np.random.default_rng(seed)
    size, color = rng.lognormal(size=n), rng.choice(["red", "green", "blue"], n, p=[0.5, 0.4, 0.1])
    frame = pandas.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, size),
            "color": pandas.Series(color).where(rng.random(n) > 0.1),
            "noise": rng.normal(size=n),
            "day": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(rng.integers(0, 400, n), "D"),
            "text": rng.integers(0, 5, n).astype(str),
            "id": [f"row {i}" for i in range(n)],
            "nothing": 1.0,
        }
    )
    return frame, np.where((size > 1) == (color == "red"), "yes", "no")


class TestClassifier:
    def test_a_mixed_table(self):
        X, y = mixed()
        model = GCWSTabularClassifier("quick").fit(X[:300], y[:300])
        assert model.score(X[300:], y[300:]) > 0.8
        assert model.classes_.tolist() == ["no", "yes"]
        assert [column.is_used for column in model.columns_] == [True] * 5 + [False] * 2
        assert set(np.argsort(model.feature_importances_)[-2:]) == {0, 1}
        assert model.feature_importances_.sum() == pytest.approx(1)
        assert model.feature_names_in_.tolist() == list(X.columns)

    def test_columns_in_another_order_and_further_ones(self):
        X, y = mixed()
        model = GCWSTabularClassifier("quick").fit(X, y)
        other = X[X.columns[::-1]].assign(label=y)
        np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(X))

    def test_probabilities_are_calibrated(self):
        X, y = load_breast_cancer(return_X_y=True)
        model = GCWSTabularClassifier("quick").fit(X[:300], y[:300])
        P = model.predict_proba(X[300:])
        np.testing.assert_allclose(P.sum(axis=1), 1)
        peer = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:300], y[:300])
        assert log_loss(y[300:], P) < 1.2 * log_loss(y[300:], peer.predict_proba(X[300:]))
        np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])
        np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))

    def test_results_do_not_depend_on_threads(self):
        X, y = mixed()
        one = GCWSTabularClassifier("quick").fit(X, y)
        two = GCWSTabularClassifier("quick", n_jobs=2).fit(X, y)
        np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))

    def test_rows_do_not_depend_on_their_neighbours(self):
        X, y = mixed()
        model = GCWSTabularClassifier("quick").fit(X, y)
        single = np.concatenate([model.predict_proba(X[i : i + 1]) for i in range(20)])
        np.testing.assert_array_equal(single, model.predict_proba(X[:20]))

    def test_classes_with_one_row_each(self):
        X, y = mixed(60)
        y = y.copy()
        y[:2] = ["once", "alone"]
        model = GCWSTabularClassifier("quick").fit(X, y)
        assert model.predict_proba(X).shape == (60, 4)

    def test_one_row_of_each_class(self):
        X, _ = mixed(20)
        model = GCWSTabularClassifier("quick").fit(X, np.arange(20))
        assert model.score(X, np.arange(20)) > 0.5

    def test_missing_label(self):
        X, y = mixed(20)
        with pytest.raises(InputError, match="missing label, None, in row 3"):
            GCWSTabularClassifier("quick").fit(X, np.where(np.arange(20) == 3, None, y))

    def test_a_wide_table(self):
        X = np.random.default_rng(0).normal(size=(150, 1000))
        model = GCWSTabularClassifier("quick").fit(X, X[:, 7] > 0)
        assert model.feature_importances_.argmax() == 7

    def test_one_row_far_out_hides_nothing(self):
        X, y = load_iris(return_X_y=True)
        X = np.vstack([X, [1e30, 0, -1e30, 0]])
        assert GCWSTabularClassifier("quick").fit(X, np.append(y, 0)).score(X[:-1], y) > 0.95

    def test_two_rows(self):
        model = GCWSTabularClassifier("quick").fit([[0.0, 1.0], [1.0, 1.0]], ["a", "b"])
        assert np.isfinite(model.predict_proba([[0.0, 1.0]])).all()

    def test_weights_of_rows_and_classes_count(self):
        X, y = load_iris(return_X_y=True)
        X, y = X[50:], y[50:]
        plain = GCWSTabularClassifier("quick").fit(X, y)
        heavy = GCWSTabularClassifier("quick", class_weight={1: 1, 2: 50}).fit(X, y)
        rows = GCWSTabularClassifier("quick").fit(X, y, sample_weight=np.where(y == 2, 50.0, 1.0))
        means = [model.predict_proba(X)[:, 1].mean() for model in (plain, heavy, rows)]
        assert means[1] > means[0] + 0.02
        assert means[2] > means[0] + 0.02

    def test_it_works_in_a_grid_search(self):
        X, y = mixed(200)
        search = GridSearchCV(GCWSTabularClassifier(), {"effort": ["quick"]}, cv=2).fit(X, y)
        assert clone(search.best_estimator_).get_params()["effort"] == "quick"

    def test_verbose_tells_each_stage(self, capsys):
        X, y = mixed(100)
        GCWSTabularClassifier("quick", verbose=1).fit(X, y)
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == "[GCWSTabularClassifier] 100 rows, 7 columns, 15 features"
        assert [line.split("] ")[1].split()[0] for line in lines[1:]] == ["weights"] + ["fold"] * 3 + [
            "trained",
            "done,",
        ]

    def test_a_failed_fit_keeps_the_model(self):
        X, y = mixed(100)
        model = GCWSTabularClassifier("quick").fit(X, y)
        before = model.predict_proba(X)
        with pytest.raises(InputError):
            model.fit(X, np.ones(100))
        np.testing.assert_array_equal(model.predict_proba(X), before)


class TestBadInput:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda X: X.assign(size=np.inf), r"column 'size' contains infinity \(row 0\)"),
            (lambda X: X[["nothing", "id"]], "no column of X can be used"),
            (lambda X: X.set_axis(["a"] * 7, axis=1), "two columns of X have the name 'a'"),
            (lambda X: X[:1], "n_samples = 1|inconsistent"),
        ],
    )
    def test_tables(self, change, message):
        X, y = mixed(100)
        with pytest.raises(ValueError, match=message):
            GCWSTabularClassifier("quick").fit(change(X), y)

    def test_one_class(self):
        X, _ = mixed(100)
        with pytest.raises(InputError, match="only one class"):
            GCWSTabularClassifier("quick").fit(X, np.ones(100))

    def test_missing_labels(self):
        X, y = mixed(100)
        with pytest.raises(ValueError, match="NaN"):
            GCWSTabularRegressor("quick").fit(X, np.where(y == "yes", np.nan, 1.0))

    def test_not_fitted(self):
        X, _ = mixed(10)
        for method in ("predict", "predict_proba", "plot_importances", "save"):
            with pytest.raises(NotFittedError):
                getattr(GCWSTabularClassifier(), method)(X)

    @pytest.mark.parametrize("params", [{"effort": "huge"}, {"budget": 0}, {"budget": "a minute"}])
    def test_parameters(self, params):
        X, y = mixed(50)
        with pytest.raises(ValueError, match=next(iter(params))):
            GCWSTabularClassifier(**params).fit(X, y)


class TestRegressor:
    def test_diabetes(self):
        X, y = load_diabetes(return_X_y=True, as_frame=True)
        model = GCWSTabularRegressor("quick").fit(X[:300], y[:300])
        assert model.score(X[300:], y[300:]) > 0.42
        assert model.columns_[model.feature_importances_.argmax()].name in ("bmi", "s5")

    def test_two_rows(self):
        assert np.isfinite(GCWSTabularRegressor("quick").fit([[0.0], [1.0]], [0.0, 1.0]).predict([[0.5]])).all()

    def test_a_mean_that_is_large_beside_the_differences(self):
        """Times in seconds since 1970, say: single precision does not hold them."""
        X = np.random.default_rng(0).normal(size=(200, 3))
        near, far = (GCWSTabularRegressor("quick").fit(X, X[:, 0] + mean) for mean in (0.0, 1e9))
        assert far.held_out_score_ == pytest.approx(near.held_out_score_, abs=1e-4)
        assert far.model_.C == near.model_.C

    def test_predictions_of_the_largest_targets_are_finite(self):
        X = np.random.default_rng(0).normal(size=(200, 3))
        y = np.where(X[:, 0] + X[:, 1] > 0, 1.79e308, -1.79e308)  # some predictions are a little larger
        with np.errstate(over="ignore", invalid="ignore"):  # scikit-learn adds up the targets
            model = GCWSTabularRegressor("quick").fit(X, y)
        predicted = model.predict(3 * X)
        assert np.isfinite(predicted).all()

    def test_a_smooth_function_with_a_category(self):
        rng = np.random.default_rng(0)
        X = pandas.DataFrame({"a": rng.normal(size=600), "b": rng.choice(["u", "v"], 600), "c": rng.normal(size=600)})
        y = np.sin(2 * X.a) * np.where(X.b == "u", 1, -1)
        model = GCWSTabularRegressor().fit(X[:400], y[:400])
        assert model.score(X[400:], y[400:]) > 0.9


class TestEffort:
    def test_a_budget_chooses_the_largest_effort_that_fits(self):
        """A pilot that takes no time leaves room for everything, and no room at all for nothing."""
        effort = EFFORTS["default"]
        assert fitting_effort(effort, 1000, Clock(None), None) == effort
        assert fitting_effort(effort, 1000, Clock(1e9), lambda *_: 1.0) == effort
        smallest = fitting_effort(effort, 10**9, Clock(1e-9), lambda *_: 1.0)
        assert smallest.n_components < effort.n_components
        assert smallest.n_rows == 100

    @pytest.mark.parametrize("budget", [0.001, 1.0, 3.0])
    @pytest.mark.parametrize("kind", [GCWSTabularClassifier, GCWSTabularRegressor])
    def test_the_effort_of_a_budget_gives_the_same_bits_without_a_clock(self, kind, budget, tmp_path):
        """Whatever the machine had time for: ``effort_`` says it, and the file has it."""
        X, y = mixed(1200)
        targets = X["size"].fillna(0.0) * (y == "yes") if kind is GCWSTabularRegressor else y
        model = kind(budget=budget).fit(X, targets)
        model.save(tmp_path / "m.safetensors")
        stored = kind.load(tmp_path / "m.safetensors").effort_
        assert stored == model.effort_
        again = kind(effort=stored, n_jobs=2).fit(X, targets)
        np.testing.assert_array_equal(values_of(again, X), values_of(model, X))
        np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
        assert (again.trees_share_, again.held_out_score_) == (model.trees_share_, model.held_out_score_)
        assert again.effort_ == model.effort_
        again.save(tmp_path / "again.safetensors")
        restored = kind.load(tmp_path / "again.safetensors")
        assert clone(restored).effort == stored
        np.testing.assert_array_equal(values_of(restored, X), values_of(model, X))

    @pytest.mark.parametrize("name", ["quick", "default"])
    def test_without_a_budget_it_is_the_named_effort(self, name):
        X, y = mixed(200)
        model = GCWSTabularClassifier(name).fit(X, y)
        assert model.effort_ == effort_of(name).settings()
        again = GCWSTabularClassifier(model.effort_).fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))

    def test_an_effort_of_another_table(self):
        """A part of the rows trains on at most as many, as cross-validation does."""
        X, y = mixed(300)
        effort = {**effort_of("quick").settings(), "n_rows": 250, "n_components": 64}
        model = GCWSTabularClassifier(effort).fit(X[:100], y[:100])
        assert model.model_.n_components == 64
        assert cross_val_score(GCWSTabularClassifier(effort), X, y, cv=2).min() > 0.5

    @pytest.mark.parametrize(
        "change",
        [
            {"effort": "huge"},
            {"effort": ["quick"]},
            {"n_rows": 1},
            {"n_kernel_rows": 1.5},
            {"n_steps": 0},
            {"n_steps": None},
            {"n_components": 2.5},
            {"n_components": True},
            {"Cs": []},
            {"Cs": 10.0},
            {"Cs": [-1.0]},
            {"Cs": [np.inf]},
            {"Cs": [10**400]},
            {"n_trees": -1},
            {"n_trees": 2**40},
            {"more": 1},
            {7: 1},
        ],
    )
    def test_what_is_no_effort_is_refused(self, change):
        X, y = mixed(50)
        effort = {**effort_of("quick").settings(), **change}
        with pytest.raises(ParameterError, match=r"^effort .*pass effort_ of a fitted model") as caught:
            GCWSTabularClassifier(effort).fit(X, y)
        assert caught.value.parameter == "effort"
        assert str(next(iter(change))) in str(caught.value)

    def test_a_budget_and_an_effort_of_an_earlier_fit(self):
        X, y = mixed(50)
        with pytest.raises(ParameterError, match=r"^budget=3.0 cannot shorten .*: pass budget=None"):
            GCWSTabularClassifier(effort_of("quick").settings(), budget=3.0).fit(X, y)


def values_of(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def test_importances_are_drawn():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    X, y = mixed(100)
    ax = GCWSTabularClassifier("quick").fit(X, y).plot_importances(3)
    assert [label.get_text() for label in ax.get_yticklabels()][-1] in ("size", "color")
    assert len(ax.patches) == 3
    pyplot.close(ax.figure)


def test_a_notebook_shows_the_columns():
    X, y = mixed(100)
    X = X.rename(columns={"size": "<size>"})
    model = GCWSTabularClassifier("quick")
    assert "kernelsketch-columns" not in model._repr_html_()
    for shown in (model.fit(X, y)._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert "<td>&lt;size&gt;</td><td>number; missing values have a feature</td>" in shown
        assert "not used: it is constant" in shown


def test_learned_weights_do_not_look_like_missing_scaling(monkeypatch):
    """Few columns with nearly all the weight are what the weights are for, so the user gets no ScaleWarning."""

    def one_heavy_column(sample, widths, targets, **options):
        return [np.where(np.arange(width) == 0, 1, 1e-3).astype(np.float32) for width in widths]

    monkeypatch.setattr(_view_fit, "learn_weights", one_heavy_column)
    X = np.random.default_rng(0).normal(size=(200, 10))
    model = GCWSTabularClassifier("quick").fit(X, X[:, 0] > 0)  # warnings are errors here
    columns = model._views.transform(model._plan.encode(read_table(X))[:])
    with pytest.warns(ScaleWarning, match="6 of 60 columns hold over 98%"):
        clone(model.model_).fit(columns, X[:, 0] > 0)


@pytest.mark.parametrize("y", [pandas.Series([2**53, 2**53 + 1] * 20, dtype="Int64"), ["a", "a\0"] * 20])
def test_labels_that_conversions_would_merge(y):
    X = np.eye(2)[np.arange(40) % 2]
    assert GCWSTabularClassifier("quick").fit(X, y).predict(X).tolist() == list(y)


@pytest.mark.parametrize("by", ["class_weight", "sample_weight"])
def test_a_class_of_weight_0(by):
    """It takes part in nothing but the list of classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] > 0, 1, 0)
    y[::4] = 2
    weights = {"sample_weight": np.where(y == 2, 0.0, 1.0)} if by == "sample_weight" else {}
    model = GCWSTabularClassifier(class_weight={2: 0} if by == "class_weight" else None).fit(X, y, **weights)
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.predict(X[y < 2]) == y[y < 2]).mean() > 0.9
