import gzip
import io

import numpy as np
import pytest

from kernelsketch.exceptions import InputError
from kernelsketch.formats import open_rows

from .conftest import change_while_reading, stacked


@pytest.fixture
def path(tmp_path):
    return tmp_path / "X.npy"


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "i1", "u4", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays(path, read, rows, dtype, order):
    X = np.asarray(rows[0] * 10, dtype=dtype, order=order)
    np.save(path, X)
    stream = open_rows(path, block_bytes=1000)
    assert (stream.n_rows, stream.n_features) == (500, 7)
    blocks = list(stream)
    assert len(blocks) > 5
    assert {block.X.dtype.str for block in blocks} == {"<f8" if dtype in (">f8", "u4") else "<f4"}
    np.testing.assert_array_equal(stacked(blocks)[0], X)


def test_from_first_to_last(path, read, rows):
    """Where the bytes are not on the disk as they are."""
    np.save(path, rows[0])
    for source in (io.BytesIO(path.read_bytes()), io.BytesIO(gzip.compress(path.read_bytes()))):
        np.testing.assert_array_equal(read(source, block_bytes=999)[0], rows[0])
    np.save(path, np.asfortranarray(rows[0]))
    with pytest.raises(InputError, match="Fortran order"):
        read(io.BytesIO(path.read_bytes()))


def test_a_label_column(path, read, rows):
    np.save(path, rows[0])
    X, y = read(path, label=2)
    np.testing.assert_array_equal(y, rows[0][:, 2])
    np.testing.assert_array_equal(X, np.delete(rows[0], 2, axis=1))
    with pytest.raises(InputError, match="no column names"):
        read(path, label="a")


def test_a_label_that_is_missing(path, read):
    np.save(path, np.array([[1, 2], [3, np.nan]]))
    with pytest.raises(InputError, match="row 1: the label is nan"):
        read(path, label=1)


def test_values_that_are_not_finite(path):
    X = np.ones((100, 3))
    X[70, 1] = np.nan
    np.save(path, X)
    with pytest.raises(InputError, match=r"X\.npy contains NaN \(row 70, column 1\)"):
        list(open_rows(path, block_bytes=240))
    X[70, 1] = 1e300
    np.save(path, X)
    with pytest.raises(InputError, match="infinity"):
        list(open_rows(path, dtype="float32"))


def test_what_is_not_a_table(path):
    for X, message in [
        (np.ones(3), "must be a 2-D array of real numbers"),
        (np.array([["a"]]), "real numbers"),
        (np.ones((3, 0)), "no column of features"),
    ]:
        np.save(path, X)
        with pytest.raises(InputError, match=message):
            open_rows(path)
    np.save(path, np.array([[None]]), allow_pickle=True)
    with pytest.raises(InputError, match="Python objects"):
        open_rows(path)
    for header in (b"abc", b"{b'a': 1, 'b': 2}", b"[" * 1000):
        path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        with pytest.raises(InputError, match="is not an NPY array that can be read"):
            open_rows(path)
    np.save(path, np.ones((2, 2)))
    with pytest.raises(InputError, match="has 2 features, but n_features=3"):
        open_rows(path, n_features=3)


@pytest.mark.parametrize("shape", [(-3, 2), (3, -2), (2**40, 2**40), (2**62, 4), (10**30, 1)])
def test_impossible_shapes(path, shape):
    """More values than there are, fewer than none, and more than numbers of bytes can count."""
    np.save(path, np.ones((3, 2)))
    with path.open("r+b") as file:
        file.seek(8)
        size = int.from_bytes(file.read(2), "little")
        text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
        file.write(text.encode().ljust(size - 1) + b"\n")
    for source in (path, io.BytesIO(path.read_bytes())):
        with pytest.raises(InputError, match=r"is damaged|is truncated|a row that takes 8796093022208 bytes"):
            list(open_rows(source))


def test_truncated(path):
    np.save(path, np.ones((1000, 3)))
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    with pytest.raises(InputError, match="is truncated"):
        open_rows(path)
    with pytest.raises(InputError, match="is truncated"):
        list(open_rows(io.BytesIO(data[:-1])))
    with pytest.raises(InputError, match="has more bytes after its array"):
        list(open_rows(io.BytesIO(data + b"1")))


@pytest.mark.parametrize("change", [-8, 8])
def test_a_file_that_changes_its_length(path, change):
    np.save(path, np.ones((100_000, 3)))
    with pytest.raises(InputError, match="changed while it was read"):
        change_while_reading(path, change, block_bytes=1 << 16)


def test_no_rows(path):
    np.save(path, np.ones((0, 3)))
    assert list(open_rows(path)) == []


@pytest.mark.parametrize("change", [(b"}", b"["), (b"}", b" "), (b"'descr'", b"'descr\0"), (b"(", b"(" * 200)])
def test_damaged_headers(tmp_path, change):
    """NumPy reads headers as Python text, and says so in errors of many kinds."""
    np.save(tmp_path / "x.npy", np.eye(2))
    content = (tmp_path / "x.npy").read_bytes()
    begin, old, rest = content.partition(change[0])
    assert old
    (tmp_path / "x.npy").write_bytes(begin + change[1] + rest)
    with pytest.raises(InputError, match="is not an NPY array that can be read"):
        list(open_rows(tmp_path / "x.npy"))
