"""What the paper says about its figures."""

import pytest

from kernelsketch_paper.experiments import Row
from kernelsketch_paper.report._claims import (
    CLAIMS,
    Evidence,
    bits_cost_little,
    claims_table,
    exact_order,
    four_bits_suffice,
    gcws_beats_nrff,
    gcws_typically_ahead,
    hashed_beats_linear,
    kernels_beat_linear,
    noise_order,
    nrff_needs_more,
    times_are_comparable,
)
from kernelsketch_paper.report._hashing import hashed
from kernelsketch_paper.report._tables import accuracies


def exact(dataset, **by_kernel):
    return [Row("kernels", dataset, m, "libsvm", C=1.0, accuracy=v) for m, v in by_kernel.items()]


def samples(dataset, method, by_k, b=8):
    bits = b if method == "gcws" else None
    return [Row("hashing", dataset, method, "newton", C=1.0, k=k, b=bits, accuracy=v) for k, v in by_k.items()]


def seen(check, rows):
    found = check(Evidence(accuracies(rows), hashed(rows), [row for row in rows if row.experiment == "time"]))
    return None if found is None else found.holds


@pytest.mark.parametrize(("gmm", "holds"), [(80.0, True), (70.0, False), (75.0, False)])
def test_order_of_exact_kernels(gmm, holds):
    rows = exact("Letter", gmm=gmm, rbf=75.0)
    assert seen(exact_order("Letter", "gmm", "rbf"), rows) is holds
    assert seen(exact_order("Vowel", "gmm", "rbf"), rows) is None


def test_nonlinear_kernels_must_both_be_ahead():
    good = exact("Car", gmm=80.0, rbf=79.0, linear=70.0)
    assert seen(kernels_beat_linear, good) is True
    assert seen(kernels_beat_linear, good + exact("Vowel", gmm=60.0, rbf=71.0, linear=70.0)) is False
    assert seen(kernels_beat_linear, exact("Car", gmm=80.0)) is None


def test_noise():
    rows = [row for n in range(1, 7) for row in exact(f"M-Noise{n}", gmm=70.0 + (n < 6), rbf=70.5)]
    assert seen(noise_order, rows) is True
    assert seen(noise_order, exact("M-Noise1", gmm=70.0, rbf=70.5)) is False


def test_hashes():
    linear = exact("Letter", linear=60.0, gmm=97.0, rbf=97.0)
    gcws, nrff = samples("Letter", "gcws", {16: 65.0, 128: 96.0}), samples("Letter", "nrff", {16: 40.0, 128: 80.0})
    assert seen(hashed_beats_linear("Letter", "gcws", 16), linear + gcws) is True
    assert seen(hashed_beats_linear("Letter", "nrff", 16), linear + nrff) is False
    assert seen(hashed_beats_linear("Letter", "gcws", 32), linear + gcws) is None
    assert seen(gcws_beats_nrff("Letter"), gcws + nrff) is True
    assert seen(gcws_beats_nrff("Letter"), gcws + samples("Letter", "nrff", {16: 40.0, 128: 96.5})) is False
    assert seen(nrff_needs_more("Letter"), linear + gcws + nrff) is True
    assert seen(nrff_needs_more("Letter"), linear + gcws) is None
    assert seen(gcws_typically_ahead(larger=False), linear + gcws + nrff) is True
    assert seen(gcws_typically_ahead(larger=True), linear + gcws + nrff) is None


@pytest.mark.parametrize(("four", "holds"), [(95.2, True), (93.0, False)])
def test_bits(four, holds):
    rows = samples("Letter", "gcws", {128: 96.0}) + samples("Letter", "gcws", {128: four}, b=4)
    assert seen(four_bits_suffice("Letter"), rows) is holds


def timing(method, seconds, solver, b=None):
    return Row("time", "Covertype", method, solver, k=128, b=b, C=1.0, train_seconds=seconds)


def test_times():
    assert seen(times_are_comparable, [timing("gcws", 1.0, "liblinear", 8), timing("nrff", 2.0, "liblinear")]) is True
    assert seen(times_are_comparable, [timing("gcws", 1.0, "liblinear", 8), timing("nrff", 9.0, "liblinear")]) is False
    assert seen(times_are_comparable, [timing("gcws", 1.0, "liblinear", 8)]) is None
    slow = [timing("gcws", 1.0, "kernelsketch", 2), timing("gcws", 5.0, "kernelsketch", 8)]
    assert seen(bits_cost_little, slow) is False


def test_every_statement_has_a_line_even_without_results():
    table = claims_table({}, {}, [])
    assert len(table.rows) == len(CLAIMS)
    assert {row["seen"] for row in table.rows} == {"not measured"}
