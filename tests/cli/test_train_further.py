"""``train --continue``: an earlier model learns from new rows."""

import json

import numpy as np
import pytest
from scipy import sparse

from kernelsketch import GCWSClassifier, GCWSClassifierCV, GCWSRegressor, load_model
from kernelsketch.cli.work import train_further
from kernelsketch.formats import write_rows


@pytest.fixture(scope="module")
def parts(digits, tmp_path_factory, command):
    """Two files of rows, and a model of the first."""
    X, y = digits
    folder = tmp_path_factory.mktemp("parts")
    write_rows(folder / "old.svm", [(sparse.csr_array(X[200:]), y[200:])])
    write_rows(folder / "new.svm", [(sparse.csr_array(X[:200]), y[:200])])
    command("train", folder / "old.svm", "-k", 64, "-m", folder / "old.safetensors")
    return folder


def continued(command, folder, target, *options):
    arguments = ("train", folder / "new.svm", "--continue", folder / "old.safetensors", "-m", target, *options)
    return json.loads(command(*arguments, "--json").stdout)


def test_it_is_partial_fit(command, digits, parts, tmp_path, small_blocks):
    X, y = digits
    before = (parts / "old.safetensors").read_bytes()
    facts = continued(command, parts, tmp_path / "new.safetensors")
    found = load_model(tmp_path / "new.safetensors")
    expected = load_model(parts / "old.safetensors")
    assert facts["progressive_accuracy"] == expected.score(X[:200], y[:200])
    expected.partial_fit(X[:200], y[:200])
    np.testing.assert_array_equal(found.code_weights_, expected.code_weights_)
    assert facts["rows"] == 200
    assert (parts / "old.safetensors").read_bytes() == before
    small_blocks()
    continued(command, parts, tmp_path / "again.safetensors", "--memory", "700MB")
    assert (tmp_path / "again.safetensors").read_bytes() == (tmp_path / "new.safetensors").read_bytes()


def test_a_stream_in_pieces(command, digits, parts, tmp_path, monkeypatch, small_blocks):
    """Steps have equal sizes, whatever the blocks of the file are; a continued model can be continued."""
    X, y = digits
    monkeypatch.setattr(train_further, "STEP", 64)
    small_blocks()
    facts = continued(command, parts, tmp_path / "1.safetensors")
    expected, right = load_model(parts / "old.safetensors"), 0
    for start in range(0, 200, 64):
        rows = slice(start, min(start + 64, 200))
        right += (expected.predict(X[rows]) == y[rows]).sum()
        expected.partial_fit(X[rows], y[rows])
    found = load_model(tmp_path / "1.safetensors")
    np.testing.assert_array_equal(found.code_weights_, expected.code_weights_)
    assert facts["progressive_accuracy"] == right / 200
    more = ("--continue", tmp_path / "1.safetensors", "-m", tmp_path / "2.safetensors")
    command("train", parts / "old.svm", *more)
    assert load_model(tmp_path / "2.safetensors").training_.stream.blocks > expected.training_.stream.blocks


def test_codes_and_numbers(command, digits, parts, tmp_path):
    X, y = digits
    command("hash", parts / "new.svm", tmp_path / "codes.safetensors", "-k", 64)
    options = ("--continue", parts / "old.safetensors", "-m", tmp_path / "c.safetensors")
    command("train", tmp_path / "codes.safetensors", *options)
    continued(command, parts, tmp_path / "d.safetensors")
    np.testing.assert_array_equal(*(load_model(tmp_path / f"{name}.safetensors").code_weights_ for name in "cd"))
    command("hash", parts / "new.svm", tmp_path / "codes.safetensors", "-k", 64, "--seed", 1)
    assert "seed 0 against 1" in command("train", tmp_path / "codes.safetensors", *options, status=1).stderr
    GCWSRegressor(32).fit(X[200:], y[200:]).save(tmp_path / "r.safetensors")
    options = ("--continue", tmp_path / "r.safetensors", "-m", tmp_path / "s.safetensors", "--regression")
    shown = command("train", parts / "new.svm", *options).stdout
    expected = load_model(tmp_path / "r.safetensors")
    rmse = np.sqrt(np.mean((expected.predict(X[:200]) - y[:200]) ** 2))
    assert f"RMSE {rmse:.6g}" in shown
    expected.partial_fit(X[:200], y[:200].astype(float))
    np.testing.assert_array_equal(load_model(tmp_path / "s.safetensors").code_weights_, expected.code_weights_)


def test_new_features(command, digits, tmp_path):
    """Sparse rows may have features that those of the earlier model lacked; they get weights."""
    X, y = digits
    write_rows(tmp_path / "old.svm", [(sparse.csr_array(X[:400]), y[:400])])
    write_rows(tmp_path / "new.svm", [(sparse.csr_array(X[400:]), y[400:])])
    command("train", tmp_path / "old.svm", "-k", 64, "-m", tmp_path / "old.safetensors")
    assert load_model(tmp_path / "old.safetensors").n_features_in_ == 63
    assert continued(command, tmp_path, tmp_path / "new.safetensors")["n_features"] == 64
    found = load_model(tmp_path / "new.safetensors")
    assert found.n_features_in_ == 64
    assert found.score(X, y) > 0.9
    assert command("predict", tmp_path / "new.svm", "-m", tmp_path / "new.safetensors").stderr == ""


def test_columns_by_name_and_label(command, iris, tmp_path):
    frame, _ = iris
    frame[:100].to_csv(tmp_path / "old.csv", index=False)
    moved = frame[100:][frame.columns[::-1]].assign(other=1)
    moved.to_csv(tmp_path / "new.csv", index=False)
    command("train", tmp_path / "old.csv", "--label", "kind", "--plain", "-k", 32, "-m", tmp_path / "m.safetensors")
    options = ("--continue", tmp_path / "m.safetensors", "-m", tmp_path / "n.safetensors")
    command("train", tmp_path / "new.csv", *options)
    found, expected = load_model(tmp_path / "n.safetensors"), load_model(tmp_path / "m.safetensors")
    expected.partial_fit(frame[100:].drop(columns="kind"), frame["kind"][100:])
    np.testing.assert_array_equal(found.code_weights_, expected.code_weights_)
    assert found.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
    assert found.fitted_.label_column == "kind"
    frame.iloc[:, 1:].to_csv(tmp_path / "less.csv", index=False)
    assert "has no column 'sepal length (cm)'" in command("train", tmp_path / "less.csv", *options, status=1).stderr


class TestWhatCannotBe:
    def refused(self, command, parts, model, *options, status=1, input="new.svm"):
        target = parts / "none.safetensors"
        arguments = ("train", parts / input, "--continue", model, "-m", target, *options)
        found = command(*arguments, status=status).stderr
        assert not target.exists()
        return " ".join(found.split())

    @pytest.mark.parametrize(
        ("options", "differs"),
        [
            (["--bits", 4], "--bits 4: {} has --bits 8, and a model keeps its options. Leave --bits out"),
            (["--seed", 3], "--seed 3: {} has --seed 0"),
            (["--loss", "hinge"], "--loss hinge: {} has --loss squared_hinge"),
            (["--regression"], "is a classifier"),
            (["--cv"], "--cv and --continue exclude each other"),
            (["--balanced"], "--balanced and --continue exclude each other"),
        ],
    )
    def test_other_options(self, command, parts, options, differs):
        old = parts / "old.safetensors"
        assert differs.format(old) in self.refused(command, parts, old, *options, status=2)

    def test_equal_options(self, command, parts, tmp_path):
        continued(command, parts, tmp_path / "m.safetensors", "-k", 64, "--seed", 0, "--loss", "squared_hinge")

    def test_the_same_file(self, command, parts):
        before = (parts / "old.safetensors").read_bytes()
        options = ("--continue", parts / "old.safetensors", "-m", parts / "old.safetensors")
        found = command("train", parts / "new.svm", *options, status=2).stderr
        assert "are the same file: choose another name for --model" in " ".join(found.split())
        assert (parts / "old.safetensors").read_bytes() == before

    def test_other_labels(self, command, parts):
        old = parts / "old.safetensors"
        (parts / "eleven.svm").write_text("3 1:1\n11 1:1\n")
        found = self.refused(command, parts, old, input="eleven.svm")
        assert "has the label '11', but the classes of" in found
        assert "train one on all rows, old and new" in found
        (parts / "words.svm").write_text("cat 1:1\n")
        assert "are text, but those of the model are numbers" in self.refused(command, parts, old, input="words.svm")
        (parts / "empty.svm").write_text("")
        assert "has no rows" in self.refused(command, parts, old, input="empty.svm")
        np.save(parts / "x.npy", np.ones((3, 64)))
        assert "has no labels" in self.refused(command, parts, old, input="x.npy")
        np.savez(parts / "x.npz", X=np.ones((3, 9)), y=[1, 2, 3])
        assert "has 9 feature columns, but the model was trained on 64" in self.refused(
            command, parts, old, input="x.npz"
        )

    def test_other_models(self, command, digits, parts, iris, tmp_path):
        X, y = digits
        made = {
            "chose C=": GCWSClassifierCV(16, Cs=[1, 10]),
            "calibrates probabilities": GCWSClassifier(16, probability="calibrated"),
            "weights classes": GCWSClassifier(16, class_weight="balanced"),
            "scales columns": GCWSClassifier(16, scale="standard"),
        }
        for text, model in made.items():
            model.fit(X, y).save(tmp_path / "m.safetensors")
            assert text in self.refused(command, parts, tmp_path / "m.safetensors")
        model = GCWSClassifier(16).fit(X, y)
        model.training_ = type(model.training_)(model.training_.bias, 1)  # as of a file of an earlier version
        model.save(tmp_path / "m.safetensors")
        assert "does not say how many rows" in self.refused(command, parts, tmp_path / "m.safetensors")
        command("train", iris[1], "--label", "kind", "--effort", "quick", "-m", tmp_path / "t.safetensors")
        found = self.refused(command, parts, tmp_path / "t.safetensors")
        assert "is a model of a table" in found
        assert "kernelsketch train ALL_ROWS --label COLUMN -m NEW_MODEL" in found
