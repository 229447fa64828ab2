import io
import json
import os
import re
import subprocess
import sys
import time

import pytest

from kernelsketch.cli import _progress
from kernelsketch.cli._progress import ProgressMeter, format_duration


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (80, "80 s"), (600, "10 min"), (9000, "2.5 h")]
)
def test_durations(seconds, text):
    assert format_duration(seconds) == text


def test_lines_every_ten_seconds_where_nobody_watches(monkeypatch):
    clock, out = [0.0], io.StringIO()
    monkeypatch.setattr(_progress, "monotonic", lambda: clock[0])
    monkeypatch.setattr(sys, "stderr", out)
    with ProgressMeter("hashing", quiet=False) as meter:
        for clock[0] in (1.0, 4.9, 5.0, 7.0, 14.9, 15.0):
            meter.show(clock[0] / 20, f"{clock[0]:g} rows")
        meter.begin("learning")
        clock[0] = 25
        meter.show(None, "pass 1")
    assert out.getvalue().splitlines() == [
        "hashing: 5 rows, 25 %, about 15 s left",
        "hashing: 15 rows, 75 %, about 5.0 s left",
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


def test_a_long_call_is_shown_again(monkeypatch):
    """Also where the library shows nothing for a while, with the time so far; the lines end with the work."""
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    monkeypatch.setattr(_progress, "FIRST", 0.2)
    monkeypatch.setattr(_progress, "SECONDS", 0.2)
    with ProgressMeter("saving", quiet=False) as meter:
        time.sleep(1.5)
        meter.begin("learning")
        meter.show(0.5, "pass 3")
        time.sleep(1.5)
    shown = out.getvalue().splitlines()
    assert re.fullmatch(r"saving: \d\.\d s so far", shown[0])
    assert re.fullmatch(r"learning: pass 3, 50 %, about \d\.\d s left, \d\.\d s so far", shown[-1])
    time.sleep(1)
    assert out.getvalue().splitlines() == shown


SLOW = """
import sys, time
from kernelsketch.cli import _progress, main

_progress.FIRST = _progress.SECONDS = 0.05

class Slow:
    def find_spec(self, name, *_):
        if name == "numpy":
            time.sleep(1.5)

sys.meta_path.insert(0, Slow())
sys.argv[0] = "kernelsketch"
main()
"""


def run_slow(*arguments):
    given = [sys.executable, "-c", SLOW, *map(str, arguments)]
    return subprocess.run(given, capture_output=True, text=True, check=True)


def test_times_include_the_start_of_the_process(tmp_path, files):
    found = run_slow("hash", files["svm"][0], tmp_path / "c.safetensors", "--json", "-q")
    assert json.loads(found.stdout)["seconds"] > 1.5
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "one two"}\n')
    found = run_slow("dedup", source, "-o", tmp_path / "out.jsonl", "--json", "-q")
    assert json.loads(found.stdout)["seconds"] > 1.5
    found = run_slow("train", files["svm"][0], "-m", tmp_path / "m.safetensors", "-k", 64, "--json", "-q")
    facts = json.loads(found.stdout)
    assert facts["hash_seconds"] > 1.5
    assert facts["learn_seconds"] < facts["hash_seconds"]


@pytest.fixture(scope="module")
def commands(tmp_path_factory, files, iris):
    """The arguments of every command that works on files, and a folder with what they need."""
    folder = tmp_path_factory.mktemp("quiet")
    rows, table = files["svm"][0], iris[1]
    (folder / "in.jsonl").write_text('{"text": "one two three four five six"}\n' * 3)
    made = {
        "train": ("train", rows, "-m", folder / "m.safetensors", "-k", 64),
        "train a table": ("train", table, "--label", "kind", "-m", folder / "t.safetensors", "--effort", "quick"),
        "predict": ("predict", rows, "-m", folder / "m.safetensors", "-o", folder / "labels.txt"),
        "evaluate": ("evaluate", rows, "-m", folder / "m.safetensors"),
        "export": ("export", folder / "m.safetensors", "-o", folder / "m.h"),
        "hash": ("hash", rows, folder / "c.safetensors"),
        "kernel": ("kernel", rows, "-o", folder / "k.npy"),
        "convert": ("convert", rows, folder / "r.npz"),
        "info": ("info", rows, "--scan"),
        "dedup": ("dedup", folder / "in.jsonl", "-o", folder / "out.jsonl"),
        "index build": ("index", "build", rows, "-i", folder / "i.safetensors"),
        "index query": ("index", "query", rows, "-i", folder / "i.safetensors", "-o", folder / "n.tsv"),
        "index dedup": ("index", "dedup", rows, "-o", folder / "p.tsv"),
    }
    return made


class Shown(ProgressMeter):
    """A meter that finds every line due."""

    def __init__(self, title, quiet):
        super().__init__(title, quiet)
        self._due = 0.0

    def show(self, fraction, text):
        self._due = 0.0
        super().show(fraction, text)

    def __exit__(self, *error):
        self._due = 0.0
        self._show_if_due(again=True)
        super().__exit__(*error)


TITLES = {
    "train": "learning", "train a table": "learning", "predict": "predicting", "evaluate": "evaluating",
    "export": "exporting", "hash": "hashing", "kernel": "computing", "convert": "converting", "info": "reading",
    "dedup": "writing", "index build": "indexing", "index query": "searching", "index dedup": "comparing",
}  # fmt: skip


def test_every_command_shows_progress_unless_it_is_quiet(command, commands, monkeypatch):
    for name, arguments in commands.items():
        module = {"train a table": "train"}.get(name, name.split()[0])
        monkeypatch.setattr(f"kernelsketch.cli.work.{module}.ProgressMeter", Shown)
        shown = command(*arguments).stderr
        assert f"{TITLES[name]}: " in shown, name
        quiet = command(*arguments, "--quiet").stderr
        assert f"{TITLES[name]}: " not in quiet, name
