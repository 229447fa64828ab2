"""Who may read a file stays as it was, and is as after ``open()`` for a new file, whatever other threads do."""

import os
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

from kernelsketch import GCWS, GCWSClassifier, GCWSIndex
from kernelsketch.formats import open_text, write_rows
from kernelsketch.storage import PARTIAL_SUFFIX, _atomic, atomic_file, write_atomically

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")

WRITE = """
import os, sys
from pathlib import Path
os.umask(int(sys.argv[1], 8))
from kernelsketch.storage import atomic_file
with atomic_file(Path(sys.argv[2])) as file:
    file.write(b"new")
    print(oct(os.stat(file.name).st_mode & 0o777))
open(sys.argv[3], "w").close()
assert os.umask(0) == int(sys.argv[1], 8)
"""


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o666, 0o755])
def test_a_replaced_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomically(path, b"new")
    assert mode_of(path) == mode
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("mask", ["000", "022", "027", "077", "277"])
def test_a_new_file_gets_what_open_gives(tmp_path, mask):
    path, plain = tmp_path / "file", tmp_path / "plain"
    run = [sys.executable, "-c", WRITE, mask, str(path), str(plain)]
    subprocess.run(run, check=True, capture_output=True)
    assert mode_of(path) == mode_of(plain) == 0o666 & ~int(mask, 8)


@pytest.mark.parametrize("mask", ["000", "077"])
def test_nobody_else_reads_the_temporary_file_of_a_private_one(tmp_path, mask):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o600)
    run = [sys.executable, "-c", WRITE, mask, str(path), str(tmp_path / "plain")]
    assert subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip() == "0o600"
    assert mode_of(path) == 0o600


def test_a_file_that_another_writer_makes_private_meanwhile_stays_private(tmp_path):
    path = tmp_path / "file"
    with atomic_file(path) as file:
        file.write(b"new")
        path.write_bytes(b"other")
        path.chmod(0o600)
    assert mode_of(path) == 0o600


def test_the_mode_is_that_of_the_file_behind_a_link(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert mode_of(path) == 0o640


@pytest.mark.slow
def test_files_of_other_threads_have_the_umask_of_the_process(tmp_path, monkeypatch):
    stop, modes = threading.Event(), set()
    (tmp_path / "plain").touch()
    expected = mode_of(tmp_path / "plain")

    def make_files(name):
        while not stop.is_set():
            os.close(os.open(tmp_path / name, os.O_CREAT | os.O_WRONLY, 0o666))
            modes.add(mode_of(tmp_path / name))
            os.unlink(tmp_path / name)

    threads = [threading.Thread(target=make_files, args=(f"other{number}",)) for number in range(3)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads alternate as often as they can
    monkeypatch.setattr(os, "fsync", lambda _: None)  # most of the time of a save
    for thread in threads:
        thread.start()
    try:
        for _ in range(1000):
            write_atomically(tmp_path / "file", b"content")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
    assert modes == {expected}


def test_a_save_never_sets_the_umask(tmp_path, monkeypatch):
    def refuse(_):
        raise AssertionError("the umask was set")

    monkeypatch.setattr(os, "umask", refuse)
    for _ in range(2):
        write_atomically(tmp_path / "file", b"content")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_owner_and_group_stay_if_the_system_allows_it(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    os.chown(path, 1234, 2345)
    path.chmod(0o640)
    write_atomically(path, b"new")
    found = path.stat()
    assert (found.st_uid, found.st_gid, mode_of(path)) == (1234, 2345, 0o640)


@pytest.mark.parametrize(("mode", "expected"), [(0o640, 0o600), (0o664, 0o644), (0o604, 0o644), (0o600, 0o600)])
def test_a_group_that_cannot_be_kept_is_not_replaced_by_one_that_reads_more(tmp_path, monkeypatch, mode, expected):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    status = _atomic._status

    def other_group(path):
        found = status(path)
        if found is None:
            return None
        return os.stat_result([*found[:5], found.st_gid + 1, *found[6:]])

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(_atomic, "_status", other_group)
    monkeypatch.setattr(_atomic.os, "fchown", refuse)
    write_atomically(path, b"new")
    assert mode_of(path) == expected
    assert path.read_bytes() == b"new"


def test_models_indexes_and_rows_keep_their_mode(tmp_path):
    X, y = np.array([[1.0, 2, 0], [0, 1, 1]]), np.array([1, 0])
    model, index = GCWSClassifier(8).fit(X, y), GCWSIndex().fit(X)

    def text(path):
        with open_text(path) as file:
            file.write(b"text")

    saves = {
        "model": model.save,
        "index": index.save,
        "codes": GCWS(8).fit(X).codes(X).save,
        "rows.npz": lambda path: write_rows(path, [(X, y)]),
        "rows.svm.gz": lambda path: write_rows(path, [(X, y)]),
        "text": text,
    }
    for name, save in saves.items():
        path = tmp_path / name
        save(path)
        path.chmod(0o600)
        save(path)
        assert mode_of(path) == 0o600, name


def test_new_segments_of_an_index_folder_are_as_private_as_its_list(tmp_path):
    folder = tmp_path / "index"
    X = np.random.default_rng(0).random((30, 4))
    index = GCWSIndex().fit(X[:20])
    index.save_folder(folder)
    for name in os.listdir(folder):
        (folder / name).chmod(0o600)
    index.add(X[20:])
    index.save_folder(folder)
    assert {mode_of(folder / name) for name in os.listdir(folder)} == {0o600}
    assert not [name for name in os.listdir(folder) if name.endswith(PARTIAL_SUFFIX)]
