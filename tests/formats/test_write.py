import subprocess
import sys

import numpy as np
import pytest

from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.formats import open_rows, write_rows

X, Y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 1])


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_compressed_text(tmp_path, read, ending):
    if ending == ".zst":
        pytest.importorskip("zstandard")
    path = tmp_path / f"rows.libsvm{ending}"
    assert write_rows(path, [(X, Y)] * 1000) == 3000
    found, labels = read(path)
    np.testing.assert_array_equal(found, np.tile(X, (1000, 1)))
    np.testing.assert_array_equal(labels, np.tile(Y, 1000))


def test_from_one_format_to_another(tmp_path, read):
    write_rows(tmp_path / "a.libsvm", [(X, Y)])
    write_rows(tmp_path / "b.npz", open_rows(tmp_path / "a.libsvm"))
    write_rows(tmp_path / "c.libsvm", open_rows(tmp_path / "b.npz"))
    assert (tmp_path / "c.libsvm").read_text() == (tmp_path / "a.libsvm").read_text()


@pytest.mark.parametrize("name", ["a.libsvm", "a.svm.gz", "a.npz", "a.parquet"])
def test_complete_or_not_at_all(tmp_path, name):
    if name == "a.parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(b"before")

    def blocks():
        yield X, Y
        raise KeyError("stop")

    with pytest.raises(KeyError):
        write_rows(path, blocks())
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_standard_output():
    code = (
        "import numpy as np; from kernelsketch.formats import write_rows; "
        "write_rows('-', [(np.eye(2), np.array([1, 2]))], format='libsvm')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"1 1:1\n2 2:1\n"


def test_empty_blocks_are_passed_over(tmp_path):
    assert write_rows(tmp_path / "a.libsvm", [(X[:0], Y[:0]), (X, Y)]) == 3
    assert write_rows(tmp_path / "a.libsvm", []) == 0


@pytest.mark.parametrize(
    ("path", "rows", "options", "error", "message"),
    [
        ("x.txt", [], {}, InputError, "the name .*x.txt. has no ending of a known format: choose one of libsvm, npz"),
        ("x.csv", [], {}, InputError, "csv is not written"),
        ("x.npz.gz", [], {}, InputError, "npz can be written to uncompressed files only"),
        ("x.libsvm", [X], {}, InputTypeError, r"rows\[0\] must be a pair \(X, y\) of arrays, got ndarray"),
        ("x.libsvm", [(X, Y[:2])], {}, InputError, r"rows\[0\]: y has shape \(2,\), but there are 3 rows"),
        ("x.libsvm", [(X * np.nan, Y)], {}, InputError, r"rows\[0\] contains NaN"),
        ("x.npz", [(X, Y)], {"feature_names": ["a"]}, InputError, "feature_names has 1 names"),
        ("none/x.npz", [(X, Y)], {}, InputError, "Make the folder first"),
    ],
)
def test_refused(tmp_path, path, rows, options, error, message):
    with pytest.raises(error, match=message):
        write_rows(tmp_path / path, rows, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_path_is_needed():
    with pytest.raises(InputTypeError, match="path must be a path or '-'"):
        write_rows(3, [])


def test_standard_output_without_a_buffer(tmp_path):
    """``python -u``: a raw file may take less than it is given; here its limit is met in the last bytes."""
    code = """
import resource, numpy as np
from kernelsketch.formats import write_rows
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
write_rows("-", [(np.array([[1.5, 2.5]]), np.array([1]))], format="libsvm")
"""
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run([sys.executable, "-u", "-c", code], stdout=out, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert b"File too large: 'standard output'" in done.stderr
