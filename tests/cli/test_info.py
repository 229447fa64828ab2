import json

import numpy as np
import pytest

from kernelsketch import GCWS, GCWSClassifier, GCWSRegressor


def facts(command, *args):
    command("info", *args)  # as text
    return json.loads(command("info", *args, "--json").stdout)


def test_models(command, iris, tmp_path):
    command("train", iris[1], "--label", "kind", "--plain", "-k", 16, "-C", 0.5, "-m", tmp_path / "m.safetensors")
    found = facts(command, tmp_path / "m.safetensors")
    assert found["kind"] == "model (GCWSClassifier)"
    assert found["classes"] == ["setosa", "versicolor", "virginica"]
    assert found["feature_names"][0] == "sepal length (cm)"
    assert (found["n_components"], found["C"], found["seed"]) == (16, 0.5, 0)
    assert found["bytes"] == (tmp_path / "m.safetensors").stat().st_size
    assert set(found["versions"]) == {"kernelsketch", "numpy", "scikit-learn", "python"}


def test_the_parameter_of_a_loss(command, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    for options in {"loss": "quantile", "quantile": 0.9}, {"loss": "huber", "epsilon": 0.25}:
        GCWSRegressor(8, **options).fit(X, X[:, 0]).save(tmp_path / "m.safetensors")
        assert options.items() <= facts(command, tmp_path / "m.safetensors").items()


def test_codes(command, digits, tmp_path):
    GCWS(16, bits=4, center="mean").fit(digits[0]).codes(digits[0]).save(tmp_path / "c.safetensors")
    found = facts(command, tmp_path / "c.safetensors")
    assert (found["kind"], found["rows"], found["bytes_per_row"], found["center"]) == ("codes", 600, 8, "yes")


@pytest.mark.parametrize("format", ["svm", "svm.gz", "csv", "parquet", "npy", "npz"])
def test_rows(command, files, digits, format):
    found = facts(command, *files[format])
    assert found["rows"] == 600
    assert found["n_features"] == 64
    if format in ("csv", "parquet"):
        assert found["kind"] == f"table ({format})"
        assert [column["name"] for column in found["columns"]] == [f"pixel{j}" for j in range(64)]
    else:
        assert found["nonzeros_per_row"] == pytest.approx(np.count_nonzero(digits[0]) / 600)
    assert sum(found["labels"].values()) == 600
    assert found["labels"]["3"] == (digits[1] == 3).sum()


def test_a_part_or_all(command, files, small_blocks, tmp_path):
    small_blocks()
    part = facts(command, *files["svm"])
    assert part["rows"] is None
    assert 0 < part["rows_read"] < 600
    assert facts(command, *files["svm"], "--scan")["rows"] == 600
    path = tmp_path / "bad.svm"
    path.write_bytes(files["svm"][0].read_bytes() + b"1 1:x\n")
    command("info", path)
    assert "bad.svm, line 601, column 5" in command("info", path, "--scan", status=1).stderr


def test_damage_is_found(command, digits, tmp_path):
    path = tmp_path / "m.safetensors"
    GCWSClassifier(8).fit(*digits).save(path)
    content = bytearray(path.read_bytes())
    content[-50] ^= 4
    path.write_bytes(content)
    assert "does not have the checksum" in command("info", path, status=1).stderr
    path.write_bytes(b"")
    assert "is not a safetensors file" in command("info", path, status=1).stderr
    path.write_bytes((3).to_bytes(8, "little") + b"{}}")
    assert "cannot be read" in command("info", path, status=1).stderr


def test_indexes(command, files, tmp_path):
    command("index", "build", *files["npz"], "-i", tmp_path / "i.safetensors", "--n-tables", 8)
    found = facts(command, tmp_path / "i.safetensors")
    assert (found["kind"], found["rows"], found["n_tables"], found["n_features"]) == ("index", 600, 8, 64)


def test_the_content_decides_not_the_name(command, digits, tmp_path):
    GCWSClassifier(8).fit(*digits).save(tmp_path / "zz.st")
    assert json.loads(command("info", tmp_path / "zz.st", "--json").stdout)["kind"] == "model (GCWSClassifier)"
    GCWS(8).fit(digits[0]).codes(digits[0]).save(tmp_path / "codes")
    assert json.loads(command("info", tmp_path / "codes", "--json").stdout)["kind"] == "codes"
    GCWSClassifier(8).fit(*digits).save(tmp_path / "m.safetensors")
    assert len(command("predict", tmp_path / "codes", "-m", tmp_path / "m.safetensors").stdout.split()) == 600
