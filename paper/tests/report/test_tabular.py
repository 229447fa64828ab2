"""The study of tables: means, ranks and differences against numbers worked out by hand, gaps, and damaged files."""

import csv

import pytest

from kernelsketch.exceptions import InputError
from kernelsketch_paper.drawing import Ranking
from kernelsketch_paper.experiments import Row
from kernelsketch_paper.report import write_report
from kernelsketch_paper.report._contents import assemble
from kernelsketch_paper.report._format import as_markdown
from kernelsketch_paper.report._page import as_page
from kernelsketch_paper.report._tabular import TASKS, Measurement, Study, read_tabular
from kernelsketch_paper.report._tabular_section import (
    dataset_lines,
    dataset_table,
    gaps,
    sentences,
    summary_lines,
    summary_table,
    tabular_section,
)

HEAD = (
    "task,dataset,split,model,n_train,n_features,accuracy,log_loss,calibration_error,relative_rmse,fit_seconds,row_us,"
    "threads"
)
# Three datasets. CatBoost lacks C and the second split of A; the SVM has no probabilities.
CLASSIFICATION = """\
classification,A,0,ours,100,5,0.90,0.30,0.02,,4,10,1
classification,A,1,ours,100,5,0.80,0.50,0.04,,6,30,1
classification,A,0,LightGBM,100,5,0.86,0.40,0.01,,2,10,1
classification,A,1,LightGBM,100,5,0.82,0.40,0.05,,2,10,1
classification,A,0,CatBoost,100,5,0.88,0.35,0.03,,,,1
classification,A,0,SVM,100,5,0.86,,,,1,40,1
classification,A,1,SVM,100,5,0.70,,,,1,40,1
classification,B,0,ours,2000,7,0.70,0.60,0.02,,9,20,1
classification,B,0,LightGBM,2000,7,0.75,0.55,0.03,,3,40,1
classification,B,0,CatBoost,2000,7,0.75,0.50,0.05,,,,1
classification,B,0,SVM,2000,7,0.65,,,,2,80,1
classification,C,0,ours,300,9,0.95,0.10,0.03,,8,30,1
classification,C,0,LightGBM,300,9,0.95,0.20,0.01,,2,20,1
classification,C,0,SVM,300,9,0.97,,,,4,60,1
"""
REGRESSION = """\
regression,R,0,ours,50,3,,,,0.30,2,10,1
regression,R,0,LightGBM,50,3,,,,0.34,1,10,1
regression,S,0,ours,50,3,,,,0.52,2,10,1
regression,S,0,LightGBM,50,3,,,,0.50,1,10,1
"""


@pytest.fixture
def read(tmp_path):
    def made(text, head=HEAD):
        (tmp_path / "tabular.csv").write_text(f"{head}\n{text}")
        return read_tabular(tmp_path)

    return made


@pytest.fixture
def rows(read):
    return read(CLASSIFICATION + REGRESSION)


@pytest.fixture
def classes(rows):
    return Study(TASKS[0], rows)


@pytest.fixture
def numbers(rows):
    return Study(TASKS[1], rows)


def test_all_models_are_compared_on_the_rows_that_all_have(classes):
    assert classes.models == ("ours", "LightGBM", "CatBoost", "SVM")
    # C is left out, as CatBoost lacks it, and so is the second split of A.
    assert classes.shared() == (classes.models, {"A": (0,), "B": (0,)})
    # A: 0.90, 0.86, 0.88, 0.86 have the ranks 1, 3.5, 2, 3.5; B: 0.70, 0.75, 0.75, 0.65 have 3, 1.5, 1.5, 4.
    assert classes.ranks() == {"ours": 2.0, "LightGBM": 2.5, "CatBoost": 1.75, "SVM": 3.75}
    means = {"ours": 0.80, "LightGBM": 0.805, "CatBoost": 0.815, "SVM": 0.755}
    assert classes.averages() == pytest.approx(means)
    # Three models have probabilities: (0.30 + 0.60) / 2 and so on.
    assert classes.averages("log_loss") == pytest.approx({"ours": 0.45, "LightGBM": 0.475, "CatBoost": 0.425})
    # Three models have times, on all datasets. Ours: the medians of 5, 9, 8 and of 20, 20, 30.
    assert classes.medians("fit_seconds") == {"ours": 8, "LightGBM": 2, "SVM": 2}
    assert classes.medians("row_us") == {"ours": 20, "LightGBM": 20, "SVM": 60}


def test_two_models_are_compared_on_the_rows_that_both_have(classes):
    ours = classes.lead("ours")  # A: the mean of +4 and -2, B: -5, C: 0
    assert ours.points == {"A": 1.0, "B": -5.0, "C": 0.0}
    assert (ours.ahead, ours.behind, ours.worst) == (("A",), ("B",), -5.0)
    # The mean is -4/3; the squared distances from it are 49/9, 121/9 and 16/9, and 186/9 / 2 / 3 = 31/9.
    assert (ours.mean, ours.error) == (pytest.approx(-4 / 3), pytest.approx(31**0.5 / 3))
    assert classes.lead("CatBoost").points == {"A": 2.0, "B": 0.0}  # the first split of A only
    losses = classes.lead("ours", column="log_loss")  # A: 0.40 and 0.40, B: 0.60 and 0.55, C: 0.10 and 0.20
    assert (losses.ahead, losses.behind) == (("C",), ("B",))
    assert classes.ratio("fit_seconds") == 3.0  # of 2.5, 3 and 4
    assert classes.ratio("row_us") == 1.5  # of 2, 0.5 and 1.5
    assert classes.lead("LightGBM") is None
    assert classes.lead("ours", "nobody") is None


def test_less_is_better_for_errors(numbers):
    ours = numbers.lead("ours")
    assert ours.points == pytest.approx({"R": -4.0, "S": 2.0})
    assert (ours.ahead, ours.behind) == (("R",), ("S",))
    assert (ours.mean, ours.error, ours.worst) == (pytest.approx(-1), pytest.approx(3), pytest.approx(2))
    assert numbers.ranks() == {"ours": 1.5, "LightGBM": 1.5}
    table = dataset_table(numbers)
    assert [table.highlighted(at) for at in range(2)] == [{"ours"}, {"LightGBM"}]
    ours, lightgbm = summary_table(numbers).best  # 41 and 42 %
    assert ("accuracy" in ours, "accuracy" in lightgbm) == (True, False)
    assert "log_loss" not in [c.key for c in summary_table(numbers).columns]


def test_a_line_per_dataset(classes):
    a, b, c = dataset_lines(classes)
    assert (a["ours"].mean, a["ours"].n) == (pytest.approx(85), 2)
    assert a["ours"].sd == pytest.approx(50**0.5)
    assert (a["CatBoost"].mean, a["CatBoost"].sd, a["CatBoost"].n) == (pytest.approx(88), None, 1)
    assert (a["lead"], b["lead"], c["lead"]) == (1.0, -5.0, 0.0)
    assert (b["n_train"], b["n_features"], c["CatBoost"]) == (2000, 7, None)
    # CatBoost has only the easier split of A, so its 88 % are not the best; B is a tie.
    assert [dataset_table(classes).highlighted(at) for at in range(3)] == [{"ours"}, {"LightGBM", "CatBoost"}, {"SVM"}]


def test_a_line_per_model(classes):
    lines = {line["model"]: line for line in summary_lines(classes)}
    ours = lines["ours"]
    assert (ours["accuracy"], ours["rank"], ours["fit"], ours["row_us"]) == (pytest.approx(80), 2.0, 8, 20)
    assert (ours["ahead"], ours["behind"], ours["worst"]) == (1, 1, -5.0)
    assert "lead" not in lines["LightGBM"]
    assert lines["SVM"]["log_loss"] is None
    assert lines["CatBoost"]["fit"] is None
    best = dict(zip(lines, summary_table(classes).best, strict=True))
    assert best["CatBoost"] == {"accuracy", "rank", "log_loss"}
    assert best["LightGBM"] == {"calibration_error", "fit", "row_us"}


def test_a_model_with_few_datasets_spoils_no_mean(read):
    rows = read(CLASSIFICATION + 'classification,A,0,"ours, quick",100,5,0.99,0.1,0.1,,1,1,1\n')
    study = Study(TASKS[0], rows)
    assert study.models[1] == "ours, quick"
    assert study.ranks()["ours"] == 2.0
    quick = summary_lines(study)[1]
    assert (quick["accuracy"], quick["rank"], quick["lead"], quick["lead_error"]) == (None, None, 13.0, None)


def test_sentences_are_honest_both_ways(classes, numbers):
    text = " ".join(sentences(classes))
    assert "ours is ahead of LightGBM on 1 of 3 datasets: A (+1.00)." in text
    assert "LightGBM is ahead on 1: B (\u22125.00). They are equal on 1." in text
    assert "1.33 points lower on average (standard error 1.86), which may be chance." in text
    assert "the log-loss of ours is lower on 1 and that of LightGBM on 1." in text
    assert "ours takes 3 times as long as LightGBM to train, and 1.5 times as long to predict." in text
    assert "share splits: CatBoost 1.75, ours 2.00, LightGBM 2.50, SVM 3.75." in text
    assert gaps(classes) == [
        "No result for classification: CatBoost on C.",
        "Fewer splits than other models for classification: CatBoost on 1 dataset.",
    ]
    assert "the RMSE of ours is 1.00 points lower on average" in " ".join(sentences(numbers))
    assert gaps(numbers) == []


def test_one_sided_results(read):
    lost = Study(TASKS[0], read("classification,A,0,ours,,,0.5,,,,,,1\nclassification,A,0,LightGBM,,,0.6,,,,,,1\n"))
    text = " ".join(sentences(lost))
    assert "ours is ahead of LightGBM on 0 of 1 dataset. LightGBM is ahead on 1: A (\u221210.00)." in text
    assert "10.00 points lower on average." in text
    alone = Study(TASKS[0], read("classification,A,0,ours,,,0.5,,,,,,1\n"))
    assert sentences(alone) == ["Classification: there is no dataset with results of ours and of LightGBM yet."]


def test_only_one_thread_counts(read):
    text = "classification,A,0,ours,9,9,0.5,,,,1,1,1\nclassification,A,0,ours,9,9,0.5,,,,9,9,2\n"
    assert read(text) == [Measurement("classification", "A", "ours", 0, 1, 9, 9, 0.5, fit_seconds=1, row_us=1)]


def test_the_section(rows):
    section = tabular_section(rows)
    assert [item.key for item in section.items] == [
        "tabular-classification-summary",
        "ranks-tabular-classification",
        "tabular-classification",
        "tabular-regression-summary",  # two models are too few for rank tests
        "tabular-regression",
    ]
    ranking = next(item for item in section.items if isinstance(item, Ranking))
    assert (ranking.methods[0], ranking.ranks, ranking.n_datasets) == ("CatBoost", (1.75, 2.0, 2.5, 3.75), 2)
    assert "on at most 2,000 rows, with one thread each. There are up to 2 splits" in section.text[1]
    only = tabular_section([row for row in rows if row.task == "classification"])
    assert only.text[-1] == "There are no results for regression yet."


def test_the_report_shows_it_after_the_comparison(store, tmp_path):
    store(tmp_path, [Row("kernels", "Car", "gmm", "libsvm", C=10.0, accuracy=99.42)])
    without = write_report(tmp_path, tmp_path / "out")
    (tmp_path / "tabular.csv").write_text(f"{HEAD}\n{CLASSIFICATION}{REGRESSION}")
    report = write_report(tmp_path, tmp_path / "out")
    keys = [section.key for section in report.sections]
    at = keys.index("tabular")
    assert (keys[at - 1], report.sections[at].short, report.sections[at].missing) == ("comparison", "Tables", "")
    assert without.sections[at].missing == (
        "There is no study of tables beside the results: `python benchmarks/compare_tabular.py` writes tabular.csv."
    )
    page = (tmp_path / "out" / "report.html").read_text()
    assert 'id="tab-tabular-classification"' in page
    assert 'id="ranking-ranks-tabular-classification"' in page
    with (tmp_path / "out" / "report.csv").open(newline="") as file:
        cells = {(line["table"], line["row"], line["column"]): line for line in csv.DictReader(file)}
    a = cells["tabular-classification", "A", "ours"]
    assert (a["value"], a["sd"], a["n"]) == ("85", "7.07107", "2")
    assert cells["tabular-classification", "B", "lead"]["value"] == "-5"
    assert cells["tabular-regression-summary", "ours", "accuracy"]["value"] == "41"
    text = (tmp_path / "out" / "report.md").read_text()
    assert "| A | 100 | 5 | **85.00 ± 7.07** | 84.00 ± 2.83 | 88.00 | 78.00 ± 11.31 | +1.00 |" in text


def test_names_are_escaped(read):
    evil = "<img src=x>|"
    report = assemble([], {}, read(CLASSIFICATION.replace(",A,", f",{evil},").replace("CatBoost", evil)))
    assert "<img" not in as_page(report, {}).decode()
    assert "<img" not in as_markdown(report).decode()


GOOD = "classification,A,0,ours,9,9,0.5,,,,,,1\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (GOOD + "classification,B,0,ours,9\n", 3, "it has 5 cells instead of 13"),
        (GOOD + "classification,B,0,ours,9,9,half,,,,,,1\n", 3, "accuracy must be a number of at least 0, got 'half'"),
        ("classification,A,0,ours,9,9,nan,,,,,,1\n", 2, "accuracy must be a number of at least 0, got 'nan'"),
        ("classification,A,0,ours,9,9,50.1,,,,,,1\n", 2, "accuracy must be at most 1, got '50.1'"),
        ("classification,A,0.5,ours,9,9,0.5,,,,,,1\n", 2, "split must be a whole number of at least 0, got '0.5'"),
        ("classification,A,0,,9,9,0.5,,,,,,1\n", 2, "model is blank"),
        ("guessing,A,0,ours,9,9,0.5,,,,,,1\n", 2, "task must be classification or regression, got 'guessing'"),
        (GOOD + GOOD, 3, "ours has two results on split 0 of A"),
        (GOOD + 'classification,"A,0,ours\n', 3, "unexpected end of data"),
        ("\n", 2, "it has 0 cells instead of 13"),
    ],
)
def test_a_damaged_file_is_named_with_its_line(read, tmp_path, text, line, words):
    with pytest.raises(InputError) as caught:
        read(text)
    assert f"{tmp_path / 'tabular.csv'}, line {line} cannot be used: {words}." in str(caught.value)


def test_damaged_headings_and_bytes(read, tmp_path):
    with pytest.raises(InputError, match=r"line 1 cannot be used: it must name these columns once: model\."):
        read("", HEAD.replace("model,", ""))
    (tmp_path / "tabular.csv").write_bytes(b"")
    with pytest.raises(InputError, match="line 1 cannot be used"):
        read_tabular(tmp_path)
    (tmp_path / "tabular.csv").write_bytes(f"{HEAD}\n{GOOD}".encode() + b"\xff")
    with pytest.raises(InputError, match="line 3 cannot be used: it is not UTF-8"):
        read_tabular(tmp_path)


def test_nothing_measured_yet(read):
    assert read("") == []
    assert tabular_section([]).items == ()
    blank = read("classification,A,0,ours,9,9,,,,,,,1\n")
    assert tabular_section(blank).text[-2:] == (
        "There are no results for classification yet.",
        "There are no results for regression yet.",
    )
