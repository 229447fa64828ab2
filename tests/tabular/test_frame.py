"""Tables of every library become the same columns, and what cannot be read gets a sentence."""

import datetime
from decimal import Decimal

import numpy as np
import pandas
import pytest
from scipy import sparse

from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.tabular._choices import chosen
from kernelsketch.tabular._frame import CATEGORY, DATE, NUMBER
from kernelsketch.tabular._read import read_table
from kernelsketch.tabular._values import category_text

DAYS = [datetime.date(2024, 1, 31), None, datetime.date(2024, 2, 29)]
CONTENT = {
    "whole": [1, 2, 3],
    "real": [0.5, None, -1.5],
    "yes": [True, False, True],
    "city": ["Rome", None, "Oslo"],
    "day": DAYS,
}
GAPS = {"real", "city", "day"}


def objects(values):
    found = np.empty(len(values), object)
    found[:] = values
    return found


def only(values):
    """The column of a table that holds one list of objects."""
    return read_table(pandas.DataFrame({"a": objects(values)})).columns[0]


def libraries():
    yield "dicts", [dict(zip(CONTENT, row, strict=True)) for row in zip(*CONTENT.values(), strict=True)]
    yield "pandas", pandas.DataFrame({name: objects(values) for name, values in CONTENT.items()})
    yield "pandas types", pandas.DataFrame(CONTENT).astype({"city": "category", "day": "datetime64[ns]"})
    yield "pandas nullable", pandas.DataFrame(CONTENT).convert_dtypes()
    pyarrow = pytest.importorskip("pyarrow")
    yield "pyarrow", pyarrow.table(CONTENT)
    try:
        import polars
    except ImportError:
        return
    yield "polars", polars.DataFrame(CONTENT)


@pytest.mark.parametrize(
    ("name", "table"), list(libraries()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_library_gives_the_same_columns(name, table):
    found = read_table(table)
    assert found.named
    assert found.n_rows == 3
    assert [column.name for column in found.columns] == list(CONTENT)
    assert [column.kind for column in found.columns] == [NUMBER, NUMBER, NUMBER, CATEGORY, DATE]
    whole, real, yes, city, day = found.columns
    np.testing.assert_array_equal(whole.values, [1, 2, 3])
    np.testing.assert_array_equal(real.values, [0.5, np.nan, -1.5])
    np.testing.assert_array_equal(yes.values, [1, 0, 1])
    assert city.values.tolist() == ["Rome", None, "Oslo"]
    np.testing.assert_array_equal(day.values, np.array(["2024-01-31", "NaT", "2024-02-29"], "datetime64[us]"))
    np.testing.assert_array_equal(
        [c.missing for c in found.columns], [[0, 0, 0], [0, 1, 0], [0, 0, 0]] + [[0, 1, 0]] * 2
    )


class TestInference:
    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            ([1, 2.5, None], [1, 2.5, np.nan]),
            ([Decimal("1.5"), np.int64(2), np.float32(0.5)], [1.5, 2, 0.5]),
            (["1", " 2.5 ", "NA", "?", ""], [1, 2.5, np.nan, np.nan, np.nan]),
            ([True, None, False], [1, np.nan, 0]),
            ([None, float("nan")], [np.nan, np.nan]),
        ],
    )
    def test_numbers(self, values, expected):
        column = only(values)
        assert column.kind == NUMBER
        np.testing.assert_array_equal(column.values, expected)

    def test_numbers_stored_as_text_are_noted(self):
        assert only(["1", "2"]).note == "numbers stored as text"

    @pytest.mark.parametrize("values", [["2024-05-17", None], ["2024-05-17T00:00", ""], ["2024-05-17 00:00:00Z", "NA"]])
    def test_dates_stored_as_text(self, values):
        column = only(values)
        assert (column.kind, column.note) == (DATE, "dates stored as text")
        np.testing.assert_array_equal(column.values, np.array(["2024-05-17", "NaT"], "datetime64[us]"))

    @pytest.mark.parametrize("values", [["2024-13-45"], ["1 apple"], ["yes", "1"]])
    def test_other_text_is_a_category(self, values):
        assert only(values).kind == CATEGORY

    def test_numbers_and_text_mixed_are_categories(self):
        column = only([1, "one", 2.0, None])
        assert column.kind == CATEGORY
        assert column.values.tolist() == ["1", "one", "2", None]
        assert "mixed" in column.note

    def test_missing_dates_of_pandas_in_a_list_of_dicts(self):
        """So ``to_dict("records")`` of a data frame gives them."""
        frame = pandas.DataFrame({"a": pandas.to_datetime(["2024-05-17", None])})
        (column,) = read_table(frame.to_dict("records")).columns
        np.testing.assert_array_equal(column.values, np.array(["2024-05-17", "NaT"], "datetime64[us]"))

    def test_times_with_a_zone_are_universal_time(self):
        zone = datetime.timezone(datetime.timedelta(hours=2))
        (column,) = read_table(
            pandas.DataFrame({"a": objects([datetime.datetime(2024, 1, 1, 1, tzinfo=zone)])})
        ).columns
        assert column.values[0] == np.datetime64("2023-12-31T23:00")

    @pytest.mark.parametrize(
        ("value", "name"),
        [
            *((1, "1"), (1.0, "1"), (np.int8(1), "1"), (0.5, "0.5"), (True, "1"), (Decimal("2.0"), "2")),
            *((2**53 + 1, "9007199254740993"), (np.uint64(2**64 - 1), "18446744073709551615"), (1e16, "1" + 16 * "0")),
            *((10**400, "1" + 400 * "0"), (Decimal(2**53 + 1), "9007199254740993"), ("a\0", "a\0"), (None, None)),
            *((float("nan"), None), (Decimal("nan"), None)),
        ],
    )
    def test_names_of_categories(self, value, name):
        assert category_text(value) == name

    def test_large_integers_beside_text_stay_distinct(self):
        column = only([2**53, 2**53 + 1, "one"])
        assert column.values.tolist() == [str(2**53), str(2**53 + 1), "one"]


class TestBadTables:
    def test_infinity_names_column_and_row(self):
        with pytest.raises(InputError, match=r"column 'b' contains infinity \(row 1\)"):
            chosen(read_table(pandas.DataFrame({"a": [1.0, 2], "b": [1.0, np.inf]})), None, "error")
        with pytest.raises(InputError, match=r"column 'a' contains infinity \(row 0\)"):
            chosen(read_table([{"a": "inf"}, {"a": "1"}]), None, "error")

    def test_equal_names(self):
        with pytest.raises(InputError, match="two columns of X have the name 'a'"):
            read_table(pandas.DataFrame([[1, 2]], columns=["a", "a"]))

    @pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
    def test_no_rows_or_no_columns(self, shape):
        with pytest.raises(InputError, match=r"0 (sample|feature)"):
            read_table(np.zeros(shape))

    def test_one_dimension(self):
        with pytest.raises(InputError, match="must be 2-D"):
            read_table(np.zeros(3))

    def test_sparse(self):
        with pytest.raises(InputTypeError, match="pass it to GCWSClassifier"):
            read_table(sparse.csr_array((2**16, 2**16)))
        assert len(read_table(sparse.csr_array(np.eye(3))).columns) == 3

    def test_complex(self):
        with pytest.raises(InputError, match="Complex data not supported"):
            read_table(np.zeros((2, 2), complex))

    def test_lists_in_cells(self):
        with pytest.raises(InputTypeError, match="turn such values into columns"):
            only([[1, 2], [3]])


def test_arrays_have_no_names():
    table = read_table(np.array([[1, 2], [3, 4]]))
    assert not table.named
    assert [column.name for column in table.columns] == ["x0", "x1"]


def test_dicts_may_lack_what_is_missing():
    table = read_table([{"a": 1, "b": "x"}, {"b": "y", "c": 2.5}])
    assert [column.name for column in table.columns] == ["a", "b", "c"]
    assert [column.missing.tolist() for column in table.columns] == [[False, True], [False, False], [True, False]]
    with pytest.raises(InputError, match="X is a dict: pass a list of dicts, one for each row"):
        read_table({"a": 1})
    with pytest.raises(InputError, match="X must be 2-D"):
        read_table([{"a": 1}, 3])
