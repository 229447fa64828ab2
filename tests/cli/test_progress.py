import io
import os
import subprocess
import sys

import pytest

from kernelsketch.cli import _progress
from kernelsketch.cli._progress import ProgressMeter, format_duration


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (80, "80 s"), (600, "10 min"), (9000, "2.5 h")]
)
def test_durations(seconds, text):
    assert format_duration(seconds) == text


def test_lines_every_few_seconds_where_nobody_watches(monkeypatch):
    clock, out = [0.0], io.StringIO()
    monkeypatch.setattr(_progress, "monotonic", lambda: clock[0])
    monkeypatch.setattr(sys, "stderr", out)
    with ProgressMeter("hashing", quiet=False) as meter:
        for clock[0] in (1.0, 4.9, 5.0, 7.0, 10.1):
            meter.show(clock[0] / 20, f"{clock[0]:g} rows")
        meter.begin("learning")
        clock[0] = 16
        meter.show(None, "pass 1")
    assert out.getvalue().splitlines() == [
        "hashing: 5 rows, 25 %, about 15 s left",
        "hashing: 10.1 rows, 50 %, about 9.9 s left",
        "learning: pass 1",
    ]


def test_quiet(monkeypatch):
    clock, out = [0.0], io.StringIO()
    monkeypatch.setattr(_progress, "monotonic", lambda: clock[0])
    monkeypatch.setattr(sys, "stderr", out)
    with ProgressMeter("hashing", quiet=True) as meter:
        clock[0] = 100.0
        meter.show(0.5, "x")
    assert out.getvalue() == ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_bars_on_a_terminal(tmp_path, files):
    import pty

    parent, child = pty.openpty()
    command = [sys.executable, "-m", "kernelsketch", "hash", str(files["svm"][0]), str(tmp_path / "c.safetensors")]
    done = subprocess.run(
        command, stderr=child, stdout=subprocess.PIPE, check=True, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    )
    os.close(child)
    shown = b""
    try:
        while part := os.read(parent, 1 << 16):
            shown += part
    except OSError:  # the end, on Linux
        pass
    os.close(parent)
    assert "━" in shown.decode()
    assert b"600 rows" in shown
    assert done.stdout.startswith(b"hashed  600 rows")
