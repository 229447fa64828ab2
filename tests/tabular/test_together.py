"""Rows that belong together: folds by groups and by time, without leaks, and the warning about rows that look so."""

import warnings

import numpy as np
import pandas
import pytest
import sklearn
from scipy.stats import binom
from sklearn.model_selection import GroupKFold, cross_val_score

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor
from kernelsketch.exceptions import InputError, InputTypeError, RowsWarning
from kernelsketch.tabular import _learn, read_table
from kernelsketch.tabular._columns import TablePlan
from kernelsketch.tabular._free_text import TargetOrder
from kernelsketch.tabular._learn import Learner
from kernelsketch.tabular._neighbors import LEVEL, _bins_of, _scores, correlation
from kernelsketch.tabular._together import Together


def grouped(n=600, n_groups=60, seed=0, *, shuffled=True):
    """Rows of a group have nearly the same features, and targets that no feature explains in other groups."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) * n_groups // n
    X = rng.normal(size=(n_groups, 4))[group] + 0.05 * rng.normal(size=(n, 4))
    y = rng.normal(size=n_groups)[group] + 0.3 * rng.normal(size=n)
    order = rng.permutation(n) if shuffled else np.arange(n)
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(customer=[f"k{i}" for i in group])
    return frame.iloc[order].reset_index(drop=True), y[order]


@pytest.fixture
def folds(monkeypatch):
    """The folds of every fit."""
    found, of = [], Learner._folds

    def keep(*given):
        found.append(of(*given))
        return found[-1]

    monkeypatch.setattr(Learner, "_folds", keep)
    return found


class TestGroups:
    @pytest.mark.parametrize("kind", [GCWSTabularRegressor, GCWSTabularClassifier])
    def test_groups_are_held_out_together(self, folds, kind):
        X, y = grouped()
        y = y if kind is GCWSTabularRegressor else np.digitize(y, [-0.5, 0.5])
        kind("quick").fit(X, y, groups="customer")
        tests = np.concatenate([fold.test for fold in folds[0]])
        assert sorted(tests) == list(range(600))
        for fold in folds[0]:
            customers = set(X["customer"][fold.test])
            assert not customers & set(X["customer"][fold.train])
            assert 150 < len(fold.test) < 250

    def test_classes_are_dealt_evenly(self):
        rng = np.random.default_rng(0)
        group, labels = rng.integers(0, 200, 2000), (rng.random(2000) < 0.1).astype(int)
        for fold in Together(False, group).folds(labels, np.ones(2000, bool), 5):
            assert abs(len(fold.test) - 400) < 20
            assert abs(labels[fold.test].sum() - labels.sum() / 5) < 5

    def test_the_score_is_that_of_new_groups(self):
        X, y = grouped()
        values = X.drop(columns="customer")
        alone = GCWSTabularRegressor("quick").fit(values, y)
        whole = GCWSTabularRegressor("quick").fit(values, y, groups=X["customer"])
        assert alone.held_out_score_ > 0.6
        assert whole.held_out_score_ < 0.1

    def test_a_column_or_an_array_of_any_type(self):
        X, y = grouped(200, 20)
        numbers = np.unique(X["customer"], return_inverse=True)[1]
        models = [
            GCWSTabularRegressor("quick", n_jobs=n_jobs).fit(X, y, groups=groups)
            for groups, n_jobs in (("customer", 1), (X["customer"], 2), (X["customer"].tolist(), 1), (numbers, 1))
        ]
        for other in models[1:]:
            np.testing.assert_array_equal(other.predict(X), models[0].predict(X))

    def test_rows_of_weight_0_have_no_say(self, folds):
        X, y = grouped(300, 30)
        weights = np.where(np.arange(300) < 150, 1.0, 0.0)
        GCWSTabularRegressor("quick").fit(X, y, weights, groups="customer")
        for fold in folds[0]:
            assert (fold.test < 150).all()

    def test_a_class_of_one_group_trains_every_fold(self, folds):
        X, y = grouped(300, 30)
        labels = np.where(X["customer"] == "k3", 2, y > 0).astype(int)
        GCWSTabularClassifier("quick").fit(X, labels, groups="customer")
        for fold in folds[0]:
            assert fold.train[labels == 2].all()
            assert not set(X["customer"][fold.test]) & {"k3"}

    def test_few_groups_are_few_folds(self):
        X, y = grouped(120, 2)
        with pytest.warns(RowsWarning, match="groups: 2 folds instead of 5, because each holds out one group"):
            model = GCWSTabularRegressor().fit(X, y, groups="customer")
        assert np.isfinite(model.predict_interval(X, 0.5)).all()

    def test_large_tables_sample_whole_groups(self, monkeypatch):
        kept, of = [], Learner._rows_apart
        monkeypatch.setattr(Learner, "_rows_apart", lambda *given: kept.append(of(*given)) or kept[-1])
        effort = GCWSTabularRegressor().fit(*grouped(60)).effort_ | {"n_kernel_rows": 150, "n_components": 255}
        X, y = grouped(700, 70)
        GCWSTabularRegressor(effort).fit(X, y, groups="customer")
        sample, others = kept[-1].sample, kept[-1].others
        assert 100 < len(sample) <= 150
        assert not set(X["customer"][sample]) & set(X["customer"][others])


class TestTime:
    @pytest.mark.parametrize("is_class", [False, True])
    def test_held_out_rows_are_later(self, folds, is_class):
        rng = np.random.default_rng(0)
        time, X = rng.integers(0, 100, 500), rng.normal(size=(500, 2))
        y = X[:, 0] > 0 if is_class else X[:, 0]
        (GCWSTabularClassifier if is_class else GCWSTabularRegressor)("quick").fit(X, y, time=time)
        assert len(folds[0]) == 3
        for fold in folds[0]:
            assert time[fold.train].max() < time[fold.test].min()
            assert fold.train.sum() >= 200
        tests = np.concatenate([fold.test for fold in folds[0]])
        np.testing.assert_array_equal(np.sort(time[tests]), np.sort(time)[-len(tests) :])
        assert len(tests) >= 240

    def test_later_targets_change_nothing_before(self, monkeypatch):
        """The held-out predictions of a fold, mean targets included, are the same whatever comes after its rows."""
        kept, of = [], _learn.learn_statistics
        monkeypatch.setattr(_learn, "learn_statistics", lambda *given: kept.append(of(*given)) or kept[-1])
        rng = np.random.default_rng(0)
        level = rng.integers(0, 30, 600)
        X = pandas.DataFrame({"shop": [f"s{i}" for i in level], "day": np.arange(600)})
        y = np.sin(level) + 0.1 * rng.normal(size=600)
        other = np.where(np.arange(600) >= 400, rng.permutation(y), y)
        for targets in (y, other):
            GCWSTabularRegressor("quick").fit(X, targets, time="day")
        before, after = kept
        np.testing.assert_array_equal(before[0].means[0][:, :2], after[0].means[0][:, :2])  # folds that train on < 400
        assert (before[0].means[0][:, 2] != after[0].means[0][:, 2]).any()
        own = np.setdiff1d(np.arange(3), before[0].of_other_folds(0))
        np.testing.assert_array_equal(before[1][:, own], after[1][:, own])

    def test_the_score_is_that_of_later_rows(self):
        """A wave is known between its neighbours, but not later."""
        rng = np.random.default_rng(0)
        day = rng.permutation(600).astype(float)
        X = np.column_stack([day, rng.normal(size=600)])
        y = np.sin(day / 100)
        assert GCWSTabularRegressor("quick").fit(X, y).held_out_score_ > 0.7
        assert GCWSTabularRegressor("quick").fit(X, y, time=day).held_out_score_ < 0

    def test_dates_text_and_columns(self):
        rng = np.random.default_rng(0)
        X = pandas.DataFrame({"a": rng.normal(size=200)})
        days = pandas.Timestamp("2024-01-01") + pandas.to_timedelta(rng.permutation(200), "D")
        X["day"] = days
        models = [
            GCWSTabularRegressor("quick").fit(X, X["a"], time=time)
            for time in ("day", days, days.strftime("%Y-%m-%d").tolist(), days.to_numpy().astype(np.int64))
        ]
        for other in models[1:]:
            assert other.held_out_score_ == models[0].held_out_score_

    def test_large_tables_hold_out_later_rows_than_those_of_the_trees(self, monkeypatch, folds):
        kept, of = [], Learner._rows_apart
        monkeypatch.setattr(Learner, "_rows_apart", lambda *given: kept.append(of(*given)) or kept[-1])
        rng = np.random.default_rng(0)
        X = rng.normal(size=(1000, 2))
        effort = GCWSTabularRegressor().fit(X[:60], X[:60, 0]).effort_ | {"n_kernel_rows": 150, "n_components": 255}
        time = rng.permutation(1000)
        GCWSTabularRegressor(effort).fit(X, X[:, 0], time=time)
        sample, others = kept[-1].sample, kept[-1].others
        assert len(sample) == 150
        for fold in folds[-1]:
            assert len(fold.test)
            assert time[sample][fold.test].min() > max(time[others].max(), time[sample][fold.train].max())


class TestBadInput:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"groups": "shop"}, "groups='shop', but X has no column 'shop': pass one value per row, or the name"),
            ({"groups": [1, 2]}, r"groups has the shape \(2,\), but X has 60 rows"),
            ({"groups": np.zeros(60)}, "groups has only one group: pass rows of several"),
            ({"time": np.zeros(60)}, "time has only one time"),
            ({"groups": [None, *range(59)]}, r"groups has a missing value \(row 0\)"),
            ({"time": np.append(np.arange(59.0), np.nan)}, r"time has a missing value \(row 59\)"),
            ({"groups": np.arange(60), "time": np.arange(60)}, "groups and time exclude each other"),
        ],
    )
    def test_errors(self, given, message):
        X, y = grouped(60, 6)
        with pytest.raises(InputError, match=message) as found:
            GCWSTabularRegressor("quick").fit(X, y, **given)
        assert found.value.parameter == next(iter(given))

    def test_text_is_no_time(self):
        X, y = grouped(60, 6)
        with pytest.raises(InputTypeError, match="time is text, for example 'k"):
            GCWSTabularRegressor("quick").fit(X, y, time="customer")

    def test_an_array_has_no_names(self):
        X, y = grouped(60, 6)
        with pytest.raises(InputError, match="but X has no names of columns: pass one value per row"):
            GCWSTabularRegressor("quick").fit(X[["a", "b"]].to_numpy(), y, groups="a")

    def test_classes_that_no_other_group_has(self):
        X, _ = grouped(60, 2)
        with pytest.warns(RowsWarning), pytest.raises(InputError, match="groups leaves no rows that a model of other"):
            GCWSTabularClassifier("quick").fit(X, X["customer"], groups="customer")


def test_metadata_routing():
    X, y = grouped(120, 12)
    with sklearn.config_context(enable_metadata_routing=True):
        model = GCWSTabularRegressor("quick").set_fit_request(groups=True)
        scores = cross_val_score(model, X, y, cv=GroupKFold(2), params={"groups": X["customer"]})
    assert np.isfinite(scores).all()


class TestWarning:
    def test_independent_rows(self):
        """Two tests of heavy tails and of rare classes in 1,500 tables, each above its level in one of 10^6 runs."""
        runs, alarms = 1500, np.zeros(2, int)
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            y = np.sort(rng.normal(size=200) ** 3)
            bins = _bins_of(y)
            alarms[0] += (
                correlation(_scores(0.3 * y + rng.standard_cauchy(200), bins)[:, None], bins, LEVEL) is not None
            )
            rare = (rng.random(200) < 0.05).astype(int)
            alarms[1] += correlation(_scores(np.where(rare, 0.9, 0.1), rare)[:, None], rare, LEVEL) is not None
        assert (binom.sf(alarms - 1, runs, LEVEL) > 1e-6).all()

    @pytest.mark.parametrize("kind", [GCWSTabularRegressor, GCWSTabularClassifier])
    def test_fits_of_independent_rows(self, kind):
        """A warning is a false alarm in at most 0.5 % of tables; more than three in 40 occur in one of 10^5 runs."""
        alarms = 0
        for seed in range(40):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(120, 3))
            y = X[:, 0] + rng.normal(size=120)
            order = np.argsort(y) if seed % 2 else np.arange(120)  # sorted by the target: no reason
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                kind("quick").fit(X[order], y[order] if kind is GCWSTabularRegressor else y[order] > 0)
            alarms += any(one.category is RowsWarning for one in found)
        assert alarms <= 3

    def test_grouped_rows(self):
        X, y = grouped(shuffled=False)
        X = X.drop(columns="customer")
        with pytest.warns(RowsWarning, match="rows look ordered: .* fit with groups= or time=."):
            GCWSTabularRegressor("quick").fit(X, y)
        with pytest.warns(RowsWarning, match="rows look ordered"):
            GCWSTabularClassifier("quick").fit(X, y > 0)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RowsWarning)
            GCWSTabularRegressor("quick").fit(X, y, groups=np.arange(600) // 10)

    def test_a_file_in_the_order_of_time(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 2))
        y = X[:, 0] + np.sin(np.arange(600) / 50)
        with pytest.warns(RowsWarning, match="errors of held-out rows that follow each other in the file"):
            GCWSTabularRegressor("quick").fit(X, y)

    def test_dates_that_matter_are_no_reason(self):
        """Counts that grow with a date, in a file in random order: their errors depend on the date, the rows do not."""
        rng = np.random.default_rng(0)
        day = rng.integers(0, 2000, 1500)
        X = pandas.DataFrame({"a": rng.normal(size=1500)})
        X["when"] = pandas.Timestamp("2020-01-01") + pandas.to_timedelta(day, "D")
        with warnings.catch_warnings():
            warnings.simplefilter("error", RowsWarning)
            GCWSTabularRegressor("quick").fit(X, rng.poisson(np.exp(day / 1000)))


def test_a_dropped_column_can_say_what_belongs_together():
    rng = np.random.default_rng(0)
    machine = rng.integers(0, 12, 200)
    X = pandas.DataFrame({"a": rng.normal(size=200), "machine": machine})
    y = X["a"] + rng.normal(size=12)[machine]
    named = GCWSTabularRegressor("quick", drop=["machine"]).fit(X, y, groups="machine")
    given = GCWSTabularRegressor("quick", drop=["machine"]).fit(X, y, groups=machine)
    np.testing.assert_array_equal(named.predict(X), given.predict(X))
    assert not named.columns_[1].is_used
    assert named.held_out_score_ == given.held_out_score_


@pytest.mark.parametrize("time", [np.repeat([2023, 2024], 60), np.r_[np.zeros(5), np.ones(115)]], ids=["halves", "few"])
@pytest.mark.parametrize("kind", [GCWSTabularRegressor, GCWSTabularClassifier])
def test_two_times_make_one_fold(kind, time):
    X = np.random.default_rng(0).normal(size=(120, 2))
    with pytest.warns(RowsWarning, match="1 fold instead of 3"):
        model = kind("quick").fit(X, X[:, 0] if kind is GCWSTabularRegressor else X[:, 0] > 0, time=time)
    assert np.isfinite(model.held_out_score_)


def test_ids_of_groups_are_compared_as_they_are():
    """Neither long ones as floats, nor padded ones as numbers."""
    numbers = np.arange(240) // 20
    table = pandas.DataFrame({"a": np.arange(240.0)})
    for ids in (2**60 + numbers, [str(2**60 + i) for i in numbers], np.array(["1", "01", "001", "1.0"])[numbers % 4]):
        found = Together.of(read_table(table.assign(id=ids)), "id", None)
        given = Together.of(read_table(table), ids, None)
        for together in (found, given):
            same = together.numbers[:, None] == together.numbers
            np.testing.assert_array_equal(same, np.asarray(ids)[:, None] == np.asarray(ids))


def test_text_of_groups_says_nothing_about_noise():
    """Labels of 30 groups at random, and texts that tell the group: the held-out AUC is that of chance.

    Words were chosen with rows of one group as if they were independent, and the mean of 6 tables was .63. The standard
    deviation of one table is about .12.
    """
    scores = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        group = np.repeat(np.arange(30), 10)
        words = rng.choice(["".join(rng.choice(list("abcdefghij"), 5)) for _ in range(60)], (30, 5))
        texts = [" ".join([*words[i], "".join(rng.choice(list("klmnopq"), 5))]) for i in group]
        y = rng.permutation(np.arange(30) % 2)[group]
        X = pandas.DataFrame({"text": texts, "noise": rng.normal(size=300)})
        scores.append(GCWSTabularClassifier("quick", scoring="roc_auc").fit(X, y, groups=group).held_out_score_)
    assert np.mean(scores) < 0.5 + 3 * 0.12 / 6**0.5


class TestCopies:
    """Copies of rows, as random oversampling and bootstraps make them."""

    @staticmethod
    def rows(n, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 4))
        return X, (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n) > 1.5).astype(int)

    def test_a_rare_class_is_repeated(self):
        """The held-out score is that of new rows, up to four standard errors, and so are the choices."""
        (X, y), (new, of_new) = self.rows(800, 0), self.rows(4000, 1)
        rng = np.random.default_rng(0)
        rows = np.append(np.flatnonzero(y == 0), rng.choice(np.flatnonzero(y), np.count_nonzero(y == 0)))
        told = []
        model = GCWSTabularClassifier("quick").fit(X[rows], y[rows], progress=told.append)
        assert "many rows are copies of others: they are held out together" in told
        balanced = np.mean([np.mean(model.predict(new[of_new == k]) == k) for k in (0, 1)])
        assert balanced > 0.8
        assert abs(model.held_out_score_ - balanced) < 4 * model.held_out_error_

    def test_copies_do_not_change_what_is_rare(self):
        """A name that only copies share stays one of many rare ones."""
        X, y = self.rows(300, 0)
        frame = pandas.DataFrame(X).assign(name=[f"K{i}" for i in range(300)])
        rows = np.append(np.flatnonzero(y == 0), np.resize(np.flatnonzero(y), np.count_nonzero(y == 0)))
        frame.columns = frame.columns.astype(str)
        plain = GCWSTabularClassifier("quick").fit(frame, y)
        model = GCWSTabularClassifier("quick").fit(frame.iloc[rows], y[rows])
        assert [column.treatment for column in model.columns_] == [column.treatment for column in plain.columns_]

    def test_what_copies_are(self):
        X, y = self.rows(200, 0)
        y = y.astype(float)

        def groups(X, y):
            table = read_table(X)
            plan = TablePlan.of(table, TargetOrder.of(y, is_class=False), max_categories=100, infinity="error")
            return Together.of_copies(plan.encode(table), None, y)

        assert groups(X, y) is None
        few = np.append(np.arange(200), np.arange(10))  # 10 of 210 are copies
        assert groups(X[few], y[few]) is None
        many = np.append(np.arange(200), np.arange(20))
        found = groups(X[many], y[many])
        assert len(np.unique(found.numbers)) == 200
        np.testing.assert_array_equal(found.numbers[200:], found.numbers[:20])
        other = y[many]
        other[200:] += 1  # the targets differ
        assert groups(X[many], other) is None
        assert groups(np.round(X[many] / 2), y[many]) is None  # equal by chance
        empty = X[many]
        empty[150:] = np.nan  # equal by chance
        assert len(np.unique(groups(np.append(empty, X[:20], axis=0), np.append(y[many], y[:20])).numbers)) == 220
        ages = np.arange(300)[:, None] % 80.0
        assert groups(ages, ages[:, 0]) is None  # one number, which says nothing
        gaps = X.copy()
        gaps[:, 1] = np.nan
        assert len(np.unique(groups(gaps[many], y[many]).numbers)) == 200
