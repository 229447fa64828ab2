"""Best: the most similar document of each text, found pair by pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._array import Array


class Best:
    """The most similar document of each text so far. Of several, the one that came first stays."""

    def __init__(self, n: int) -> None:
        self.ids: list[Any] = [None] * n
        self.similarity = np.zeros(n)

    def take(self, texts: Array, documents: Array, similarity: Array, id_of: Callable[[int], Any]) -> None:
        """Compare with some pairs, of documents that come later than those before or are of the same group."""
        order = np.lexsort((documents, -similarity, texts))
        texts, documents, similarity = texts[order], documents[order], similarity[order]
        for i in np.flatnonzero(np.diff(texts, prepend=-1)).tolist():
            text = int(texts[i])
            if similarity[i] > self.similarity[text]:
                self.similarity[text], self.ids[text] = similarity[i], id_of(int(documents[i]))

    def update(self, other: Best, texts: Array) -> None:
        """Take over what is better for these texts."""
        better = np.flatnonzero(other.similarity > self.similarity[texts])
        for i in better.tolist():
            self.ids[int(texts[i])] = other.ids[i]
        self.similarity[texts[better]] = other.similarity[better]
