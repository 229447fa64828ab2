"""The fair comparison: ranks and tests against the formulas, and where GMM loses."""

import numpy as np
import pytest
from scipy.stats import chi2, rankdata

from kernelsketch_paper.experiments import Row
from kernelsketch_paper.report import _comparison as comparison
from kernelsketch_paper.report import _costs as costs
from kernelsketch_paper.report._parts import Score
from kernelsketch_paper.report._tables import accuracies


def scores(values, methods):
    return {f"data{i}": {m: Score(float(v)) for m, v in zip(methods, row, strict=True)} for i, row in enumerate(values)}


def test_ranks_and_critical_difference_by_their_formulas(make):
    found = comparison.scores(make("comparison"), "minmax")
    ranks = comparison.ranking(found, "minmax")
    methods = comparison.methods_of(found)
    values = np.array([[found[d][m].mean for m in methods] for d in sorted(found)])
    mean = rankdata(-values, axis=1).mean(axis=0)
    n, k = values.shape
    assert sorted(ranks.ranks) == pytest.approx(sorted(mean))
    assert ranks.ranks == tuple(sorted(ranks.ranks))
    statistic = 12 * n / (k * (k + 1)) * ((mean**2).sum() - k * (k + 1) ** 2 / 4)
    assert ranks.statistic == pytest.approx(statistic)
    assert ranks.p_value == pytest.approx(chi2.sf(statistic, k - 1))
    q = 3.031  # of Nemenyi's test for eight methods at 5 %, from Demsar's table
    assert ranks.critical_difference == pytest.approx(q * (k * (k + 1) / (6 * n)) ** 0.5, abs=1e-3)


def test_too_little_for_ranks():
    assert comparison.ranking(scores([[1, 2, 3]], ("gmm", "rbf", "trees")), "x") is None
    assert comparison.ranking(scores([[1, 2], [1, 2]], ("gmm", "rbf")), "x") is None
    alike = comparison.ranking(scores([[5, 5, 5], [6, 6, 6]], ("gmm", "rbf", "trees")), "x")
    assert (alike.p_value, alike.ranks) == (1.0, (2.0, 2.0, 2.0))


def test_ranks_take_datasets_that_are_complete():
    found = scores([[1, 2, 3], [1, 3, 2], [3, 2, 1]], ("gmm", "rbf", "trees"))
    found["data2"].pop("trees")
    found["data0"]["nystroem"] = Score(50.0)  # on too few datasets
    methods, datasets = comparison.complete(found)
    assert (methods, datasets) == (("rbf", "gmm", "trees"), ["data0", "data1"])


def test_bars_join_what_cannot_be_told_apart():
    assert comparison.cliques((1.0, 1.5, 2.4, 4.0), 1.0) == ((0, 1), (1, 2))
    assert comparison.cliques((1.0, 1.2, 1.4), 1.0) == ((0, 2),)
    assert comparison.cliques((1.0, 3.0), 1.0) == ()


def test_trees_count_under_every_scaling(make):
    rows = make("comparison")
    assert comparison.scalings(rows) == ["minmax", "standard"]
    standard = comparison.scores(rows, "standard")
    assert standard["Car"]["trees"] == comparison.scores(rows, "minmax")["Car"]["trees"]
    assert comparison.scalings([r for r in rows if r.method == "trees"]) == []


def test_where_gmm_loses():
    rows = [
        Row("kernels", "Car", m, "libsvm", accuracy=a, C=1.0)
        for m, a in (("gmm", 90.0), ("rbf", 95.0), ("linear", 80.0))
    ]
    rows += [Row("kernels", "CTG", m, "libsvm", accuracy=a, C=1.0) for m, a in (("gmm", 90.0), ("rbf", 85.0))]
    compared = {"minmax": {"Car": {"gcws": Score(80.0), "trees": Score(90.0), "rbf": Score(85.0)}}}
    table = comparison.losses(accuracies(rows), compared)
    assert [(r["dataset"], r["winner"], r["lead"]) for r in table.rows] == [
        ("Car", "boosted trees", -10.0),
        ("Car", "RBF", -5.0),
    ]


def test_parameters_are_chosen_by_cross_validation():
    def row(method, accuracy, cv, **more):
        return Row("tunable", "Car", method, "libsvm", accuracy=accuracy, cv_accuracy=cv, **more)

    rows = [row("gmm", 90.0, 89.0), row("pgmm", 99.0, 80.0, p=2.0), row("pgmm", 92.0, 91.0, p=0.5)]
    rows += [row("epgmm", 91.5, 90.0, p=0.5, gamma=1.0), row("epgmm", 97.0, 85.0, p=2.0, gamma=8.0)]
    (line,) = comparison.tunable_table(rows).rows
    assert (line["pgmm"].mean, line["pgmm_setting"], line["gain"]) == (92.0, "p = 0.5", 1.5)


def test_costs_are_means_over_common_datasets():
    def row(dataset, method, seconds):
        return Row("comparison", dataset, method, "own", scaling="minmax", accuracy=1.0, train_seconds=seconds)

    rows = [row("Car", "gmm", 2.0), row("CTG", "gmm", 8.0), row("Car", "rbf", 3.0), row("CTG", "rbf", 12.0)]
    rows.append(row("Musk", "rbf", 1e6))
    table = costs.cost_table(rows, ("rbf", "gmm"))
    assert [(line["method"], line["train"]) for line in table.rows] == [
        ("RBF", pytest.approx(6)),
        ("GMM", pytest.approx(4)),
    ]
