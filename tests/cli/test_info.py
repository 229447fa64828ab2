import json
from dataclasses import replace

import numpy as np
import pytest

from kernelsketch import (
    GCWS,
    DocumentCollection,
    GCWSClassifier,
    GCWSIndex,
    GCWSRegressor,
    GCWSTabularClassifier,
    GCWSTabularRegressor,
    load_model,
)
from kernelsketch.formats import open_rows
from kernelsketch.storage import load_file, save_file
from kernelsketch.tabular import TABULAR_SCHEMA
from kernelsketch.text import Shingles


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


def test_the_loss_of_a_table(command, tmp_path):
    """The loss that the user chose, not the one of the linear model, which learns logarithms of counts."""
    X = np.random.default_rng(0).normal(size=(80, 2))
    model = GCWSTabularRegressor("quick", loss="poisson").fit(X, np.round(np.exp(1 + X[:, 0])))
    model.save(tmp_path / "m.safetensors")
    assert facts(command, tmp_path / "m.safetensors")["loss"] == "poisson"


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


def test_parts(command, tmp_path):
    """Unless --scan reads all of them, the rows of the first part are not all rows."""
    for name, text in {"a": "x,y\n1,2\n3,4\n", "b": "x,y\n5,6\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    found = facts(command, tmp_path)
    assert (found["rows"], found["rows_read"], found["n_features"]) == (None, 2, 2)
    assert facts(command, tmp_path, "--scan")["rows"] == 3


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


def test_folders(command, files, tmp_path):
    """Folders of a collection and of an index are described, and not taken for rows in parts."""
    known = DocumentCollection.create(tmp_path / "known", threshold=0.7, shingles=Shingles(2))
    known.add(["One text of five words.", "Another text of five words."])
    found = facts(command, tmp_path / "known")
    assert found["kind"] == "collection of documents"
    assert (found["documents"], found["threshold"], found["ngram"]) == (2, 0.7, 2)
    new = tmp_path / "new.safetensors"
    assert "is no model, index" in command("info", tmp_path / "known", "--upgrade", new, status=2).stderr
    command("index", "build", *files["npz"], "-i", tmp_path / "i.safetensors", "--n-tables", 8)
    GCWSIndex.load(tmp_path / "i.safetensors").save_folder(tmp_path / "index")
    found = facts(command, tmp_path / "index")
    assert (found["kind"], found["rows"], found["n_tables"], found["is_current"]) == ("index", 600, 8, True)


def test_the_content_decides_not_the_name(command, digits, tmp_path):
    GCWSClassifier(8).fit(*digits).save(tmp_path / "zz.st")
    assert json.loads(command("info", tmp_path / "zz.st", "--json").stdout)["kind"] == "model (GCWSClassifier)"
    GCWS(8).fit(digits[0]).codes(digits[0]).save(tmp_path / "codes")
    assert json.loads(command("info", tmp_path / "codes", "--json").stdout)["kind"] == "codes"
    GCWSClassifier(8).fit(*digits).save(tmp_path / "m.safetensors")
    assert len(command("predict", tmp_path / "codes", "-m", tmp_path / "m.safetensors").stdout.split()) == 600


@pytest.fixture(scope="module")
def table(iris):
    frame, _ = iris
    X = frame.drop(columns="kind")
    return X, GCWSTabularClassifier("quick").fit(X, frame["kind"])


class TestVersions:
    """Whether a file is current, what it lacks, what a model can do, and the upgrade."""

    def old(self, model, path):
        """Write the file of a table model as version 3 did: without intervals and rows for explanations."""
        model.save(path)
        header, tensors = load_file(path, TABULAR_SCHEMA, lambda header, tensors: (header, tensors))
        own = ("format", "format_version", "sha256", "header_sha256")
        kept = {key: value for key, value in header.items() if key not in own}
        older = {key: value for key, value in tensors.items() if not key.startswith(("intervals.", "background."))}
        save_file(path, replace(TABULAR_SCHEMA, version=3), kept, older)

    def test_an_older_file_and_its_upgrade(self, command, table, tmp_path):
        X, model = table
        old, new = tmp_path / "old.safetensors", tmp_path / "new.safetensors"
        self.old(model, old)
        before = old.read_bytes()
        found = facts(command, old)
        assert (found["file_version"], found["current_version"], found["is_current"]) == (3, 4, False)
        assert found["lacks"] == ["rows for explanations, intervals, choices about columns, thresholds, counts"]
        assert found["can"] == ["predict", "predict --proba", "predict --explain"]
        shown = command("info", old).stdout
        assert "3, but 4 is current" in shown
        assert f"kernelsketch info {old} --upgrade NEW; to get what the file lacks, train again" in shown
        assert f"written to {new}" in command("info", old, "--upgrade", new).stdout
        found = facts(command, new)
        assert (found["file_version"], found["is_current"], found["lacks"]) == (4, True, None)
        assert "file version" in command("info", new).stdout
        np.testing.assert_array_equal(load_model(new).predict_proba(X), load_model(old).predict_proba(X))
        assert old.read_bytes() == before
        assert "are the same file" in command("info", old, "--upgrade", old, status=2).stderr

    def test_current_files(self, command, table, digits, files, tmp_path):
        _, model = table
        path = tmp_path / "m.safetensors"
        model.save(path)
        expected = ["predict", "predict --proba", "predict --explain", "predict --interval"]
        assert facts(command, path)["can"] == expected
        assert "4, current" in command("info", path).stdout
        GCWSClassifier(8).fit(*digits).save(path)
        found = facts(command, path)
        assert (found["can"], found["trained_rows"]) == (["predict", "train --continue"], 600)
        GCWSClassifier(8, probability="calibrated").fit(*digits).save(path)
        assert facts(command, path)["can"] == ["predict", "predict --proba"]
        GCWSRegressor(8).fit(*digits).save(path)
        assert facts(command, path)["can"] == ["predict", "train --continue"]
        command("hash", *files["svm"], path, "-k", 8)
        assert facts(command, path)["is_current"]
        command("info", path, "--upgrade", tmp_path / "again.safetensors")
        blocks = []
        for name in (path, tmp_path / "again.safetensors"):
            with open_rows(name) as rows:
                blocks += rows
        np.testing.assert_array_equal(*(block.X.packed for block in blocks))
        np.testing.assert_array_equal(*(block.y for block in blocks))
        command("index", "build", *files["npz"], "-i", path, "--n-tables", 4)
        assert facts(command, path)["file_version"] == 1
        command("info", path, "--upgrade", tmp_path / "again.safetensors")
        assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()
        found = command("info", *files["svm"], "--upgrade", tmp_path / "x", status=2).stderr
        assert "kernelsketch convert writes rows in another format" in " ".join(found.split())
