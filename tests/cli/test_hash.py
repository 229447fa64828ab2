import json

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from kernelsketch import GCWS, PackedCodes
from kernelsketch.formats import open_rows

OPTIONS = ("-k", 20, "-b", 6, "-p", 1.5, "--seed", 3)


@pytest.fixture(scope="module")
def hasher(digits):
    return GCWS(20, bits=6, p=1.5, random_state=3).fit(digits[0])


@pytest.mark.parametrize("format", ["svm", "csv", "npz"])
def test_packed_codes(command, files, digits, hasher, tmp_path, format, small_blocks):
    small_blocks()
    path = tmp_path / "codes.safetensors"
    found = command("hash", *files[format], path, *OPTIONS, "--json")
    assert PackedCodes.load(path) == hasher.codes(digits[0])
    assert PackedCodes.load(path).n_features == 64
    labels = np.concatenate([rows.y for rows in open_rows(path)])
    np.testing.assert_array_equal(labels, digits[1])
    assert json.loads(found.stdout)["rows"] == 600


def test_features_for_liblinear(command, files, digits, hasher, tmp_path):
    command("hash", *files["svm"], tmp_path / "f.libsvm", *OPTIONS)
    X, y = load_svmlight_file(str(tmp_path / "f.libsvm"), n_features=20 * 64, zero_based=False)
    assert (hasher.transform(digits[0]) != X).nnz == 0
    np.testing.assert_array_equal(y, digits[1])


@pytest.mark.parametrize("ending", ["npz", "parquet", "svm.gz"])
def test_features_in_other_files(command, files, digits, hasher, tmp_path, ending):
    command("hash", *files["svm"], tmp_path / f"f.{ending}", *OPTIONS, "--no-normalize")
    (rows,) = open_rows(tmp_path / f"f.{ending}", n_features=20 * 64)
    expected = hasher.set_params(normalize=False).transform(digits[0])
    hasher.set_params(normalize=True)
    assert (expected != rows.X).nnz == 0
    np.testing.assert_array_equal(rows.y, digits[1])


def test_standard_output(command, files, digits, hasher):
    for base in (("--output-zero-based",), ()):
        found = command("hash", *files["svm"], "-", "--to", "libsvm", *OPTIONS, "--no-normalize", *base)
        first = hasher.transform(digits[0][:1]).indices + (not base)
        expected = f"{digits[1][0]} " + " ".join(f"{column}:1" for column in first)
        assert found.stdout.splitlines()[0] == expected
        assert len(found.stdout.splitlines()) == 600


def test_codes_become_features_by_convert(command, files, tmp_path):
    command("hash", *files["svm"], tmp_path / "codes.safetensors", *OPTIONS)
    command("hash", *files["svm"], tmp_path / "a.svm", *OPTIONS)
    command("convert", tmp_path / "codes.safetensors", tmp_path / "b.svm")
    assert (tmp_path / "a.svm").read_bytes() == (tmp_path / "b.svm").read_bytes()
    found = command("hash", tmp_path / "codes.safetensors", tmp_path / "c.svm", status=1)
    assert "holds codes, not rows. To get features from codes, use kernelsketch convert" in found.stderr


def test_what_cannot_be(command, files, tmp_path):
    for output, message in [
        ("x.txt", "the name 'x.txt' has no ending of a known format: choose one of libsvm, npz, parquet, codes, by"),
        ("-", "by the ending of the name or by --to."),
        ("x.csv", "csv is not written: choose one of"),
    ]:
        assert message in command("hash", *files["svm"], output, status=2).stderr
    assert "There is no folder no: make the folder first" in command("hash", *files["svm"], "no/x.svm", status=1).stderr
    found = command("hash", *files["svm"], "-", "--to", "codes", status=2)
    assert "codes can be written to uncompressed files only" in found.stderr
