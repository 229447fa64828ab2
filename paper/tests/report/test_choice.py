"""Which rows count, recomputed by hand and with pandas."""

from dataclasses import asdict

import pandas as pd
import pytest

from kernelsketch_paper.experiments import Row
from kernelsketch_paper.report._choice import best_by_cv, best_on_test, most_frequent, score_of, usable
from kernelsketch_paper.report._plots import kernel_points
from kernelsketch_paper.report._tables import accuracies


def row(accuracy, cv=None, **more):
    return Row("kernels", "Car", more.pop("method", "gmm"), "libsvm", accuracy=accuracy, cv_accuracy=cv, **more)


def test_the_best_on_the_test_rows_and_by_cross_validation():
    rows = [row(90.0, 80.0, C=1.0), row(95.0, 70.0, C=10.0), row(85.0, 80.0, C=0.1)]
    assert best_on_test(rows).accuracy == 95.0
    assert best_by_cv(rows).C == 0.1  # a tie: the smaller C, whatever the test rows say
    assert best_on_test([]) is None
    assert best_by_cv([row(90.0, C=1.0), row(91.0, C=2.0)]) is None
    assert best_by_cv([row(90.0)]).accuracy == 90.0  # nothing to choose


def test_each_split_chooses_for_itself():
    rows = [
        row(90.0, C=1.0, split=0),
        row(80.0, C=10.0, split=0),
        row(70.0, C=1.0, split=1),
        row(94.0, C=10.0, split=1),
    ]
    found = score_of(rows, "test")
    assert (found.mean, found.n, found.C) == (92.0, 2, 1.0)
    assert found.sd == pytest.approx(8**0.5)
    assert score_of(rows[:2], "test").sd is None
    assert score_of([], "test") is None


def test_repetitions_are_averaged_within_a_split():
    rows = [row(a, split=s, repetition=r) for s, r, a in ((0, 0, 10.0), (0, 1, 20.0), (1, 0, 40.0))]
    assert score_of(rows, "test").mean == 27.5


def test_rows_without_an_accuracy_are_left_out():
    rows = [row(None), row(float("nan")), row(50.0), Row("time", "Car", "gcws", "liblinear", accuracy=1.0)]
    assert [r.accuracy for r in usable(rows, "kernels")] == [50.0]


def test_the_usual_value():
    assert most_frequent([2.0, 1.0, 2.0, None]) == 2.0
    assert most_frequent([2.0, 1.0]) == 1.0
    assert most_frequent([None]) is None


@pytest.mark.parametrize("choice", ["test", "cv"])
def test_accuracies_as_pandas_has_them(make, choice):
    rows = make("kernels")
    frame = pd.DataFrame([asdict(r) for r in rows])
    key = "accuracy" if choice == "test" else "cv_accuracy"
    found = accuracies(rows)
    frame = frame[frame.intercept.isna() | (frame.intercept == False)]  # noqa: E712
    for (dataset, method), group in frame.groupby(["dataset", "method"]):
        best = group.loc[group.groupby("split")[key].idxmax()].accuracy
        value = found[dataset].get(method, choice)
        assert value.mean == pytest.approx(best.mean())
        assert value.sd == (pytest.approx(best.std()) if len(best) > 1 else None)


def test_linear_with_and_without_an_intercept():
    rows = [row(80.0, method="linear", intercept=False), row(85.0, method="linear", intercept=True)]
    found = accuracies(rows)["Car"]
    assert (found.get("linear").mean, found.intercept["test"].mean) == (80.0, 85.0)
    assert accuracies(rows[1:])["Car"].get("linear").mean == 85.0


def test_curves_take_the_best_gamma_for_every_cost():
    cells = [(1.0, 0.1, 0, 70), (1.0, 5.0, 0, 75), (1.0, 0.1, 1, 79), (1.0, 5.0, 1, 60), (10.0, 0.1, 0, 50)]
    rows = [row(float(a), method="rbf", C=C, gamma=g, split=s) for C, g, s, a in cells]
    first, second = kernel_points(rows)["Car"]["rbf"]
    assert first == (1.0, 77.0, pytest.approx(8**0.5))
    assert second == (10.0, 50.0, None)
