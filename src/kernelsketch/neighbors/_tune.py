"""The choice of index parameters for a recall.

A sample gives the similarities of true neighbours and of other rows. From these the LSH curve predicts the recall and
the number of candidates of each setting of the tables. The most promising settings are then tried on the sample, which
measures the ``n_rerank`` that they need. The setting of least estimated time that reaches the recall wins. Dense rows
are all compared exactly if that takes less, or get a graph. What a graph finds depends on all rows, so it is built of
all of them, and only if these are not too many.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .._array import Array
from .._rows import canonical_rows, checked_data
from .._validation import check_fraction, check_n_jobs, check_positive_int, row_batches
from ..backends import (
    MOST_CODES,
    MOST_HASHES_PER_TABLE,
    Queries,
    SearchParams,
    Segment,
    Vectors,
    backend_for,
    place_of,
)
from ..exceptions import InputError, InputTypeError, Setting
from ..kernels import gmm_kernel
from ..theory import index_recall
from . import _graph, _segments, _vectors
from ._segments import TableLayout

TIE, TINY = 1e-6, 1e-12  # similarities that differ by less are equal; the least one of a neighbour
QUERIES, OTHERS = 256, 10_000  # size of the sample: queries, and rows that represent the whole index
LENGTHS = (64, 96, 128, 160, 192, 256, 320, 384, 512, 768, 1024)  # numbers of hashes per row that are considered
HEAVY_FRACTIONS = (0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 1.0)
TRIALS = 16  # settings of tables that are measured, those of least predicted time first
KERNEL_BYTES = 1 << 26
MOST_ROWS = 1 << 40
MOST_COMPARED = 1 << 14  # features of rows that are compared many at a time (DenseScan in native/src/index_search.cpp)
# Nanoseconds on one core of a server. They decide only between settings of the same recall.
PER_TABLE, PER_ENTRY, PER_CANDIDATE, PER_LINE = 40.0, 1.5, 4.0, 9.0
PER_SCANNED, PER_SCANNED_LINE = 1.2, 1.0
PER_EXACT, PER_FEATURE, PER_NONZERO = 90.0, 0.1, 0.9
PER_COMPARED, PER_COMPARED_FLOAT, PER_COMPARED_BYTE = 0.6, 0.04, 0.007  # where all rows are compared exactly
PER_HASH_DENSE, PER_HASH_SPARSE = 0.1, 0.5  # per nonzero
PER_LINK, PER_COMPARED_ROW, PER_COMPARED_VALUE = 0.4, 40.0, 0.08  # of a graph: links followed, rows compared
PER_KEY, PER_POSTING, PER_SHARING = 20.0, 0.8, 1.0

MOST_TABLES = 64  # that layout_for considers
LEAST_GRAPH_ROWS, MOST_GRAPH_ROWS, GRAPH_DEGREE = 10_000, 100_000, 32
BEAMS = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # n_rerank of a graph


def layout_for(threshold: float, recall: float) -> TableLayout:
    """Choose LSH tables that find rows of a similarity of exactly the threshold with probability ``recall``.

    The result has the most hashes per table, and so the fewest candidates, that 64 tables allow. With one hash per
    table there can be more tables.
    """
    for hashes_per_table in range(MOST_HASHES_PER_TABLE, 0, -1):
        agree = float(index_recall(threshold, hashes_per_table, 1))
        n_tables = 1 if agree == 1 else math.ceil(math.log1p(-recall) / math.log1p(-agree))
        if n_tables <= MOST_TABLES or hashes_per_table == 1:
            break
    return TableLayout(min(n_tables, MOST_CODES), hashes_per_table)


class IndexSetting(NamedTuple):
    """Parameters of an index, ordered by what a query costs."""

    cost: float  # nanoseconds per query, without the re-ranking
    hashes_per_table: int
    n_tables: int
    n_components: int
    heavy_fraction: float = 0.0
    graph_degree: int = 0


class Sample(NamedTuple):
    """Queries, their true neighbours, and other rows that represent the whole index."""

    similarity: Array  # (queries, k): of the true neighbours; 0 if there are fewer
    others: Array  # similarities of queries and random rows
    codes: Array  # of the queries, then of the other rows, then of the neighbours of each query
    empty: Array
    twins: Array  # (queries, k + 1): where the neighbours and the query itself are among the other rows, or -1
    ratio: float  # rows of the index per other row
    vectors: Vectors | None  # of sparse rows, in the order of the codes
    asked: Any  # the queries
    own: Array  # which rows they are, or -1
    tied: Array  # per query: whether more rows are as similar as its k-th neighbour, and so as good


class Measured(NamedTuple):
    """A setting that reaches the recall on the sample, with the ``n_rerank`` that it needs."""

    cost: float  # nanoseconds per query
    setting: IndexSetting
    n_rerank: int | None
    expected: dict[str, float]


def tuned_index(index: Any, X: Any, recall: Any, n_neighbors: Any, queries: Any, n_rows: Any = None) -> Any:
    """Return a copy of an index with parameters for a recall, and with ``tuning_``, which says what to expect."""
    target = check_fraction(recall, "recall", with_one=False)
    for name, rows in (("X", X), ("queries", queries)):
        if place_of(rows) is not None:
            raise InputTypeError(
                f"{name} holds {type(rows).__module__}.{type(rows).__name__}, but tune takes NumPy arrays: convert it, "
                'and on a GPU call within  with kernelsketch.use_backend("cuda"):'
            )
    tuned, index = clone(index), clone(index)  # validation sets attributes of the second; a fitted index stays
    X = checked_data(index, X)
    if queries is not None:
        queries = checked_data(index, queries, reset=False)
        if sparse.issparse(queries) != sparse.issparse(X):
            queries = queries.toarray() if sparse.issparse(queries) else sparse.csr_array(queries)
    k = index._count_of(n_neighbors, X.shape[0], own=queries is None)
    n_rows = X.shape[0] if n_rows is None else check_positive_int(n_rows, "n_rows")
    if not X.shape[0] <= n_rows <= MOST_ROWS:
        raise InputError(
            Setting("n_rows", n_rows), f" must be from {X.shape[0]}, the number of rows of X, to {MOST_ROWS}."
        )
    sample = _sample(index, X, queries, k, n_rows)
    if not (sample.similarity > 0).any():
        raise InputError(
            "X: no query of the sample has a neighbour of similarity above 0, so there is nothing to find. Pass "
            "queries that are similar to rows of X."
        )
    width = X.nnz / X.shape[0] * PER_NONZERO if sparse.issparse(X) else X.shape[1] * PER_FEATURE
    threads, per_exact = check_n_jobs(index.n_jobs), width + PER_EXACT
    best = _exact(index, X, n_rows) if index.store_vectors and not sparse.issparse(X) else None
    settings = _settings(sample, n_rows, _cost_of_a_hash(X), target)[: TRIALS if index.store_vectors else None]
    by_features = [IndexSetting(0.0, 1, 0, 1, fraction) for fraction in HEAVY_FRACTIONS if sample.vectors is not None]
    for some in (by_features, settings):
        for setting in some:  # in the order of their cost
            setting, segment, asked = _trial(sample, setting, threads)
            if best is not None and setting.cost >= best.cost:
                break
            found = _measure(sample, setting, segment, asked, target, index.store_vectors, per_exact, threads)
            if found is not None and (best is None or found.cost < best.cost):
                best = found
    if best is not None and _may_have_graph(index, X, n_rows):
        best = _by_graph(index, X, sample, best, target) or best
    if best is None:
        raise InputError(
            Setting("recall", recall),
            f" cannot be reached on this sample with up to {LENGTHS[-1]} hashes per row: choose a lower one, or pass ",
            Setting("store_vectors", True),
            ".",
        )
    setting = best.setting
    tuned.set_params(
        heavy_fraction=setting.heavy_fraction or None,
        graph_degree=setting.graph_degree or None,
        n_rerank=best.n_rerank,
        n_neighbors=k,
    )
    if not setting.heavy_fraction and not setting.graph_degree:
        tuned.set_params(
            hashes_per_table=setting.hashes_per_table, n_tables=setting.n_tables, n_components=setting.n_components
        )
    tuned.tuning_ = best.expected | {"similarity": float(np.median(sample.similarity[sample.similarity > 0]))}
    return tuned


def _exact(index: Any, X: Any, n_rows: int) -> Measured | None:
    """Return the exact comparison of all rows, which are dense; None for rows that native code compares one by one."""
    if X.shape[1] > MOST_COMPARED:
        return None
    found = backend_for(X, threads=check_n_jobs(index.n_jobs)).measure(canonical_rows(X))
    is_bytes = found.small and found.low >= 0 and index.p == 1 and index.center is None
    cost = n_rows * (PER_COMPARED + X.shape[1] * (PER_COMPARED_BYTE if is_bytes else PER_COMPARED_FLOAT))
    setting = IndexSetting(cost, index.hashes_per_table, 0, index.n_components)  # codes as they are, for estimate_pairs
    return Measured(cost, setting, None, _expected(setting, 1.0, 0.0, float(n_rows)))


def _may_have_graph(index: Any, X: Any, n_rows: int) -> bool:
    few_enough = LEAST_GRAPH_ROWS <= X.shape[0] <= MOST_GRAPH_ROWS and n_rows == X.shape[0]
    return bool(index.store_vectors and not sparse.issparse(X) and few_enough)


def _by_graph(index: Any, X: Any, sample: Sample, best: Measured, target: float) -> Measured | None:
    """Return a graph of all rows with the ``n_rerank`` that reaches the target, if it costs less than the best."""
    k, degree = sample.similarity.shape[1], GRAPH_DEGREE

    def cost_of(beam: int) -> float:
        return (beam * degree * PER_LINK + _graph.ENTRIES) * (PER_COMPARED_ROW + int(X.shape[1]) * PER_COMPARED_VALUE)

    if cost_of(k) >= best.cost:
        return None
    made = clone(index).set_params(graph_degree=degree, heavy_fraction=None, fill_missing=False).fit(X)
    there, least = sample.similarity > 0, sample.similarity.min(axis=1, keepdims=True)
    for beam in (size for size in BEAMS if size >= k and cost_of(size) < best.cost):
        distances, ids = made.set_params(n_rerank=beam).kneighbors(sample.asked, min(k + 1, X.shape[0]))
        distances = np.where(ids == sample.own[:, None], np.inf, distances)
        right = np.minimum((1 - distances >= np.maximum(least - TIE, TINY)).sum(axis=1), there.sum(axis=1))
        each = (right / np.maximum(there.sum(axis=1), 1))[there.any(axis=1)]
        if each.mean() >= target:
            setting = IndexSetting(cost_of(beam), index.hashes_per_table, 0, 1, graph_degree=degree)
            error = float(each.std() / np.sqrt(len(each)))
            expected = _expected(setting, float(each.mean()), error, float(beam))
            return Measured(setting.cost, setting, beam, expected | {"bytes_per_row": made.bytes_per_row_})
    return None


def _expected(
    setting: IndexSetting, recall: float, standard_error: float, candidates: float, list_bytes: float = 0.0
) -> dict[str, float]:
    return {
        "recall": recall,
        "standard_error": standard_error,
        "candidates": candidates,
        "bytes_per_row": setting.n_components + 5.0 * setting.n_tables + 9 + list_bytes,
    }


def _sample(index: Any, X: Any, queries: Any, k: int, n_rows: int) -> Sample:
    """Draw queries and other rows, and find the true neighbours of the queries by the exact kernel."""
    hasher = index._hasher_for(canonical_rows(X), LENGTHS[-1])
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
            kernel[np.arange(len(kernel)), which[part]] = 0  # a row is not its own neighbour
        best = np.argpartition(-kernel, k - 1, axis=1)[:, :k]
        near.append(best)
        similarity.append(np.take_along_axis(kernel, best, axis=1))
        tied.append((kernel >= similarity[-1].min(axis=1)[:, None]).sum(axis=1) > k)
        values.append(kernel[:, others].ravel()[:: len(which)])
    neighbors = np.concatenate(near)
    stack = sparse.vstack if sparse.issparse(X) else np.concatenate
    rows = canonical_rows(stack([asked, X[others], X[neighbors.ravel()]]))
    hasher.check(rows)
    threads = check_n_jobs(index.n_jobs)
    codes, flags = hasher.fingerprints(rows, threads=threads)
    empty = flags.view(np.uint8)
    own = which if queries is None else np.full(len(which), -1)
    known = np.concatenate([neighbors, own[:, None]], axis=1)
    place = np.minimum(np.searchsorted(others, known), len(others) - 1)
    vectors = None
    if rows.sparse and index.store_vectors:
        transform = _vectors.choose_transform(rows, None, float(index.p), threads)
        vectors = _vectors.to_vectors(rows, empty, transform, threads)
    return Sample(
        similarity=np.concatenate(similarity),
        others=np.concatenate(values),
        codes=codes,
        empty=empty,
        twins=np.where(others[place] == known, place, -1),
        ratio=n_rows / len(others),
        vectors=vectors,
        asked=asked,
        own=own,
        tied=np.concatenate(tied),
    )


def _cost_of_a_hash(X: Any) -> float:
    """Estimate the nanoseconds that one hash of a query takes."""
    if sparse.issparse(X):
        return PER_HASH_SPARSE * float(X.nnz / X.shape[0])
    return PER_HASH_DENSE * float(np.count_nonzero(X[:OTHERS]) / len(X[:OTHERS]))


def _settings(sample: Sample, n_rows: int, per_code: float, target: float) -> list[IndexSetting]:
    """Return settings of tables whose predicted recall is sufficient, and scans of all codes, the cheapest first."""
    similarity, others = sample.similarity[sample.similarity > 0], sample.others
    # Tables must find more than the target, because codes rank some of the neighbours too low.
    goals = target + (1 - target) * np.array([0.1, 0.3, 0.5])
    counts = np.unique(np.rint(np.geomspace(1, LENGTHS[-1], 80))).astype(int)
    settings = [
        IndexSetting(per_code * n + n_rows * (PER_SCANNED + PER_SCANNED_LINE * n / 64), 1, 0, n) for n in LENGTHS
    ]
    for hashes_per_table in range(1, MOST_HASHES_PER_TABLE + 1):
        recalls = np.array([float(np.mean(index_recall(similarity, hashes_per_table, n))) for n in counts])
        enough = [counts[(recalls >= goal) & (counts * hashes_per_table <= LENGTHS[-1])] for goal in goals]
        for tables in sorted({int(some[0]) for some in enough if len(some)}):
            more = 6 * tables  # rows that share a bucket by chance
            candidates = n_rows * float(np.mean(index_recall(others, hashes_per_table, tables))) + more
            entries = n_rows * tables * float(np.mean(index_recall(others, hashes_per_table, 1))) + more
            for length in (size for size in LENGTHS if size >= hashes_per_table * tables):
                compare = per_code * length + candidates * (PER_CANDIDATE + PER_LINE * length / 64)
                settings.append(
                    IndexSetting(PER_TABLE * tables + PER_ENTRY * entries + compare, hashes_per_table, tables, length)
                )
    return sorted(settings)


def _trial(sample: Sample, setting: IndexSetting, threads: int) -> tuple[IndexSetting, Segment, Queries]:
    """Return a setting, the sample as an index segment and queries. The cost of inverted lists is known only then."""
    m, n = len(sample.similarity), len(sample.codes)
    layout = TableLayout(setting.n_tables, setting.hashes_per_table, setting.heavy_fraction)
    codes = np.ascontiguousarray(sample.codes[:, : setting.n_components])
    asked, base = None, None
    if setting.heavy_fraction:
        assert sample.vectors is not None
        asked, base = (_vectors.part_of(sample.vectors, part) for part in (slice(0, m), slice(m, n)))
    segment = _segments.make(codes[m:], sample.empty[m:], np.arange(n - m), base, layout, threads)
    if asked is not None and segment.postings is not None:
        lists = _segments.make_postings(asked, sample.empty[:m], setting.heavy_fraction, threads)
        there, times = segment.postings, np.diff(lists.starts)
        place = np.minimum(np.searchsorted(there.keys, lists.keys), max(len(there.keys) - 1, 0))
        found = there.keys[place] == lists.keys if len(there.keys) else np.zeros(len(times), bool)
        read = float((np.diff(there.starts)[place[found]] * times[found]).sum()) / m * sample.ratio
        setting = setting._replace(cost=PER_KEY * float(times.sum()) / m + PER_POSTING * read)
    return setting, segment, Queries(codes[:m], sample.empty[:m], asked)


def _measure(
    sample: Sample,
    setting: IndexSetting,
    segment: Segment,
    queries: Queries,
    target: float,
    exact: bool,
    per_exact: float,
    threads: int,
) -> Measured | None:
    """Find the smallest ``n_rerank`` that reaches the target on the sample, and what a query then costs."""
    fraction = setting.heavy_fraction
    params = SearchParams(setting.hashes_per_table, setting.n_tables, heavy_fraction=fraction)
    ends, ids, values = backend_for(queries.codes, threads=threads).index_search(queries, [segment], params)
    (m, k), n_base = sample.similarity.shape, len(segment.ids)
    n_others = n_base - m * k
    ranks, candidates = np.full((m, k), np.inf), 0.0
    for i in range(m):
        weights = np.zeros(n_base)  # rows of the index that each row of the sample represents
        weights[:n_others] = sample.ratio
        weights[sample.twins[i][sample.twins[i] >= 0]] = 0
        mine = slice(n_others + i * k, n_others + (i + 1) * k)
        weights[mine] = 1
        found = ids[ends[i] : ends[i + 1]]
        before = np.full(n_base, np.inf)
        down = -values[ends[i] : ends[i + 1]]
        total = np.concatenate([[0.0], np.cumsum(weights[found])])
        first, last = (total[np.searchsorted(down, down, side)] for side in ("left", "right"))
        # Candidates of equal score are ordered by id: assume the middle of them.
        before[found] = first if sample.tied[i] else (first + last - weights[found]) / 2
        ranks[i] = before[mine]
        candidates += float(weights[found].sum()) / m
    there = sample.similarity > 0
    asked = there.any(axis=1)
    for n_rerank in np.unique(np.rint(np.geomspace(k, max(k, 4000), 40))).astype(int) if exact else [k]:
        each = ((ranks < n_rerank) & there).sum(axis=1)[asked] / there.sum(axis=1)[asked]
        if each.mean() >= target:
            cost = setting.cost + per_exact * min(n_rerank, candidates)
            cost += PER_SHARING * candidates if fraction else 0
            error = float(each.std() / np.sqrt(len(each)))
            list_bytes = sum(part.nbytes for part in segment.postings or ()) / n_base
            expected = _expected(setting, float(each.mean()), error, candidates, list_bytes)
            return Measured(cost, setting, int(n_rerank), expected)
    return None
