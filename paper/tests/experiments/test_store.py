"""Cells survive whatever happens to the process or the disk."""

import json
import os

import pytest

from kernelsketch.exceptions import InputError
from kernelsketch_paper.experiments import Row
from kernelsketch_paper.experiments._store import FinishedCell, Store, only_writer

VERSIONS = {"protocol": 1, "hash": 1}


def _done(number):
    return FinishedCell(f"cell {number}", (Row("kernels", "Car", "gmm", "libsvm", C=1.0, accuracy=90.0 + number),), 0.5)


def _store(folder, versions=VERSIONS):
    return Store(folder, versions)


def test_what_is_added_is_read_again(tmp_path):
    store = _store(tmp_path / "new")
    for number in range(3):
        store.add(_done(number))
    again = _store(tmp_path / "new")
    assert again.done == store.done
    assert again.rows() == [row for number in range(3) for row in _done(number).rows]


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_broken_last_line_is_cut_off(tmp_path, cut):
    store = _store(tmp_path)
    for number in range(3):
        store.add(_done(number))
    os.truncate(store.path, store.path.stat().st_size - cut)
    again = _store(tmp_path)
    assert list(again.done) == ["cell 0", "cell 1"]
    again.add(_done(7))
    assert list(_store(tmp_path).done) == ["cell 0", "cell 1", "cell 7"]


def test_every_prefix_of_the_file_loads(tmp_path):
    store = _store(tmp_path)
    for number in range(2):
        store.add(_done(number))
    content = store.path.read_bytes()
    first = content.index(b"\n") + 1
    for size in range(len(content) + 1):
        store.path.write_bytes(content[:size])
        assert len(_store(tmp_path).done) == (size >= first) + (size == len(content))


def test_other_versions_are_left_aside(tmp_path):
    _store(tmp_path).add(_done(0))
    other = _store(tmp_path, {"protocol": 2, "hash": 1})
    assert other.done == {}
    assert other.other_versions == 1
    other.add(_done(0))
    assert len(_store(tmp_path).done) == 1


def test_a_full_disk_leaves_nothing_of_a_cell(tmp_path, monkeypatch):
    store = _store(tmp_path)
    store.add(_done(0))
    before = store.path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        store.add(_done(1))
    assert store.path.read_bytes() == before
    assert list(store.done) == ["cell 0"]


@pytest.mark.parametrize("line", [b"{}\n", b"no json\n", b'{"key":"a","versions":{},"seconds":1,"rows":[{"x":1}]}\n'])
def test_a_line_that_is_no_cell_is_named(tmp_path, line):
    store = _store(tmp_path)
    store.add(_done(0))
    with store.path.open("ab") as file:
        file.write(line)
    with pytest.raises(InputError, match="line 2"):
        _store(tmp_path)


def test_lines_are_json(tmp_path):
    store = _store(tmp_path)
    store.add(_done(0))
    (line,) = store.path.read_text().splitlines()
    assert json.loads(line)["versions"] == VERSIONS


def test_a_folder_has_one_writer(tmp_path):
    pytest.importorskip("fcntl")
    second = only_writer(tmp_path / "made")
    with only_writer(tmp_path / "made"), pytest.raises(InputError, match="Another run writes"):
        second.__enter__()
    with only_writer(tmp_path / "made"):
        pass
