"""Columns of the types of pandas, polars and pyarrow: what narwhals does not read is not lost."""

import datetime
import decimal
import uuid

import numpy as np
import pytest

from helpers.frames import MAKERS
from kernelsketch import GCWSTabularClassifier
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.tabular._frame import CATEGORY, DATE, NUMBER
from kernelsketch.tabular._read import read_table

pandas, pyarrow, polars = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "polars"))

NAN, NAT = np.nan, np.datetime64("NaT")
DAY = np.datetime64("2024-05-17")
BIG = 2**53 + 1
TIMES = np.array(["2024-05-17T01:02:03.123456789", "NaT"], "datetime64[ns]")
MICROSECONDS = TIMES.astype("datetime64[us]")
MIXED = {
    "number": [1.5, None, -2.0],
    "whole": [BIG, 2, None],
    "yes": [True, None, False],
    "city": ["Rome", "Oslo", None],
    "day": [datetime.date(2024, 1, 31), None, datetime.date(2024, 2, 29)],
    "time": [datetime.datetime(2024, 1, 31, 5), datetime.datetime(2024, 2, 1), None],
    "long": [datetime.timedelta(seconds=1.5), None, datetime.timedelta(days=1)],
}


def check(column, kind, values):
    assert column.kind == kind
    if kind == CATEGORY:
        assert column.values.tolist() == list(values)
    else:
        np.testing.assert_array_equal(column.values, np.array(values, column.values.dtype))


@pytest.mark.parametrize("library", [name for name in MAKERS if name not in ("interchange", "duckdb")])  # no durations
def test_gaps_in_columns_of_all_kinds(library):
    number, whole, yes, city, day, time, long = read_table(MAKERS[library](MIXED)).columns
    check(number, NUMBER, [1.5, NAN, -2])
    check(whole, NUMBER, [BIG, 2, NAN])
    check(yes, NUMBER, [1, NAN, 0])
    check(city, CATEGORY, ["Rome", "Oslo", None])
    check(day, DATE, ["2024-01-31", NAT, "2024-02-29"])
    check(time, DATE, ["2024-01-31T05", "2024-02-01", NAT])
    check(long, NUMBER, [1.5, NAN, 86400])


ARROW = [
    (pyarrow.int64(), [BIG, None], NUMBER, [BIG, NAN]),
    (pyarrow.int64(), [BIG, 1], NUMBER, [BIG, 1]),
    (pyarrow.uint64(), [2**64 - 1, None], NUMBER, [2**64 - 1, NAN]),
    (pyarrow.float16(), [np.float16(0.5), None], NUMBER, [0.5, NAN]),
    (pyarrow.decimal128(5, 2), [decimal.Decimal("1.25"), None], NUMBER, [1.25, NAN]),
    (pyarrow.decimal256(50, 2), [decimal.Decimal("1.25"), None], NUMBER, [1.25, NAN]),
    (pyarrow.bool_(), [True, None], NUMBER, [1, NAN]),
    (pyarrow.null(), [None, None], NUMBER, [NAN, NAN]),
    (pyarrow.timestamp("ns"), TIMES, DATE, MICROSECONDS),
    (pyarrow.timestamp("ns", "Europe/Rome"), TIMES, DATE, MICROSECONDS),
    (pyarrow.timestamp("s"), [1, None], DATE, ["1970-01-01T00:00:01", NAT]),
    (pyarrow.date32(), [DAY.astype(int), None], DATE, [DAY, NAT]),
    (pyarrow.date64(), [1000 * 86400, None], DATE, ["1970-01-02", NAT]),
    (pyarrow.duration("ns"), [1, None], NUMBER, [1e-9, NAN]),
    (pyarrow.duration("s"), [60, None], NUMBER, [60, NAN]),
    (pyarrow.time64("us"), [3600 * 10**6, None], CATEGORY, ["01:00:00", None]),
    (pyarrow.large_string(), ["x", None], CATEGORY, ["x", None]),
    (pyarrow.string_view(), ["x", None], CATEGORY, ["x", None]),
    (pyarrow.binary(), [b"x", None], CATEGORY, ["x", None]),
    (pyarrow.binary(2), [b"xy", None], CATEGORY, ["xy", None]),
    (pyarrow.dictionary(pyarrow.int8(), pyarrow.string()), ["x", None], CATEGORY, ["x", None]),
    (pyarrow.dictionary(pyarrow.int8(), pyarrow.int64()), [7, None], CATEGORY, ["7", None]),
    (pyarrow.uuid(), [b"0" * 16, None], CATEGORY, [str(uuid.UUID(bytes=b"0" * 16)), None]),
    (pyarrow.run_end_encoded(pyarrow.int32(), pyarrow.int64()), [5, 5], NUMBER, [5, 5]),
]


@pytest.mark.parametrize(("kind", "given", "expected", "values"), ARROW, ids=lambda value: str(value)[:40])
@pytest.mark.parametrize("library", ["table", "batch", "pandas"])
def test_types_of_arrow(library, kind, given, expected, values):
    array = pyarrow.array(given, kind)
    table = pyarrow.table({"a": array}) if library != "batch" else pyarrow.record_batch({"a": array})
    if library == "pandas":
        table = pandas.DataFrame({"a": pandas.Series(array, dtype=pandas.ArrowDtype(kind))})
    check(read_table(table).columns[0], expected, values)


PANDAS = [
    (pandas.arrays.SparseArray([0, 1, 0]), NUMBER, [0, 1, 0]),
    (pandas.arrays.SparseArray([NAN, 1.5]), NUMBER, [NAN, 1.5]),
    (pandas.arrays.SparseArray([True, False]), NUMBER, [1, 0]),
    (pandas.period_range("2024-01", periods=2, freq="M"), DATE, ["2024-01-01", "2024-02-01"]),
    (pandas.Categorical([1, 2.5, None]), CATEGORY, ["1", "2.5", None]),
    (pandas.Categorical(["x", None, "y"]), CATEGORY, ["x", None, "y"]),
    (pandas.to_datetime(["2024-05-17", None]).tz_localize("Europe/Rome"), DATE, ["2024-05-16T22", NAT]),
    (pandas.to_timedelta(["1s", None]), NUMBER, [1, NAN]),
    (pandas.array([1, None], "Int64"), NUMBER, [1, NAN]),
    (pandas.array([BIG, None], "UInt64"), NUMBER, [BIG, NAN]),
    (pandas.array([0.5, None], "Float32"), NUMBER, [0.5, NAN]),
    (pandas.array([True, None], "boolean"), NUMBER, [1, NAN]),
    (pandas.array(["x", None], "string"), CATEGORY, ["x", None]),
    (np.array([1, "x", None], object), CATEGORY, ["1", "x", None]),
    (np.array([True, None], object), NUMBER, [1, NAN]),
    (pandas.interval_range(0, 2), CATEGORY, ["(0, 1]", "(1, 2]"]),
]


@pytest.mark.parametrize(("given", "kind", "values"), PANDAS, ids=lambda value: str(getattr(value, "dtype", ""))[:40])
@pytest.mark.parametrize("wrapped", [False, True])
def test_types_of_pandas(given, kind, values, wrapped):
    table = pandas.DataFrame({"a": given})
    check(read_table(pytest.importorskip("narwhals").from_native(table) if wrapped else table).columns[0], kind, values)


POLARS = [
    ([decimal.Decimal("1.25"), None], polars.Decimal(5, 2), NUMBER, [1.25, NAN]),
    ([2**70, None], polars.Int128, NUMBER, [2.0**70, NAN]),
    ([BIG, None], polars.UInt64, NUMBER, [BIG, NAN]),
    ([None, None], polars.Null, NUMBER, [NAN, NAN]),
    (["x", None], polars.Enum(["x", "y"]), CATEGORY, ["x", None]),
    (["x", None], polars.Categorical, CATEGORY, ["x", None]),
    (["1", None], polars.Categorical, CATEGORY, ["1", None]),
    ([1, None], polars.Duration("ms"), NUMBER, [1e-3, NAN]),
    ([1, None], polars.Datetime("ns", "Asia/Tokyo"), DATE, ["1970-01-01", NAT]),
    ([datetime.time(1), None], polars.Time, CATEGORY, ["01:00:00", None]),
    ([b"x", None], polars.Binary, CATEGORY, ["x", None]),
]


@pytest.mark.parametrize(("given", "dtype", "kind", "values"), POLARS, ids=lambda value: str(value)[:30])
@pytest.mark.parametrize("lazy", [False, True])
def test_types_of_polars(given, dtype, kind, values, lazy):
    table = polars.DataFrame({"a": polars.Series(given, dtype=dtype)})
    check(read_table(table.lazy() if lazy else table).columns[0], kind, values)


@pytest.mark.parametrize(
    "table",
    [
        polars.DataFrame({"a": [[1], [2, 3]]}),
        polars.DataFrame({"a": [[1, 2], [2, 3]]}, schema={"a": polars.Array(polars.Int8, 2)}),
        polars.DataFrame({"a": [{"b": 1}, {"b": 2}]}),
        pyarrow.table({"a": [[1], [2, 3]]}),
        pyarrow.table({"a": [{"b": 1}, {"b": 2}]}),
    ],
)
def test_lists_and_structs_are_refused(table):
    with pytest.raises(InputTypeError, match="turn such values into columns first"):
        read_table(table)


def test_names_of_several_levels():
    names = pandas.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    found = read_table(pandas.DataFrame([[1, 2], [3, 4]], columns=names))
    assert [column.name for column in found.columns] == ["('a', 1)", "('a', 2)"]


class TestRanges:
    @pytest.mark.parametrize("table", [{"a": [1, 10**400]}, {"a": [0.5, -(10**309)]}])
    def test_huge_integers_name_column_and_row(self, table):
        rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
        frame = pandas.DataFrame({name: np.array(values, object) for name, values in table.items()})
        for X in (rows, frame):
            with pytest.raises(InputError, match=r"column 'a' contains an integer of \d+ digits \(row 1\)"):
                read_table(X)
        with pytest.raises(InputError, match=r"column 'x0' contains an integer of \d+ digits \(row 1\)"):
            read_table(np.array([[value] for value in table["a"]], object))

    def test_dates_beyond_all_years(self):
        table = pyarrow.table({"a": pyarrow.array([0, 2**60], pyarrow.timestamp("s"))})
        with pytest.raises(InputError, match=r"column 'a' has a date out of range \(row 1\)"):
            read_table(table)

    def test_durations_in_arrays_are_seconds_as_in_frames(self):
        check(read_table(np.array([[1500], [1]], "timedelta64[ms]")).columns[0], NUMBER, [1.5, 1e-3])


@pytest.mark.parametrize("library", MAKERS)
def test_a_model_reads_names_and_not_positions(library):
    rng = np.random.default_rng(0)
    columns = {"noise": rng.normal(size=200), "signal": rng.normal(size=200), "city": rng.choice(["Rome", "Oslo"], 200)}
    y = columns["signal"] > 0
    model = GCWSTabularClassifier(effort="quick", random_state=0).fit(pandas.DataFrame(columns), y)
    other = MAKERS[library]({name: columns[name] for name in ("city", "signal", "noise")})
    np.testing.assert_array_equal(model.predict(other), model.predict(pandas.DataFrame(columns)))
    assert model.score(MAKERS[library](columns), y) > 0.9
