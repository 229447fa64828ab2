"""The choice of tables for a recall: similarities from a sample, probabilities from the theory, ranks measured."""

from __future__ import annotations

import math
import numbers
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from .._rows import canonical_rows
from .._validation import check_n_jobs, row_batches
from ..backends import (
    MOST_CODES,
    MOST_HASHES_PER_TABLE,
    Queries,
    SearchParams,
    Segment,
    Vectors,
    backend_for,
)
from ..exceptions import InputError, InputTypeError
from ..kernels import gmm_kernel
from ..theory import index_recall
from . import _segments, _vectors
from ._arguments import check_count, index_hasher

Array = NDArray[Any]

QUERIES, OTHERS = 256, 10_000  # of the sample: queries, and rows that are no neighbours
LENGTHS = (64, 96, 128, 160, 192, 256, 320, 384, 512, 768, 1024)  # codes of a row that are considered
MASSES = (0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 1.0)
TRIALS = 16  # choices of tables that are measured, the cheapest by the theory first
KERNEL_BYTES = 1 << 26
# Nanoseconds on one core of a server: they decide between choices of the same recall and nothing else.
PER_TABLE, PER_ENTRY, PER_CANDIDATE, PER_LINE = 40.0, 1.5, 4.0, 3.0
PER_SCANNED, PER_SCANNED_LINE = 1.0, 0.8
PER_EXACT, PER_FEATURE, PER_NONZERO = 90.0, 0.1, 0.9
PER_HASH_DENSE, PER_HASH_SPARSE = 0.1, 0.5  # of a nonzero
PER_KEY, PER_POSTING, PER_SHARING = 20.0, 0.8, 1.0

MOST_TABLES = 64  # that tables_for considers


def tables_for(similarity: float, recall: float) -> tuple[int, int]:
    """Band and number of tables that find rows of a similarity with a probability.

    The largest band, which gives fewest candidates, for which a few tables are enough.
    """
    for band in range(MOST_HASHES_PER_TABLE, 0, -1):
        agree = float(index_recall(similarity, band, 1))
        n_tables = 1 if agree == 1 else math.ceil(math.log1p(-recall) / math.log1p(-agree))
        if n_tables <= MOST_TABLES or band == 1:
            break
    return band, min(n_tables, MOST_CODES)


class Choice(NamedTuple):
    cost: float  # nanoseconds a query, without the exact comparisons
    band: int
    n_tables: int
    n_components: int
    mass: float = 0.0


class Sample(NamedTuple):
    """Queries, their neighbours, and rows that stand for all others."""

    similarity: Array  # (queries, k) of the true neighbours; 0 where there is none
    others: Array  # similarities of random pairs
    codes: Array  # of the queries, then of other rows, then of the neighbours of each query
    empty: Array
    n_queries: int
    twins: Array  # (queries, k + 1): numbers of the neighbours and of the query itself among the other rows, or -1
    ratio: float  # rows of the index for each of the other rows
    vectors: Vectors | None  # of sparse rows, in the order of the codes
    tied: Array  # whether others are as similar to a query as the last of its neighbours, and as good


class Trial(NamedTuple):
    """The sample as an index, and what to ask it."""

    choice: Choice
    segment: Segment
    queries: Queries
    params: SearchParams


class Measured(NamedTuple):
    cost: float
    choice: Choice
    depth: int
    recall: float
    error: float
    candidates: float
    postings: float  # bytes a row


def tune_index(index: Any, X: Any, target_recall: Any, n_neighbors: Any, queries: Any) -> None:
    """Set the parameters of an index that is yet to be fitted, and ``tuning_``."""
    if isinstance(target_recall, bool) or not isinstance(target_recall, numbers.Real):
        raise InputTypeError(f"target_recall must be a number, got {target_recall!r}.")
    target = float(target_recall)
    if not 0 < target < 1:
        raise InputError(f"target_recall must be above 0 and below 1, got {target_recall!r}.")
    checked = clone(index)  # an index that is built stays as it is
    X = validate_data(checked, X, accept_sparse="csr", dtype=[np.float64, np.float32])
    if queries is not None:
        queries = validate_data(checked, queries, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        if sparse.issparse(queries) != sparse.issparse(X):
            queries = queries.toarray() if sparse.issparse(queries) else sparse.csr_array(queries)
    k = check_count(n_neighbors, X.shape[0], queries is None)
    sample = _sample(index, X, queries, k)
    if not (sample.similarity > 0).any():
        raise InputError("no query of the sample has a neighbour of similarity above 0: there is nothing to find.")
    width = X.nnz / X.shape[0] * PER_NONZERO if sparse.issparse(X) else X.shape[1] * PER_FEATURE
    threads, per_exact = check_n_jobs(index.n_jobs), width + PER_EXACT
    best: Measured | None = None
    choices = _choices(sample, X.shape[0], _hashing(X), target)[: TRIALS if index.store_vectors else None]
    by_features = (_by_features(sample, mass, threads) for mass in MASSES if sample.vectors is not None)
    for trials in (by_features, (_by_codes(sample, choice, threads) for choice in choices)):
        for trial in trials:  # the cheapest first
            if best is not None and trial.choice.cost >= best.cost:
                break
            found = _measure(sample, trial, k, target, index.store_vectors, per_exact, threads)
            if found is not None and (best is None or found.cost < best.cost):
                best = found
    if best is None:
        raise InputError(
            f"target_recall={target_recall} is not reached with up to {LENGTHS[-1]} codes a row on this sample: ask "
            "for less, or keep vectors (store_vectors=True)."
        )
    choice = best.choice
    index.set_params(mass=choice.mass or None, depth=best.depth, n_neighbors=k)
    if not choice.mass:
        index.set_params(band=choice.band, n_tables=choice.n_tables, n_components=choice.n_components)
    index.tuning_ = {
        "recall": best.recall,
        "standard_error": best.error,
        "candidates": best.candidates,
        "bytes_per_row": choice.n_components + 5.0 * choice.n_tables + 9 + best.postings,
        "similarity": float(np.median(sample.similarity[sample.similarity > 0])),
    }


def _sample(index: Any, X: Any, queries: Any, k: int) -> Sample:
    hasher = index_hasher(index, canonical_rows(X), LENGTHS[-1])
    rng = np.random.default_rng(hasher.seed)
    source = X if queries is None else queries
    which = np.sort(rng.permutation(source.shape[0])[:QUERIES])
    asked = source[which]
    others = np.sort(rng.permutation(X.shape[0])[:OTHERS])
    near, similarity, values, tied = [], [], [], []
    for part in row_batches(len(which), 8 * X.shape[0], KERNEL_BYTES):
        kernel = gmm_kernel(asked[part], X, p=index.p, center=hasher.center, n_jobs=index.n_jobs)
        kernel = np.asarray(kernel, np.float64)
        if queries is None:
            kernel[np.arange(len(kernel)), which[part]] = 0  # a row is no neighbour of itself
        best = np.argpartition(-kernel, k - 1, axis=1)[:, :k]
        near.append(best)
        similarity.append(np.take_along_axis(kernel, best, axis=1))
        tied.append((kernel >= similarity[-1].min(axis=1)[:, None]).sum(axis=1) > k)
        values.append(kernel[:, others].ravel()[:: len(which)])
    neighbors = np.concatenate(near)
    stack = sparse.vstack if sparse.issparse(X) else np.concatenate
    rows = canonical_rows(stack([asked, X[others], X[neighbors.ravel()]]))
    threads = check_n_jobs(index.n_jobs)
    codes, flags = hasher.fingerprints(rows, threads=threads)
    empty = flags.view(np.uint8)
    own = which if queries is None else np.full(len(which), -1)
    known = np.concatenate([neighbors, own[:, None]], axis=1)
    place = np.minimum(np.searchsorted(others, known), len(others) - 1)
    twins = np.where(others[place] == known, place, -1)
    ratio = X.shape[0] / len(others)
    vectors = None
    if rows.sparse and index.store_vectors:
        vectors = _vectors.keep(rows, empty, _vectors.choose_kept(rows, None, float(index.p)), threads)
    return Sample(
        np.concatenate(similarity),
        np.concatenate(values),
        codes,
        empty,
        len(which),
        twins,
        ratio,
        vectors,
        np.concatenate(tied),
    )


def _hashing(X: Any) -> float:
    """Nanoseconds for a code of a query."""
    if sparse.issparse(X):
        return PER_HASH_SPARSE * float(X.nnz / X.shape[0])
    return PER_HASH_DENSE * float(np.count_nonzero(X[:OTHERS]) / len(X[:OTHERS]))


def _choices(sample: Sample, n_rows: int, per_code: float, target: float) -> list[Choice]:
    """Bands and tables of sufficient recall by the theory, the cheapest first; scans of all codes among them."""
    similarity, others = sample.similarity[sample.similarity > 0], sample.others
    goals = target + (1 - target) * np.array([0.1, 0.3, 0.5])  # some are lost where codes rank a neighbour too low
    counts = np.unique(np.rint(np.geomspace(1, LENGTHS[-1], 80))).astype(int)
    choices = [Choice(per_code * n + n_rows * (PER_SCANNED + PER_SCANNED_LINE * n / 64), 1, 0, n) for n in LENGTHS]
    for band in range(1, MOST_HASHES_PER_TABLE + 1):
        recalls = np.array([float(np.mean(index_recall(similarity, band, n))) for n in counts])
        enough = [counts[(recalls >= goal) & (counts * band <= LENGTHS[-1])] for goal in goals]
        for tables in sorted({int(some[0]) for some in enough if len(some)}):
            more = 6 * tables  # rows that share a bucket and nothing else
            candidates = n_rows * float(np.mean(index_recall(others, band, tables))) + more
            entries = n_rows * tables * float(np.mean(index_recall(others, band, 1))) + more
            for length in (size for size in LENGTHS if size >= band * tables):
                compare = per_code * length + candidates * (PER_CANDIDATE + PER_LINE * length / 64)
                choices.append(Choice(PER_TABLE * tables + PER_ENTRY * entries + compare, band, tables, length))
    return sorted(choices)


def _by_codes(sample: Sample, choice: Choice, threads: int) -> Trial:
    codes = np.ascontiguousarray(sample.codes[:, : choice.n_components])
    m = sample.n_queries
    layout = _segments.Layout(choice.n_tables, choice.band)
    segment = _segments.make(codes[m:], sample.empty[m:], np.arange(len(codes) - m), None, layout, threads)
    params = SearchParams(choice.band, choice.n_tables, 0, 0, 0.0, exact=False, later_only=False)
    return Trial(choice, segment, Queries(codes[:m], sample.empty[:m], None), params)


def _by_features(sample: Sample, mass: float, threads: int) -> Trial:
    """With the cost of the postings that queries read."""
    assert sample.vectors is not None
    m, n = sample.n_queries, len(sample.codes)
    asked, base = (_vectors.part_of(sample.vectors, part) for part in (slice(0, m), slice(m, n)))
    codes = np.zeros((n - m, 1), np.uint8)
    segment = _segments.make(codes, sample.empty[m:], np.arange(n - m), base, _segments.Layout(0, 1, mass), threads)
    queries = _segments.make(codes[:m], sample.empty[:m], np.arange(m), asked, _segments.Layout(0, 1, mass), threads)
    assert segment.postings is not None
    assert queries.postings is not None
    keys, times = queries.postings.keys, np.diff(queries.postings.starts)
    place = np.minimum(np.searchsorted(segment.postings.keys, keys), max(len(segment.postings.keys) - 1, 0))
    found = segment.postings.keys[place] == keys if len(segment.postings.keys) else np.zeros(len(keys), bool)
    read = float((np.diff(segment.postings.starts)[place[found]] * times[found]).sum()) / m * sample.ratio
    cost = PER_KEY * float(times.sum()) / m + PER_POSTING * read
    params = SearchParams(1, 0, 0, 0, 0.0, exact=False, later_only=False, heavy_fraction=mass)
    return Trial(Choice(cost, 1, 0, 1, mass), segment, Queries(codes[:m], sample.empty[:m], asked), params)


def _measure(
    sample: Sample, trial: Trial, k: int, target: float, exact: bool, per_exact: float, threads: int
) -> Measured | None:
    """The least depth that reaches the target on the sample, and what it costs."""
    choice, segment, queries, params = trial
    ends, ids, values = backend_for(queries.codes, threads=threads).index_search(queries, [segment], params)
    m, n_base = sample.n_queries, len(segment.ids)
    n_others = n_base - m * k
    ranks, candidates = np.full((m, k), np.inf), 0.0
    for i in range(m):
        weights = np.zeros(n_base)  # rows of the index that each row of the sample stands for
        weights[:n_others] = sample.ratio
        weights[sample.twins[i][sample.twins[i] >= 0]] = 0
        mine = slice(n_others + i * k, n_others + (i + 1) * k)
        weights[mine] = 1
        found = ids[ends[i] : ends[i + 1]]
        before = np.full(n_base, np.inf)
        down = -values[ends[i] : ends[i + 1]]
        total = np.concatenate([[0.0], np.cumsum(weights[found])])
        first, last = (total[np.searchsorted(down, down, side)] for side in ("left", "right"))
        # In the middle of its equals: which of them come first, ids decide.
        before[found] = first if sample.tied[i] else (first + last - weights[found]) / 2
        ranks[i] = before[mine]
        candidates += float(weights[found].sum()) / m
    there = sample.similarity > 0
    asked = there.any(axis=1)
    for depth in np.unique(np.rint(np.geomspace(k, max(k, 4000), 40))).astype(int) if exact else [k]:
        each = ((ranks < depth) & there).sum(axis=1)[asked] / there.sum(axis=1)[asked]
        if each.mean() >= target:
            cost = choice.cost + per_exact * min(depth, candidates) + (PER_SHARING * candidates if choice.mass else 0)
            error = float(each.std() / np.sqrt(len(each)))
            postings = sum(part.nbytes for part in segment.postings or ()) / n_base
            return Measured(cost, choice, int(depth), float(each.mean()), error, candidates, postings)
    return None
