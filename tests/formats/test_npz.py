import io
import zipfile

import numpy as np
import pytest
from scipy import sparse

from kernelsketch.exceptions import InputError
from kernelsketch.formats import open_rows, write_rows

from .conftest import change_while_reading, stacked


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.npz"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_dense(path, read, rows, save):
    X, y = rows
    save(path, X=X, y=y)
    for source in (path, io.BytesIO(path.read_bytes())):
        stream = open_rows(source, block_bytes=1000)
        assert (stream.n_rows, stream.n_features) == (500, 7)
        found, labels = stacked(stream)
        np.testing.assert_array_equal(found, X)
        np.testing.assert_array_equal(labels, y)
    save(path, X)
    assert read(path)[1] is None


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("block_bytes", [1, 700, 1 << 20])
def test_scipy(path, rows, compressed, block_bytes):
    X = sparse.csr_array(rows[0])
    sparse.save_npz(path, X, compressed=compressed)
    stream = open_rows(path, block_bytes=block_bytes)
    assert (stream.n_rows, stream.n_features) == (500, 7)
    blocks = list(stream)
    if block_bytes == 700:
        assert all(block.X.data.nbytes + block.X.indices.nbytes <= 700 for block in blocks)
    np.testing.assert_array_equal(stacked(blocks)[0], rows[0])


def test_rows_without_values(path, read):
    sparse.save_npz(path, sparse.csr_array((5, 3)))
    np.testing.assert_array_equal(read(path)[0], np.zeros((5, 3)))


def test_names_of_classes_that_expand_a_thousandfold(path, read):
    np.savez_compressed(path, X=np.ones((3, 2)), y=np.array([1, 0, 1]), class_names=np.zeros(40, "U2000000"))
    assert path.stat().st_size < 1e6
    with pytest.raises(InputError, match=r"'class_names' has shape \(40,\) of <U2000000"):
        read(path)


def test_classes_by_number(path, read):
    np.savez(path, X=np.ones((3, 2)), y=np.array([1, 0, 1]), class_names=np.array(["a", "b"]))
    assert read(path)[1].tolist() == ["b", "a", "b"]
    np.savez(path, X=np.ones((3, 2)), y=np.array([1, 0, 2]), class_names=np.array(["a", "b"]))
    with pytest.raises(InputError, match="'y' must hold class numbers from 0 to 1"):
        read(path)


def test_another_array_of_labels(path, read):
    np.savez(path, X=np.ones((3, 2)), y=np.arange(3), z=np.arange(3) + 5)
    assert read(path, label="z")[1].tolist() == [5, 6, 7]
    for label in ("w", 0):
        with pytest.raises(InputError, match=r"must name an array of .*rows\.npz, which has X, y, z"):
            read(path, label=label)


def test_what_is_not_a_table(path, read):
    X = sparse.csr_array(np.eye(3))
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array([3, 3])}
    for arrays, message in [
        ({"a": np.ones((2, 2)), "b": np.ones(2)}, "neither an array X nor all of data"),
        ({"X": np.ones((2, 2)), "y": np.ones(3)}, r"'y' has shape \(3,\), but there are 2 rows"),
        (parts | {"indptr": np.array([0, 2, 1, 3])}, "'indptr' must ascend"),
        (parts | {"indptr": np.array([0, 1, 2, 9])}, "'indptr' must ascend"),
        (parts | {"indices": np.array([0, 1, 3])}, "'indices' must be from 0 to 2"),
        (parts | {"indices": np.array([0, 1])}, "do not fit together"),
        (parts | {"shape": np.array([3, 3, 3])}, "'shape' has shape"),
        (parts | {"data": np.array([1, np.nan, 1])}, r"contains NaN \(row 1, column 1\)"),
    ]:
        np.savez(path, **arrays)
        with pytest.raises(InputError, match=message):
            read(path)
    sparse.save_npz(path, sparse.csc_array(np.eye(3)))
    with pytest.raises(InputError, match=r"store X\.tocsr"):
        read(path)


def test_damage(path, read):
    np.savez_compressed(path, X=np.random.default_rng(0).random((1000, 5)))
    data = path.read_bytes()
    path.write_bytes(data[:-30])
    with pytest.raises(InputError, match="is not a whole NPZ file"):
        read(path)
    path.write_bytes(data[:5000] + bytes(100) + data[5100:])
    with pytest.raises(InputError, match="is damaged"):
        read(path)


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (6, 1, "encrypted"),
        *((8, method, "compressed by a method that NumPy does not write") for method in (12, 14, 99)),
    ],
)
def test_an_archive_with_other_flags(path, read, at, value, message):
    """Flags and methods of compression that numpy.savez does not write, in both headers of the array."""
    np.savez(path, X=np.ones((20, 2)))
    data = bytearray(path.read_bytes())
    for start in (data.find(b"PK\3\4"), data.find(b"PK\1\2") + 2):
        data[start + at] |= value
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        read(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compression_that_python_reads_as_a_whole(path, read, method):
    """A few kilobytes could take gigabytes of memory."""
    with zipfile.ZipFile(path, "w", method) as archive:
        array = io.BytesIO()
        np.save(array, np.ones((1000, 3)))
        archive.writestr("X.npy", array.getvalue())
    with pytest.raises(InputError, match=r"method that NumPy does not write: .*numpy\.savez_compressed"):
        read(path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_file_that_changes_its_length(path, save):
    save(path, X=np.random.default_rng(0).random((10_000, 3)))
    with pytest.raises(InputError, match="changed while it was read"):
        change_while_reading(path, -8, block_bytes=1 << 12)


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("text", [False, True])
def test_written_and_read_again(path, read, rows, as_sparse, text):
    X, y = rows[0].astype(np.float32), rows[1] if text else np.arange(500)
    blocks = [(X[:100], y[:100]), (X[100:], y[100:])]
    if as_sparse:
        blocks = [(sparse.csr_array(part), labels) for part, labels in blocks]
    assert write_rows(path, blocks) == 500
    found, labels = read(path, block_bytes=1000)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(labels, y)
    if as_sparse:
        np.testing.assert_array_equal(sparse.load_npz(path).toarray(), X)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None


def test_blocks_that_do_not_fit(path):
    X = np.ones((2, 2))
    for blocks, message in [
        ([(X, None), (np.ones((2, 3)), None)], "is not like the blocks before it"),
        ([(X, None), (sparse.csr_array(X), None)], "is not like the blocks before it"),
        ([(X, None), (X.astype(np.float32), None)], "'X' is float32, the blocks before it were float64"),
        ([(X, np.ones(2)), (X, None)], "has no y"),
        ([(X, np.ones(2)), (X, np.array(["a", "b"]))], "'y' is int32"),
        ([(X * np.inf, None)], r"rows\[0\] contains infinity"),
        ([], "rows is empty"),
    ]:
        with pytest.raises(InputError, match=message):
            write_rows(path, blocks)
    assert not path.exists()


def test_labels_that_expand_a_thousandfold(path):
    """Text of an array is as wide as its type says, however short the labels are."""
    np.savez_compressed(path, X=np.ones((5000, 1)), y=np.array(["a", "b"] * 2500, "U900"))
    assert path.stat().st_size < 1e6
    blocks = list(open_rows(path, block_bytes=1 << 16))
    assert all(block.y.nbytes <= 1 << 16 for block in blocks)
    assert [label for block in blocks for label in block.y.tolist()] == ["a", "b"] * 2500
    names = np.array(["a", "b"], "U900")
    np.savez_compressed(path, X=np.ones((5000, 1)), y=np.array([0, 1] * 2500), class_names=names)
    blocks = list(open_rows(path, block_bytes=1 << 16))
    assert all(block.y.nbytes <= 1 << 16 for block in blocks)
    assert [label for block in blocks for label in block.y.tolist()] == ["a", "b"] * 2500
    np.savez_compressed(path, X=np.ones((3, 1)), y=np.array(["a", "b", "c"], "U1001"))
    with pytest.raises(InputError, match="'y' is <U1001: labels have at most 1000 characters"):
        open_rows(path)


def test_a_row_that_expands_a_thousandfold(path):
    np.savez_compressed(path, X=np.ones((2, 3_000_000)))
    assert path.stat().st_size < 1e6
    with pytest.raises(InputError, match="has a row that takes 24000000 bytes, more than 16777216"):
        open_rows(path, block_bytes=1)
    ends = np.array([0, 1, 2_000_001])
    np.savez_compressed(
        path, data=np.ones(2_000_001), indices=np.zeros(2_000_001, np.int32), indptr=ends, shape=np.array([2, 5])
    )
    assert path.stat().st_size < 1e6
    with pytest.raises(InputError, match="has a row that takes 40000000 bytes, more than 16777216"):
        list(open_rows(path, block_bytes=1))


def test_rows_without_values_make_smaller_blocks(path, read):
    ends = np.zeros(100_001, np.int64)
    np.savez_compressed(
        path, data=np.zeros(0), indices=np.zeros(0, np.int32), indptr=ends, shape=np.array([100_000, 5])
    )
    rows = [X.shape[0] for X, _ in open_rows(path, block_bytes=1 << 16)]
    assert sum(rows) == 100_000
    assert max(rows) <= (1 << 16) // 16
