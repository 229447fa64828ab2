"""The command line as a user calls it."""

import sys
from dataclasses import dataclass

import pytest

from kernelsketch.cli import main


@dataclass
class Answer:
    status: int
    output: str
    errors: str


@pytest.fixture
def kernelsketch(monkeypatch, capsys):
    """Run ``kernelsketch`` with arguments, on a terminal of a given width."""

    def call(*arguments, columns=120):
        monkeypatch.setattr(sys, "argv", ["kernelsketch", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", str(columns))
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        output, errors = capsys.readouterr()
        return Answer(end.value.code or 0, output, errors)

    return call
