import json

import numpy as np
import pytest

from kernelsketch import GCWSClassifier, GCWSTabularClassifier
from kernelsketch.serving import Predictor


@pytest.fixture(scope="module")
def model(digits, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "digits.safetensors"
    GCWSClassifier(8).fit(*digits).save(path)
    return path


def test_headers(command, model, tmp_path):
    command("export", model, "-o", tmp_path / "fraud-2.h")
    assert (tmp_path / "fraud-2.h").read_text() == Predictor.load(model).to_c("fraud_2")
    command("export", model, "-o", tmp_path / "2.h")
    assert "int model_2_predict(" in (tmp_path / "2.h").read_text()
    command("export", model, "-o", tmp_path / "other.h", "--name", "digits")
    assert "int digits_predict(" in (tmp_path / "other.h").read_text()


def test_graphs(command, model, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    command("export", model, "-o", tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == Predictor.load(model).to_onnx()


def test_what_cannot_be_exported(command, model, tmp_path):
    assert "must end in .h or .onnx" in command("export", model, "-o", tmp_path / "m.txt", status=2).stderr
    assert "C headers only" in command("export", model, "-o", tmp_path / "m.onnx", "--name", "m", status=2).stderr
    assert "cannot begin names" in command("export", model, "-o", tmp_path / "m.h", "--name", "a-b", status=2).stderr


def test_models_of_tables(command, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    GCWSTabularClassifier("quick", budget=1).fit(X, X[:, 0] > 0).save(tmp_path / "table.safetensors")
    found = command("export", tmp_path / "table.safetensors", "-o", tmp_path / "rent.h")
    assert "TablePredictor(2 classes, " in found.stdout
    assert "rent_predict(const rent_row* row)" in (tmp_path / "rent.h").read_text()
    pytest.importorskip("onnx", reason="onnx is not installed")
    command("export", tmp_path / "table.safetensors", "-o", tmp_path / "rent.onnx")
    assert (tmp_path / "rent.onnx").read_bytes() == Predictor.load(tmp_path / "table.safetensors").to_onnx()


def test_graphs_of_free_text_are_refused(command, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    words = np.array(["red house", "old boat", "green house", "new car"])
    texts = [f"{words[i % 4]} of number {i} by the sea" for i in range(90)]
    rows = [{"title": text, "a": i} for i, text in enumerate(texts)]
    model = GCWSTabularClassifier("quick", budget=1).fit(rows, [("house" in text) for text in texts])
    assert model.columns_[0].text is not None
    model.save(tmp_path / "table.safetensors")
    found = command("export", tmp_path / "table.safetensors", "-o", tmp_path / "m.onnx", status=1)
    assert "column 'title' is free text" in found.stderr
    assert not (tmp_path / "m.onnx").exists()


def test_json(command, model, tmp_path):
    found = json.loads(command("export", model, "-o", tmp_path / "m.h", "--json").stdout)
    assert found["bytes"] == (tmp_path / "m.h").stat().st_size
    assert (found["model"], found["output"]) == (str(model), str(tmp_path / "m.h"))
