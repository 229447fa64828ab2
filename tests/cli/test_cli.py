"""The command line as a user runs it."""

import os
import re
import subprocess
import sys
import warnings
from itertools import pairwise

import pytest

import kernelsketch
from kernelsketch.cli._errors import errors_as_sentences


def run(*args, **env):
    return subprocess.run(
        [sys.executable, "-m", "kernelsketch", *args],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "100", **env},
    )


def test_running_the_module_is_guarded():
    """Processes that joblib or Python starts import the main module; they must not start the command again."""
    code = "import runpy; runpy.run_module('kernelsketch', run_name='__mp_main__')"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_version():
    assert run("--version").stdout.strip() == f"kernelsketch {kernelsketch.__version__}"


def test_help_and_usage():
    assert "demo" in run("--help").stdout
    wrong = run("train-me")
    assert wrong.returncode == 2
    assert "No such command" in wrong.stderr


def test_a_value_that_scikit_learn_refuses_is_wrong_usage(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,label\n1,2,x\n3,4,y\n")
    found = run(
        "train", str(tmp_path / "rows.csv"), "--label", "label", "--plain", "-C", "-1", "-m", str(tmp_path / "m")
    )
    assert found.returncode == 2
    assert found.stderr.startswith("kernelsketch: --C must be a float in the range (0.0, inf). Got -1.0 instead")
    assert not (tmp_path / "m").exists()


def test_info_of_a_header_alone(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,label\n")
    assert re.search(r"features +3\n", run("info", str(tmp_path / "rows.csv")).stdout)


def test_failures_exit_with_1_and_one_line():
    found = run("info", KERNELSKETCH_BACKEND="mmx")
    assert found.returncode == 1
    assert found.stderr.strip().splitlines() == [
        "kernelsketch: KERNELSKETCH_BACKEND='mmx' is not one of avx512, avx2, baseline, reference, "
        "cuda: choose one of them, or none to use the best one."
    ]


def test_a_missing_extra_prints_the_pip_command():
    code = "import sys; sys.modules['typer'] = None; from kernelsketch.cli import main; main()"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert found.stderr.strip() == "kernelsketch: typer is not installed: run  pip install 'kernelsketch[cli]'"


@pytest.mark.filterwarnings("always")
def test_a_warning_is_shown_once(capsys):
    with errors_as_sentences():
        for sentence in ("the first.", "the first.", "the second.", "the first."):
            warnings.warn(sentence, stacklevel=1)
    assert capsys.readouterr().err == "kernelsketch: the first.\nkernelsketch: the second.\n"


def test_help_breaks_lines_at_its_own_width(command):
    for name in ("export", "train", "demo"):
        paragraphs = command(name, "--help").output.split("─")[0].split("\n" + " " * 100 + "\n")
        for paragraph in paragraphs:
            lines = [line.strip() for line in paragraph.strip().splitlines()]
            for line, after in pairwise(lines):
                assert len(line) + len(after.split()[0]) >= 97, line


def test_usage_names_each_argument_once(command):
    for name in ("info", "kernel", "dedup", "train"):
        usage = next(line for line in command(name, "--help").output.splitlines() if "Usage:" in line)
        assert not re.search(r"\[\[|\]\]|\.\.\.\}", usage), usage
