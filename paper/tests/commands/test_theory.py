"""``kernelsketch theory``."""

import pytest
from typer.testing import CliRunner

from kernelsketch.cli import _theory
from kernelsketch.cli._main import app
from kernelsketch.exceptions import InputError
from kernelsketch_paper.simulations import THEORY_FIGURES, theory_figures


@pytest.fixture
def run(monkeypatch):
    """The command on few hashes, where it asks for SVG: what it prints, and the options that reached the library."""
    seen = {}

    def small(out, **options):
        seen.update(options)
        if "svg" not in (options.get("formats") or []):
            raise InputError("enough seen")
        return theory_figures(out, **{**options, "k_max": 20, "repetitions": min(50, options["repetitions"])})

    monkeypatch.setattr(_theory, "theory_figures", small)

    def call(*args):
        found = CliRunner(env={"COLUMNS": "120"}).invoke(app, ["theory", *map(str, args)])
        return found, seen

    return call


def test_it_writes_and_sums_up(run, tmp_path):
    found, seen = run("--out", tmp_path / "a", "--format", "svg", "--seed", 3, "--threads", 1)
    assert found.exit_code == 0, found.output
    assert seen["repetitions"] == 100_000
    assert (seen["seed"], seen["n_jobs"], seen["formats"]) == (3, 1, ["svg"])
    assert sorted(p.name for p in (tmp_path / "a").glob("*.svg")) == sorted(f"{f.name}.svg" for f in THEORY_FIGURES)
    assert "NRFF / theory, k=16" in found.output
    assert "k=128" not in found.output
    for figure in THEORY_FIGURES:
        assert figure.name in found.output
    assert "0.99" in found.output


def test_quick(run, tmp_path):
    assert run("--out", tmp_path, "--quick")[1]["repetitions"] == 2000
    assert run("--out", tmp_path, "--quick", "--repetitions", 7)[1]["repetitions"] == 7


def test_wrong_usage(run, tmp_path):
    assert run()[0].exit_code == 2
    assert run("--out", tmp_path, "--repetitions", 0)[0].exit_code == 2
    assert run("--out", tmp_path, "--seed", -1)[0].exit_code == 2


def test_what_cannot_be_written_is_one_sentence(run, tmp_path):
    (tmp_path / "file").touch()
    found, _ = run("--out", tmp_path / "file" / "under", "--format", "svg")
    assert found.exit_code == 1
    assert "cannot be written to: Not a directory. Choose another --out." in found.stderr
    found, _ = run("--out", tmp_path, "--format", "svg", "--format", "gif")
    assert "formats must be among png, svg, got 'gif'" in found.stderr
