"""Mean targets of categories: they say what they should, and hold neither their own target nor held-out ones."""

import numpy as np
import pandas
import pytest

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor, load_model
from kernelsketch.tabular import _statistics
from kernelsketch.tabular._columns import TablePlan
from kernelsketch.tabular._read import read_table
from kernelsketch.tabular._statistics import (
    FEWEST_CATEGORIES,
    MISSING,
    MOST_CLASSES,
    Levels,
    learn_statistics,
    rows_of_prior,
)

N_FOLDS = 4


def effects(n, k, seed=0, missing=0.0):
    """Return a table with a column of k categories, and numbers that depend on it."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, k, n)
    frame = pandas.DataFrame({"a": rng.normal(size=n), "c": [f"k{i}" for i in level]})
    frame.loc[rng.random(n) < missing, "c"] = None
    return frame, np.random.default_rng(99).normal(size=k)[level] + frame["a"].to_numpy() + rng.normal(0, 0.5, n)


def training(seed=0, n=400, k=20):
    """Return levels, their numbers, outputs, weights, and held-out rows of folds, which leave out the last 20 rows."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(MISSING, k + 1, (n, 2)).astype(np.int32)
    outputs = rng.normal(size=(2, k + 2))[[0, 1], numbers].sum(axis=1, keepdims=True) + rng.normal(size=(n, 1))
    names = tuple(str(i) for i in range(k))
    held_out = np.array_split(rng.permutation(n - 20), N_FOLDS)
    return Levels((0, 3), (names, names)), numbers, outputs, rng.integers(0, 3, n).astype(float), held_out


def parts_of(held_out, n):
    """Return flags of the training rows of each fold, and the number of the part of each row."""
    parts = np.full(n, len(held_out))
    for fold, rows in enumerate(held_out):
        parts[rows] = fold
    return [parts != fold for fold in range(len(held_out))], parts


def test_a_mean_is_that_of_other_rows(monkeypatch):
    """With a given pull, a feature is the mean of the rows that neither the fold nor that of the row holds out."""
    monkeypatch.setattr(_statistics, "rows_of_prior", lambda *_: 3.0)
    levels, numbers, outputs, weights, held_out = training()
    statistics, features = learn_statistics(levels, numbers, outputs, weights, *parts_of(held_out, len(outputs)))
    folds = np.full(len(outputs), N_FOLDS)
    for fold, rows in enumerate(held_out):
        folds[rows] = fold
    assert statistics.owners == [0, 3] * N_FOLDS
    for fold in range(N_FOLDS):
        for column in range(2):
            level, y = numbers[:, column], outputs[:, 0]
            train = (folds != fold) & (weights > 0) & (level != MISSING)
            share, overall = weights / weights[train].mean(), np.average(y[train], weights=weights[train])
            for row in range(len(y)):
                found = features[row, 2 * fold + column]
                if level[row] == MISSING:
                    assert np.isnan(found)
                    continue
                used = train & (folds != folds[row]) & (level == level[row])
                mean = (share[used] @ y[used] + 3 * overall) / (share[used].sum() + 3)
                assert found == pytest.approx(mean)


def test_features_of_a_fold_do_not_change_with_the_targets_that_it_holds_out():
    levels, numbers, outputs, weights, held_out = training()
    other = outputs.copy()
    other[held_out[1]] = 1000 * np.random.default_rng(1).normal(size=(len(held_out[1]), 1))
    before, after = (
        learn_statistics(levels, numbers, y, weights, *parts_of(held_out, len(y))) for y in (outputs, other)
    )
    mine = np.setdiff1d(np.arange(2 * N_FOLDS), before[0].of_other_folds(1))
    assert mine.tolist() == [2, 3]
    np.testing.assert_array_equal(before[1][:, mine], after[1][:, mine])
    np.testing.assert_array_equal(before[0].means[0][:, 1], after[0].means[0][:, 1])
    assert (before[0].means[0][:, 0] != after[0].means[0][:, 0]).any()


def test_rows_of_weight_0_do_not_matter():
    levels, numbers, outputs, weights, held_out = training()
    other, moved, gone = outputs.copy(), numbers.copy(), weights == 0
    other[gone], moved[gone] = 1e6, 0
    before = learn_statistics(levels, numbers, outputs, weights, *parts_of(held_out, len(outputs)))
    after = learn_statistics(levels, moved, other, weights, *parts_of(held_out, len(other)))
    np.testing.assert_array_equal(before[1][~gone], after[1][~gone])
    np.testing.assert_array_equal(before[0].means[0], after[0].means[0])


def test_the_pull_is_the_ratio_of_variances():
    """The standard error of the estimate with 1,000 levels of 10 rows is about 5 %."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=(1000, 10)) + 0.5 * rng.normal(size=(1000, 1))
    y -= y.mean()
    assert rows_of_prior(np.full(1000, 10.0), y.sum(axis=1), float((y**2).sum())) == pytest.approx(4, rel=0.2)


def test_noise_has_no_means():
    """Two standard errors are exceeded with a probability of about .04 by the F distribution: 2 of 200 to 20 of 200."""
    found = 0
    for seed in range(200):
        y = np.random.default_rng(seed).normal(size=(50, 10))
        y -= y.mean()
        found += np.isfinite(rows_of_prior(np.full(50, 10.0), y.sum(axis=1), float((y**2).sum())))
    assert 2 <= found <= 20
    assert np.isinf(rows_of_prior(np.ones(5), np.arange(5.0) - 2, 10.0))  # a row per level says nothing
    assert np.isinf(rows_of_prior(np.array([9.0, 0.0]), np.zeros(2), 1.0))


def test_held_out_scores_of_noise_are_the_truth(monkeypatch):
    """Even if its means are used. The false-alarm rate of 4 standard errors of the mean is below .001, and if 95 % of
    the intervals of 2 errors cover the score of new rows, fewer than 16 of 20 do so with a probability of .003.
    """
    monkeypatch.setattr(_statistics, "rows_of_prior", lambda *_: 3.0)
    scores = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = pandas.DataFrame({"a": rng.normal(size=2300), "c": [f"k{i}" for i in rng.integers(0, 30, 2300)]})
        y = rng.normal(size=2300)
        model = GCWSTabularRegressor("quick", random_state=seed).fit(X[:300], y[:300])
        assert model._plan.statistics is not None
        scores.append((model.held_out_score_, model.score(X[300:], y[300:]), model.held_out_error_))
    held_out, test, error = np.array(scores).T
    assert held_out.mean() - test.mean() < 4 * (held_out - test).std(ddof=1) / np.sqrt(20)
    assert (abs(held_out - test) < 2 * error).sum() >= 16


@pytest.mark.parametrize("kind", [GCWSTabularRegressor, GCWSTabularClassifier])
def test_many_categories_are_learned(kind, monkeypatch):
    X, y = effects(4000, 300)
    y = y if kind is GCWSTabularRegressor else y > 0
    scores = []
    for fewest in (FEWEST_CATEGORIES, 1000):
        monkeypatch.setattr(_statistics, "FEWEST_CATEGORIES", fewest)
        model = kind("quick").fit(X[:2000], y[:2000])
        scores.append(model.score(X[2000:], y[2000:]))
    assert scores[0] > scores[1] + 0.05


def test_the_means_are_read_and_written(tmp_path):
    X, y = effects(600, 40, missing=0.1)
    model = GCWSTabularRegressor("quick").fit(X, y)
    column = model.columns_[1]
    assert column.treatment == "40 categories; missing values have a feature; mean target of each category"
    assert model.feature_importances_[1] > 0.4
    new = X[:6].assign(c=["k0", "k1", "never seen", None, "k2", "k39"])
    model.save(tmp_path / "a.safetensors")
    again = load_model(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_array_equal(again.predict(new[::-1])[::-1], model.predict(new))
    assert again.columns_ == model.columns_
    again.save(tmp_path / "b.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()


def test_unseen_and_missing_categories():
    """Categories of one row share a level with those that are not known, and missing ones have no number."""
    names = ["rare"] + [f"k{i}" for i in range(25)] * 4 + [None] * 2
    table = read_table(pandas.DataFrame({"n": np.arange(103.0), "c": names}))
    plan = TablePlan.of(table)
    levels = plan.levels(table)
    assert levels.columns == (1,)
    assert len(levels.names[0]) == 25
    new = read_table(pandas.DataFrame({"n": np.zeros(4), "c": ["rare", "unknown", None, "k0"]}))
    assert levels.numbers(new.columns)[:, 0].tolist() == [25, 25, MISSING, levels.names[0].index("k0")]


def test_threads_do_not_matter():
    X, y = effects(500, 60, missing=0.1)
    models = [GCWSTabularClassifier(n_jobs=n_jobs).fit(X, y > 0) for n_jobs in (1, 3)]
    np.testing.assert_array_equal(*(model.predict_proba(X) for model in models))


@pytest.mark.parametrize("n_classes", [3, MOST_CLASSES + 1])
def test_each_of_a_few_classes_has_its_means(n_classes):
    X, y = effects(1100, 40)
    labels = pandas.qcut(y, n_classes, labels=False)
    statistics = GCWSTabularClassifier("quick").fit(X, labels)._plan.statistics
    if n_classes > MOST_CLASSES:
        assert statistics is None
    else:
        assert statistics.means[0].shape == (41, 3, n_classes)  # with the level of others, in 3 folds


def test_targets_of_any_scale():
    X, y = effects(400, 40)
    models = [GCWSTabularRegressor("quick").fit(X, scale * y) for scale in (1.0, 2.0**200)]
    small, large = (model.predict(X) for model in models)
    np.testing.assert_allclose(large, 2.0**200 * small, rtol=0.05, atol=2.0**200 * 0.05)


def test_few_categories_have_no_means():
    X, y = effects(300, FEWEST_CATEGORIES - 1)
    assert GCWSTabularRegressor("quick").fit(X, y)._plan.statistics is None
    X, y = effects(300, FEWEST_CATEGORIES)
    assert GCWSTabularRegressor("quick").fit(X, y)._plan.statistics is not None


@pytest.mark.parametrize(("each", "rare", "has_means"), [(99, 0, True), (100, 0, False), (100, 1, True)])
def test_categories_of_many_rows_have_no_means(each, rare, has_means):
    """Their 0/1 features say as much, unless some categories are too rare to have one."""
    level = [*np.repeat(np.arange(25), each), *range(100, 100 + rare)]
    plan = TablePlan.of(read_table(pandas.DataFrame({"c": [f"k{i}" for i in level]})))
    levels = plan.levels(read_table(pandas.DataFrame({"c": [f"k{i}" for i in level]})))
    assert bool(levels.columns) is has_means


def test_weights_of_0_in_a_fit():
    """Rows of weight 0 may have any category and any target."""
    X, y = effects(500, 40)
    weights = np.where(np.arange(500) < 100, 0.0, 1.0)
    other = X.assign(c=np.where(weights > 0, X["c"], "k1"))
    models = [
        GCWSTabularRegressor("quick").fit(rows, targets, sample_weight=weights)
        for rows, targets in ((X, y), (other, np.where(weights > 0, y, 1000.0)))
    ]
    assert models[0].held_out_score_ == pytest.approx(models[1].held_out_score_, abs=1e-6)
    np.testing.assert_allclose(*(model.predict(X) for model in models), atol=1e-3)


def test_columns_that_are_not_used_may_hold_anything_later():
    X, y = effects(300, 40)
    model = GCWSTabularRegressor("quick").fit(X.assign(void=np.nan), y)
    assert model._plan.statistics is not None
    np.testing.assert_array_equal(model.predict(X.assign(void="text")), model.predict(X.assign(void=np.nan)))
