"""Commands of other packages, found by entry point."""

import os
import subprocess
import sys

import pytest

from kernelsketch.cli import plugins

PLUGIN = '''
print("plug-in imported")
from typing import Annotated
import typer
from kernelsketch.cli.plugins import UsageError, print_facts

def hello(loud: Annotated[bool, typer.Option("--loud", help="Shout.")] = False) -> None:
    """Greet the user."""
    if loud:
        raise UsageError("--loud is not allowed here.")
    print_facts({"hello": "world"})
'''


@pytest.fixture
def run(tmp_path):
    """Run a command where a package with the command hello is installed, and kernelsketch-paper is or is not."""
    (tmp_path / "greeting.py").write_text(PLUGIN)
    info = tmp_path / "greeting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kernelsketch.commands]\nhello = greeting:hello\n")
    only = (
        "import sys, importlib.metadata as m; found = m.entry_points\n"
        "m.entry_points = lambda **k: [e for e in found(**k) if e.name == 'hello']\n"
        "from kernelsketch.cli import main; main()"
    )

    def run(*args):
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "100"}
        given = [sys.executable, "-c", only, *args]
        return subprocess.run(given, capture_output=True, text=True, check=False, env=environment)

    return run


def test_help_lists_a_plugin_without_importing_it(run):
    found = run("--help").stdout
    assert "hello" in found
    assert "A command of greeting." in found
    assert "plug-in imported" not in found
    assert "reproduce" not in found  # its package is not installed here


def test_a_plugin_runs(run):
    assert run("hello").stdout == "plug-in imported\nhello  world\n"
    assert "Greet the user." in run("hello", "--help").stdout
    found = run("hello", "--loud")
    assert (found.returncode, found.stderr) == (2, "kernelsketch: --loud is not allowed here.\n")


def test_a_command_of_the_paper_says_how_to_install_it(run):
    found = run("reproduce", "all", "--quick")
    assert found.returncode == 1
    assert found.stderr == (
        "kernelsketch: the command reproduce belongs to the package kernelsketch-paper, which is not installed: run  "
        "pip install ./paper  in a checkout of kernelsketch.\n"
    )


def test_public_names_of_plugins():
    assert all(getattr(plugins, name) for name in plugins.__all__)
