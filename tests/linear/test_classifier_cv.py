"""GCWSClassifierCV: the solutions of single fits, scored like scikit-learn does, for little more than one of them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelsketch import GCWSClassifier, GCWSClassifierCV, GCWSRegressorCV
from kernelsketch.backends.cpu import CpuBackend
from kernelsketch.exceptions import InputError
from kernelsketch.hashing import Hasher

X, y = load_digits(return_X_y=True)
X_train, y_train, X_test, y_test = X[:600], y[:600], X[600:], y[600:]
CS = [0.01, 1.0, 30.0]
TOL = "fits end within tol of each other, .008 apart at 1e-3; test_row_weights.py makes this check at tol=1e-16"
EXCUSED = {f"check_sample_weight_equivalence_on_{kind}_data": TOL for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [
        GCWSClassifierCV(8, Cs=[1.0], cv=3),
        GCWSClassifierCV(8, Cs=[1.0], cv=3, refit=False, loss="log_loss", scoring="neg_log_loss"),
    ],
    expected_failed_checks=lambda _: EXCUSED,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def made(**params):
    return GCWSClassifierCV(**{"n_components": 64, "Cs": CS, "cv": 3, **params})


class TestScores:
    @pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "log_loss"])
    def test_they_are_those_of_single_fits(self, loss):
        """Up to the gap: warm starts end elsewhere within it."""
        model = made(loss=loss, tol=1e-5, path_tol=1e-5).fit(X_train, y_train)
        assert model.scores_.shape == model.n_iters_.shape == (3, 3)
        for number, (train, test) in enumerate(StratifiedKFold(3).split(X_train, y_train)):
            for q, C in enumerate(CS):
                single = GCWSClassifier(64, loss=loss, C=C, tol=1e-5).fit(X_train[train], y_train[train])
                differing = len(test) * abs(model.scores_[number, q] - single.score(X_train[test], y_train[test]))
                assert round(differing) <= 2

    @pytest.mark.parametrize(
        ("bits", "scoring"),
        [*((bits, scoring) for bits in (3, 8, 12) for scoring in ("accuracy", "f1_macro")), (8, "neg_log_loss")],
    )
    def test_scorers(self, bits, scoring):
        options = {"loss": "log_loss" if scoring == "neg_log_loss" else "squared_hinge", "tol": 1e-5}
        model = made(bits=bits, scoring=scoring, path_tol=1e-5, **options).fit(X_train, y_train)
        search = GridSearchCV(GCWSClassifier(64, bits=bits, **options), {"C": CS}, cv=3, scoring=scoring)
        search.fit(X_train, y_train)
        np.testing.assert_allclose(model.scores_.mean(axis=0), search.cv_results_["mean_test_score"], atol=0.005)
        if scoring == "accuracy":
            np.testing.assert_array_equal(
                model.scores_, made(bits=bits, path_tol=1e-5, **options).fit(X_train, y_train).scores_
            )

    def test_a_scorer_that_is_a_function(self):
        model = made(scoring=lambda model, X, y: -float(model.C)).fit(X_train, y_train)
        assert model.C_ == 0.01
        np.testing.assert_array_equal(model.scores_, -np.array([CS] * 3))

    def test_ties_go_to_the_smallest(self):
        assert made(scoring=lambda model, X, y: 0.0).fit(X_train, y_train).C_ == 0.01

    def test_one_weight_for_all(self):
        a, b = made(Cs=[0.5]).fit(X_train, y_train, sample_weight=2.0), made(Cs=[1.0]).fit(X_train, y_train)
        np.testing.assert_array_equal(a.code_weights_, b.code_weights_)
        np.testing.assert_allclose(a.scores_, b.scores_)

    def test_weights_count_in_the_accuracy(self):
        weights = np.where(y_train < 5, 1.0, 0.0)
        model = made(Cs=[1.0]).fit(X_train, y_train, sample_weight=weights)
        for number, (train, test) in enumerate(StratifiedKFold(3).split(X_train, y_train)):
            single = GCWSClassifier(64).fit(X_train[train], y_train[train], sample_weight=weights[train])
            expected = single.score(X_train[test], y_train[test], sample_weight=weights[test])
            assert abs(model.scores_[number, 0] - expected) < 0.02


class TestRefit:
    def test_the_model_is_that_of_the_best(self):
        model = made().fit(X_train, y_train)
        assert CS[int(np.argmax(model.scores_.mean(axis=0)))] == model.C_
        single = GCWSClassifier(64, C=model.C_).fit(X_train, y_train)
        np.testing.assert_array_equal(model.code_weights_, single.code_weights_)
        np.testing.assert_array_equal(model.predict(X_test), single.predict(X_test))
        np.testing.assert_array_equal(model.dual_gap_, single.dual_gap_)

    def test_the_mean_of_the_folds(self):
        model = made(refit=False).fit(X_train, y_train)
        assert not hasattr(model, "dual_gap_")
        assert model.score(X_test, y_test) > 0.8
        singles = [
            GCWSClassifier(64, C=model.C_).fit(X_train[train], y_train[train])
            for train, _ in StratifiedKFold(3).split(X_train, y_train)
        ]
        expected = np.mean([single.decision_function(X_test) for single in singles], axis=0)
        assert (model.decision_function(X_test).argmax(axis=1) == expected.argmax(axis=1)).mean() > 0.98

    def test_two_classes_and_words(self):
        words = np.where(y_train % 2, "odd", "even")
        for refit in (False, True):
            model = made(refit=refit).fit(X_train, words)
            assert model.code_weights_.shape == (1, 64 * 256)
            assert model.score(X_test, np.where(y_test % 2, "odd", "even")) > 0.85


class TestWork:
    def test_rows_are_hashed_once(self, monkeypatch):
        hashed = []
        codes = Hasher.codes

        def counted(self, rows, **options):
            hashed.append(len(rows))
            return codes(self, rows, **options)

        monkeypatch.setattr(Hasher, "codes", counted)
        made().fit(X_train, y_train)
        assert hashed == [600]

    @pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
    def test_a_path_costs_little_more_than_its_hardest_value(self, loss, monkeypatch):
        """Rows that were worked on, in all solutions of a fold, against the most expensive one alone."""
        worked, run_pass = [], CpuBackend.linear_pass

        def counting(self, codes, empty, objective, state):
            awake = (state.shrunk == 0) & (state.cost > 0) & (state.running == 1)[:, None]
            worked.append(int(awake.sum()))
            return run_pass(self, codes, empty, objective, state)

        monkeypatch.setattr(CpuBackend, "linear_pass", counting)
        grid = np.logspace(-2, 2.5, 10)
        splitter = StratifiedKFold(3)
        made(loss=loss, Cs=grid, cv=splitter).fit(X_train, y_train)
        path = sum(worked) / 3
        worked.clear()
        train, _ = next(splitter.split(X_train, y_train))
        single = []
        for C in grid:
            worked.clear()
            GCWSClassifier(64, loss=loss, C=C).fit(X_train[train], y_train[train])
            single.append(sum(worked))
        assert 0 < path < sum(single)


class TestInput:
    def test_codes_and_threads(self):
        expected = made().fit(X_train, y_train)
        codes = expected.hasher_.codes(X_train)
        before = codes.packed.copy()
        for model in (made().fit(codes, y_train), made(n_jobs=3).fit(X_train, y_train)):
            np.testing.assert_array_equal(model.scores_, expected.scores_)
            np.testing.assert_array_equal(model.code_weights_, expected.code_weights_)
        np.testing.assert_array_equal(codes.packed, before)

    def test_grids(self):
        model = made(Cs=4).fit(X_train, y_train)
        np.testing.assert_allclose(model.Cs_, np.logspace(-2, 2.5, 4))
        np.testing.assert_array_equal(made(Cs=np.array([30, 1])).fit(X_train, y_train).Cs_, [1, 30])
        for bad in ([], [0.0], [-1.0], [np.nan], [np.inf], ["a"], [[1.0]]):
            with pytest.raises(ValueError, match="Cs"):
                made(Cs=bad).fit(X_train, y_train)
        for bad in ([1e40], [1e-40]):
            with pytest.raises(ValueError, match="C times sample_weight"):
                made(Cs=bad).fit(X_train, y_train)

    def test_splitters(self):
        folds = list(KFold(3, shuffle=True, random_state=0).split(X_train))
        a = made(cv=folds).fit(X_train, y_train)
        b = made(cv=KFold(3, shuffle=True, random_state=0)).fit(X_train, y_train)
        np.testing.assert_array_equal(a.scores_, b.scores_)
        masks = [tuple(np.isin(np.arange(600), part) for part in fold) for fold in folds]
        np.testing.assert_array_equal(made(cv=masks).fit(X_train, y_train).scores_, a.scores_)
        with pytest.raises(InputError, match="fold 0 trains on one class only"):
            made(cv=folds[:1]).fit(X_train, y_train, sample_weight=np.isin(np.arange(600), folds[0][1]).astype(float))
        order = np.argsort(y_train < 5)
        with pytest.raises(InputError, match="fold 0 trains on one class only"):
            made(cv=KFold(2)).fit(X_train[order], y_train[order] < 5)

    def test_bad_input(self):
        with pytest.raises(NotFittedError):
            made().predict(X_test)
        with pytest.raises(ValueError, match="only one class"):
            made().fit(X_train, np.zeros(600))
        with pytest.raises(ValueError, match="scoring"):
            made(scoring="no such scorer").fit(X_train, y_train)
        assert clone(made()).get_params() == made().get_params()

    def test_progress(self, capsys):
        made(verbose=1).fit(X_train, y_train)
        assert "[GCWSClassifierCV] fold 3/3, C=30:" in capsys.readouterr().out


@pytest.mark.parametrize("kind", [GCWSClassifierCV, GCWSRegressorCV])
def test_a_function_as_scoring_with_scaled_columns(kind):
    """The function gets codes of scaled rows, and a model that takes them."""
    rng = np.random.default_rng(0)
    rows = rng.random((120, 4)) * [1, 10, 100, 1000]
    targets = (rows[:, 0] > 0.5).astype(int)
    model = kind(32, scale="standard", Cs=[1.0], scoring=lambda one, codes, y: one.score(codes, y)).fit(rows, targets)
    known = kind(32, scale="standard", Cs=[1.0]).fit(rows, targets)
    np.testing.assert_allclose(model.scores_, known.scores_)
    np.testing.assert_array_equal(model.predict(rows), known.predict(rows))


def test_costs_out_of_range_name_the_grid():
    with pytest.raises(InputError, match="largest C times") as caught:
        GCWSClassifierCV(8, Cs=[1, 1e31]).fit(np.eye(6), np.arange(6) % 2)
    assert caught.value.parameter == "Cs"
