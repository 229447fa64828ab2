"""The choice of tables for a recall: similarities from a sample, probabilities from the theory, ranks measured."""

from __future__ import annotations

import numbers
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from .._backend import backend
from .._validation import check_n_jobs
from ..exceptions import InputError, InputTypeError
from ..features import GCWS
from ..features._rows import native_rows
from ..kernels import gmm_kernel
from ..reference.index import MOST_BAND, MOST_CODES, Queries, Task
from ..theory import index_recall
from . import _segments
from ._arguments import check_count

Array = NDArray[Any]

QUERIES, ROWS = 256, 20_000  # of the sample
LENGTHS = (64, 128, 192, 256, 384, 512, 768, 1024)  # codes of a row that are considered
# Nanoseconds, measured on one core of a server: they decide between choices of the same recall and nothing else.
PER_TABLE, PER_ENTRY, PER_CANDIDATE, PER_LINE, PER_SCANNED_LINE, PER_EXACT = 40.0, 1.5, 4.0, 3.0, 1.2, 60.0


class Choice(NamedTuple):
    cost: float  # nanoseconds a query
    band: int
    n_tables: int
    n_components: int


def tune_index(index: Any, X: Any, target_recall: Any, n_neighbors: Any) -> None:
    """Set the parameters of an index that is yet to be fitted, and ``tuning_``."""
    if isinstance(target_recall, bool) or not isinstance(target_recall, numbers.Real):
        raise InputTypeError(f"target_recall must be a number, got {target_recall!r}.")
    if not 0 < float(target_recall) < 1:
        raise InputError(f"target_recall must be above 0 and below 1, got {target_recall!r}.")
    X = validate_data(index, X, accept_sparse="csr", dtype=[np.float64, np.float32])
    k = check_count(n_neighbors, X.shape[0], True)
    hasher = GCWS(LENGTHS[-1], p=index.p, center=index.center, random_state=index.random_state).fit(X)
    rng = np.random.default_rng(hasher.seed_)
    chosen = np.sort(rng.permutation(X.shape[0])[:ROWS])
    base = hasher._check_rows(X[chosen])
    which = np.sort(rng.permutation(base.shape[0])[:QUERIES])
    kernel = gmm_kernel(base[which], base, p=index.p, center=hasher.center_, n_jobs=index.n_jobs)
    kernel = np.asarray(kernel, np.float64)
    kernel[np.arange(len(which)), which] = -1  # a row is no neighbour of itself
    near = np.argpartition(-kernel, k - 1, axis=1)[:, :k]
    similarity = np.take_along_axis(kernel, near, axis=1)
    found = similarity > 0
    if not found.any():
        raise InputError("no row of the sample of X has a neighbour of similarity above 0: there is nothing to find.")
    ratio = X.shape[0] / base.shape[0]
    others = np.sort(kernel[kernel >= 0])[:: max(1, kernel.size // 20_000)]
    choices = _choices(similarity[found], others, X.shape[0], float(target_recall))
    threads = check_n_jobs(index.n_jobs)
    codes, empty = np.empty((base.shape[0], LENGTHS[-1]), np.uint8), np.empty(base.shape[0], np.uint8)
    backend().gcws_mixes(native_rows(base, slice(0, len(codes))), hasher._hashing(), codes, empty, threads)
    for choice in choices:
        measured = _depth(
            codes, empty, which, near, found, choice, k, float(target_recall), ratio, index.store_vectors, threads
        )
        if measured is not None:
            break
    else:
        raise InputError(
            f"target_recall={target_recall} is not reached with up to {LENGTHS[-1]} codes a row on this sample: ask "
            "for less, or keep vectors (store_vectors=True)."
        )
    depth, recall, error, candidates = measured
    index.set_params(
        band=choice.band, n_tables=choice.n_tables, n_components=choice.n_components, depth=depth, n_neighbors=k
    )
    index.tuning_ = {
        "recall": recall,
        "standard_error": error,
        "candidates": candidates,
        "bytes_per_row": choice.n_components + 5.0 * choice.n_tables + 9,
        "similarity": float(np.median(similarity[found])),
    }


def _choices(similarity: Array, others: Array, n_rows: int, target: float) -> list[Choice]:
    """Bands and tables of sufficient recall by the theory, the cheapest first; scans of all codes among them."""
    choices = []
    wanted = (1 + target) / 2  # the rest is lost where codes rank a neighbour too low
    counts = np.unique(np.rint(np.geomspace(1, MOST_CODES, 80))).astype(int)
    for band in range(1, MOST_BAND + 1):
        recalls = np.array([float(np.mean(index_recall(similarity, band, n))) for n in counts])
        enough = np.flatnonzero((recalls >= wanted) & (counts * band <= LENGTHS[-1]))
        if len(enough) == 0:
            continue
        tables = int(counts[enough[0]])
        candidates = n_rows * float(np.mean(index_recall(others, band, tables)))
        entries = n_rows * tables * float(np.mean(index_recall(others, band, 1))) + 6 * tables
        for length in (size for size in LENGTHS if size >= band * tables):
            lines = length / 64
            cost = PER_TABLE * tables + PER_ENTRY * entries
            cost += (candidates + 6 * tables) * (PER_CANDIDATE + PER_LINE * lines)
            choices.append(Choice(cost, band, tables, length))
    choices += [Choice(n_rows * PER_SCANNED_LINE * n / 64, 1, 0, n) for n in LENGTHS]
    return sorted(choices)


def _depth(
    codes: Array,
    empty: Array,
    which: Array,
    near: Array,
    found: Array,
    choice: Choice,
    k: int,
    target: float,
    ratio: float,
    exact: bool,
    threads: int,
) -> tuple[int, float, float, float] | None:
    """The least depth that reaches the target on the sample, its recall and standard error; candidates of a query."""
    n, length = len(codes), choice.n_components
    short = np.ascontiguousarray(codes[:, :length])
    segment = _segments.make(short, empty, np.arange(n), None, choice.n_tables, choice.band, threads)
    task = Task(choice.band, choice.n_tables, depth=0, most=0, least=0.0, exact=False, later=False)
    ends, ids, _ = backend().index_search(Queries(short[which], empty[which], None), [segment], task, threads)
    ranks = np.full(near.shape, np.inf)
    for i, row in enumerate(which.tolist()):
        place = np.full(n, np.inf)
        place[ids[ends[i] : ends[i + 1]]] = np.arange(ends[i + 1] - ends[i])
        ranks[i] = place[near[i]] - (place[row] < place[near[i]])  # the query itself does not count
    ranks = np.where(found, ranks * ratio, np.inf)  # of a row among all: the sample has one in `ratio` of them
    for depth in np.unique(np.rint(np.geomspace(k, max(k, 4000), 40))).astype(int) if exact else [k]:
        each = (ranks < depth).sum(axis=1) / np.maximum(found.sum(axis=1), 1)
        each = each[found.any(axis=1)]
        if each.mean() >= target:
            error = float(each.std() / np.sqrt(len(each)))
            return int(depth), float(each.mean()), error, float(np.diff(ends).mean() - 1) * ratio
    return None
