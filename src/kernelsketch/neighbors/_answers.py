"""Answers in the shapes that scikit-learn's users know: matrices, lists, graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]


def as_matrix(ends: Array, ids: Array, similarity: Array, k: int) -> tuple[Array, Array]:
    """Ids and similarities (queries, k), padded by -1 and -inf."""
    held = np.arange(k) < np.diff(ends)[:, None]
    wide_ids, wide = np.full(held.shape, -1, np.int64), np.full(held.shape, -np.inf)
    wide_ids[held], wide[held] = ids, similarity
    return wide_ids, wide


def fill(ids: Array, similarity: Array, short: Array, spare: Array, own: Array | None) -> None:
    """Put the smallest of the spare ids at similarity 0 where nothing was found, in the rows named."""
    k = ids.shape[1]
    for i in short.tolist():
        found = int(np.isfinite(similarity[i]).sum())
        used = ids[i, :found] if own is None else np.append(ids[i, :found], own[i])
        some = spare[: k + len(used)]
        some = some[~np.isin(some, used)][: k - found]
        ids[i, found : found + len(some)] = some
        similarity[i, found : found + len(some)] = 0.0


def as_lists(ends: Array, values: Array) -> Array:
    """An array of arrays, one a query."""
    lists = np.empty(len(ends) - 1, object)
    for i, (begin, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        lists[i] = values[begin:end]
    return lists


def as_graph(distances: Array, ids: Array, columns: Array, mode: str) -> Any:
    """CSR (queries, columns) of a matrix of answers; column j stands for the j-th of the ascending ids."""
    held = np.isfinite(distances)
    indptr = np.concatenate([[0], np.cumsum(held.sum(axis=1))])
    data = distances[held] if mode == "distance" else np.ones(int(indptr[-1]))
    return sparse.csr_matrix((data, np.searchsorted(columns, ids[held]), indptr), shape=(len(ids), len(columns)))
