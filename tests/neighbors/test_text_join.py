"""The join of texts on disk: little memory gives the same clusters, with prefixes on disk and no map of the texts."""

from pathlib import Path

import numpy as np
import pytest

from kernelsketch import NearDuplicates
from kernelsketch.neighbors import _text_join, join_texts
from kernelsketch.text import Shingles, StoredTexts

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
    made = StoredTexts(tmp_path / "work", "", Shingles(2), 1)
    texts = [text.encode() for text in made_texts()]
    for begin in range(0, 400, 150):
        made.append(texts[begin : begin + 150], 0.0)
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


def test_texts_are_not_mapped(stored):
    joined(stored, 1 << 30)
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("needs /proc")
    assert str(stored.folder) not in maps.read_text()


def test_texts_that_are_added_after_reading(stored):
    before = stored.text(399)
    stored.append([b"new", b"", b"newer"], 0.0)
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
