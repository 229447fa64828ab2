"""``kernelsketch dedup`` killed at any step, and without room on the disk: a complete output or the old one."""

import itertools
import json
import random
import shutil
import signal

import pytest

from kernelsketch import DocumentCollection

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


def test_kill_9_at_any_step(documents, tmp_path, commands):
    """Before every second change of a file, to the last one."""
    output = tmp_path / "out.jsonl"
    arguments = ["dedup", documents, "-o", output, "-q", "--threads", 1]
    commands.run(*arguments)
    content = output.read_bytes()
    assert len(content.splitlines()) == 3000
    found = []
    for step in itertools.count(0, 2):
        output.write_bytes(b"what was there before")
        command = commands.start(*arguments, killed_before=step)
        status = command.wait()
        assert status in (0, -signal.SIGKILL), command.stderr
        found.append(output.read_bytes())
        assert found[-1] in (b"what was there before", content)
        if status == 0:
            break
        commands.run(*arguments)
        assert output.read_bytes() == content
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]
    assert 1 < found.count(content) < len(found) - 5  # states before the output is replaced, and after


def test_a_file_that_may_not_grow(documents, tmp_path, commands):
    """First the stored texts find no room, then the output."""
    output = tmp_path / "out.jsonl"
    output.write_bytes(b"what was there before")
    command = commands.start("dedup", documents, "-o", output, "-q", limit=4096)
    command.fails(f"{output}.work: File too large", "no output was written", "Free some space")
    assert output.read_bytes() == b"what was there before"
    commands.run("dedup", documents, "-o", output, "-q")
    assert len(output.read_bytes().splitlines()) == 3000


def test_kill_9_at_any_step_of_an_addition(documents, tmp_path, commands):
    """The documents that stay are in the output before the collection has them, and the same command ends the work."""
    output, known = tmp_path / "out.jsonl", tmp_path / "known"
    arguments = ["dedup", documents, "-o", output, "-q", "--threads", 1, "--against", known, "--append"]
    sizes = []
    for step in itertools.count(0, 3):
        shutil.rmtree(known, ignore_errors=True)
        output.unlink(missing_ok=True)
        command = commands.start(*arguments, killed_before=step)
        status = command.wait()
        assert status in (0, -signal.SIGKILL), command.stderr
        there = known / "collection.safetensors"
        sizes.append(len(DocumentCollection(known)) if there.exists() else 0)
        assert sizes[-1] in (0, 3000)
        if sizes[-1]:
            assert len(output.read_bytes().splitlines()) == 3000
        if status == 0:
            break
        commands.run(*arguments)
        assert len(output.read_bytes().splitlines()) == 3000
        assert len(DocumentCollection(known)) == 3000
        assert len(list(known.glob("segment-*"))) == 1
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "known", "out.jsonl"]
    assert 1 < sizes.count(3000) < len(sizes) - 5


def test_the_report_is_there_before_the_collection_has_the_documents(documents, tmp_path, commands):
    """So that a killed run, which is not repeated once the documents are added, lacks nothing."""
    known, report = tmp_path / "known", tmp_path / "report.html"
    arguments = ["dedup", documents, "-o", tmp_path / "out.jsonl", "-q", "--against", known, "--append"]
    for step in itertools.count(0, 4):
        shutil.rmtree(known, ignore_errors=True)
        report.unlink(missing_ok=True)
        status = commands.start(*arguments, "--report", report, killed_before=step).wait()
        there = known / "collection.safetensors"
        if there.exists() and len(DocumentCollection(known)):
            assert report.exists()
        if status == 0:
            break
