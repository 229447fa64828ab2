"""The choice of C by held-out rows."""

from dataclasses import replace

import numpy as np
import pytest

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor
from kernelsketch.tabular import _learn, _tree_fit, summary_of
from kernelsketch.tabular._boosting import clearly_worse
from kernelsketch.tabular._columns import TablePlan
from kernelsketch.tabular._effort import ALONE_SHARE, EFFORTS, ENOUGH_ROWS, Clock, effort_of, fitting_effort
from kernelsketch.tabular._learn import Learner, last_is_clearly_worse
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
    """On labels with much noise large C are worse, and no fold trains with one that the folds before it gave up."""
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
    assert trained == ([2, 1, 1, 1, 1] if ends else [4] * 5)


def test_a_model_is_worse_by_the_rows_of_all_folds_so_far():
    """Two rows of 50 are no evidence; four of 100, over two folds, are."""
    fold, right = np.ones(50), np.zeros(50)
    wrong = np.where(np.arange(50) < 2, 1.0, 0.0)
    assert not last_is_clearly_worse([[right], [wrong]], fold)
    assert last_is_clearly_worse([[right, right], [wrong, wrong]], np.ones(100))
    assert last_is_clearly_worse([[wrong, wrong], [right, right], [wrong, wrong]], np.ones(100))
    assert not last_is_clearly_worse([[wrong, wrong], [right, right]], np.ones(100))
    assert not last_is_clearly_worse([[wrong, wrong]], np.ones(100))


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


class Ticking(Clock):
    """A clock that goes on by a part of a second whenever it is read."""

    def __init__(self, budget, tick):
        super().__init__(budget)
        self._tick, self._reads = tick, 0

    @property
    def elapsed(self):
        self._reads += 1
        return self._reads * self._tick


def learned(n, is_class, effort, clock, said=None):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 6))
    y = ((X[:, 0] > 0.31) ^ (X[:, 1] > -0.2)).astype(int)
    features = TablePlan.of(read_table(X)).encode(read_table(X))
    given = {"is_class": is_class, "class_weight": None, "seed": 0, "threads": 1}
    given["say"] = (lambda _: None) if said is None else said.append
    targets = y if is_class else 1.0 * y
    return features, Learner(features, np.ones(6, bool), targets, None, effort=effort, clock=clock, **given).learn()


@pytest.mark.parametrize(
    ("n", "tick", "changed"),
    [
        (400, 1e-9, set()),
        (400, 0.02, {"n_steps"}),
        (400, 0.07, {"n_steps", "Cs"}),
        (400, 0.4, {"n_steps", "Cs", "n_components", "n_trees"}),
        (4000, 0.15, {"n_steps", "Cs", "n_kernel_rows", "n_trees"}),
    ],
)
@pytest.mark.parametrize("is_class", [True, False])
def test_every_decision_of_a_clock_is_repeated(n, tick, changed, is_class):
    """The effort of a fit whose time ran out is the one that gives the same model without a clock."""
    features, first = learned(n, is_class, effort_of("default"), Ticking(5.0, tick))
    settings, whole = first.effort.settings(), effort_of("default").settings()
    assert {name for name in whole if settings[name] != whole[name]} == changed
    again = learned(n, is_class, effort_of(settings), Clock(None))[1]
    assert again.effort.settings() == settings
    columns = [found.views.transform(features[:]) for found in (first, again)]
    np.testing.assert_array_equal(*columns)
    np.testing.assert_array_equal(
        *(found.model.predict(part) for found, part in zip((first, again), columns, strict=True))
    )
    assert (again.trees is None) == (first.trees is None)
    if first.trees is not None:
        np.testing.assert_array_equal(*(found.trees.decide(features[:], 1) for found in (first, again)))
    assert again[3:8] == first[3:8]  # the share of the trees, the score and the effort
    np.testing.assert_array_equal(again.intervals.scores, first.intervals.scores)


class TestRowsApart:
    """In a table of many rows, the kernel machine learns from some, and the trees from the others."""

    @staticmethod
    def fitted(kind, X, y, sample_weight=None, **settings):
        effort = {
            **effort_of("default").settings(),
            "n_kernel_rows": 200,
            "n_components": 90,
            "n_trees": 80,
            **settings,
        }
        return kind(effort).fit(X, y, sample_weight)

    @staticmethod
    def table(n=1200):
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, (n, 5))
        return X, ((X[:, 0] > 0.31) ^ (X[:, 1] > -0.2)).astype(int)

    @pytest.mark.parametrize("kind", [GCWSTabularClassifier, GCWSTabularRegressor])
    def test_trees_learn_from_all_rows(self, kind, monkeypatch):
        X, y = self.table()
        seen = []
        original = _tree_fit.Boosting

        def boosting(bins, rows, *args, **options):
            seen.append(rows)
            return original(bins, rows, *args, **options)

        monkeypatch.setattr(_tree_fit, "Boosting", boosting)
        model = self.fitted(kind, X[:900], y[:900])
        assert [rows.sum() for rows in seen] == [700, 900]  # the others choose, and all make the final trees
        assert model.trees_share_ > 0
        assert model.score(X[900:], y[900:]) > 0.8
        again = kind(model.effort_).fit(X[:900], y[:900])
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        seen.clear()
        self.fitted(kind, X, y)
        assert [rows.sum() for rows in seen] == [1000]  # so many that those of the sample hardly matter
        seen.clear()
        self.fitted(kind, X[:599], y[:599])
        of_intervals = 2 if kind is GCWSTabularRegressor else 0
        assert len(seen) == 6 + of_intervals  # too few rows for this: each fold has trees of its own

    def test_rows_of_weight_0_do_not_matter(self):
        X, y = self.table()
        weights = np.where(np.arange(len(y)) < 500, 0.0, 1.0)
        models = [
            self.fitted(GCWSTabularClassifier, X, targets, weights) for targets in (y, np.where(weights > 0, y, 1 - y))
        ]
        np.testing.assert_array_equal(*(model.predict_proba(X) for model in models))

    def test_rows_of_weight_0_do_not_make_a_table_larger(self):
        """The trees of 900 rows learn from all of them, also if there are 300 rows more that do not count."""
        X, y = self.table()
        kept = np.arange(len(y)) >= 300
        padded = self.fitted(GCWSTabularClassifier, X, y, kept.astype(float))
        bare = self.fitted(GCWSTabularClassifier, X[kept], y[kept])
        assert padded.trees_share_ == bare.trees_share_ > 0
        np.testing.assert_array_equal(padded.predict_proba(X), bare.predict_proba(X))

    def test_the_effort_of_a_short_budget_gives_the_same_model(self, monkeypatch):
        """However little time is left for trees, so many rows are taken that a repetition sets rows apart as well."""
        X, y = self.table()
        monkeypatch.setattr(_tree_fit, "PILOT_ROWS", 50)
        monkeypatch.setattr(_tree_fit.TreeFit, "_left", property(lambda self: 0.0))
        monkeypatch.setattr(_tree_fit.TreeFit, "_room", lambda *_: lambda _: True)
        default = EFFORTS["default"]
        monkeypatch.setitem(EFFORTS, "default", replace(default, n_kernel_rows=200, n_components=90, n_trees=80))
        model = GCWSTabularClassifier(budget=1000.0).fit(X, y)
        assert model.effort_["n_rows"] == 600
        again = GCWSTabularClassifier(effort=model.effort_).fit(X, y)
        assert again.effort_ == model.effort_
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))

    def test_a_class_of_two_rows_is_known_to_all(self):
        X, y = self.table()
        y[[3, 700]] = 2
        model = self.fitted(GCWSTabularClassifier, X, y)
        assert model.predict_proba(X).shape == (len(X), 3)
        assert list(model.classes_) == [0, 1, 2]

    def test_threads_change_nothing(self):
        X, y = self.table()
        model = self.fitted(GCWSTabularClassifier, X, y)
        again = GCWSTabularClassifier(model.effort_, n_jobs=2).fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_budget_takes_fewer_rows_before_it_takes_fewer_hashes():
    """The pilot says how much time linear models take: 1 second for 3e6 hashes here."""
    clock = Ticking(100.0, 0.0)
    default = effort_of("default")
    found = fitting_effort(default, 300_000, clock, lambda rows, hashes: rows * hashes / 3e6, can_set_apart=True)
    assert found == replace(default, n_kernel_rows=found.n_kernel_rows)
    assert ENOUGH_ROWS <= found.n_kernel_rows < default.n_kernel_rows
    found = fitting_effort(default, 300_000, clock, lambda rows, hashes: rows * hashes / 3e6)
    assert found == replace(default, n_rows=found.n_rows)
    small = fitting_effort(default, 300_000, clock, lambda rows, hashes: rows * hashes / 1e5, can_set_apart=True)
    assert small.n_components < default.n_components


def test_a_budget_takes_as_many_rows_for_trees_as_there_is_time_for():
    """What it decides is in the effort, and the same rows are taken without a clock."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 4))
    y = (X[:, 0] > 0.3).astype(int)
    features = TablePlan.of(read_table(X)).encode(read_table(X))
    effort = replace(effort_of("default"), n_kernel_rows=100)
    apart = _tree_fit.Apart(np.arange(100), np.arange(100, 400))
    for clock, given, count in ((Clock(None), effort, 300), (Clock(None), replace(effort, n_rows=250), 150)):
        made = _tree_fit.TreeFit(
            features, y, np.ones(400), None, apart, is_class=True, effort=given, clock=clock, threads=1
        )
        assert made._take_apart(apart).sum() == count
        assert made.effort == given
    short = _tree_fit.TreeFit(
        features, y, np.ones(400), None, apart, is_class=True, effort=effort, clock=Ticking(5.0, 0.0), threads=1
    )
    short._count_in_time = lambda _: 120
    flags = short._take_apart(apart)
    assert (len(flags), flags.sum(), short.effort.n_rows) == (220, 120, 220)


def test_a_budget_is_for_the_kernel_machine_where_trees_cannot_grow(monkeypatch):
    X = np.random.default_rng(0).normal(size=(500, 3))
    shares = []
    original = _learn.kernel_share
    monkeypatch.setattr(_learn, "kernel_share", lambda effort: shares.append(original(effort)) or shares[-1])
    monkeypatch.setattr(_tree_fit, "MOST_WORK", 2)
    model = GCWSTabularClassifier(budget=1000.0).fit(X, X[:, 0] > 0)
    assert shares == [ALONE_SHARE]
    assert model.effort_["n_trees"] == 0
    assert "up to 0 of 320 trees" in summary_of(model.effort_, 500, 1000.0)
    again = GCWSTabularClassifier(effort=model.effort_).fit(X, X[:, 0] > 0)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_the_summary_says_what_was_given_up():
    X = np.random.default_rng(0).normal(size=(500, 3))
    lines = []
    model = GCWSTabularClassifier(budget=1e-3).fit(X, X[:, 0] > 0, progress=lines.append)
    text = summary_of(model.effort_, 500, 1e-3)
    assert text in lines
    assert text.startswith("trained on ")
    assert "of 500 rows" in text
    assert text.endswith(" of 320 trees, to fit into budget=0.001")
