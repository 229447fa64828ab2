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

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import erfc
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from .._array import Array
from ..exceptions import InputError
from ..text import PlainShingles, texts_of
from ._weights import targets_of

MOST_WORDS = 300
LEAST_ROWS = 5  # that have a word with a number of its own
MOST_COMPONENTS = 30
MOST_SHINGLES = 10_000  # that count in the components
BY_CHANCE = 0.05  # expected share of the numbers of a column that are correlated with targets by chance, at most
ROWS_PER_COMPONENT = 10  # of the training rows, at least
MOST_ROWS, MOST_CHARACTERS = 20_000, 1 << 22  # from which the numbers are learned
LONGEST = 10_000  # characters of a text that count
BLOCK = 1 << 20  # characters whose shingles are found at a time
MOST_COMPARED = 3000  # texts that are compared: among more of them, codes of few letters would meet by chance
SHARED = 0.5  # of the texts that have words of other texts
WORD = re.compile(r"\w+")
LETTERS = re.compile(r"[^\W\d_]{3,}")  # a word that is no number and no code of letters and digits
WORDS, SHINGLES = PlainShingles(1, 1, "word", weight="binary"), PlainShingles(3, 4, "char", weight="log")


def is_free_text(distinct: Sequence[str]) -> bool:
    """Return whether distinct values have words in common, as titles have, and names of things such as K00017 do not.

    A word counts if it consists of letters. Those that all values have say nothing, as in "customer 17".
    """
    some = np.random.default_rng(0).permutation(len(distinct))[:MOST_COMPARED]
    words = [set(filter(LETTERS.fullmatch, WORD.findall(distinct[i][:LONGEST].lower()))) for i in some]
    counts = Counter(word for part in words for word in part)
    shared = {word for word, count in counts.items() if 1 < count < len(words)}
    return sum(not part.isdisjoint(shared) for part in words) >= SHARED * len(words)


class TargetOrder(NamedTuple):
    """Numbers of classes, or the places of targets in their order: what the choice of words sees of the targets."""

    places: Array
    is_class: bool
    n_texts: int = 1  # columns of text, which share what is expected by chance

    @classmethod
    def of(cls, y: Array, *, is_class: bool) -> TargetOrder:
        """Return the order of the targets of training rows."""
        return cls(np.unique(y, return_inverse=True)[1], is_class)

    def take(self, rows: Array) -> TargetOrder:
        """Return the places of some rows."""
        return self._replace(places=self.places[rows])


@dataclass(frozen=True, eq=False)
class FreeText:
    """Numbers of texts: a 0/1 number per word, and components of the shingles."""

    words: tuple[str, ...]
    shingles: Array  # int64, ascending
    idf: Array  # float32, weights of the shingles
    directions: Array  # float32 (shingles, components)

    @classmethod
    def of(cls, texts: Sequence[str], targets: TargetOrder | None = None) -> FreeText:
        """Learn from the texts of training rows, or from some of them.

        With ``targets``, it has only numbers that are correlated with them.
        """
        rows = _some(texts)
        some = [texts[i][:LONGEST] for i in rows]
        shingles = SHINGLES.rows(texts_of(some))
        found, counts = np.unique(shingles.indices, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:MOST_SHINGLES]
        kept = np.sort(order[counts[order] > 1])
        idf = (np.log((1 + len(some)) / (1 + counts[kept])) + 1).astype(np.float32)
        whole = cls(_frequent_words(some), found[kept], idf, np.zeros((len(kept), 0), np.float32))
        X = whole._weighted(some)
        count = min(MOST_COMPONENTS, len(some) // ROWS_PER_COMPONENT, min(X.shape) - 1)
        if count > 0:
            with threadpool_limits(limits=1, user_api="blas"):
                _, singular, right = randomized_svd(X, count, random_state=0)
            right = right[singular > 1e-6 * max(float(singular[0]), 1e-300)]
            whole = replace(whole, directions=np.ascontiguousarray(right.T, np.float32))
        if targets is None:
            return whole
        numbers = np.empty((len(some), len(whole.names)), order="F")
        whole.encode(some, numbers)
        of_rows = targets_of(targets.places[rows], is_class=targets.is_class)
        used = correlated(numbers, of_rows, BY_CHANCE / targets.n_texts)
        words = tuple(word for word, use in zip(whole.words, used, strict=False) if use)
        directions = np.ascontiguousarray(whole.directions[:, used[len(whole.words) :]])
        if directions.shape[1] == 0:
            return cls(words, found[:0], idf[:0], directions[:0])
        return replace(whole, words=words, directions=directions)

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
            numbers[:, len(self.words) :] = self._weighted(some) @ self.directions

    def checked(self) -> FreeText:
        """Return the object, or refuse what :meth:`of` cannot have made."""
        single = WORDS.rows(texts_of(self.words)).indices
        if len(np.unique(single)) != len(self.words) or len(single) != len(self.words):
            raise InputError("the words of a text are not single words.")
        ascending, bounded = np.diff(self.shingles) > 0, np.abs(self.directions) <= 1.01
        if not (ascending.all() and bounded.all() and (self.idf >= 1).all()):
            raise InputError("the shingles of a text do not ascend, or their weights are out of range.")
        return self

    def _weighted(self, texts: Sequence[str]) -> sparse.csr_array:
        """Return the weights of the known shingles, in rows of length 1."""
        rows, place, counts = _places(SHINGLES.rows(texts_of(texts)), self.shingles)
        values = counts * self.idf[place]
        norms = np.sqrt(np.bincount(rows, values.astype(np.float64) ** 2, len(texts)))
        values = (values / norms[rows]).astype(np.float32)
        indptr = np.append(0, np.cumsum(np.bincount(rows, minlength=len(texts))))
        return sparse.csr_array((values, place, indptr), (len(texts), len(self.shingles)))


def correlated(numbers: Array, targets: Array, by_chance: float = BY_CHANCE) -> Array:
    """Return flags of the numbers that are correlated with a target, by the procedure of Benjamini and Hochberg.

    ``targets`` (rows, outputs) are centered. ``by_chance`` is the expected share of flags that chance raises, at most.
    """
    centered = numbers - numbers.mean(axis=0)
    with threadpool_limits(limits=1, user_api="blas"):
        products = centered.T @ targets
    sizes = np.sqrt(np.outer((centered**2).sum(axis=0), (targets**2).sum(axis=0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        largest = np.abs(np.nan_to_num(products / sizes)).max(axis=1)
    chances = np.minimum(1, erfc(np.sqrt(len(numbers) / 2) * largest) * targets.shape[1])
    order = np.argsort(chances, kind="stable")
    limits = by_chance * np.arange(1, len(chances) + 1) / len(chances)
    passed = np.flatnonzero(chances[order] <= limits)
    flags = np.zeros(len(chances), bool)
    flags[order[: passed[-1] + 1 if len(passed) else 0]] = True
    return flags


def _some(texts: Sequence[str]) -> Array:
    """Return the rows of texts from which to learn: all of them, or as many random ones as the limits allow."""
    rows = np.random.default_rng(0).permutation(len(texts))[:MOST_ROWS]
    ends = np.cumsum([min(len(texts[i]), LONGEST) for i in rows])
    return rows[: int(np.searchsorted(ends, MOST_CHARACTERS, "right"))]


def _frequent_words(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the words of the most texts, apart from those of all texts."""
    counts = Counter(word for text in texts for word in set(WORD.findall(text.lower())))
    words = [word for word, count in counts.items() if LEAST_ROWS <= count < len(texts)]
    words = sorted(words, key=lambda word: (-counts[word], word))[:MOST_WORDS]
    single = np.diff(WORDS.rows(texts_of(words)).indptr) == 1
    return tuple(word for word, one in zip(words, single, strict=True) if one)


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
