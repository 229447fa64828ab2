import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.metrics import (
    confusion_matrix,
    log_loss,
    mean_absolute_error,
    precision_recall_fscore_support,
    r2_score,
    roc_auc_score,
)

from kernelsketch import GCWSClassifier, GCWSRegressor, GCWSTabularClassifier, GCWSTabularRegressor


@pytest.fixture
def half(digits, tmp_path):
    """Trained on half of the rows, so that it errs on the others."""
    model = GCWSClassifier(32).fit(digits[0][::2], digits[1][::2])
    model.save(tmp_path / "m.safetensors")
    return model, tmp_path / "m.safetensors"


def test_numbers_are_those_of_scikit_learn(command, files, digits, half, small_blocks):
    small_blocks()
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
        "2 rows have labels that are no classes of the model"
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
    command("train", tmp_path / "r.csv", "--label", "y", "--plain", "-k", 8, "-m", tmp_path / "m.safetensors")
    found = command("evaluate", tmp_path / "r.csv", "--label", "y", "-m", tmp_path / "m.safetensors")
    assert "[/x]" in found.stdout


def test_values_whose_squares_are_too_large(command, digits, tmp_path):
    GCWSRegressor(8).fit(digits[0], digits[1]).save(tmp_path / "m.safetensors")
    (tmp_path / "x.svm").write_text("1e300 1:1\n-1e300 2:1\n1e300 3:1\n")
    command("evaluate", tmp_path / "x.svm", "-m", tmp_path / "m.safetensors")
    facts = json.loads(command("evaluate", tmp_path / "x.svm", "-m", tmp_path / "m.safetensors", "--json").stdout)
    assert facts["root_mean_squared_error"] is None


def expected_calibration_error(y, probabilities, count=15):
    """The definition, one bin after the other."""
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == y
    total = 0.0
    for low, high in zip(np.arange(count) / count, np.arange(1, count + 1) / count, strict=True):
        inside = (confidence > low) & (confidence <= high)
        if inside.any():
            total += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    return total


@pytest.mark.parametrize("tabular", [False, True])
@pytest.mark.parametrize("two", [False, True])
def test_metrics_of_probabilities(command, digits, tmp_path, small_blocks, tabular, two):
    small_blocks()
    X, y = digits[0], digits[1] % 2 if two else digits[1]
    model = GCWSTabularClassifier("quick") if tabular else GCWSClassifier(64, probability="calibrated")
    model.fit(X[:300], y[:300]).save(tmp_path / "m.safetensors")
    np.savez(tmp_path / "x.npz", X=X, y=y)
    facts = json.loads(command("evaluate", tmp_path / "x.npz", "-m", tmp_path / "m.safetensors", "--json").stdout)
    probabilities = model.predict_proba(X)
    assert facts["accuracy"] == np.mean(model.predict(X) == y)
    assert facts["log_loss"] == pytest.approx(log_loss(y, probabilities))
    expected = roc_auc_score(y, probabilities[:, 1] if two else probabilities, multi_class="ovr")
    assert facts["auc"] == pytest.approx(expected)
    assert facts["calibration_error"] == pytest.approx(expected_calibration_error(y, probabilities))
    assert sum(point["rows"] for point in facts["calibration"]) == len(y)
    if two:
        mean = sum(point["rows"] * point["predicted"] for point in facts["calibration"]) / len(y)
        assert mean == pytest.approx(probabilities[:, 1].mean())
        assert sum(p["rows"] * p["observed"] for p in facts["calibration"]) == pytest.approx(y.sum())
    shown = command("evaluate", tmp_path / "x.npz", "-m", tmp_path / "m.safetensors").stdout
    assert re.search(rf"log-loss +{facts['log_loss']:.4f}", shown)
    assert re.search(rf"calibration error +{facts['calibration_error']:.4f}", shown)


def test_models_without_probabilities_have_no_metrics_of_them(command, files, digits, half):
    facts = json.loads(command("evaluate", *files["svm"], "-m", half[1], "--json").stdout)
    assert not {"log_loss", "baseline_log_loss", "calibration_error"} & set(facts)
    X, y = digits
    scores = half[0].decision_function(X)
    assert facts["auc"] == pytest.approx(np.mean([roc_auc_score(y == k, scores[:, k]) for k in range(10)]))


def test_unknown_labels_and_a_single_class(command, digits, tmp_path):
    X, y = digits
    GCWSClassifier(64, loss="log_loss").fit(X, y % 3).save(tmp_path / "m.safetensors")
    np.savez(tmp_path / "x.npz", X=X[:3], y=[1, 77, 1])
    facts = json.loads(command("evaluate", tmp_path / "x.npz", "-m", tmp_path / "m.safetensors", "--json").stdout)
    assert (facts["unknown_labels"], facts["auc"]) == (1, None)
    assert sum(point["rows"] for point in facts["calibration"]) == 2
    np.savez(tmp_path / "x.npz", X=X[:3], y=[77, 77, 77])
    facts = json.loads(command("evaluate", tmp_path / "x.npz", "-m", tmp_path / "m.safetensors", "--json").stdout)
    assert "log_loss" not in facts


def test_the_auc_keeps_within_the_memory(command, digits, files, tmp_path, monkeypatch):
    GCWSClassifier(64, loss="log_loss").fit(*digits).save(tmp_path / "m.safetensors")
    monkeypatch.setattr("kernelsketch.cli.work.evaluate.memory_left", lambda _: 1000)
    command_line = ("evaluate", *files["npz"], "-m", tmp_path / "m.safetensors")
    facts = json.loads(command(*command_line, "--json").stdout)
    assert facts["auc"] is None
    assert facts["log_loss"] < 1
    assert "not computed: see --memory" in command(*command_line).stdout


class TestReport:
    def read(self, command, path, *args):
        """Write the page, check that it loads nothing and that it is well-formed, and return it."""
        command("evaluate", *args, "--report", path)
        page = path.read_text()
        assert not re.search(r"(src|href)=|@import|url\(|<script", page)
        for plot in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
            ElementTree.fromstring(plot)
        return page

    def test_classes_of_a_table(self, command, iris, tmp_path):
        frame, path = iris
        model = GCWSTabularClassifier("quick").fit(frame.drop(columns="kind"), frame["kind"])
        model.save(tmp_path / "m.safetensors")
        page = self.read(command, tmp_path / "r.html", path, "--label", "kind", "-m", tmp_path / "m.safetensors")
        for text in ("Confusion matrix", "Calibration", "Importance of columns", "petal length (cm)", "versicolor"):
            assert text in page
        counts = confusion_matrix(frame["kind"], model.predict(frame.drop(columns="kind")))
        assert f"setosa predicted as setosa: {counts[0, 0]} rows" in page
        assert "log-loss" in page
        facts = command("evaluate", path, "--label", "kind", "-m", tmp_path / "m.safetensors", "--json").stdout
        assert f"{100 * json.loads(facts)['accuracy']:.2f} %" in page

    def test_numbers(self, command, digits, files, tmp_path):
        GCWSTabularRegressor("quick").fit(digits[0][:200], digits[1][:200]).save(tmp_path / "m.safetensors")
        page = self.read(command, tmp_path / "r.html", *files["npz"], "-m", tmp_path / "m.safetensors")
        assert page.count("<circle") == 600
        assert "root mean squared error" in page
        assert "Confusion matrix" not in page

    def test_numbers_that_are_all_one_or_too_large(self, command, digits, tmp_path):
        GCWSRegressor(8).fit(digits[0], digits[1]).save(tmp_path / "m.safetensors")
        for text in ("1e308 1:1\n-1e308 2:1\n", "5 1:1\n", "1e-320 1:1\n0 1:1\n", "1e16 1:1\n1e16 2:1\n"):
            (tmp_path / "x.svm").write_text(text)
            page = self.read(command, tmp_path / "r.html", tmp_path / "x.svm", "-m", tmp_path / "m.safetensors")
            assert "nan" not in page
            assert "Importance" not in page

    def test_plain_models_and_many_classes(self, command, tmp_path):
        rng = np.random.default_rng(0)
        X, y = rng.random((300, 5)), np.array([f"<b>{i % 30}" for i in range(300)])
        GCWSClassifier(16).fit(X, y).save(tmp_path / "m.safetensors")
        np.savez(tmp_path / "x.npz", X=X, y=y)
        page = self.read(command, tmp_path / "r.html", tmp_path / "x.npz", "-m", tmp_path / "m.safetensors")
        assert "The 20 most frequent of 30 classes" in page
        assert "<b>" not in page
        assert "&lt;b&gt;1" in page
        assert "Calibration" not in page

    def test_it_needs_a_folder(self, command, files, half, tmp_path):
        options = ("-m", half[1], "--report", tmp_path / "none" / "r.html")
        assert "There is no folder" in command("evaluate", *files["svm"], *options, status=1).stderr
