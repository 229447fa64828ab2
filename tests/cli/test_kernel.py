import io
import json

import numpy as np
import pytest
from sklearn.svm import SVC

from kernelsketch import egmm_kernel, gmm_kernel, rbf_kernel


@pytest.mark.parametrize("format", ["svm", "csv"])
def test_a_file_with_itself(command, files, digits, tmp_path, format):
    command("kernel", *files[format], "-o", tmp_path / "k.npy", "--memory", "350MB")
    np.testing.assert_array_equal(np.load(tmp_path / "k.npy"), gmm_kernel(digits[0]))


def test_two_files(command, files, digits, tmp_path):
    """The one is narrower than the other."""
    (tmp_path / "a.svm").write_text("1 1:3 5:2\n2 60:1\n")
    command(
        "kernel",
        tmp_path / "a.svm",
        *files["svm"],
        "--kernel",
        "egmm",
        "--gamma",
        2,
        "-p",
        0.5,
        "-o",
        tmp_path / "k.npy",
    )
    X = np.zeros((2, 64))
    X[0, [0, 4]], X[1, 59] = (3, 2), 1
    expected = egmm_kernel(X, digits[0], gamma=2.0, p=0.5)
    np.testing.assert_allclose(np.load(tmp_path / "k.npy"), expected, rtol=1e-12)


def test_text(command, files, digits):
    found = command("kernel", *files["npz"], "--kernel", "rbf", "--gamma", 3)
    np.testing.assert_allclose(np.loadtxt(io.StringIO(found.stdout), delimiter=","), rbf_kernel(digits[0], gamma=3.0))


def test_the_precomputed_format_of_libsvm(command, files, digits, tmp_path):
    command("kernel", *files["svm"], "-o", tmp_path / "k.libsvm")
    lines = [line.split() for line in (tmp_path / "k.libsvm").read_text().splitlines()]
    assert [line[0] for line in lines] == list(map(str, digits[1]))
    assert [line[1] for line in lines] == [f"0:{number}" for number in range(1, 601)]
    assert lines[0][2].startswith("1:")
    K = np.array([[pair.split(":")[1] for pair in line[2:]] for line in lines], float)
    np.testing.assert_array_equal(K, gmm_kernel(digits[0]))
    assert SVC(kernel="precomputed").fit(K, digits[1]).score(K, digits[1]) > 0.99


def test_what_cannot_be(command, files, tmp_path):
    command("hash", *files["svm"], tmp_path / "codes.safetensors", "-k", 8)
    for options, message in [
        (("--kernel", "ngmm", "-p", 2), "--p is not a parameter of the kernel ngmm"),
        (("--to", "npy"), "The format npy needs a file"),
        (("-o", "x.parquet"), "must end in .npy, .csv or .libsvm"),
    ]:
        assert message in command("kernel", *files["svm"], *options, status=2).stderr
    found = command("kernel", *files["svm"], "--memory", "100kB", status=1)
    assert "--memory 100kB is too small" in found.stderr
    assert "a kernel needs rows" in command("kernel", tmp_path / "codes.safetensors", status=1).stderr


def test_labels_in_the_precomputed_format(command, tmp_path):
    (tmp_path / "a.csv").write_text("x,z,y\n1,2,v1.0\n2,1,v1\n")
    command("kernel", tmp_path / "a.csv", "--label", "y", "-o", tmp_path / "k.libsvm")
    assert [line.split()[0] for line in (tmp_path / "k.libsvm").read_text().splitlines()] == ["v1.0", "v1"]
    (tmp_path / "a.csv").write_text("x,z,y\n1,2,new york\n2,1,v1\n")
    found = command("kernel", tmp_path / "a.csv", "--label", "y", "-o", tmp_path / "k.libsvm", status=1)
    assert "cannot stand in a line" in found.stderr


def test_columns_are_matched_by_their_names(command, tmp_path):
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("a,b,c\n1,0,5\n2,3,0\n")
    test.write_text("c,a,b\n5,1,0\n0,2,3\n")
    assert command("kernel", test, train).stdout == command("kernel", train).stdout
    for names, message in (
        ("c,a,d", "has no column 'b', which"),
        ("c,a,a", "Several of the columns of"),
    ):
        test.write_text(f"{names}\n5,1,0\n")
        assert message in command("kernel", test, train, status=1).output.replace("\n", " ")
    test.write_text("5,1,0\n")  # without names
    command("kernel", test, train)


def test_json(command, files, tmp_path):
    found = json.loads(command("kernel", *files["svm"], "-o", tmp_path / "k.npy", "--json").stdout)
    assert (found["kernel"], found["rows"], found["columns"]) == ("gmm", 600, 600)
    assert found["bytes"] == (tmp_path / "k.npy").stat().st_size
