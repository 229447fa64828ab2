"""How far a download is."""

import sys

import pytest

from kernelsketch_paper.data._progress import progress


def test_plain_lines(capsys):
    with progress("a.gz") as report:
        for done in range(0, 1001, 5):
            report(done * 10_000, 10_000_000)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "a.gz: 0.0 of 10.0 MB"
    assert lines[-1] == "a.gz: 10.0 of 10.0 MB"
    assert len(lines) == 11


def test_plain_lines_without_a_size(capsys):
    with progress("a") as report:
        for done in range(0, 100_000_000, 1_000_000):
            report(done, None)
    assert capsys.readouterr().err.splitlines()[1] == "a: 17.0 MB"


@pytest.mark.parametrize("installed", [True, False])
def test_a_bar_on_a_terminal(capsys, monkeypatch, installed):
    if not installed:
        monkeypatch.setitem(sys.modules, "rich.progress", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress("a.gz") as report:
        report(5, 10)
        report(10, 10)
    assert ("a.gz: 0.0 of 0.0 MB" in capsys.readouterr().err) == (not installed)
