import json

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, mean_absolute_error, precision_recall_fscore_support, r2_score

from kernelsketch import GCWSClassifier, GCWSRegressor


@pytest.fixture
def half(digits, tmp_path):
    """Trained on half of the rows, so that it errs on the others."""
    model = GCWSClassifier(32).fit(digits[0][::2], digits[1][::2])
    model.save(tmp_path / "m.safetensors")
    return model, tmp_path / "m.safetensors"


def test_numbers_are_those_of_scikit_learn(command, files, digits, half, monkeypatch):
    monkeypatch.setattr("kernelsketch.cli._options.MOST_BLOCK", 1 << 16)  # several blocks
    model, path = half
    X, y = digits
    facts = json.loads(command("evaluate", *files["svm"], "-m", path, "--json").stdout)
    predicted = model.predict(X)
    assert facts["accuracy"] == np.mean(predicted == y) < 1
    assert facts["confusion"] == confusion_matrix(y, predicted).tolist()
    expected = precision_recall_fscore_support(y, predicted)
    for key, values in zip(("precision", "recall", "f1", "rows"), expected, strict=True):
        np.testing.assert_allclose([one[key] for one in facts["classes"]], values)
    assert facts["macro_f1"] == pytest.approx(expected[2].mean())
    assert facts["unknown_labels"] == 0
    shown = command("evaluate", *files["svm"], "-m", path).stdout
    assert f"{100 * facts['accuracy']:.2f} % ±" in shown
    assert "most often predicted as" in shown


def test_values(command, files, digits, tmp_path):
    X, y = digits
    model = GCWSRegressor(32).fit(X[::2], y[::2])
    model.save(tmp_path / "m.safetensors")
    facts = json.loads(command("evaluate", *files["npz"], "-m", tmp_path / "m.safetensors", "--json").stdout)
    predicted = model.predict(X)
    assert facts["r2"] == pytest.approx(r2_score(y, predicted))
    assert facts["mean_absolute_error"] == pytest.approx(mean_absolute_error(y, predicted))
    assert facts["root_mean_squared_error"] == pytest.approx(np.sqrt(np.mean((predicted - y) ** 2)))
    assert "R2" in command("evaluate", *files["npz"], "-m", tmp_path / "m.safetensors").stdout


def test_labels_that_the_model_does_not_know(command, half, tmp_path):
    (tmp_path / "x.svm").write_text("3 1:1\n77 1:1\n-1 2:1\n")
    facts = json.loads(command("evaluate", tmp_path / "x.svm", "-m", half[1], "--json").stdout)
    assert facts["unknown_labels"] == 2
    assert facts["rows"] == 3
    assert (
        "2 rows have labels that the model does not know"
        in command("evaluate", tmp_path / "x.svm", "-m", half[1]).stdout
    )


def test_what_cannot_be(command, half, iris, tmp_path):
    (tmp_path / "x.svm").write_text("cat 1:1\n")
    assert "The labels of" in command("evaluate", tmp_path / "x.svm", "-m", half[1], status=1).stderr
    (tmp_path / "x.svm").write_text("")
    assert "has no rows" in command("evaluate", tmp_path / "x.svm", "-m", half[1], status=1).stderr
    np.save(tmp_path / "x.npy", np.ones((2, 64)))
    assert "has no labels" in command("evaluate", tmp_path / "x.npy", "-m", half[1], status=1).stderr


def test_class_names_are_not_markup(command, tmp_path):
    (tmp_path / "r.csv").write_text("a,b,y\n1,2,[bold]\n2,1,[/x]\n1,3,[bold]\n")
    command("train", tmp_path / "r.csv", "--label", "y", "-k", 8, "-m", tmp_path / "m.safetensors")
    found = command("evaluate", tmp_path / "r.csv", "--label", "y", "-m", tmp_path / "m.safetensors")
    assert "[/x]" in found.stdout


def test_values_whose_squares_are_too_large(command, digits, tmp_path):
    GCWSRegressor(8).fit(digits[0], digits[1]).save(tmp_path / "m.safetensors")
    (tmp_path / "x.svm").write_text("1e300 1:1\n-1e300 2:1\n1e300 3:1\n")
    command("evaluate", tmp_path / "x.svm", "-m", tmp_path / "m.safetensors")
    facts = json.loads(command("evaluate", tmp_path / "x.svm", "-m", tmp_path / "m.safetensors", "--json").stdout)
    assert facts["root_mean_squared_error"] is None
