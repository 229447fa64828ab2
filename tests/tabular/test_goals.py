"""What a fit optimises: scores by scikit-learn's names, thresholds, quantiles and counts."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn import metrics

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor, load_model
from kernelsketch.exceptions import InputError, ParameterError
from kernelsketch.tabular._bins import Bins
from kernelsketch.tabular._boosting import Boosting
from kernelsketch.tabular._goals import CLASS_SCORES, NUMBER_SCORES, Goal, best_threshold, decided, jackknife_error
from kernelsketch.tabular._quantiles import group_quantiles, weighted_quantile
from kernelsketch.tabular._root_link import RootLink
from kernelsketch.tabular._scores import chances_of
from kernelsketch.tabular._tree_losses import TreeLoss

RATE = 1e-6  # of false alarms of each statistical test


def predictions(n_classes, n=400, seed=0):
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(n_classes), n).round(2)  # with equal values
    P = np.maximum(P, 0.01)
    P /= P.sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(n_classes, p=row) for row in P])
    return P, labels, rng.integers(1, 4, n).astype(float)


class TestScores:
    @pytest.mark.parametrize("n_classes", [2, 4])
    @pytest.mark.parametrize("name", CLASS_SCORES)
    def test_classes_are_scored_as_scikit_learn_does(self, name, n_classes):
        if CLASS_SCORES[name].classes == "two" and n_classes > 2:
            pytest.skip("two classes only")
        P, labels, weights = predictions(n_classes)
        classes, upper = P.argmax(axis=1), P[:, 1] if n_classes == 2 else P
        how = {"sample_weight": weights}
        average = "weighted" if name.endswith("weighted") else "macro"
        ones = np.eye(n_classes)[labels]
        expected = {
            "accuracy": lambda: metrics.accuracy_score(labels, classes, **how),
            "balanced_accuracy": lambda: metrics.balanced_accuracy_score(labels, classes, **how),
            "f1": lambda: metrics.f1_score(labels, classes, **how),
            "f1_macro": lambda: metrics.f1_score(labels, classes, average="macro", **how),
            "f1_weighted": lambda: metrics.f1_score(labels, classes, average="weighted", **how),
            "neg_log_loss": lambda: -metrics.log_loss(labels, P, **how),
            "neg_brier_score": lambda: -metrics.brier_score_loss(labels, upper, **how),
            "average_precision": lambda: metrics.average_precision_score(
                labels if n_classes == 2 else ones, upper, **how
            ),
        }.get(name, lambda: metrics.roc_auc_score(labels, upper, multi_class="ovr", average=average, **how))
        found = Goal(True, name, None).value(P, labels, weights, None)
        assert found == pytest.approx(expected(), rel=1e-9)

    @pytest.mark.parametrize("name", NUMBER_SCORES)
    def test_numbers_are_scored_as_scikit_learn_does(self, name):
        rng = np.random.default_rng(0)
        y, predicted, weights = rng.poisson(3, 200), rng.gamma(2, 2, 200), rng.integers(1, 4, 200).astype(float)
        peer = metrics.get_scorer(name)
        expected = peer._sign * peer._score_func(y, predicted, sample_weight=weights)
        assert Goal(False, name).value(predicted[:, None], y, weights, None) == pytest.approx(expected, rel=1e-9)

    def test_jackknife_error_of_a_mean(self):
        """The error of a mean is known. With 100 groups its estimate has a relative error of 7 %; we allow 5 times."""
        x = np.random.default_rng(0).normal(size=5000)
        found = jackknife_error(lambda rows: x[rows].mean(), np.zeros(5000))
        assert found == pytest.approx(x.std() / 5000**0.5, rel=0.36)


class TestThreshold:
    @pytest.mark.parametrize("name", [name for name, score in CLASS_SCORES.items() if score.confusion])
    def test_the_best_threshold_is_the_best_of_all(self, name):
        P, labels, weights = predictions(2)
        goal = Goal(True, name, "auto")
        # labels in place of chances: then the threshold is that of the labels alone
        found = best_threshold(goal.score.confusion, P[:, 1], labels, weights, labels)
        values = [goal.value(P, labels, weights, t) for t in np.unique(P[:, 1])]
        assert goal.value(P, labels, weights, found) == pytest.approx(max(values), rel=1e-12)

    def test_chances_decide_beside_labels(self):
        """With calibrated probabilities the best threshold of balanced accuracy is the share of the class."""
        rng = np.random.default_rng(0)
        p = rng.beta(1, 9, 20000)
        labels = (rng.random(20000) < p).astype(int)
        found = best_threshold(CLASS_SCORES["balanced_accuracy"].confusion, p, labels, np.ones(20000), p)
        assert found == pytest.approx(p.mean(), abs=0.03)

    def test_weights_of_classes_do_not_change_chances(self):
        P, labels, _ = predictions(2)
        heavy = np.where(labels == 1, 5.0, 1.0)
        tilted = P * [1, 5] / (P * [1, 5]).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(chances_of(tilted, labels, heavy, np.ones(400)), P, rtol=1e-12)

    def test_decided(self):
        P = np.array([[0.7, 0.3], [0.5, 0.5], [0.2, 0.8]])
        assert decided(P, None).tolist() == [0, 0, 1]
        assert decided(P, 0.5).tolist() == [0, 1, 1]
        assert decided(P, 0.3).tolist() == [1, 1, 1]


def rare(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    p = 1 / (1 + np.exp(3 - 1.5 * X.a - X.b))
    return X, np.where(rng.random(n) < p, "yes", "no")


@pytest.fixture(scope="module")
def f1_model():
    X, y = rare()
    return GCWSTabularClassifier("quick", scoring="f1").fit(X, y)


class TestClassifier:
    def test_f1_of_a_rare_class_gains(self, f1_model, tmp_path):
        X, y = rare(4000, seed=1)
        usual = GCWSTabularClassifier("quick").fit(*rare())
        ours, theirs = (metrics.f1_score(y, model.predict(X), pos_label="yes") for model in (f1_model, usual))
        assert ours > theirs + 0.05
        assert usual.threshold_ is None
        assert 0 < f1_model.threshold_ < 0.5
        upper = f1_model.predict_proba(X)[:, 1]
        np.testing.assert_array_equal(f1_model.predict(X) == "yes", upper >= f1_model.threshold_)
        np.testing.assert_array_equal(f1_model.decision_function(X) > 0, upper > 0.5)
        assert f1_model.held_out_metric_ == "f1"
        # the difference of two independent estimates, at 5 standard errors
        assert abs(f1_model.held_out_score_ - ours) < 5 * 1.5 * f1_model.held_out_error_
        f1_model.save(tmp_path / "a.safetensors")
        again = load_model(tmp_path / "a.safetensors")
        np.testing.assert_array_equal(again.predict(X), f1_model.predict(X))
        assert again.get_params() == f1_model.get_params()
        for name in ("threshold_", "held_out_metric_", "held_out_score_", "held_out_error_"):
            assert getattr(again, name) == getattr(f1_model, name)

    def test_the_threshold_changes_no_probability(self, f1_model):
        X, y = rare()
        fixed = GCWSTabularClassifier("quick", scoring="f1", threshold=0.9).fit(X, y)
        np.testing.assert_array_equal(fixed.predict_proba(X), f1_model.predict_proba(X))
        np.testing.assert_array_equal(fixed.predict(X) == "yes", fixed.predict_proba(X)[:, 1] >= 0.9)
        assert fixed.threshold_ == 0.9
        assert fixed.held_out_score_ < f1_model.held_out_score_
        assert GCWSTabularClassifier("quick", scoring="f1", threshold=None).fit(X, y).threshold_ is None

    @pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "balanced_accuracy", "average_precision"])
    def test_other_scores(self, scoring):
        X, y = rare(500)
        model = GCWSTabularClassifier("quick", scoring=scoring, class_weight="balanced").fit(X, y)
        assert (model.threshold_ is None) == (scoring != "balanced_accuracy")
        assert 0 < model.held_out_error_ < 0.2
        assert "accuracy" in model.held_out_scores_

    def test_three_classes(self):
        X, _ = rare(300)
        y = np.digitize(X.a + X.b, [-1, 1])
        model = GCWSTabularClassifier("quick", scoring="f1_macro").fit(X, y)
        assert model.threshold_ is None
        assert 0 < model.held_out_score_ <= 1
        with pytest.raises(
            ParameterError, match=r"scoring='f1' needs two classes, but y has 3: pass scoring='f1_macro'"
        ):
            GCWSTabularClassifier("quick", scoring="f1").fit(X, y)
        with pytest.raises(ParameterError, match=r"threshold=0\.3 needs two classes, but y has 3"):
            GCWSTabularClassifier("quick", threshold=0.3).fit(X, y)

    def test_unknown_names_are_refused_with_those_that_are_known(self):
        X, y = rare(60)
        with pytest.raises(ValueError, match=r"scoring.*roc_auc"):
            GCWSTabularClassifier("quick", scoring="auc").fit(X, y)
        with pytest.raises(ValueError, match="threshold"):
            GCWSTabularClassifier("quick", threshold=1.5).fit(X, y)
        with pytest.raises(ParameterError, match="scoring='auc' is not known here: pass None or one of accuracy"):
            Goal(True, "auc")


class TestQuantiles:
    def test_weighted_quantiles_of_groups(self):
        rng = np.random.default_rng(0)
        values, groups = rng.normal(size=300), rng.integers(0, 5, 300)
        found = group_quantiles(groups, values, np.ones(300), 0.3, 6)
        expected = [np.quantile(values[groups == g], 0.3, method="hazen") for g in range(5)]
        np.testing.assert_allclose(found, [*expected, 0])
        assert weighted_quantile(np.array([1.0, 2, 9]), np.array([1.0, 1, 0]), 0.5) == 1.5

    @pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
    def test_leaves_have_the_quantile_of_their_rows(self, quantile):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 2))
        y = X[:, 0] * 5 + rng.normal(size=600)
        loss = TreeLoss("quantile", quantile)
        boost = Boosting(
            Bins.of(X), np.ones(600, bool), y, np.ones(600), n_classes=None, threads=1, rate=1.0, loss=loss
        )
        boost.grow(1)
        found = boost.predict(X)[:, 0]
        leaves = np.unique(found)
        assert len(leaves) > 3
        expected = [np.quantile(y[found == leaf], quantile, method="hazen") for leaf in leaves]
        np.testing.assert_allclose(leaves, expected)
        np.testing.assert_allclose(boost._raw[0], found)

    @pytest.mark.parametrize("quantile", [0.1, 0.9])
    def test_the_share_of_new_rows_below(self, quantile):
        """The share below is binomial around the share of the model, whose own error is that of the held-out rows."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(5000, 2))
        y = X[:, 0] + np.exp(0.5 * X[:, 1]) * rng.normal(size=5000)
        model = GCWSTabularRegressor("quick", loss="quantile", quantile=quantile).fit(X[:1500], y[:1500])
        below = int((y[1500:] < model.predict(X[1500:])).sum())
        # the intercept is a quantile of 1,500 held-out rows; so the share varies as that of 1 / (1/1500 + 1/3500) rows
        n = 1050
        low, high = binom.interval(1 - RATE, n, quantile)
        assert low / n <= below / 3500 <= high / n
        assert model.held_out_metric_ == "D2 of the pinball loss"
        assert {"mean_pinball_loss", "baseline_mean_pinball_loss", "rmse"} <= set(model.held_out_scores_)
        assert model.held_out_score_ > 0.1


class TestCounts:
    def test_derivatives_are_those_of_the_deviance(self):
        rng = np.random.default_rng(0)
        raw, y, weights = rng.normal(size=(1, 20)), rng.poisson(2, (1, 20)).astype(float), rng.random(20) + 0.5
        gradients, hessians = TreeLoss("poisson").derivatives(raw, y, weights)
        step = 1e-6
        for sign in (1, -1):
            losses = weights * (np.exp(raw + sign * step) - y * (raw + sign * step))
            here = weights * (np.exp(raw) - y * raw)
            np.testing.assert_allclose(sign * (losses - here) / step, gradients, atol=1e-4)
        assert (hessians > weights * np.exp(raw)).all()

    def test_a_link_that_is_known_comes_back(self):
        roots = np.random.default_rng(0).random(5000) * 3 + 1
        link = RootLink.of(roots, 2.5 * roots**1.5, np.ones(5000))
        np.testing.assert_allclose(link.means(roots), 2.5 * roots**1.5, rtol=1e-3)
        assert np.isfinite(RootLink.of(roots, np.zeros(5000), np.ones(5000)).means(roots)).all()

    def test_rare_counts(self, tmp_path):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(4000, 3))
        y = rng.poisson(np.exp(-1 + X[:, 0] - 0.5 * X[:, 1]))
        ours, usual = (
            GCWSTabularRegressor("quick", loss=loss).fit(X[:2000], y[:2000]) for loss in ("poisson", "squared_error")
        )
        found = ours.predict(X[2000:])
        assert (found > 0).all()
        floor = 0.02 * y.mean()
        theirs = metrics.mean_poisson_deviance(y[2000:], np.maximum(usual.predict(X[2000:]), floor))
        assert metrics.mean_poisson_deviance(y[2000:], found) < theirs
        assert ours.held_out_metric_ == "D2 of the Poisson deviance"
        ours.save(tmp_path / "a.safetensors")
        again = load_model(tmp_path / "a.safetensors")
        np.testing.assert_array_equal(again.predict(X), ours.predict(X))
        assert again.held_out_metric_ == ours.held_out_metric_

    def test_what_is_no_count(self):
        X = np.arange(20.0)[:, None]
        with pytest.raises(InputError, match=r"loss='poisson' needs counts, but y has -1 in row 3"):
            GCWSTabularRegressor(loss="poisson").fit(X, np.where(np.arange(20) == 3, -1, 2))
        with pytest.raises(InputError, match="all of y is 0"):
            GCWSTabularRegressor(loss="poisson").fit(X, np.zeros(20))
        with pytest.raises(InputError, match="scoring='neg_mean_poisson_deviance' needs counts"):
            GCWSTabularRegressor(scoring="neg_mean_poisson_deviance").fit(X, -X[:, 0])


class TestRegressor:
    def test_scores_have_the_unit_of_the_targets(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 2))
        y = X[:, 0] + 0.1 * rng.normal(size=300)
        plain, huge = (GCWSTabularRegressor("quick", scoring="neg_root_mean_squared_error") for _ in range(2))
        plain.fit(X, y)
        huge.fit(X, np.ldexp(y, 200))
        # targets of another scale are other float32 numbers
        assert huge.held_out_score_ / 2.0**200 == pytest.approx(plain.held_out_score_, rel=0.05)
        assert -plain.held_out_score_ == pytest.approx(plain.held_out_scores_["rmse"])

    def test_the_median_ignores_outliers(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(900, 2))
        clean = X[:, 0] + 0.1 * rng.normal(size=900)
        y = clean + np.where(rng.random(900) < 0.1, 50, 0)
        mean, median = (
            GCWSTabularRegressor("quick", loss=loss).fit(X[:600], y[:600])
            for loss in ("squared_error", "absolute_error")
        )
        errors = [np.abs(model.predict(X[600:]) - clean[600:]).mean() for model in (mean, median)]
        assert errors[1] < errors[0] / 2
        assert median.held_out_metric_ == "D2 of the absolute error"
