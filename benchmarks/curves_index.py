"""``python benchmarks/curves_index.py [ROWS]``: recall against queries per second, here and in other libraries.

The script writes ``results/index_curves.csv`` and ``docs/measurements/index-curves.png``. It uses one thread and
batches of 1000 queries; the truth is the ten nearest rows by the exact GMM kernel. pynndescent searches by this
kernel, given as a compiled metric, and so does faiss with its Jaccard metric, which is this kernel on nonnegative rows.
hnswlib has no such metric and uses L2; faiss is measured with L1 as well. Stored results that have no Jaccard curve are
older than it.
Libraries that are not installed, and methods that take more than five minutes to build, are left out and named.
"""

from __future__ import annotations

import csv
import json
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from bench_index import NEIGHBORS, QUERIES, missed_by, mnist, planted, scan, sector
from machine import RESULTS, machine
from scipy import sparse

from kernelsketch import GCWSIndex

PICTURE = Path(__file__).parents[1] / "docs" / "measurements" / "index-curves.png"
ROUNDS = 3
PATIENCE = 300  # seconds of building
TARGETS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98)

Ask = Callable[[Any], Any]  # queries to ids
Point = tuple[str, str, float, Ask]  # method, setting, seconds of building, how to ask


def exact(X: Any, others: Any) -> Iterator[Point]:
    yield "exact scan", "", 0.0, lambda Q: scan(X, Q, NEIGHBORS)


def kernelsketch(X: Any, others: Any) -> Iterator[Point]:
    for target in TARGETS:
        index = GCWSIndex(NEIGHBORS).tune(X, recall=target, queries=others)
        start = perf_counter()
        index.fit(X)
        built = perf_counter() - start
        if index.heavy_fraction:
            names = ("heavy_fraction", "n_rerank")
        else:
            names = ("n_tables", "hashes_per_table", "n_components", "n_rerank")
        setting = " ".join(f"{name}={getattr(index, name)}" for name in names)
        yield (
            "GCWSIndex, tune",
            f"target={target} {setting}",
            built,
            lambda Q, index=index: index.kneighbors(Q, return_distance=False),
        )


def hnswlib_l2(X: Any, others: Any) -> Iterator[Point]:
    import hnswlib

    index = hnswlib.Index("l2", X.shape[1])
    index.init_index(len(X), M=16, ef_construction=200)
    index.set_num_threads(1)
    start = perf_counter()
    index.add_items(X)
    built = perf_counter() - start
    for ef in (10, 20, 50, 100, 200):

        def ask(Q: Any, ef: int = ef) -> Any:
            index.set_ef(ef)
            return index.knn_query(Q, NEIGHBORS)[0].astype(np.int64)

        yield "hnswlib, L2", f"M=16 ef={ef}", built, ask


def faiss_l1(X: Any, others: Any) -> Iterator[Point]:
    return _faiss(X, "L1")


def faiss_jaccard(X: Any, others: Any) -> Iterator[Point]:
    return _faiss(X, "Jaccard")


def _faiss(X: Any, metric: str) -> Iterator[Point]:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWFlat(X.shape[1], 16, getattr(faiss, f"METRIC_{metric}"))
    start = perf_counter()
    index.add(X)
    built = perf_counter() - start
    for ef in (10, 20, 50, 100, 200):

        def ask(Q: Any, ef: int = ef) -> Any:
            index.hnsw.efSearch = ef
            return index.search(Q, NEIGHBORS)[1]

        yield f"faiss HNSW, {metric}", f"M=16 ef={ef}", built, ask


def pynndescent_gmm(X: Any, others: Any) -> Iterator[Point]:
    import numba
    import pynndescent

    @numba.njit(fastmath=True)
    def dense(a: Any, b: Any) -> float:
        low, high = np.float32(0), np.float32(0)
        for i in range(a.shape[0]):
            low += min(a[i], b[i])
            high += max(a[i], b[i])
        return 1 - low / high if high > 0 else 0.0

    @numba.njit(fastmath=True)
    def by_indices(i1: Any, d1: Any, i2: Any, d2: Any) -> float:
        total, low, p, q = np.float32(0), np.float32(0), 0, 0
        for value in d1:
            total += value
        for value in d2:
            total += value
        while p < i1.shape[0] and q < i2.shape[0]:
            if i1[p] == i2[q]:
                low += min(d1[p], d2[q])
                p += 1
                q += 1
            elif i1[p] < i2[q]:
                p += 1
            else:
                q += 1
        return 1 - low / (total - low) if total > low else 0.0

    start = perf_counter()
    metric = by_indices if sparse.issparse(X) else dense
    index = pynndescent.NNDescent(X, metric=metric, n_jobs=1, random_state=0)
    index.prepare()
    built = perf_counter() - start
    for epsilon in (0.0, 0.02, 0.05, 0.1, 0.2):
        yield (
            "pynndescent, GMM",
            f"epsilon={epsilon}",
            built,
            lambda Q, epsilon=epsilon: index.query(Q, NEIGHBORS, epsilon)[0],
        )


class TooLongError(Exception):
    pass


def measure(
    name: str, X: Any, Q: Any, others: Any, methods: list[Callable[[Any, Any], Iterator[Point]]]
) -> Iterator[dict[str, Any]]:
    missed = missed_by(X, Q, NEIGHBORS)
    for method in methods:
        signal.alarm(PATIENCE)
        try:
            for label, setting, built, ask in method(X, others):
                signal.alarm(0)
                found = ask(Q)  # warms up, compiles
                seconds = []
                for _ in range(ROUNDS):
                    start = perf_counter()
                    ask(Q)
                    seconds.append(perf_counter() - start)
                row = {
                    "dataset": name,
                    "method": label,
                    "setting": setting,
                    "build_seconds": round(built, 2),
                    "recall": round(1 - missed(found, None), 4),
                    "queries_per_second": round(Q.shape[0] / min(seconds), 1),
                }
                print(row, flush=True)
                yield row
        except ImportError as error:
            print(f"left out: {error}", flush=True)
        except (TooLongError, SystemError):  # compiled functions end with the latter
            print(f"left out: {method.__name__} took more than {PATIENCE} s to build on {name}", flush=True)
        finally:
            signal.alarm(0)


def draw(rows: list[dict[str, Any]]) -> None:
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    figure, axes = plt.subplots(1, len(datasets), figsize=(5.2 * len(datasets), 4), squeeze=False)
    for axis, dataset in zip(axes[0], datasets, strict=True):
        for method in dict.fromkeys(row["method"] for row in rows if row["dataset"] == dataset):
            points = [
                (r["recall"], r["queries_per_second"]) for r in rows if (r["dataset"], r["method"]) == (dataset, method)
            ]
            front = sorted(p for p in points if not any(q[0] >= p[0] and q[1] > p[1] for q in points))
            axis.plot(*zip(*front, strict=True), marker="o", markersize=3, label=method)
        axis.set(title=dataset, xlabel=f"recall@{NEIGHBORS} by exact GMM", ylabel="queries per second", yscale="log")
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else None

    def late(*_: Any) -> None:
        raise TooLongError

    signal.signal(signal.SIGALRM, late)
    where = machine()
    X, Q, others = mnist()
    X, Q, others = (np.ascontiguousarray(sparse.csr_array(Z).toarray(), np.float32) for Z in (X[:wanted], Q, others))
    plain = [exact, kernelsketch, pynndescent_gmm]
    problems = [("MNIST", X, Q, others, [*plain, hnswlib_l2, faiss_l1, faiss_jaccard])]
    for name, (X, Q, others) in (
        ("Sector", sector()),
        ("planted text", planted(max(2 * wanted, 20_000) if wanted else 100_000)),
    ):
        X, Q = (_narrow(Z) for Z in (X, Q))
        problems.append((name, X, Q, others, plain))
    rows: list[dict[str, Any]] = []
    for name, X, Q, others, methods in problems:
        for row in measure(f"{name}, {X.shape[0]} rows", X, Q, others, methods):
            rows.append(row)
            store(rows, where)
    draw(rows)


def _narrow(X: Any) -> Any:
    """With indices of 32 bits, which pynndescent needs."""
    parts = X.data.astype(np.float32), X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sparse.csr_matrix(parts, X.shape)


def store(rows: list[dict[str, Any]], where: dict[str, Any]) -> None:
    """After each point: some of the others take minutes."""
    with (RESULTS / "index_curves.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (RESULTS / "index_curves.json").write_text(json.dumps({**where, "queries": QUERIES}, indent=1) + "\n")


if __name__ == "__main__":
    main()
