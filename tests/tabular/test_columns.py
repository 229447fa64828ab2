"""What is done to each column, and the features that come out."""

import numpy as np
import pandas
import pytest

from kernelsketch.exceptions import ColumnWarning, InputError
from kernelsketch.tabular._columns import CYCLES, MOST_CATEGORIES, WAVES, TablePlan, date_part
from kernelsketch.tabular._read import read_table


def plan_of(**columns):
    return TablePlan.of(read_table(pandas.DataFrame(columns)))


def features(plan, **columns):
    found = plan.encode(read_table(pandas.DataFrame(columns)))
    return {feature.name: found[:, i].tolist() for i, feature in enumerate(plan.features)}


def test_numbers_stay_and_gaps_get_a_feature():
    plan = plan_of(a=[1.0, np.nan, 3.0])
    found = features(plan, a=[5.0, np.nan])
    assert found["a"][0] == 5
    assert np.isnan(found["a"][1])
    assert found["a: missing"] == [0, 1]
    assert plan.columns[0].n_missing == 1


LARGE = [2**53, 2**53 + 1, 2**53 + 2]


@pytest.mark.parametrize(
    "make",
    [
        lambda values: pandas.Categorical(values),
        lambda values: pandas.Categorical(np.array(values, np.uint64)),
        lambda values: pandas.Categorical(pandas.array(values, dtype="Int64")),
        lambda values: np.array([*values[:-1], str(values[-1])], dtype=object),
    ],
)
def test_large_integers_are_distinct_categories(make):
    """Float64 holds no odd number above 2**53. Rows may come as categories, integers or objects."""
    plan = plan_of(a=make(LARGE * 2))
    names = [f"a = {value}" for value in LARGE]
    assert [feature.name for feature in plan.features] == names
    for rows in (make(LARGE), np.array(LARGE), np.array(LARGE, dtype=object), list(map(str, LARGE))):
        assert features(plan, a=rows) == dict(zip(names, np.eye(3).tolist(), strict=True))
    assert features(plan, a=np.array(LARGE[1:2]))[names[1]] == [1]  # alone, it is 2**53 in float64


@pytest.mark.parametrize(
    "make", [np.array, lambda values: np.array(values, object), lambda values: list(map(str, values))]
)
def test_a_warning_of_integers_that_are_one_number(make, recwarn):
    for values in ([2**60, 2**60 + 1000, 1, 2**60], ["1e300", "1e301", "2"]):  # of which no two merge
        plan_of(a=make(values))
    assert not recwarn.list
    with pytest.warns(ColumnWarning, match=f"column 'a' has the integers {2**60} and {2**60 + 1}, which are the same"):
        plan_of(a=make([3, 2**60, 2**60 + 1]))


def test_large_integers_as_numbers():
    with pytest.warns(ColumnWarning, match="are the same number"):
        plan = plan_of(a=LARGE)
    np.testing.assert_array_equal(features(plan, a=LARGE)["a"], np.array(LARGE, np.float64))


def test_nul_at_the_end_of_categories():
    texts = ["a", "a\0", "a\0\0", "\0"]
    plan = plan_of(a=texts * 2)
    assert sorted(plan.columns[0].categories) == sorted(texts)
    found = features(plan, a=texts)
    assert [found[f"a = {text}"] for text in texts] == np.eye(4).tolist()


def test_categories_get_a_feature_each_the_most_frequent_first():
    plan = plan_of(a=["x", "y", "y", "x", "y", None])
    assert plan.columns[0].categories == ("y", "x")
    found = features(plan, a=["x", "unseen", None, "y"])
    assert found == {"a = y": [0, 0, 0, 1], "a = x": [1, 0, 0, 0], "a: missing": [0, 0, 1, 0]}


def test_rare_categories_share_a_feature_with_unseen_ones():
    plan = plan_of(a=["x", "x", "y", "y", "once"])
    assert plan.columns[0].treatment == "3 categories, 1 of them rare"
    assert features(plan, a=["once", "unseen", "x"])["a: other"] == [1, 1, 0]


def test_many_categories_are_limited():
    values = [f"c{i}" for i in range(MOST_CATEGORIES + 50)] * 3
    plan = plan_of(a=values)
    assert len(plan.columns[0].categories) == MOST_CATEGORIES
    assert plan.columns[0].has_other


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([None, None, None] * 10, "all values are missing"),
        ([2.0] * 30, "it is constant"),
        (["same"] * 30, "it has one category"),
        ([f"id{i}" for i in range(30)], "nearly every row has its own category"),
        (pandas.to_datetime(["2024-01-01"] * 30), "it is constant"),
    ],
)
def test_columns_that_say_nothing_are_not_used(values, reason):
    plan = plan_of(a=values, b=np.arange(30))
    assert plan.columns[0].treatment == f"not used: {reason}"
    assert not plan.columns[0].is_used
    assert [feature.name for feature in plan.features] == ["b"]


def test_a_table_without_a_useful_column():
    with pytest.raises(InputError, match="column 'a' is not used: it is constant"):
        plan_of(a=[1, 1, 1])


def test_dates_become_parts():
    days = pandas.to_datetime(["2024-01-31 06:00", "2024-02-29 06:00", None])
    plan = plan_of(a=days)
    cycles = ("week wave 1", "week wave 2", "year wave 1", "year wave 2")
    assert plan.columns[0].parts == ("day", "month", "weekday", *cycles)
    treatment = "date: day, month, weekday; cycles: week, year; missing values have a feature"
    assert plan.columns[0].treatment == treatment
    found = features(plan, a=pandas.to_datetime(["1970-01-02 12:00", None]))
    assert [found[f"a ({part})"][0] for part in ("day", "month", "weekday")] == [1.5, 1, 4]
    assert found.pop("a: missing") == [0, 1]
    assert np.isnan([values[1] for values in found.values()]).all()


@pytest.mark.parametrize("part", ["month", "weekday", "hour"])
def test_parts_of_dates_are_those_of_the_standard_library(part):
    times = np.random.default_rng(0).integers(-(10**15), 3 * 10**15, 200).astype("datetime64[us]")
    expected = [getattr(t, part) if part != "weekday" else t.weekday() for t in times.tolist()]
    np.testing.assert_array_equal(date_part(times, part), expected)


def distance(first, second, cycle):
    """Return the distance of two times in the waves of a cycle."""
    times = np.array([first, second], "datetime64[us]")
    return sum(abs(np.diff(date_part(times, f"{cycle} {wave}"))[0]) for wave in WAVES)


@pytest.mark.parametrize(
    ("cycle", "near", "far"),
    [
        ("day", ("2024-05-01T23:30", "2024-05-02T00:30"), ("2024-05-01T23:30", "2024-05-01T12:00")),
        ("week", ("2024-05-05", "2024-05-06"), ("2024-05-05", "2024-05-08")),
        ("year", ("2023-12-31", "2024-01-01"), ("2023-12-31", "2023-07-01")),
        ("year", ("1969-12-31T23:59", "1970-01-01"), ("1969-12-31", "1969-10-01")),
    ],
)
def test_the_end_of_a_cycle_is_near_its_start(cycle, near, far):
    assert distance(*near, cycle) < 1.2
    assert distance(*far, cycle) > 1.5 * distance(*near, cycle)


@pytest.mark.parametrize("cycle", CYCLES)
def test_waves_say_where_in_a_cycle_a_time_is(cycle):
    """Their absolute values have the sum 1, and times of one phase have the same waves, also before 1970."""
    times = np.random.default_rng(0).integers(-(10**17), 10**17, 500).astype("datetime64[us]")
    waves = np.column_stack([date_part(times, f"{cycle} {wave}") for wave in WAVES])
    np.testing.assert_allclose(np.abs(waves).sum(axis=1), 1, rtol=1e-12)
    if cycle == "year":
        later = (times - times.astype("datetime64[Y]")) + (times.astype("datetime64[Y]") + 400)
    else:
        later = times + np.timedelta64({"day": 1, "week": 7}[cycle], "D")
    again = np.column_stack([date_part(later, f"{cycle} {wave}") for wave in WAVES])
    np.testing.assert_allclose(again, waves, atol=1e-12)


class TestMatching:
    def test_columns_come_by_name_in_any_order(self):
        plan = plan_of(a=[1, 2], b=[3, 5])
        assert features(plan, b=[7], c=[0], a=[9]) == {"a": [9], "b": [7]}

    def test_a_missing_column_is_named(self):
        plan = plan_of(a=[1, 2], b=[3, 5])
        with pytest.raises(InputError, match=r"X lacks the column 'b', on which the model was trained: add it\."):
            features(plan, a=[1])
        with pytest.raises(InputError, match=r"X lacks the columns 'a', 'b', on which .*: add them\."):
            features(plan, c=[1])

    def test_arrays_match_by_place(self):
        plan = plan_of(a=[1, 2], b=[3, 5])
        np.testing.assert_array_equal(plan.encode(read_table(np.array([[7, 8]])))[:], [[7, 8]])
        with pytest.raises(InputError, match="X has 3 features, but the model is expecting 2"):
            plan.encode(read_table(np.zeros((1, 3))))

    def test_numbers_may_come_as_text(self):
        plan = plan_of(a=[1.0, 2.0])
        assert features(plan, a=["3.5", "4"]) == {"a": [3.5, 4]}

    def test_text_in_a_column_of_numbers_is_named(self):
        plan = plan_of(a=[1.0, 2.0])
        with pytest.raises(InputError, match="column 'a' held numbers during training, but holds 'x' in row 1"):
            features(plan, a=["3", "x"])

    def test_numbers_in_a_column_of_categories(self):
        plan = plan_of(a=["1", "two", "1", "two"])
        assert features(plan, a=[1, 2])["a = 1"] == [1, 0]

    def test_a_column_of_gaps(self):
        plan = plan_of(a=pandas.to_datetime(["2024-01-01", "2024-01-03"]))
        assert np.isnan(features(plan, a=[None, None])["a (day)"]).all()


def test_features_of_some_rows_and_of_one_column():
    """They are those of an array with all features, which takes much more memory."""
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "a": np.where(rng.random(50) < 0.2, np.nan, rng.normal(size=50)),
            "b": rng.choice(["x", "y", None, "rare"], 50, p=[0.5, 0.2, 0.2, 0.1]),
            "c": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(rng.integers(0, 99, 50), "D"),
            "d": rng.choice(list("uvw"), 50),
        }
    )
    plan = TablePlan.of(read_table(frame))
    found = plan.encode(read_table(frame))
    whole = found[:]
    assert found.shape == whole.shape == (50, len(plan.features))
    assert whole[:, [not feature.is_number for feature in plan.features]].sum() == 50 * 2 + frame["a"].isna().sum()
    names = [feature.name for feature in plan.features]
    np.testing.assert_array_equal(whole[:, names.index("d = u")], frame["d"] == "u")
    np.testing.assert_array_equal(whole[:, names.index("b: missing")], frame["b"].isna())
    np.testing.assert_array_equal(whole[:, 0], frame["a"])
    rows = np.array([3, 3, 49, 0])
    np.testing.assert_array_equal(found[rows], whole[rows])
    np.testing.assert_array_equal(found.take(rows)[:], whole[rows])
    np.testing.assert_array_equal(found[10:20], whole[10:20])
    np.testing.assert_array_equal(np.column_stack([found[:, i] for i in range(len(names))]), whole)
