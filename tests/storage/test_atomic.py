"""Files are written complete or not at all: full disks, killed writers, two writers of one file."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kernelsketch.storage import PARTIAL_SUFFIX, _atomic, write_atomically

WRITER = """
import sys
from pathlib import Path
from kernelsketch.storage import write_atomically
while True:
    write_atomically(Path(sys.argv[1]), *[sys.argv[2].encode() * 50_000] * 20)
    print(flush=True)
"""

KILLED = """
import os, signal, sys
from pathlib import Path
from kernelsketch.storage import write_atomically
path, step = Path(sys.argv[1]), sys.argv[2]
write_atomically(path, b"a" * 1_000_000)
setattr(os, step, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
write_atomically(path, b"b" * 1_000_000)
"""


def writer(path, letter):
    return subprocess.Popen([sys.executable, "-c", WRITER, str(path), letter], stdout=subprocess.PIPE)


def is_whole(path, letters):
    content = path.read_bytes()
    return len(content) == 1_000_000 and content[:1] in letters and content == content[:1] * 1_000_000


def test_parts_are_joined(tmp_path):
    write_atomically(tmp_path / "file", b"one, ", memoryview(b"two"))
    assert (tmp_path / "file").read_bytes() == b"one, two"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("step", ["fsync", "fchmod", "replace"])
def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch, step):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_atomic.os, step, fail)
    with pytest.raises(OSError, match=r"No space left on device: the file was not written.*untouched.*Free some") as e:
        write_atomically(path, b"new")
    assert e.value.errno == errno.ENOSPC
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="was not written"):
        write_atomically(tmp_path / "no" / "file", b"new")


def test_an_error_of_another_file_is_passed_on(tmp_path):
    def fail():
        with _atomic.atomic_file(tmp_path / "file"):
            raise OSError(errno.ENOSPC, "No space left on device", "other")

    with pytest.raises(OSError, match="No space left on device") as e:
        fail()
    assert (e.value.filename, e.value.strerror) == ("other", "No space left on device")
    assert os.listdir(tmp_path) == []


def test_folders_and_pipes_are_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        write_atomically(tmp_path / "folder", b"new")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="a device or a pipe"):
            write_atomically(tmp_path / "pipe", b"new")
    assert not (tmp_path / "pipe").is_file()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a permission")
def test_a_link_is_followed(tmp_path):
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "link", tmp_path / "there" / "file"
    link.symlink_to("there/file")
    for content in (b"one", b"two"):
        write_atomically(link, content)
        assert link.is_symlink()
        assert target.read_bytes() == content
    assert os.listdir(target.parent) == ["file"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a permission")
def test_links_to_each_other_stay(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="a link that leads back to itself"):
        write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").is_symlink()
    assert (tmp_path / "b").is_symlink()


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="names of open files")
def test_what_a_process_has_opened_is_not_replaced(tmp_path):
    """A file that output is appended to would lose what it holds."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with path.open("ab") as file, pytest.raises(OSError, match="not a file that can be replaced"):
        write_atomically(Path(f"/dev/fd/{file.fileno()}"), b"new")
    assert path.read_bytes() == b"old"


def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_atomic.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "file", b"new")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs kill -9")
def test_killed_writers(tmp_path):
    path = tmp_path / "file"
    for step in ("fchmod", "fsync", "replace"):
        killed = subprocess.run([sys.executable, "-c", KILLED, str(path), step], check=False)
        assert killed.returncode == -signal.SIGKILL
        assert is_whole(path, b"a")
        assert len(os.listdir(tmp_path)) == 2
    (tmp_path / f"file.abcd1234{PARTIAL_SUFFIX}").write_bytes(b"of a writer that was killed")
    others = [f"file2.abcd1234{PARTIAL_SUFFIX}", "file.partial", f"file.mine{PARTIAL_SUFFIX}"]
    for name in others:
        (tmp_path / name).write_bytes(b"of somebody else")
    write_atomically(path, b"next")
    assert sorted(os.listdir(tmp_path)) == sorted(["file", *others])


def test_two_writers(tmp_path):
    path = tmp_path / "file"
    processes = [writer(path, letter) for letter in "ab"]
    try:
        for process in processes:
            process.stdout.readline()
        for _ in range(200):
            assert is_whole(path, b"ab")
        assert all(process.poll() is None for process in processes)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    write_atomically(path, b"next")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")
def test_a_file_that_was_swept_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    flock, swept = _atomic.fcntl.flock, []

    def sweep_first(handle, how):
        if not swept:
            (name,) = os.listdir(tmp_path)
            swept.append(name)
            os.unlink(tmp_path / name)
        return flock(handle, how)

    monkeypatch.setattr(_atomic.fcntl, "flock", sweep_first)
    write_atomically(tmp_path / "file", b"content")
    assert len(swept) == 1
    assert (tmp_path / "file").read_bytes() == b"content"
