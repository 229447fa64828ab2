"""Hashing on a Spark cluster of two worker processes with one core each, compared with one process and with MinHashLSH.

Rows are in Spark's memory or in Parquet, in four partitions of 120 MB (Spark splits large files into 128 MB). Results
are computed and dropped (the sink ``noop``), so the time is that of the transport to the Python workers and back, and
of the hash. One process has its rows in memory as CSR, or reads the same files with pyarrow. The rate is in G
nonzeros x hashes per second. "Per core" is the ratio to one process divided by the two cores; the goal for packed
codes is 0.6. A job has an overhead of about 0.8 core seconds for any number of rows; with a tenth of the rows it
dominates.

The pass of ``partial_fit`` is what a partition does in one round of ``solver="average"``; its rate is in G rows x
hashes x problems per second. ``KERNELSKETCH_SPARK_ROWS`` sets the number of rows.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness import Method, Problem
from scipy import sparse

import kernelsketch

warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
ROWS = int(os.environ.get("KERNELSKETCH_SPARK_ROWS", "400000"))
ROW, FEATURES = 100, 100_000
HASHES = (256, 1024)
MINHASH_ROWS = ROWS // 4


def text_like(n: int, binary: bool = False, seed: int = 0, row: int = ROW) -> Any:
    """CSR rows of 100 features out of 100,000, or of as many as given."""
    rng = np.random.default_rng(seed)
    step = FEATURES // row
    indices = (rng.integers(0, step, (n, row)) + step * np.arange(row)).astype(np.int32)
    data = np.ones(n * row) if binary else rng.random(n * row) + 0.01
    return sparse.csr_matrix((data, indices.ravel(), row * np.arange(n + 1, dtype=np.int32)), shape=(n, FEATURES))


def cluster() -> Any:
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder = SparkSession.builder.master("local-cluster[2,1,3072]").appName("kernelsketch benchmark")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "3g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def frame(session: Any, n: int, binary: bool = False, row: int = ROW) -> Any:
    """As many rows of this kind, made on the workers."""
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql.types import StructField, StructType

    make = text_like

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from kernelsketch.spark._arrow import sparse_vectors

        for batch in batches:
            X = make(batch.num_rows, binary, int(batch.column(0)[0].as_py()), row)
            yield pa.RecordBatch.from_arrays([sparse_vectors(X)], names=["features"])

    return session.range(0, n, 1, 4).mapInArrow(rows, StructType([StructField("features", VectorUDT())]))


def in_memory(dataset: Any) -> Any:
    dataset = dataset.cache()
    dataset.count()
    return dataset


def in_files(dataset: Any, folder: Path) -> Any:
    dataset.write.parquet(str(folder))
    return dataset.sparkSession.read.parquet(str(folder))


def hash_files(folder: Path, hasher: Any) -> Any:
    """What one process does with such files: read them by pyarrow, hash, drop the codes."""
    import pyarrow.parquet as pq

    from kernelsketch.spark._rows import read_rows

    for path in sorted(folder.glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(10_000, use_threads=False):
            hasher.codes(read_rows(batch.column(0), FEATURES).X)
    return np.empty(0)


def drop(dataset: Any) -> Any:
    dataset.select(dataset.columns[-1]).write.format("noop").mode("overwrite").save()
    return np.empty(0)


def nothing(_: Any, __: Any) -> float:
    return float("nan")  # results are dropped; the tests hold that they are equal


def problems() -> Iterator[Problem]:
    from pyspark import cloudpickle

    from kernelsketch.spark import pack_rows

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not have this file
    session = cluster()
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room) / "vectors"
        vectors = in_files(frame(session, ROWS), folder)
        packed = in_files(pack_rows(vectors, FEATURES).select("rows"), Path(room) / "packed")
        for k in HASHES:
            local = kernelsketch.GCWS(k).fit(text_like(1))
            peer = Method("pyarrow and GCWS.codes, one process", lambda m=local: hash_files(folder, m))
            yield hashing(k, "in Parquet", peer, vectors, packed)
        vectors, packed = in_memory(vectors), in_memory(packed)
        sample = ROWS // 8
        X = text_like(sample)
        for k in HASHES:
            local = kernelsketch.GCWS(k).fit(X)
            peer = Method("GCWS.codes, one process", lambda m=local: m.codes(X).packed, share=sample / ROWS)
            yield hashing(k, "in memory", peer, vectors, packed)
        vectors.unpersist()
        packed.unpersist()
    yield minhash(in_memory(frame(session, MINHASH_ROWS, binary=True)))
    yield one_pass(X)


def hashing(k: int, where: str, peer: Method, vectors: Any, packed: Any) -> Problem:
    from kernelsketch.spark import GCWS

    to_codes = GCWS(n_components=k, output="packed", outputCol="out")
    from_packed = to_codes.copy({to_codes.inputCol: "rows"})
    to_vectors = GCWS(n_components=k, outputCol="out")
    return Problem(
        f"hashing {ROWS} rows of {ROW} nonzeros {where}, k={k}",
        [
            peer,
            Method("spark.GCWS, vectors to packed codes", lambda: drop(to_codes.transform(vectors)), threads=2),
            Method("spark.GCWS, packed rows to packed codes", lambda: drop(from_packed.transform(packed)), threads=2),
            Method("spark.GCWS, vectors to vectors", lambda: drop(to_vectors.transform(vectors)), threads=2),
        ],
        float(ROWS) * ROW * k,
        nothing,
    )


def minhash(binary: Any) -> Problem:
    from pyspark.ml.feature import MinHashLSH

    from kernelsketch.spark import GCWS

    lsh = MinHashLSH(inputCol="features", outputCol="out", numHashTables=64).fit(binary)
    packed = GCWS(n_components=64, output="packed", outputCol="out")
    return Problem(
        f"hashing {MINHASH_ROWS} binary rows of {ROW} nonzeros, 64 hashes",
        [
            Method("MinHashLSH", lambda: drop(lsh.transform(binary)), threads=2),
            Method("spark.GCWS, packed", lambda: drop(packed.transform(binary)), threads=2),
        ],
        float(MINHASH_ROWS) * ROW * 64,
        nothing,
    )


def one_pass(X: Any) -> Problem:
    codes = kernelsketch.GCWS(1024).fit(X).codes(X)
    y = np.arange(len(codes)) % 2

    def run() -> Any:
        return kernelsketch.GCWSClassifier(1024).partial_fit(codes, y, classes=[0, 1]).fitted_.weights

    name = "a pass over codes, k=1024, one problem"
    return Problem(name, [Method("partial_fit", run)], len(codes) * 1024.0, nothing)
