"""``kernelsketch dedup`` killed at any moment, and without room on the disk: a complete output or the old one."""

import json
import random
import signal

import pytest

from .conftest import wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def documents(tmp_path):
    """Documents of which one in three comes again."""
    rng = random.Random(0)
    path = tmp_path / "in.jsonl"
    with open(path, "w") as file:
        for number in range(3000):
            text = " ".join(f"w{rng.randrange(5000)}" for _ in range(60))
            for _ in range(1 + (number % 3 == 0)):
                file.write(json.dumps({"id": number, "text": text}) + "\n")
    return path


def test_kill_9(documents, tmp_path, commands):
    """At the start, and as soon as it stores texts. `make soak` kills it at random moments."""
    output, work = tmp_path / "out.jsonl", tmp_path / "out.jsonl.work"
    arguments = ["dedup", documents, "-o", output, "-q", "--threads", 1]
    commands.run(*arguments)
    content = output.read_bytes()
    assert len(content.splitlines()) == 3000
    for waits in (False, True):
        output.write_bytes(b"what was there before")
        command = commands.start(*arguments)
        if waits:
            wait_for(lambda: work.exists() or output.read_bytes() == content)
        command.signal(signal.SIGKILL)
        command.wait()
        assert output.read_bytes() in (b"what was there before", content)
        commands.run(*arguments)
        assert output.read_bytes() == content
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_a_file_that_may_not_grow(documents, tmp_path, commands):
    """First the stored texts find no room, then the output."""
    output = tmp_path / "out.jsonl"
    output.write_bytes(b"what was there before")
    command = commands.start("dedup", documents, "-o", output, "-q", limit=4096)
    command.fails(f"{output}.work: File too large", "no output was written", "Free some space")
    assert output.read_bytes() == b"what was there before"
    commands.run("dedup", documents, "-o", output, "-q")
    assert len(output.read_bytes().splitlines()) == 3000
