"""Waterfalls of characters: bars lead from the base value to the output."""

import numpy as np
import pytest

from kernelsketch.cli._waterfall_lines import NAME_WIDTH, NUMBER_WIDTH, waterfall_lines
from kernelsketch.tabular import Explanation

LEFT = NAME_WIDTH + NUMBER_WIDTH + 3
ROW = Explanation(
    values=np.array([4.0, -2.0, 0.5, 0.0]),
    base_values=np.float64(10.0),
    output=np.float64(12.5),
    data=np.array(["red", 3.5, None, "x" * 60], object),
    feature_names=("color", "size", "gap", "a column with a long name"),
    space="target",
)


def drawn(lines):
    """The characters beside the names and numbers of each line, as places of the first and the last one."""
    parts = [line.plain[LEFT:] for line in lines]
    return [(len(part) - len(part.lstrip()), len(part.rstrip()) - 1) for part in parts]


def test_each_bar_begins_where_the_last_one_ends():
    lines = waterfall_lines(ROW, 4, LEFT + 41)  # a cell is a tenth, from 10 to 14
    assert drawn(lines) == [(0, 0), (0, 40), (20, 40), (20, 25), (25, 25), (25, 25)]
    assert [line.plain[:LEFT].split() for line in lines[:4]] == [
        *(["base", "value", "10"], ["color", "=", "red", "+4"], ["size", "=", "3.5", "-2"]),
        ["gap", "=", "missing", "+0.5"],
    ]
    assert lines[4].plain.startswith("a column with a long name…")
    assert lines[1].spans[0].style != lines[2].spans[0].style


def test_few_columns_and_an_interval():
    lines = waterfall_lines(ROW, 1, LEFT + 41, ("90 % interval", 8.0, 16.0))  # a cell is a fifth, from 8 to 16
    assert [line.plain[:NAME_WIDTH].strip() for line in lines] == [
        *("base value", "color = red", "3 others", "output", "90 % interval")
    ]
    assert drawn(lines) == [(10, 10), (10, 30), (22, 30), (22, 22), (0, 40)]
    picture = lines[-1].plain[LEFT:]
    assert (picture[0], picture[22], picture[40]) == ("├", "●", "┤")


@pytest.mark.parametrize("width", [1, 40, 80, 300])
def test_lines_fit(width):
    lines = waterfall_lines(ROW, 3, width, ("interval", -1e9, 1e9))
    assert max(map(len, lines)) <= max(width, LEFT + 8)


def test_nothing_to_draw():
    flat = Explanation(np.zeros(1), np.float64(2), np.float64(2), np.array([1.0], object), ("a",), "target")
    assert drawn(waterfall_lines(flat, 1, 80)) == [(0, 0), (0, 0), (0, 0)]
