import io

import numpy as np
import pandas as pd
import pytest

from kernelsketch.exceptions import InputError
from kernelsketch.formats import open_rows

TEXT = 'a,b,y\n1,"x, y",no\n,,yes\n2,2020-01-01,no\n'


def read(text, **options):
    return open_rows(io.BytesIO(text.encode()), format="csv", as_table=True, **options)


def test_cells_are_text_and_gaps_stay():
    with read(TEXT, label="y") as stream:
        assert stream.is_table
        assert stream.feature_names == ("a", "b")
        ((X, y),) = stream
    assert X.tolist() == [["1", "x, y"], ["", ""], ["2", "2020-01-01"]]
    assert y.tolist() == ["no", "yes", "no"]


def test_blocks():
    text = "".join(f"{i},w{i},{i % 2}\n" for i in range(1000))
    with read(text, label=-1, block_bytes=64 * 3 * 100) as stream:
        assert stream.feature_names is None
        blocks = list(stream)
    assert max(len(block.X) for block in blocks) == 100
    assert np.concatenate([block.X for block in blocks]).tolist() == [[str(i), f"w{i}"] for i in range(1000)]
    np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), np.arange(1000) % 2)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("a,b", ("a", "b")),
        ("x,1", None),
        ("1,2", None),
        (",b", ("", "b")),
        ("a,", None),
        ("a b,?", ("a b", "?")),
        ("x,15.03.2021", None),
        ("$5,y", None),
        ("x1,y", ("x1", "y")),
    ],
)
def test_a_line_of_names_has_no_number(line, names):
    assert read(f"{line}\n1,2\n").feature_names == names
    assert read(f"{line}\n1,2\n", header=False).feature_names is None
    assert read(f"{line}\n1,2\n", header=True).feature_names == tuple(line.split(","))


def test_faults_name_the_line():
    for text, message in [
        ("a,b\n1,2\n1\n", "line 3: the row has 1 cells, the first has 2"),
        ('a,b\n1,"\n2\n', "unclosed quote"),
        ("", "is empty"),
    ]:
        with pytest.raises(InputError, match=message):
            list(read(text))
    with pytest.raises(InputError, match=r"line 3, column 2 \('b'\): the label is missing"):
        list(read("a,b\n1,2\n3,\n", label="b"))


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_columns_keep_their_types(tmp_path, ending):
    frame = pd.DataFrame(
        {"n": [1.5, None], "c": ["x", None], "d": pd.to_datetime(["2024-01-01", None]), "y": ["a", "b"]}
    )
    path = tmp_path / f"t.{ending}"
    frame.to_parquet(path) if ending == "parquet" else frame.to_feather(path)
    with open_rows(path, label="y", as_table=True) as stream:
        assert stream.is_table
        assert stream.feature_names == ("n", "c", "d")
        ((X, y),) = stream
    assert X.column_names == ["n", "c", "d"]
    assert X.column("n").to_pylist() == [1.5, None]
    assert X.column("c").to_pylist() == ["x", None]
    assert y.tolist() == ["a", "b"]
    frame.assign(y=[1.0, None]).to_parquet(tmp_path / "gap.parquet")
    with pytest.raises(InputError, match="row 1, column 'y': the value is missing"):
        list(open_rows(tmp_path / "gap.parquet", label="y", as_table=True))


def test_other_files_are_read_as_usual(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(3))
    with open_rows(tmp_path / "x.npy", as_table=True) as stream:
        assert not stream.is_table
        np.testing.assert_array_equal(next(stream).X, np.eye(3))
