"""How far a download is."""

import sys

from kernelsketch_paper.data._progress import progress


def test_plain_lines(capsys):
    with progress("a.gz") as on_bytes:
        for done in range(0, 1001, 5):
            on_bytes(done * 10_000, 10_000_000)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "a.gz: 0.0 of 10.0 MB"
    assert lines[-1] == "a.gz: 10.0 of 10.0 MB"
    assert len(lines) == 11


def test_plain_lines_without_a_size(capsys):
    with progress("a") as on_bytes:
        for done in range(0, 100_000_000, 1_000_000):
            on_bytes(done, None)
    assert capsys.readouterr().err.splitlines()[1] == "a: 17.0 MB"


def test_a_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress("a.gz") as on_bytes:
        on_bytes(5, 10)
        on_bytes(10, 10)
    shown = capsys.readouterr().err
    assert "a.gz" in shown
    assert "\x1b[" in shown
    assert "a.gz: " not in shown  # the form of plain lines; the bar shows the speed, which may be in MB/s
