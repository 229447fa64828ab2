"""``kernelsketch demo``: the table of loans, the comparison, and what it says about the winners."""

import json
import re

import numpy as np
import pytest

from kernelsketch.cli._loans import make_loans
from kernelsketch.cli.work.demo import Result, verdicts

NAMES = ["LinearSVC", "SVC (RBF)", "HistGradientBoosting", "GCWSTabularClassifier"]


def test_the_loans_are_what_their_description_says():
    loans = make_loans(5000)
    again = make_loans(5000)
    assert np.array_equal(loans.X, again.X)
    assert np.array_equal(loans.y, again.y)
    assert loans.X.shape == (5000, len(loans.names))
    missing = np.equal(loans.X, None)
    assert {"income", "tenure", "utilization", "housing"} == {
        loans.names[i] for i in np.flatnonzero(missing.any(axis=0))
    }
    for i, is_category in enumerate(loans.is_category):
        kinds = {type(value) for value in loans.X[~missing[:, i], i]}
        assert kinds <= ({str, np.str_} if is_category else {float, int})
    levels = [len(set(loans.X[~missing[:, i], i])) for i in np.flatnonzero(loans.is_category)]
    assert levels == [6, 3, 40, 12, 150]
    is_default = loans.y == "default"
    # Labels follow the probabilities: z is a standard normal, and the draws are fixed.
    p = loans.probability
    z = (is_default - p).sum() / np.sqrt((p * (1 - p)).sum())
    assert abs(z) < 3
    assert np.mean(is_default == (p > 0.5)) > 0.8


def test_columns_that_say_nothing_say_nothing():
    """Labels and irrelevant columns are independent; the correlation of 5,000 rows has a standard error of .014."""
    loans = make_loans(5000)
    is_default = loans.y == "default"
    for name in ("balance", "contacts"):
        values = loans.X[:, loans.names.index(name)].astype(float)
        ranks = np.argsort(np.argsort(values))
        assert abs(np.corrcoef(ranks, is_default)[0, 1]) < 0.05
    late = loans.X[:, loans.names.index("late")].astype(float)
    assert np.corrcoef(late, is_default)[0, 1] > 0.1


def result(name, right, loss, training, prediction, rows=1000):
    is_right = np.arange(rows) < right
    return Result(name, is_right, np.full(rows, loss), training, prediction)


def test_the_sentences_follow_from_the_results():
    results = [result("A", 900, 0.3, 5, 1), result("B", 850, 0.25, 2, 3), result("C", 700, 0.5, 3, 0.5)]
    accuracy, loss, time = verdicts(results)
    assert accuracy == "A has the highest accuracy, 5.00 points above B."
    assert loss == "B has the lowest log-loss, 0.0500 below A."
    assert time == "B trains fastest, and C predicts fastest."


def test_a_lead_within_the_noise_is_called_so():
    accuracy, *_ = verdicts([result("A", 900, 0.3, 5, 1), result("B", 902, 0.25, 2, 3)])
    assert accuracy.startswith("B has the highest accuracy, 0.20 points above A, which is within the noise")
    same, *_ = verdicts([result("A", 900, 0.3, 5, 1), result("B", 900, 0.25, 2, 3)])
    assert "within the noise" in same


def test_demo_prints_a_table_and_names_its_winners():
    from typer.testing import CliRunner

    from kernelsketch.cli._main import app

    found = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["demo", "--rows", "400"])
    assert found.exit_code == 0, found.output
    assert max(map(len, found.stdout.splitlines())) <= 80
    number = r"([\d.]+)"
    row = rf"│ ([\w() ]+?) +│ +{number} │ +{number} │ +{number} s │ +{number} µs │"
    table = {name: list(map(float, numbers)) for name, *numbers in re.findall(row, found.output)}
    assert list(table) == NAMES
    assert min(accuracy for accuracy, *_ in table.values()) > 70
    text = " ".join(found.output.split())
    names = re.findall(r"^(base value|output|90 % interval|\d others) ", found.output, re.MULTILINE)
    assert names[:3] == ["base value", "8 others", "output"]
    assert names[3:] == ["base value", "7 others", "output", "90 % interval"]
    assert found.output.count("●") == 5
    chance, label = re.search(r"is repaid with a probability of (\d+) %\..* of the loans: (\w+)", text).groups()
    assert label == ("repaid" if int(chance) > 50 else "default")
    value, low, high = re.search(r"predicts ([\d,]+), and ([\d,]+) to ([\d,]+) for 90 %", text).groups()
    assert int(low.replace(",", "")) < int(value.replace(",", "")) < int(high.replace(",", ""))
    for column, sign, praise in ((0, -1, "has the highest accuracy"), (1, 1, "has the lowest log-loss")):
        winner = re.search(rf"([\w()]+(?: \(RBF\))?) {praise}", text)[1]
        assert table[winner][column] == sign * min(sign * numbers[column] for numbers in table.values())


@pytest.mark.parametrize("rows", ["0", "199", "many"])
def test_too_few_rows_are_wrong_usage(command, rows):
    assert "--rows" in command("demo", "--rows", rows, status=2).output


def test_write_makes_files_for_the_other_commands(command, tmp_path):
    found = command("demo", "--write", tmp_path)
    assert f"{tmp_path / 'digits.svm'}: 1,347 rows" in found.output.replace("\n", "")
    command("train", tmp_path / "digits.svm", "-m", tmp_path / "digits.safetensors", "-k", 16)
    command("evaluate", tmp_path / "digits.t.svm", "-m", tmp_path / "digits.safetensors")
    clean = tmp_path / "clean.jsonl"
    command("dedup", tmp_path / "articles.jsonl", "--text", "body", "--threshold", 0.7, "-o", clean)
    assert [json.loads(line)["doc_id"] for line in clean.read_text().splitlines()] == [f"a{i}" for i in range(1000)]


def test_write_replaces_no_file_of_another(command, tmp_path):
    (tmp_path / "articles.jsonl").write_text("mine")
    found = command("demo", "--write", tmp_path, status=1)
    assert "holds something else and is not replaced" in found.stderr.replace("\n", " ")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"articles.jsonl": "mine"}
    (tmp_path / "articles.jsonl").unlink()
    for _ in range(2):
        command("demo", "--write", tmp_path)


def test_json(command, tmp_path):
    found = json.loads(command("demo", "--write", tmp_path, "--json").stdout)
    assert {"path": str(tmp_path / "loans.csv"), "content": "2,000 rows"} in found["files"]
    lines = (tmp_path / "loans.csv").read_text().splitlines()
    loans = make_loans(3000)
    assert lines[0].split(",") == [*loans.names, "outcome"]
    assert [line.rsplit(",", 1)[1] for line in lines[1:]] == loans.y[:2000].tolist()
    missing = [[not cell for cell in line.split(",")[:-1]] for line in lines[1:]]
    assert np.array_equal(missing, np.equal(loans.X[:2000], None))


def test_json_of_the_comparison(command):
    found = json.loads(command("demo", "--rows", 300, "--json", "-q").stdout)
    assert [one["model"] for one in found["models"]] == NAMES
    assert all(0.6 < one["accuracy"] <= 1 and one["log_loss"] > 0 for one in found["models"])
