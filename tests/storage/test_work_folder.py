"""Work folders: made for this user only, taken over if all in them is ours, and otherwise refused as they are."""

import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from kernelsketch.exceptions import InputError
from kernelsketch.storage import LOCK, WorkFolder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and locks of POSIX")
NAMES = r"data\.bin|part-\d+\.bin"


def contents(folder):
    """Names, kinds and bytes of everything in a folder."""
    return {
        path.relative_to(folder): (path.lstat().st_mode, path.read_bytes() if path.is_file() else None)
        for path in [folder, *folder.rglob("*")]
    }


def abandoned(path):
    """A work folder as a killed command leaves it."""
    work = WorkFolder(path, NAMES)
    with work.create("data.bin") as file:
        file.write(b"some data")
    work.close()
    return path


def test_a_new_folder_is_private_and_goes_at_the_end(tmp_path):
    umask = os.umask(0)
    try:
        work = WorkFolder(tmp_path / "work", NAMES)
        work.write("data.bin", b"first")
        work.write("data.bin", b"second")
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "work").iterdir()}
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "work").stat().st_mode) == 0o700
    assert modes == {LOCK: 0o600, "data.bin": 0o600}
    assert (tmp_path / "work" / "data.bin").read_bytes() == b"second"
    work.delete()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_ours_is_taken_over(tmp_path):
    path = abandoned(tmp_path / "work")
    work = WorkFolder(path, NAMES)
    with work.open("data.bin") as file:
        assert file.read() == b"some data"
    work.create("part-1.bin").close()
    work.clear(keep=("data.bin",))
    assert sorted(file.name for file in path.iterdir()) == ["data.bin", LOCK]
    work.delete()
    assert not path.exists()


def test_killed_before_the_first_file(tmp_path):
    (tmp_path / "work").mkdir(mode=0o700)
    WorkFolder(tmp_path / "work", NAMES).delete()
    (tmp_path / "work").mkdir(mode=0o700)
    (tmp_path / "work").chmod(0o755)  # a folder of the user's, then
    with pytest.raises(InputError, match="did not make"):
        WorkFolder(tmp_path / "work", NAMES)
    assert (tmp_path / "work").is_dir()


def linked_folder(path, other):
    shutil.move(abandoned(path), other / "moved")
    path.symlink_to(other / "moved")


def linked_file(path, other):
    (other / "precious").write_bytes(b"precious")
    (abandoned(path) / "part-1.bin").symlink_to(other / "precious")


def hard_link(path, other):
    (other / "precious").write_bytes(b"precious")
    (abandoned(path) / "part-1.bin").hardlink_to(other / "precious")


def linked_lock(path, other):
    (other / "precious").write_bytes(b"precious")
    (abandoned(path) / LOCK).unlink()
    (path / LOCK).symlink_to(other / "precious")


def dangling(path, other):
    path.symlink_to(other / "nowhere")


def folder_within(path, other):
    (abandoned(path) / "part-1.bin").mkdir()
    (path / "part-1.bin" / "precious").write_bytes(b"precious")


def pipe_within(path, other):
    os.mkfifo(abandoned(path) / "part-1.bin")


def with_a_file_more(path, other):
    (abandoned(path) / "notes.txt").write_bytes(b"precious")


def without_lock(path, other):
    (abandoned(path) / LOCK).unlink()


def plain_file(path, other):
    path.write_bytes(b"precious")


FOREIGN = {
    linked_folder: "is a symbolic link",
    dangling: "is a symbolic link",
    linked_file: "'part-1.bin' is not a plain file",
    hard_link: "'part-1.bin' is not a plain file",
    linked_lock: "is a symbolic link",
    folder_within: "'part-1.bin' is not a plain file",
    pipe_within: "'part-1.bin' is not a plain file",
    with_a_file_more: "holds 'notes.txt'",
    without_lock: f"holds 'data.bin' but no {LOCK}",
    plain_file: "is not a folder",
}


@pytest.mark.parametrize("make", FOREIGN, ids=lambda make: make.__name__)
def test_other_folders_are_refused_and_left_alone(tmp_path, make):
    (tmp_path / "other").mkdir()
    make(tmp_path / "work", tmp_path / "other")
    before, handles = contents(tmp_path), len(os.listdir("/dev/fd"))
    with pytest.raises(InputError, match=FOREIGN[make]) as caught:
        WorkFolder(tmp_path / "work", NAMES)
    assert str(caught.value).startswith(str(tmp_path / "work"))
    assert "Rename or remove it, or choose another output." in str(caught.value)
    assert contents(tmp_path) == before
    assert len(os.listdir("/dev/fd")) == handles


def test_files_of_another_user_are_refused(tmp_path, monkeypatch):
    path = abandoned(tmp_path / "work")
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with pytest.raises(InputError, match="not a plain file of this user"):
        WorkFolder(path, NAMES)
    (tmp_path / "empty").mkdir(mode=0o700)
    with pytest.raises(InputError, match="did not make"):
        WorkFolder(tmp_path / "empty", NAMES)


def test_links_that_come_later_are_not_followed(tmp_path):
    """Neither in the folder nor in the place of the folder."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "data.bin").write_bytes(b"precious")
    work = WorkFolder(tmp_path / "work", NAMES)
    (tmp_path / "work" / "data.bin").symlink_to(other / "data.bin")
    with pytest.raises(InputError, match=r"'data\.bin' is a symbolic link"):
        work.open("data.bin")
    work.write("data.bin", b"ours")  # in the place of the link
    (tmp_path / "work").rename(tmp_path / "moved")
    (tmp_path / "work").symlink_to(other)
    work.create("part-1.bin").close()
    assert sorted(path.name for path in (tmp_path / "moved").iterdir()) == ["data.bin", LOCK, "part-1.bin"]
    work.delete()
    assert contents(other)[Path("data.bin")][1] == b"precious"
    assert (tmp_path / "work").is_symlink()


def test_files_that_others_add_meanwhile_stay(tmp_path):
    work = WorkFolder(tmp_path / "work", NAMES)
    work.create("data.bin").close()
    (tmp_path / "work" / "notes.txt").write_bytes(b"precious")
    work.delete()
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["notes.txt"]


def test_one_command_at_a_time(tmp_path):
    work = WorkFolder(tmp_path / "work", NAMES)
    with pytest.raises(InputError, match="work is in use by another command: wait until it ends"):
        WorkFolder(tmp_path / "work", NAMES)
    work.delete()
    WorkFolder(tmp_path / "work", NAMES).delete()


def test_a_folder_that_is_removed_while_it_is_taken_over(tmp_path, monkeypatch):
    """Between any two calls, the command that had the folder ends: the new one makes the folder again."""
    import kernelsketch.storage._work_folder as module

    for name in ("lstat", "open", "listdir", "fstat"):
        first = [WorkFolder(tmp_path / "work", NAMES)]
        real = getattr(os, name)

        def ending(*args, _real=real, _first=first, **options):
            if _first:
                _first.pop().delete()
            return _real(*args, **options)

        with monkeypatch.context() as patch:
            patch.setattr(module.os, name, ending)
            second = WorkFolder(tmp_path / "work", NAMES)
        second.create("data.bin").close()
        assert (tmp_path / "work" / "data.bin").exists()
        with pytest.raises(InputError, match="in use"):
            WorkFolder(tmp_path / "work", NAMES)
        second.delete()
        assert list(tmp_path.iterdir()) == []
