"""``kernelsketch report``."""

import pytest
from typer.testing import CliRunner

from kernelsketch.cli._main import app
from kernelsketch_paper.experiments import Row, write_results


@pytest.fixture
def results(tmp_path):
    methods = (("linear", 71.0), ("rbf", 95.0), ("gmm", 98.9))
    write_results(tmp_path / "in", [Row("kernels", "Car", m, "libsvm", C=1.0, accuracy=a) for m, a in methods])
    return tmp_path / "in"


def run(*args):
    return CliRunner(env={"COLUMNS": "120"}).invoke(app, ["report", *map(str, args)])


def test_it_writes_and_sums_up(results, tmp_path):
    found = run("--results", results, "--out", tmp_path / "out")
    assert found.exit_code == 0, found.output
    assert "1 of 1" in found.output
    assert "report.html" in found.output
    assert "No results of the experiment" in found.output
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"report.html", "report.md", "report.csv"}


def test_beside_the_results_and_with_figures(results):
    found = run("--results", results, "--figures")
    assert found.exit_code == 0, found.output
    assert "figures: 2 figures" in found.output.replace("\n", "")
    assert (results / "figures" / "kernels.png").exists()
    assert (results / "report.html").exists()


def test_errors_are_one_sentence(results, tmp_path):
    found = run("--results", tmp_path / "nowhere")
    assert found.exit_code == 1
    assert "results.csv is not there: `kernelsketch reproduce` writes it." in found.stderr
    (tmp_path / "file").touch()
    found = run("--results", results, "--out", tmp_path / "file" / "under")
    assert "cannot be written to: Not a directory. Choose another --out." in found.stderr
    found = run("--results", tmp_path / "file")
    assert "cannot be read: Not a directory. Choose another --results." in found.stderr
    (results / "results.csv").write_text("a,b\n1,2\n")
    assert "does not have the columns" in run("--results", results).stderr
