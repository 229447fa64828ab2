"""The command line as a user runs it."""

import os
import re
import subprocess
import sys

import kernelsketch


def run(*args, **env):
    return subprocess.run(
        [sys.executable, "-m", "kernelsketch", *args],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "100", **env},
    )


def test_demo_prints_a_table():
    found = run("demo")
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    accuracy = {name.strip(): float(value) for name, value in re.findall(r"│ ([\w+ ]+?) +│ +([\d.]+) ±", found.stdout)}
    assert list(accuracy) == ["linear SVM", "RBF SVM", "GMM SVM", "GCWS + linear SVM", "NRFF + linear SVM"]
    assert 93 < accuracy["linear SVM"] < accuracy["GMM SVM"] < 100
    assert accuracy["RBF SVM"] > 96
    assert accuracy["GCWS + linear SVM"] > 95.5
    assert accuracy["NRFF + linear SVM"] > 95.5


def test_version_tells_the_instruction_set():
    found = run("--version", KERNELSKETCH_ISA="baseline")
    assert found.stdout.strip() == f"kernelsketch {kernelsketch.__version__} (baseline)"


def test_help_and_usage():
    assert "demo" in run("--help").stdout
    wrong = run("train-me")
    assert wrong.returncode == 2
    assert "No such command" in wrong.stderr


def test_failures_exit_with_1_and_one_line():
    found = run("--version", KERNELSKETCH_ISA="mmx")
    assert found.returncode == 1
    assert found.stderr.strip().splitlines() == [
        "kernelsketch: KERNELSKETCH_ISA='mmx' is not one of avx512, avx2, baseline, reference: "
        "set one of them, or unset it."
    ]


def test_a_missing_extra_prints_the_pip_command():
    code = "import sys; sys.modules['typer'] = None; from kernelsketch.cli import main; main()"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert found.stderr.strip() == "kernelsketch: typer is not installed: run  pip install 'kernelsketch[cli]'"
