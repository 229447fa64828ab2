import gzip
import json

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from kernelsketch import GCWS, GCWSClassifier, GCWSClassifierCV, GCWSRegressor, load_model
from kernelsketch.cli._memory import LIBRARIES

SMALL = ("-k", 32)


def assert_same(found, expected):
    np.testing.assert_array_equal(found.used_codes_, expected.used_codes_)
    np.testing.assert_array_equal(found.fitted_.weights, expected.fitted_.weights)
    np.testing.assert_array_equal(found.fitted_.intercepts, expected.fitted_.intercepts)


@pytest.fixture(scope="module")
def expected(digits):
    return GCWSClassifier(32).fit(*digits)


@pytest.mark.parametrize("format", ["svm", "svm.gz", "csv", "parquet", "npy", "npz"])
def test_weights_are_those_of_fit(command, files, expected, tmp_path, format):
    plain = ("--plain",) if format in ("csv", "parquet") else ()
    command("train", *files[format], *plain, *SMALL, "-m", tmp_path / "m.safetensors")
    model = load_model(tmp_path / "m.safetensors")
    assert_same(model, expected)
    assert model.n_features_in_ == 64
    assert model.classes_.tolist() == list(range(10))
    if format in ("csv", "parquet"):
        assert model.feature_names_in_.tolist() == [f"pixel{j}" for j in range(64)]


@pytest.mark.parametrize(("room", "options"), [(500e6, ()), (750e6, ("--threads", 1)), (3e9, ())])
def test_neither_memory_nor_threads_matter(command, files, tmp_path, room, options):
    options = ("--memory", f"{LIBRARIES + room:.0f}", *options)
    for name, given in (("a", ()), ("b", options)):
        command("train", *files["svm"], *SMALL, *given, "-m", tmp_path / f"{name}.safetensors")
    paths = [tmp_path / f"{name}.safetensors" for name in "ab"]
    if "--threads" not in options:  # which are a parameter of the model
        assert paths[0].read_bytes() == paths[1].read_bytes()
    assert_same(*map(load_model, paths))


def test_rows_in_blocks_of_different_widths(command, files, expected, tmp_path, small_blocks):
    """The first blocks do not have the last feature."""
    small_blocks()
    command("train", *files["svm"], *SMALL, "-m", tmp_path / "m.safetensors")
    assert_same(load_model(tmp_path / "m.safetensors"), expected)
    assert load_model(tmp_path / "m.safetensors").n_features_in_ == 64


def test_standard_input(command, files, expected, tmp_path):
    text = files["svm"][0].read_bytes()
    for content in (text, gzip.compress(text)):
        command("train", "-", *SMALL, "-m", tmp_path / "m.safetensors", stdin=content)
        assert_same(load_model(tmp_path / "m.safetensors"), expected)


def test_codes_give_the_same_model(command, files, tmp_path):
    command("train", *files["svm"], *SMALL, "-p", 2, "--seed", 7, "-m", tmp_path / "rows.safetensors")
    command("hash", *files["svm"], tmp_path / "codes.safetensors", *SMALL, "-p", 2, "--seed", 7)
    command("train", tmp_path / "codes.safetensors", "-m", tmp_path / "model.safetensors")
    assert (tmp_path / "model.safetensors").read_bytes() == (tmp_path / "rows.safetensors").read_bytes()
    found = command("train", tmp_path / "codes.safetensors", "-k", 64, "-m", tmp_path / "x.safetensors", status=2)
    assert "holds codes with --n-components 32, but the command line has 64" in found.stderr


def test_parameters_reach_the_model(command, iris, tmp_path):
    frame, path = iris
    options = ("-b", 4, "--t-bits", 2, "-p", 0.5, "-C", 3, "--loss", "log_loss", "--balanced", "--tol", 1e-5)
    options = ("--plain", *SMALL, *options, "--max-iter", 500)
    command("train", path, "--label", "kind", *options, "-m", tmp_path / "m.safetensors")
    given = {"bits": 4, "t_bits": 2, "p": 0.5, "C": 3.0, "loss": "log_loss", "class_weight": "balanced", "tol": 1e-5}
    expected = GCWSClassifier(32, **given, max_iter=500).fit(frame.drop(columns="kind"), frame["kind"])
    model = load_model(tmp_path / "m.safetensors")
    assert_same(model, expected)
    assert model.get_params() == expected.set_params(n_jobs=-1).get_params()
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]


@pytest.mark.parametrize("hashed", [False, True])
def test_cross_validation(command, files, digits, tmp_path, hashed):
    source = files["svm"]
    if hashed:
        command("hash", *files["svm"], tmp_path / "codes.safetensors", *SMALL)
        source = (tmp_path / "codes.safetensors",)
    found = command("train", *source, *(() if hashed else SMALL), "--cv", "-m", tmp_path / "m.safetensors", "--json")
    expected = GCWSClassifierCV(32).fit(GCWS(32).fit(digits[0]).codes(digits[0]), digits[1])
    model = load_model(tmp_path / "m.safetensors")
    assert_same(model, expected)
    facts = json.loads(found.stdout)
    assert facts["C"] == expected.C_
    assert facts["cv_accuracy"] == pytest.approx(expected.scores_.mean(axis=0).max())
    assert model.n_features_in_ == 64


def test_regression(command, tmp_path):
    frame = load_diabetes(as_frame=True).frame
    frame.to_csv(tmp_path / "d.csv", index=False)
    for name, given in {"huber": {}, "quantile": {"quantile": 0.9}}.items():
        options = ["--label", -1, "--plain", "--regression", "--loss", name, "-C", 0.1]
        options += [part for key, value in given.items() for part in (f"--{key}", value)]
        command("train", tmp_path / "d.csv", *SMALL, *options, "-m", tmp_path / "m.safetensors")
        expected = GCWSRegressor(32, loss=name, C=0.1, **given).fit(frame.iloc[:, :-1], frame.iloc[:, -1])
        assert_same(load_model(tmp_path / "m.safetensors"), expected)


def test_what_is_told(command, files, tmp_path):
    found = command("train", *files["svm"], *SMALL, "-m", tmp_path / "m.safetensors")
    lines = dict(line.split("  ", 1) for line in found.stdout.splitlines())
    assert lines["data"].strip() == "600 rows of 64 features (libsvm)"
    assert lines["classes"].strip() == "10: 0, 1, 2, 3, 4, 5, ..."
    assert found.stderr == ""
    facts = json.loads(command("train", *files["svm"], *SMALL, "-m", tmp_path / "m.safetensors", "--json").stdout)
    assert facts["rows"] == 600
    assert facts["classes"] == list(range(10))
    assert facts["bytes"] == (tmp_path / "m.safetensors").stat().st_size
    assert facts["duality_gap"] <= 1e-3


def test_failures_leave_no_file(command, files, iris, tmp_path):
    model = tmp_path / "m.safetensors"
    (tmp_path / "none.svm").touch()
    (tmp_path / "text.svm").write_text("cat 1:1\ndog 1:2\n")
    (tmp_path / "values.svm").write_text("1 1:1\n0.5 1:2\n")
    (tmp_path / "one.svm").write_text("1 1:1\n1 1:2\n")
    (tmp_path / "bad.svm").write_text("1 1:1\n2 1:1\n1 2;2\n")
    for options, message in [
        (
            (iris[1], "--plain"),
            "column 5 ('kind'): 'virginica' is not a number. Encode the column, ",
        ),
        ((files["npy"][0],), "has no labels. Name their column with --label COLUMN; -1 is the last."),
        ((*files["svm"], "--memory", "100MB"), "--memory 100MB is too small"),
        ((tmp_path / "none.svm",), "has no rows"),
        ((tmp_path / "text.svm", "--regression"), "are text, for example 'cat', but --regression needs numbers"),
        ((tmp_path / "values.svm",), "are not integers, for example 0.5"),
        ((tmp_path / "label=1" / "x.svm",), "label=1/x.svm cannot be read"),
        ((tmp_path / "one.svm",), "only one class"),
        ((tmp_path / "bad.svm",), "bad.svm, line 3, column 3"),
        ((tmp_path / "gone.svm",), "cannot be read: No such file"),
    ]:
        found = command("train", *options, "-m", model, status=1)
        assert message in found.stderr, found.stderr
        assert found.stderr.startswith("kernelsketch: ")
        assert len(found.stderr.splitlines()) == 1
    for options, message in [
        (("--label", "3"), "--label 3 does not apply to"),
        (("--n-features", 8), "but --n-features 8. Pass a larger number, or leave it out."),
        (("--gamma", 2, "--t-bits", 1), "--t-bits 1 cannot be used with --gamma 2"),
    ]:
        assert message in command("train", *files["svm"], *options, "-m", model, status=2).stderr
    found = command("train", *files["svm"], "-m", tmp_path / "no" / "m.safetensors", status=1)
    assert "There is no folder" in found.stderr
    assert not model.exists()


def test_wrong_usage(command, files):
    assert "--model" in command("train", *files["svm"], status=2).stderr
    assert "is not a size" in command("train", *files["svm"], "-m", "x", "--memory", "many", status=2).stderr
    assert "--bits" in command("train", *files["svm"], "-m", "x", "--bits", 17, status=2).stderr
    for options, message in [
        (("--loss", "huber"), "--loss huber is not a loss for classification: use one of squared_hinge, hinge"),
        (("--regression", "--cv"), "--cv needs classes"),
        (("--regression", "--quantile", 0.9), "--quantile belongs to --loss quantile"),
        (("--regression", "--loss", "quantile", "--quantile", 1.5), "--quantile must be"),
        (("--cv", "-C", 2), "leave --C out"),
        (("--threads", 0), "--threads must be -1 or positive, got 0."),
    ]:
        assert message in command("train", *files["svm"], "-m", "x", *options, status=2).stderr


def test_codes_without_labels(command, tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 4))
    GCWS(8).fit(X).codes(X).save(tmp_path / "codes.safetensors")
    found = command("train", tmp_path / "codes.safetensors", "-m", tmp_path / "model", status=1)
    assert "holds codes without labels: hash a file of rows that has labels" in found.stderr
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("options", [(), ("--cv",), ("--regression",)])
def test_codes_of_several_views(command, digits, files, tmp_path, small_blocks, options):
    """Codes from Python: the command takes the views from the file, and models of them predict rows of any file."""
    X, y = digits
    codes, model = tmp_path / "codes.safetensors", tmp_path / "m.safetensors"
    hasher = GCWS(32, views=[40, 24]).fit(X)
    hasher.codes(X).save(codes, y)
    command("train", codes, *options, "-m", model)
    kind = {"--cv": GCWSClassifierCV, "--regression": GCWSRegressor}.get("".join(options), GCWSClassifier)
    expected = kind(32, views=[40, 24]).fit(X, y)
    assert_same(load_model(model), expected)
    small_blocks()  # some blocks lack the last feature
    for rows in ("svm", "npz"):
        found = command("predict", *files[rows], "-m", model).stdout.split()
        np.testing.assert_allclose(np.array(found, float), expected.predict(X), rtol=1e-5)
    (tmp_path / "wide.svm").write_text("0 3:5 900:4\n")
    assert "X has 900 features, but views=[40, 24] needs 64" in command(
        "predict", tmp_path / "wide.svm", "-m", model, status=1
    ).stderr.replace("\n", " ")
    for path in (codes, model):
        assert "40, 24" in command("info", path).output


def test_very_many_numbers_as_classes_are_refused_unless_asked_for(command, tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"{value:.3f},{number}" for value, number in zip(rng.normal(size=1200), rng.permutation(1200) // 2, strict=True)
    ]
    path, model = tmp_path / "many.csv", tmp_path / "m.safetensors"
    path.write_text("\n".join(["x,y", *lines]))
    for options in (["--plain", "-k", 4], ["--effort", "quick"]):
        found = command("train", path, "--label", "y", "-m", model, *options, status=2)
        assert "are 600 different numbers in 1,200 rows" in found.stderr
        assert "--regression" in found.stderr
        assert "--classes" in found.stderr
        assert not model.exists()
    command("train", path, "--label", "y", "-m", model, "--plain", "-k", 4, "--regression")
    few = tmp_path / "few.csv"  # more than half of the rows have labels of their own: scikit-learn warns of that
    few.write_text("\n".join(["x,y", *(f"{i * i % 97},{i % 40}" for i in range(60))]))
    for options in (["--plain", "-k", 1, "-b", 1, "--tol", 0.5], ["--effort", "quick", "--budget", 1]):
        command("train", few, "--label", "y", "-m", model, *options, "--classes")
    command("train", path, "--label", "y", "-m", model, "--plain", "-k", 1, "-b", 1, "--classes", "--tol", 0.5)
    found = command("train", path, "--label", "y", "-m", model, "--regression", "--classes", status=2)
    assert "--classes needs classes" in found.stderr


def test_cross_validation_tells_its_stages(command, files, tmp_path):
    """Also without a terminal, and at once: a line for the rows, each fold, each C and the training at the end."""
    found = command("train", *files["svm"], "-k", 8, "--cv", "-m", tmp_path / "m.safetensors")
    lines = found.stderr.splitlines()
    assert lines[0] == "hashing: 600 rows"
    assert [line.split(",")[0] for line in lines[1:4]] == [f"cross-validation: fold {i}/3" for i in (1, 2, 3)]
    assert all("mean score" in line for line in lines[4:8])
    assert "training on all rows with C=" in lines[8]
    assert len(lines) == 9
    quiet = command("train", *files["svm"], "-k", 8, "--cv", "-m", tmp_path / "m.safetensors", "--quiet")
    assert quiet.stderr == ""


def test_labels_with_more_digits_than_a_number_keep_them(command, tmp_path):
    """Ids above 2**53 differ in digits that a float64 does not have."""
    ids = [9007199254740993, 9007199254740995, 9007199254740997]
    rows = [(id, i % 7, (3 * i + k) % 11) for i in range(40) for k, id in enumerate(ids)]
    (tmp_path / "ids.csv").write_text("y,a,b\n" + "".join(f"{id},{a},{b}\n" for id, a, b in rows))
    (tmp_path / "ids.svm").write_text("".join(f"{id} 1:{a} 2:{b}\n" for id, a, b in rows))
    model = tmp_path / "m.safetensors"
    for name, options in {"ids.csv": ["--label", "y", "--plain"], "ids.svm": []}.items():
        found = json.loads(command("train", tmp_path / name, *options, "-k", 8, "-m", model, "--json").stdout)
        assert found["classes"] == list(map(str, ids))
        command("train", tmp_path / name, *options, "-k", 8, "-m", model, "--regression")
    exact = (tmp_path / "ids.svm").read_text().replace("9007199254740993", "9007199254740992")
    exact = exact.replace("9007199254740995", "9007199254740994").replace("9007199254740997", "9007199254740996")
    (tmp_path / "exact.svm").write_text(exact)
    found = json.loads(command("train", tmp_path / "exact.svm", "-k", 8, "-m", model, "--json").stdout)
    assert found["classes"] == [9007199254740992, 9007199254740994, 9007199254740996]
