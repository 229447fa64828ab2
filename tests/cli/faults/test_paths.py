"""Inputs and outputs that are not what they should be, wrong usage, and pipes."""

import os
import shlex
import subprocess
import sys

import pytest

USAGE = [
    (["train"], "INPUT"),
    (["train", "rows.svm"], "--model"),
    (["train", "rows.svm", "-m", "m", "--bits", "17"], "--bits"),
    (["train", "rows.svm", "-m", "m", "--loss", "huber"], "--loss"),
    (["train", "rows.svm", "-m", "m", "--regression", "--cv"], "--cv"),
    (["train", "rows.svm", "-m", "m", "--memory", "much"], "much"),
    (["predict", "rows.svm", "-m", "m", "--scores", "--proba"], "--scores"),
    (["hash", "rows.svm", "codes.safetensors", "-k", "0"], "-k"),
    (["hash", "rows.svm", "codes.safetensors", "--threads", "0"], "--threads"),
    (["convert", "rows.svm", "rows.npz", "--to", "xls"], "--to"),
    (["kernel", "rows.svm", "--kernel", "rbf", "-p", "2"], "--p"),
    (["kernel", "rows.svm", "-o", "kernel.png"], "--output"),
    (["info", "rows.svm", "--no-such"], "--no-such"),
]


@pytest.mark.parametrize(("arguments", "word"), USAGE)
def test_usage(files, commands, arguments, word):
    arguments = [str(files / a) if a == "rows.svm" else a for a in arguments]
    command = commands.start(*arguments)
    assert command.wait() == 2
    assert word in command.stderr
    assert "Traceback" not in command.stderr


def outputs(files, path):
    rows, model = files / "rows.svm", files / "model.safetensors"
    return [
        ["train", rows, "-k", 16, "-m", path],
        ["predict", rows, "-m", model, "-o", path],
        ["hash", rows, path, "--to", "codes"],
        ["convert", rows, path, "--to", "npz"],
        ["kernel", rows, "-o", path, "--to", "npy"],
    ]


def test_outputs_that_cannot_be(tmp_path, files, commands):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, words in [("folder", "folder"), ("no/file", "folder"), ("pipe", "device or a pipe")]:
        for arguments in outputs(files, tmp_path / name):
            commands.start(*arguments).fails(str(tmp_path / name), words)
    assert sorted(os.listdir(tmp_path)) == ["folder", "pipe"]


def test_devices_stay_what_they_are(files, commands):
    """What is written to a device goes into it. No file takes its place, even for root, who could put one there."""
    rows, model = files / "rows.svm", files / "model.safetensors"
    commands.run("predict", rows, "-m", model, "-o", os.devnull)
    commands.run("convert", rows, os.devnull, "--to", "libsvm")
    for arguments in outputs(files, os.devnull):
        commands.run(*arguments)
    assert not os.path.isfile(os.devnull)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission(tmp_path, files, commands):
    (tmp_path / "locked").mkdir(mode=0o500)
    for arguments in outputs(files, tmp_path / "locked" / "file"):
        commands.start(*arguments).fails(str(tmp_path / "locked"), "permission")
    (tmp_path / "rows.svm").touch(0o200)
    commands.start("info", tmp_path / "rows.svm").fails(str(tmp_path / "rows.svm"), "Permission denied")


def test_links_stay_links(tmp_path, files, commands):
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "model.safetensors", tmp_path / "there" / "model-1.safetensors"
    link.symlink_to(target)
    for _ in range(2):
        commands.run("train", files / "rows.svm", "-k", 16, "-m", link)
        assert link.is_symlink()
        assert os.listdir(tmp_path / "there") == [target.name]
    commands.run("info", link)


@pytest.mark.parametrize("name", ["rows.svm", "rows.svm.gz", "rows.npz", "rows.parquet"])
def test_a_file_onto_itself(tmp_path, files, commands, name):
    path = tmp_path / name
    commands.run("convert", files / "rows.svm", path)
    before = path.read_bytes()
    commands.start("convert", path, path, "--memory", "2MB").fails("are the same file", status=2)
    assert os.listdir(tmp_path) == [name]
    assert path.read_bytes() == before


@pytest.mark.parametrize("command", ["train", "predict", "evaluate", "hash", "kernel", "convert", "info"])
def test_inputs_that_cannot_be(tmp_path, files, commands, command):
    out = tmp_path / "out"
    out.mkdir()
    rest = {
        "train": ["-m", out / "model.safetensors"],
        "predict": ["-m", files / "model.safetensors", "-o", out / "labels"],
        "evaluate": ["-m", files / "model.safetensors"],
        "hash": [out / "codes.safetensors"],
        "kernel": ["-o", out / "kernel.npy"],
        "convert": [out / "rows.npz"],
        "info": [],
    }[command]
    (tmp_path / "empty.svm").touch()
    (tmp_path / "wrong.svm").write_text("1 1:1\n1 1;2\n")
    (tmp_path / "what").write_text("some words\n")
    (tmp_path / "rows.csv.gz").write_bytes(b"1,2\n")
    (tmp_path / "folder").mkdir()
    names = ["none.svm", "none.safetensors", "folder", "wrong.svm", "what", "rows.csv.gz"]
    for name in [*names, *(["empty.svm"] if command in ("train", "evaluate", "kernel") else [])]:
        commands.start(command, tmp_path / name, *rest, "-q").fails(
            str(tmp_path / name), status=2 if name == "what" else 1
        )
        assert os.listdir(out) == [], name


def test_standard_input(tmp_path, files, commands):
    """Every command gives of a stream what it gives of a file."""
    rows, model = files / "rows.svm", files / "model.safetensors"
    for arguments in [
        ["train", "INPUT", "-k", 64, "-m", "OUTPUT"],
        ["predict", "INPUT", "-m", model, "-o", "OUTPUT"],
        ["hash", "INPUT", "OUTPUT", "--to", "codes", "-k", 64],
        ["kernel", "INPUT", "-o", "OUTPUT", "--to", "npy"],
        ["convert", "INPUT", "OUTPUT", "--to", "npz"],
        ["evaluate", "INPUT", "-m", model],
        ["info", "INPUT", "--scan"],
    ]:
        found = []
        for number, stream in enumerate([rows, "-"]):
            out, told = tmp_path / f"out-{number}", tmp_path / f"told-{number}"
            places = {"INPUT": stream, "OUTPUT": out}
            commands.run(*[places.get(a, a) for a in arguments], stdin=rows, stdout=told)
            found.append(out.read_bytes() if "OUTPUT" in arguments else told.read_text().splitlines()[0])
            told.unlink()
        assert found[0] == found[1], arguments
    for name in ("rows.npz", "rows.parquet"):
        commands.run("convert", rows, tmp_path / name)
        with (tmp_path / name).open("rb") as file:
            read = subprocess.run(["cat"], stdin=file, capture_output=True, check=True).stdout
        assert read == (tmp_path / name).read_bytes()


PYTHON = f"{shlex.quote(sys.executable)} -m kernelsketch"


@pytest.mark.parametrize(
    "line",
    [
        "predict rows.svm -m model.safetensors; echo status $? >&2; } | head -n 1",
        "convert rows.svm - --to libsvm; echo status $? >&2; } | true",
        "info rows.svm; echo status $? >&2; } | true",
    ],
)
def test_a_reader_that_has_enough(files, line):
    """``head`` closes the pipe after a line, ``true`` before anything comes."""
    line = f"{{ {PYTHON} {line}"
    found = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=files, check=True)
    assert found.stderr == ("status 0\n" if "head" in line else "status 141\n")  # what head leaves fits in the pipe


def test_closed_streams(files):
    for line, words in [
        (f"{PYTHON} convert rows.svm - --to libsvm >&-", "standard output is closed"),
        (f"{PYTHON} info - <&-", "standard input is closed"),
    ]:
        found = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=files, check=False)
        assert found.returncode == 1
        assert found.stderr == f"kernelsketch: {words}: name a file.\n"
