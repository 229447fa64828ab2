"""Weights of rows: as repeated rows, as rows that are left out, and as factors of C in other libraries' ensembles."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
)

from helpers.arrays import Wrapped, registered
from kernelsketch import GCWS, GCWSClassifier, GCWSClassifierCV, GCWSRegressor, GCWSRegressorCV, GCWSTabularClassifier
from kernelsketch.backends import DenseRows
from kernelsketch.exceptions import InputError
from kernelsketch.linear import Fold, _fit, _folds
from kernelsketch.serving import Scaling, heavy_columns

X, y = load_wine(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order], y[order]
X_train, y_train, X_test, y_test = X[:120], y[:120], X[120:], y[120:]
WEIGHTS = np.random.default_rng(1).integers(0, 4, 120).astype(float)
KEPT = WEIGHTS > 0
RUINED = np.where(KEPT[:, None], X_train, 1e6 * X_train[:, ::-1])  # rows of weight 0 are like no others


def wild(model):
    """A model on rows that are not scaled warns of heavy columns."""
    return warnings.catch_warnings(action="ignore") if model.scale is None else warnings.catch_warnings()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the gap of 0 may be out of reach
@pytest.mark.parametrize(
    "model",
    [
        GCWSClassifier(8),
        GCWSClassifier(8, center="median", loss="hinge"),
        GCWSClassifier(16, scale="standard"),
        GCWSClassifier(16, scale="quantile", center="mean"),
        GCWSRegressor(8),
        GCWSRegressor(16, bits=4, loss="huber", center="median"),
        GCWSRegressor(16, scale="robust"),
        GCWSRegressorCV(16, Cs=[1.0], scale="standard"),
        GCWSClassifierCV(8, Cs=[1.0]),
    ],
)
def test_weights_are_repetitions_to_the_tolerance_of_scikit_learn(model):
    """The checks that are excused elsewhere, because of the solver's ``tol``, pass where ``tol`` is that of float64."""
    exact = clone(model).set_params(tol=1e-16, max_iter=300)
    check_sample_weight_equivalence_on_dense_data(type(model).__name__, exact)
    if model.center is None and model.scale in (None, "standard"):
        check_sample_weight_equivalence_on_sparse_data(type(model).__name__, exact)


@pytest.mark.parametrize("scale", ["standard", "robust", "quantile", None])
@pytest.mark.parametrize("center", [None, "mean", "median"])
@pytest.mark.parametrize(
    "model",
    [
        GCWSClassifier(32),
        GCWSClassifier(32, probability="calibrated"),
        GCWSClassifierCV(32, Cs=[0.1, 1.0]),
        GCWSClassifierCV(32, Cs=[0.1, 1.0], cv=3, probability="calibrated", scoring="neg_log_loss"),
        GCWSRegressor(32),
        GCWSRegressorCV(32, Cs=[0.1, 1.0], cv=3),
    ],
)
def test_rows_of_weight_0_are_left_out(model, scale, center):
    """To the last bit: the scaling, the center, folds, calibration and the order of rows do not depend on them."""
    model = clone(model).set_params(scale=scale, center=center)
    with wild(model):
        found = clone(model).fit(RUINED, y_train, sample_weight=WEIGHTS)
        expected = clone(model).fit(X_train[KEPT], y_train[KEPT], sample_weight=WEIGHTS[KEPT])
    np.testing.assert_array_equal(found.code_weights_, expected.code_weights_)
    np.testing.assert_array_equal(found.predict(X_test), expected.predict(X_test))
    if getattr(model, "probability", None):
        np.testing.assert_array_equal(found.predict_proba(X_test), expected.predict_proba(X_test))


@pytest.mark.filterwarnings("ignore::kernelsketch.exceptions.ScaleWarning")
class TestOtherWays:
    def test_sparse_rows(self):
        model = GCWSClassifier(32, scale="standard")
        found = clone(model).fit(sparse.csr_array(RUINED), y_train, sample_weight=WEIGHTS)
        expected = clone(model).fit(sparse.csr_array(X_train[KEPT]), y_train[KEPT], sample_weight=WEIGHTS[KEPT])
        np.testing.assert_array_equal(found.code_weights_, expected.code_weights_)

    def test_codes(self):
        codes = GCWS(32).fit(X_train).codes(X_train)
        found = GCWSClassifier(32).fit(codes, y_train, sample_weight=WEIGHTS)
        expected = GCWSClassifier(32).fit(codes[KEPT], y_train[KEPT], sample_weight=WEIGHTS[KEPT])
        np.testing.assert_array_equal(found.code_weights_, expected.code_weights_)

    def test_arrays_of_another_library(self):
        with registered():
            found = GCWSClassifier(32, scale="standard").fit(Wrapped(RUINED), y_train, sample_weight=WEIGHTS)
            weights_of = found.code_weights_
            coefficients = np.asarray(weights_of.inner if isinstance(weights_of, Wrapped) else weights_of)
        expected = GCWSClassifier(32, scale="standard").fit(X_train[KEPT], y_train[KEPT], sample_weight=WEIGHTS[KEPT])
        np.testing.assert_array_equal(coefficients, expected.code_weights_)

    @pytest.mark.parametrize("model", [GCWSClassifier(32), GCWSRegressor(32)])
    def test_blocks(self, model):
        """A block may have no row with a weight."""
        weights = np.where(np.arange(120) < 40, 0, WEIGHTS)
        parts = [slice(0, 40), slice(40, 90), slice(90, 120)]
        found = clone(model).fit_blocks([(X_train[part], y_train[part], weights[part]) for part in parts])
        expected = clone(model).fit(X_train, y_train, sample_weight=weights)
        np.testing.assert_array_equal(found.code_weights_, expected.code_weights_)
        with pytest.raises(ValueError, match=r"sample_weight is 0 for every row|Sample weights must contain"):
            clone(model).fit_blocks([(X_train, y_train, np.zeros(120))])

    @pytest.mark.parametrize("model", [GCWSClassifier(32), GCWSRegressor(32)])
    def test_streams(self, model):
        model = clone(model).set_params(scale="robust")
        options = {"classes": range(3)} if isinstance(model, GCWSClassifier) else {}
        found, expected = clone(model), clone(model)
        for part in (np.arange(60), np.arange(60, 120)):
            kept = part[KEPT[part]]
            found.partial_fit(RUINED[part], y_train[part], sample_weight=WEIGHTS[part], **options)
            expected.partial_fit(X_train[kept], y_train[kept], sample_weight=WEIGHTS[kept], **options)
        np.testing.assert_array_equal(found.code_weights_, expected.code_weights_)

    def test_a_class_without_weight_stays_a_class(self):
        weights = np.where(y_train == 2, 0.0, 1.0)
        for model in (GCWSClassifier(32), GCWSClassifierCV(32, Cs=[1.0]), GCWSClassifier(32, probability="calibrated")):
            np.testing.assert_array_equal(model.fit(X_train, y_train, sample_weight=weights).classes_, [0, 1, 2])
        blocks = GCWSClassifier(32).fit_blocks([(X_train, y_train, weights)])
        np.testing.assert_array_equal(blocks.classes_, [0, 1, 2])

    @pytest.mark.parametrize("model", [GCWSClassifier, GCWSRegressor])
    def test_warm_starts_go_on_with_the_duals_of_the_same_rows(self, model):
        warm = model(64, warm_start=True, tol=1e-6).fit(X_train, y_train, sample_weight=WEIGHTS)
        cold = warm.n_iter_
        assert warm.fit(X_train, y_train, sample_weight=WEIGHTS).n_iter_ < cold
        moved = np.roll(WEIGHTS, 1)  # other rows are left out
        expected = model(64, tol=1e-6).fit(X_train, y_train, sample_weight=moved)
        values = "decision_function" if model is GCWSClassifier else "predict"
        found = getattr(warm.fit(X_train, y_train, sample_weight=moved), values)(X_test)
        np.testing.assert_allclose(found, getattr(expected, values)(X_test), atol=0.02)
        assert warm.training_.duals.shape[1] == 120


def test_the_warning_about_heavy_columns_counts_weights():
    values = np.random.default_rng(0).random((50, 10))
    values[:25, 0] *= 1e6
    counts = np.repeat([1e-9, 1.0], 25)
    assert list(heavy_columns(DenseRows(values), None)) == [0]
    assert len(heavy_columns(DenseRows(values), None, counts)) == 0


def test_tables():
    """Rows of weight 0 change nothing, and weights that sum to 1 are as good as those of mean 1."""
    X, y = load_breast_cancer(return_X_y=True)
    X, weights = X[:200, :6], np.random.default_rng(0).integers(0, 3, 200).astype(float)
    ruined = np.where(weights[:, None] > 0, X, 1e9)
    model = GCWSTabularClassifier("quick").fit(ruined, y[:200], sample_weight=weights)
    for other in (
        GCWSTabularClassifier("quick").fit(np.where(weights[:, None] > 0, X, X[:1]), y[:200], sample_weight=weights),
        GCWSTabularClassifier("quick").fit(X, y[:200], sample_weight=weights),
    ):
        np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    ones = GCWSTabularClassifier("quick").fit(X, y[:200], sample_weight=np.ones(200))
    tiny = GCWSTabularClassifier("quick").fit(X, y[:200], sample_weight=np.full(200, 1 / 200))
    np.testing.assert_array_equal(ones.predict_proba(X), tiny.predict_proba(X))


def test_calibration_by_fixed_folds(monkeypatch):
    """Repeated rows are dealt to folds one by one. With their original's fold, they are the weighted row."""
    weights = np.random.default_rng(2).integers(1, 4, 120)
    origin = np.arange(120).repeat(weights)

    def folds(labels):
        number = (np.arange(120) if len(labels) == 120 else origin) % 3
        return [Fold(number != k, np.flatnonzero(number == k)) for k in range(3)]

    model = GCWSClassifier(64, scale="standard", probability="calibrated", tol=1e-9)

    def difference():
        weighted = clone(model).fit(X_train, y_train, sample_weight=weights)
        repeated = clone(model).fit(X_train[origin], y_train[origin])
        return np.abs(weighted.predict_proba(X_test) - repeated.predict_proba(X_test)).max()

    assert difference() > 0.05
    monkeypatch.setattr(_folds, "shuffled_folds", folds)
    monkeypatch.setattr(_fit, "PATH_TOL", 1e-6)  # of the models of the folds
    assert difference() < 1e-3


class TestScores:
    @pytest.mark.parametrize("scoring", [None, "balanced_accuracy", "neg_log_loss"])
    def test_weights_count(self, scoring):
        model = GCWSClassifierCV(32, Cs=[0.1, 1.0], scale="standard", scoring=scoring, loss="log_loss", path_tol=1e-6)
        weights = np.random.default_rng(2).integers(1, 4, 120)
        origin = np.arange(120).repeat(weights)
        fold = np.arange(120) % 3
        splits = [[(np.flatnonzero(f != k), np.flatnonzero(f == k)) for k in range(3)] for f in (fold, fold[origin])]
        weighted = clone(model).set_params(cv=splits[0]).fit(X_train, y_train, sample_weight=weights)
        repeated = clone(model).set_params(cv=splits[1]).fit(X_train[origin], y_train[origin])
        np.testing.assert_allclose(weighted.scores_, repeated.scores_, atol=1e-4)
        plain = clone(model).set_params(cv=splits[0]).fit(X_train, y_train)
        assert np.abs(plain.scores_ - repeated.scores_).max() > 1e-3

    def test_of_numbers(self):
        model = GCWSRegressorCV(32, Cs=[1.0], scale="standard", scoring="neg_mean_absolute_error", path_tol=1e-6, cv=2)
        weights = np.where(np.arange(120) % 2, 1.0, 3.0)
        scores = clone(model).fit(X_train, y_train, sample_weight=weights).scores_
        assert np.abs(scores - clone(model).fit(X_train, y_train).scores_).max() > 1e-3
        doubled = clone(model).set_params(scoring="neg_max_error").fit(X_train, y_train, sample_weight=weights).scores_
        assert np.isfinite(doubled).all()  # this scorer takes no weights

    def test_folds_of_all_rows(self):
        """A list of folds numbers all rows."""
        splits = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
        number = np.cumsum(KEPT) - 1
        same = [(number[a[KEPT[a]]], number[b[KEPT[b]]]) for a, b in splits]
        for model in (GCWSClassifierCV(32, Cs=[0.1, 1.0]), GCWSRegressorCV(32, Cs=[0.1, 1.0])):
            model = model.set_params(scale="standard")
            found = clone(model).set_params(cv=splits).fit(X_train, y_train, sample_weight=WEIGHTS)
            expected = clone(model).set_params(cv=same).fit(X_train[KEPT], y_train[KEPT], sample_weight=WEIGHTS[KEPT])
            np.testing.assert_array_equal(found.scores_, expected.scores_)
            with pytest.raises(InputError, match="fold 0 holds out no row with a weight above 0"):
                clone(model).set_params(cv=splits).fit(X_train, y_train, sample_weight=np.arange(120) < 60)


class TestWeightsThatSumTo1:
    """They are factors of C, as in scikit-learn's models, so a fit warns and says by how much to raise C."""

    X, y = load_breast_cancer(return_X_y=True)
    TINY = np.full(300, 1 / 300)

    def made(self, **params):
        return GCWSClassifier(64, **{"scale": "standard", "loss": "log_loss", **params})

    def test_the_warning_has_the_next_step(self):
        text = (
            r"sample_weight sums to 1 over 300 rows.*as if C were 0.0033: multiply the weights by 300.*raise C to 300"
        )
        with pytest.warns(UserWarning, match=text) as caught:
            self.made().fit(self.X[:300], self.y[:300], sample_weight=self.TINY)
        assert caught[0].filename == __file__
        others = [
            lambda: self.made().partial_fit(self.X[:300], self.y[:300], classes=[0, 1], sample_weight=self.TINY),
            lambda: GCWSRegressor(8, scale="standard").fit(self.X[:300], self.y[:300], sample_weight=self.TINY),
            lambda: GCWSRegressor(8).fit_blocks([(self.X[:300] / self.X.max(axis=0), self.y[:300], self.TINY)]),
            lambda: GCWSClassifierCV(8, Cs=[0.1, 1], scale="standard").fit(
                self.X[:300], self.y[:300], sample_weight=self.TINY
            ),
        ]
        for fit in others:
            with pytest.warns(UserWarning, match="sample_weight sums to 1 over 300 rows") as caught:
                fit()
            assert caught[0].filename == __file__

    def test_where_it_is_silent(self):
        self.made(C=300.0).fit(self.X[:300], self.y[:300], sample_weight=self.TINY)
        self.made(C=1e-3).fit(self.X[:300], self.y[:300])
        self.made().fit(self.X[:300], self.y[:300], sample_weight=self.TINY * 1e-6)  # meant to be negligible
        self.made().fit(self.X[:300], self.y[:300], sample_weight=self.TINY * 300)
        self.made().fit(self.X[:6], [0, 1, 0, 1, 0, 1], sample_weight=np.full(6, 1 / 6))

    @pytest.mark.filterwarnings("ignore:sample_weight sums")
    def test_the_model_is_the_minimizer(self):
        """A model of chance is what C / n asks for: scikit-learn's solution on the same features is the same."""
        scaling = Scaling.fit("standard", DenseRows(self.X[:300]))
        rows = scaling.apply(DenseRows(self.X)).values
        model = GCWSClassifier(64, loss="log_loss", tol=1e-9).fit(rows[:300], self.y[:300], sample_weight=self.TINY)
        features = model.hasher_.transform(rows)
        theirs = LogisticRegression(solver="liblinear", tol=1e-9).fit(
            features[:300], self.y[:300], sample_weight=self.TINY
        )
        values = model.decision_function(rows[300:])
        np.testing.assert_allclose(values, theirs.decision_function(features[300:]), atol=1e-5)
        np.testing.assert_array_equal(
            values, self.made(tol=1e-9).fit(self.X[:300], self.y[:300], self.TINY).decision_function(self.X[300:])
        )

    def test_a_larger_cost_makes_up_for_it(self):
        raised = self.made(C=300.0, tol=1e-9).fit(self.X[:300], self.y[:300], sample_weight=self.TINY)
        plain = self.made(tol=1e-9).fit(self.X[:300], self.y[:300])
        values = [model.decision_function(self.X[300:]) for model in (raised, plain)]
        np.testing.assert_allclose(*values, atol=1e-4)

    def test_ensembles_of_scikit_learn(self):
        X, y = self.X[:300], self.y[:300]
        with pytest.warns(UserWarning, match="raise C to 300"):
            AdaBoostClassifier(self.made(), n_estimators=2).fit(X, y)
        raised = AdaBoostClassifier(self.made(C=300.0), n_estimators=5, random_state=0).fit(X, y)
        assert raised.score(self.X[300:], self.y[300:]) > 0.93
        assert (
            BaggingClassifier(self.made(), n_estimators=3, random_state=0).fit(X, y).score(self.X[300:], self.y[300:])
            > 0.9
        )
        weights = np.random.default_rng(0).random(300)
        calibrated = CalibratedClassifierCV(self.made(), cv=3).fit(X, y, sample_weight=weights)
        assert calibrated.score(self.X[300:], self.y[300:]) > 0.9
