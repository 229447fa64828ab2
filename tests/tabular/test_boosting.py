"""Boosted trees beside the kernel machine: when the blend has them, and what it computes."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor, load_model
from kernelsketch.tabular import _boosting
from kernelsketch.tabular._bins import Bins
from kernelsketch.tabular._boosting import (
    Boosting,
    best_temperature,
    grow_blend,
    log_loss,
    mean_trees,
    mixed,
    squared_error,
)


def threshold_rule(n=700, seed=0):
    """Labels that depend on thresholds of two columns among noise, as trees find them."""
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 12))
    return X, ((X[:, 0] > 0.31) ^ (X[:, 1] > -0.2)).astype(int)


def always(_):
    return True


def grown(X, y, predicted, most=120, may_go_on=always, weights=None):
    train, test = np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1
    weights = np.ones(len(y)) if weights is None else weights
    boost = Boosting(Bins.of(X), train, y, weights, n_classes=2, threads=1)
    options = {"most": most, "is_class": True, "may_go_on": may_go_on}
    return grow_blend([[boost]], [X[test]], predicted[test], y[test], weights[test], **options)


def boosted(X, y, n_classes, rows=None, weights=None, threads=1, **options):
    rows = np.ones(len(y), bool) if rows is None else rows
    weights = np.ones(len(y)) if weights is None else weights
    return Boosting(Bins.of(X), rows, y, weights, n_classes=n_classes, threads=threads, **options)


class TestBoosting:
    @pytest.mark.parametrize("kind", ["numbers", "two classes", "five classes"])
    def test_as_good_as_scikit_learn(self, kind):
        """The same trees, up to the ridge and the rounding: the losses on other rows are within 10 %."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(3000, 8))
        X[rng.random(X.shape) < 0.05] = np.nan
        known = np.nan_to_num(X)
        y = known[:, 0] + known[:, 1] * known[:, 2] + (known[:, 3] > 0.5) + 0.3 * rng.normal(size=3000)
        train, test = np.arange(3000) < 2000, np.arange(3000) >= 2000
        if kind == "numbers":
            peer = HistGradientBoostingRegressor(max_iter=40, early_stopping=False).fit(X[train], y[train])
            boost = boosted(X, y, None, train)
            boost.grow(40)
            ours, theirs = (np.mean((p - y[test]) ** 2) for p in (boost.predict(X[test])[:, 0], peer.predict(X[test])))
        else:
            y = np.digitize(y, np.quantile(y, [0.5] if kind == "two classes" else [0.2, 0.4, 0.6, 0.8]))
            peer = HistGradientBoostingClassifier(max_iter=40, early_stopping=False).fit(X[train], y[train])
            boost = boosted(X, y, int(y.max()) + 1, train)
            boost.grow(40)
            ours, theirs = (
                log_loss(P, y[test], np.ones(1000)) for P in (boost.predict(X[test]), peer.predict_proba(X[test]))
            )
        assert ours < 1.1 * theirs

    @pytest.mark.parametrize("n_classes", [None, 2, 3])
    def test_training_sums_are_those_of_the_trees(self, n_classes):
        """What the growth adds to the training rows is what the finished trees compute for them."""
        X, y = threshold_rule(300)
        X[::7, 0] = np.nan
        y = y if n_classes != 3 else y + (X[:, 2] > 0)
        boost = boosted(X, y if n_classes else X[:, 3] + y, n_classes)
        boost.grow(7)
        np.testing.assert_array_equal(boost.trees.decide(X), boost._raw.T)

    def test_a_row_twice_is_a_row_of_weight_two(self):
        X, y = threshold_rule(400)
        twice = np.arange(400) % 3 == 0
        weighted = boosted(X, X[:, 0] + y, None, weights=np.where(twice, 2.0, 1.0))
        y2 = np.concatenate([X[:, 0] + y, (X[:, 0] + y)[twice]])
        bins = Bins.of(X)
        again = Bins(np.concatenate([bins.binned, bins.binned[:, twice]], axis=1), bins.thresholds)
        repeated = Boosting(again, np.ones(len(y2), bool), y2, np.ones(len(y2)), n_classes=None, threads=1)
        for boost in (weighted, repeated):
            boost.grow(1)
        # The mean is the same, and so is the first split; later ones differ in the least number of rows per leaf.
        assert weighted.trees.baseline == pytest.approx(repeated.trees.baseline)
        assert weighted.trees.feature[0] == repeated.trees.feature[0]
        assert weighted.trees.threshold[0] == repeated.trees.threshold[0]

    def test_classes_of_one_row_do_no_harm(self):
        """Without a ridge the sums of such a class would have no bounds, and other classes would lose all rows."""
        X, y = threshold_rule(400)
        y[5] = 2
        boost = boosted(X, y, 3)
        boost.grow(60)
        assert np.mean(boost.predict(X).argmax(axis=1) == y) > 0.98

    def test_more_rows_than_trees_need(self):
        X, y = threshold_rule(400)
        boost = boosted(X, y, 2, most_rows=150)
        boost.grow(20)
        assert boost._raw.shape == (1, 134)
        assert np.mean(boost.predict(X).argmax(axis=1) == y) > 0.9

    @pytest.mark.parametrize("n_classes", [2, 3, None])
    def test_mean_trees_are_the_mean_of_the_sums(self, n_classes):
        X, y = threshold_rule()
        labels = y if n_classes == 2 else y + (X[:, 2] > 0) if n_classes else X[:, 0] + y
        boosts = [boosted(X, labels, n_classes, rows=np.arange(len(y)) % 3 != part) for part in range(2)]
        for boost in boosts:
            boost.grow(7)
        several = [boost.trees.decide(X) for boost in boosts]
        found = mean_trees(boosts, [0.25, 0.75], 7).decide(X)
        np.testing.assert_allclose(found, 0.25 * several[0] + 0.75 * several[1], atol=1e-12)
        first = mean_trees(boosts, [1.0, 0.0], 3).decide(X)
        assert np.abs(first - several[0]).max() > 0.01  # of more trees


class TestBlend:
    def test_trees_get_the_blend_if_the_other_model_knows_nothing(self):
        X, y = threshold_rule()
        blend = grown(X, y, np.full((len(y), 2), 0.5))
        assert blend.share == _boosting.SHARES[-1]
        assert blend.n_trees >= _boosting.STEP

    def test_no_trees_if_the_other_model_knows_everything(self):
        X, y = threshold_rule()
        known = np.where(y[:, None] == [0, 1], 1 - 1e-9, 1e-9)
        assert grown(X, y, known)[:3] == ((), 0, 0.0)

    def test_the_share_is_the_best_of_the_grid_on_held_out_rows(self):
        X, y = threshold_rule(400)
        rng = np.random.default_rng(1)
        right = np.where(rng.random(len(y)) < 0.8, y, 1 - y)
        other = np.where(right[:, None] == [0, 1], 0.8, 0.2)
        blend = grown(X, y, other, most=_boosting.STEP)
        train, test = np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1
        alone = boosted(X, y, n_classes=2, rows=train)
        alone.grow(_boosting.STEP)
        by_trees = alone.predict(X[test])
        losses = [log_loss(mixed(other[test], by_trees, s), y[test], np.ones(test.sum())) for s in _boosting.SHARES]
        assert blend.share == _boosting.SHARES[int(np.argmin(losses))]
        np.testing.assert_allclose(blend.predicted, mixed(other[test], by_trees, blend.share), atol=1e-12)

    def test_a_budget_stops_the_growth(self):
        X, y = threshold_rule()
        asked = []
        blend = grown(X, y, np.full((len(y), 2), 0.5), may_go_on=lambda size: asked.append(size) or len(asked) < 2)
        assert asked == [_boosting.STEP, 2 * _boosting.STEP]
        assert blend.n_trees == _boosting.STEP

    def test_rows_of_weight_0_do_not_count(self):
        X, y = threshold_rule(400)
        weights = np.where(np.arange(len(y)) < 300, 1.0, 0.0)
        predicted = np.full((len(y), 2), 0.5)
        blend = grown(X, y, predicted, weights=weights)
        changed = grown(X, np.where(weights > 0, y, 1 - y), predicted, weights=weights)
        assert blend[1:3] == changed[1:3]

    def test_a_class_without_training_rows_has_probability_0(self):
        X, y = threshold_rule(200)
        boost = boosted(X, y, n_classes=4)
        boost.grow(5)
        found = boost.predict(X)
        assert found.shape == (200, 4)
        assert (found[:, 2:] == 0).all()
        np.testing.assert_allclose(found.sum(axis=1), 1)

    def test_losses(self):
        P = np.array([[0.25, 0.75], [0.5, 0.5]])
        assert log_loss(P, np.array([1, 0]), np.array([3.0, 1.0])) == pytest.approx(
            -(3 * np.log(0.75) + np.log(0.5)) / 4
        )
        assert squared_error(np.array([[1.0], [3.0]]), np.array([2.0, 3.0]), np.array([1.0, 3.0])) == 0.25


@pytest.fixture(scope="module")
def model():
    X, y = threshold_rule()
    return GCWSTabularClassifier().fit(X[:500], y[:500])


class TestModels:
    def test_thresholds_are_left_to_the_trees(self, model):
        X, y = threshold_rule()
        assert model.trees_share_ >= 0.5
        assert model.score(X[500:], y[500:]) > 0.93
        assert model.held_out_score_ > 0.93

    def test_the_file_has_the_trees(self, model, tmp_path):
        X, _ = threshold_rule()
        model.save(tmp_path / "a.safetensors")
        again = load_model(tmp_path / "a.safetensors")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert (again.trees_share_, again.held_out_score_) == (model.trees_share_, model.held_out_score_)

    def test_decision_values_labels_and_probabilities_agree(self, model):
        X, _ = threshold_rule()
        P, values = model.predict_proba(X), model.decision_function(X)
        np.testing.assert_allclose(values, np.log(P[:, 1]) - np.log(P[:, 0]), rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(model.predict(X), P.argmax(axis=1))

    def test_threads_do_not_change_the_model(self, model):
        X, y = threshold_rule()
        other = GCWSTabularClassifier(n_jobs=3).fit(X[:500], y[:500])
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))

    def test_slanted_classes_need_no_trees(self):
        """Between two slanted planes in 6 dimensions a kernel machine is far ahead."""
        rng = np.random.default_rng(0)
        X, planes = rng.normal(size=(500, 6)), rng.normal(size=(6, 2))
        y = (X @ planes).prod(axis=1) > 0
        model = GCWSTabularClassifier().fit(X[:400], y[:400])
        assert model.trees_share_ < 0.5

    @pytest.mark.parametrize(("rule", "leaves"), [("sum", 3), ("boxes", 31)])
    def test_held_out_rows_choose_the_size_of_trees(self, rule, leaves):
        """Effects of single columns need small trees, boxes in many columns large ones."""
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, size=(3000, 4))
        y = np.int64(X.sum(axis=1) + rng.logistic(size=3000) > 0) if rule == "sum" else (X > 0).sum(axis=1) % 2
        boosts = [boosted(X, y, n_classes=2, rows=np.arange(3000) < 2000, leaves=size) for size in _boosting.LEAVES]
        test = np.arange(2000, 3000)
        blend = grow_blend(
            [[boost] for boost in boosts],
            [X[test]],
            np.full((1000, 2), 0.5),
            y[test],
            np.ones(1000),
            most=3 * _boosting.STEP,
            is_class=True,
            may_go_on=lambda _: True,
        )
        assert blend.boosts[0].leaves == leaves

    def test_a_size_that_is_clearly_worse_stops(self):
        """Stumps cannot learn a rule of two columns, so they stop when the others have shown that they can."""
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, size=(3000, 2))
        y = np.int64(X[:, 0] * X[:, 1] > 0)
        sizes = [[boosted(X, y, n_classes=2, rows=np.arange(3000) < 2000, leaves=leaves)] for leaves in (31, 2)]
        test = np.arange(2000, 3000)
        blend = grow_blend(
            sizes,
            [X[test]],
            np.full((1000, 2), 0.5),
            y[test],
            np.ones(1000),
            most=4 * _boosting.STEP,
            is_class=True,
            may_go_on=lambda _: True,
        )
        assert blend.boosts[0].leaves == 31
        grown = [len(boosts[0].parts(10**6, 1.0)[0]) for boosts in sizes]
        assert grown[1] == _boosting.STEP < blend.n_trees <= grown[0]

    def test_a_boosting_of_another_size_is_that_of_its_own_rows(self):
        X, y = threshold_rule(300)
        first = boosted(X, y, n_classes=2)
        first.grow(3)
        shared, own = first.of_size(8), boosted(X, y, n_classes=2, leaves=8)
        for boost in (shared, own):
            boost.grow(5)
        np.testing.assert_array_equal(shared.predict(X), own.predict(X))

    def test_numbers_with_steps(self):
        X, steps = threshold_rule(600)
        y = steps + 0.05 * np.random.default_rng(1).normal(size=600)
        model = GCWSTabularRegressor().fit(X[:400], y[:400])
        assert model.trees_share_ > 0.2
        assert model.score(X[400:], y[400:]) > 0.75
        assert model.held_out_score_ == pytest.approx(model.score(X[400:], y[400:]), abs=0.1)

    def test_wide_tables_have_no_trees(self):
        X = np.random.default_rng(0).normal(size=(60, _boosting.MOST_WORK + 1))
        assert GCWSTabularClassifier("quick").set_params(effort="default").fit(X, X[:, 0] > 0).trees_share_ == 0


@pytest.mark.parametrize("unit", [1e-200, 1e40, 1e300])
def test_targets_of_any_size(unit, tmp_path):
    """Targets that single precision cannot hold give the predictions of smaller ones, times the unit."""
    X, steps = threshold_rule(200)
    y = steps + X[:, 2]
    one, other = (GCWSTabularRegressor("quick").fit(X, target) for target in (y, unit * y))
    np.testing.assert_allclose(other.predict(X), unit * one.predict(X), rtol=1e-2, atol=0.02 * unit)
    other.save(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(load_model(tmp_path / "a.safetensors").predict(X), other.predict(X))


@pytest.mark.parametrize("effort", ["quick", "default"])
def test_one_row_of_each_class_with_a_weight(effort):
    X = np.random.default_rng(0).normal(size=(100, 3))
    y = X[:, 0] > 0
    weights = np.zeros(100)
    weights[[y.argmax(), y.argmin()]] = 1
    model = GCWSTabularClassifier(effort).fit(X, y, sample_weight=weights)
    used = weights > 0
    assert model.score(X[used], y[used]) == 1


def test_held_out_rows_tell_the_truth_about_noise():
    """Labels that nothing explains: the held-out accuracy of 300 rows is within 5 standard errors of one half.

    Weights of columns that had seen the held-out rows would raise it. The false-alarm rate is below 1e-6.
    """
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 40)), rng.integers(0, 2, 300)
    model = GCWSTabularClassifier("quick").fit(X, y)
    assert abs(model.held_out_score_ - 0.5) < 5 * 0.5 / np.sqrt(300)


def test_trees_do_not_keep_the_rows():
    """Each tree predicts a number for all rows, which is added up and must not stay in memory."""
    X, y = threshold_rule(300)
    boost = boosted(X, y, 2)
    boost.grow(3)
    assert [part.values.base for part in boost._grown] == [None] * 3
    assert sum(part.values.nbytes for part in boost._grown) == 0


class TestTemperature:
    def test_it_undoes_a_change_of_scale(self):
        """With many rows the penalty hardly counts."""
        rng = np.random.default_rng(0)
        logits = rng.normal(scale=2, size=(20_000, 3))
        P = softmax(logits, axis=1)
        labels = np.array([rng.choice(3, p=row) for row in P])
        weights = np.ones(len(labels))
        for scale in (0.5, 1.0, 2.0):
            found = best_temperature(softmax(logits * scale, axis=1), labels, weights)
            assert found == pytest.approx(scale, rel=0.05)  # 5 standard errors

    def test_few_rows_leave_it_near_1(self):
        P = np.tile([0.6, 0.4], (10, 1))
        assert 0.8 < best_temperature(P, np.zeros(10, int), np.ones(10)) < 1
        assert best_temperature(P, np.zeros(10, int), np.full(10, 1e6)) == pytest.approx(0.25, rel=1e-3)  # the end

    def test_a_weight_is_a_number_of_rows(self):
        rng = np.random.default_rng(0)
        P, labels, weights = softmax(rng.normal(size=(50, 4)), axis=1), rng.integers(0, 4, 50), rng.integers(0, 4, 50)
        again = best_temperature(np.repeat(P, weights, axis=0), np.repeat(labels, weights), np.ones(weights.sum()))
        assert best_temperature(P, labels, weights) == pytest.approx(again, rel=1e-4)

    def test_held_out_log_loss_is_smaller_where_rows_are_few(self):
        """Ten classes of 30 rows each: the probabilities of the parts are too close to each other."""
        X, y = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(y))
        train, test = order[:300], order[300:]
        model = GCWSTabularClassifier().fit(X[train], y[train])
        assert model._temperature < 1
        loss = log_loss(model.predict_proba(X[test]), y[test], np.ones(len(test)))
        model._temperature = 1.0
        assert loss < 0.95 * log_loss(model.predict_proba(X[test]), y[test], np.ones(len(test)))
