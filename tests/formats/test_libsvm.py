"""LIBSVM text as a stream; the grammar itself is tested in tests/reference/test_libsvm.py."""

import io

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from kernelsketch.exceptions import InputError
from kernelsketch.formats import RowBlock, _lines, open_rows, write_rows
from kernelsketch.formats import _libsvm as libsvm


def refused(text, **options):
    with pytest.raises(InputError) as caught:
        for _ in open_rows(io.BytesIO(text), format="libsvm", **options):
            pass
    return str(caught.value)


@pytest.mark.parametrize("zero_based", [False, True])
@pytest.mark.parametrize("block_bytes", [1, 200, 5000, 1 << 26])
def test_as_scikit_learn_reads_it(rows, read, zero_based, block_bytes):
    file = io.BytesIO()
    X, y = rows[0], np.arange(500) % 3
    dump_svmlight_file(X, y, file, zero_based=zero_based, comment="made here")
    expected, labels = load_svmlight_file(io.BytesIO(file.getvalue()), zero_based=zero_based)
    found, found_labels = read(io.BytesIO(file.getvalue()), zero_based=zero_based, block_bytes=block_bytes)
    np.testing.assert_array_equal(found, expected.toarray())
    np.testing.assert_array_equal(found_labels, labels)


def test_blocks_are_small_and_of_whole_rows(rows):
    file = io.BytesIO()
    dump_svmlight_file(rows[0], np.arange(500), file, zero_based=False)
    most = 4000
    blocks = list(open_rows(io.BytesIO(file.getvalue()), block_bytes=most))
    assert len(blocks) > 10
    for X, _ in blocks:
        assert X.data.nbytes + X.indices.nbytes + X.indptr.nbytes <= most


def test_the_width_grows_unless_it_is_told():
    text = b"1 1:1\n" * 30 + b"1 9:1\n"
    assert [X.shape[1] for X, _ in open_rows(io.BytesIO(text), block_bytes=400)] == [1, 9]
    widths = {X.shape[1] for X, _ in open_rows(io.BytesIO(text), block_bytes=400, n_features=2**62)}
    assert widths == {2**62}
    assert refused(text, n_features=8) == (
        "the stream, line 31, column 1: the row has the id 9, but n_features=8. Pass a larger number, or leave it out."
    )


def test_the_last_line_needs_no_end_and_a_mark_is_skipped(read):
    X, y = read(io.BytesIO(b"\xef\xbb\xbf1 1:2\r\n2 1:3"), format="libsvm")
    assert (X.tolist(), y.tolist()) == ([[2], [3]], [1, 2])


def test_errors_tell_line_and_column_across_blocks():
    text = b"# first\n" + b"1 1:1\r\n" * 1000 + b"1 1:1 2:x3\n" + b"1 y\n"
    for block_bytes in (1, 100, 1 << 20):
        assert refused(text, block_bytes=block_bytes) == (
            "the stream, line 1002, column 9: the value 'x3' is not a number. Write it as in 0.5 or 1e-3."
        )


@pytest.mark.parametrize("kind", libsvm._SENTENCES)
def test_each_error_is_a_sentence(kind):
    lines = {
        "label_missing": ("1:2", "a label must stand before '1:2'"),
        "label_character": ("a\x01", r"control character '\x01'"),
        "pair": ("1 5", "'5' is not of the form id:value"),
        "id": ("1 color:5", "'color' is not an id"),
        "id_small": ("1 0:5", "pass zero_based=True"),
        "id_large": ("1 4611686018427387904:5", "above 2^62 - 1"),
        "id_repeated": ("1 2:5 2:5", "the id of '2:5' occurs earlier"),
        "qid_place": ("1 2:5 qid:1", "must stand once, right after the label"),
        "qid": ("1 qid:x", "'qid:x' is not a query id"),
        "value_missing": ("1 1: 5", "'1:' has no value"),
        "value": ("1 1:" + "z" * 100, "'" + "z" * 40 + "...'"),
        "value_nan": ("1 1:nan", "'nan' is not a number. Impute"),
        "value_infinite": ("1 1:-inf", "'-inf' is infinite"),
        "value_large": ("1 1:1e39", "too large for float32"),
    }
    line, sentence = lines[kind]
    assert sentence in refused(line.encode() + b"\n", dtype="float32")


def test_labels_are_numbers_or_text(read):
    text = b"1 1:1\n" * 100 + b"one 1:1\n"
    _, y = read(io.BytesIO(text))
    assert y[[0, -1]].tolist() == ["1", "one"]
    message = refused(text, block_bytes=400)
    assert "line 101, column 1: the label 'one' is not a number" in message
    assert "text_labels=True" in message
    assert "line 101" in refused(text, text_labels=False)
    _, y = read(io.BytesIO(b"+1 1:1\n1.0 1:1\n"), text_labels=True)
    assert y.tolist() == ["+1", "1.0"]
    assert "is not UTF-8" in refused(b"1 1:1\n\xff 1:1\n")
    assert "the limit is 1000" in refused(b"a" * 1001 + b" 1:1\n")


def test_qid():
    (block,) = open_rows(io.BytesIO(b"1 qid:7 1:1\n2 1:1\n"))
    assert block.qid.tolist() == [7, -1]


def test_a_line_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(_lines, "MOST_LINE", 1000)
    assert "line of more than 1000 bytes" in refused(b"1 " + b"1:1 " * 1000, block_bytes=100)


def test_a_line_that_is_longer_than_several_blocks(monkeypatch):
    monkeypatch.setattr(_lines, "_LEAST_LIMIT", 100)
    text = b"1 " + b"".join(b"%d:1 " % i for i in range(1, 200)) + b"\n"
    assert "line of more than 800 bytes: is it LIBSVM text? If so, raise block_bytes." in refused(text, block_bytes=200)
    (block,) = open_rows(io.BytesIO(text), block_bytes=1000)
    assert block.X.nnz == 199


def test_no_rows():
    assert list(open_rows(io.BytesIO(b"# nothing\n\n"), format="libsvm")) == []


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("zero_based", [False, True])
def test_written_and_read_again(tmp_path, read, rows, dtype, zero_based):
    X, y = rows[0].astype(dtype) / 3, rows[1]
    path = tmp_path / "rows.svm"
    assert write_rows(path, [(X[:200], y[:200]), (X[200:], y[200:])], zero_based=zero_based) == 500
    found, labels = read(path, dtype=dtype, zero_based=zero_based)
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(labels, y)


def test_others_read_what_is_written(tmp_path, rows):
    path = tmp_path / "rows.libsvm"
    y = np.arange(500) % 3
    write_rows(path, [(rows[0], y)])
    X, labels = load_svmlight_file(str(path), n_features=7, zero_based=False)
    np.testing.assert_array_equal(X.toarray(), rows[0])
    np.testing.assert_array_equal(labels, y)


def test_written_text(tmp_path):
    path = tmp_path / "x.libsvm"
    X = np.array([[0.1, 0, 2], [0, 0, 0]], np.float32)
    write_rows(path, [RowBlock(X, np.array([1.0, -2.5]), np.array([3, -1]))])
    assert path.read_text() == "1 qid:3 1:0.1 3:2\n-2.5\n"
    write_rows(path, [(X.astype(int), None)])
    assert path.read_text() == "0 3:2\n0\n"


def test_labels_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match=r"rows\[0\]: y\[1\] is 'a b', which cannot stand in a line"):
        write_rows(tmp_path / "x.libsvm", [(np.ones((2, 1)), np.array(["a", "a b"]))])
    assert list(tmp_path.iterdir()) == []


def test_written_in_steps(tmp_path, monkeypatch):
    """Steps of rows and pairs of any size, with empty and long rows, write the same text."""
    monkeypatch.setattr(libsvm, "_STEP", 1 << 20)
    X = sparse.random_array((60, 40), density=0.2, random_state=0, format="csr")
    X = sparse.vstack([X, sparse.csr_array((5, 40)), sparse.csr_array(np.ones((1, 40)))], format="csr")
    block = RowBlock(X, np.arange(66) / 4, np.arange(66) % 3 - 1)
    write_rows(tmp_path / "whole.svm", [block])
    expected = (tmp_path / "whole.svm").read_bytes()
    assert expected.count(b"\n") == 66
    for step in (1, 7, 40, 65):
        monkeypatch.setattr(libsvm, "_STEP", step)
        write_rows(tmp_path / "steps.svm", [block])
        assert (tmp_path / "steps.svm").read_bytes() == expected


@pytest.mark.parametrize("dtype", [">f4", ">f8", "f2", "g", "i1", ">i4", "u8", "?"])
def test_written_from_any_type(tmp_path, dtype):
    X = np.array([[0, 1, 0.5], [3, 0, 1]]).astype(dtype)
    write_rows(tmp_path / "x.libsvm", [RowBlock(X, X[:, 1], np.array([1, 2], dtype=">i4"))])
    whole = np.dtype(dtype).kind in "iu"
    expected = {"?": "1 qid:1 2:1 3:1\n0 qid:2 1:1 3:1\n"}.get(
        dtype, f"1 qid:1 2:1{'' if whole else ' 3:0.5'}\n0 qid:2 1:3 3:1\n"
    )
    assert (tmp_path / "x.libsvm").read_text() == expected


def test_written_from_strided_arrays(tmp_path):
    X = sparse.csr_array(np.array([[0, 1, 0.5], [3, 0, 1]]))
    X.data, X.indices = np.repeat(X.data, 2)[::2], np.repeat(X.indices, 2)[::2]
    write_rows(tmp_path / "x.libsvm", [RowBlock(X, np.array([1, 9, 2, 9])[::2], np.array([4, 9, 5, 9])[::2])])
    assert (tmp_path / "x.libsvm").read_text() == "1 qid:4 2:1 3:0.5\n2 qid:5 1:3 3:1\n"


def test_the_place_of_a_value_that_cannot_be_written(tmp_path):
    X = sparse.csr_array(np.array([[0.0, 1, 0], [0, 0, 0], [0, 0, 0], [2, 0, 3]]))
    X.data[2] = np.nan
    with pytest.raises(InputError, match=r"rows\[0\] contains NaN \(row 3, column 2\)"):
        write_rows(tmp_path / "x.libsvm", [(X, None)])


@pytest.mark.parametrize("at", [0, 12_345])
def test_a_long_label_among_many_short_ones(read, at):
    """An array of text has room for the longest label in each row, which would be 80 MB here."""
    labels = ["a", "b"] * 10_000
    labels[at] = "c" * 1000
    text = "".join(f"{label} qid:{row} 1:{row}\n" for row, label in enumerate(labels)).encode()
    blocks = list(open_rows(io.BytesIO(text), block_bytes=1 << 16))
    assert all(block.y.nbytes <= 1 << 16 for block in blocks)
    assert np.concatenate([block.qid for block in blocks]).tolist() == list(range(20_000))
    X, y = read(io.BytesIO(text), block_bytes=1 << 16)
    assert X[:, 0].tolist() == list(range(20_000))
    assert y.tolist() == labels
    assert "has 1001 characters: the limit is 1000" in refused(text.replace(b"c" * 1000, b"c" * 1001))


def test_rows_of_two_bytes_make_smaller_blocks():
    """They take dozens of bytes of memory each."""
    text = b"# first\n" * 1000 + b"1\n" * 100_000
    rows = [X.shape[0] for X, _ in open_rows(io.BytesIO(text), format="libsvm", block_bytes=1 << 17)]
    assert sum(rows) == 100_000
    assert max(rows) <= (1 << 17) // 16
    assert "line 101001, column 3" in refused(text + b"1 x", block_bytes=1 << 17)


def test_line_ends_of_old_files_say_what_to_do(read):
    with pytest.raises(InputError, match="Its lines seem to end with CR: end them with LF"):
        read(io.BytesIO(b"1 1:0.5\r-1 1:0.25\r"), format="libsvm")
