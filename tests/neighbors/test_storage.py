"""Index files: there and back, by reading and by mapping, and what is refused."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from helpers.clusters import clusters
from kernelsketch import GCWSIndex, load_model
from kernelsketch.exceptions import InputError
from kernelsketch.text import Shingles

GOLDEN = Path(__file__).parents[1] / "golden"
X = clusters(200, 30)


def answers(index, queries):
    return [part.tolist() for part in (*index.kneighbors(queries, 3), *index.query_pairs(0.4))]


def as_sparse(X):
    return sparse.csr_matrix(X)


KINDS = {
    "dense": (np.asarray, {}),
    "bytes": (lambda X: np.rint(X * 10), {}),
    "csr": (as_sparse, {}),
    "postings": (as_sparse, {"heavy_fraction": 0.7, "n_rerank": 12}),
    "graph": (np.asarray, {"graph_degree": 6, "n_rerank": 12}),
    "graph of bytes": (lambda X: np.rint(X * 10), {"graph_degree": 6}),
    "codes": (np.asarray, {"store_vectors": False, "n_components": 256}),
    "scan": (np.asarray, {"n_tables": 0}),
    "power": (lambda X: X * 1e100, {"p": 2.5, "n_jobs": 2}),
    "center": (np.asarray, {"center": "mean", "random_state": 2**64 - 1}),
}


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_there_and_back(tmp_path, kind, mmap):
    change, parameters = KINDS[kind]
    rows = change(X)
    index = GCWSIndex(**parameters).fit(rows[:180]).add(rows[180:], np.arange(-30, -10)).remove([4, -12])
    index.save(tmp_path / "index.safetensors")
    loaded = GCWSIndex.load(tmp_path / "index.safetensors", mmap=mmap)
    assert len(loaded._segments) == 1
    np.testing.assert_array_equal(loaded.ids_, index.ids_)
    assert answers(loaded, rows[:20]) == answers(index, rows[:20])
    # Additions and removals work on, and the file stays as it is.
    content = (tmp_path / "index.safetensors").read_bytes()
    for changed in (index, loaded):
        changed.add(rows[4:5], [4]).remove([7]).add(rows[:3])
    assert answers(loaded, rows[:20]) == answers(index, rows[:20])
    assert (tmp_path / "index.safetensors").read_bytes() == content
    loaded.save(tmp_path / "index.safetensors")  # over the file that is mapped
    again = GCWSIndex.load(tmp_path / "index.safetensors", mmap=mmap)
    assert answers(again, rows[:20]) == answers(index, rows[:20])


@pytest.mark.parametrize("kind", ["dense", "csr", "postings", "codes", "graph"])
def test_files_of_version_1(kind, request):
    """``pytest --overwrite-golden`` renews the files until version 1 is released; after that they load for ever."""
    path = GOLDEN / f"index-v1-{kind}.safetensors"
    change, parameters = KINDS[kind]
    rows = change(clusters(24, 6, seed=5))
    made = GCWSIndex(**parameters | {"n_tables": 4, "hashes_per_table": 2, "n_components": 16}).fit(
        rows, ids=np.arange(24) * 5 - 40
    )
    if request.config.getoption("--overwrite-golden"):
        made.save(path)
    for mmap in (False, True):
        loaded = GCWSIndex.load(path, mmap=mmap)
        assert loaded.get_params() | {"center": None} == made.get_params()
        assert answers(loaded, rows) == answers(made, rows)


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="'n_rerank' parameter"):
        GCWSIndex().fit(X).set_params(n_rerank=0).save(tmp_path / "index")
    assert not list(tmp_path.iterdir())


def test_an_index_that_became_wider(tmp_path):
    pd = pytest.importorskip("pandas")
    index = GCWSIndex(store_vectors=False).fit(pd.DataFrame(X, columns=[f"f{i}" for i in range(30)])).widen(40)
    index.save(tmp_path / "index")
    assert GCWSIndex.load(tmp_path / "index").n_features_in_ == 40


def test_the_same_index_gives_the_same_bytes(tmp_path):
    whole, parts = GCWSIndex().fit(X), GCWSIndex().fit(X[50:], ids=np.arange(50, 200)).add(X[:50], np.arange(50))
    whole.save(tmp_path / "a")
    parts.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_mapped_index_is_not_read(tmp_path):
    GCWSIndex().fit(X).save(tmp_path / "index")
    index = GCWSIndex.load(tmp_path / "index", mmap=True)
    s = index._segments[0]
    for part in (s.codes, s.ids, s.rows, s.starts, s.vectors.dense, s.vectors.norms):
        base = part
        while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap)


@pytest.mark.skipif(os.name == "nt", reason="a mapped file cannot be replaced")
def test_a_mapped_index_is_saved_to_its_own_file(tmp_path):
    GCWSIndex().fit(X[:150]).save(tmp_path / "index")
    index = GCWSIndex.load(tmp_path / "index", mmap=True).add(X[150:])
    index.save(tmp_path / "index")
    GCWSIndex().fit(X).save(tmp_path / "other")
    assert (tmp_path / "index").read_bytes() == (tmp_path / "other").read_bytes()
    assert index.kneighbors(X[:9])[1].tolist() == GCWSIndex.load(tmp_path / "index").kneighbors(X[:9])[1].tolist()


def test_names_of_features_are_kept(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(30)])
    GCWSIndex().fit(frame).save(tmp_path / "index")
    index = GCWSIndex.load(tmp_path / "index")
    assert index.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        index.kneighbors(frame.rename(columns={"f3": "other"}))


def test_every_changed_byte_is_found(tmp_path):
    path = tmp_path / "index"
    GCWSIndex(n_tables=2, n_components=8).fit(X[:20, :5]).save(path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(len(content), size=150).tolist():
        path.write_bytes(content[:place] + bytes([content[place] ^ (1 << place % 8)]) + content[place + 1 :])
        with pytest.raises(InputError):
            GCWSIndex.load(path)
    for end in rng.integers(len(content), size=20).tolist():
        path.write_bytes(content[:end])
        for mmap in (False, True):
            with pytest.raises(InputError):
                GCWSIndex.load(path, mmap=mmap)


def test_a_changed_header_is_found_when_mapped(tmp_path):
    path = tmp_path / "index"
    GCWSIndex().fit(X).save(path)
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    for old, new in (
        (b'seed\\": 0', b'seed\\": 1'),
        (b'p\\": 1.0', b'p\\": 1.5'),
        (b'per_table\\": 4', b'per_table\\": 2'),
    ):
        assert old in content[:end]
        path.write_bytes(content[:end].replace(old, new) + content[end:])
        with pytest.raises(InputError, match="header has changed"):
            GCWSIndex.load(path, mmap=True)


@pytest.mark.parametrize("kind", ["dense", "csr", "postings", "graph"])
def test_damaged_tables_lead_nowhere_when_mapped(tmp_path, kind):
    """Without the checksum: garbage in any tensor gives an error or an answer, never a crash."""
    path = tmp_path / "index"
    change, parameters = KINDS[kind]
    GCWSIndex(**parameters).fit(change(X)).save(path)
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    entries = json.loads(content[8:start])
    rng = np.random.default_rng(1)
    refused = 0
    for name, entry in entries.items():
        if name == "__metadata__":
            continue
        begin, end = (start + place for place in entry["data_offsets"])
        for garbage in (bytes([255]) * (end - begin), rng.bytes(end - begin), bytes(end - begin)):
            path.write_bytes(content[:begin] + garbage + content[end:])
            index = GCWSIndex.load(path, mmap=True)
            asks = (lambda i: i.kneighbors(X[:50]), lambda i: i.query_pairs(0.3), lambda i: i.add(X[:3]).remove([-200]))
            for ask in asks:
                try:
                    ask(index)
                except InputError:
                    refused += 1
    assert refused > 4


@pytest.mark.parametrize("value", [-(2**63), -1, 2**63 - 1])
def test_row_pointers_whose_differences_wrap(tmp_path, value):
    path = tmp_path / "index"
    GCWSIndex().fit(sparse.csr_array(X)).save(path)
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    end = start + json.loads(content[8:start])["indptr"]["data_offsets"][1]
    path.write_bytes(content[: end - 8] + value.to_bytes(8, "little", signed=True) + content[end:])
    with pytest.raises(InputError, match="damaged"):
        GCWSIndex.load(path, mmap=True).query_pairs(0.3)


def test_other_files_are_refused(tmp_path):
    GCWSIndex().fit(X).save(tmp_path / "index")
    with pytest.raises(InputError):
        load_model(tmp_path / "index")
    (tmp_path / "text").write_text("not an index")
    with pytest.raises(InputError, match="safetensors"):
        GCWSIndex.load(tmp_path / "text")
    with pytest.raises(FileNotFoundError):
        GCWSIndex.load(tmp_path / "nothing")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "index"
    index = GCWSIndex().fit(X)
    index.save(path)
    content = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="not written"):
        index.remove([0]).save(path)
    assert path.read_bytes() == content
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("weight", ["count", "idf"])
@pytest.mark.parametrize("mmap", [False, True])
def test_texts(tmp_path, weight, mmap):
    """An index of texts knows how to make rows of them, also from a file."""
    texts = [f"text number {i} has the words {i * 7 % 11} and {i * 3 % 5}" for i in range(40)]
    index = GCWSIndex(3, shingles=Shingles((1, 2), weight=weight)).fit(texts[:30]).add(texts[30:])
    index.save(tmp_path / "index")
    loaded = GCWSIndex.load(tmp_path / "index", mmap=mmap)
    assert loaded.shingles.get_params() == index.shingles.get_params()
    for a, b in zip(index.kneighbors(texts), loaded.kneighbors(texts), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (index.kneighbors(texts, 1)[1].ravel() == np.arange(40)).all()
    rows = index.shingles_.transform(texts)
    np.testing.assert_array_equal(index.kneighbors(rows)[1], index.kneighbors(texts)[1])
    assert GCWSIndex(3, shingles=Shingles()).tune(texts, recall=0.9).fit(texts).n_samples_fit_ == 40
