"""The join of texts on disk: little memory gives the same clusters, with prefixes on disk and no map of the texts."""

from pathlib import Path

import numpy as np
import pytest

from kernelsketch import NearDuplicates
from kernelsketch.backends import CsrRows
from kernelsketch.backends.reference import ReferenceBackend
from kernelsketch.neighbors import _text_join, join_texts
from kernelsketch.text import PlainShingles, Shingles, StoredTexts, Texts

WORDS = [f"word{number}" for number in range(200)]


def made_texts(n=400):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 20)) for _ in range(n // 2)]
    for _ in range(n // 2):
        words = texts[rng.integers(len(texts))].split()
        words[rng.integers(20)] = "edited"
        texts.append(" ".join(words))
    return texts


@pytest.fixture
def stored(tmp_path):
    made = StoredTexts(tmp_path / "work", "", PlainShingles(2, 2))
    texts = [text.encode() for text in made_texts()]
    for begin in range(0, 400, 150):
        made.append(Texts.of(texts[begin : begin + 150]), 0.0)
    yield made
    made.close(remove=True)


def joined(stored, room, watch=lambda: None):
    def progress(fraction):
        assert 0 <= fraction <= 1
        watch()

    options = {"room": room, "threads": 1, "keep_pairs": True, "progress": progress}
    return join_texts(stored, 0.7, "single", np.arange(400), **options)


def test_parts_on_disk_give_the_same_clusters(stored, monkeypatch):
    monkeypatch.setattr(_text_join, "BLOCK_BYTES", 5000)
    monkeypatch.setattr(_text_join, "PER_ENTRY", 10_000)
    seen, made, prefixes_of = [], [], _text_join.prefixes_of

    def counted(rows, *others):
        made.append(len(rows))
        return prefixes_of(rows, *others)

    monkeypatch.setattr(_text_join, "prefixes_of", counted)
    monkeypatch.setattr(_text_join, "tiles_cost", lambda *_: np.inf)
    whole = joined(stored, 1 << 40)
    once = sum(made)
    parts = joined(stored, 1 << 20, lambda: seen.append(len(list(stored.folder.glob("prefixes-*")))))
    assert 2 <= max(seen) <= 256
    assert list(stored.folder.glob("prefixes-*")) == []
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)
    model = NearDuplicates(0.7).fit(Shingles(2).transform(made_texts()))
    np.testing.assert_array_equal(whole.stays, model.representatives_)
    assert sum(made) == 2 * once  # prefixes are made once, however many parts there are


@pytest.mark.parametrize("weight", ["count", "log"])
@pytest.mark.parametrize("way", ["chosen", "candidates", "tiles"])
@pytest.mark.parametrize("room", [1 << 30, 1 << 20])
def test_texts_of_a_small_vocabulary(tmp_path, monkeypatch, weight, way, room):
    """Rows in memory and rows made again, by candidates and by tiles: the pairs of all pairs compared one by one."""
    rng = np.random.default_rng(2)
    texts = [" ".join(f"w{number}" for number in rng.integers(60, size=40)) for _ in range(90)]
    for number in range(30):
        words = texts[rng.integers(len(texts))].split()
        words[: rng.integers(20)] = [f"new{number}"]
        texts.append(" ".join(words))
    shingles = Shingles(weight=weight)
    tiled, whole = [], []
    if room < 1 << 30:
        monkeypatch.setattr(_text_join, "BLOCK_BYTES", 1200)
        monkeypatch.setattr(_text_join, "PER_NONZERO", 300)
    if way != "chosen":
        monkeypatch.setattr(_text_join, "tiles_cost", lambda *_: 0.0 if way == "tiles" else np.inf)
        monkeypatch.setattr(_text_join, "TEXT_COST", 0.0)
    tiles, rows = _text_join.similar_in_tiles, _text_join._Rows.similarities
    monkeypatch.setattr(_text_join, "similar_in_tiles", lambda *a, **k: tiled.append(a[1]) or tiles(*a, **k))
    monkeypatch.setattr(_text_join._Rows, "similarities", lambda *a: whole.append(1) or rows(*a))
    stored = StoredTexts(tmp_path / "work", "", PlainShingles(weight=weight))
    stored.append(Texts.of([text.encode() for text in texts]), 0.0)
    options = {"room": room, "threads": 1, "progress": lambda _: None}
    found = join_texts(stored, 0.5, "single", np.arange(120), keep_pairs=True, **options)
    again = join_texts(stored, 0.5, "single", np.arange(120), keep_pairs=False, **options)
    stored.close(remove=True)
    assert (len(tiled) > 0, len(whole) > 0) == (way != "candidates", way == "candidates")
    assert any(other is not None for other in tiled) == (room < 1 << 30 and way != "candidates")
    X = shingles.transform(texts)
    every = np.array([(i, j) for i in range(120) for j in range(i + 1, 120)])
    exact = ReferenceBackend().join_similarities(CsrRows.of(X), *every.T)
    np.testing.assert_array_equal(found.pairs, every[exact >= 0.5])
    np.testing.assert_array_equal(found.pair_similarity, exact[exact >= 0.5])
    assert 25 < len(found.pairs) < len(every) / 2
    model = NearDuplicates(0.5).fit(X)
    for one in (found, again):
        np.testing.assert_array_equal(one.stays, model.representatives_)
        np.testing.assert_array_equal(one.similarity, model.similarities_)


def test_texts_are_not_mapped(stored):
    joined(stored, 1 << 30)
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("needs /proc")
    assert str(stored.folder) not in maps.read_text()


def test_texts_that_are_added_after_reading(stored):
    before = stored.text(399)
    stored.append(Texts.of([b"new", b"", b"newer"]), 0.0)
    assert [stored.text(number) for number in (399, 400, 401, 402)] == [before, b"new", b"", b"newer"]
    some = np.array([402, 3, 401])
    np.testing.assert_array_equal(
        stored.rows(some).indices, Shingles(2).transform([stored.text(number) for number in some]).indices
    )


def test_few_texts_become_rows_at_a_time(stored, monkeypatch):
    """The sample, too, may hold long texts."""
    monkeypatch.setattr(_text_join, "BLOCK_BYTES", 5000)
    sizes, rows = [], StoredTexts.rows

    def counted(texts, items):
        sizes.append(sum(len(texts.text(item)) for item in items.tolist()))
        return rows(texts, items)

    monkeypatch.setattr(StoredTexts, "rows", counted)
    joined(stored, 1 << 40)
    assert max(sizes) < 6000
