"""``python benchmarks/measure_spark.py [NONZEROS ...]``: CPU time of hashing on Spark, compared with one process.

The script writes ``results/spark_cpu.csv``: microseconds per row of all processes of the cluster of
``bench_spark.py`` together (the driver's JVM, the JVMs and Python workers of the executors; from /proc). Beside them
are those of one process that has its rows in memory as CSR, measured in turns, and the ratio of the two. CPU time
varies less than wall-clock time on a busy machine. Each number is the lower of two jobs after a warm-up. k = 0 is a
function of the column that returns empty bytes; it measures the transport and the overhead of the job.

The number of bytes is the same for all NONZEROS (100 and 1000 without arguments): 480 MB of vectors in four
partitions.
"""

from __future__ import annotations

import csv
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import bench_spark
import numpy as np
from bench_spark import FEATURES, ROW, ROWS, cluster, drop, frame, hash_files, in_files, in_memory, text_like
from machine import RESULTS, machine

import kernelsketch

ROUNDS = 2
WARM = 3  # jobs before: the JVM compiles what runs often
HASHES = (64, 256, 1024)
TICK = os.sysconf("SC_CLK_TCK")


def children_seconds() -> float:
    """CPU seconds of all processes that this one has started, and theirs."""
    parents, seconds = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has ended
            continue
        pid = int(path.parent.name)
        parents[pid] = int(fields[1])
        seconds[pid] = sum(map(int, fields[11:15])) / TICK  # its own, and of children that have ended
    family, more = set(), {os.getpid()}
    while more:
        more = {pid for pid, parent in parents.items() if parent in more} - family
        family |= more
    return sum(seconds[pid] for pid in family)


def in_turns(run: Callable[[], Any], clock: Callable[[], float], peer: Callable[[], Any]) -> tuple[float, float, float]:
    """CPU and wall seconds of the cheapest of a few runs, and CPU seconds of the peer between them."""
    found, peers = [], []
    for _ in range(ROUNDS):
        start = process_time()
        peer()
        peers.append(process_time() - start)
        cpu, wall = clock(), perf_counter()
        run()
        found.append((clock() - cpu, perf_counter() - wall))
    return *min(found), min(peers)


def nothing_of(column: Any) -> Any:
    """A function of the column that gives empty bytes."""
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf

    def empty(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for given in columns:
            yield pa.array(np.full(len(given), b"", object), pa.binary())

    empty.__annotations__ = {"columns": Iterator[pa.Array], "return": Iterator[pa.Array]}
    return arrow_udf(empty, "binary")(column)


def measure(session: Any, row: int, room: Path) -> Iterator[dict[str, Any]]:
    from kernelsketch.spark import GCWS, pack_rows

    n = ROWS * ROW // row
    X = text_like(n // 8, row=row)
    folder = room / f"vectors{row}"
    data = {"features": in_files(frame(session, n, row=row), folder)}
    data["rows"] = in_files(pack_rows(data["features"], FEATURES).select("rows"), room / f"packed{row}")
    local = {k: kernelsketch.GCWS(k).fit(X) for k in HASHES}

    def line(k: int, who: str, where: str, run: Callable[[], Any], clock: Callable[[], float]) -> dict[str, Any]:
        cpu, wall, peer = in_turns(run, clock, lambda: local[k].codes(X) if k else None)
        return {
            "nonzeros": row,
            "rows": n,
            "k": k,
            "where": where,
            "method": who,
            "cpu_us_a_row": round(1e6 * cpu / n, 2),
            "wall_us_a_row": round(1e6 * wall / n, 2),
            "one_process_us_a_row": round(1e6 * peer / X.shape[0], 2) if k else float("nan"),
            "share_of_one_process": round(peer / X.shape[0] / (cpu / n), 2) if k else float("nan"),
        }

    for where in ("memory", "Parquet"):
        for column, name in (("features", "Spark, vectors"), ("rows", "Spark, packed rows")):
            dataset = data[column] if where == "Parquet" else in_memory(data[column])
            warm = GCWS(n_components=1, output="packed", inputCol=column, outputCol="out").transform(dataset)
            for _ in range(WARM):
                drop(warm)
            for k in (0, *HASHES):
                hasher = GCWS(n_components=k or 1, output="packed", inputCol=column, outputCol="out")
                result = hasher.transform(dataset) if k else dataset.select(nothing_of(column))
                yield line(k, name, where, lambda d=result: drop(d), children_seconds)
            dataset.unpersist(blocking=True)
    for k in HASHES:
        yield line(k, "one process", "Parquet", lambda m=local[k]: hash_files(folder, m), process_time)


def main() -> None:
    from pyspark import cloudpickle

    for module in (bench_spark, sys.modules[__name__]):
        cloudpickle.register_pickle_by_value(module)  # workers do not have these files
    session = cluster()
    print(machine())
    with tempfile.TemporaryDirectory() as room, (RESULTS / "spark_cpu.csv").open("w", newline="") as file:
        writer = None
        for row in [int(given) for given in sys.argv[1:]] or [ROW, 1000]:
            for found in measure(session, row, Path(room)):
                print(*found.values(), sep="\t", flush=True)
                if writer is None:
                    writer = csv.DictWriter(file, list(found), lineterminator="\n")
                    writer.writeheader()
                writer.writerow(found)
                file.flush()


if __name__ == "__main__":
    main()
