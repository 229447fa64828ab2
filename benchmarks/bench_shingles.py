"""Texts to sparse rows: characters per second beside scikit-learn's HashingVectorizer, at equal counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import Method, Problem
from sklearn.feature_extraction.text import HashingVectorizer

from kernelsketch.text import Shingles

DOCUMENTS, VOCABULARY, WORDS = 4000, 50_000, 60
CASES = {"words": ("word", 1), "runs of five words": ("word", 5), "runs of five characters": ("char", 5)}


def documents() -> list[str]:
    """Texts of words that are distributed and as long as those of English, about."""
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlcumwfgypbvk"))
    vocabulary = ["".join(rng.choice(letters, 1 + rng.poisson(4.5))) for _ in range(VOCABULARY)]
    often = 1 / np.arange(2, VOCABULARY + 2)
    chosen = rng.choice(VOCABULARY, (DOCUMENTS, WORDS), p=often / often.sum())
    return [" ".join(vocabulary[i].capitalize() if i % 9 == 0 else vocabulary[i] for i in row) + "." for row in chosen]


class Made:
    """A matrix with the size that the harness asks for."""

    def __init__(self, X: Any) -> None:
        self.X, self.nbytes = X, X.data.nbytes + X.indices.nbytes + X.indptr.nbytes


def difference(a: Made, b: Made) -> float:
    """Return the largest difference of sorted counts, which are equal whatever the numbers of the features are."""
    if a.X.nnz != b.X.nnz:
        return float("inf")
    return float(np.abs(np.sort(a.X.data).astype(float) - np.sort(b.X.data)).max())


def problems() -> list[Problem]:
    texts = documents()
    size = sum(map(len, texts))
    found = []
    for name, (analyzer, n) in CASES.items():
        peer = HashingVectorizer(
            analyzer=analyzer, ngram_range=(n, n), token_pattern=r"\w+", n_features=2**31 - 1, norm=None,
            alternate_sign=False,
        )  # fmt: skip
        ours = Shingles(n, analyzer=analyzer)
        methods = [
            Method("HashingVectorizer", lambda peer=peer: Made(peer.transform(texts)), rounds=9),
            Method("Shingles", lambda ours=ours: Made(ours.transform(texts)), rounds=9),
        ]
        found.append(Problem(f"{name} of {size / 1e6:.1f} million characters", methods, size, difference))
    return found
