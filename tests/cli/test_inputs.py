"""What commands read: several files, folders and patterns; columns of weights, ids and several labels; encodings."""

import json

import numpy as np
import pandas as pd
import pytest

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor, load_model
from kernelsketch.cli._row_sample import KeptRows
from kernelsketch.formats import open_rows
from kernelsketch.neighbors import GCWSIndex

QUICK = ("--effort", "quick", "--quiet")


@pytest.fixture(scope="module")
def frame():
    rng, n = np.random.default_rng(0), 450
    frame = pd.DataFrame(
        {
            "key": [f"k{i}" for i in range(n)],
            "age": rng.integers(18, 80, n),
            "city": rng.choice(["Orléans", "Rome", "Oslo"], n),
            "score": rng.normal(size=n).round(3),
            "weight": rng.integers(0, 4, n),
        }
    )
    hidden = (frame.age > 45) * 1.0 + (frame.city == "Rome") + (frame.score > 0)
    frame["kind"] = np.where(hidden > 1, "good", "bad")
    frame["price"], frame["area"] = (3 * hidden).round(3), (hidden + frame.age / 9).round(3)
    frame["cheap"], frame["old"] = (frame.price < 4).astype(int), (frame.age > 50).astype(int)
    return frame


def parts_of(frame, folder, write):
    """Write three parts, of which the second has its columns in another order."""
    folder.mkdir()
    for number in range(3):
        part = frame[150 * number : 150 * (number + 1)]
        write(part[part.columns[::-1]] if number == 1 else part, folder / f"part-0000{number}")
    (folder / "_SUCCESS").touch()
    (folder / ".part-00000.crc").write_text("crc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, frame, command):
    folder = tmp_path_factory.mktemp("inputs")
    of_kind = frame[["key", "age", "city", "score", "weight", "kind"]]
    of_kind.to_csv(folder / "all.csv", index=False)
    of_kind.to_parquet(folder / "all.parquet", index=False)
    parts_of(of_kind, folder / "csv", lambda part, path: part.to_csv(f"{path}.csv", index=False))
    parts_of(of_kind, folder / "parquet", lambda part, path: part.to_parquet(f"{path}.snappy.parquet", index=False))
    command("train", folder / "all.csv", *KIND, "-m", folder / "kind.safetensors")
    return folder


KIND = ("--label", "kind", "--id", "key", "--sample-weight", "weight", *QUICK)
PLAIN = ("--label", "age", "--regression", "--plain", "-k", 32, "--quiet")


class TestSeveralFiles:
    @pytest.mark.parametrize("inputs", [["csv"], ["csv/part-*.csv"], [f"csv/part-0000{i}.csv" for i in range(3)]])
    def test_train_takes_parts_as_one_file(self, command, folder, tmp_path, inputs):
        model = tmp_path / "m.safetensors"
        command("train", *(folder / name for name in inputs), *KIND, "-m", model)
        assert model.read_bytes() == (folder / "kind.safetensors").read_bytes()

    def test_parquet(self, command, folder, tmp_path):
        for name in ("all.parquet", "parquet"):
            command("train", folder / name, *KIND, "-m", tmp_path / f"{name}.safetensors")
        models = [(tmp_path / f"{name}.safetensors").read_bytes() for name in ("all.parquet", "parquet")]
        assert models[0] == models[1]

    def test_predict_keeps_the_order(self, command, folder):
        model = folder / "kind.safetensors"
        expected = command("predict", folder / "all.csv", "-m", model).stdout
        first, second, third = (folder / "csv" / f"part-0000{i}.csv" for i in range(3))
        assert command("predict", folder / "csv", "-m", model).stdout == expected
        lines = expected.splitlines()
        assert command("predict", third, first, second, "-m", model).stdout.splitlines() == lines[300:] + lines[:300]

    def test_evaluate(self, command, folder):
        scores = [
            json.loads(command("evaluate", folder / name, "-m", folder / "kind.safetensors", "--json").stdout)
            for name in ("all.csv", "csv", "parquet")
        ]
        assert len({score["accuracy"] for score in scores}) == 1
        assert [score["rows"] for score in scores] == [450] * 3

    def test_a_row_that_is_wrong_is_that_of_its_file(self, command, folder, tmp_path):
        good = folder / "all.csv"
        (tmp_path / "bad.csv").write_text("key,age,city,score,weight,kind\nk,x1,Rome,0.5,1,good\n")
        shown = command("predict", good, tmp_path / "bad.csv", "-m", folder / "kind.safetensors", status=1).stderr
        assert "column 'age' held numbers during training, but holds 'x1' in row 0" in shown
        assert f"Row 0 is row 0 of {tmp_path / 'bad.csv'}." in shown

    def test_hash_and_plain_models(self, command, folder, tmp_path, frame):
        drop = ("--drop", "key", "--drop", "city", "--drop", "kind", "--drop", "weight")
        for name in ("all.csv", "csv"):
            command("hash", folder / name, tmp_path / f"{name}.safetensors", "-k", 16, "--label", "age", *drop)
            command("train", folder / name, *PLAIN, *drop, "-m", tmp_path / f"m-{name}.safetensors")
        for prefix in ("", "m-"):
            files = [(tmp_path / f"{prefix}{name}.safetensors").read_bytes() for name in ("all.csv", "csv")]
            assert files[0] == files[1]
        # The columns that the model lacks may hold text, in all files.
        model = load_model(tmp_path / "m-csv.safetensors")
        values = command("predict", folder / "csv", "-m", tmp_path / "m-csv.safetensors").stdout.split()
        np.testing.assert_allclose(list(map(float, values)), model.predict(frame[["score"]]), rtol=1e-12)
        facts = command("evaluate", folder / "csv", "-m", tmp_path / "m-csv.safetensors", "--json").stdout
        assert json.loads(facts)["rows"] == 450

    def test_sparse_parts(self, command, files, tmp_path):
        lines = files["svm"][0].read_text().splitlines(keepends=True)
        for number, part in enumerate((lines[:400], lines[400:])):  # the last feature is 0 in the first 400 rows
            (tmp_path / f"part-{number}.svm").write_text("".join(part))
        for name, inputs in (("one", files["svm"]), ("parts", [tmp_path / "part-*.svm"])):
            command("train", *inputs, "-k", 16, "-m", tmp_path / f"{name}.safetensors", "--quiet")
            command("index", "build", *inputs, "-i", tmp_path / f"{name}.index", "--quiet")
        for suffix in ("safetensors", "index"):
            assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"parts.{suffix}").read_bytes()

    def test_one_sample_of_all_rows(self, command, folder, tmp_path):
        for name in ("all.parquet", "parquet"):
            options = (*KIND, "--sample", 120, "--seed", 4, "-m", tmp_path / f"{name}.safetensors", "--json")
            facts = json.loads(command("train", folder / name, *options).stdout)
            assert (facts["rows"], facts["training_rows"]) == (450, 120)
        models = [(tmp_path / f"{name}.safetensors").read_bytes() for name in ("all.parquet", "parquet")]
        assert models[0] == models[1]

    def test_the_sample_is_one_of_all_parts(self, folder):
        """Each part has rows in the sample in about its share: of 60 rows, 20 with a standard deviation of 3.4."""
        kept = KeptRows(60, 0)
        for block in open_rows(sorted(map(str, (folder / "csv").glob("part*"))), label="key", as_table=True):
            kept.add(block.X, block.y)
        kept.finish()
        parts = [int(key[1:]) // 150 for key in np.concatenate(kept.y).tolist()]
        assert len(parts) == 60
        assert all(3 < parts.count(number) < 37 for number in range(3))  # within five standard deviations

    def test_what_is_refused(self, command, folder, tmp_path):
        model, good = folder / "kind.safetensors", folder / "all.csv"
        (tmp_path / "less.csv").write_text("key,age,weight,kind\na,1,1,good\n")
        (tmp_path / "year=2024").mkdir()
        (tmp_path / "year=2024" / "part-0.csv").write_bytes(good.read_bytes())
        for inputs, message in (
            ((good, tmp_path / "less.csv"), "less.csv has no column 'city', 'score', but "),
            ((good, folder / "all.parquet"), "all.parquet has the format parquet, but "),
            ((tmp_path,), "has folders of partitions such as year=2024"),
            ((tmp_path / "none-*.csv",), "none-*.csv matches no file"),
            (("-", good), "standard input is read alone"),
        ):
            assert message in command("predict", *inputs, "-m", model, status=1).stderr
        shown = command("train", good, tmp_path / "less.csv", *KIND, "-m", tmp_path / "m", status=1).stderr
        assert "or leave the file out" in shown
        for output in (folder / "csv" / "out.tsv", folder / "csv" / "part-00001.csv"):
            assert "choose another" in command("predict", folder / "csv", "-m", model, "-o", output, status=2).stderr
        pattern = folder / "csv" / "part-*.csv"
        assert "are the same file" in command("predict", pattern, "-m", model, "-o", output, status=2).stderr

    def test_a_column_that_some_parts_lack_is_dropped(self, command, folder, tmp_path):
        rows = pd.read_csv(folder / "all.csv")
        (tmp_path / "parts").mkdir()
        rows[:225].to_csv(tmp_path / "parts" / "a.csv", index=False)
        rows[225:].drop(columns="city").to_csv(tmp_path / "parts" / "b.csv", index=False)
        command("train", tmp_path / "parts", *KIND, "--drop", "city", "-m", tmp_path / "m.safetensors")
        names = [column.name for column in load_model(tmp_path / "m.safetensors").columns_]
        assert names == ["age", "score"]


class TestWeights:
    def test_tables(self, folder, frame):
        X = frame[["age", "city", "score"]]
        expected = GCWSTabularClassifier("quick").fit(X, frame["kind"], frame["weight"])
        model = load_model(folder / "kind.safetensors")
        assert list(model.feature_names_in_) == list(X.columns)
        np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))

    def test_whole_weights_are_repeated_rows_of_plain_models(self, command, folder, tmp_path):
        rows = pd.read_csv(folder / "all.csv")[["age", "score", "weight", "kind"]]
        rows.to_csv(tmp_path / "weighted.csv", index=False)
        rows.loc[rows.index.repeat(rows.weight)].drop(columns="weight").to_csv(tmp_path / "repeated.csv", index=False)
        plain = ("--label", "kind", "--plain", "-k", 16, "--tol", 1e-6, "--quiet", "-m")
        command("train", tmp_path / "weighted.csv", "--sample-weight", "weight", *plain, tmp_path / "w.safetensors")
        command("train", tmp_path / "repeated.csv", *plain, tmp_path / "r.safetensors")
        X = rows[["age", "score"]]
        values = [load_model(tmp_path / f"{name}.safetensors").decision_function(X) for name in "wr"]
        np.testing.assert_allclose(*values, atol=1e-3)

    def test_scores_are_those_of_repeated_rows(self, command, folder, tmp_path):
        rows = pd.read_csv(folder / "all.csv")
        rows.loc[rows.index.repeat(rows.weight)].to_csv(tmp_path / "repeated.csv", index=False)
        common = ("-m", folder / "kind.safetensors", "--json")
        weighted = json.loads(command("evaluate", folder / "csv", "--sample-weight", "weight", *common).stdout)
        repeated = json.loads(command("evaluate", tmp_path / "repeated.csv", *common).stdout)
        plain = json.loads(command("evaluate", folder / "csv", *common).stdout)
        for name in ("accuracy", "macro_f1", "log_loss", "auc", "calibration_error"):
            assert weighted[name] == pytest.approx(repeated[name])
        assert weighted["accuracy"] != plain["accuracy"]
        assert weighted["rows"] == 450

    @pytest.mark.parametrize(
        ("weight", "message"),
        [
            ("-1", "a.csv, line 4: the weight, column 'w', is -1. Weights must not be negative"),
            ("", "a.csv, line 4: the weight, column 'w', is missing"),
            ("much", "a.csv, line 4: the weight, column 'w', is 'much', not a number"),
            ("inf", "a.csv, line 4: the weight, column 'w', is 'inf', not a number"),
        ],
    )
    def test_bad_weights(self, command, tmp_path, weight, message):
        (tmp_path / "a.csv").write_text(f"x,w,y\n1,2,a\n2,1,b\n3,{weight},a\n")
        for more in ((), ("--plain",)):
            options = ("--label", "y", "--sample-weight", "w", *more, "-m", tmp_path / "m")
            assert message in command("train", tmp_path / "a.csv", *options, status=1).stderr

    def test_what_takes_no_weights(self, command, files, tmp_path, folder):
        for given in (files["svm"], files["npz"]):
            shown = command("train", *given, "--sample-weight", "w", "-m", tmp_path / "m", status=2).stderr
            assert "--sample-weight w does not apply to" in shown
        (tmp_path / "zero.csv").write_text("key,age,city,score,weight,kind\na,1,Rome,1,0,good\n")
        common = ("-m", folder / "kind.safetensors", "--sample-weight")
        assert "are 0 in all rows" in command("evaluate", tmp_path / "zero.csv", *common, "weight", status=1).stderr
        assert "--sample-weight kind: this column of" in command(
            "evaluate", folder / "csv", *common, "kind", status=2
        ).stderr  # fmt: skip

    def test_regression(self, command, frame, tmp_path):
        rows = frame[["age", "city", "score", "weight", "price"]]
        rows.to_csv(tmp_path / "a.csv", index=False)
        rows.loc[rows.index.repeat(rows.weight)].to_csv(tmp_path / "b.csv", index=False)
        model = tmp_path / "m.safetensors"
        command("train", tmp_path / "a.csv", "--label", "price", "--regression", *QUICK, "-m", model)
        weighted = command("evaluate", tmp_path / "a.csv", "-m", model, "--sample-weight", "weight", "--json").stdout
        repeated = command("evaluate", tmp_path / "b.csv", "-m", model, "--json").stdout
        for name in ("r2", "mean_absolute_error", "root_mean_squared_error"):
            assert json.loads(weighted)[name] == pytest.approx(json.loads(repeated)[name])


class TestIds:
    def test_an_index_has_ids(self, command, frame, tmp_path):
        frame.assign(number=np.arange(450) * 10 + 7)[["number", "age", "score"]].to_csv(tmp_path / "a.csv", index=False)
        index = tmp_path / "i.safetensors"
        command("index", "build", tmp_path / "a.csv", "--id", "number", "-i", index, "--quiet")
        assert GCWSIndex.load(index).n_features_in_ == 2
        frame[["age", "score"]][:2].to_csv(tmp_path / "q.csv", index=False)
        found = command("index", "query", tmp_path / "q.csv", "-i", index, "-n", 1).stdout.splitlines()
        assert [line.split("\t")[1] for line in found[1:]] == ["7", "17"]

    def test_queries_and_pairs_have_ids(self, command, frame, tmp_path):
        rows = frame[["key", "age", "score"]]
        rows[:300].to_csv(tmp_path / "a.csv", index=False)
        rows[300:].to_csv(tmp_path / "b.csv", index=False)
        inputs, index = (tmp_path / "a.csv", tmp_path / "b.csv"), tmp_path / "i.safetensors"
        command("index", "build", *inputs, "--id", "key", "-i", index, "--quiet")
        rows[[*rows.columns[::-1]]].to_parquet(tmp_path / "q.parquet", index=False)
        found = command("index", "query", tmp_path / "q.parquet", "--id", "key", "-i", index, "-n", 1, "--json").stdout
        answers = [json.loads(line) for line in found.splitlines()]
        assert [answer["row"] for answer in answers] == rows["key"].tolist()
        assert answers[301]["neighbors"] == ["k301"]
        twice = pd.concat([rows[:2], rows[:1].assign(key="again")])
        twice.to_csv(tmp_path / "c.csv", index=False)
        pairs = command("index", "dedup", tmp_path / "c.csv", "--id", "key", "--threshold", 0.999).stdout
        assert pairs.splitlines()[1].split("\t")[:2] == ["k0", "again"]

    def test_predictions_have_the_ids(self, command, folder, tmp_path):
        model = folder / "kind.safetensors"
        labels = command("predict", folder / "csv", "-m", model).stdout.split()
        given = ("predict", folder / "csv", "-m", model, "--id", "key")
        lines = command(*given).stdout.splitlines()
        assert lines[0] == "key\tprediction"
        assert lines[1:] == [f"k{i}\t{label}" for i, label in enumerate(labels)]
        command(*given, "--proba", "-o", tmp_path / "p.csv")
        found = pd.read_csv(tmp_path / "p.csv")
        assert list(found.columns) == ["key", "prediction", "probability_bad", "probability_good"]
        assert found["key"].tolist() == [f"k{i}" for i in range(450)]
        # An id may be a feature of the model, too, and stand among --columns.
        rows = pd.read_csv(folder / "all.csv")[["age", "score", "city"]]
        rows.to_csv(tmp_path / "a.csv", index=False)
        command("train", tmp_path / "a.csv", "--label", "city", *QUICK, "-m", tmp_path / "m.safetensors")
        given = ("predict", tmp_path / "a.csv", "-m", tmp_path / "m.safetensors", "--id", "age", "--columns", "age")
        assert command(*given).stdout.splitlines()[0] == "age\tprediction"

    def test_plain_models(self, command, folder, tmp_path):
        drop = ("--drop", "city", "--drop", "kind", "--drop", "weight")
        command("train", folder / "csv", *PLAIN, *drop, "--id", "key", "-m", tmp_path / "m.safetensors")
        assert list(load_model(tmp_path / "m.safetensors").feature_names_in_) == ["score"]
        given = ("predict", folder / "parquet", "-m", tmp_path / "m.safetensors", "--id", "key", "--columns", "city")
        lines = command(*given, "--json").stdout.splitlines()
        assert list(json.loads(lines[7])) == ["key", "city", "prediction"]
        assert json.loads(lines[7])["key"] == "k7"


@pytest.fixture(scope="module")
def models(command, folder, frame):
    """Models of two numbers and of two labels that are 0 or 1."""
    rows = frame.drop(columns=["key", "weight", "kind"])
    rows.to_csv(folder / "several.csv", index=False)
    rows.drop(columns=["price", "area", "cheap", "old"]).to_csv(folder / "features.csv", index=False)
    numbers, flags = folder / "numbers.safetensors", folder / "flags.safetensors"
    for labels, others, model, more in (
        (("price", "area"), ("cheap", "old"), numbers, ("--regression",)),
        (("cheap", "old"), ("price", "area"), flags, ()),
    ):
        named = [word for label in labels for word in ("--label", label)]
        left_out = [word for other in others for word in ("--drop", other)]
        command("train", folder / "several.csv", *named, *left_out, *more, *QUICK, "-m", model)
    return numbers, flags


class TestSeveralLabels:
    def test_the_models_are_those_of_python(self, models, frame):
        X = frame[["age", "city", "score"]]
        numbers = GCWSTabularRegressor("quick").fit(X, frame[["price", "area"]])
        np.testing.assert_array_equal(load_model(models[0]).predict(X), numbers.predict(X))
        flags = GCWSTabularClassifier("quick").fit(X, frame[["cheap", "old"]].to_numpy())
        np.testing.assert_array_equal(load_model(models[1]).predict_proba(X), flags.predict_proba(X))

    def test_what_training_prints(self, command, folder, models, tmp_path):
        given = ("--label", "price", "--label", "area", "--regression", *QUICK, "-m", tmp_path / "m.safetensors")
        lines = command("train", folder / "several.csv", *given, "--sample", 100).stdout.splitlines()
        assert lines[0].split("  ")[-1].strip() == "450 rows, 5 columns (csv); 100 rows at random train"
        assert [line.split("  ")[0] for line in lines[1:3]] == ["label price", "label area"]
        facts = json.loads(command("train", folder / "several.csv", *given, "--json").stdout)
        assert [output["label"] for output in facts["outputs"]] == ["price", "area"]

    def test_predict(self, command, folder, models, frame):
        X = frame[["age", "city", "score"]]
        for path in (folder / "several.csv", folder / "features.csv"):
            lines = command("predict", path, "-m", models[0], "--id", "age").stdout.splitlines()
            assert lines[0] == "age\tprediction_price\tprediction_area"
            found = np.array([line.split("\t")[1:] for line in lines[1:]], float)
            np.testing.assert_array_equal(found, load_model(models[0]).predict(X))
        lines = command("predict", folder / "features.csv", "-m", models[1], "--proba", "--json").stdout.splitlines()
        row, model = json.loads(lines[3]), load_model(models[1])
        assert [row["prediction_cheap"], row["prediction_old"]] == model.predict(X)[3].tolist()
        assert [row["probability_cheap"], row["probability_old"]] == model.predict_proba(X)[3].tolist()

    def test_evaluate(self, command, folder, models, frame):
        facts = json.loads(command("evaluate", folder / "several.csv", "-m", models[0], "--json").stdout)
        X = frame[["age", "city", "score"]]
        error = np.abs(load_model(models[0]).predict(X) - frame[["price", "area"]]).mean().tolist()
        assert [output["label"] for output in facts["outputs"]] == ["price", "area"]
        np.testing.assert_allclose([output["mean_absolute_error"] for output in facts["outputs"]], error)
        shown = command("evaluate", folder / "several.csv", "-m", models[1]).stdout
        assert [line.split("  ")[0] for line in shown.splitlines() if "accuracy" in line] == [
            "cheap: accuracy", "old: accuracy"
        ]  # fmt: skip

    def test_what_is_refused(self, command, folder, models, tmp_path):
        path, model = folder / "several.csv", ("-m", tmp_path / "m")
        two = ("--label", "cheap", "--label", "old")
        for words, message in (
            (("train", path, *two, "--plain", *model), "--label is given several times, which only tables"),
            (("hash", path, tmp_path / "c.safetensors", *two), "which only train, predict and evaluate take"),
            (("evaluate", path, "-m", folder / "kind.safetensors", *two), "predicts one label: name one"),
            (
                ("evaluate", path, "-m", models[0], "--label", "price"),
                "predicts 2 labels, and the command line names 1",
            ),
            (("predict", path, "-m", models[1], "--scores"), "--scores is for models of one label"),
            (("predict", path, "-m", models[0], "--proba"), "--proba needs a classifier"),
            (
                ("evaluate", path, "-m", folder / "kind.safetensors", "--sample-weight", "old", "--slice", "age"),
                "exclude",
            ),
            (
                ("evaluate", path, "-m", models[0], "--report", tmp_path / "r.html"),
                "--report is for models of one label",
            ),
        ):
            assert message in command(*words, status=2).stderr
        for labels, message in (
            (("cheap", "price"), "Several labels per row are 0 or 1"),
            (("cheap", "city"), "several.csv, line 2: label 2 is"),
        ):
            given = [word for label in labels for word in ("--label", label)]
            assert message in command("train", path, *given, *model, status=1).stderr
        command("evaluate", folder / "features.csv", "-m", models[0], status=1)


class TestEncodings:
    def test_commands(self, command, folder, tmp_path):
        text = (folder / "all.csv").read_text()
        (tmp_path / "latin.csv").write_bytes(text.encode("latin-1"))
        (tmp_path / "wide.csv").write_bytes(text.encode("utf-16"))
        model = tmp_path / "m.safetensors"
        shown = command("train", tmp_path / "latin.csv", *KIND, "-m", model, status=1).stderr
        assert "is not UTF-8" in shown
        assert "--encoding cp1252" in shown
        assert "pass --encoding utf-16." in command("train", tmp_path / "wide.csv", *KIND, "-m", model, status=1).stderr
        expected = (folder / "kind.safetensors").read_bytes()
        for name, encoding in (("latin", "latin-1"), ("wide", "utf-16")):
            command("train", tmp_path / f"{name}.csv", *KIND, "--encoding", encoding, "-m", model)
            assert model.read_bytes() == expected
        predicted = command("predict", tmp_path / "wide.csv", "--encoding", "utf-16", "-m", model).stdout
        assert predicted == command("predict", folder / "all.csv", "-m", model).stdout


class TestPlain:
    def test_what_helps_against_text_and_gaps(self, command, folder, tmp_path):
        advice = "Without --plain, train takes categories, dates and gaps as they are; of a table larger than memory, "
        (tmp_path / "gap.csv").write_text("a,b,y\n1,2,0\n,3,1\n")
        for given, place in (
            ((folder / "all.csv", "--drop", "key"), "all.csv, line 2, column 3 ('city'): '"),
            ((folder / "all.parquet", "--drop", "key"), "all.parquet: column 'city' holds "),
            ((tmp_path / "gap.csv", "--label", "y"), "gap.csv, line 3, column 1 ('a'): the value is missing ('')"),
        ):
            label = () if "gap" in str(given[0]) else ("--label", "kind")
            shown = command("train", *given, *label, "--plain", "-m", tmp_path / "m", status=1).stderr
            assert place in shown
            assert "--drop " in shown.partition(place)[2]
            assert advice in shown
        shown = command("hash", folder / "all.csv", tmp_path / "c.safetensors", status=1).stderr
        assert "leave it out with --drop key" in shown
        assert advice not in shown
