"""DocumentCollection: exactly the most similar document, whatever was added and removed; its folder; bad input."""

import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from helpers.damage import set_field, set_tensor
from kernelsketch import DocumentCollection, gmm_kernel
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.neighbors import _collection, _collection_file, _prefix_lists
from kernelsketch.storage import load_file, locked, save_file
from kernelsketch.text import Shingles

WORDS = [f"w{i}" for i in range(60)]


def corpus(n, seed):
    """Texts of which many are edited, cut or equal copies of others, and some are empty."""
    rng, texts = np.random.default_rng(seed), []
    for _ in range(n):
        if not texts or rng.random() < 0.4:
            texts.append(" ".join(rng.choice(WORDS, rng.integers(0, 40))))
            continue
        words = texts[rng.integers(len(texts))].split()
        for _ in range(rng.integers(0, 4)):
            if words:
                words[rng.integers(len(words))] = rng.choice(WORDS)
        texts.append(" ".join(words[: len(words) // 2] if rng.random() < 0.2 else words))
    return texts


def kernel(shingles, new, old):
    return gmm_kernel(*(shingles.transform(texts).astype(np.float64) for texts in (new, old)))


def assert_best(found, similarities, threshold):
    """The first of the most similar documents, with its similarity, where one reaches the threshold."""
    best = similarities.max(axis=1)
    for i, (one, similarity) in enumerate(zip(found.ids, found.similarity.tolist(), strict=True)):
        if best[i] < threshold:
            assert (one, similarity) == (None, 0)
        else:
            assert similarity == pytest.approx(best[i], abs=1e-12)
            assert one == np.flatnonzero(similarities[i] > best[i] - 1e-12)[0]


@pytest.mark.parametrize("seed", range(12))
def test_against_brute_force(tmp_path, monkeypatch, seed):
    """After additions of all sizes, merges and removals, and in blocks of few candidates."""
    rng = np.random.default_rng(seed)
    if seed % 2:
        monkeypatch.setattr(_collection, "GATHERED_BYTES", 3000)
        monkeypatch.setattr(_collection, "MOST_BYTES", 20_000)
        monkeypatch.setattr(_prefix_lists, "MOST_CANDIDATES", 50)
    shingles = Shingles(int(rng.integers(1, 4)), weight=["count", "binary", "log"][seed % 3])
    threshold = float(rng.choice([0.3, 0.5, 0.8]))
    texts = corpus(300, seed)
    old, new = texts[:220], texts[220:]
    known = DocumentCollection.create(tmp_path / "known", threshold=threshold, shingles=shingles)
    ends = np.sort(rng.choice(np.arange(1, 220), 9, replace=False)).tolist()
    for begin, end in zip([0, *ends], [*ends, 220], strict=True):
        known.add(old[begin:end])
    gone = rng.choice(220, 40, replace=False).tolist() if seed % 3 else []
    assert known.remove(gone) == len(gone)
    assert known.remove(gone) == 0
    similarities = kernel(shingles, new, old)
    similarities[:, gone] = 0
    asked = min(1.0, threshold + 0.1 * (seed % 2))
    for opened in (known, DocumentCollection(tmp_path / "known", n_jobs=2)):
        assert len(opened) == 220 - len(gone)
        assert_best(opened.match(new, threshold=asked), similarities, asked)


def test_a_copy_stays_when_the_first_one_is_removed(tmp_path):
    known = DocumentCollection.create(tmp_path / "known", shingles=Shingles(2))
    known.add(["one two three four"] * 3 + ["five six seven"] * 9, ids=list("abcdefghijkl"))
    assert known.match(["One, two: three four!"]).ids == ["a"]
    assert known.remove(["a", "no such id"]) == 1
    assert known.match(["one two three four"]).ids == ["b"]
    assert known.remove(["b", "c"]) == 2
    assert known.match(["one two three four"]).ids == [None]
    assert len(known) == 9


def test_many_equal_documents_have_one_list(tmp_path):
    known = DocumentCollection.create(tmp_path / "known", shingles=Shingles(1))
    known.add(["a b c d e"] * 5000)
    (segment,) = known._listed.segments
    assert len(segment.lists.features) <= 5
    assert known.match(["a b c d e"]).ids == [0]


def test_ids(tmp_path):
    known = DocumentCollection.create(tmp_path / "known", shingles=Shingles(1))
    known.add(["alpha beta"])
    known.add(["gamma delta", "delta epsilon"], ids=["\u00fc\t\ud800", np.int32(7)])
    known.add(["zeta eta"])
    again = DocumentCollection(tmp_path / "known")
    assert again.match(["alpha beta", "gamma delta", "delta epsilon", "zeta eta"]).ids == [0, "\u00fc\t\ud800", 7, 3]
    with pytest.raises(InputError, match="ids has 1 values for 2 texts"):
        known.add(["a", "b"], ids=["x"])
    with pytest.raises(InputTypeError, match=r"ids\[1\] is 1.5"):
        known.add(["a", "b"], ids=["x", 1.5])
    for change in (lambda: known.add(["a"], ids="x"), lambda: known.remove("x")):
        with pytest.raises(InputTypeError, match=r"ids='x' must be a sequence of ids: pass \[id\]"):
            change()
    assert len(known) == 4


def test_few_segments(tmp_path):
    known = DocumentCollection.create(tmp_path / "known", shingles=Shingles(1))
    for number in range(60):
        known.add([f"text number {number} of the collection"])
    assert len(known._listed.segments) <= 7
    assert len(list((tmp_path / "known").glob("segment-*"))) == len(known._listed.segments)


@pytest.mark.parametrize("threshold", [0.2, 1.5, "high", True])
def test_other_thresholds(tmp_path, threshold):
    known = DocumentCollection.create(tmp_path / "known", threshold=0.5)
    with pytest.raises(InputError, match=r"threshold=.*must be from 0\.5, for which the collection was made, to 1"):
        known.match(["a text"], threshold=threshold)
    if threshold != 0.2:
        with pytest.raises(InputError, match=r"threshold=.*above 0 and at most 1"):
            DocumentCollection.create(tmp_path / "other", threshold=threshold)
        assert not (tmp_path / "other").exists()


def test_bad_places(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("")
    with pytest.raises(NotADirectoryError, match="name a new folder"):
        DocumentCollection.create(tmp_path / "file")
    with pytest.raises(InputError, match=r"not of a collection, for example notes\.txt"):
        DocumentCollection.create(tmp_path / "full")
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        DocumentCollection.create(tmp_path / "no" / "such")
    with pytest.raises(FileNotFoundError, match="There is no collection in this folder"):
        DocumentCollection(tmp_path / "full")
    DocumentCollection.create(tmp_path / "known")
    with pytest.raises(InputError, match="has a collection already"):
        DocumentCollection.create(tmp_path / "known")
    with pytest.raises(InputError, match='weight="idf"'):
        DocumentCollection.create(tmp_path / "idf", shingles=Shingles(weight="idf"))
    with pytest.raises(InputTypeError, match=r"X\[0\] is missing"):
        DocumentCollection(tmp_path / "known").add([None])


def test_a_new_collection_needs_good_parameters(tmp_path):
    with pytest.raises(InputTypeError, match=r"shingles=5 must be kernelsketch\.text\.Shingles"):
        DocumentCollection.create(tmp_path / "known", shingles=5)
    with pytest.raises(InputError, match="n_jobs must not be 0"):
        DocumentCollection.create(tmp_path / "known", n_jobs=0)
    assert not (tmp_path / "known").exists()


def test_two_processes_make_a_collection_at_once(tmp_path, monkeypatch):
    """The second one does not replace the documents of the first by an empty list."""
    place, mkdir = tmp_path / "known", Path.mkdir

    def after_another(folder, **options):
        monkeypatch.undo()
        mkdir(folder, **options)
        DocumentCollection.create(place).add(["a b c d e f"])

    monkeypatch.setattr(Path, "mkdir", after_another)
    with pytest.raises(InputError, match="has a collection already"):
        DocumentCollection.create(place)
    assert len(DocumentCollection(place)) == 1


def test_another_collection_in_the_same_place(tmp_path):
    """A process that still has the old one open does not mix the two."""
    old = DocumentCollection.create(tmp_path / "known", shingles=Shingles(1))
    shutil.rmtree(tmp_path / "known")
    DocumentCollection.create(tmp_path / "known", shingles=Shingles(2)).add(["alpha beta"])
    for change in (lambda: old.add(["gamma"]), lambda: old.remove([0])):
        with pytest.raises(InputError, match="has become another collection"):
            change()
    assert DocumentCollection(tmp_path / "known").match(["alpha beta"]).ids == [0]


def test_two_writers(tmp_path):
    """One process at a time changes the folder, and each sees what the other has done."""
    one = DocumentCollection.create(tmp_path / "known", shingles=Shingles(1))
    two = DocumentCollection(tmp_path / "known")
    one.add(["alpha beta"], ids=["a"])
    assert two.match(["alpha beta"]).ids == [None]  # opened before
    two.add(["gamma delta"], ids=["b"])
    assert two.match(["alpha beta", "gamma delta"]).ids == ["a", "b"]
    assert one.remove(["b"]) == 1
    assert len(DocumentCollection(tmp_path / "known")) == 1
    with (
        locked(tmp_path / "known" / _collection_file.LOCK, ""),
        pytest.raises(InputError, match="is being changed by another process"),
    ):
        one.add(["epsilon"])


def test_threads_match_while_one_changes(tmp_path):
    """Every answer is one of before or after an addition or a removal."""
    known = DocumentCollection.create(tmp_path / "known", shingles=Shingles(1))
    known.add(["alpha beta gamma"], ids=["first"])
    wrong, done = [], threading.Event()

    def ask():
        while not done.is_set():
            found = known.match(["alpha beta gamma", "text 7"])
            if found.ids[0] != "first" or found.ids[1] not in (None, "7"):
                wrong.append(found)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(20):
        known.add([f"text {number}"], ids=[str(number)])
        known.remove([str(number - 3)])
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(known) == 4


@pytest.fixture
def made(tmp_path):
    """A collection with a segment and a removed document."""
    known = DocumentCollection.create(tmp_path / "known", shingles=Shingles(1))
    known.add([" ".join(WORDS[i : i + 9]) for i in range(40)])
    known.remove([3])
    return tmp_path / "known"


def test_damaged_files(made):
    """A flipped bit of the list is refused, and one in the header of a segment."""
    for path, places in ((made / "collection.safetensors", 30), (next(made.glob("segment-*")), 10)):
        content = path.read_bytes()
        last = len(content) if path.name.startswith("c") else 600
        for place in np.random.default_rng(0).integers(last, size=places).tolist():
            path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
            with pytest.raises(InputError):
                DocumentCollection(made)
        path.write_bytes(content)
    next(made.glob("segment-*")).unlink()
    with pytest.raises(InputError, match=r"is damaged: its file .* is missing"):
        DocumentCollection(made)


HOSTILE = {
    "threshold": set_field("threshold", 0.1),
    "text_ends": set_tensor("text_ends", lambda ends: ends[::-1].copy()),
    "id_ends": set_tensor("id_ends", lambda ends: ends + 1),
    "first": set_tensor("first", lambda first: first + 100),
    "counters": set_tensor("counters", lambda counters: counters[:3000].copy()),
    "rows": set_tensor("rows", lambda rows: rows + 1000),
}


@pytest.mark.parametrize("change", HOSTILE)
def test_hostile_segments(made, monkeypatch, change):
    """Whatever a segment says with right checksums, there is an error and no crash."""
    path = next(made.glob("segment-*"))
    schema, listed = _collection_file.SEGMENT_SCHEMA, _collection_file.LIST_SCHEMA
    header, tensors = load_file(path, schema, lambda *parts: parts)
    header = {name: header[name] for name in schema.fields}
    HOSTILE[change](header, tensors)
    with monkeypatch.context() as patch:  # a writer without checks
        patch.setattr(type(schema), "check", lambda *_: None)
        save_file(path, schema, header, tensors)
    header, tensors = load_file(made / "collection.safetensors", listed, lambda *parts: parts)
    tensors["checksums"] = [_collection_file.read_header(path)["sha256"]]
    save_file(made / "collection.safetensors", listed, {name: header[name] for name in listed.fields}, tensors)
    with pytest.raises(InputError, match="damaged"):
        DocumentCollection(made).match([" ".join(WORDS[:9])])
