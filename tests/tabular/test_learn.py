"""The choice of C by held-out rows."""

import numpy as np
import pytest

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor
from kernelsketch.tabular import _learn
from kernelsketch.tabular._columns import TablePlan
from kernelsketch.tabular._effort import Clock, effort_of
from kernelsketch.tabular._learn import Learner, clearly_worse
from kernelsketch.tabular._read import read_table


def test_clearly_worse_means_by_more_than_chance():
    best = np.zeros(100)
    weights = np.ones(100)
    for wrong in (0, 1, 2):  # two rows more: their standard error is about 1.4 rows
        assert not clearly_worse((np.arange(100) < wrong).astype(float), best, weights)
    assert clearly_worse((np.arange(100) < 3).astype(float), best, weights)
    assert not clearly_worse(best, (np.arange(100) < 3).astype(float), weights)
    only = np.where(np.arange(100) < 3, 0.0, 1.0)  # rows of weight 0 do not count
    assert not clearly_worse((np.arange(100) < 3).astype(float), best, only)


@pytest.mark.parametrize("ends", [False, True])
def test_a_worse_c_ends_the_path_of_every_fold(monkeypatch, ends):
    """On labels with much noise large C are worse, and nobody trains beyond the first that is."""
    trained = []
    original = _learn.held_out_values

    def counted(*args, **options):
        trained.append(0)
        for found in original(*args, **options):
            trained[-1] += 1
            yield found

    monkeypatch.setattr(_learn, "held_out_values", counted)
    monkeypatch.setattr(_learn, "clearly_worse", lambda *_: ends)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4))
    y = X[:, 0] + rng.normal(size=240) > 0
    GCWSTabularClassifier().fit(X, y)
    assert trained == ([2] * 5 if ends else [4] * 5)


@pytest.mark.parametrize("kind", [GCWSTabularClassifier, GCWSTabularRegressor])
def test_rows_of_weight_0_do_not_count(kind):
    """Whatever their targets are, the model of the other rows is the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(260, 5))
    y = X[:, 0] if kind is GCWSTabularRegressor else (X[:, 0] > 0).astype(int)
    weights = np.where(np.arange(260) < 100, 0.0, 1.0)
    other = np.where(weights > 0, y, 1 - y if kind is GCWSTabularClassifier else 1000 * X[:, 1])
    models = [kind("quick").fit(X, targets, sample_weight=weights) for targets in (y, other)]
    assert models[0].held_out_score_ == pytest.approx(models[1].held_out_score_, abs=1e-6)
    values = [m.predict_proba(X) if kind is GCWSTabularClassifier else m.predict(X) for m in models]
    np.testing.assert_allclose(*values, atol=1e-3)


def test_a_class_of_one_row_trains_every_fold(monkeypatch):
    folds = []
    original = _learn.held_out_values

    def seen(model, codes, y, fold, *args, **options):
        folds.append(fold)
        return original(model, codes, y, fold, *args, **options)

    monkeypatch.setattr(_learn, "held_out_values", seen)
    X = np.random.default_rng(0).normal(size=(61, 3))
    y = np.append(np.where(X[:60, 0] > 0, 1, 0), 2)
    model = GCWSTabularClassifier("quick").fit(X, y)
    assert len(folds) == 3
    assert all(fold.train[60] and 60 not in fold.test for fold in folds)
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(60))
    assert model.predict_proba(X).shape == (61, 3)


def test_the_final_model_has_the_views_of_all_folds():
    X = np.random.default_rng(0).normal(size=(90, 3))
    model = GCWSTabularClassifier("quick").fit(X, X[:, 0] > 0)
    assert model._views.names == ("standard", "quantile") * 3
    assert model.model_.n_components == 1024
    assert model._views.widths == list(model.model_.views)


class Scripted(Clock):
    """A clock that ends the first descent after some steps, and leaves given seconds to linear models and trees."""

    def __init__(self, n_steps, models, trees):
        super().__init__(5.0)
        self._n_steps, self._rooms, self._calls = n_steps, [models, trees], 0

    @property
    def elapsed(self):
        self._calls += 1  # once before the descent, and once in each step
        return 0.0 if self._calls <= self._n_steps else 1e9

    @property
    def left(self):
        return self._rooms.pop(0) if len(self._rooms) > 1 else self._rooms[0]


@pytest.mark.parametrize(
    ("clock", "changed"),
    [
        ((3, 1e3, 1e3), {"n_steps"}),
        ((1000, 0.0, 1e3), {"n_components", "Cs", "n_rows"}),
        ((1000, 1e3, 0.0), {"n_trees"}),
        ((7, 0.0, 0.0), {"n_steps", "n_components", "Cs", "n_rows", "n_trees"}),
    ],
)
@pytest.mark.parametrize("is_class", [True, False])
def test_every_decision_of_a_clock_is_repeated(clock, changed, is_class):
    """The effort of a fit whose time ran out is the one that gives the same model without a clock."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 6))
    y = ((X[:, 0] > 0.31) ^ (X[:, 1] > -0.2)).astype(int)
    plan = TablePlan.of(read_table(X))
    features = plan.encode(read_table(X))

    def learned(effort, clock):
        given = {"is_class": is_class, "class_weight": None, "seed": 0, "threads": 1, "say": lambda _: None}
        learner = Learner(
            features, np.ones(6, bool), y if is_class else 1.0 * y, None, effort=effort, clock=clock, **given
        )
        return learner.learn()

    first = learned(effort_of("default"), Scripted(*clock))
    settings, whole = first.effort.settings(), effort_of("default").settings()
    assert {name for name in whole if settings[name] != whole[name]} == changed
    again = learned(effort_of(settings), Clock(None))
    assert again.effort.settings() == settings
    columns = [found.views.transform(features[:]) for found in (first, again)]
    np.testing.assert_array_equal(*columns)
    np.testing.assert_array_equal(
        *(found.model.predict(part) for found, part in zip((first, again), columns, strict=True))
    )
    assert (again.trees is None) == (first.trees is None)
    if first.trees is not None:
        np.testing.assert_array_equal(*(found.trees.decide(features[:], 1) for found in (first, again)))
    assert again[3:] == first[3:]  # the share of the trees, the score and the effort
