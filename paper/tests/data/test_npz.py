"""Files of datasets, good and bad."""

import numpy as np
import pytest
from scipy import sparse

from kernelsketch.exceptions import InputError
from kernelsketch_paper.data._npz import StoredRows, npz_bytes, read_npz

X = np.arange(12, dtype=np.float32).reshape(4, 3)
Y = np.array([0, 1, 1, 0])


@pytest.fixture
def written(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "A.npz", **arrays)
        return tmp_path / "A.npz"

    return write


def test_dense(written):
    table = read_npz(written(X=np.asfortranarray(X), y=Y, class_names=np.array(["no", "yes"]), note=np.array(3)), None)
    assert table.X.flags.c_contiguous
    assert table.X.dtype == np.float32
    assert table.y.dtype == np.int64
    assert (table.classes, table.is_test) == (("no", "yes"), None)
    np.testing.assert_array_equal(table.X, X)


def test_csr(written):
    rows = sparse.csr_array(X)
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(rows.shape)}
    table = read_npz(written(**parts, y=Y, is_test=Y == 1), None)
    np.testing.assert_array_equal(table.X.toarray(), X)
    np.testing.assert_array_equal(table.is_test, Y == 1)
    assert table.classes == ("0", "1")


def test_labels_without_names_are_numbered(written):
    table = read_npz(written(X=X, y=np.array(["b", "a", "b", "c"])), None)
    assert table.classes == ("a", "b", "c")
    np.testing.assert_array_equal(table.y, [1, 0, 1, 2])


def test_integers_become_floats(written):
    assert read_npz(written(X=X.astype(np.int64), y=Y), None).X.dtype == np.float64
    assert read_npz(written(X=X.astype(np.uint8), y=Y), None).X.dtype == np.float32


@pytest.mark.parametrize("make", [lambda x: x, sparse.csr_array], ids=["dense", "csr"])
def test_round_trip(make, tmp_path):
    path = tmp_path / "B.npz"
    path.write_bytes(npz_bytes(StoredRows(make(X), Y, ("-1", "1"), Y == 1)))
    table = read_npz(path, None)
    np.testing.assert_array_equal(table.X.toarray() if sparse.issparse(table.X) else table.X, X)
    np.testing.assert_array_equal(table.y, Y)
    np.testing.assert_array_equal(table.is_test, Y == 1)
    assert table.classes == ("-1", "1")


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"y": Y}, "has neither an array 'X' nor all of data, indices, indptr, shape"),
        ({"X": X}, "has no array 'y'"),
        ({"X": X, "y": Y[:3]}, r"'y' has shape \(3,\), but there are 4 rows"),
        ({"X": X, "y": Y, "is_test": Y[:2] == 1}, "'is_test' has shape"),
        ({"X": X, "y": Y, "class_names": np.array(["one"])}, "'y' must hold whole numbers from 0 to 0"),
        ({"X": X[0], "y": Y}, r"X must be a table of numbers .*, got shape \(3,\) of type float32"),
        ({"X": X[:0], "y": Y[:0]}, r"X must be a table of numbers .*, got shape \(0, 3\)"),
        ({"X": np.array([["a"]]), "y": Y[:1]}, "X must be a table of numbers .* of type <U1"),
        ({"X": np.where(X > 9, np.nan, X), "y": Y}, "X has 2 of 12 values that are NaN or infinite"),
        (
            {"X": np.array([[None]]), "y": Y[:1]},
            "holds an array that cannot be read: .*SHA-256 expected unknown, found",
        ),
        ({"data": X[0], "indices": [0, 1, 9], "indptr": [0, 3], "shape": [1, 3], "y": Y[:1]}, "CSR|broken"),
    ],
)
def test_bad_content(written, arrays, sentence):
    with pytest.raises(InputError, match=sentence):
        read_npz(written(**arrays), None)


def test_damaged_files(written):
    path = written(X=X, y=Y)
    content = path.read_bytes()
    path.write_bytes(content[:-100])
    with pytest.raises(
        InputError, match=r"is damaged: .* SHA-256 expected unknown, found [0-9a-f]{64} .* Get it again"
    ):
        read_npz(path, None)
    with pytest.raises(InputError, match=r"not the file of the registry: SHA-256 expected 00ff, found [0-9a-f]{64}"):
        read_npz(path, "00ff")
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"0 bytes|damaged|cannot be read"):
        read_npz(path, None)
    broken = bytearray(content)
    broken[150:170] = bytes(20)
    path.write_bytes(bytes(broken))
    with pytest.raises(InputError, match="SHA-256"):
        read_npz(path, None)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_npz(path.with_name("no.npz"), None)


def test_another_version_is_taken_when_asked(written):
    assert read_npz(written(X=X, y=Y), "00ff", verify=False).X.shape == (4, 3)
