"""What all commands have in common: the table of docs/reference/commands.rst says what is true of them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernelsketch.cli._main import COMMANDS, PAPER_COMMANDS, Commands
from kernelsketch.cli.commands.index import command as index

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "commands.rst").read_text(encoding="utf-8")
SECTION = PAGE.partition("All commands at a glance")[2].partition("The exit status is")[0]
ROWS = {
    name: [cell.strip() for cell in cells]
    for name, *cells in re.findall(r"   \* - ``([\w ]+)``\n     -(.*)\n     -(.*)\n     -(.*)\n", SECTION)
}


def commands():
    """Every command that does something, by the words that call it."""
    found = Commands()
    for name in [*(entry.name for entry in COMMANDS), *PAPER_COMMANDS]:
        made = found.get_command(None, name)
        try:
            loaded = made.load()
        except Exception as error:  # the package of the paper is not installed
            assert "is not installed" in str(error)  # noqa: PT017
            continue
        inner = getattr(loaded, "commands", None)
        yield from [(name, loaded)] if inner is None else ((f"{name} {word}", one) for word, one in inner.items())


FOUND = dict(commands())


def test_the_table_has_all_commands():
    own = {name for name in ROWS if name not in PAPER_COMMANDS}
    assert own == {name for name in FOUND if name not in PAPER_COMMANDS}
    assert own | set(PAPER_COMMANDS) == set(ROWS)
    assert {f"index {one.name}" for one in index.registered_commands} == {name for name in own if " " in name}


@pytest.mark.parametrize("name", FOUND)
def test_options_that_all_commands_have(name):
    options = {word: param for param in FOUND[name].params for word in param.opts}
    for word in ("--json", "--quiet", "-q", "--config"):
        assert word in options, word
        assert options[word].help, word
    assert ROWS[name][1], "the table says what --json prints"


def test_commands_that_read_a_pipe():
    said = {name for name, (pipe, *_) in ROWS.items() if pipe == "yes"}
    shown = {
        name
        for name, found in FOUND.items()
        if any("standard input" in (getattr(param, "help", "") or "") for param in found.params)
    }
    assert said == shown


@pytest.mark.parametrize("name", FOUND)
def test_wrong_usage_and_failures(command, name, tmp_path):
    assert "No such option" in command(*name.split(), "--no-such-option", status=2).stderr
    missing, out = tmp_path / "missing.svm", tmp_path / "no" / "out.npz"
    arguments = {
        "train": (missing, "-m", tmp_path / "m"),
        "predict": (missing, "-m", missing),
        "evaluate": (missing, "-m", missing),
        "export": (missing, "-o", tmp_path / "m.h"),
        "demo": ("--write", missing / "x"),
        "dedup": (missing, "-o", tmp_path / "out.jsonl"),
        "hash": (missing, tmp_path / "c.safetensors"),
        "kernel": (missing, "-o", tmp_path / "k.npy"),
        "convert": (missing, out),
        "info": (missing,),
        "index build": (missing, "-i", tmp_path / "i"),
        "index query": (missing, "-i", missing),
        "index dedup": (missing,),
        "datasets": ("no such dataset",),
        "report": ("--results", missing),
    }
    if name in arguments:
        found = command(*name.split(), *arguments[name], status=1)
        assert found.stderr.startswith("kernelsketch: ")
        assert found.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUND)
def test_completion_of_every_command(name):
    words = f"kernelsketch {name} --js"
    asked = {"_KERNELSKETCH_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    program = [str(Path(sys.executable).with_name("kernelsketch"))]
    found = subprocess.run(program, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert found.stdout.split() == ["--json"]


def test_statuses_of_the_page():
    from kernelsketch.cli import _errors

    shown = set(map(int, re.findall(r"^(\d+) +(?:after|if)", PAGE, re.MULTILINE)))
    assert shown == {
        0, _errors.FAILURE, _errors.USAGE, _errors.INTERRUPTED, _errors.BROKEN_PIPE, _errors.TERMINATED,
    }  # fmt: skip
