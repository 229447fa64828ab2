"""Held-out scores and their standard errors."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss, r2_score, roc_auc_score

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor
from kernelsketch.tabular._scores import CrossFitted

N_TABLES = 20


def noise(seed, n=100):
    return np.random.default_rng(seed).normal(size=(n, 20))


@pytest.fixture(scope="module")
def of_noise():
    """Scores and errors of tables whose labels nothing explains; the first ones have exactly balanced labels."""
    rng = np.random.default_rng(0)
    balanced = [rng.permutation(np.arange(100) % 2) for _ in range(N_TABLES)]
    drawn = [rng.integers(0, 2, 100) for _ in range(N_TABLES)]
    models = [GCWSTabularClassifier("quick", random_state=i).fit(noise(i), y) for i, y in enumerate(balanced + drawn)]
    return np.array([(model.held_out_score_, model.held_out_error_) for model in models])


def test_on_noise_the_mean_score_is_the_truth(of_noise):
    """The false-alarm rate of 4 standard errors of the mean of 20 tables is below .001 (t distribution)."""
    scores = of_noise[:N_TABLES, 0]
    assert abs(scores.mean() - 0.5) < 4 * scores.std(ddof=1) / np.sqrt(N_TABLES)


@pytest.mark.parametrize("rows", [slice(0, N_TABLES), slice(N_TABLES, None)])
def test_on_noise_the_interval_covers_the_truth(of_noise, rows):
    """If 95 % of the intervals of 2 errors cover it, fewer than 16 of 20 do so with a probability of .003."""
    score, error = of_noise[rows].T
    assert (abs(score - 0.5) < 2 * error).sum() >= 16
    assert (error < 0.1).all()


@pytest.mark.filterwarnings("ignore::kernelsketch.exceptions.RowsWarning")
def test_the_score_of_a_signal_is_that_of_new_rows():
    """A rule that 80 % of the labels follow: the false-alarm rate of 4 standard errors is below .001."""
    scores = []
    for seed in range(N_TABLES):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 2, (2100, 1))
        y = np.where(rng.random(2100) < 0.8, X[:, 0], 1 - X[:, 0])
        model = GCWSTabularClassifier("quick", random_state=seed).fit(X[:100], y[:100])
        scores.append((model.held_out_score_, model.score(X[100:], y[100:]), model.held_out_error_))
    held_out, test, error = np.array(scores).T
    difference = held_out - test
    assert abs(difference.mean()) < 4 * difference.std(ddof=1) / np.sqrt(N_TABLES)
    assert (abs(difference) < 2 * error).sum() >= 16
    assert test.mean() > 0.75


def test_numbers_and_their_mean():
    """R2 of noise is not above 0 by more than 2 errors, and that of a signal is near that of new rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (3200, 2)).astype(float)
    y = X[:, 0] + rng.normal(size=3200)
    model = GCWSTabularRegressor("quick").fit(X[:200], y[:200])
    assert abs(model.held_out_score_ - model.score(X[200:], y[200:])) < 3 * model.held_out_error_
    scores = model.held_out_scores_
    assert model.held_out_score_ == pytest.approx(1 - (scores["rmse"] / scores["baseline_rmse"]) ** 2)
    assert scores["baseline_rmse"] == pytest.approx(y[:200].std())
    assert model.held_out_metric_ == "R2"
    constant = GCWSTabularRegressor("quick").fit(noise(0), rng.normal(size=100))
    assert constant.held_out_score_ < 2 * constant.held_out_error_


def test_scores_are_those_of_scikit_learn():
    """With a temperature near 1 for the log-loss."""
    rng = np.random.default_rng(0)
    labels, folds = rng.integers(0, 2, 3000), np.arange(3000) % 5
    upper = np.clip(0.5 + 0.2 * (2 * labels - 1) + 0.2 * rng.normal(size=3000), 0.02, 0.98)
    weights = np.where(labels == 1, 1 / labels.sum(), 1 / (3000 - labels.sum()))
    P = np.column_stack([1 - upper, upper])
    score, error, others = CrossFitted(P, labels, weights, folds, is_class=True).held_out()
    assert score == pytest.approx(balanced_accuracy_score(labels, upper > 0.5))
    naive = np.sqrt(score * (1 - score) / 3000)
    assert error == pytest.approx(1.5 * naive, rel=0.02)
    assert others["baseline_accuracy"] == pytest.approx(0.5)
    assert others["auc"] == pytest.approx(roc_auc_score(labels, upper, sample_weight=weights), abs=5e-3)
    assert others["log_loss"] < log_loss(labels, P, sample_weight=weights) + 1e-3
    numbers = CrossFitted(upper[:, None], 1.0 * labels, np.ones(3000), folds, is_class=False).held_out()
    assert numbers.score == pytest.approx(r2_score(labels, upper))


def test_the_other_folds_decide_about_trees():
    """Trees that are right in fold 0 only are blended in fold 1, where they are wrong."""
    labels, folds = np.zeros(40, int), np.repeat([0, 1], 20)
    plain = np.full((40, 2), 0.5)
    by_trees = np.where((folds == 0)[:, None], [0.9, 0.1], [0.1, 0.9])
    crossed = CrossFitted(plain, labels, np.ones(40), folds, is_class=True)
    crossed.add_trees(by_trees)
    np.testing.assert_array_equal(crossed.predicted[folds == 0], plain[folds == 0])
    np.testing.assert_allclose(crossed.predicted[folds == 1, 0], 0.05 * 0.5 + 0.95 * 0.1)
    assert crossed.held_out().score == 0.5


@pytest.mark.parametrize(
    ("class_weight", "name"),
    [(None, "accuracy"), ("balanced", "balanced accuracy"), ({0: 1, 1: 3}, "weighted accuracy")],
)
def test_the_name_of_the_score(class_weight, name):
    X = noise(0)
    model = GCWSTabularClassifier("quick", class_weight=class_weight).fit(X, (X[:, 0] > 0.7).astype(int))
    assert model.held_out_metric_ == name
    assert (model.held_out_scores_["baseline_accuracy"] == pytest.approx(0.5)) == (class_weight == "balanced")


def test_repeated_rows_have_no_error():
    """The folds have seen them."""
    assert np.isnan(GCWSTabularClassifier("quick").fit([[0.0], [1.0]], [0, 1]).held_out_error_)
    assert np.isnan(GCWSTabularRegressor("quick").fit([[0.0], [1.0]], [0, 1]).held_out_error_)


def test_right_rows_are_not_certain():
    """A score of 1 has an error above 0."""
    X = np.repeat([[0.0], [1.0]], 15, axis=0)
    model = GCWSTabularClassifier("quick").fit(X, X[:, 0])
    assert model.held_out_score_ == 1
    assert 0.02 < model.held_out_error_ < 0.2


def test_errors_have_the_unit_of_the_targets():
    X, y = noise(0), noise(1)[:, 0]
    small, large = (GCWSTabularRegressor("quick").fit(X, unit * y).held_out_scores_ for unit in (1.0, 2.0**500))
    assert large["rmse"] / 2.0**500 == pytest.approx(small["rmse"], rel=1e-2)
