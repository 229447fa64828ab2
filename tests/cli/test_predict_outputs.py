"""``predict -o``: a table in the format of the ending, with columns of the input beside the predictions."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from kernelsketch import GCWSClassifier, GCWSTabularClassifier, GCWSTabularRegressor
from kernelsketch.formats import open_rows, write_rows

READERS = {
    "csv": lambda path: pd.read_csv(path, dtype={"id": "string"}),
    "tsv": lambda path: pd.read_csv(path, sep="\t", dtype={"id": "string"}),
    # pandas.read_json would round numbers
    "jsonl": lambda path: pd.DataFrame(list(map(json.loads, path.read_text().splitlines()))),
    "parquet": pd.read_parquet,
    "csv.gz": lambda path: pd.read_csv(path, dtype={"id": "string"}),
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A table with an id that is text of digits, models of it, and the table as CSV and Parquet."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("shop")
    n = 150
    frame = pd.DataFrame(
        {
            "id": [f"{i:05}" for i in range(n)],
            "size": rng.normal(size=n),
            "color": rng.choice(["red", 'blue, "dark"'], n),
            "sold": rng.choice(["yes", "no"], n),
        }
    )
    frame["sold"] = np.where(frame["size"] > 0, "yes", "no")
    frame.loc[3, "size"] = np.nan
    X = frame[["size", "color"]]
    kind = GCWSTabularClassifier("quick").fit(X, frame["sold"])
    price = GCWSTabularRegressor("quick").fit(X, np.nan_to_num(frame["size"]))
    kind.save(folder / "sold.safetensors")
    price.save(folder / "price.safetensors")
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_parquet(folder / "rows.parquet", index=False)
    return folder, frame, kind, price


@pytest.mark.parametrize("input", ["csv", "parquet"])
@pytest.mark.parametrize("ending", list(READERS))
def test_every_format_has_the_same_table(command, shop, tmp_path, small_blocks, input, ending):
    small_blocks()
    folder, frame, model, _ = shop
    options = ("--proba", "--columns", "sold", "--columns", "id", "-o", tmp_path / f"out.{ending}")
    found = command("predict", folder / f"rows.{input}", "-m", folder / "sold.safetensors", *options)
    assert found.stdout == ""
    table = READERS[ending](tmp_path / f"out.{ending}")
    assert table.columns.tolist() == ["sold", "id", "prediction", "probability_no", "probability_yes"]
    assert table["id"].tolist() == frame["id"].tolist()
    assert table["sold"].tolist() == frame["sold"].tolist()
    assert table["prediction"].tolist() == model.predict(frame[["size", "color"]]).tolist()
    expected = model.predict_proba(frame[["size", "color"]])
    np.testing.assert_array_equal(table[["probability_no", "probability_yes"]].to_numpy(), expected)
    assert [path.name for path in tmp_path.iterdir()] == [f"out.{ending}"]


def test_a_feature_with_gaps_and_quotes_is_carried(command, shop, tmp_path):
    folder, frame, _, price = shop
    for ending in ("csv", "parquet", "jsonl"):
        options = ("--interval", 0.8, "--columns", "color", "--columns", "size", "-o", tmp_path / f"out.{ending}")
        command("predict", folder / "rows.parquet", "-m", folder / "price.safetensors", *options)
        table = READERS[ending](tmp_path / f"out.{ending}")
        assert table.columns.tolist() == ["color", "size", "prediction", "lower", "upper"]
        assert table["color"].tolist() == frame["color"].tolist()
        np.testing.assert_allclose(table["size"].astype(float), frame["size"], rtol=1e-12)
        bounds = price.predict_interval(frame[["size", "color"]], 0.8)
        np.testing.assert_allclose(table[["lower", "upper"]], bounds, rtol=1e-12)


def test_contributions_are_columns(command, shop, tmp_path):
    folder, frame, model, _ = shop
    expected = model.explain(frame[["size", "color"]])
    common = ("predict", folder / "rows.csv", "-m", folder / "sold.safetensors", "--columns", "id", "--explain")
    for ending in ("csv", "parquet"):
        command(*common, 2, "-o", tmp_path / f"all.{ending}")
        table = READERS[ending](tmp_path / f"all.{ending}")
        names = ["id", "prediction", "output", "base", "contribution_size", "contribution_color", "others"]
        assert table.columns.tolist() == names
        np.testing.assert_array_equal(table[["contribution_size", "contribution_color"]], expected.values)
        command(*common, 1, "-o", tmp_path / f"one.{ending}")
        table = READERS[ending](tmp_path / f"one.{ending}")
        parts = table[["contribution_size", "contribution_color"]]
        assert (parts.notna().sum(axis=1) == 1).all()
        total = table["base"] + parts.sum(axis=1) + table["others"]
        np.testing.assert_allclose(total, expected.output, rtol=1e-9)
    command(*common, 1, "-o", tmp_path / "one.jsonl")
    first = json.loads((tmp_path / "one.jsonl").read_text().splitlines()[0])
    assert first["id"] == "00000"
    assert len(first["contributions"]) == 1


def test_sets_of_classes(command, shop, tmp_path):
    folder, frame, model, _ = shop
    common = ("predict", folder / "rows.csv", "-m", folder / "sold.safetensors", "--interval", 0.9, "-o")
    expected = [model.classes_[row].tolist() for row in model.predict_set(frame[["size", "color"]], 0.9)]
    command(*common, tmp_path / "out.parquet")
    assert [list(part) for part in pd.read_parquet(tmp_path / "out.parquet")["set"]] == expected
    command(*common, tmp_path / "out.csv")
    assert [json.loads(part) for part in pd.read_csv(tmp_path / "out.csv")["set"]] == expected


def test_text_and_standard_output(command, shop, tmp_path):
    """Without a known ending, and on standard output, one column is lines of labels, and several have names."""
    folder, frame, model, _ = shop
    common = ("predict", folder / "rows.csv", "-m", folder / "sold.safetensors")
    labels = model.predict(frame[["size", "color"]]).tolist()
    assert command(*common).stdout.splitlines() == labels
    command(*common, "-o", tmp_path / "labels.txt.gz")
    assert gzip.decompress((tmp_path / "labels.txt.gz").read_bytes()).decode().splitlines() == labels
    head, first, *_ = command(*common, "--columns", "id").stdout.splitlines()
    assert (head, first) == ("id\tprediction", f"00000\t{labels[0]}")
    assert command(*common, "--to", "csv").stdout.splitlines() == ["prediction", *labels]
    assert json.loads(command(*common, "--to", "jsonl").stdout.splitlines()[0]) == {"prediction": labels[0]}
    assert command(*common, "--json").stdout == command(*common, "--to", "jsonl").stdout
    command(*common, "--to", "text", "-o", tmp_path / "labels.csv")
    assert (tmp_path / "labels.csv").read_text().splitlines() == labels


def test_what_cannot_be(command, shop, files, tmp_path):
    folder, _, _, _ = shop
    common = ("predict", folder / "rows.csv", "-m", folder / "sold.safetensors")
    found = command(*common, "--columns", "colour", "-o", tmp_path / "out.csv", status=2).stderr
    assert "--columns colour" in found
    assert "has no column of that name. The nearest: 'color'." in found.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []
    assert "uncompressed" in command(*common, "-o", tmp_path / "out.parquet.gz", status=2).stderr
    assert "uncompressed" in command(*common, "--to", "parquet", status=2).stderr
    assert "exclude" in command(*common, "--json", "--to", "csv", status=2).stderr
    assert "a table is not written as npz" in command(*common, "-o", tmp_path / "out.npz", status=2).stderr
    assert "is not written as one JSON value: " in command(*common, "-o", tmp_path / "out.json", status=2).stderr
    assert "is not written as an Excel file: " in command(*common, "-o", tmp_path / "out.xlsx", status=2).stderr
    frame = pd.DataFrame({"size": [1.0], "color": ["red"], "prediction": ["old"]})
    frame.to_csv(tmp_path / "old.csv", index=False)
    common = ("predict", tmp_path / "old.csv", "-m", folder / "sold.safetensors", "--columns", "prediction")
    assert "another column of that name" in command(*common, status=2).stderr
    (tmp_path / "none.csv").write_text("size,color\n")
    common = ("predict", tmp_path / "none.csv", "-m", folder / "sold.safetensors", "-o")
    command(*common, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "prediction\n"
    assert "no rows" in command(*common, tmp_path / "out.parquet", status=1).stderr
    assert not (tmp_path / "out.parquet").exists()


def test_an_output_that_fails_leaves_the_old_file(command, shop, tmp_path):
    folder, _, _, _ = shop
    rows = (folder / "rows.csv").read_text()
    (tmp_path / "bad.csv").write_text(rows + "1,2\n")
    for ending in ("csv", "parquet"):
        (tmp_path / f"out.{ending}").write_text("old")
        options = ("-m", folder / "sold.safetensors", "-o", tmp_path / f"out.{ending}")
        assert "has 2 cells" in command("predict", tmp_path / "bad.csv", *options, status=1).stderr
        assert (tmp_path / f"out.{ending}").read_text() == "old"


class TestPlainModels:
    """Models of numbers, of files that may hold a text column besides."""

    @pytest.mark.parametrize("input", ["csv", "parquet"])
    @pytest.mark.parametrize("named", [True, False])
    def test_a_column_that_is_no_feature(self, command, digits, tmp_path, input, named):
        X, y = digits
        rows = pd.DataFrame(X, columns=[f"pixel{j}" for j in range(64)])
        model = GCWSClassifier(16).fit(rows if named else X, y)
        model.save(tmp_path / "m.safetensors")
        frame = rows.assign(name=[f"n{i}" for i in range(len(y))])
        if input == "csv":
            frame.to_csv(tmp_path / "x.csv", index=False)
        else:
            frame.to_parquet(tmp_path / "x.parquet", index=False)
        options = ("--columns", "name", "-o", tmp_path / "out.csv")
        command("predict", tmp_path / f"x.{input}", "-m", tmp_path / "m.safetensors", *options)
        table = pd.read_csv(tmp_path / "out.csv")
        assert table["name"].tolist() == frame["name"].tolist()
        assert table["prediction"].tolist() == model.predict(rows if named else X).tolist()

    def test_columns_by_number(self, command, iris, tmp_path):
        frame, _ = iris
        command("train", iris[1], "--label", "kind", "--plain", "-k", 16, "-m", tmp_path / "m.safetensors")
        frame.to_csv(tmp_path / "x.csv", index=False, header=False)
        common = ("predict", tmp_path / "x.csv", "-m", tmp_path / "m.safetensors", "--label", "4", "--no-header")
        head, first, *_ = command(*common, "--columns", "4").stdout.splitlines()
        assert head == "4\tprediction"
        assert first.split("\t")[0] == frame["kind"][0]
        assert "Pass 0 to 4" in command(*common, "--columns", "5", status=2).stderr

    def test_cells_that_are_no_numbers(self, command, iris, tmp_path):
        command("train", iris[1], "--label", "kind", "--plain", "-k", 16, "-m", tmp_path / "m.safetensors")
        frame = iris[0].astype({"petal width (cm)": object}).head(3)
        frame.loc[2, "petal width (cm)"] = "wide"
        frame.to_csv(tmp_path / "x.csv", index=False)
        options = ("--columns", "kind")
        found = command("predict", tmp_path / "x.csv", "-m", tmp_path / "m.safetensors", *options, status=1).stderr
        assert "row 2, column 'petal width (cm)': 'wide' is not a number" in found.replace("\n", " ")

    def test_rows_without_columns(self, command, files, digits, tmp_path):
        GCWSClassifier(16).fit(*digits).save(tmp_path / "m.safetensors")
        for format in ("svm", "npz", "npy"):
            options = ("-m", tmp_path / "m.safetensors", "--columns", "id")
            found = command("predict", *files[format], *options, status=2).stderr
            assert "--columns id does not apply to" in found


class TestRowsWithoutLabels:
    """LIBSVM text: predict ignores labels, so lines may lack them."""

    @pytest.fixture
    def model(self, digits, tmp_path):
        GCWSClassifier(16).fit(*digits).save(tmp_path / "m.safetensors")
        return tmp_path / "m.safetensors"

    def test_predictions_are_the_same(self, command, files, model, tmp_path, small_blocks):
        small_blocks()
        lines = files["svm"][0].read_text().splitlines()
        bare = [line.partition(" ")[2] for line in lines]
        mixed = [line if i % 3 else without for i, (line, without) in enumerate(zip(lines, bare, strict=True))]
        expected = command("predict", files["svm"][0], "-m", model).stdout
        for text in (bare, mixed):
            (tmp_path / "x.svm").write_text("\n".join(text) + "\n\n")
            assert command("predict", tmp_path / "x.svm", "-m", model).stdout == expected
        (tmp_path / "x.svm").write_text(
            "".join(f"? {line}\n" if i % 2 else f"7 {line}\n" for i, line in enumerate(bare))
        )
        assert command("predict", tmp_path / "x.svm", "-m", model).stdout == expected

    def test_faults_have_their_place(self, command, model, tmp_path):
        (tmp_path / "x.svm").write_text("1:2 3:4\n2:1\n  1:5 4:x\n")
        found = command("predict", tmp_path / "x.svm", "-m", model, status=1).stderr
        assert "line 3, column 9: the value 'x'" in found.replace("\n", " ")
        (tmp_path / "x.svm").write_text("1:2 3:4\n\n2:1\n")
        found = command("predict", tmp_path / "x.svm", "-m", model, status=1).stderr
        assert "line 2: the line is blank" in found
        found = command("evaluate", tmp_path / "x.svm", "-m", model, status=1).stderr
        assert "a label must stand before" in found


def test_carried_columns_of_open_rows(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,c\n1,2,3\n4,5,6\n")
    (block,) = open_rows(tmp_path / "x.csv", label="c", as_table=True, carry=["c", "a"])
    assert {name: values.tolist() for name, values in block.carried.items()} == {"c": ["3", "6"], "a": ["1", "4"]}
    assert block.X.shape == (2, 2)
    write_rows(tmp_path / "x.parquet", [(sparse.csr_array(np.eye(3)), np.array([1, 2, 3]))])
    (block,) = open_rows(tmp_path / "x.parquet", as_table=True, carry=["label"])
    assert block.carried["label"].to_pylist() == [1, 2, 3]
    with pytest.raises(ValueError, match="as_table=True"):
        open_rows(tmp_path / "x.csv", carry=["a"])
    with pytest.raises(TypeError, match="list of names"):
        open_rows(tmp_path / "x.csv", as_table=True, carry="a")
