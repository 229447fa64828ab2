import numpy as np
import pytest

from kernelsketch import GCWSTabularClassifier
from kernelsketch.exceptions import InputError
from kernelsketch.tabular import read_table, text_table
from kernelsketch.tabular._choices import chosen


def cells(*columns):
    return np.array(columns, dtype=object).T


def test_kinds_and_gaps():
    table = text_table(
        cells(["1", "", "2.5"], ["a", "", "01"], ["2024-01-02", "", "2024-01-03 10:30"], ["", "", ""]), list("ncde")
    )
    assert [column.kind for column in table.columns] == ["number", "category", "date", "category"]
    assert [column.name for column in table.columns] == ["n", "c", "d", "e"]
    np.testing.assert_array_equal(table.columns[0].values, [1, np.nan, 2.5])
    assert table.columns[1].values.tolist() == ["a", None, "01"]
    assert [column.missing.tolist() for column in table.columns[:3]] == [[False, True, False]] * 3
    assert table.columns[3].missing.all()
    assert table.named
    assert not text_table(cells(["1"]), None).named
    assert read_table(table) is table


def test_faults():
    with pytest.raises(InputError, match="two columns of X have the name 'a'"):
        text_table(cells(["1"], ["2"]), ["a", "a"])
    with pytest.raises(InputError, match="column 'a' contains infinity"):
        chosen(text_table(cells(["1", "inf"]), ["a"]), None, "error")


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    codes = rng.choice(["01", "1", "2020-01-01", "x", "NA"], 200)
    numbers = rng.normal(size=200).round(2).astype(str)
    return GCWSTabularClassifier("quick").fit(text_table(cells(codes, numbers), ["code", "number"]), codes == "01")


@pytest.mark.parametrize("code", ["01", "1", "2020-01-01", "x", "NA"])
@pytest.mark.parametrize("as_array", [False, True])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_category_stays_the_text_that_it_was(model, code, as_array):
    """Alone, the category 01 looks like a number, and 2020-01-01 like a date."""
    row = cells([code], ["0.5"])
    alone = model.predict(row if as_array else text_table(row, ["code", "number"]))
    assert alone.tolist() == [code == "01"]


@pytest.mark.parametrize("text", ["", "NA", "?"])
def test_a_missing_number_alone(model, text):
    row, gap = (
        text_table(cells(["01"], [text]), ["code", "number"]),
        text_table(cells(["01"], [""]), ["code", "number"]),
    )
    np.testing.assert_array_equal(model.decision_function(row), model.decision_function(gap))
