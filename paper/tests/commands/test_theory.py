"""``kernelsketch theory``."""

import json

import pytest

from kernelsketch.exceptions import InputError
from kernelsketch_paper import simulations
from kernelsketch_paper.simulations import THEORY_FIGURES, theory_figures


@pytest.fixture
def run(monkeypatch, kernelsketch):
    """The command on few hashes, where it asks for SVG alone: its answer, and the options that reached the library."""
    seen = {}

    def small(out, **options):
        seen.update(options)
        if options["formats"] == ["png", "svg"]:
            raise InputError("enough seen")
        return theory_figures(out, **{**options, "k_max": 20, "repetitions": min(50, options["repetitions"])})

    monkeypatch.setattr(simulations, "theory_figures", small)
    return lambda *arguments: (kernelsketch("theory", *arguments), seen)


@pytest.mark.slow
def test_it_writes_and_sums_up(run, tmp_path):
    found, seen = run("--out", tmp_path / "a", "--format", "svg", "--seed", 3, "--threads", 1)
    assert found.status == 0, found.errors
    assert seen["repetitions"] == 100_000
    assert (seen["seed"], seen["n_jobs"], seen["formats"]) == (3, 1, ["svg"])
    assert sorted(p.name for p in (tmp_path / "a").glob("*.svg")) == sorted(f"{f.name}.svg" for f in THEORY_FIGURES)
    assert "NRFF / theory, k=16" in found.output
    assert "k=128" not in found.output
    for figure in THEORY_FIGURES:
        assert figure.name in found.output
    assert "0.99" in found.output
    found, _ = run("--out", tmp_path / "b", "--format", "svg", "--quick", "--json")
    facts = json.loads(found.output)
    assert facts["repetitions"] == 2000
    assert facts["figures"] == [figure.name for figure in THEORY_FIGURES]
    assert all(0 < one["nrff_ratio"] < 10 for one in facts["errors"])


def test_quick(run, tmp_path):
    assert run("--out", tmp_path, "--quick")[1]["repetitions"] == 2000
    assert run("--out", tmp_path, "--quick", "--repetitions", 7)[1]["repetitions"] == 7


def test_wrong_usage(run, tmp_path):
    assert run()[0].status == 2
    assert run("--out", tmp_path, "--repetitions", 0)[0].status == 2
    assert run("--out", tmp_path, "--seed", -1)[0].status == 2


def test_what_cannot_be_written_is_one_sentence(run, tmp_path):
    (tmp_path / "file").touch()
    found, _ = run("--out", tmp_path / "file" / "under", "--format", "svg")
    assert found.status == 1
    assert "under: Not a directory. Choose another folder with --out." in found.errors
    found, _ = run("--out", tmp_path, "--format", "svg", "--format", "gif")
    assert "formats must be among png, svg, got 'gif'" in found.errors
