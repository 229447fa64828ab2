"""``python benchmarks/bench_graph.py [DATASET ...]``: graphs of dense rows against other methods, on one thread.

The script writes ``results/graph.csv``. Datasets are ``mnist``, and ``clustered-N``: N rows of 64 values
``abs(center + 0.7 * normal)`` around 200 normal centers. There are 1000 queries, drawn like the rows and not among
them. Recall is that of the ten nearest rows by the exact GMM kernel; for hnswlib, which uses L2, it is that of the ten
nearest rows by L2. Times are those of the processor, so that other programs matter less: ``queries_per_second`` for one
batch of all queries, ``one_at_a_time`` for calls with one query each. Building is measured on one thread, too.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import numpy as np
from bench_index import mnist
from machine import RESULTS, installed, machine
from scipy import sparse

from kernelsketch import GCWSIndex

NEIGHBORS, QUERIES, SINGLE = 10, 1000, 200
CENTERS, WIDTH, SPREAD = 200, 64, 0.7
ROUNDS = 3
BEAMS = (16, 32, 64, 128, 200, 256, 300)


def clustered(n: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(CENTERS, WIDTH))

    def draw(count: int) -> Any:
        made = np.empty((count, WIDTH), np.float32)
        for start in range(0, count, 50_000):
            part = made[start : start + 50_000]
            part[:] = np.abs(centers[rng.integers(CENTERS, size=len(part))] + SPREAD * rng.normal(size=part.shape))
        return made

    return draw(n), draw(QUERIES)


def dataset(name: str) -> tuple[Any, Any]:
    if name == "mnist":
        X, Q, _ = mnist()
        X, Q = (np.ascontiguousarray(sparse.csr_array(Z).toarray(), np.float32) for Z in (X, Q))
        return X, Q
    return clustered(int(name.removeprefix("clustered-")))


def seconds_of(call: Callable[[], Any]) -> float:
    start = process_time()
    call()
    return process_time() - start


def measured(label: str, setting: str, built: float, ask: Callable[[Any], Any], Q: Any, right: Any) -> dict[str, Any]:
    found = ask(Q)
    batch = min(seconds_of(lambda: ask(Q)) for _ in range(ROUNDS))
    single = min(seconds_of(lambda: [ask(Q[i : i + 1]) for i in range(SINGLE)]) for _ in range(ROUNDS))
    row = {
        "method": label,
        "setting": setting,
        "build_seconds": round(built, 1),
        "recall": round(float(right(found)), 4),
        "queries_per_second": round(len(Q) / batch),
        "one_at_a_time": round(SINGLE / single),
    }
    print(row, flush=True)
    return row


def kernelsketch(X: Any, Q: Any) -> Iterator[dict[str, Any]]:
    exact = GCWSIndex(NEIGHBORS, n_tables=0, n_rerank=None, n_components=1)
    built = seconds_of(lambda: exact.fit(X))
    worst = exact.kneighbors(Q)[0][:, -1:]

    def right(found: Any) -> float:
        return float((found[0] <= worst + 1e-9).mean())

    yield measured("GCWSIndex, all rows", "n_tables=0 n_rerank=None", built, exact.kneighbors, Q, right)
    for degree in (32, 40):
        index = GCWSIndex(NEIGHBORS, graph_degree=degree)
        built = seconds_of(lambda index=index: index.fit(X))  # type: ignore[misc]
        for beam in BEAMS:
            index.set_params(n_rerank=beam)
            setting = f"graph_degree={degree} n_rerank={beam}"
            yield measured("GCWSIndex, graph", setting, built, index.kneighbors, Q, right)


def hnswlib_l2(X: Any, Q: Any) -> Iterator[dict[str, Any]]:
    try:
        import hnswlib
    except ImportError as error:
        print(f"left out: {error}")
        return
    sizes = (X**2).sum(axis=1)
    true = [np.argpartition(sizes - 2 * (q @ X.T), NEIGHBORS)[:NEIGHBORS] for q in Q]
    index = hnswlib.Index("l2", X.shape[1])
    index.init_index(len(X), M=16, ef_construction=100)
    built = seconds_of(lambda: index.add_items(X, num_threads=1))

    def right(found: Any) -> float:
        return float(np.mean([np.isin(a, b).mean() for a, b in zip(found, true, strict=True)]))

    for beam in BEAMS:
        index.set_ef(beam)
        yield measured(
            "hnswlib, L2",
            f"M=16 ef_construction=100 ef={beam}",
            built,
            lambda some: index.knn_query(some, NEIGHBORS, num_threads=1)[0],
            Q,
            right,
        )


def main() -> None:
    names = sys.argv[1:] or ["mnist", "clustered-300000"]
    path = RESULTS / "graph.csv"
    rows = []
    if path.exists():
        with path.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["dataset"] not in names]
    for name in names:
        X, Q = dataset(name)
        for method in (kernelsketch, hnswlib_l2):
            for row in method(X, Q):
                rows.append({"dataset": name, "rows": len(X), **row})
                with path.open("w", newline="") as file:  # after each row: some take minutes
                    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
                    writer.writeheader()
                    writer.writerows(rows)
    where = {**machine(), "hnswlib": installed("hnswlib"), "queries": QUERIES, "neighbors": NEIGHBORS}
    path.with_suffix(".json").write_text(json.dumps(where, indent=1) + "\n")


if __name__ == "__main__":
    main()
