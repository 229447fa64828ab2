"""The command line as a user runs it."""

import os
import re
import subprocess
import sys

import pytest

import kernelsketch


def run(*args, **env):
    return subprocess.run(
        [sys.executable, "-m", "kernelsketch", *args],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "100", **env},
    )


NUMBER = r"([\d.]+)"


@pytest.mark.slow
def test_demo_prints_a_table():
    found = run("demo", COLUMNS="80")
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    assert max(map(len, found.stdout.splitlines())) <= 80
    row = rf"│ ([\w, ]+?) +│ +{NUMBER} ± .*│ +{NUMBER} ms │ +(?:{NUMBER} MiB|-) │ +{NUMBER} µs │"
    rows = {name: list(map(float, filter(None, numbers))) for name, *numbers in re.findall(row, found.stdout)}
    accuracy = {name: numbers[0] for name, numbers in rows.items()}
    assert list(accuracy) == [
        "LinearSVC",
        "SVC, RBF",
        "SVC, GMM",
        "NRFF, LinearSVC",
        "GCWS, LinearSVC",
        "GCWSClassifier",
    ]
    assert 93 < accuracy["LinearSVC"] < accuracy["SVC, GMM"] < 100
    assert accuracy["SVC, RBF"] > 97
    assert min(accuracy["GCWS, LinearSVC"], accuracy["GCWSClassifier"], accuracy["NRFF, LinearSVC"]) > 96.5
    if sys.platform == "linux":
        assert rows["GCWSClassifier"][2] < rows["GCWS, LinearSVC"][2]


def test_running_the_module_is_guarded():
    """Processes that measure memory import the main module; they must not start the command again."""
    code = "import runpy; runpy.run_module('kernelsketch', run_name='__mp_main__')"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_version():
    assert run("--version").stdout.strip() == f"kernelsketch {kernelsketch.__version__}"


def test_help_and_usage():
    assert "demo" in run("--help").stdout
    wrong = run("train-me")
    assert wrong.returncode == 2
    assert "No such command" in wrong.stderr


def test_failures_exit_with_1_and_one_line():
    found = run("info", KERNELSKETCH_BACKEND="mmx")
    assert found.returncode == 1
    assert found.stderr.strip().splitlines() == [
        "kernelsketch: KERNELSKETCH_BACKEND='mmx' is not one of avx512, avx2, baseline, reference: "
        "set one of them, or unset it."
    ]


def test_a_missing_extra_prints_the_pip_command():
    code = "import sys; sys.modules['typer'] = None; from kernelsketch.cli import main; main()"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert found.stderr.strip() == "kernelsketch: typer is not installed: run  pip install 'kernelsketch[cli]'"
