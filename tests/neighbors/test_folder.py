"""Index folders: only what is new is written, and a killed process leaves the old index or the new one."""

import os
import shutil
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from helpers.answers import answers
from helpers.clusters import clusters
from kernelsketch import GCWSIndex
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.text import Shingles

GOLDEN = Path(__file__).parents[1] / "golden"
X = clusters(400, 30)
KINDS = {
    "dense": (np.asarray, {}),
    "bytes": (lambda X: np.rint(X * 10), {}),
    "csr": (sparse.csr_matrix, {}),
    "postings": (sparse.csr_matrix, {"heavy_fraction": 0.7, "n_rerank": 12}),
    "codes": (np.asarray, {"store_vectors": False, "n_components": 256}),
    "center": (np.asarray, {"center": "mean", "p": 2.5}),
}


def files_of(folder):
    return {path.name: path.stat().st_ino for path in folder.glob("segment-*")}


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_there_and_back(tmp_path, kind, mmap):
    change, parameters = KINDS[kind]
    rows, folder = change(X), tmp_path / "index"
    index = GCWSIndex(**parameters).fit(rows[:300])
    index.save_folder(folder)
    first = files_of(folder)
    assert len(first) == 1
    loaded = GCWSIndex.load(folder, mmap=mmap)
    for changed in (index, loaded):
        changed.add(rows[300:310]).remove([4, 305]).add(rows[4:5], [4])
    loaded.save_folder(folder)
    assert first.items() < files_of(folder).items()  # the large segment has not been written again
    again = GCWSIndex.load(folder, mmap=mmap)
    assert again.n_samples_fit_ == 309
    assert again.get_params().keys() == index.get_params().keys()
    assert answers(again, rows[:20]) == answers(index, rows[:20])
    assert answers(again) == answers(index)
    again.save(tmp_path / "file")  # one file of all segments
    assert answers(GCWSIndex.load(tmp_path / "file"), rows[:20]) == answers(index, rows[:20])


def test_a_folder_of_version_1(request):
    """``pytest --overwrite-golden`` renews the folder until version 1 is released; after that it loads for ever."""
    folder, rows = GOLDEN / "index-v1-folder", clusters(24, 6, seed=5)
    made = GCWSIndex(n_tables=4, hashes_per_table=2, n_components=16).fit(rows[:20])
    if request.config.getoption("--overwrite-golden"):
        shutil.rmtree(folder, ignore_errors=True)
        made.save_folder(folder)
    made.add(rows[20:]).remove([2, 21])
    if request.config.getoption("--overwrite-golden"):
        made.save_folder(folder)
        (folder / "lock").unlink()
    for mmap in (False, True):
        loaded = GCWSIndex.load(folder, mmap=mmap)
        assert answers(loaded, rows[:9]) == answers(made, rows[:9])


def test_few_files_and_few_bytes(tmp_path):
    """100 additions of a row make few files, and write small ones again only."""
    folder, written = tmp_path / "index", 0
    index = GCWSIndex().fit(X[:100])
    index.save_folder(folder)
    (base,) = (path.stat().st_size for path in folder.glob("segment-*"))
    for row in X[100:200]:
        before = files_of(folder)
        index.add(row[None])
        index.save_folder(folder)
        written += sum((folder / name).stat().st_size for name in files_of(folder).keys() - before.keys())
        assert len(files_of(folder)) <= 8
    assert written < 8 * 2 * base  # about log2(n) times the size of the rows, not 100 times
    assert answers(GCWSIndex.load(folder, mmap=True), X[:20]) == answers(GCWSIndex().fit(X[:200]), X[:20])


def test_codes_of_merged_segments_leave_the_memory(tmp_path):
    folder = tmp_path / "index"
    GCWSIndex().fit(X[:300]).save_folder(folder)
    loaded = GCWSIndex.load(folder)
    codes = weakref.ref(loaded._segments[0].codes)
    loaded.add(X[300:310])
    assert codes() is not None
    loaded.remove(np.arange(200))  # so many that the segment is written anew
    assert codes() is None
    loaded.save_folder(folder)
    assert answers(GCWSIndex.load(folder), X[:20]) == answers(loaded, X[:20])


def test_texts_and_wider_rows(tmp_path):
    texts = ["the quick brown fox", "a lazy dog", "the end"]
    index = GCWSIndex(1, shingles=Shingles((1, 2), weight="idf")).fit(texts)
    index.save_folder(tmp_path / "texts")
    loaded = GCWSIndex.load(tmp_path / "texts", mmap=True).add(["the very end"])
    loaded.save_folder(tmp_path / "texts")
    loaded = GCWSIndex.load(tmp_path / "texts", mmap=True)
    assert loaded.kneighbors(["a quick brown fox", "the very end!"])[1].tolist() == [[0], [3]]
    rows = sparse.csr_matrix(X)
    GCWSIndex().fit(rows).save_folder(tmp_path / "rows")
    wide = GCWSIndex.load(tmp_path / "rows", mmap=True).widen(40)
    wide.save_folder(tmp_path / "rows")
    wide = GCWSIndex.load(tmp_path / "rows", mmap=True)
    assert wide.n_features_in_ == 40
    assert answers(wide, sparse.csr_matrix((rows.data, rows.indices, rows.indptr), (400, 40))[:9]) == answers(
        GCWSIndex().fit(rows), rows[:9]
    )


def test_another_process_has_saved(tmp_path):
    folder = tmp_path / "index"
    GCWSIndex().fit(X[:50]).save_folder(folder)
    one, two = (GCWSIndex.load(folder, mmap=True) for _ in range(2))
    one.add(X[50:60]).save_folder(folder)
    with pytest.raises(InputError, match="has been saved by another process since this index was loaded from it"):
        two.add(X[60:70]).save_folder(folder)
    assert GCWSIndex.load(folder).n_samples_fit_ == 60
    other = GCWSIndex().fit(X[:20])
    other.save_folder(folder)  # an index from elsewhere takes its place, as it does with a file
    assert GCWSIndex.load(folder).n_samples_fit_ == 20
    assert len(files_of(folder)) == 1


def test_a_folder_that_changes_while_it_is_opened(tmp_path, monkeypatch):
    from kernelsketch.neighbors import _folder

    folder = tmp_path / "index"
    index = GCWSIndex().fit(X[:50])
    index.save_folder(folder)
    read = _folder._read_list

    def then_save(path):
        found = read(path)
        monkeypatch.undo()
        index.add(X[50:99]).save_folder(path)  # merges: the old file goes
        return found

    monkeypatch.setattr(_folder, "_read_list", then_save)
    assert GCWSIndex.load(folder, mmap=True).n_samples_fit_ == 99


def test_what_is_refused(tmp_path):
    index = GCWSIndex().fit(X)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("Dear")
    with pytest.raises(InputError, match=r"holds files that are not of an index, for example letter.txt: name an emp"):
        index.save_folder(tmp_path / "home")
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        index.save_folder(tmp_path / "no/index")
    with pytest.raises(FileNotFoundError, match=r"There is no index in this folder: index.safetensors is missing"):
        GCWSIndex.load(tmp_path / "home")
    index.save(tmp_path / "file")
    with pytest.raises(NotADirectoryError, match="It is a file: call save to replace it"):
        index.save_folder(tmp_path / "file")


@pytest.mark.parametrize("name", ["old", "old/", "new/"])
def test_a_file_is_never_a_folder(tmp_path, name):
    """Neither a slash nor a folder that is there turns ``save`` into ``save_folder``."""
    index = GCWSIndex().fit(X[:50])
    index.save_folder(tmp_path / "old")
    before = files_of(tmp_path / "old")
    with pytest.raises(IsADirectoryError, match="It is a folder: call save_folder"):
        index.save(f"{tmp_path}/{name}")
    assert sorted(os.listdir(tmp_path)) == ["old"]
    assert files_of(tmp_path / "old") == before


@pytest.mark.parametrize("mmap", [False, True])
def test_files_that_are_missing_or_exchanged(tmp_path, mmap):
    folder = tmp_path / "index"
    index = GCWSIndex().fit(X[:300])
    index.save_folder(folder)
    index.add(X[300:310]).remove([3]).save_folder(folder)
    one, two = sorted(folder.glob("segment-*"))
    content = one.read_bytes()
    shutil.copy(two, one)
    with pytest.raises(InputError, match="it is not the file that was saved under this name"):
        GCWSIndex.load(folder, mmap=mmap)
    one.unlink()
    with pytest.raises(InputError, match="is missing"):
        GCWSIndex.load(folder, mmap=mmap)
    one.write_bytes(content)
    GCWSIndex.load(folder, mmap=mmap)
    listed = folder / "index.safetensors"
    content = listed.read_bytes()
    for place in np.random.default_rng(0).integers(len(content), size=40).tolist():
        listed.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        with pytest.raises(InputError):
            GCWSIndex.load(folder, mmap=mmap)


KILLED = """
import os, shutil, signal, sys
import numpy as np
from kernelsketch import GCWSIndex

X = np.random.default_rng(0).gamma(1.0, size=(60, 8))
folder = sys.argv[1]
parameters = {"n_tables": 4, "n_components": 16}
steps, moment = {"old": 0, "new": 0}, 0
while True:
    shutil.rmtree(folder, ignore_errors=True)
    GCWSIndex(**parameters).fit(X[:40]).save_folder(folder)
    child = os.fork()
    if not child:
        index = GCWSIndex.load(folder, mmap=True).add(X[40:]).remove([1, 2])
        seen = 0

        def kill(event, arguments):
            global seen
            if event in ("open", "os.rename", "os.remove", "os.chmod", "fcntl.flock", "os.listdir"):
                seen += 1
                if seen > moment:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(kill)
        index.save_folder(folder)
        os._exit(0)
    done = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    found = GCWSIndex.load(folder)
    state = {40: "old", 58: "new"}[found.n_samples_fit_]
    expected = GCWSIndex(**parameters).fit(X[:40]) if state == "old" else GCWSIndex(**parameters).fit(X).remove([1, 2])
    assert [a.tolist() for a in found.kneighbors(X[:9], 3)] == [a.tolist() for a in expected.kneighbors(X[:9], 3)]
    steps[state] += 1
    if state == "old":  # what was left is no obstacle, and goes
        found.add(X[40:]).remove([1, 2]).save_folder(folder)
    else:
        found.add(X[1:2], [1]).remove([1]).save_folder(folder)
    assert GCWSIndex.load(folder, mmap=True).n_samples_fit_ == 58
    left = sorted(name.split("-")[0] for name in os.listdir(folder))
    assert left[:2] == ["index.safetensors", "lock"] and len(left) <= 4 and set(left[2:]) == {"segment"}, left
    if done:
        break
    moment += 1
print(steps["old"], steps["new"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_killed_at_every_step(tmp_path):
    quiet = ["-W", "ignore:This process:DeprecationWarning"]  # Python 3.12 warns of forks beside threads of BLAS
    command = [sys.executable, *quiet, "-c", KILLED, str(tmp_path / "index")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    old, new = map(int, done.stdout.split())
    assert old > 10  # states before the list is replaced, and after
    assert new > 1


def test_a_full_disk_leaves_the_old_index(tmp_path, monkeypatch):
    folder = tmp_path / "index"
    index = GCWSIndex().fit(X[:300])
    index.save_folder(folder)
    index.add(X[300:])
    replace = os.replace

    def fail_for_the_list(source, target):
        if str(target).endswith("index.safetensors"):
            raise OSError(28, "No space left on device")
        replace(source, target)

    before = files_of(folder)
    monkeypatch.setattr(os, "replace", fail_for_the_list)
    with pytest.raises(OSError, match="No space left on device"):
        index.save_folder(folder)
    monkeypatch.undo()
    assert files_of(folder) == before
    assert GCWSIndex.load(folder).n_samples_fit_ == 300
    index.save_folder(folder)
    assert GCWSIndex.load(folder).n_samples_fit_ == 400


def test_names_of_rows_stay_with_them(tmp_path):
    X = np.eye(8) + 0.5
    index = GCWSIndex().fit(X[:3], names=["a", "b", ""]).add(X[3:5]).add(X[5:7], ids=[40, 30], names=["e", "caf\udce9"])
    assert index.names_of([40, 0, 2, 3, 30, 0]) == ["e", "a", "2", "3", "caf\udce9", "a"]
    index.save(tmp_path / "i.safetensors")
    index.save_folder(tmp_path / "folder")
    for loaded in (GCWSIndex.load(tmp_path / "i.safetensors", mmap=True), GCWSIndex.load(tmp_path / "folder")):
        assert loaded.names_of(loaded.ids_) == ["a", "b", "2", "3", "4", "caf\udce9", "e"]
        loaded.remove([0, 3, 4]).add(X[7:], ids=[0], names=["new"])
        assert loaded.names_of([40, 0, 1]) == ["e", "new", "b"]
        with pytest.raises(InputError, match="ids: 3 is not in the index"):
            loaded.names_of([3])
    assert not GCWSIndex().fit(X).has_names_
    with pytest.raises(InputError, match=r"names must be strings, one for each of the 8 rows, got 2"):
        GCWSIndex().fit(X, names=["a", "b"])
    with pytest.raises(InputTypeError, match=r"names must be strings, but names\[1\] is 3"):
        index.add(X[:2], ids=[90, 91], names=["a", 3])
    assert index.n_samples_fit_ == 7
