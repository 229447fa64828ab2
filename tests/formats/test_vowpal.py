import numpy as np
import pytest

from kernelsketch.exceptions import InputError
from kernelsketch.formats import write_rows


def test_text(tmp_path):
    path = tmp_path / "rows.vw"
    X = np.array([[0.5, 0, 2], [0, 0, 0]])
    write_rows(path, [(X, np.array([1, -1])), (X[:1], None)])
    assert path.read_text() == "1 | 1:0.5 3:2\n-1 |\n | 1:0.5 3:2\n"


def test_a_label_with_a_bar(tmp_path):
    with pytest.raises(InputError, match=r"rows\[0\]: y\[2\] is 'a\|b', which Vowpal Wabbit cannot read"):
        write_rows(tmp_path / "rows.vw", [(np.ones((4, 1)), np.array(["a", "krö", "a|b", "|"]))])
