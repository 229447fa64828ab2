"""Commands of kernelsketch-paper: installed they are entry points, and without it they say how to get them."""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from kernelsketch.cli._paper import GROUP, INSTALL, PAPER_COMMANDS

# The command line as it is where no other package is installed.
BARE = "import importlib.metadata as m, sys; m.entry_points = lambda **_: (); from kernelsketch.cli import main; main()"


def run(*arguments):
    return subprocess.run([sys.executable, "-c", BARE, *arguments], capture_output=True, text=True, check=False)


def test_the_table_names_the_commands_that_the_package_provides():
    found = {entry.name for entry in entry_points(group=GROUP)}
    if not found:
        pytest.skip("kernelsketch-paper is not installed")
    assert found == set(PAPER_COMMANDS)


@pytest.mark.parametrize("arguments", [["report", "--results", "x", "--figures"], ["theory", "--help"]])
def test_without_the_package_one_sentence_says_how_to_get_it(arguments):
    found = run(*arguments)
    assert found.returncode == 1
    assert found.stdout == ""
    (line,) = found.stderr.splitlines()
    assert line.startswith(f"kernelsketch: `kernelsketch {arguments[0]}` comes with the package kernelsketch-paper")
    assert INSTALL in line


def test_help_lists_only_what_is_there():
    found = run("--help")
    assert found.returncode == 0
    assert "train" in found.stdout
    assert "reproduce" not in found.stdout
