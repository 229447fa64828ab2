import json

import numpy as np
import pytest

from kernelsketch.formats import open_rows


@pytest.mark.parametrize("source", ["svm", "svm.gz", "csv", "parquet", "npy", "npz"])
@pytest.mark.parametrize("target", ["libsvm", "svm.bz2", "npz", "parquet"])
def test_every_pair_of_formats(command, files, digits, tmp_path, source, target, small_blocks):
    small_blocks()
    path = tmp_path / f"out.{target}"
    found = command("convert", *files[source], path, "--json")
    assert json.loads(found.stdout)["rows"] == 600
    dense = target == "parquet" and source not in ("svm", "svm.gz")
    rows = list(open_rows(path, n_features=64, **({"label": "label"} if dense else {})))
    X = np.concatenate([part.X if isinstance(part.X, np.ndarray) else part.X.toarray() for part in rows])
    np.testing.assert_array_equal(X, digits[0])
    np.testing.assert_array_equal(np.concatenate([part.y for part in rows]), digits[1])
    if source == "csv" and dense:
        with open_rows(path, label="label") as stream:
            assert stream.feature_names[0] == "pixel0"


def test_standard_streams(command, iris):
    text = iris[1].read_bytes()
    found = command("convert", "-", "-", "--to", "libsvm", "--label", "kind", "--output-zero-based", stdin=text)
    kind, length = iris[0]["kind"][0], iris[0].iloc[0, 0]
    assert found.stdout.splitlines()[0].startswith(f"{kind} 0:{length:g} ")
    assert len(found.stdout.splitlines()) == 150


def test_a_failure_leaves_the_old_file(command, files, tmp_path):
    path = tmp_path / "out.npz"
    path.write_bytes(b"before")
    (tmp_path / "bad.svm").write_text("1 1:1\n1 1:nan\n")
    assert "line 2, column 5" in command("convert", tmp_path / "bad.svm", path, status=1).stderr
    assert path.read_bytes() == b"before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.svm", "out.npz"]


@pytest.mark.parametrize("target", ["libsvm", "npz", "parquet"])
def test_rows_that_become_wider(command, tmp_path, target, small_blocks):
    """Ids grow after the first block: the file has the width of the widest."""
    small_blocks()
    (tmp_path / "g.svm").write_text("1 1:1 2:2\n0 2:1\n" * 5000 + "1 50:1\n")
    command("convert", tmp_path / "g.svm", tmp_path / f"out.{target}")
    assert json.loads(command("info", tmp_path / f"out.{target}", "--scan", "--json").stdout)["n_features"] == 50
    found = command("convert", tmp_path / f"out.{target}", "-", "--to", "libsvm")
    assert found.stdout == (tmp_path / "g.svm").read_text()


def test_names_that_parquet_cannot_hold(command, tmp_path):
    for names in ("a,a,y", "indices,values,y"):
        (tmp_path / "d.csv").write_text(f"{names}\n1,2,0\n2,1,1\n")
        found = command("convert", tmp_path / "d.csv", tmp_path / "d.parquet", "--label", "y", status=1)
        assert "rename them" in found.stderr
    assert not (tmp_path / "d.parquet").exists()
