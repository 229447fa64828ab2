"""Tables with categories, gaps and dates, from training to predictions."""

import gzip
import json
import os
import re
import signal
import sys

import numpy as np
import pandas as pd
import pytest

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor, load_model
from kernelsketch.cli._progress import ProgressMeter
from kernelsketch.cli._row_sample import KeptRows

QUICK = ("--effort", "quick")


def make_frame(n):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": [f"row {i}" for i in range(n)],
            "age": rng.integers(18, 80, n).astype(float),
            "city": rng.choice(["Paris", "Rome", "Oslo", "01"], n),
            "joined": (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")).strftime("%Y-%m-%d"),
            "score": rng.normal(size=n).round(3),
            "always": 1,
        }
    )
    hidden = (frame.age > 45) * 1.0 + (frame.city == "Rome") + (frame.score > 0)
    frame["kind"] = np.where(hidden > 1, "good", "bad")
    frame["price"] = (3 * hidden + 0.1 * rng.normal(size=n)).round(3)
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "city"] = None
    return frame


@pytest.fixture(scope="module")
def frame():
    return make_frame(500)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, frame, command):
    """Files of training and test rows, and models of classes and of prices."""
    folder = tmp_path_factory.mktemp("tables")
    for name, rows in (("train", frame[:400]), ("test", frame[400:])):
        rows.drop(columns="price").to_csv(folder / f"{name}.csv", index=False)
        rows.drop(columns="kind").to_csv(folder / f"{name}-prices.csv", index=False)
    command("train", folder / "train.csv", "--label", "kind", *QUICK, "-m", folder / "kind.safetensors")
    options = ("--label", "price", "--regression", *QUICK)
    command("train", folder / "train-prices.csv", *options, "-m", folder / "price.safetensors")
    return folder


@pytest.fixture(scope="module")
def predicted(folder, command):
    return command("predict", folder / "test.csv", "-m", folder / "kind.safetensors").stdout.split()


class TestTraining:
    def test_the_model_is_that_of_python(self, folder):
        rows = pd.read_csv(folder / "train.csv")
        expected = GCWSTabularClassifier("quick").fit(rows.drop(columns="kind"), rows["kind"])
        model = load_model(folder / "kind.safetensors")
        test = pd.read_csv(folder / "test.csv").drop(columns="kind")
        np.testing.assert_array_equal(model.predict_proba(test), expected.predict_proba(test))
        assert [column.kind for column in model.columns_] == [
            "category", "number", "category", "date", "number", "number"
        ]  # fmt: skip
        assert {**model.get_params(), "n_jobs": None} == expected.get_params()

    def test_what_is_told(self, folder, command, tmp_path):
        found = command("train", folder / "train.csv", "--label", "kind", *QUICK, "-m", tmp_path / "m.safetensors")
        lines = dict(line.split("  ", 1) for line in found.stdout.splitlines())
        assert lines["data"].strip() == "400 rows, 6 columns (csv)"
        assert lines["columns"].strip() == "2 numbers, 1 category, 1 date"
        assert lines["not used"].strip().startswith("id (nearly every row has its own category); always (")
        assert lines["blend"].strip().startswith("C=1")
        scores = (
            r"accuracy \d\d\.\d\d % ± \d\.\d\d \(the largest class: \d\d\.\d\d %\), AUC 0\.\d{4}, log-loss 0\.\d{4}"
        )
        assert re.fullmatch(scores, lines["held out"].strip())
        stages = ("reading: ", "learning: ")  # which a machine that does other work shows after a few seconds
        assert [line for line in found.stderr.splitlines() if not line.startswith(stages)] == []
        options = ("--label", "kind", *QUICK, "-m", tmp_path / "m.safetensors", "--json")
        facts = json.loads(command("train", folder / "train.csv", *options).stdout)
        assert (facts["rows"], facts["n_features"], facts["effort"]) == (400, 6, "quick")
        assert facts["classes"] == ["bad", "good"]
        assert [column["used"] for column in facts["columns"]] == [False, True, True, True, True, False]
        model = load_model(folder / "kind.safetensors")
        assert facts["held_out_metric"] == "accuracy"
        assert facts["held_out_accuracy"] == model.held_out_score_ > 0.75
        assert facts["held_out_standard_error"] == model.held_out_error_
        for name in ("baseline_accuracy", "log_loss", "auc"):
            assert facts[f"held_out_{name}"] == model.held_out_scores_[name]
        assert sum(column["importance"] for column in facts["columns"]) == pytest.approx(1)

    def test_every_format_gives_the_same_model(self, frame, folder, command, predicted, tmp_path):
        rows = frame[:400].drop(columns="price")
        rows.to_parquet(tmp_path / "a.parquet", index=False)
        rows.to_feather(tmp_path / "a.feather")
        rows.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
        (tmp_path / "a.csv.gz").write_bytes(gzip.compress((folder / "train.csv").read_bytes()))
        frame[400:].to_parquet(tmp_path / "test.parquet", index=False)
        for name in ("a.parquet", "a.feather", "a.tsv", "a.csv.gz"):
            command("train", tmp_path / name, "--label", "kind", *QUICK, "-m", tmp_path / "m.safetensors")
            for test in (folder / "test.csv", tmp_path / "test.parquet"):
                assert command("predict", test, "-m", tmp_path / "m.safetensors").stdout.split() == predicted

    def test_several_blocks(self, folder, command, monkeypatch, small_blocks, tmp_path):
        small_blocks()  # 146 rows
        command("train", folder / "train.csv", "--label", "kind", *QUICK, "-m", tmp_path / "m.safetensors")
        assert (tmp_path / "m.safetensors").read_bytes() == (folder / "kind.safetensors").read_bytes()
        in_blocks = command("predict", folder / "train.csv", "-m", tmp_path / "m.safetensors", "--proba").stdout
        monkeypatch.undo()
        assert command("predict", folder / "train.csv", "-m", tmp_path / "m.safetensors", "--proba").stdout == in_blocks

    def test_groups_and_time(self, folder, command, tmp_path):
        rows = pd.read_csv(folder / "train.csv").assign(shop=np.arange(400) // 8, hour=np.arange(400)[::-1])
        rows.to_csv(tmp_path / "rows.csv", index=False)
        common = ("train", tmp_path / "rows.csv", "--label", "kind", *QUICK, "-m", tmp_path / "m.safetensors")
        for name, column in (("groups", "shop"), ("time", "hour")):
            facts = json.loads(command(*common, "--json", f"--{name}", column).stdout)
            model = GCWSTabularClassifier("quick").fit(rows.drop(columns="kind"), rows["kind"], **{name: column})
            assert facts["held_out_accuracy"] == model.held_out_score_
        assert "exclude each other" in command(*common, "--groups", "shop", "--time", "hour", status=2).stderr
        assert "--groups store, but X has no column 'store'" in command(*common, "--groups", "store", status=2).stderr

    def test_budget(self, folder, command, tmp_path):
        options = (
            "--label",
            "kind",
            "--budget",
            0.001,
            "--effort",
            "thorough",
            "--json",
            "-m",
            tmp_path / "m.safetensors",
        )
        facts = json.loads(command("train", folder / "train.csv", *options).stdout)
        assert facts["n_components"] < 9216
        model = load_model(tmp_path / "m.safetensors")
        assert model.budget == facts["budget"] == 0.001
        assert facts["fitted_effort"] == model.effort_
        assert model.effort_["effort"] == "thorough"
        shown = command("train", folder / "train.csv", *options[:4], "-m", tmp_path / "m.safetensors").stdout
        assert re.search(
            r"budget +trained on 100 of 400 rows, 192 of 2304 hashes, .* 1 of 4 values of C, up to 0 of", shown
        )

    @pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
    @pytest.mark.filterwarnings("ignore::kernelsketch.exceptions.InterruptWarning")
    def test_ctrl_c(self, folder, command, tmp_path, monkeypatch):
        show, came = ProgressMeter.show, []

        def interrupting(meter, fraction, text):
            show(meter, fraction, text)
            if text.startswith("fold 3 of 5, C=") and not came:
                came.append(text)
                os.kill(os.getpid(), signal.SIGINT)

        monkeypatch.setattr(ProgressMeter, "show", interrupting)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started the tests without
        try:
            given = ("train", folder / "train.csv", "--label", "kind", "-m", tmp_path / "m.safetensors")
            command(*given, status=130)
            assert not (tmp_path / "m.safetensors").exists()
            came.clear()
            shown = command(*given, "--on-interrupt", "keep").stdout
        finally:
            signal.signal(signal.SIGINT, before)
        assert re.search(r"interrupted +trained on 400 of 400 rows, .*, up to 0 of 320 trees, 2\s+of 5 folds", shown)
        assert load_model(tmp_path / "m.safetensors").effort_["n_scored_folds"] == 2

    def test_other_options_of_learning(self, folder, command, tmp_path):
        options = ("--label", "kind", *QUICK, "--balanced", "--seed", 3, "--threads", 1)
        command("train", folder / "train.csv", *options, "-m", tmp_path / "m.safetensors")
        model = load_model(tmp_path / "m.safetensors")
        assert (model.class_weight, model.random_state, model.n_jobs) == ("balanced", 3, 1)

    def test_choices_about_columns(self, folder, command, frame, tmp_path):
        rows = frame[:400].drop(columns="price").assign(code=np.tile([3, 14], 200), ratio=1.0)
        rows.loc[::50, "ratio"] = np.inf
        rows.to_csv(tmp_path / "named.csv", index=False)
        rows.to_csv(tmp_path / "bare.csv", index=False, header=False)
        place = {name: list(rows.columns).index(name) for name in ("id", "city", "code", "kind")}
        options = ("--infinity", "missing", "--max-categories", 2, *QUICK, "-m", tmp_path / "m.safetensors")
        for name, of in (("named", str), ("bare", place.get)):
            given = ("--label", of("kind"), "--categorical", of("code"), "--drop", of("id"), "--drop", of("city"))
            command("train", tmp_path / f"{name}.csv", *given, *options)
            model = load_model(tmp_path / "m.safetensors")
            choices = {column.name: column.choice for column in model.columns_ if column.choice}
            names = ("id", "city", "code") if name == "named" else ("x0", "x2", "x6")
            assert choices == dict(zip(names, ("dropped", "dropped", "category"), strict=True))
            assert model.max_categories == 2
            expected = model.predict(
                rows.drop(columns=["kind"]) if name == "named" else rows.drop(columns="kind").values
            )
            for left_out in ([], ["id", "city"]):
                part = rows.drop(columns=["kind", *left_out])
                part.to_csv(tmp_path / "new.csv", index=False, header=name == "named")
                header = () if name == "named" else ("--no-header",)
                shown = command("predict", tmp_path / "new.csv", *header, "-m", tmp_path / "m.safetensors").stdout
                assert shown.split() == expected.tolist()
        table = (tmp_path / "named.csv", "--label", "kind", *options)
        message = "--drop has 'cty', which is no column of X. Did you mean 'city'?"
        assert message in command("train", *table, "--drop", "cty", status=2).stderr
        message = "--categorical has 'cody', which is no column of X. Did you mean 'code'?"
        assert message in command("train", *table, "--categorical", "cody", status=2).stderr
        bare = (tmp_path / "bare.csv", "--label", place["kind"], "--drop", place["kind"], *options)
        assert "--drop 6 is the label column" in command("train", *bare, status=2).stderr

    def test_files_without_categories_keep_the_plain_hash(self, command, files, tmp_path):
        for name in ("svm", "npy", "npz"):
            command("train", *files[name], "-k", 8, "-m", tmp_path / "m.safetensors")
            assert type(load_model(tmp_path / "m.safetensors")).__name__ == "GCWSClassifier"
        command("convert", *files["svm"], tmp_path / "sparse.parquet")
        command("train", tmp_path / "sparse.parquet", "--label", "label", "-k", 8, "-m", tmp_path / "m.safetensors")
        assert type(load_model(tmp_path / "m.safetensors")).__name__ == "GCWSClassifier"

    def test_options_of_the_other_kind(self, folder, command, files):
        table, rows = (folder / "train.csv", "--label", "kind", "-m", "x"), (*files["svm"], "-m", "x")
        for options in (("-k", 1024), ("--C", 1), ("--cv",), ("--loss", "log_loss"), ("--tol", 1e-3), ("--gamma", 1)):
            assert "add --plain to use --" in command("train", *table, *options, status=2).stderr
        for given, options in (
            *((rows, QUICK), (rows, ("--budget", 3)), ((*table, "--plain"), QUICK)),
            *((rows, ("--drop", "a")), (rows, ("--infinity", "missing")), (rows, ("--categorical", "a"))),
        ):
            assert "only tables" in command("train", *given, *options, status=2).stderr
        assert "--budget must be" in command("train", *table, "--budget", 0, status=2).stderr
        assert "--effort" in command("train", *table, "--effort", "much", status=2).stderr

    def test_failures_leave_no_file(self, folder, command, tmp_path):
        model = tmp_path / "m.safetensors"
        (tmp_path / "gap.csv").write_text("a,b,y\n1,2,x\n2,3,\n")
        (tmp_path / "short.csv").write_text("a,b,y\n1,2,x\n2,y\n")
        (tmp_path / "none.csv").write_text("a,b,y\n")
        (tmp_path / "one.csv").write_text("a,b,y\n1,2,x\n2,3,x\n")
        (tmp_path / "twice.csv").write_text("a,a,y\n1,2,x\n2,3,z\n")
        (tmp_path / "infinite.csv").write_text("a,b,y\n1,inf,x\n2,3,z\n")
        for options, message in [
            ((folder / "train.csv",), "has no labels. Name their column with --label COLUMN; -1 is the last."),
            ((folder / "train.csv", "--label", "kind", "--regression"), "are text, for example"),
            ((folder / "train.csv", "--label", "score"), "To predict numbers, pass --regression"),
            ((folder / "train.csv", "--label", "kind", "--memory", "100MB"), "--memory 100MB is too small"),
            ((tmp_path / "gap.csv", "--label", "y"), "gap.csv, line 3, column 3 ('y'): the label is missing"),
            ((tmp_path / "short.csv", "--label", "y"), "line 3: the row has 2 cells, the first has 3"),
            ((tmp_path / "none.csv", "--label", "y"), "has no rows"),
            ((tmp_path / "one.csv", "--label", "y"), "only one class"),
            ((tmp_path / "twice.csv", "--label", "y"), "two columns of X have the name 'a'"),
            ((tmp_path / "infinite.csv", "--label", "y"), "column 'b' contains infinity"),
        ]:
            found = command("train", *options, "-m", model, status=1)
            assert message in found.stderr, found.stderr
            assert len(found.stderr.splitlines()) == 1
        for label, message in [
            ("knd", "has no column of that name. Its columns are 'id', 'age'"),
            (9, "has 7 columns. Pass 0 to 6"),
        ]:
            assert message in command("train", folder / "train.csv", "--label", label, "-m", model, status=2).stderr
        assert not model.exists()

    def test_tables_that_do_not_fit_in_memory(self, folder, command, tmp_path, monkeypatch):
        monkeypatch.setattr("kernelsketch.cli.work.train_table.memory_left", lambda _: 100_000)
        options = ("--label", "kind", "-m", tmp_path / "m.safetensors")
        found = command("train", folder / "train.csv", *options, status=1)
        assert re.search(r"or more, pass --sample \d+ to .*, take --effort quick, or add --plain", found.stderr)


class TestSamples:
    """``train --sample``: a random part of a file that may be larger than memory."""

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_any_blocks_give_the_same_rows(self, ending):
        """Blocks of 1, 7 and 1,000 rows, of text and of pyarrow."""
        pyarrow = pytest.importorskip("pyarrow")
        X = np.arange(2000).astype(str).astype(object)[:, None]
        found = []
        for step in (1, 7, 1000):
            kept = KeptRows(100, 3)
            for start in range(0, len(X), step):
                block = X[start : start + step]
                table = block if ending == "csv" else pyarrow.table({"a": block[:, 0]})
                kept.add(table, np.arange(start, start + len(block)))
                assert len(kept) <= 112 + step
            kept.finish()
            assert len(kept) == 100
            rows = np.concatenate([part if ending == "csv" else part["a"].to_numpy()[:, None] for part in kept.X])
            np.testing.assert_array_equal(rows[:, 0].astype(int), np.concatenate(kept.y))
            found.append(np.concatenate(kept.y))
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])
        assert (np.diff(found[0]) > 0).all()

    def test_every_row_is_equally_likely(self):
        """Of 400 samples of 50 among 200 rows; a count beyond 5 deviations occurs in one of 10^4 runs."""
        counts = np.zeros(200)
        for seed in range(400):
            kept = KeptRows(50, seed)
            for start in range(0, 200, 33):
                numbers = np.arange(start, min(200, start + 33))
                kept.add(numbers[:, None], numbers)
            kept.finish()
            counts[np.concatenate(kept.y)] += 1
        assert counts.sum() == 400 * 50
        assert np.abs(counts - 100).max() < 5 * np.sqrt(400 * 0.25 * 0.75)

    def test_the_model_is_that_of_the_rows(self, frame, folder, command, tmp_path):
        kept = KeptRows(150, 7)
        kept.add(np.arange(400)[:, None], np.arange(400))
        kept.finish()
        rows = frame[:400].drop(columns="price").iloc[np.concatenate(kept.y)]
        rows.to_csv(tmp_path / "rows.csv", index=False)
        for name, options in (("a", ("--sample", 150)), ("b", ())):
            file = folder / "train.csv" if options else tmp_path / "rows.csv"
            given = ("--label", "kind", *QUICK, "--seed", 7, "-m", tmp_path / f"{name}.safetensors", "--json")
            facts = json.loads(command("train", file, *given, *options).stdout)
            assert (facts["rows"], facts["training_rows"]) == ((400, 150) if options else (150, 150))
        X = frame[400:].drop(columns=["kind", "price"])
        first, second = (load_model(tmp_path / f"{name}.safetensors") for name in "ab")
        np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))

    def test_the_summary_states_it(self, folder, command, tmp_path):
        options = ("--label", "kind", *QUICK, "-m", tmp_path / "m.safetensors")
        found = command("train", folder / "train.csv", *options, "--sample", 100)
        assert "400 rows, 6 columns (csv); 100 rows at random train" in found.stdout
        assert "at random" not in command("train", folder / "train.csv", *options, "--sample", 400).stdout

    def test_a_table_that_does_not_fit_names_a_sample_that_does(self, folder, command, tmp_path, monkeypatch):
        monkeypatch.setattr("kernelsketch.cli.work.train_table.memory_left", lambda _: 600_000)
        options = ("--label", "kind", *QUICK, "-m", tmp_path / "m.safetensors")
        found = command("train", folder / "train.csv", *options, status=1)
        rows = int(re.search(r"pass --sample (\d+) to train on so many rows at random", found.stderr)[1])
        assert 100 < rows < 400
        command("train", folder / "train.csv", *options, "--sample", rows)
        assert "too small" in command("train", folder / "train.csv", *options, "--sample", 2 * rows, status=1).stderr

    def test_bad_values(self, folder, command, tmp_path):
        given = ("train", folder / "train.csv", "--label", "kind", "-m", tmp_path / "m.safetensors")
        assert "--sample" in command(*given, "--sample", 1, status=2).stderr
        assert "only tables" in command(*given, "--sample", 100, "--plain", status=2).stderr


class TestPrediction:
    def test_accuracy(self, frame, predicted):
        assert np.mean(np.array(predicted) == frame["kind"][400:]) > 0.8

    def test_columns_in_another_order_and_others_between(self, frame, folder, command, predicted, tmp_path):
        moved = frame[400:].assign(other="x")[["other", *frame.columns[::-1]]]
        moved.to_csv(tmp_path / "moved.csv", index=False)
        found = command("predict", tmp_path / "moved.csv", "-m", folder / "kind.safetensors")
        assert found.stdout.split() == predicted

    def test_a_missing_column(self, frame, folder, command, tmp_path):
        frame[400:].drop(columns="city").to_csv(tmp_path / "x.csv", index=False)
        found = command("predict", tmp_path / "x.csv", "-m", folder / "kind.safetensors", status=1)
        assert "has no column 'city', on which the model was trained" in found.stderr
        assert found.stdout == ""

    def test_a_missing_column_may_have_another_name_or_delimiter(self, tmp_path, folder, frame, command):
        cases = {
            " It has 'City': rename this column if it is the same.": frame.rename(columns={"city": "City"}).to_csv(),
            " more ';' than ',': pass --delimiter ';' if they separate the cells.": frame.to_csv(sep=";"),
            " once, in any order.": frame.drop(columns="city").to_csv(),
        }
        for end, text in cases.items():
            (tmp_path / "rows.csv").write_text(text)
            found = command("predict", tmp_path / "rows.csv", "-m", folder / "kind.safetensors", status=1).stderr
            assert found.rstrip().endswith(end)

    @pytest.mark.filterwarnings("default:X does not have valid feature names")
    def test_files_without_header(self, frame, folder, command, predicted, tmp_path):
        rows, model = frame[400:].drop(columns="price"), folder / "kind.safetensors"
        rows.to_csv(tmp_path / "bare.csv", index=False, header=False)
        found = command("predict", tmp_path / "bare.csv", "--label", -1, "-m", model)
        assert found.stdout.split() == predicted
        assert "X does not have valid feature names" in " ".join(found.stderr.split())
        found = command("predict", tmp_path / "bare.csv", "-m", model, status=1)
        assert "has 7 columns, but the model was trained on 6" in found.stderr
        found = command("predict", folder / "test.csv", "--no-header", "--label", -1, "-m", model, status=1)
        assert "has the names of the columns: pass --header" in found.stderr

    def test_models_that_know_no_names(self, command, tmp_path):
        path, model = tmp_path / "bare.csv", tmp_path / "m.safetensors"
        path.write_text("".join(f"{i % 7},{'ab'[i % 2]},{'yn'[i % 2]}\n" for i in range(60)))
        command("train", path, "--label", -1, *QUICK, "-m", model)
        assert load_model(model).n_features_in_ == 2
        for text, rows in (("3,a\n4,b\n", 2), ("size,colour\n3,a\n", 1), ("3,zzz\n", 1)):
            found = command("predict", "-", "--format", "csv", "-m", model, stdin=text)
            assert len(found.stdout.split()) == rows
        for text in ("NA,b\n3,a\n", ",b\n3,a\n"):
            found = command("predict", "-", "--format", "csv", "-m", model, stdin=text, status=1)
            assert "pass --no-header or --header" in found.stderr
        for option, rows in (("--no-header", 2), ("--header", 1)):
            found = command("predict", "-", "--format", "csv", option, "-m", model, stdin="NA,b\n3,a\n")
            assert len(found.stdout.split()) == rows

    def test_errors_name_the_row_of_the_file(self, folder, command, small_blocks, tmp_path):
        rows = pd.read_csv(folder / "train.csv", dtype=object)
        rows.loc[333, "age"] = "old"
        rows.to_csv(tmp_path / "x.csv", index=False)
        small_blocks()
        for name, options in (("predict", ()), ("evaluate", ("--label", "kind"))):
            found = command(name, tmp_path / "x.csv", *options, "-m", folder / "kind.safetensors", status=1).stderr
            row, first = map(int, re.search(r"holds 'old' in row (\d+).* Row 0 is row (\d+)", found).groups())
            assert row + first == 333

    def test_one_row_at_a_time(self, frame, folder, command, predicted):
        """A row is read as the training rows were, whatever its cells look like alone."""
        rows = frame[400:].drop(columns=["kind", "price"])
        for i in [int(np.argmax(rows["city"] == "01")), int(np.argmax(rows["age"].isna()))]:
            text = rows[i : i + 1].to_csv(index=False)
            found = command("predict", "-", "--format", "csv", "-m", folder / "kind.safetensors", stdin=text)
            assert found.stdout.split() == predicted[i : i + 1]

    def test_probabilities_and_scores(self, folder, command, predicted):
        test, model = folder / "test.csv", folder / "kind.safetensors"
        rows = pd.read_csv(test).drop(columns="kind")
        lines = command("predict", test, "-m", model, "--proba").stdout.splitlines()
        assert lines[0].split("\t") == ["prediction", "probability_bad", "probability_good"]
        assert [line.split("\t")[0] for line in lines[1:]] == predicted
        values = np.array([line.split("\t")[1:] for line in lines[1:]], float)
        np.testing.assert_allclose(values, load_model(model).predict_proba(rows), rtol=1e-5)
        lines = command("predict", test, "-m", model, "--scores").stdout.splitlines()
        values = np.array([line.split("\t")[1] for line in lines[1:]], float)
        np.testing.assert_allclose(values, load_model(model).decision_function(rows), rtol=1e-5)
        first = json.loads(command("predict", test, "-m", model, "--proba", "--json").stdout.splitlines()[0])
        assert set(first) == {"prediction", "probability_bad", "probability_good"}

    def test_numbers(self, frame, folder, command):
        rows = pd.read_csv(folder / "train-prices.csv")
        expected = GCWSTabularRegressor("quick").fit(rows.drop(columns="price"), rows["price"])
        test = pd.read_csv(folder / "test-prices.csv").drop(columns="price")
        found = command("predict", folder / "test-prices.csv", "-m", folder / "price.safetensors").stdout.split()
        np.testing.assert_allclose(np.array(found, float), expected.predict(test))

    def test_formats_of_other_rows(self, command, files, digits, tmp_path):
        X, y = digits
        GCWSTabularClassifier("quick").fit(X[:200], y[:200]).save(tmp_path / "m.safetensors")
        expected = list(map(str, load_model(tmp_path / "m.safetensors").predict(X)))
        for name in ("npy", "npz", "csv"):
            assert command("predict", *files[name], "-m", tmp_path / "m.safetensors").stdout.split() == expected
        found = command("predict", *files["svm"], "-m", tmp_path / "m.safetensors", status=1)
        assert "has the format libsvm, but the model was trained on a table" in found.stderr


class TestInfo:
    def test_tables(self, folder, command):
        shown = command("info", folder / "train.csv", "--label", "kind").stdout
        assert "table (csv)" in shown
        assert "date: day, month, weekday" in shown
        facts = json.loads(command("info", folder / "train.csv", "--label", "kind", "--json").stdout)
        model = load_model(folder / "kind.safetensors")
        assert [column["treatment"] for column in facts["columns"]] == [c.treatment for c in model.columns_]
        assert sum(facts["labels"].values()) == facts["rows"] == 400

    def test_columns(self, folder, command):
        shown = command("info", folder / "kind.safetensors").stdout
        assert "not used: nearly every row has its own category" in shown
        assert "standard, quantile" in shown
        facts = json.loads(command("info", folder / "kind.safetensors", "--json").stdout)
        assert facts["kind"] == "model (GCWSTabularClassifier)"
        assert facts["classes"] == ["bad", "good"]
        model = load_model(folder / "kind.safetensors")
        assert [column["treatment"] for column in facts["columns"]] == [c.treatment for c in model.columns_]
        assert [c["missing"] for c in facts["columns"]] == [c.n_missing for c in model.columns_]
        assert (facts["effort"], facts["C"]) == ("quick", model.model_.C)
        assert (facts["trees_share"], facts["held_out_score"]) == (model.trees_share_, model.held_out_score_)
        assert "price" not in shown
        assert "GCWSTabularRegressor" in command("info", folder / "price.safetensors").stdout


class TestProgress:
    def test_one_line_per_stage_of_a_long_fit(self, folder, command, tmp_path, monkeypatch):
        monkeypatch.setattr("kernelsketch.cli._progress.FIRST", 0.0)
        monkeypatch.setattr("kernelsketch.cli._progress.SECONDS", 0.0)
        options = ("--label", "kind", *QUICK, "-m", tmp_path / "m.safetensors", "--json")
        found = command("train", folder / "train.csv", *options)
        stages = [line for line in found.stderr.splitlines() if line.startswith("learning: ")]
        assert stages[0].startswith("learning: 400 rows, 6 columns, ")
        assert any(line.startswith("learning: trained with C=") for line in stages)
        assert json.loads(found.stdout)["rows"] == 400
        assert command("train", folder / "train.csv", *options, "--quiet").stderr == ""
        assert load_model(tmp_path / "m.safetensors").verbose == 0


@pytest.mark.filterwarnings("ignore::kernelsketch.exceptions.RowsWarning")
def test_types_that_only_parquet_has(tmp_path, command, frame):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    n = len(frame)
    table = pa.table(
        {
            "score": frame.score.to_numpy(),
            "id": pa.array([None if i == 3 else 2**53 + 1 + i for i in range(n)], pa.int64()),
            "time": pa.array(np.datetime64("2024-01-01T00:00:00.123456789", "ns") + np.arange(n) * 10**14),
            "wait": pa.array([None if i == 5 else 1001 * i for i in range(n)], pa.duration("ns")),
            "kind": frame.kind.tolist(),
        }
    )
    path, model = tmp_path / "rows.parquet", tmp_path / "model.safetensors"
    pq.write_table(table, path)
    command("train", path, "--label", "kind", *QUICK, "-m", model)
    found = command("predict", path, "--label", "kind", "-m", model).stdout.split()
    loaded = load_model(model)
    assert [column.kind for column in loaded.columns_] == ["number", "number", "date", "number"]
    assert found == loaded.predict(table.drop_columns("kind")).tolist()


@pytest.mark.filterwarnings("default:X does not have valid feature names")
def test_a_file_without_names_warns(tmp_path, command, frame):
    frame = frame.dropna()
    np.save(tmp_path / "rows.npy", frame[["age", "score"]].to_numpy())
    frame[["age", "score", "kind"]].to_csv(tmp_path / "named.csv", index=False)
    command("train", tmp_path / "named.csv", "--label", "kind", *QUICK, "-m", tmp_path / "model.safetensors")
    model = load_model(tmp_path / "model.safetensors")
    found = command("predict", tmp_path / "rows.npy", "-m", tmp_path / "model.safetensors")
    assert "X does not have valid feature names" in " ".join(found.stderr.split())
    assert found.stdout.split() == model.predict(frame[["age", "score"]]).tolist()
