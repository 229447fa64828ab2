"""``python benchmarks/curves_index.py [ROWS]``: recall against queries a second, here and in other libraries.

Writes ``results/index_curves.csv`` and ``docs/measurements/index-curves.png``. One thread, batches of 1000 queries; the
ten nearest rows by the exact GMM kernel as the truth. The others search by the closest metric they have: hnswlib by L2,
faiss and pynndescent by L1. Those that are not installed are left out and named.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from bench_index import NEIGHBORS, QUERIES, missed_by, mnist, planted, scan
from harness import RESULTS, machine
from scipy import sparse

from kernelsketch import GCWSIndex

PICTURE = Path(__file__).parents[1] / "docs" / "measurements" / "index-curves.png"
ROUNDS = 3

Ask = Callable[[Any], Any]  # queries to ids
Point = tuple[str, str, float, Ask]  # method, setting, seconds of building, how to ask


def exact(X: Any) -> Iterator[Point]:
    yield "exact scan", "", 0.0, lambda Q: scan(X, Q, NEIGHBORS)


def kernelsketch(X: Any) -> Iterator[Point]:
    for band, tables, length in ((3, 32, 128), (4, 32, 128), (5, 48, 256), (1, 0, 128)):
        index = GCWSIndex(NEIGHBORS, band=band, n_tables=tables, n_components=length)
        start = perf_counter()
        index.fit(X)
        built = perf_counter() - start
        for used in sorted({tables // 2, tables}):
            for depth in (20, 50, 100, 200):
                setting = f"band={band} n_tables={used} n_components={length} depth={depth}"

                def ask(Q: Any, index: GCWSIndex = index, used: int = used, depth: int = depth) -> Any:
                    return index.set_params(n_tables=used, depth=depth).kneighbors(Q, return_distance=False)

                name = "GCWSIndex" if used else "GCWSIndex, all codes"
                yield name, setting, built, ask


def hnswlib_l2(X: Any) -> Iterator[Point]:
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


def faiss_l1(X: Any) -> Iterator[Point]:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWFlat(X.shape[1], 16, faiss.METRIC_L1)
    start = perf_counter()
    index.add(X)
    built = perf_counter() - start
    for ef in (10, 20, 50, 100, 200):

        def ask(Q: Any, ef: int = ef) -> Any:
            index.hnsw.efSearch = ef
            return index.search(Q, NEIGHBORS)[1]

        yield "faiss HNSW, L1", f"M=16 ef={ef}", built, ask


def pynndescent_l1(X: Any) -> Iterator[Point]:
    import pynndescent

    start = perf_counter()
    index = pynndescent.NNDescent(X, metric="manhattan", n_jobs=1, random_state=0)
    index.prepare()
    built = perf_counter() - start
    for epsilon in (0.0, 0.1, 0.2, 0.3):
        yield (
            "pynndescent, L1",
            f"epsilon={epsilon}",
            built,
            lambda Q, epsilon=epsilon: index.query(Q, NEIGHBORS, epsilon)[0],
        )


def measure(name: str, X: Any, Q: Any, methods: list[Callable[[Any], Iterator[Point]]]) -> Iterator[dict[str, Any]]:
    missed = missed_by(X, Q, NEIGHBORS)
    for method in methods:
        try:
            for label, setting, built, ask in method(X):
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
            print(f"left out: {error}")


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
        axis.set(title=dataset, xlabel=f"recall@{NEIGHBORS} by exact GMM", ylabel="queries a second", yscale="log")
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    rows_wanted = int(sys.argv[1]) if len(sys.argv) > 1 else None
    where = machine()
    X, Q = mnist()
    X, Q = (np.ascontiguousarray(Z.toarray() if sparse.issparse(Z) else Z, np.float32) for Z in (X[:rows_wanted], Q))
    rows: list[dict[str, Any]] = []
    for row in measure(f"MNIST, {len(X)} rows", X, Q, [exact, kernelsketch, hnswlib_l2, faiss_l1, pynndescent_l1]):
        rows.append(row)
        store(rows, where)
    X, Q = planted(max(2 * rows_wanted, 20_000) if rows_wanted else 100_000)
    for row in measure(f"planted text, {X.shape[0]} rows", X, Q, [exact, kernelsketch, pynndescent_l1]):
        rows.append(row)
        store(rows, where)
    draw(rows)


def store(rows: list[dict[str, Any]], where: dict[str, Any]) -> None:
    """After each point: some of the others take minutes."""
    with (RESULTS / "index_curves.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (RESULTS / "index_curves.json").write_text(json.dumps({**where, "queries": QUERIES}, indent=1) + "\n")


if __name__ == "__main__":
    main()
