"""Names of files and labels that are not UTF-8 or that a terminal cannot show: every command prints and writes them."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from kernelsketch import GCWSClassifier
from kernelsketch.cli._errors import errors_as_sentences
from kernelsketch.formats import write_rows

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="file names of any bytes")
LABELS = ["a\ud800", "b\udce9"]


@pytest.fixture
def files(tmp_path):
    """A file of rows, one with labels, and a model whose labels have lone surrogates; no name is UTF-8."""
    X = np.random.default_rng(0).random((60, 4))
    y = np.array(LABELS)[(X[:, 0] > 0.5).astype(int)]
    model = tmp_path / "model\udcff.safetensors"
    GCWSClassifier(n_components=64).fit(X, y).save(model)
    rows, labelled = tmp_path / "rows\udcfe.csv", tmp_path / "labelled\udcfd.csv"
    np.savetxt(os.fspath(rows), X, delimiter=",")
    labelled.write_text("".join(",".join(map(repr, row)) + f",{'é' if row[0] > 0.5 else 'x'}\n" for row in X.tolist()))
    return rows, labelled, model


def test_predictions(command, files, tmp_path):
    rows, _, model = files
    output = tmp_path / "out\udcff.txt"
    found = command("predict", rows, "-m", model, "-o", output, "-q")
    assert "out\\udcff.txt" in found.output
    assert set(output.read_text().splitlines()) == {"a\\ud800", "b\\udce9"}
    command("predict", rows, "-m", model, "--scores", "-o", output, "-q")
    assert output.read_text().startswith("prediction\tscore_b\\udce9\n")
    lines = command("predict", rows, "-m", model, "--json", "-q").stdout.splitlines()
    assert {json.loads(line)["prediction"] for line in lines} == set(LABELS)


def test_facts_and_reports(command, files, tmp_path):
    rows, labelled, model = files
    assert "a\\ud800, b\\udce9" in command("info", model).stdout
    trained, page = tmp_path / "trained\udcff.safetensors", tmp_path / "page\udcff.html"
    assert "trained\\udcff" in command("train", labelled, "--label", "-1", "--plain", "-m", trained, "-q").stdout
    found = command("evaluate", labelled, "--label", "-1", "-m", trained, "--report", page, "-q").stdout
    assert "page\\udcff.html" in found
    assert "trained\\udcff.safetensors" in page.read_text()
    assert (
        json.loads(command("evaluate", labelled, "--label", "-1", "-m", trained, "--json", "-q").stdout)["rows"] == 60
    )
    assert "codes\\udcff" in command("hash", rows, tmp_path / "codes\udcff.safetensors", "-q").stdout


def test_exports(command, files, tmp_path):
    model = files[2]
    command("export", model, "-o", tmp_path / "model\udcff.h")
    pytest.importorskip("onnx")
    found = command("export", model, "-o", tmp_path / "model.onnx", status=1).output.replace("\n", " ")
    assert "the class 'a\\ud800' has a lone surrogate, which ONNX cannot store" in found


def test_labels_in_files_of_rows(tmp_path):
    path = tmp_path / "rows.libsvm"
    write_rows(path, [(np.eye(2), np.array(LABELS))])
    assert path.read_text() == "a\\ud800 1:1\nb\\udce9 2:1\n"


def test_characters_that_standard_output_cannot_encode(monkeypatch):
    bytes_ = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(bytes_, "ascii"))
    with errors_as_sentences():
        print("é \udce9")
    assert bytes_.getvalue() == b"\\xe9 \\udce9\n"


@pytest.mark.parametrize("output", ["-", "/dev/stdout", "/dev/fd/1"])
def test_standard_output_that_is_a_pipe(files, output):
    command = [sys.executable, "-m", "kernelsketch", "predict", os.fspath(files[0]), "-m", os.fspath(files[2]), "-q"]
    found = subprocess.run([*command, "-o", output], capture_output=True, check=True)
    assert len(found.stdout.splitlines()) == 60
