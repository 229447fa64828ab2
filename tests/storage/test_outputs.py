"""Which names mean the same file; the commands are tested in ``tests/cli/test_file_roles.py``."""

import os
import sys

import pytest

from kernelsketch.exceptions import InputError
from kernelsketch.storage import NamedPath, _outputs, check_outputs


def named(*paths):
    return [NamedPath(f"file {number}", path) for number, path in enumerate(paths)]


@pytest.mark.parametrize(("one", "two"), [("out", "OUT"), ("caf\u00e9", "cafe\u0301"), ("\u00df", "SS")])
def test_names_of_new_files_on_systems_that_take_them_for_one(tmp_path, monkeypatch, one, two):
    if sys.platform.startswith("linux"):
        check_outputs(named(tmp_path / one, tmp_path / two), [])
    for system in ("darwin", "win32"):
        monkeypatch.setattr(_outputs.sys, "platform", system)
        with pytest.raises(InputError, match="are the same file: choose another name for file 1"):
            check_outputs(named(tmp_path / one, tmp_path / two), [])
    monkeypatch.undo()


def test_inputs_may_be_one_file_and_need_not_be_there(tmp_path):
    path = tmp_path / "file"
    check_outputs(named(tmp_path / "out"), named(path, path, "-"))
    with pytest.raises(InputError, match="are the same file"):
        check_outputs(named(path), named(path))


def test_new_files_of_folders_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match="are the same file"):
        check_outputs(named(tmp_path / "no" / "file", tmp_path / "no" / "." / "file"), [])
    check_outputs(named(tmp_path / "no" / "file", tmp_path / "none" / "file"), [])


def test_a_path_that_is_a_dash_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_outputs(named("-", "-", tmp_path / "-"), [])
    with pytest.raises(InputError, match="are the same file"):
        check_outputs(named(tmp_path / "-"), named(os.path.join(".", "-")))


@pytest.mark.skipif(sys.platform == "win32", reason="links")
@pytest.mark.parametrize("endings", [(), (".jsonl",)])
@pytest.mark.parametrize("way", ["symlink_to", "hardlink_to"])
def test_a_file_to_which_a_link_in_a_folder_leads_is_not_replaced(tmp_path, way, endings):
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    notes, link = tmp_path / "notes.txt", tmp_path / "folder" / "inner" / "link.txt"
    read = [NamedPath("INPUT", tmp_path / "folder", endings)]
    notes.write_text("a document")
    (tmp_path / "folder" / "nowhere").symlink_to(tmp_path / "new.txt")
    check_outputs(named(notes, tmp_path / "new.txt"), read)
    getattr(link, way)(notes)
    with pytest.raises(
        InputError, match=r"notes\.txt is a file of the folder that is read, .*, as .*link\.txt: choose"
    ):
        check_outputs(named(notes), read)
    with pytest.raises(InputError, match="choose another"):
        check_outputs(named(link), read)
    kept = tmp_path / "kept.jsonl"  # as an earlier run may have written it
    notes.rename(kept)
    link.unlink()
    getattr(link, way)(kept)
    if endings:
        check_outputs(named(kept), read)
