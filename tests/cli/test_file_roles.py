"""No command writes over what it reads, or over another of its outputs, however the files are named."""

import importlib
import inspect
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import typer

from kernelsketch import GCWSClassifier, GCWSIndex
from kernelsketch.cli._file_roles import FileRole, role_of
from kernelsketch.cli._main import COMMANDS
from kernelsketch.formats import write_rows
from kernelsketch.text import Shingles

TEXTS = ("texts.jsonl", "texts.safetensors")
READ, WRITTEN = FileRole.READ, FileRole.WRITTEN

# A command line of each command: the name of a parameter, as messages have it, and its value. Files that are read have
# the names of the fixture ``folder``.
LINES = {
    "train": {"INPUT": "rows.svm", "--model": "new.safetensors", "--continue": "model.safetensors"},
    "predict": {"INPUT": "rows.svm", "--model": "model.safetensors", "--output": "new.txt"},
    "evaluate": {"INPUT": "rows.svm", "--model": "model.safetensors", "--report": "new.html"},
    "export": {"MODEL": "model.safetensors", "--output": "new.h"},
    "dedup": {
        "INPUT": "texts.jsonl",
        "--output": "new.jsonl",
        "--clusters": "new.clusters.tsv",
        "--pairs": "new.pairs.tsv",
        "--against": "more.jsonl",
        "--matches": "new.matches.tsv",
        "--report": "new.html",
    },
    "index build": {"INPUT": "rows.svm", "--index": "new.safetensors"},
    "index query": {
        "INPUT": "texts.jsonl",
        "--index": "texts.safetensors",
        "--output": "new.tsv",
        "--new": "new.jsonl",
    },
    "index dedup": {"INPUT": "rows.svm", "--output": "new.tsv"},
    "hash": {"INPUT": "rows.svm", "OUTPUT": "new.svm"},
    "kernel": {"INPUT": "rows.svm", "OTHER": "other.svm", "--output": "new.csv"},
    "convert": {"INPUT": "rows.svm", "OUTPUT": "new.svm"},
    "info": {"INPUT": "model.safetensors", "--upgrade": "new.safetensors"},
}
# How a command learns the format of an output whose name is that of an input.
FORMATS = {"kernel": ("--to", "csv"), "hash": ("--to", "libsvm"), "convert": ("--to", "libsvm")}
OWN_NAMES = {"demo"}  # writes files of its own names to a folder
# Parameters of text that name no file, and folders in which no file has a name that the user chose.
NO_FILES = {
    *("label", "sample_weight", "encoding", "delimiter", "memory", "text", "id", "keep", "name"),
    *("temp_dir", "write", "groups", "time", "scoring", "threshold", "positive"),
}


def functions():
    """Yield the name and the function of each command."""
    for entry in COMMANDS:
        command = importlib.import_module(f"kernelsketch.cli.commands.{entry.name}").command
        if isinstance(command, typer.Typer):
            for inner in command.registered_commands:
                yield f"{entry.name} {inner.name or inner.callback.__name__}", inner.callback
        else:
            yield entry.name, command


def parameters_of(function):
    return inspect.signature(function, eval_str=True).parameters.values()


def roles(name):
    """The names of the parameters of a command that are files, as messages have them, and their roles."""
    found = {}
    for parameter in parameters_of(dict(functions())[name]):
        if role_of(parameter) is not None:
            (info,) = [part for part in parameter.annotation.__metadata__ if hasattr(part, "metavar")]
            names = (info.default, *(info.param_decls or ()))  # typer takes the first one for the default
            name = next((name for name in names if str(name).startswith("--")), info.metavar)
            found[name] = role_of(parameter)
    return found


def pairs():
    """Yield each output of each command with each other file of it."""
    for name, line in LINES.items():
        for output, role in roles(name).items():
            if role is WRITTEN:
                yield from ((name, output, other) for other in line if other != output)


def words(name, line):
    parts = [*name.split()]
    for key, value in line.items():
        parts += [value] if not key.startswith("--") else [key, value]
    return [*parts, *FORMATS.get(name, ())]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with files to read."""
    monkeypatch.chdir(tmp_path)
    X, y = np.abs(np.random.default_rng(0).normal(size=(20, 4))), np.arange(20) % 2
    for name in ("rows.svm", "other.svm"):
        write_rows(name, [(X, y)])
    GCWSClassifier(8).fit(X, y).save("model.safetensors")
    GCWSIndex(n_tables=2).fit(X).save("index.safetensors")
    Path("more.jsonl").write_text('{"text": "eight"}\n')
    GCWSIndex(n_tables=2, shingles=Shingles(2)).fit(["one two three", "four five six"]).save("texts.safetensors")
    Path("texts.jsonl").write_text('{"text": "one two three four five six"}\n{"text": "seven"}\n')
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_every_command_is_here():
    named = {name for name, _ in functions()}
    assert named == {*LINES, *OWN_NAMES}
    for name in named - OWN_NAMES:
        found = set(roles(name).values())
        assert (WRITTEN in found) == (name in LINES), name
    for name, line in LINES.items():
        assert set(roles(name)) == set(line), name


def test_every_parameter_that_may_name_a_file_has_a_role():
    for name, function in functions():
        for parameter in parameters_of(function):
            annotation = parameter.annotation
            kind = get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
            kinds = {kind, *get_args(kind)}
            if kinds & {str, Path} and parameter.name not in NO_FILES:
                assert role_of(parameter) is not None, f"{name}: {parameter.name} needs a FileRole"


@pytest.mark.parametrize("name", LINES)
def test_the_command_lines_work(command, folder, name):
    before = contents(folder)
    command(*words(name, LINES[name]))
    found = contents(folder)
    assert {key: found[key] for key in before} == before
    assert {value for value in LINES[name].values() if value.startswith("new")} <= set(found)


@pytest.mark.parametrize(("name", "output", "other"), pairs())
def test_an_output_is_no_other_file_of_the_command(command, folder, name, output, other):
    line, before = dict(LINES[name]), contents(folder)
    line[output] = line[other]
    if name == "export":  # only these endings are written
        os.link("model.safetensors", "model.h")
        line[output], before = "model.h", contents(folder)
    found = command(*words(name, line), status=2)
    assert "are the same file" in found.stderr
    for key in (output, other):
        assert f"{key} {line[key]}" in found.stderr.replace("\n", " ")
    assert contents(folder) == before


@pytest.mark.skipif(sys.platform == "win32", reason="links need a permission")
@pytest.mark.parametrize(
    "alias",
    [
        "./{}",
        "{}/",
        "a/../{}",
        "nowhere/../{}",
        "link",
        "hard",
        "chain",
        "linked/{}",
        "a/up/{}",
        "{cwd}/{}",
        "//{cwd}/{}",
    ],
)
@pytest.mark.parametrize(
    ("name", "output", "other"),
    [("predict", "--output", "INPUT"), ("predict", "--output", "--model"), ("dedup", "--clusters", "--output")],
)
def test_other_names_of_a_file(command, folder, name, output, other, alias):
    line = dict(LINES[name])
    file = line[other]
    os.mkdir("a")
    os.symlink(folder, "linked")
    os.symlink("..", "a/up")
    os.symlink(file, "link")
    os.symlink("link", "chain")
    if alias == "hard":
        Path(file).touch()
        os.link(file, "hard")
    line[output] = alias.format(file, cwd=folder)
    before = contents(folder)
    assert "are the same file" in command(*words(name, line), status=2).stderr
    assert contents(folder) == before


def test_names_that_differ_in_case(command, folder):
    """They are one file or two, as the file system has it."""
    same = os.path.exists("ROWS.SVM")
    line = LINES["predict"] | {"--output": "ROWS.SVM"}
    command(*words("predict", line), "--to", "text", status=2 if same else 0)


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="a device of POSIX")
def test_devices_and_standard_output_may_be_named_twice(command, folder):
    line = LINES["dedup"] | {
        "--output": "-",
        "--clusters": "/dev/null",
        "--pairs": "/dev/null",
        "--report": "/dev/null",
    }
    assert command(*words("dedup", line)).stdout.count("\n") == 2
    command("predict", "/dev/null", "--format", "libsvm", "-m", "model.safetensors", "-o", "/dev/null")
    line = LINES["dedup"] | {"--clusters": "-", "--pairs": "-"}
    assert "document\tcluster" in command(*words("dedup", line)).stdout


def kernelsketch(*words, **streams):
    run = [sys.executable, "-m", "kernelsketch", *words]
    return subprocess.run(run, check=False, stderr=subprocess.PIPE, text=True, **streams)


def test_standard_streams_are_the_files_that_they_are_redirected_to(folder):
    before = contents(folder)
    predict = ("predict", "--format", "libsvm", "-m", "model.safetensors")
    with open("rows.svm") as file:
        found = kernelsketch(*predict, "-", "-o", "rows.svm", stdin=file)
    assert found.returncode == 2, found.stderr
    assert "--output rows.svm and INPUT - are the same file" in found.stderr
    with open("rows.svm", "a") as file:
        found = kernelsketch(*predict, "rows.svm", stdout=file)
    assert found.returncode == 2, found.stderr
    assert "--output - and INPUT rows.svm are the same file" in found.stderr
    assert contents(folder) == before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="links to files that a process has opened")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_names_of_standard_output(folder, name):
    dedup = ("dedup", "texts.jsonl", "-o", "-", "--clusters", name)
    found = kernelsketch(*dedup, stdout=subprocess.PIPE)
    assert (found.returncode, len(found.stdout.splitlines())) == (0, 3), found.stderr
    Path("log").write_bytes(b"what was there before\n")
    with open("log", "ab") as file:
        found = kernelsketch("predict", "rows.svm", "-m", "model.safetensors", "-o", name, stdout=file)
    assert found.returncode == 0, found.stderr
    assert Path("log").read_text().splitlines()[0] == "what was there before"
    assert len(Path("log").read_text().splitlines()) == 21
    before = contents(folder)
    for write in (
        ("train", "rows.svm", "-m", name),
        ("evaluate", "rows.svm", "-m", "model.safetensors", "--report", name),
    ):
        with open("log", "ab") as file:
            found = kernelsketch(*write, stdout=file)
        assert found.returncode == 1
        assert "not a file that can be replaced" in found.stderr
    assert contents(folder) == before


def test_folders_that_are_read(command, folder):
    GCWSIndex(n_tables=2).fit(np.eye(4)).save_folder("index")
    os.mkdir("texts")
    Path("texts/a.txt").write_text("one two three four five six")
    os.symlink("texts", "same")
    before = sorted(os.listdir("index"))
    found = command("index", "query", "rows.svm", "-i", "index", "-o", "index/out.tsv", status=2)
    assert "--output index/out.tsv lies in the folder that is read, --index index" in found.stderr
    assert sorted(os.listdir("index")) == before
    for name in ("texts/a.txt", "same/a.txt"):
        for line in (
            ("index", "build", "texts", "--text", "text", "-i", name),
            ("index", "dedup", "texts", "--text", "text", "-o", name),
            ("dedup", "texts", "-o", name),
            ("dedup", "texts", "-o", "out.jsonl", "--pairs", name),
        ):
            found = command(*line, status=2).stderr.replace("\n", " ")
            assert f"{name} is a file of the folder that is read, INPUT texts" in found
    assert Path("texts/a.txt").read_text() == "one two three four five six"
    for name in ("texts/i.safetensors", "same/i.safetensors"):  # the second time it is there
        command("index", "build", "texts", "--text", "text", "-i", name)
    found = command("dedup", "texts", "-o", "same", status=2)
    assert "--output same and INPUT texts are the same file" in found.stderr


def test_outputs_of_dedup_are_not_in_its_work_folder(command, folder):
    line = LINES["dedup"] | {"--pairs": "new.jsonl.work"}
    found = command(*words("dedup", line), status=1).stderr.replace("\n", "")
    assert "new.jsonl.work are the same file" in found
    os.mkdir("new.jsonl.work")
    found = command(*words("dedup", line | {"--pairs": "new.jsonl.work/pairs.tsv"}), status=1).stderr
    assert "--pairs new.jsonl.work/pairs.tsv lies in the folder that is read, the work folder" in found
    assert not os.path.exists("new.jsonl")


@pytest.mark.parametrize("name", LINES)
def test_an_output_without_a_folder_is_refused_first(command, folder, name):
    line = dict(LINES[name])
    for key, role in roles(name).items():
        if role is WRITTEN:
            found = command(*words(name, line | {key: f"nowhere/{line[key]}"}), status=1)
            assert f"{key} nowhere/{line[key]} cannot be written. There is no folder nowhere" in found.stderr.replace(
                "\n", " "
            )
    assert {*contents(folder)} == {
        "rows.svm",
        "other.svm",
        "model.safetensors",
        "index.safetensors",
        *TEXTS,
        "more.jsonl",
    }


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_a_pipe_is_no_output(command, folder):
    os.mkfifo("pipe")
    for name, output in product(("predict", "index query"), ("pipe", "./pipe")):
        found = command(*words(name, LINES[name] | {"--output": output}), status=1)
        assert "It is a device or a pipe" in found.stderr


def test_files_that_a_pattern_or_a_folder_stands_for(command, folder):
    (folder / "parts").mkdir()
    (folder / "parts" / "part-0.svm").write_bytes((folder / "rows.svm").read_bytes())
    before = contents(folder / "parts")
    for output in ("parts/part-0.svm", "parts/new.svm"):
        message = "choose another" if output.endswith("new.svm") else "are the same file"
        shown = command("hash", "parts/part-*.svm", "parts", output, "--to", "libsvm", "-k", 4, status=2).stderr
        assert message in shown
    assert contents(folder / "parts") == before
