"""GCWSRegressorCV: the scores of single fits, and the model of the best C."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.arrays import Wrapped, registered
from kernelsketch import GCWSRegressor, GCWSRegressorCV, load_model
from kernelsketch.exceptions import InputError
from kernelsketch.hashing import Hasher

X, y = load_diabetes(return_X_y=True)
X_train, y_train, X_test, y_test = X[:300], y[:300], X[300:], y[300:]
CS = [0.01, 0.3, 10.0]
TOL = "fits end within tol of each other, .006 apart at 1e-3; test_row_weights.py makes this check at tol=1e-16"
EXCUSED = {f"check_sample_weight_equivalence_on_{kind}_data": TOL for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [
        GCWSRegressorCV(8, Cs=[1.0]),
        GCWSRegressorCV(64, Cs=[1.0, 10.0], cv=2, refit=False, loss="huber", scoring="neg_mean_absolute_error"),
    ],
    expected_failed_checks=lambda _: EXCUSED,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def made(**params):
    return GCWSRegressorCV(**{"n_components": 64, "Cs": CS, "cv": 3, **params})


class TestScores:
    @pytest.mark.parametrize("loss", ["squared_error", "huber"])
    @pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error", "neg_root_mean_squared_error"])
    def test_they_are_those_of_single_fits(self, loss, scoring):
        """Up to the gap, and the unit of the targets, which is that of all rows."""
        model = made(loss=loss, scoring=scoring, path_tol=1e-5).fit(X_train, y_train)
        search = GridSearchCV(GCWSRegressor(64, loss=loss, tol=1e-5), {"C": CS}, cv=3, scoring=scoring, refit=False)
        expected = search.fit(X_train, y_train).cv_results_["mean_test_score"]
        assert model.scores_.shape == model.n_iters_.shape == (3, 3)
        np.testing.assert_allclose(model.scores_.mean(axis=0), expected, rtol=0.03, atol=0.02)
        assert CS[int(np.argmax(expected))] == model.C_

    def test_the_quantile_loss_is_its_own_score(self):
        """For the median it is half of the mean absolute error; for a large quantile the C is one that reaches it."""
        own, half = (GCWSRegressorCV(32, loss="quantile", Cs=CS, scoring=s) for s in (None, "neg_mean_absolute_error"))
        np.testing.assert_allclose(own.fit(X, y).scores_, half.fit(X, y).scores_ / 2, rtol=1e-12)
        rng = np.random.default_rng(0)
        rows, noise = rng.normal(size=(1200, 4)), rng.exponential(size=1200)
        model = GCWSRegressorCV(256, loss="quantile", quantile=0.95).fit(rows[:600], rows[:600, 0] + noise[:600])
        below = np.mean(rows[600:, 0] + noise[600:] <= model.predict(rows[600:]))
        assert 0.88 < below < 0.99  # by R^2 the largest C is chosen, with about 0.77

    def test_a_scorer_that_is_a_function(self):
        asked = []

        def scoring(model, codes, targets):
            asked.append((len(codes), len(targets)))
            return model.score(codes, targets)

        model = made(scoring=scoring).fit(X_train, y_train)
        assert asked == [(100, 100)] * 9
        np.testing.assert_allclose(model.scores_, made().fit(X_train, y_train).scores_, rtol=1e-9)

    def test_weights_count(self):
        weights = np.where(np.arange(300) % 2 == 0, 0.0, 1.0)
        model = made(Cs=[0.3], path_tol=1e-5).fit(X_train, y_train, sample_weight=weights)
        kept = weights > 0
        expected = made(Cs=[0.3], path_tol=1e-5).fit(X_train[kept], y_train[kept])
        np.testing.assert_allclose(model.scores_, expected.scores_, atol=0.01)


class TestRefit:
    def test_the_model_is_that_of_the_best(self):
        model = made().fit(X_train, y_train)
        single = GCWSRegressor(64, C=model.C_).fit(X_train, y_train)
        np.testing.assert_array_equal(model.code_weights_, single.code_weights_)
        np.testing.assert_allclose(model.predict(X_test), single.predict(X_test), rtol=1e-12)
        assert model.dual_gap_ == single.dual_gap_
        assert model.score(X_test, y_test) > 0.3

    def test_the_mean_of_the_folds(self):
        model = made(refit=False, path_tol=1e-5).fit(X_train, y_train)
        assert not hasattr(model, "dual_gap_")
        folds = KFold(3).split(X_train)
        singles = [GCWSRegressor(64, C=model.C_, tol=1e-5).fit(X_train[train], y_train[train]) for train, _ in folds]
        expected = np.mean([single.predict(X_test) for single in singles], axis=0)
        np.testing.assert_allclose(model.predict(X_test), expected, atol=3)


class TestInput:
    def test_the_order_of_rows_hardly_counts(self):
        """By default folds are of shuffled rows, so targets in ascending order do no harm."""
        order = np.argsort(y_train)
        model = made(cv=None).fit(X_train[order], y_train[order])
        assert model.scores_.shape == (3, 3)
        assert model.scores_.mean(axis=0).max() > 0.3
        assert made().fit(X_train[order], y_train[order]).scores_.mean(axis=0).max() < 0

    def test_rows_are_hashed_once(self, monkeypatch):
        hashed, codes = [], Hasher.codes

        def counted(self, rows, **options):
            hashed.append(len(rows))
            return codes(self, rows, **options)

        monkeypatch.setattr(Hasher, "codes", counted)
        made().fit(X_train, y_train)
        assert hashed == [300]

    def test_codes_threads_and_other_arrays(self):
        expected = made().fit(X_train, y_train)
        codes = expected.hasher_.codes(X_train)
        for model in (made().fit(codes, y_train), made(n_jobs=3).fit(X_train, y_train)):
            np.testing.assert_array_equal(model.scores_, expected.scores_)
            np.testing.assert_array_equal(model.predict(X_test), expected.predict(X_test))
        with registered():
            model = made().fit(Wrapped(X_train), y_train)
            np.testing.assert_array_equal(model.scores_, expected.scores_)

    def test_bad_input(self):
        with pytest.raises(NotFittedError):
            made().predict(X_test)
        with pytest.raises(ValueError, match="Cs"):
            made(Cs=[-1.0]).fit(X_train, y_train)
        with pytest.raises(ValueError, match="scoring"):
            made(scoring="no such scorer").fit(X_train, y_train)
        with pytest.raises(ValueError, match="C times sample_weight"):
            made(Cs=[1e40]).fit(X_train, y_train)
        folds = [(np.arange(100), np.arange(100, 300))]
        with pytest.raises(InputError, match="fold 0 trains on no row"):
            made(cv=folds).fit(X_train, y_train, sample_weight=(np.arange(300) >= 100).astype(float))
        assert clone(made()).get_params() == made().get_params()

    def test_a_target_that_is_constant(self):
        model = made().fit(X_train, np.full(300, 7.0))
        np.testing.assert_allclose(model.predict(X_test), 7.0)

    def test_progress(self, capsys):
        made(verbose=1).fit(X_train, y_train)
        out = capsys.readouterr().out
        assert "[GCWSRegressorCV] fold 3/3, C=10:" in out
        assert "[GCWSRegressorCV] C=0.3: mean score 0." in out


@pytest.mark.parametrize("refit", [True, False])
def test_files_and_pipelines(tmp_path, refit):
    model = made(refit=refit).fit(X_train, y_train)
    model.save(tmp_path / "model")
    found = load_model(tmp_path / "model")
    assert type(found) is GCWSRegressorCV
    assert found.C_ == model.C_
    for name in ("Cs_", "scores_", "n_iters_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(model, name))
    np.testing.assert_array_equal(found.predict(X_test), model.predict(X_test))
    pipeline = model.to_sklearn()
    assert pipeline[-1].alpha == 1 / (2 * model.C_)
    np.testing.assert_allclose(pipeline.predict(X_test), model.predict(X_test), rtol=1e-4)
