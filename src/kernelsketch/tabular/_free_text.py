"""``FreeText``: what free text in a column says, as numbers: its frequent words, and components of its shingles.

Names, titles and addresses differ in nearly every row, but have words in common. The most frequent words become one
number each, 1 where a text has the word. Shingles of 3 and 4 characters see words that are rare, long or misspelled:
they are weighted by their inverse document frequency, and their principal components, by a truncated singular value
decomposition, become numbers as well.

Hundreds of numbers that say nothing would do harm, since weights of columns do not find the few others among them. So a
number is used only if it is correlated with the targets of the training rows, by the procedure of Benjamini and
Hochberg: among the numbers of a column, the expected share of those that are correlated by chance is at most 5 %,
divided by the number of columns of text, so that many columns that say nothing seldom have a number together.
Targets count by their order, so that single large ones do not decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._array import Array
from ..exceptions import InputError
from ..text import PlainShingles, texts_of

LONGEST = 10_000  # characters of a text that count
BLOCK = 1 << 20  # characters whose shingles are found at a time
WORDS, SHINGLES = PlainShingles(1, 1, "word", weight="binary"), PlainShingles(3, 4, "char", weight="log")


class TargetOrder(NamedTuple):
    """Numbers of classes, their probabilities, or the places of targets in their order, for the choice of words."""

    places: Array
    is_class: bool
    n_texts: int = 1  # columns of text, which share what is expected by chance
    alone: Array | None = None  # flags of rows that say nothing about each other, if not all rows do; they choose

    @classmethod
    def of(cls, y: Array, *, is_class: bool) -> TargetOrder:
        """Return the order of the targets of training rows, or their probabilities of classes (rows, classes)."""
        return cls(y if y.ndim == 2 else np.unique(y, return_inverse=True)[1], is_class)

    def take(self, rows: Array) -> TargetOrder:
        """Return the places of some rows."""
        return self._replace(places=self.places[rows], alone=None if self.alone is None else self.alone[rows])


@dataclass(frozen=True, eq=False)
class FreeText:
    """Numbers of texts: a 0/1 number per word, and components of the shingles."""

    words: tuple[str, ...]
    shingles: Array  # int64, ascending
    idf: Array  # float32, weights of the shingles
    directions: Array  # float32 (shingles, components)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FreeText):
            return NotImplemented
        return self.words == other.words and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in ("shingles", "idf", "directions")
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of words, shingles and components."""
        return len(self.words), *self.directions.shape

    @property
    def names(self) -> list[str]:
        """Names of the numbers."""
        components = [f"component {i + 1}" for i in range(self.directions.shape[1])]
        return [*(f"has {word!r}" for word in self.words), *components]

    @property
    def in_words(self) -> str:
        """How many words and components there are, for the treatment of a column."""
        found = {"word": self.counts[0], "component": self.counts[2]}
        return " and ".join(f"{n} {what}{'s' * (n > 1)}" for what, n in found.items() if n)

    def encode(self, texts: Sequence[str], out: Array) -> None:
        """Write the numbers of texts. Those of a row do not depend on other rows."""
        known = WORDS.rows(texts_of(self.words)).indices
        order = np.argsort(known)
        for part in _blocks(texts):
            some, numbers = [text[:LONGEST] for text in texts[part]], out[part]
            numbers[:, : len(self.words)] = 0
            rows, place = _places(WORDS.rows(texts_of(some)), known[order])[:2]
            numbers[rows, order[place]] = 1
            numbers[:, len(self.words) :] = self._components(some)

    def checked(self) -> FreeText:
        """Return the object, or refuse what :meth:`of` cannot have made."""
        single = WORDS.rows(texts_of(self.words)).indices
        if len(np.unique(single)) != len(self.words) or len(single) != len(self.words):
            raise InputError("the words of a text are not single words.")
        ascending, bounded = np.diff(self.shingles) > 0, np.abs(self.directions) <= 1.01
        if not (ascending.all() and bounded.all() and (self.idf >= 1).all()):
            raise InputError("the shingles of a text do not ascend, or their weights are out of range.")
        return self

    def weighted(self, texts: Sequence[str]) -> tuple[Array, Array, Array]:
        """Return the known shingles of texts: the rows, the places of the shingles, and weights of length 1 by row."""
        rows, place, counts = _places(SHINGLES.rows(texts_of(texts)), self.shingles)
        values = counts * self.idf[place]
        norms = np.sqrt(np.bincount(rows, values.astype(np.float64) ** 2, len(texts)))
        return rows, place, (values / norms[rows]).astype(np.float32)

    def _components(self, texts: Sequence[str]) -> Array:
        """Return the products of the weights and the directions, summed in the order of the shingles."""
        rows, place, values = self.weighted(texts)
        out = np.zeros((len(texts), self.directions.shape[1]), np.float32)
        counts = np.bincount(rows, minlength=len(texts))
        starts = np.cumsum(counts) - counts
        for i in range(int(counts.max(initial=0)) if out.size else 0):  # the same shingle of all texts at a time
            some = np.flatnonzero(counts > i)
            at = starts[some] + i
            out[some] += values[at, None] * self.directions[place[at]]
        return out


def _blocks(texts: Sequence[str]) -> Iterator[slice]:
    """Yield successive parts of texts, of about as many characters each."""
    numbers = np.cumsum([min(len(text), LONGEST) for text in texts]) // BLOCK
    ends = np.append(np.flatnonzero(np.diff(numbers)) + 1, len(texts))
    yield from map(slice, np.append(0, ends[:-1]), ends)


def _places(rows: Any, known: Array) -> tuple[Array, Array, Array]:
    """Return the rows, the places among ascending known features, and the values of the features that are known."""
    place = np.searchsorted(known, rows.indices)
    found = np.append(known, -1)[place] == rows.indices
    owners = np.repeat(np.arange(len(rows.indptr) - 1), np.diff(rows.indptr))
    return owners[found], place[found], rows.data[found]


def stored_texts(texts: Sequence[FreeText | None]) -> dict[str, Any]:
    """Return the tensors of a file for the free texts of columns, of which some have none."""
    known = [text for text in texts if text is not None]
    if not known:
        return {}
    return {
        "text_counts": np.array([text.counts if text else (0, 0, 0) for text in texts], np.int64),
        "text_words": [word for text in known for word in text.words],
        "text_shingles": np.concatenate([text.shingles for text in known]),
        "text_idf": np.concatenate([text.idf for text in known]),
        "text_directions": np.concatenate([text.directions.ravel() for text in known]),
    }


def restored_texts(tensors: Mapping[str, Any], n_columns: int) -> list[FreeText | None]:
    """Return what :func:`stored_texts` has stored, after checks."""
    if "text_counts" not in tensors:
        return [None] * n_columns
    words, shingles, idf, directions = (tensors[f"text_{name}"] for name in ("words", "shingles", "idf", "directions"))
    counts = tensors["text_counts"].tolist()
    totals = [sum(w for w, _, _ in counts), sum(s for _, s, _ in counts), sum(s * c for _, s, c in counts)]
    empty = any(c > 0 and s == 0 for _, s, c in counts)
    if empty or min(map(min, counts)) < 0 or totals != [len(words), len(shingles), len(directions)]:
        raise InputError("the words and shingles of texts do not fit the columns.")
    found: list[FreeText | None] = []
    for w, s, c in counts:
        part = FreeText(tuple(words[:w]), shingles[:s], idf[:s], directions[: s * c].reshape(s, c))
        words, shingles, idf, directions = words[w:], shingles[s:], idf[s:], directions[s * c :]
        found.append(part.checked() if part.names else None)
    return found
