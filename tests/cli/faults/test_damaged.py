"""Files that are cut, have a changed bit, or change while they are read."""

import gzip
import os
import random
import sys

import numpy as np
import pytest

from .conftest import wait_for

if sys.platform != "win32":
    import fcntl
    import termios

SMALL = ["--memory", "2MB", "--threads", 1, "-q"]  # blocks of 64 KiB

NAMES = ["rows.svm", "rows.svm.gz", "rows.csv", "rows.npy", "rows.npz", "rows.parquet", "codes.safetensors"]


def damages(content, seed):
    """Cut off, longer, and with a bit changed: in the length, the header, and the tensors."""
    rng = random.Random(seed)
    for size in (0, 7, 8, 200, len(content) // 2, len(content) - 1):
        yield f"{size} bytes", content[:size]
    yield "a byte more", content + b"\0"
    length = int.from_bytes(content[:8], "little")
    for begin, end in [
        (0, 8),
        (8, 8 + length),
        (8, 8 + length),
        (8 + length, len(content)),
        (8 + length, len(content)),
    ]:
        at, bit = rng.randrange(begin, end), rng.randrange(8)
        yield f"bit {bit} of byte {at}", content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["model", "codes"])
def test_damaged_models_and_codes(tmp_path, files, commands, kind):
    path, out = tmp_path / f"{kind}.safetensors", tmp_path / "out"
    out.mkdir()
    for what, content in damages((files / path.name).read_bytes(), 0):
        path.write_bytes(content)
        rows, model = (files / "rows.svm", path) if kind == "model" else (path, files / "model.safetensors")
        asked = [["info", path], ["predict", rows, "-m", model, "-o", out / "labels"], ["evaluate", rows, "-m", model]]
        if kind == "codes":
            asked.append(["train", path, "-m", out / "model.safetensors"])
            asked.append(["convert", path, out / "rows.libsvm"])
        for arguments in asked:
            commands.start(*arguments, "-q").fails(str(path))
            assert os.listdir(out) == [], what


@pytest.fixture(scope="module")
def formats(tmp_path_factory, files, commands):
    """The rows of ``files`` in every format."""
    folder = tmp_path_factory.mktemp("formats")
    for name in ("rows.svm", "codes.safetensors"):
        (folder / name).write_bytes((files / name).read_bytes())
    (folder / "rows.svm.gz").write_bytes(gzip.compress((folder / "rows.svm").read_bytes(), 0))  # longer than read-ahead
    for name in ("rows.npz", "rows.parquet"):
        commands.run("convert", folder / "rows.svm", folder / name, *SMALL)
    X = np.random.default_rng(0).normal(size=(2000, 100)).round(3)
    np.save(folder / "rows.npy", X)
    np.savetxt(folder / "rows.csv", X, "%g", ",")
    return folder


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", [-1000, 1000])
def test_a_file_that_changes_length_while_it_is_read(tmp_path, formats, commands, name, change):
    """The command stands still in the midst: its output is a pipe that nobody reads until the file has changed."""
    path, out = tmp_path / name, tmp_path / "out"
    path.write_bytes((formats / name).read_bytes())
    os.mkfifo(out)
    held = os.open(out, os.O_RDWR)
    command = commands.start("convert", path, "-", "--to", "libsvm", *SMALL, stdout=out)
    wait_for(lambda: int.from_bytes(fcntl.ioctl(held, termios.FIONREAD, bytes(4)), sys.byteorder) > 60_000)
    os.truncate(path, path.stat().st_size + change)
    with out.open("rb") as reader:
        os.close(held)
        while reader.read(1 << 16):
            pass
    command.fails(f"{path} changed while it was read", "Read it when no other program writes to it")
