"""``kernelsketch reproduce``."""

import json

import pytest

from kernelsketch_paper.commands.reproduce import _failures
from kernelsketch_paper.experiments import State, read_results


@pytest.fixture
def run(kernelsketch):
    return lambda *arguments: kernelsketch("reproduce", *arguments, columns=200)


@pytest.mark.slow
def test_it_runs(run, data_folder, tmp_path):
    options = ("--scale", "tiny", "--datasets", "Car", "--skip-checksum", "--jobs", 1, "--out", tmp_path)
    found = run("table1", *options)
    assert found.status == 0, found.errors
    assert f"the results are in {tmp_path}" in found.output.replace("\n", "")
    assert len(read_results(tmp_path)) > 20
    again = run("table1", *options, "--json")
    facts = json.loads(again.output)
    assert facts["done"] == facts["total"] > 0
    assert facts["failed"] == []


@pytest.mark.slow
def test_a_broken_file_is_an_error_of_one_line(run, data_folder, tmp_path):
    found = run("table1", "--scale", "tiny", "--datasets", "Car", "--jobs", 1, "--out", tmp_path)
    assert found.status == 1
    assert found.output.count("SHA-256 expected") == 1
    assert "{" not in found.output
    assert found.output.count("not run") == 1
    again = run("table1", "--scale", "tiny", "--datasets", "Car", "--jobs", 1, "--out", tmp_path, "--json")
    assert again.status == 1
    assert list(json.loads(again.output)["not_run"]) == ["Car"]


def test_failures_are_counted_by_their_reason():
    keys = [json.dumps({"dataset": "Car", "experiment": "kernels", "C": C}) for C in (1, 2)]
    state = State(failed=dict.fromkeys(keys, "ValueError: no"))
    assert _failures(state) == ["Car, experiment kernels, 2 cells: ValueError: no"]


def test_no_datasets(run, tmp_path, monkeypatch):
    monkeypatch.delenv("KERNELSKETCH_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = run("table1", "--datasets", "Car", "--scale", "tiny", "--out", tmp_path / "out")
    assert found.status == 1
    assert "KERNELSKETCH_DATA" in found.errors


def test_an_unknown_dataset_is_answered_in_short(run, tmp_path):
    found = run("all", "--datasets", "leter", "--out", tmp_path / "out")
    assert found.status == 1
    assert "Did you mean Letter" in found.errors
    assert "kernelsketch datasets" in found.errors
    assert len(found.errors) < 300
    found = run("table3", "--datasets", "Car", "--out", tmp_path / "out")
    assert found.status == 1
    assert "It has 11 datasets, such as M-Basic" in found.errors
    assert not (tmp_path / "out").exists()


def test_memory_is_a_size(run, data_folder, tmp_path):
    options = ("--scale", "tiny", "--datasets", "Car", "--skip-checksum", "--jobs", 1, "--out", tmp_path)
    found = run("table1", *options, "--memory", "1MB")
    assert "0 of 14 cells are done" in found.output
    assert "more than the memory limit" in found.output
    found = run("table1", *options, "--memory", "two")
    assert found.status == 2
    assert "'two' is not a size. Write it as in 2GB" in found.errors


def test_unknown_table(run):
    found = run("table9")
    assert found.status == 2
    assert "table5" in found.errors


def test_quick_and_full(run, tmp_path):
    found = run("all", "--quick", "--full", "--out", tmp_path)
    assert found.status == 2
    assert "exclude each other" in found.errors
