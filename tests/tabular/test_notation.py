"""Notations of numbers and dates in text."""

import warnings

import numpy as np
import pandas as pd
import pytest

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor, load_model
from kernelsketch.exceptions import ColumnWarning, InputError
from kernelsketch.tabular import text_table
from kernelsketch.tabular._columns import TablePlan
from kernelsketch.tabular._frame import CATEGORY, DATE, NUMBER
from kernelsketch.tabular._read import read_table


def column_of(texts):
    (column,) = read_table(pd.DataFrame({"a": np.array(texts, dtype=object)})).columns
    return column


@pytest.mark.parametrize(
    ("texts", "values", "notation"),
    [
        (["$1,234.56", "$5", "-$0.50", "$-2"], [1234.56, 5, -0.5, -2], "1,234.56 $"),
        (["1.234,56 EUR", "7,5 EUR", "1.234.567 EUR"], [1234.56, 7.5, 1234567], "1.234,56 EUR"),
        (["12 %", "5%", "7.5\u00a0%"], [12, 5, 7.5], "1,234.56 %"),
        (["12 %", "5%"], [12, 5], "1234 %"),
        (["(1,234.56)", "12.00", ""], [-1234.56, 12, np.nan], "1,234.56"),
        (["1234,56", "7,5"], [1234.56, 7.5], "1.234,56"),
        (["1 234,5", "12"], [1234.5, 12], "1.234,56"),
        (["1\u202f234\u00a0567,5", "\u221212,5"], [1234567.5, -12.5], "1.234,56"),
        (["1'234.50", "1\u2019000"], [1234.5, 1000], "1,234.56"),
        (["1,23,456.5", "2"], [123456.5, 2], "1,234.56"),
        (["1,234", "950", "12,500"], [1234, 950, 12500], "1,234.56"),
        (["1.234 \u20ac", "950 \u20ac"], [1234, 950], "1.234,56 \u20ac"),
        (["1,234", "0,500"], [1.234, 0.5], "1.234,56"),
        (["1,234,567", "2"], [1234567, 2], "1,234.56"),
        (["US$ 5", "US$ 1 200"], [5, 1200], "1234 US$"),
        (["1,5e3", "2,5E-1"], [1500, 0.25], "1.234,56"),
    ],
)
def test_numbers(texts, values, notation):
    column = column_of(texts)
    assert (column.kind, column.notation, column.doubt) == (NUMBER, notation, "")
    np.testing.assert_array_equal(column.values, values)
    assert column.note.endswith("stored as text")


@pytest.mark.parametrize(
    ("texts", "first", "notation"),
    [
        (["03/15/2021", "1/2/2021"], "2021-03-15", "M/D/Y"),
        (["15/03/2021", "1/2/2021 10:30"], "2021-03-15", "D/M/Y"),
        (["15-03-2021", "01-02-2021"], "2021-03-15", "D-M-Y"),
        (["15.03.2021", "NA"], "2021-03-15", "D.M.Y"),
        (["03.04.2021", "05.06.2021"], "2021-04-03", "D.M.Y"),  # with points, the day comes first
        (["2021/3/15", "2021/04/01 1:05 pm"], "2021-03-15", "Y/M/D"),
        (["2021-3-5", "2021-10-31"], "2021-03-05", "Y-M-D"),
        (["03/15/21", "12/31/99"], "2021-03-15", "M/D/y"),
        (["31.12.99", "01.02.03"], "1999-12-31", "D.M.y"),
        (["15 Mar 2021", "1-May-2020", "2nd june 1999"], "2021-03-15", "D Mon Y"),
        (["March 15, 2021", "Sept. 1 2020"], "2021-03-15", "D Mon Y"),
        (["Mon, 15 Mar 2021 00:00:00 GMT"], "2021-03-15", "D Mon Y"),
        (["2021-03-15T02:00:00+02:00", "2021-03-15"], "2021-03-15", ""),
        (["3/15/2021 12:00:00 AM"], "2021-03-15", "M/D/Y"),
    ],
)
def test_dates(texts, first, notation):
    column = column_of(texts)
    assert (column.kind, column.notation, column.doubt) == (DATE, notation, "")
    assert column.values[0] == np.datetime64(first, "us")


@pytest.mark.parametrize(
    "texts",
    [
        ["(1)", "(2)"],
        ["1_0", "2_0"],
        ["1,2,3", "4"],
        ["192.168.1.1", "10.0.0.1"],
        ["infinity", "nan"],
        ["10:30", "11:00"],
        ["\uff11\uff12", "\u0663"],  # digits of other scripts
        ["12 apples", "5"],
        ["31.04.2021"],
        ["EURO 5", "ABC 7"],
        ["A", "B"],
    ],
)
def test_other_texts_are_categories(texts):
    column = column_of(texts)
    assert (column.kind, column.doubt) == (CATEGORY, "")
    assert column.values[0] == texts[0]


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        (["03/04/2021", "01/12/2021"], "dates whose order may be D/M/Y or M/D/Y, for example '03/04/2021'"),
        (["03/04/21"], "dates whose order may be D/M/y or M/D/y"),
        (["$5", "\u20ac5"], "numbers with different units"),
        (["12 %", "5"], "numbers with different units"),
        (["12,5", "7.5"], "some with decimal points and others with decimal commas"),
        (["1,234", "5678"], "points or commas may begin decimals or thousands"),
        ([f"{i} kg" for i in range(10)], "numbers with the unit 'kg'"),
        ([*(f"{i}.5" for i in range(30)), "unknown"], "numbers, for example '0.5', and"),
        ([*(f"2021-01-{i}" for i in range(10, 30)), "soon"], "dates, for example '2021-01-10', and"),
    ],
)
def test_doubts(texts, what):
    """The warning names the column, what it looks like and what to do; the rows are categories."""
    with pytest.warns(ColumnWarning, match=f"column 'a' looks like .*{what}.* read as categories: to use it, "):
        plan = TablePlan.of(
            read_table(pd.DataFrame({"a": np.array(texts * 2, dtype=object), "b": range(2 * len(texts))}))
        )
    assert plan.columns[0].kind == CATEGORY
    assert "looks like" in plan.columns[0].treatment


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1,234", "12,500"], [1234, 12500]),
        (["1.234 EUR", "12.500 EUR"], [1234, 12500]),
        (["1.234", "12.500", "2.000", "950"], [1.234, 12.5, 2, 950]),
    ],
)
def test_doubtful_numbers_are_used(texts, values):
    column = column_of(texts)
    np.testing.assert_array_equal(column.values, values)
    with pytest.warns(
        ColumnWarning, match=r"column 'a' looks like numbers.*thousands.*[Pp]ass numbers if this is wrong"
    ):
        TablePlan.of(read_table(pd.DataFrame({"a": texts})))


def table(n=400, seed=0):
    """Rows in which an amount and a date decide the target."""
    rng = np.random.default_rng(seed)
    amount, days = rng.uniform(0, 5000, n).round(2), rng.integers(0, 700, n)
    dates = pd.Timestamp("2020-01-01") + pd.to_timedelta(days, "D")
    written = [f"{value:,.2f}".translate(str.maketrans(",.", ".,")) + " EUR" for value in amount]
    frame = pd.DataFrame({"price": written, "day": dates.strftime("%d/%m/%Y"), "other": rng.normal(size=n)})
    return frame, amount / 1000 + days / 200, pd.DataFrame({"price": amount, "day": dates, "other": frame["other"]})


class TestModels:
    def test_text_is_as_good_as_numbers_and_dates(self):
        written, y, read = table()
        model = GCWSTabularRegressor("quick").fit(written[:300], y[:300])
        same = GCWSTabularRegressor("quick").fit(read[:300], y[:300])
        assert model.score(written[300:], y[300:]) > 0.9
        np.testing.assert_array_equal(model.predict(written), same.predict(read))
        assert [column.treatment for column in model.columns_[:2]] == [
            "number (amounts in EUR with decimal commas and separated thousands, stored as text)",
            "date (dates as D/M/Y, stored as text): day, month, weekday; cycles: week, year",
        ]

    def test_later_rows_are_read_as_the_training_rows(self, tmp_path):
        """One row alone has several readings, and so has a file that is read in blocks."""
        written, y, _ = table()
        model = GCWSTabularRegressor("quick").fit(written, y)
        model.save(tmp_path / "model.safetensors")
        loaded = load_model(tmp_path / "model.safetensors")
        assert [column.notation for column in loaded.columns_] == ["1.234,56 EUR", "D/M/Y", ""]
        ambiguous = pd.DataFrame({"price": ["1.234 EUR"], "day": ["03/04/2021"], "other": [0.5]})
        clear = pd.DataFrame({"price": [1234.0], "day": [pd.Timestamp("2021-04-03")], "other": [0.5]})
        cells = text_table(np.array([["1.234", "03/04/2021", "0.5"]], dtype=object), ["price", "day", "other"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for one in (model, loaded):
                for rows in (ambiguous, cells):
                    np.testing.assert_array_equal(one.predict(rows), one.predict(clear))

    @pytest.mark.parametrize(
        ("column", "value", "held"),
        [
            ("price", "1,234.56 EUR", "numbers as in 1.234,56 EUR"),
            ("price", "5 USD", "numbers as in 1.234,56 EUR"),
            ("day", "04/13/2021", "dates as in D/M/Y"),
            ("day", "2021-04-13", "dates as in D/M/Y"),
            ("other", "1,5", "numbers"),
            ("other", "1_0", "numbers"),
        ],
    )
    def test_rows_that_do_not_fit(self, column, value, held):
        written, y, _ = table(60)
        model = GCWSTabularRegressor("quick").fit(written, y)
        rows = written[:3].astype(object)
        rows.loc[1, column] = value
        if column == "other":
            rows.loc[[0, 2], column] = "0.5"
        with pytest.raises(
            InputError, match=f"column '{column}' held {held} during training, but holds '{value}' in row 1"
        ):
            model.predict(rows)

    def test_a_plain_column_stays_plain(self):
        """Commas in later rows are not read, because the training rows do not say what they mean."""
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"a": rng.uniform(0, 10, 60).round(3).astype(str)})
        model = GCWSTabularClassifier("quick").fit(X, X["a"].astype(float) > 5)
        assert model.columns_[0].notation == ""
        with pytest.raises(InputError, match="but holds '1,234' in row 0"):
            model.predict(pd.DataFrame({"a": ["1,234"]}))

    @pytest.mark.filterwarnings("ignore::kernelsketch.exceptions.RowsWarning")
    def test_whole_amounts_of_later_rows_may_have_thousands(self):
        X = pd.DataFrame({"a": [f"${value}" for value in range(60)]})
        model = GCWSTabularRegressor("quick").fit(X, np.arange(60.0))
        assert model.columns_[0].notation == "1234 $"
        expected = model.predict(pd.DataFrame({"a": [1234.0, 12.5]}))
        np.testing.assert_array_equal(model.predict(pd.DataFrame({"a": ["$1,234", "$12.5"]})), expected)

    def test_the_warning_is_that_of_the_caller(self):
        X = pd.DataFrame({"a": ["03/04/2021", "05/06/2021"] * 20, "b": range(40)})
        with pytest.warns(ColumnWarning, match="column 'a' looks like dates") as caught:
            GCWSTabularClassifier("quick").fit(X, np.arange(40) % 2)
        assert caught[0].filename == __file__


def test_damaged_notations_are_refused(tmp_path):
    written, y, _ = table(60)
    model = GCWSTabularRegressor("quick").fit(written, y)
    price = model._plan.columns[0]
    for notation in ("D/M/Y", "1,2.3", "1.234,56 furlongs"):
        object.__setattr__(price, "notation", notation)
        model.save(tmp_path / "model.safetensors")
        with pytest.raises(InputError, match="column 'price' has the notation"):
            load_model(tmp_path / "model.safetensors")
