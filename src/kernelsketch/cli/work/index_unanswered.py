"""Why queries have no neighbour, and what helps."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
from scipy import sparse

from ...neighbors import GCWSIndex
from ..commands.index import Query
from .index_texts import TextRows

MOST_EXAMINED = 5  # queries whose most similar row is found, which takes a look at all rows
_WORD = re.compile(r"\w+")
_BLANKS = re.compile(r"\s+")


class Unanswered:
    """The queries without a neighbour, counted by the reason, which JSON shows for each of them."""

    def __init__(self, index: GCWSIndex, task: Query) -> None:
        self._index, self._task = index, task
        self._counts: Counter[str] = Counter()
        self._examined: list[Any] = []  # rows

    def reason(self, X: Any, row: int, stream: Any, number: int) -> str:
        """Return why a row of X has no neighbour, and count it; it is row ``number`` of the block of the stream."""
        found = self._reason(X, row, stream, number)
        self._counts[found] += 1
        if found == self._far and len(self._examined) < MOST_EXAMINED:
            self._examined.append(X[[row]])
        return found

    @property
    def count(self) -> int:
        """Number of queries without a neighbour."""
        return sum(self._counts.values())

    @property
    def _far(self) -> str:
        return "no candidate" if self._task.threshold is None else "none above the threshold"

    def _reason(self, X: Any, row: int, stream: Any, number: int) -> str:
        if not isinstance(stream, TextRows):
            return "all values are 0" if not _has_values(X, row) else self._far
        if number in stream.block.faults:
            return "no text"
        if not _has_values(X, row):
            return "no word"
        return "shorter than a shingle" if self._is_short(stream.block.texts[number]) else self._far

    def _is_short(self, text: str | bytes) -> bool:
        shingles = self._index.shingles_
        given = shingles.ngram_range
        least = given if isinstance(given, int) else min(given)
        plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        if shingles.analyzer == "word":
            return len(_WORD.findall(plain)) < least
        return len(_BLANKS.sub(" ", plain.strip())) < least

    def lines(self, n_rows: int) -> dict[str, str]:
        """Return lines of the summary."""
        if not self.count:
            return {}
        what = "texts" if self._index.shingles is not None else "rows"
        lines = {"no neighbour": f"{self.count:,} of {n_rows:,} {what}"}
        for reason, number in self._counts.items():
            lines[f"  {reason}"] = f"{number:,}{self._advice(reason)}"
        return lines

    def _advice(self, reason: str) -> str:
        if reason == "shorter than a shingle":
            given = self._index.shingles_
            unit = "words" if given.analyzer == "word" else "characters"
            return f"; a shingle has {given.ngram_range} {unit}: build the index with a smaller --ngram"
        if reason == "no text":
            return "; --text names the field of the texts"
        if reason != self._far:
            return ""
        best = self._best()
        if best == 0:
            if self._index.shingles is None:
                return "; no feature in common with any indexed row"
            smaller = "build the index with a smaller --ngram, or with --keywords to search by words"
            return f"; no shingle in common with any indexed text: {smaller}"
        count = len(self._examined)
        most = f"the most similar row to one of them has {best:.2g}"
        if self._counts[self._far] > count:
            most = f"the most similar row to one of the first {count} has {best:.2g}"
        if self._task.threshold is not None:
            return f"; {most}: lower --threshold"
        return f"; {most}: pass --fill-missing to search all rows for such queries"

    def _best(self) -> float:
        """Return the largest similarity of the examined queries to any row."""
        given: dict[str, Any] = {"fill_missing": True}
        if self._index.heavy_fraction is None:
            given |= {"n_tables": 0, "n_rerank": None}
        X = self._examined
        rows = sparse.csr_array(sparse.vstack(X)) if sparse.issparse(X[0]) else np.concatenate(X)
        distances = self._index.set_params(**given).kneighbors(rows, 1)[0]
        return float(1 - np.min(distances)) if np.isfinite(distances).any() else 0.0


def _has_values(X: Any, row: int) -> bool:
    return bool(X.indptr[row + 1] > X.indptr[row] if sparse.issparse(X) else X[row].any())
