"""Readers of the sources' formats."""

import bz2
import gzip
import lzma
import zipfile

import numpy as np
import pytest
from scipy import sparse

from kernelsketch.exceptions import InputError
from kernelsketch_paper.data import _parse
from kernelsketch_paper.data._archive import SourceFile
from kernelsketch_paper.data._parse import parse


@pytest.fixture
def put(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return SourceFile(path)

    return write


def test_a_table(put):
    table = parse("table", [put("a.csv", "1, 2.5,yes\n-3,4e1,no\n\n")], [], 2, {"delimiter": ","})
    np.testing.assert_array_equal(table.X, np.float32([[1, 2.5], [-3, 40]]))
    assert table.X.dtype == np.float32
    assert table.classes == ("no", "yes")
    np.testing.assert_array_equal(table.y, [1, 0])
    assert table.is_test is None


def test_training_and_test_files_with_headers(put):
    train = put("a.data", ";;; about\n\nCLASS,A,B\n\nSKY,1,2\nGRASS,3,4\n")
    test = put("a.test", ";;; about\nCLASS,A,B\nGRASS ,5,6\n")
    table = parse("table", [train], [test], 2, {"delimiter": ",", "label": 0})
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(table.is_test, [False, False, True])
    np.testing.assert_array_equal(table.y, [1, 0, 0])


def test_white_space_and_a_flag(put):
    """As Vowel: test or training, speaker, sex, features, class."""
    lines = "0  1 0 -3.5 0.4 10\n1 1 1 2.5 0.25 2  \n0 2 0\t1 1 2\n"
    table = parse("table", [put("v.data", lines)], [], 2, {"test_flag": 0, "drop": [1, 2]})
    np.testing.assert_allclose(table.X, [[-3.5, 0.4], [2.5, 0.25], [1, 1]], rtol=1e-6)
    np.testing.assert_array_equal(table.is_test, [False, True, False])
    assert table.classes == ("2", "10")  # as numbers


def test_levels(put):
    levels = [["low", "high"], ["2", "4", "more"]]
    table = parse("table", [put("c", "high,2,a\nlow,more,b\n")], [], 2, {"delimiter": ",", "levels": levels})
    np.testing.assert_array_equal(table.X, [[2, 1], [1, 3]])


@pytest.mark.parametrize(
    ("name", "packed"), [("a.gz", gzip.compress), ("a.bz2", bz2.compress), ("a.xz", lzma.compress), ("a", bytes)]
)
def test_compressed(put, name, packed):
    table = parse("table", [put(name, packed(b"1 2 0\n3 4 1\n"))], [], 2, {})
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])


def test_members_of_a_zip(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Urban/training.csv", "class,u,v\ntree ,1,2\n")
        archive.writestr("Urban/testing.csv", "class,u,v\nroad ,3,4\n")
    files = [[SourceFile(path, name)] for name in ("training.csv", "testing.csv")]
    table = parse("table", *files, 2, {"delimiter": ",", "label": 0})
    assert table.classes == ("road", "tree")
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    with pytest.raises(InputError, match=r"a\.zip has no file valid\.csv: the source has changed"):
        parse("table", [SourceFile(path, "valid.csv")], [], 2, {})


def test_libsvm(put):
    train, test = put("a", "-1 1:0.5 3:2\n+1 2:1\n"), put("a.t", "1 3:-1 # note\n")
    table = parse("libsvm", [train], [test], 4, {})
    assert sparse.issparse(table.X)
    assert table.X.dtype == np.float32
    np.testing.assert_array_equal(table.X.toarray(), [[0.5, 0, 2, 0], [0, 1, 0, 0], [0, 0, -1, 0]])
    assert table.classes == ("-1", "1")
    np.testing.assert_array_equal(table.is_test, [False, False, True])
    dense = parse("libsvm", [train], [test], 4, {"dense": True})
    np.testing.assert_array_equal(dense.X, table.X.toarray())


def test_letter_is_scaled_back(put):
    raw = np.array([[0, 15, 7], [1, 8, 14]])
    lines = "".join(
        f"{k + 1} " + " ".join(f"{j + 1}:{v / 7.5 - 1:.6g}" for j, v in enumerate(r)) + "\n" for k, r in enumerate(raw)
    )
    table = parse(
        "libsvm", [put("letter.scale", lines)], [], 3, {"dense": True, "times": 7.5, "plus": 7.5, "digits": 0}
    )
    np.testing.assert_array_equal(table.X, raw)


def test_arff(put):
    text = "% about\n@RELATION r\n@ATTRIBUTE a REAL\n@attribute class {'P','Q'}\n@DATA\n% rows\n1.5,'P'\n2,Q\n"
    table = parse("openml", [put("d.arff", text)], [], 1, {})
    np.testing.assert_array_equal(table.X, [[1.5], [2]])
    assert table.classes == ("P", "Q")


def test_pairs(put):
    train = [put("d.data", "1:3 4:999 \n2:1 \n"), put("d.labels", "1\n-1\n")]
    valid = [put("v.data", "3:5 \n"), put("v.labels", "1\n")]
    table = parse("pairs", train, valid, 5, {})
    np.testing.assert_array_equal(table.X.toarray(), [[3, 0, 0, 999, 0], [0, 1, 0, 0, 0], [0, 0, 5, 0, 0]])
    np.testing.assert_array_equal(table.y, [1, 0, 1])


def idx(array):
    sizes = b"".join(int(side).to_bytes(4, "big") for side in array.shape)
    return gzip.compress(bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes())


def test_idx(put):
    images = np.arange(8).reshape(2, 2, 2)
    files = [put("i.gz", idx(images)), put("l.gz", idx(np.array([7, 3])))]
    table = parse("idx", files, files, 4, {})
    np.testing.assert_array_equal(table.X[:2], images.reshape(2, 4))
    assert table.classes == ("3", "7")
    with pytest.raises(InputError, match="is not an IDX file of bytes"):
        parse("idx", [put("i", b"\0\0\x0d\x01"), put("l", b"")], [], 4, {})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("<html>gone</html>\n", "No line has 2 numbers and a label: the source has changed its format"),
        ("1 2 a\n1 ? b\n", "a line that cannot be read as numbers"),
        ("1 2 a\n1 nan b\n", r"x\.txt: X has 1 of 4 values that are NaN"),
    ],
)
def test_bad_tables(put, text, sentence):
    with pytest.raises(InputError, match=sentence):
        parse("table", [put("x.txt", text)], [], 2, {})


def test_every_file_may_have_a_header(put):
    files = [put(f"{k}.csv", f"a,b,class\n{k},2,x\n") for k in (1, 3)]
    table = parse("table", files, [], 2, {"delimiter": ","})
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 2]])
    with pytest.raises(InputError, match="No line has 2 numbers and a label"):
        parse("table", [*files, put("e.csv", "a,b,class\n")], [], 2, {"delimiter": ","})


def test_more_lines_than_are_read_at_a_time(put, monkeypatch):
    monkeypatch.setattr(_parse, "_LINES", 3)
    table = parse("table", [put("x", "".join(f"{k} {k % 2} {k % 3}\n" for k in range(10)))], [], 2, {})
    np.testing.assert_array_equal(table.X[:, 0], np.arange(10))
    np.testing.assert_array_equal(table.y, np.arange(10) % 3)


def test_numbers_as_labels(put):
    file = put("x.amat", "0.5 0.25 3.0000000e+00\n0.5 0.75 10.\n")
    assert parse("table", [file], [], 2, {"numeric": True}).classes == ("3", "10")
    assert parse("table", [file], [], 2, {"threshold": 4}).classes == ("4 or more", "below 4")
    with pytest.raises(InputError, match="a label that is not a number"):
        parse("table", [put("x", "1 2 a\n")], [], 2, {"numeric": True})


def test_incomplete_rows_are_dropped_with_their_labels(put):
    file = put("x.dat", "0 1 a 0\n0 NaN b 1\n0 inf c 1\n0 2 d 1\n")
    options = {"incomplete": "drop", "label": 2, "test_flag": 3}
    table = parse("table", [file], [], 2, options)
    np.testing.assert_array_equal(table.X, [[0, 1], [0, 2]])
    assert table.classes == ("a", "d")
    np.testing.assert_array_equal(table.is_test, [False, True])


@pytest.mark.parametrize("line", ["1 2\n", "1 2 a 3\n", "1\n"])
def test_a_line_of_another_width(put, line):
    """As the last line of a file that was cut off."""
    with pytest.raises(InputError, match="a line that does not have 3 columns: it is damaged"):
        parse("table", [put("x.txt", "1 2 a\n" + line)], [], 2, {})


def test_a_line_without_end(put):
    with pytest.raises(InputError, match=r"x\.gz has a line of more than 1048576 characters"):
        parse("table", [put("x.gz", gzip.compress(b"1" * 1_100_000, 0))], [], 2, {})


def test_a_feature_0_of_libsvm_is_refused(put):
    with pytest.raises(ValueError, match="Invalid index 0"):
        parse("libsvm", [put("x", "1 0:1 3:2\n")], [], 4, {})
    with pytest.raises(ValueError, match="n_features"):
        parse("libsvm", [put("x", "1 1:1 5:2\n")], [], 4, {})
