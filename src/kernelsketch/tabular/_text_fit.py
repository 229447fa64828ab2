"""Learn from training rows which numbers stand for the free text of a column: see ``_free_text.py``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.special import erfc
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from .._array import Array
from ..text import texts_of
from ._free_text import LONGEST, SHINGLES, WORDS, FreeText, TargetOrder
from ._weights import targets_of

MOST_WORDS = 300
LEAST_ROWS = 5  # that have a word with a number of its own
MOST_COMPONENTS = 30
MOST_SHINGLES = 10_000  # that count in the components
BY_CHANCE = 0.05  # expected share of the numbers of a column that are correlated with targets by chance, at most
ROWS_PER_COMPONENT = 10  # of the training rows, at least
MOST_ROWS, MOST_CHARACTERS = 20_000, 1 << 22  # from which the numbers are learned
MOST_COMPARED = 3000  # texts that are compared: among more of them, codes of few letters would meet by chance
SHARED = 0.5  # of the texts that have words of other texts
WORD = re.compile(r"\w+")
LETTERS = re.compile(r"[^\W\d_]{3,}")  # a word that is no number and no code of letters and digits


def is_free_text(distinct: Sequence[str]) -> bool:
    """Return whether distinct values have words in common, as titles have, and names of things such as K00017 do not.

    A word counts if it consists of letters. Those that all values have say nothing, as in "customer 17".
    """
    some = np.random.default_rng(0).permutation(len(distinct))[:MOST_COMPARED]
    words = [set(filter(LETTERS.fullmatch, WORD.findall(distinct[i][:LONGEST].lower()))) for i in some]
    counts = Counter(word for part in words for word in part)
    shared = {word for word, count in counts.items() if 1 < count < len(words)}
    return sum(not part.isdisjoint(shared) for part in words) >= SHARED * len(words)


def learn_text(texts: Sequence[str], targets: TargetOrder | None = None) -> FreeText:
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
    whole = FreeText(_frequent_words(some), found[kept], idf, np.zeros((len(kept), 0), np.float32))
    owners, place, values = whole.weighted(some)
    starts = np.append(0, np.cumsum(np.bincount(owners, minlength=len(some))))
    X = sparse.csr_array((values, place, starts), (len(some), len(kept)))
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
    alone = slice(None) if targets.alone is None else targets.alone[rows]
    numbers, places = numbers[alone], targets.places[rows][alone]
    if len(numbers) < 2:
        return FreeText((), found[:0], idf[:0], np.zeros((0, 0), np.float32))
    of_rows = targets_of(places, is_class=targets.is_class)
    used = correlated(numbers, of_rows, BY_CHANCE / targets.n_texts)
    words = tuple(word for word, use in zip(whole.words, used, strict=False) if use)
    directions = np.ascontiguousarray(whole.directions[:, used[len(whole.words) :]])
    if directions.shape[1] == 0:
        return FreeText(words, found[:0], idf[:0], directions[:0])
    return replace(whole, words=words, directions=directions)


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
