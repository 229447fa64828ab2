"""What an index answers, to be compared with what another one does."""

from __future__ import annotations

from typing import Any


def answers(index: Any, X: Any = None) -> list[Any]:
    """Everything that an index can be asked, as plain lists."""
    distances, ids = index.kneighbors(X, 4)
    lists = index.neighbors_above(X, threshold=0.3)
    pairs, similarity = index.query_pairs(0.5)
    nested = ([part.tolist() for part in found] for found in lists)
    return [distances.tolist(), ids.tolist(), *nested, pairs.tolist(), similarity.tolist()]
