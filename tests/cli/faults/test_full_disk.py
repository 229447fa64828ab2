"""No room for the output, the temporary file of codes, or on standard output: a sentence, and the old file stays."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

LIMIT = 4096  # bytes that a file may have
WORDS = ("was not written", "before is untouched", "Free some space, or choose another folder")
OUTPUTS = [
    "codes.safetensors",
    "rows.libsvm",
    "rows.libsvm.gz",
    "rows.svm.bz2",
    "rows.svm.xz",
    "rows.parquet",
    "rows.npz",
]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of half a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", folder], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def arguments(name, files, path):
    if name == "model.safetensors":
        return ["train", files / "rows.svm", "-m", path, "-k", 64, "--cv"]  # which keeps the codes in memory
    if name == "labels.txt":
        return ["predict", files / "rows.svm", "-m", files / "model.safetensors", "-o", path]
    if name == "gmm.npy":
        return ["kernel", files / "rows.svm", "-o", path]
    return ["hash" if name.startswith("codes") else "convert", files / "rows.svm", path]


@pytest.mark.parametrize("name", [*OUTPUTS, "model.safetensors", "labels.txt", "gmm.npy"])
def test_a_file_that_may_not_grow(tmp_path, files, commands, name):
    path = tmp_path / name
    path.write_bytes(b"what was there before")
    command = commands.start(*arguments(name, files, path), "-q", limit=LIMIT)
    command.fails(f"{path}: File too large", *WORDS)
    assert path.read_bytes() == b"what was there before"
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", [*OUTPUTS[:2], "rows.parquet", "rows.npz", "gmm.npy"])
def test_a_full_disk(small_disk, files, commands, name):
    path = small_disk / name
    path.write_bytes(b"what was there before")
    (small_disk / "other").write_bytes(bytes(460_000))
    commands.start(*arguments(name, files, path), "-q").fails(f"{path}: No space left on device", *WORDS)
    assert path.read_bytes() == b"what was there before"
    assert sorted(os.listdir(small_disk)) == sorted([name, "other"])


def test_a_model_and_its_codes_on_a_full_disk(small_disk, tmp_path, files, commands):
    model = tmp_path / "model.safetensors"
    model.write_bytes(b"what was there before")
    command = commands.start("train", files / "rows.svm", "-m", model, "-k", 1024, "--temp-dir", small_disk, "-q")
    command.fails(f"{small_disk}: No space left on device", "temporary file", "--temp-dir")
    assert model.read_bytes() == b"what was there before"
    assert os.listdir(small_disk) == []
    model = small_disk / "model.safetensors"
    (small_disk / "other").write_bytes(bytes(500_000))
    command = commands.start("train", files / "rows.svm", "-m", model, "-k", 256, "--temp-dir", tmp_path, "-q")
    command.fails(f"{model}: No space left on device", *WORDS)
    assert os.listdir(small_disk) == ["other"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("command", ["predict", "convert", "info", "kernel"])
def test_standard_output_is_full(files, commands, command):
    options = {
        "predict": ["-m", files / "model.safetensors"],
        "convert": ["-", "--to", "libsvm"],
        "info": [],
        "kernel": ["--to", "csv"],
    }[command]
    commands.start(command, files / "rows.svm", *options, "-q", stdout="/dev/full").fails(
        "standard output: No space left on device"
    )
