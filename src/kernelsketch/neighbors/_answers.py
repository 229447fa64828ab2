"""Results in the shapes of scikit-learn's nearest neighbours: matrices, lists, graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._array import Array


def as_matrix(ends: Array, ids: Array, similarity: Array, k: int) -> tuple[Array, Array]:
    """Return ids and similarities of shape (queries, k), padded with -1 and -inf."""
    held = np.arange(k) < np.diff(ends)[:, None]
    wide_ids, wide = np.full(held.shape, -1, np.int64), np.full(held.shape, -np.inf)
    wide_ids[held], wide[held] = ids, similarity
    return wide_ids, wide


def fill_with_unrelated(ids: Array, similarity: Array, short: Array, available: Array, own: Array | None) -> None:
    """Replace the padding of the queries ``short`` by the smallest unused ids of ``available``, at similarity 0.

    ``own`` holds the ids of the queries if they are indexed rows, which are not their own neighbours.
    """
    k = ids.shape[1]
    for i in short.tolist():
        found = int(np.isfinite(similarity[i]).sum())
        used = ids[i, :found] if own is None else np.append(ids[i, :found], own[i])
        unused = available[: k + len(used)]
        unused = unused[~np.isin(unused, used)][: k - found]
        ids[i, found : found + len(unused)] = unused
        similarity[i, found : found + len(unused)] = 0.0


def as_lists(ends: Array, values: Array) -> Array:
    """Return an array that holds one array per query."""
    lists = np.empty(len(ends) - 1, object)
    for i, (begin, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        lists[i] = values[begin:end]
    return lists


def as_graph(distances: Array, ids: Array, columns: Array, mode: str) -> Any:
    """Return a matrix of results as a CSR graph. Column j of the graph stands for id ``columns[j]``; ids ascend."""
    held = np.isfinite(distances)
    indptr = np.concatenate([[0], np.cumsum(held.sum(axis=1))])
    data = distances[held] if mode == "distance" else np.ones(int(indptr[-1]))
    return sparse.csr_matrix((data, np.searchsorted(columns, ids[held]), indptr), shape=(len(ids), len(columns)))
