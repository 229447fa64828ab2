"""Tables 1 to 5, and how far they agree with the paper."""

import pytest

from kernelsketch_paper.experiments import Row, published, published_errors
from kernelsketch_paper.report import _tables as tables
from kernelsketch_paper.report._notes import read_notes
from kernelsketch_paper.report._parts import Score


def rows_of(dataset, method, *accuracies, **more):
    return [
        Row("kernels", dataset, method, "libsvm", split=s, accuracy=a, C=1.0, **more) for s, a in enumerate(accuracies)
    ]


def test_a_difference_is_within_a_point_or_two_deviations():
    assert tables.difference(Score(91.0), 90.0).status == "within"
    assert tables.difference(Score(91.01), 90.0).status == "above"
    assert tables.difference(Score(88.99), 90.0).status == "below"
    assert tables.difference(Score(88.0, 1.0, 3), 90.0).status == "within"
    assert tables.difference(Score(88.0, 0.9, 3), 90.0).status == "below"
    assert tables.difference(None, 90.0) is None
    assert tables.difference(Score(88.0), None) is None


def test_tables_have_the_papers_rows_in_its_order(make):
    found = tables.accuracies(make("kernels"))
    one, two, three, four = tables.paper_tables(found, {})
    names = list(published())
    assert [r["dataset"] for t in (one, two, three) for r in t.rows] == names
    assert [len(t.rows) for t in (one, two, three, four)] == [36, 10, 11, 6]
    car = one.rows[0]
    assert (car["gmm_paper"], car["rbf_paper"], car["rbf_paper_gamma"], car["linear_paper"]) == (
        98.96,
        94.91,
        100,
        71.53,
    )
    assert car["gmm_test_difference"].value == pytest.approx(found["Car"].get("gmm").mean - 98.96)
    assert car["splits"] == 3
    assert two.rows[names.index("RCV1") - 36]["linear_test"] is None


def test_the_best_kernel_is_highlighted():
    rows = rows_of("Car", "gmm", 90.0) + rows_of("Car", "rbf", 95.0) + rows_of("Car", "linear", 70.0)
    table = tables.accuracy_table("t", "", "", ["Car"], tables.accuracies(rows), {})
    assert table.highlighted(0) == {"gmm_paper", "rbf_test"}
    assert not any(c.choice == "cv" for c in table.columns)


def test_agreement_counts_what_has_both_numbers():
    rows = rows_of("Car", "gmm", 98.0) + rows_of("CTG", "gmm", 80.0) + rows_of("IJCNN", "gmm", 99.0)
    rows += rows_of("Vowel", "gmm", 90.0, 100.0)  # far, but as far as splits are apart
    found = tables.agreement(tables.accuracies(rows), "gmm")
    assert (found.within, found.of) == (2, 3)
    assert found.sentence() == (
        "GMM is within 1.0 point of the paper, or within 2 standard deviations over random splits, on 2 of 3 datasets."
    )
    assert tables.agreement({}, "rbf").sentence() == "RBF: there is nothing to compare."


def test_larger_differences_come_with_their_explanation():
    rows = rows_of("Car", "gmm", 90.0) + rows_of("CTG", "rbf", 60.0) + rows_of("Magic", "gmm", 87.0)
    curves = {"CTG": {"rbf": ((1.0, 50.0, None), (10.0, 60.0, 0.1), (100.0, 95.0, None))}}
    table = tables.larger_differences(tables.accuracies(rows), {"CTG, RBF": "why.", "Car, RBF": "other"}, curves)
    assert [(r["dataset"], r["kernel"], r["note"]) for r in table.rows] == [
        ("CTG", "RBF", "why. The paper's 89.75 lies between C = 10 (60.00) and C = 100 (95.00) here."),
        ("Car", "GMM", None),
    ]
    assert table.rows[0]["difference"].value == pytest.approx(60 - 89.75)


def test_an_intercept_can_explain_the_linear_kernel():
    def row(intercept, accuracy):
        return Row("kernels", "Car", "linear", "newton", intercept=intercept, C=1.0, accuracy=accuracy)

    for second, expected in (
        (75.0, "The paper's value lies between the fits without and with an intercept (60.00 and 75.00)."),
        (65.0, None),
    ):
        rows = [row(False, 60.0), row(True, second)]
        (line,) = tables.larger_differences(tables.accuracies(rows), {}, {}).rows
        assert line["note"] == expected


def test_errors_follow_from_accuracies(make):
    found = tables.accuracies(make("kernels"))
    table = tables.error_table(found)
    kinds = [row["source"] for row in table.rows]
    assert kinds[: len(published_errors())] == [line["reported_by"] for line in published_errors()]
    own = next(r for r in table.rows if (r["method"], r["source"]) == ("RBF", "measured here"))
    gap = next(r for r in table.rows if (r["method"], r["source"]) == ("RBF", "measured - paper"))
    assert own["M-Rotate"].mean == pytest.approx(100 - found["M-Rotate"].get("rbf").mean)
    assert gap["M-Rotate"].value == pytest.approx(own["M-Rotate"].mean - 10.30)
    assert len(tables.error_table({}).rows) == len(published_errors())


def test_notes_know_where_the_paper_contradicts_itself():
    notes = read_notes()
    assert {dataset for dataset, _ in notes.paper} >= {"M-Rotate", "Magic", "PageBlocks"}
    assert set(notes.datasets) <= set(published())
    rbf = next(line for line in published_errors() if line["method"] == "RBF")
    assert published()["M-Rotate"].rbf + float(rbf["M-Rotate"]) != pytest.approx(100)
    with pytest.raises(ValueError, match=r"notes\.toml is not a list of notes"):
        read_notes("[[paper]]\ntext = 'no dataset'")
    with pytest.raises(ValueError, match=r"notes\.toml is not a list of notes"):
        read_notes("[datasets")
