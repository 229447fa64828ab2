import gzip
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from kernelsketch import GCWSClassifier, GCWSRegressor, GCWSTabularClassifier, GCWSTabularRegressor, load_model
from kernelsketch.cli import _file_predictor, _hashing
from kernelsketch.cli._explanation_columns import ExplanationColumns
from kernelsketch.cli._file_predictor import FilePredictor
from kernelsketch.cli.commands.predict import Predict


@pytest.fixture(scope="module")
def model(digits, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "digits.safetensors"
    GCWSClassifier(64).fit(*digits).save(path)
    return path


@pytest.mark.parametrize("format", ["svm", "svm.gz", "csv", "parquet", "npy", "npz"])
def test_labels_are_those_of_predict(command, files, digits, model, format):
    found = command("predict", *files[format], "-m", model)
    assert found.stdout.split() == list(map(str, load_model(model).predict(digits[0])))
    assert found.stderr == ""


def test_codes_and_standard_input(command, files, digits, model, tmp_path):
    expected = list(map(str, load_model(model).predict(digits[0])))
    command("hash", *files["svm"], tmp_path / "codes.safetensors", "-k", 64)
    assert command("predict", tmp_path / "codes.safetensors", "-m", model).stdout.split() == expected
    text = files["svm"][0].read_bytes()
    assert command("predict", "-", "-m", model, stdin=text).stdout.split() == expected
    assert command("predict", "-", "--format", "libsvm", "-m", model, stdin=b"").stdout == ""
    command("hash", *files["svm"], tmp_path / "codes.safetensors", "-k", 64, "--seed", 1)
    found = command("predict", tmp_path / "codes.safetensors", "-m", model, status=1)
    assert "codes of another hash than the model (seed 0 against 1)" in found.stderr


def test_files(command, files, digits, model, tmp_path):
    expected = "".join(f"{label}\n" for label in load_model(model).predict(digits[0])).encode()
    found = command("predict", *files["svm"], "-m", model, "-o", tmp_path / "labels.txt")
    assert (tmp_path / "labels.txt").read_bytes() == expected
    assert found.stdout == ""
    command("predict", *files["svm"], "-m", model, "-o", tmp_path / "labels.txt.gz")
    assert gzip.decompress((tmp_path / "labels.txt.gz").read_bytes()) == expected


def test_rows_that_are_narrower_or_wider_than_those_of_training(command, model, digits, tmp_path):
    """Features that are not there are zeros; new ones count in the norm of a row, as the kernel says."""
    (tmp_path / "rows.svm").write_text("0 3:5 4:13\n0 3:5 4:13 900:4\n")
    found = command("predict", tmp_path / "rows.svm", "-m", model, "--scores")
    first, second = (list(map(float, line.split("\t")[1:])) for line in found.stdout.splitlines()[1:])
    X = np.zeros((1, 64))
    X[0, 2:4] = 5, 13
    np.testing.assert_allclose(first, load_model(model).decision_function(X)[0], rtol=1e-5)
    wide = np.zeros((600, 900))
    wide[:, :64] = digits[0]
    again = GCWSClassifier(64).fit(wide, digits[1])
    X = np.zeros((1, 900))
    X[0, [2, 3, 899]] = 5, 13, 4
    np.testing.assert_allclose(second, again.decision_function(X)[0], rtol=1e-5)


def test_dense_rows_must_have_the_width(command, model, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((3, 5)))
    found = command("predict", tmp_path / "x.npy", "-m", model, status=1)
    assert (
        "has 5 feature columns, but the model was trained on 64. If one of them is the label, name it" in found.stderr
    )


@pytest.fixture(scope="module")
def trained(iris, tmp_path_factory, command):
    path = tmp_path_factory.mktemp("model") / "iris.safetensors"
    command("train", iris[1], "--label", "kind", "--plain", "-k", 64, "--loss", "log_loss", "-m", path)
    return path


class TestColumns:
    def test_they_are_found_by_name(self, command, iris, trained, tmp_path):
        frame, path = iris
        expected = load_model(trained).predict(frame.drop(columns="kind")).tolist()
        assert command("predict", path, "--label", "kind", "-m", trained).stdout.split() == expected
        moved = frame.drop(columns="kind").assign(other=0.5)
        moved = moved[moved.columns[::-1]]
        moved.to_csv(tmp_path / "moved.csv", index=False)
        moved.to_parquet(tmp_path / "moved.parquet", index=False)
        for name in ("moved.csv", "moved.parquet"):
            assert command("predict", tmp_path / name, "-m", trained).stdout.split() == expected

    def test_a_missing_one_is_named(self, command, iris, trained, tmp_path):
        iris[0].iloc[:, 1:3].to_csv(tmp_path / "x.csv", index=False)
        found = command("predict", tmp_path / "x.csv", "-m", trained, status=1)
        assert "has no column 'sepal length (cm)', which the model was trained on, and 1 more" in found.stderr

    def test_probabilities(self, command, iris, trained):
        frame, path = iris
        found = command("predict", path, "--label", "kind", "-m", trained, "--proba").stdout.splitlines()
        assert found[0].split("\t") == [
            "prediction",
            "probability_setosa",
            "probability_versicolor",
            "probability_virginica",
        ]
        expected = load_model(trained).predict_proba(frame.drop(columns="kind"))
        values = np.array([line.split("\t")[1:] for line in found[1:]], float)
        np.testing.assert_allclose(values, expected, atol=1e-6)
        lines = command("predict", path, "--label", "kind", "-m", trained, "--proba", "--json").stdout.splitlines()
        parts = [json.loads(line) for line in lines]
        assert [part["prediction"] for part in parts] == load_model(trained).predict(
            frame.drop(columns="kind")
        ).tolist()
        assert list(parts[0].values())[1:] == expected[0].tolist()


def test_two_classes_have_one_score(command, digits, files, tmp_path):
    X, y = digits
    model = GCWSClassifier(64).fit(X, np.where(y < 5, -1.0, 1.0))
    model.save(tmp_path / "m.safetensors")
    found = command("predict", *files["npz"], "-m", tmp_path / "m.safetensors", "--scores").stdout.splitlines()
    assert found[0] == "prediction\tscore_1"
    labels, scores = zip(*(line.split("\t") for line in found[1:]), strict=True)
    assert list(map(int, labels)) == model.predict(X).tolist()
    np.testing.assert_allclose(np.array(scores, float), model.decision_function(X), rtol=1e-5)
    found = command("predict", *files["npz"], "-m", tmp_path / "m.safetensors", "--json").stdout.splitlines()
    assert [json.loads(line)["prediction"] for line in found] == model.predict(X).tolist()


@pytest.mark.parametrize("format", ["svm", "csv", "npz"])
@pytest.mark.parametrize("named", [False, True])
def test_models_that_scale_and_are_calibrated(command, digits, files, tmp_path, format, named):
    X, y = digits
    rows = pd.DataFrame(X, columns=[f"pixel{j}" for j in range(X.shape[1])]) if named else X
    model = GCWSClassifier(64, scale="standard", probability="calibrated").fit(rows, y)
    path = tmp_path / "m.safetensors"
    model.save(path)
    found = command("predict", *files[format], "-m", path, "--proba")
    assert found.stderr == ""
    lines = [line.split("\t") for line in found.stdout.splitlines()[1:]]
    assert [line[0] for line in lines] == list(map(str, model.predict(rows)))
    np.testing.assert_allclose(np.array([line[1:] for line in lines], float), model.predict_proba(rows), rtol=1e-4)
    command("hash", *files["svm"], tmp_path / "codes.safetensors", "-k", 64)
    found = command("predict", tmp_path / "codes.safetensors", "-m", path, status=1)
    assert "holds codes, but the model scales rows" in found.stderr


def test_values(command, digits, files, tmp_path):
    model = GCWSRegressor(64).fit(digits[0], digits[1])
    model.save(tmp_path / "m.safetensors")
    found = command("predict", *files["npz"], "-m", tmp_path / "m.safetensors")
    assert list(map(float, found.stdout.split())) == model.predict(digits[0]).tolist()
    found = command("predict", *files["npz"], "-m", tmp_path / "m.safetensors", "--scores", status=2)
    assert "--scores needs a classifier" in found.stderr


def test_what_cannot_be(command, files, model, tmp_path):
    assert (
        "on a table, with --loss log_loss" in command("predict", *files["svm"], "-m", model, "--proba", status=2).stderr
    )
    assert "exclude" in command("predict", *files["svm"], "-m", model, "--proba", "--scores", status=2).stderr
    found = command("predict", *files["svm"], "-m", tmp_path / "none", status=1)
    assert found.stderr.startswith(f"kernelsketch: {tmp_path / 'none'}: There is no such file. Check the name")
    (tmp_path / "bad.safetensors").write_bytes(model.read_bytes()[:-3])
    assert (
        "is cut off or damaged"
        in command("predict", *files["svm"], "-m", tmp_path / "bad.safetensors", status=1).stderr
    )


def test_columns_that_have_one_name(command, tmp_path):
    (tmp_path / "a.csv").write_text("a,a,y\n1,2,0\n2,1,1\n")
    (tmp_path / "b.csv").write_text("a,b\n1,2\n2,1\n")
    command("train", tmp_path / "a.csv", "--label", "y", "--plain", "-k", 8, "-m", tmp_path / "m.safetensors")
    found = command("predict", tmp_path / "b.csv", "-m", tmp_path / "m.safetensors", status=1)
    assert "cannot be told apart" in found.stderr


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measures memory by its rules")
@pytest.mark.parametrize("name", ["predict", "evaluate", "hash"])
def test_memory_of_narrow_rows(name, tmp_path):
    """A block of many short rows makes more codes than it has bytes."""
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "x.npz", X=rng.normal(size=(300_000, 2)).astype(np.float32), y=np.arange(300_000) % 2)
    model = tmp_path / "m.safetensors"
    GCWSClassifier(1024, max_iter=1, tol=0.5).fit(rng.normal(size=(100, 2)), np.arange(100) % 2).save(model)
    options = [str(tmp_path / "c.safetensors")] if name == "hash" else ["-m", str(model)]
    code = (
        "import sys; from kernelsketch.cli import main; from kernelsketch.cli._memory import peak_bytes\n"
        "try: main()\nexcept SystemExit as end: assert not end.code\n"
        "print(peak_bytes(), file=sys.stderr)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, name, str(tmp_path / "x.npz"), *options, "--memory", "500MB"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(found.stderr.split()[-1]) < 500e6  # all codes are 307 MB


@pytest.fixture(scope="module", params=[["--plain", "-k", "64"], ["--effort", "quick"]], ids=["plain", "table"])
def remembering(request, command, iris, tmp_path_factory):
    """A model that was trained by the command line."""
    path = tmp_path_factory.mktemp("trained") / "iris.safetensors"
    command("train", iris[1], "--label", "-1", "-m", path, *request.param)
    return path


class TestLabelColumn:
    """The model knows its label column: files of other rows may have it, with or without values, or lack it."""

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_is_ignored_by_predict(self, command, iris, remembering, tmp_path, ending):
        frame, path = iris
        expected = command("predict", path, "--label", "kind", "-m", remembering).stdout
        empty = frame.assign(kind=[None] * len(frame))
        empty["kind"] = empty["kind"].astype("string")
        for name, rows in {"with": frame, "without": frame.drop(columns="kind"), "empty": empty}.items():
            file = tmp_path / f"{name}.{ending}"
            rows.to_csv(file, index=False) if ending == "csv" else rows.to_parquet(file, index=False)
            assert command("predict", file, "-m", remembering).stdout == expected

    def test_is_used_by_evaluate(self, command, iris, remembering, tmp_path):
        found = json.loads(command("evaluate", iris[1], "-m", remembering, "--json").stdout)
        assert found["accuracy"] > 0.9
        iris[0].drop(columns="kind").to_csv(tmp_path / "without.csv", index=False)
        assert "has no labels" in command("evaluate", tmp_path / "without.csv", "-m", remembering, status=1).stderr

    def test_by_number(self, command, iris, tmp_path):
        """Without names of columns, a label that is given by number is there if there is one column more."""
        frame, model = iris[0], tmp_path / "m.safetensors"
        frame.to_csv(tmp_path / "with.csv", index=False, header=False)
        frame.drop(columns="kind").to_csv(tmp_path / "without.csv", index=False, header=False)
        command("train", tmp_path / "with.csv", "--label", "4", "--plain", "-k", 64, "-m", model)
        first, second = (
            command("predict", tmp_path / f"{name}.csv", "-m", model).stdout for name in ("with", "without")
        )
        assert first == second
        np.save(tmp_path / "with.npy", np.column_stack([frame.drop(columns="kind"), np.zeros(len(frame))]))
        np.save(tmp_path / "without.npy", frame.drop(columns="kind"))
        for name in ("with", "without"):
            assert command("predict", tmp_path / f"{name}.npy", "-m", model).stdout == first


def test_wider_sparse_rows_are_warned_of(command, model, tmp_path):
    (tmp_path / "wide.svm").write_text("0 3:5 900:4\n" * 3)
    found = command("predict", tmp_path / "wide.svm", "-m", model)
    assert found.stderr.count("has 900 features, but the model was trained on 64: the other 836") == 1
    (tmp_path / "narrow.svm").write_text("0 3:5 4:13\n")
    assert command("predict", tmp_path / "narrow.svm", "-m", model).stderr == ""


def test_null_device(command, files, model):
    for arguments in (
        ("predict", *files["svm"], "-m", model, "-o"),
        ("train", *files["svm"], "-k", 8, "-m"),
        ("hash", *files["svm"], "-k", 8, "--to", "codes"),
        ("kernel", *files["svm"], "--to", "npy", "-o"),
        ("convert", *files["svm"], "--to", "npz"),
        ("evaluate", *files["svm"], "-m", model, "--report"),
    ):
        command(*arguments, "/dev/null")


def test_values_of_many_classes_are_written_a_few_rows_at_a_time(command, files, digits, tmp_path, monkeypatch):
    """Ten scores of all rows of a block may take far more memory than the block."""
    sizes, decide = [], GCWSClassifier.decision_function

    def watched(model, X):
        sizes.append(X.shape[0])
        return decide(model, X)

    for number, options in enumerate(({}, {"scale": "quantile"})):
        path = tmp_path / f"{number}.safetensors"
        GCWSClassifier(16, **options).fit(*digits).save(path)
        expected = command("predict", *files["svm"], "-m", path, "--scores").stdout
        scores = command("evaluate", *files["svm"], "-m", path, "--json").stdout
        with monkeypatch.context() as patch:
            patch.setattr(_hashing, "STEP_BYTES", 10_000)
            patch.setattr(_file_predictor, "STEP_BYTES", 10_000)
            patch.setattr(GCWSClassifier, "decision_function", watched)
            assert command("predict", *files["svm"], "-m", path, "--scores").stdout == expected
            again = command("evaluate", *files["svm"], "-m", path, "--json").stdout
        assert max(sizes) <= 10
        assert json.loads(again)["confusion"] == json.loads(scores)["confusion"]


def test_a_huge_id_in_rows_that_a_model_scales(command, digits, tmp_path):
    """A dense array of all features would have gigabytes."""
    model = tmp_path / "model.safetensors"
    GCWSClassifier(16, scale="robust").fit(*digits).save(model)
    (tmp_path / "rows.svm").write_text("1 1:2\n0 4611686018427387903:1\n")
    found = command("predict", tmp_path / "rows.svm", "-m", model, status=1).output.replace("\n", " ")
    assert "has 4611686018427387903 features, but the model was trained on 64 and scales each of them" in found


@pytest.fixture(scope="module")
def shop(command, tmp_path_factory):
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("shop")
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=200).round(3),
            "color": rng.choice(["red", "blue\tgreen"], 200),
            "noise": rng.normal(size=200).round(3),
        }
    )
    frame["sold"] = np.where((frame["size"] > 0) == (frame["color"] == "red"), "yes", "no")
    frame.loc[3, "size"] = np.nan
    frame["price"] = frame["size"].fillna(0) * 2
    frame.drop(columns="price").to_csv(folder / "sold.csv", index=False)
    frame.drop(columns="sold").to_csv(folder / "price.csv", index=False)
    for label, options in (("sold", []), ("price", ["--regression"])):
        path = folder / f"{label}.csv"
        command("train", path, "--label", label, "--effort", "quick", "-m", folder / f"{label}.safetensors", *options)
    return folder, frame


class TestExplain:
    """``--explain N``: the columns that contribute most, as fields of text or as JSON."""

    def test_json_is_that_of_explain(self, command, shop):
        folder, frame = shop
        model, rows = load_model(folder / "sold.safetensors"), frame[["size", "color", "noise"]]
        found = command("predict", folder / "sold.csv", "-m", folder / "sold.safetensors", "--explain", 2, "--json")
        lines, expected = [json.loads(line) for line in found.stdout.splitlines()], model.explain(rows)
        assert [line["prediction"] for line in lines] == model.predict(rows).tolist()
        assert [line["output"] for line in lines] == expected.output.tolist()
        for line in lines:
            parts = [part["contribution"] for part in line["contributions"]]
            assert len(parts) == 2
            assert line["base"] + sum(parts) + line["others"] == pytest.approx(line["output"])
        assert (lines[0]["space"], lines[0]["class"]) == ("log-odds", "yes")
        sizes = [part for part in lines[3]["contributions"] if part["column"] == "size"]
        assert all(part["value"] is None for part in sizes)

    def test_text(self, command, shop):
        folder, _ = shop
        found = command("predict", folder / "sold.csv", "-m", folder / "sold.safetensors", "--explain", 2).stdout
        lines = [line.split("\t") for line in found.splitlines()]
        assert lines[0] == ["prediction", "log-odds of yes", "base", "column 1", "column 2", "others"]
        assert {len(line) for line in lines} == {6}
        assert len(lines) == 201
        assert any("color=blue green (" in line for line in found.splitlines())
        row = lines[1]
        parts = [float(field.rpartition("(")[2].rstrip(")")) for field in row[3:5]] + [float(row[5])]
        assert float(row[2]) + sum(parts) == pytest.approx(float(row[1]), abs=2e-3)
        whole = command("predict", folder / "sold.csv", "-m", folder / "sold.safetensors", "--explain", 9).stdout
        assert whole.splitlines()[0].split("\t")[3:] == ["column 1", "column 2", "column 3"]

    def test_numbers_by_hashes(self, command, shop):
        folder, frame = shop
        model = folder / "price.safetensors"
        options = ("--explain", 1, "--explain-by", "hashes")
        found = command("predict", folder / "price.csv", "-m", model, *options).stdout.splitlines()
        assert found[0].split("\t") == ["prediction", "target", "base", "column 1", "others"]
        expected = load_model(model).predict(frame[["size", "color", "noise"]])
        assert [float(line.split("\t")[0]) for line in found[1:]] == expected.tolist()
        first = json.loads(
            command("predict", folder / "price.csv", "-m", model, *options, "--json").stdout.split("\n")[0]
        )
        assert first["prediction"] == expected[0]
        assert "class" not in first

    def test_rows_come_a_few_at_a_time_with_progress(self, command, shop, monkeypatch, tmp_path):
        lines = (shop[0] / "sold.csv").read_text().splitlines()[:21]
        (tmp_path / "sold.csv").write_text("\n".join(lines))
        arguments = ("predict", tmp_path / "sold.csv", "-m", shop[0] / "sold.safetensors", "--explain", 2)
        whole = command(*arguments)
        assert "explaining" not in whole.stderr  # it takes less than five seconds
        monkeypatch.setattr("kernelsketch.cli._progress.FIRST", 0.0)
        monkeypatch.setattr("kernelsketch.cli._progress.SECONDS", 0.0)
        monkeypatch.setattr("kernelsketch.cli._explanation_columns.SECONDS", 0.0)  # one row at a time
        found = command(*arguments)
        assert found.stdout == whole.stdout
        lines = [line for line in found.stderr.splitlines() if line.startswith("explaining: ")]
        assert re.match(r"explaining: 1 rows, [\d.,]+ rows per second, 5 %, about .+ left", lines[0])
        assert [line.split(" ")[1] for line in lines[:20]] == [str(i + 1) for i in range(20)]
        assert "explaining" not in command(*arguments, "--quiet").stderr

    def test_rows_are_written_as_they_come(self, shop):
        folder, _ = shop
        predictor = FilePredictor(folder / "sold.safetensors", 1)
        options = Predict(inputs=[str(folder / "sold.csv")], model=folder / "sold.safetensors", output="-")
        shown, sizes = [], []

        answers = ExplanationColumns(predictor, 2, "shapley", "jsonl", sizes.append)
        with predictor.open(options.inputs, options, ignore_labels=True) as stream:
            for block in stream:
                for part, _ in predictor.parts(block):
                    for columns in answers.pieces(part, 0, 0):
                        shown.append((shown or [0])[-1] + len(columns["others"]))
        assert shown == sizes
        assert sizes[0] == 1
        assert sizes[-1] == 200
        assert len(sizes) > 2

    def test_errors_name_the_row_of_the_file(self, command, shop, tmp_path):
        text = (shop[0] / "price.csv").read_text().splitlines()
        names, cells = text[0].split(","), text[101].split(",")
        cells[names.index("noise")] = "inf"
        (tmp_path / "bad.csv").write_text("\n".join([*text[:101], ",".join(cells), *text[102:]]))
        arguments = ("predict", tmp_path / "bad.csv", "-m", shop[0] / "sold.safetensors")
        expected = command(*arguments, status=1).stderr
        assert "contains infinity (row 100)" in expected
        found = command(*arguments, "--explain", 2, status=1).stderr
        row, first = re.search(r"contains infinity \(row (\d+)\).* Row 0 is row (\d+) of .*bad.csv", found).groups()
        assert int(row) + int(first) == 100

    def test_three_classes_explain_the_predicted_one(self, command, iris, tmp_path):
        model = tmp_path / "m.safetensors"
        command("train", iris[1], "--label", "kind", "--effort", "quick", "-m", model)
        lines = command("predict", iris[1], "-m", model, "--explain", 1, "--json").stdout.splitlines()
        assert all(json.loads(line)["prediction"] == json.loads(line)["class"] for line in lines)
        assert json.loads(lines[0])["space"] == "log-probability"

    def test_what_cannot_be(self, command, files, model, shop):
        found = command("predict", *files["svm"], "-m", model, "--explain", 3, status=2).stderr
        assert "--explain needs a model of a table" in found
        arguments = ("predict", shop[0] / "sold.csv", "-m", shop[0] / "sold.safetensors")
        assert "exclude each other" in command(*arguments, "--explain", 3, "--proba", status=2).stderr
        assert "pass --explain N" in command(*arguments, "--explain-by", "hashes", status=2).stderr
        command(*arguments, "--explain", 0, status=2)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.choice(["x", "y"], 200)})
    frame["kind"] = np.where(frame["a"] + 0.5 * rng.normal(size=200) > 0, "up\tright", "down")
    frame["size"] = frame["a"] + rng.normal(size=200)
    path = tmp_path_factory.mktemp("table") / "rows.csv"
    frame.to_csv(path, index=False)
    X = frame[["a", "b"]]
    GCWSTabularRegressor("quick").fit(X, frame["size"]).save(path.parent / "size.safetensors")
    GCWSTabularClassifier("quick").fit(X, frame["kind"]).save(path.parent / "kind.safetensors")
    return frame, path


class TestIntervals:
    def test_numbers(self, command, table):
        frame, path = table
        model = load_model(path.parent / "size.safetensors")
        common = ("predict", path, "-m", path.parent / "size.safetensors", "--interval", 0.8)
        head, *lines = command(*common).stdout.splitlines()
        assert head == "prediction\tlower\tupper"
        found = np.array([line.split("\t") for line in lines], float)
        expected = np.column_stack([model.predict(frame), model.predict_interval(frame, 0.8)])
        np.testing.assert_array_equal(found, expected)
        rows = [json.loads(line) for line in command(*common, "--json").stdout.splitlines()]
        assert rows[3] == dict(zip(("prediction", "lower", "upper"), expected[3].tolist(), strict=True))

    def test_classes(self, command, table):
        frame, path = table
        model = load_model(path.parent / "kind.safetensors")
        common = ("predict", path, "-m", path.parent / "kind.safetensors", "--interval", 0.99)
        head, *lines = command(*common).stdout.splitlines()
        assert head == "prediction\tset"
        sets = [model.classes_[row].tolist() for row in model.predict_set(frame, 0.99)]
        assert [json.loads(line.rpartition("\t")[2]) for line in lines] == sets
        assert {1, 2} == {len(part) for part in sets}
        rows = [json.loads(line) for line in command(*common, "--json").stdout.splitlines()]
        assert rows == [
            {"prediction": label, "set": part} for label, part in zip(model.predict(frame).tolist(), sets, strict=True)
        ]

    def test_what_cannot_be(self, command, files, model, table):
        found = command("predict", *files["svm"], "-m", model, "--interval", 0.9, status=2).stderr
        assert "--interval needs a model that was trained on a table" in found
        _, path = table
        common = ("predict", path, "-m", path.parent / "size.safetensors", "--interval")
        assert "must be above 0 and below 1, got 90: pass 0.9" in command(*common, 90, status=2).stderr
        assert "--proba and --interval exclude" in command(*common, 0.9, "--proba", status=2).stderr
        found = command(*common, 0.999, status=2).stderr
        assert "--interval 0.999 needs 1999 held-out rows, but the model was fitted with 200" in found
