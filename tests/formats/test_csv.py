import csv
import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelsketch.exceptions import InputError
from kernelsketch.formats import _lines, open_rows

from .conftest import stacked


def opened(text, **options):
    return open_rows(io.BytesIO(text.encode()), format="csv", **options)


def refused(text, **options):
    with pytest.raises(InputError) as caught:
        for _ in opened(text, **options):
            pass
    return str(caught.value)


def test_a_header_is_seen():
    stream = opened("a,b,class\n1,2,yes\n3,4,no\n", label="class")
    assert stream.feature_names == ("a", "b")
    assert stream.n_features == 2
    X, y = stacked(stream)
    assert X.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == ["yes", "no"]


@pytest.mark.parametrize(
    ("text", "label", "has_header"),
    [
        ("1,2\n3,4\n", None, False),
        ("a,b\n3,4\n", None, True),
        ("a,\n3,4\n", None, True),
        ("yes,2\nno,4\n", 0, False),
        ("1,2,yes\n3,4,no\n", -1, False),
        ("x,y,yes\n3,4,no\n", -1, True),
        ("1,2\n3,4\n", "1", True),
    ],
)
def test_header_detection(text, label, has_header):
    X, _ = stacked(opened(text, label=label))
    assert len(X) == 2 - has_header


@pytest.mark.parametrize(
    ("text", "label"), [("a,2\n3,4\n", None), ("x,2,yes\n3,4,no\n", -1), ("1,2,yes\n3,4,no\n", None)]
)
def test_a_first_line_of_words_and_numbers_is_a_row_with_a_bad_cell(text, label):
    """It is not lost as a header would be."""
    assert re.search(r"line 1, column \d: '\w+' is not a number.*pass header=True", refused(text, label=label))


def test_a_header_of_numbers_and_none():
    assert stacked(opened("1,2\n3,4\n", header=True))[0].tolist() == [[3, 4]]
    assert "line 1, column 1: 'a' is not a number" in refused("a,b\n3,4\n", header=False)
    assert "has no column names" in refused("a,b\n3,4\n", header=False, label="a")


def test_quotes_blanks_and_line_ends():
    X, y = stacked(opened('"a","b, c",y\r\n"1", 2 ,"x\ny"\r\n\r\n3,4,"say ""no"""\r\n', label="y"))
    assert X.tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == ["x\ny", 'say "no"']


def test_tabs_and_other_delimiters():
    text = "1\t2\n3\t4\n"
    assert stacked(open_rows(io.BytesIO(text.encode()), format="tsv"))[0].tolist() == [[1, 2], [3, 4]]
    assert stacked(opened("1;2\n3;4\n", delimiter=";"))[0].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("text", "options", "advice"),
    [
        ("a;b;y\n1;2;yes\n", {"label": "y"}, "has more ';' than ',': pass delimiter=';'"),
        ("1;2\n3;4\n", {}, "pass delimiter=';'"),
        ("1,5;2,5\n3,5;4\n", {"header": False}, None),
        ("a;b;c\n1,5;2,5;0\n", {}, "the first has 1. .* pass delimiter=';'"),
        ("a|b\n1|2\n", {}, "pass delimiter='|'"),
        ("a\tb\n1\t2\n", {"label": "b"}, "has more tabs than ',': pass format='tsv'"),
        ("a;b\n1;2\n", {"label": 0}, "no column besides the label. Its first line has more ';'"),
        ("a,b\n1,x;y;z\n", {}, None),
        ("a;b\n1;2\n", {"delimiter": ","}, None),
    ],
)
def test_another_delimiter_is_suggested(text, options, advice):
    message = refused(text, **options)
    if advice is None:
        assert "if they separate the cells" not in message
    else:
        assert re.search(advice.replace("|", r"\|"), message), message


@pytest.mark.parametrize("word", ["", "NA", "nan", " ? ", "null"])
def test_missing_values_are_refused(word):
    message = refused(f"a,b\n1,2\n3,{word}\n")
    assert message.startswith("the stream, line 3, column 2 ('b'): the value is missing")
    assert "SimpleImputer" in message
    assert "line 1, column 2: the value is missing" in refused(f"1,{word}\n3,4\n")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1,2\n3\n", "line 2: the row has 1 cells, the first has 2"),
        ("1,2\n3,inf\n", "line 2, column 2: 'inf' is not a number"),
        ("1,2\n3,1_0\n", "line 2, column 2: '1_0' is not a number"),
        ("1,2\n3,\u0663\n", "line 2, column 2: '\u0663' is not a number"),
        ("1,2\n3,0x10\n", "'0x10' is not a number"),
        ("1,2\n3,1e999\n", "'1e999' is too large for float64"),
        ('1,2\n3,"4\n', "cannot be split into cells"),
        ('1,2\n"3"x,4\n', "line 2: the line cannot be split into cells"),
        ("", "is empty"),
        ("\n\n", "is empty"),
    ],
)
def test_faults(text, sentence):
    assert sentence in refused(text)


def test_faults_of_labels():
    assert "has no column of that name. Its columns are 'a', 'b'" in refused("a,b\n1,2\n", label="c")
    assert "line 3, column 2 ('b'): the label is missing (' ')" in refused("a,b\n1,2\n1, \n", label="b")
    assert "several columns" in refused("a,a\n1,2\n", label="a")
    assert "label=5: the stream has 2 columns" in refused("1,2\n", label=5)
    assert "no column besides the label" in refused("1\n2\n", label=0)
    assert "but n_features=3" in refused("1,2\n", n_features=3)


def test_not_utf8():
    with pytest.raises(InputError, match="is not UTF-8"):
        list(open_rows(io.BytesIO(b"1,2\n" * 100_000 + b"\xff,1\n"), format="csv"))


def test_numbers_then_words_as_labels():
    text = "1,1\n" * 70_000 + "1,one\n"
    assert "line 70001, column 2: the label 'one' is not a number" in refused(text, label=1)
    y = stacked(opened(text, label=1, text_labels=True))[1]
    assert y[[0, -1]].tolist() == ["1", "one"]


@pytest.mark.parametrize("block_bytes", [1, 100, 1 << 20])
def test_blocks(rows, block_bytes):
    X, y = rows
    text = "".join(",".join([*map(repr, row), label]) + "\n" for row, label in zip(X.tolist(), y, strict=True))
    blocks = list(opened(text, label=-1, block_bytes=block_bytes))
    assert all(block.X.nbytes <= max(block_bytes, 7 * 8) for block in blocks)
    found, labels = stacked(blocks)
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(labels, y)


def test_the_line_is_that_of_the_text_not_of_the_row():
    assert "line 4, column 1" in refused('1,"2\n"\n\nx,4\n', label=1)


def test_a_line_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(_lines, "MOST_LINE", 100)
    assert "line of more than 100 bytes: is it CSV? If so, raise block_bytes." in refused("1," * 100)


@given(st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3), min_size=1))
def test_any_numbers_come_back(table):
    text = "".join(",".join(map(repr, row)) + "\n" for row in table)
    np.testing.assert_array_equal(stacked(opened(text))[0], np.array(table))


@pytest.mark.parametrize("as_table", [False, True])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_millions_of_blank_lines_are_not_split_one_by_one(monkeypatch, end, as_table):
    """Python's csv module takes a microsecond for each, so a file of them would take minutes."""
    split = []
    take = _lines.Lines.next
    monkeypatch.setattr(_lines.Lines, "next", lambda lines: split.append(1) or take(lines))
    blank = end * 300_000
    text = end.join([blank, "1,2", blank, "3,4" + blank, "5,6" + blank])
    X, _ = stacked(opened(text, as_table=as_table))
    assert X.astype(float).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert len(split) < 20
    text += f"x{end}"
    line = text.count(end)
    split.clear()
    sentence = refused(text, as_table=as_table)
    assert f"line {line}: the row has 1 cells" in sentence or f"line {line}, column 1" in sentence
    assert len(split) < 20


def test_a_quote_that_is_never_closed_takes_a_bounded_amount_of_memory():
    """Python's csv module would read the rest of the file, once its limit of a field has been raised."""
    before = csv.field_size_limit(1 << 40)
    try:
        text = '1,2\n3,"' + "4\n" * (1 << 24)
        sentence = refused(text, block_bytes=1)
    finally:
        csv.field_size_limit(before)
    assert "the cells of a row take more than 16777216 bytes. Look for an unclosed quote" in sentence


def test_millions_of_columns_need_more_memory():
    text = "1," * (1 << 19) + "1\n"
    assert "the cells of a row take more than 16777216 bytes" in refused(text, block_bytes=1)
    assert stacked(opened(text, block_bytes=1 << 24))[0].shape == (1, (1 << 19) + 1)


@pytest.mark.parametrize("at", [0, 5000, 19_999])
def test_a_long_label_among_many_short_ones(at):
    """An array of text has room for the longest label in each row, which would be 80 MB here."""
    labels = ["a", "b"] * 10_000
    labels[at] = "c" * 1000
    text = "".join(f"{row},{label}\n" for row, label in enumerate(labels))
    for options in ({}, {"as_table": True}):
        blocks = list(opened(text, label=1, block_bytes=1 << 16, **options))
        assert all(block.y.nbytes <= 1 << 16 for block in blocks)
        X, y = stacked(blocks)
        assert X[:, 0].astype(float).tolist() == list(range(20_000))
        assert y.tolist() == labels


def test_long_cells_of_a_table_make_smaller_blocks():
    text = "1," + "x" * 10_000 + "\n"
    blocks = list(opened(text * 3000, as_table=True, block_bytes=1 << 20))
    assert sum(len(block.X) for block in blocks) == 3000
    assert max(len(block.X) for block in blocks) < 1000


@pytest.mark.parametrize("as_table", [False, True])
@pytest.mark.parametrize("ends", [["\r"], ["\n", "\r"], ["\r\n", "\r"]])
def test_line_ends_of_old_files(as_table, ends):
    lines = ["a,b,y", "1,2,no", "3,4,yes", "5,6,no", "7,8,yes"]
    text = "".join(line + ends[i % len(ends)] for i, line in enumerate(lines))
    with open_rows(io.BytesIO(text.encode()), format="csv", label="y", as_table=as_table) as stream:
        blocks = list(stream)
    assert [float(x) for block in blocks for row in block.X for x in row] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [label for block in blocks for label in block.y] == ["no", "yes", "no", "yes"]
