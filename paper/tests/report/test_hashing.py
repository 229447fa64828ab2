"""Hashing: curves, samples needed, storage, training time."""

import math
from dataclasses import asdict, replace

import pandas as pd
import pytest

from kernelsketch_paper.experiments import Row
from kernelsketch_paper.report import _costs as costs
from kernelsketch_paper.report import _hashing as hashing
from kernelsketch_paper.report._format import cell_text


def hash_row(accuracy, k=1024, method="gcws", C=1.0, repetition=0, solver="kernelsketch", gamma=None, b=8, split=0):
    cells = {
        "repetition": repetition,
        "k": k,
        "b": b if method == "gcws" else None,
        "C": C,
        "gamma": gamma,
        "split": split,
    }
    return Row("hashing", "Car", method, solver, accuracy=accuracy, **cells)


def exact(method, accuracy, split=0):
    return Row("kernels", "Car", method, "libsvm", split=split, C=1.0, accuracy=accuracy)


def test_the_best_mean_over_repetitions_as_pandas_has_it(make):
    rows = make("kernels", "hashing")
    found = hashing.hashed(rows)
    frame = pd.DataFrame([asdict(r) for r in rows if r.experiment == "hashing" and r.solver != "liblinear"])
    means = frame.groupby(["dataset", "method", "b", "k", "C"], dropna=False).accuracy.mean()
    best = means.groupby(level=[0, 1, 2, 3], dropna=False).max()
    assert len(best) == sum(len(h.curves) for h in found.values())
    for (dataset, method, b, k), value in best.items():
        bits = None if math.isnan(b) else int(b)
        assert found[dataset].best(method, bits, k).mean == pytest.approx(value)


def test_solvers_are_not_mixed():
    rows = [hash_row(90.0), hash_row(91.0, C=2.0), hash_row(99.0, solver="liblinear")]
    found = hashing.hashed(rows)["Car"]
    assert found.solvers == {"gcws": "kernelsketch"}
    assert found.best("gcws", 8, 1024).mean == 91.0
    assert hashing.main_solver([hash_row(1.0, solver="liblinear"), hash_row(1.0, solver="newton")]) == "newton"
    table = hashing.solver_table(rows)
    assert [(r["solvers"], r["mean"], r["settings"]) for r in table.rows] == [("kernelsketch - liblinear", -9.0, 1)]


def test_nrff_takes_the_best_gamma_for_every_cost():
    rows = [
        hash_row(a, method="nrff", gamma=g, repetition=r)
        for g, r, a in ((1, 0, 80), (1, 1, 90), (2, 0, 86), (2, 1, 88))
    ]
    best = hashing.hashed(rows)["Car"].best("nrff", None, 1024)
    assert (best.mean, best.gamma, best.sd) == (87.0, 2, pytest.approx(2**0.5))


def test_exact_kernels_are_those_of_the_splits_that_were_hashed():
    rows = [hash_row(90.0, split=1), exact("gmm", 80.0, 0), exact("gmm", 95.0, 1)]
    assert hashing.hashed(rows)["Car"].exact_mean("gmm") == 95.0
    rows[0] = replace(rows[0], split=7)
    assert hashing.hashed(rows)["Car"].exact_mean("gmm") == 87.5  # none: all of them


def test_samples_needed():
    values = {16: 60.0, 64: 80.0, 256: 90.0}
    assert hashing.needed(values, 80.0).k == pytest.approx(64)
    assert hashing.needed(values, 70.0).k == pytest.approx(32)  # half way in log k
    assert hashing.needed(values, 60.0) == hashing.Needed(16.0, "<=")
    assert hashing.needed(values, 91.0) == hashing.Needed(256.0, ">")
    assert hashing.needed({}, 91.0) is None
    assert hashing.Needed(4096.0, ">").text() == "> 4,096"
    assert hashing.Needed(100.0).text(4) == "400"


def test_samples_needed_for_a_share_of_the_gap():
    rows = [exact("linear", 60.0), exact("gmm", 100.0), exact("rbf", 59.0)]
    rows += [hash_row(a, k=k) for k, a in ((16, 70.0), (64, 90.0), (256, 99.0))]
    rows += [hash_row(80.0, k=64, method="nrff", gamma=1.0)]
    found = hashing.hashed(rows)
    (line,) = hashing.needed_table(found).rows
    assert line["gcws_0.5"] == "32"
    assert line["gcws_0.9"] == f"{64 * 4 ** (6 / 9):.0f}"
    assert line["gcws_0.99"] == "> 256"
    assert line["gcws_bytes"] == line["gcws_0.9"]
    assert line["nrff_0.9"] is None  # RBF gains nothing here
    assert hashing.fewer_samples(found) == (0, 0)


def test_who_needs_fewer_samples():
    rows = [exact("linear", 60.0), exact("gmm", 100.0), exact("rbf", 100.0)]
    rows += [hash_row(a, k=k) for k, a in ((16, 70.0), (64, 98.0))]
    rows += [hash_row(a, k=k, method="nrff", gamma=1.0) for k, a in ((16, 61.0), (64, 70.0))]
    assert hashing.fewer_samples(hashing.hashed(rows)) == (1, 1)
    assert hashing.fewer_samples(hashing.hashed(rows[:4] + rows[5:])) == (0, 0)  # the same bound twice says nothing


def test_a_thousand_samples_against_the_exact_kernel():
    rows = [exact("linear", 60.0), exact("gmm", 99.0), hash_row(97.0), hash_row(95.0, method="nrff", gamma=1.0)]
    (line,) = hashing.against_exact(hashing.hashed(rows)).rows
    assert (line["gcws_gap"], line["lead"], line["nrff_gap"]) == (-2.0, 2.0, None)


def test_storage():
    table = hashing.storage_table(hashing.hashed([hash_row(1.0, k=20, b=1), hash_row(1.0, k=20, b=8)]))
    assert table.rows == [{"k": 20, "b1": 3, "b8": 20, "nrff": 80}]


def test_training_time_is_compared_setting_by_setting():
    def timed(solver, C, seconds):
        return Row("time", "Car", "gcws", solver, k=128, b=2, C=C, train_seconds=seconds)

    rows = [timed("liblinear", 1.0, 8.0), timed("liblinear", 10.0, 18.0), timed("liblinear", 100.0, 99.0)]
    rows += [timed("kernelsketch", 1.0, 2.0), timed("kernelsketch", 10.0, 2.0)]
    (line,) = costs.time_table(rows).rows
    assert line["ratio"] == pytest.approx((4 * 9) ** 0.5)
    assert line["kernelsketch"] == pytest.approx(2.0)
    assert line["liblinear"] == pytest.approx((8 * 18 * 99) ** (1 / 3))


def test_cells_as_text():
    shown = [
        (1e-4, "seconds"),
        (1.234, "seconds"),
        (1234.0, "seconds"),
        (999, "bytes"),
        (2.5e6, "bytes"),
        (-0.001, "points"),
    ]
    assert [cell_text(*cell) for cell in shown] == ["0.1 ms", "1.23 s", "1,234 s", "999 B", "2.5 MB", "0.00"]
    assert cell_text(None, "points") == "\u2013"
    assert cell_text(-1.5, "points") == "\u22121.50"
