"""Commands that are killed, interrupted or run twice at a time: a complete output or none, and nothing beside it."""

import os
import random
import signal

import pytest

from .conftest import partial_files, wait_for

pytestmark = pytest.mark.slow

PIECES = 24
OUTPUTS = {  # command and options, by the name of the output
    "train": (["train", "-", "-k", 64, "-m"], "model.safetensors"),
    "hash": (["hash", "-", "-k", 64], "codes.safetensors"),
    "hash to text": (["hash", "-", "-k", 16], "features.svm.gz"),
    "convert to text": (["convert", "-"], "rows.libsvm"),
    "convert to parquet": (["convert", "-"], "rows.parquet"),
    "convert to npz": (["convert", "-"], "rows.npz"),
}
OPTIONS = ["--format", "libsvm", "--threads", 1, "-q", "--memory", "1GB"]


@pytest.fixture(params=OUTPUTS)
def job(request, tmp_path, files, commands):
    """Arguments, the path of the output, and its content when nothing goes wrong."""
    arguments, name = OUTPUTS[request.param]
    path = tmp_path / name
    arguments = [*arguments, path, *OPTIONS]
    commands.run(*arguments, stdin=files / "rows.svm")
    content = path.read_bytes()
    path.unlink()
    return arguments, path, content


def test_kill_9(job, files, commands, feed):
    """Before it has read anything, in the midst of its rows, at their end, and while it writes the output.

    `make soak` kills commands at random moments.
    """
    arguments, path, content = job
    writes_early = arguments[0] != "train"  # the others have a partial file as soon as rows come
    rng = random.Random(path.name)
    for moment in range(12):
        old = rng.choice([None, b"what was there before"])
        path.unlink(missing_ok=True)
        if old is not None:
            path.write_bytes(old)
        with feed(PIECES) as pipe:
            before = set(partial_files(path.parent))
            command = commands.start(*arguments, stdin=pipe.path)
            if moment % 2:  # it waits for rows that never come, so the signal finds it at work
                pipe.give(0 if moment == 1 else rng.randrange(PIECES // 2, PIECES + 1))
                if writes_early and moment > 1:
                    wait_for(lambda before=before: set(partial_files(path.parent)) - before)
            else:
                pipe.give(PIECES)
                pipe.end()
                if moment % 4:  # otherwise it may not have begun to write
                    wait_for(
                        lambda before=before, old=old: (
                            set(partial_files(path.parent)) - before or content_of(path) != old
                        )
                    )
            command.signal(signal.SIGKILL)
            status = command.wait()
        found = content_of(path)
        if moment % 2:
            assert status == -signal.SIGKILL
            assert found == old
            if writes_early and moment > 1:
                assert set(partial_files(path.parent)) - before
        else:
            assert status in (0, -signal.SIGKILL)
            assert found == content if status == 0 else found in (old, content)
        if moment % 3 == 2:  # the next run removes what the killed ones left
            commands.run(*arguments, stdin=files / "rows.svm")
            assert path.read_bytes() == content
            assert os.listdir(path.parent) == [path.name]


def content_of(path):
    return path.read_bytes() if path.exists() else None


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_interrupts(job, commands, feed, number, status):
    arguments, path, _ = job
    path.write_bytes(b"what was there before")
    with feed(PIECES) as pipe:
        command = commands.start(*arguments, stdin=pipe.path)
        pipe.give(PIECES // 2)
        if arguments[0] != "train":
            wait_for(lambda: partial_files(path.parent))
        command.signal(number)
        command.fails("stopped", status=status)
    assert path.read_bytes() == b"what was there before"
    assert os.listdir(path.parent) == [path.name]


def test_two_writers_of_one_output(tmp_path, files, commands, feed):
    """Both at work at the same time: the one that ends last has the name."""
    path = tmp_path / "codes.safetensors"
    contents = []
    for seed in (1, 2):
        commands.run("hash", "-", path, "-k", 64, "--seed", seed, *OPTIONS, stdin=files / "rows.svm")
        contents.append(path.read_bytes())
    path.unlink()
    with feed(PIECES) as first, feed(PIECES) as second:
        started = []
        for seed, pipe in enumerate((first, second), 1):
            started.append(commands.start("hash", "-", path, "-k", 64, "--seed", seed, *OPTIONS, stdin=pipe.path))
            pipe.give(PIECES // 2)
        wait_for(lambda: len(partial_files(tmp_path)) == 2)
        for pipe, command, content in ((second, started[1], contents[1]), (first, started[0], contents[0])):
            pipe.give(PIECES)
            pipe.end()
            assert command.wait() == 0, command.stderr
            assert path.read_bytes() == content
    assert os.listdir(tmp_path) == [path.name]
