"""``kernelsketch report``."""

import json
import sys

import pytest

from kernelsketch_paper.experiments import Row, write_results


@pytest.fixture
def results(tmp_path):
    methods = (("linear", 71.0), ("rbf", 95.0), ("gmm", 98.9))
    write_results(tmp_path / "in", [Row("kernels", "Car", m, "libsvm", C=1.0, accuracy=a) for m, a in methods])
    return tmp_path / "in"


@pytest.fixture
def run(kernelsketch):
    return lambda *arguments: kernelsketch("report", *arguments)


def test_it_writes_and_sums_up(run, results, tmp_path):
    found = run("--results", results, "--out", tmp_path / "out")
    assert found.status == 0, found.errors
    assert "1 of 1" in found.output
    assert "report.html" in found.output
    assert "There are no results of the experiment" in found.output
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"report.html", "report.md", "report.csv"}


@pytest.mark.slow
def test_beside_the_results_and_with_figures(run, results):
    found = run("--results", results, "--figures")
    assert found.status == 0, found.errors
    assert "figures: 2 figures" in found.output.replace("\n", "")
    assert (results / "figures" / "kernels.png").exists()
    assert (results / "report.html").exists()


def test_errors_are_one_sentence(run, results, tmp_path):
    found = run("--results", tmp_path / "nowhere")
    assert found.status == 1
    assert "results.csv does not exist: `kernelsketch reproduce` writes it." in found.errors
    (tmp_path / "file").touch()
    found = run("--results", results, "--out", tmp_path / "file" / "under")
    assert "under: Not a directory. Choose another folder with --out." in found.errors
    found = run("--results", tmp_path / "file")
    assert "file: Not a directory. Choose another folder with --results." in found.errors
    (results / "results.csv").write_text("a,b\n1,2\n")
    assert "does not have the columns" in run("--results", results).errors


@pytest.mark.skipif(sys.platform == "win32", reason="links need a permission")
def test_a_report_that_is_a_link_to_the_results(run, results):
    before = (results / "results.csv").read_bytes()
    (results / "report.csv").symlink_to("results.csv")
    found = run("--results", results)
    assert found.status == 1
    assert "are the same file" in found.errors
    assert (results / "results.csv").read_bytes() == before


def test_json(run, results):
    found = json.loads(run("--results", results, "--json").output)
    assert found["headlines"][0]["value"] == "1 of 1"
    assert str(results / "report.html") in found["files"]
    assert found["figures"] == []
